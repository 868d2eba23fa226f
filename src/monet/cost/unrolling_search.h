#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "monet/cost/spatial.h"

namespace monet::cost {

// An array dimension for which no unrolling is given.
struct OpenDimension {
  std::size_t array_dimension = 0;
  std::int64_t size = 1;
  std::vector<std::size_t> dimensions{};  // of the layer, to try, in this order
  std::vector<std::int64_t> limit{};      // per layer dimension: the largest factor
};

// The `count` best ways to fill the open dimensions: one layer dimension each, unrolled by a divisor of its limit, or
// (`mixed`) several. Best is the largest U + U / D - 1 (U: lanes in use, D: the most any one layer dimension has of
// them); of equally good ones the first in the order of generation: array dimension by array dimension, single
// dimensions from their largest divisor down, then pairs, triples, … in rising order of their factors. Stopped by the
// watch, the best found so far.
std::vector<Spatial> fill_open_dimensions(const Layer& layer, const Spatial& given,
                                          const std::vector<OpenDimension>& open, std::size_t count, bool mixed,
                                          const Watch& watch = {});

}  // namespace monet::cost
