#pragma once
#include <string>
#include <vector>

#include "monet/base/json.h"
#include "monet/verbs/evaluate.h"

namespace monet {

// How an evaluation moves with batch, sequence length, bandwidth, memory, …

// NAME=V1,V2,…: batch, microbatches, iterations, a --dim, an option of the built-in model, a parameter of the chip's
// file, or a factor on the chip: offchip_bandwidth, link_bandwidth, onchip_memory.
struct SweepAxis {
  std::string name{};
  std::vector<std::string> values{};
};

struct SweepRequest {
  EvaluateRequest base{};
  std::vector<std::string> vary{};
  Watch watch{};
};

struct SweepPoint {
  std::vector<std::string> values{};  // by axis
  bool is_feasible = false;
  std::string mode{}, reason{};
  double latency_cycles = 0, latency_s = 0, energy_pj = 0;
  double peak_total_bytes = 0, peak_offchip_bytes = 0, offchip_bytes = 0;
  double macs = 0, utilisation = 0;  // of all lanes that multiply
  std::size_t tiles = 0;
  std::string bound{};  // what most of the latency was spent on
};

struct Sweep {
  std::vector<SweepAxis> axes{};
  std::vector<SweepPoint> points{};  // the first axis turns slowest; each mode of a point one after the other
  std::size_t done = 0, size = 0;    // combinations: fewer are done than there are where it was stopped
  std::vector<Diagnostic> warnings{};
  std::vector<DocumentInput> inputs{};
};

// Throws InputError.
Sweep sweep(const SweepRequest& request);
std::string text(const Sweep& sweep, const SweepRequest& request);
Json json(const Sweep& sweep);
// One row per point.
std::string csv(const Sweep& sweep);

}  // namespace monet
