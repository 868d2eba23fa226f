#include "monet/cost/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "samples.h"

namespace monet::cost {
namespace {

using namespace samples;

// O[K, X] += W[K, C] · I[C, step · X + offset], of which `extent` elements are stored.
Problem pointwise(std::int64_t size, std::int64_t step, std::int64_t offset, std::int64_t extent) {
  Layer layer{.name = "pointwise", .operator_type = "Conv"};
  layer.dimensions = {{"K", 2}, {"C", 2}, {"X", size}};
  const work::Axis k{2, 0, {{0, 1}}}, c{2, 0, {{1, 1}}}, x{size, 0, {{2, 1}}}, ix{extent, offset, {{2, step}}};
  layer.operands = {{.name = "O", .slot = hardware::Slot::Output, .bits = 8, .partial_bits = 16, .axes = {k, x}},
                    {.name = "W", .slot = hardware::Slot::Weight, .bits = 8, .partial_bits = 8, .axes = {k, c}},
                    {.name = "I", .slot = hardware::Slot::Input, .bits = 8, .partial_bits = 8, .axes = {c, ix}}};
  return make_problem(layer, tpu_like(), Spatial(2), Quirks{});
}

// Tiles of a window-less axis, element by element.
TEST(Tiles, PaddingOfAnAxisWithoutAWindowIsNotStored) {
  for (const std::int64_t step : {1, 2, 3, -1})
    for (const std::int64_t offset : {-3, -1, 0, 7})
      for (const std::int64_t extent : {1, 4, 9, 40})
        for (const auto& [size, tile] : std::vector<std::pair<std::int64_t, std::int64_t>>{
                 {1, 1}, {12, 1}, {12, 2}, {12, 3}, {12, 4}, {12, 6}, {12, 12}}) {
          const Problem p = pointwise(size, step, offset, extent);
          double all = 0, largest = 0, granules = 0;
          for (std::int64_t first = 0; first < size; first += tile) {
            double elements = 0;
            for (std::int64_t x = first; x < first + tile; ++x) {
              const std::int64_t at = step * x + offset;
              elements += at >= 0 && at < extent ? 1 : 0;
            }
            all += elements;
            largest = std::max(largest, elements);
            granules += std::ceil(elements * 8 / 24);
          }
          Extents temporal;
          temporal.fill(1);
          temporal[2] = static_cast<double>(tile);
          const TileCount count = count_tiles(p, p.operands[2], temporal, 1, 8, 24);
          SCOPED_TRACE(testing::Message() << step << " " << offset << " " << extent << " " << size << " " << tile);
          EXPECT_EQ(count.largest, largest);
          EXPECT_EQ(count.elements, 2 * all);  // each channel
          EXPECT_EQ(count.granules, 2 * granules);
        }
}

}  // namespace
}  // namespace monet::cost
