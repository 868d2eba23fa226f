#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monet/cost/evaluate.h"
#include "monet/cost/optimum.h"
#include "monet/cost/request.h"
#include "monet/cost/search.h"
#include "monet/cost/spatial.h"

namespace monet::cost {

// A layer on a core under the best mapping a request allows. By default the optimum of the default model, proven; with
// the quirk greedy_allocation all orderings at a limit of loops, as ZigZag searches.

struct MapOptions {
  Criterion criterion = Criterion::Latency;
  Quirks quirks{};
  std::size_t limit = 6;  // of loops, quirk greedy_allocation only; 0: all prime factors
  bool even = false;      // likewise
  SpatialOptions spatial{};
  double clock_hz = 0;  // for leakage
  std::uint64_t most_labels = OptimumOptions{}.most_labels;
};

struct Mapped {
  Layer layer{};
  Spatial spatial{};
  Problem problem{};
  std::vector<TemporalLoop> order{};
  Evaluation evaluation{};
  std::size_t spatials = 0;     // spatial mappings compared
  std::uint64_t evaluated = 0;  // orderings fully costed, or labels of the proof
  bool is_proven = false;       // no mapping is better in the criterion (for these spatial mappings)
  Costs bound{};                // if not proven: none is better than this
};

struct MapResult {
  std::optional<Mapped> mapped{};
  std::string reason{};  // why there is none
};

// An operand goes through the slot the request gives it.
Layer with_slots(Layer layer, const MappingRequest& request);

MapResult map_layer(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                    const MapOptions& options);

}  // namespace monet::cost
