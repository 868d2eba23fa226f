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
  Watch watch{};  // when to stop; no part of what is asked
};

struct Mapped {
  Layer layer{};
  Spatial spatial{};
  Problem problem{};
  std::vector<TemporalLoop> order{};
  Evaluation evaluation{};
  std::size_t spatials = 0;       // spatial mappings compared
  std::size_t spatials_left = 0;  // not looked at any more when the search was stopped
  std::uint64_t evaluated = 0;    // orderings fully costed, or labels of the proof
  double orderings = 0;           // with greedy_allocation: as many there are for the spatial mappings compared
  bool is_proven = false;         // no mapping is better in the criterion (for these spatial mappings)
  bool is_stopped = false;        // by the watch: with more time there might be another
  double bound = 0;               // of the criterion, if not proven: no mapping is below; 0: nothing is known
};

struct MapResult {
  std::optional<Mapped> mapped{};
  std::string reason{};       // why there is none
  bool is_stopped = false;    // there was no time to find one, or to know that there is none
  std::vector<Room> rooms{};  // as in Optimum, of all unrollings
};

// What a criterion goes by first: cycles, pJ, or their product.
double value_of(Criterion criterion, const Costs& costs);

// How many orderings the search will go through with greedy_allocation; infinity where a double cannot say.
double orderings_to_try(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                        const MapOptions& options);

// The spatial mappings that are tried.
std::vector<Spatial> unrollings_of(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                                   const MapOptions& options, std::string* reason = nullptr);

// An operand goes through the slot the request gives it.
Layer with_slots(Layer layer, const MappingRequest& request);

MapResult map_layer(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                    const MapOptions& options);

}  // namespace monet::cost
