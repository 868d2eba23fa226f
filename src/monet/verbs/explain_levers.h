#pragma once
#include <optional>
#include <vector>

#include "monet/verbs/explain.h"

namespace monet {

// What would make a layer faster or cheaper: each resource of the core alone, bandwidth, size and array dimensions
// doubled, energies and leakage a tenth less, waits for the first word halved; the layer costed again.
struct LeverScope {
  std::optional<std::size_t> operand{}, memory{};  // only memories of these
  bool by_energy = false;                          // largest gain in energy first; else in latency
  bool only_that = false;                          // leave out what gains only the other
  std::size_t threads = 0;
};
std::vector<Lever> find_levers(const MapRun& run, const MappedLayer& layer, const LeverScope& scope);

// A ten-thousandth of a figure: less is no gain.
inline constexpr double kLeastGain = 1e-4;

// "dram.read 64 -> 128 bits/cycle"
std::string change_text(const Lever& lever);

}  // namespace monet
