#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monet/base/json.h"
#include "monet/base/watch.h"
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
  bool mixed = false;              // several loops on one array dimension
  std::optional<double> time_s{};  // for all layers; then the best found so far is given
  std::string cache{};             // a file of mappings found before; does not change the result
  std::size_t threads = 0;         // 0: as many as the machine has; does not change the result
};

struct MappedLayer {
  cost::Layer layer{};
  cost::MappingRequest asked{};  // of its mapping; what it leaves open was searched
  std::optional<cost::Mapped> mapped{};
  std::string reason{};               // why there is none
  bool is_stopped = false;            // with more time there might be one, or another
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
  Stop stopped = Stop::No;  // what cut some searches short

  const hardware::Core& chosen_core() const { return chip.hardware.cores[core]; }
  bool is_feasible() const;  // every layer has a mapping
  // Whether some layer has none that fits; without one that was found in time nothing is known.
  bool is_infeasible() const;
};

// What happens meanwhile: when to stop (besides `time_s`), how far it is, what a user should know before it begins.
struct MapObserver {
  Watch watch{};
  std::function<void(const std::string&)> say{};
};

// Throws InputError.
MapRun map_layers(const MapRequest& request, const MapObserver& observer = {});

std::string text(const MapRun& run);
Json json(const MapRun& run);
Json options_json(const MapRequest& request);
// The request that options_json was made of.
MapRequest request_of(const std::string& result_json, const std::string& path);

}  // namespace monet
