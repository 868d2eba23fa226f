#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monet/base/json.h"
#include "monet/cost/map.h"
#include "monet/cost/vector.h"
#include "monet/hardware/load.h"
#include "monet/report/document.h"
#include "monet/verbs/layers.h"

namespace monet {

// What does one layer cost on one core, under a given mapping or the best one?

struct MapRequest {
  LayerRequest layer{};
  std::string hardware{};                                         // HW or HW/core
  std::vector<std::pair<std::string, std::string>> parameters{};  // of the chip's file
  std::string mapping{};                                          // a mapping file
  std::string order{}, spatial{}, placement{};                    // over those of the file
  std::string criterion = "latency";
  std::string quirks{};
  std::string lpf{};  // a number or "none"
  bool even = false;
  std::int64_t spatials = 3;
  bool mixed = false;       // several loops on one array dimension
  std::size_t threads = 0;  // 0: as many as the machine has; does not change the result
};

struct MappedLayer {
  cost::Layer layer{};
  std::optional<cost::Mapped> mapped{};
  std::string reason{};               // why there is none
  std::vector<std::string> levers{};  // what would mend it
  std::vector<std::string> notes{};
};

// A node of a model that is element-wise work, a reduction or data movement.
struct MappedVector {
  std::string name{};
  work::VectorWork work{};
  cost::VectorCost cost{};
};

struct MapRun {
  hardware::Loaded chip{};
  std::size_t core = 0;
  cost::MapOptions options{};
  std::vector<MappedLayer> layers{};
  std::vector<MappedVector> vectors{};
  std::vector<std::string> notes{};
  std::vector<Diagnostic> warnings{};
  std::vector<DocumentInput> inputs{};

  const hardware::Core& chosen_core() const { return chip.hardware.cores[core]; }
  bool is_feasible() const;
};

// Throws InputError.
MapRun map_layers(const MapRequest& request);

std::string text(const MapRun& run);
Json json(const MapRun& run);
Json options_json(const MapRequest& request);
// The request that options_json was made of.
MapRequest request_of(const std::string& result_json, const std::string& path);

}  // namespace monet
