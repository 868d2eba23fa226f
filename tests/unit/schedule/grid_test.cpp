#include "monet/schedule/grid.h"

#include <gtest/gtest.h>

#include <array>

namespace monet::schedule {
namespace {

// The begins of the cells of a single axis that is read in these parts.
std::vector<std::int64_t> cuts(std::int64_t size, const std::vector<Range>& read,
                               const std::vector<Range>& written = {}, bool joins_slivers = true) {
  Grid grid(Shape{size});
  for (const Range& r : written) grid.mark(std::array{r}, true);
  for (const Range& r : read) grid.mark(std::array{r}, false);
  grid.finish(1000, joins_slivers);
  std::vector<std::int64_t> out;
  for (std::size_t c = 0; c < grid.cells(); ++c) out.push_back(grid.cell(c).axes[0].begin);
  return out;
}
using Cuts = std::vector<std::int64_t>;

TEST(Grid, WhoReadsAllButASliverReadsThatToo) {
  EXPECT_EQ(cuts(14, {{0, 13}, {0, 14}, {1, 14}}), (Cuts{0}));
  EXPECT_EQ(cuts(14, {{0, 13}, {0, 14}, {1, 14}}, {}, false), (Cuts{0, 1, 13}));
  // A quarter is the most.
  EXPECT_EQ(cuts(20, {{0, 16}}), (Cuts{0}));
  EXPECT_EQ(cuts(20, {{0, 15}}), (Cuts{0, 15}));
  EXPECT_EQ(cuts(20, {{4, 20}}), (Cuts{0}));
  EXPECT_EQ(cuts(20, {{5, 20}}), (Cuts{0, 5}));
}

TEST(Grid, WhatIsWrittenIsNotRounded) {
  EXPECT_EQ(cuts(20, {{0, 19}}, {{0, 19}, {19, 20}}), (Cuts{0, 19}));
  EXPECT_EQ(cuts(20, {{0, 19}}, {{0, 20}}), (Cuts{0}));
}

// Rows that two parts read are cells of their own: either would read all of the other's.
TEST(Grid, HalosStay) {
  EXPECT_EQ(cuts(56, {{0, 20}, {18, 38}, {36, 56}}), (Cuts{0, 18, 20, 36, 38}));
  EXPECT_EQ(cuts(8, {{0, 3}, {1, 5}, {3, 7}, {5, 8}}), (Cuts{0, 1, 3, 5, 7}));
}

// A gap between two parts belongs to one of them, not to both: they would be one.
TEST(Grid, OneCutStaysBetweenParts) {
  EXPECT_EQ(cuts(101, {{0, 50}, {51, 101}}), (Cuts{0, 51}));
  EXPECT_EQ(cuts(202, {{0, 50}, {51, 101}, {102, 152}, {153, 202}}), (Cuts{0, 51, 102, 153}));
}

// On long axes, of which positions are not kept one by one, too, but for slivers.
TEST(Grid, LongAxesAreCutExactly) {
  constexpr std::int64_t kLong = 100000;
  EXPECT_EQ(cuts(kLong, {{0, kLong - 1}, {0, 40000}, {40000, kLong}}, {{0, 70000}, {70000, kLong}}),
            (Cuts{0, 40000, 70000, kLong - 1}));
  Grid grid(Shape{kLong});
  grid.mark(std::array{Range{0, 40000}}, false);
  grid.mark(std::array{Range{30000, kLong}}, true);
  grid.finish(1000, true);
  std::vector<std::size_t> visited;
  grid.for_each(std::array{Range{30000, kLong}}, [&](std::size_t c) { visited.push_back(c); });
  EXPECT_EQ(visited, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(grid.count(std::array{Range{29999, 30001}}), 2);
}

// With too many cells, only what is written begins where cells do.
TEST(Grid, ReadersGiveWayToWriters) {
  Grid grid(Shape{12});
  for (std::int64_t i = 0; i < 12; i += 2) grid.mark(std::array{Range{i, i + 2}}, false);
  for (std::int64_t i = 0; i < 12; i += 3) grid.mark(std::array{Range{i, i + 3}}, true);
  grid.finish(4, false);
  EXPECT_EQ(grid.cells(), 4u);
  std::vector<std::size_t> visited;
  grid.for_each(std::array{Range{2, 4}}, [&](std::size_t c) { visited.push_back(c); });
  EXPECT_EQ(visited, (std::vector<std::size_t>{0, 1}));
}

TEST(Grid, CellsOfABoxAreThoseItTouches) {
  Grid grid(Shape{14, 14});
  grid.mark(std::array{Range{0, 13}, Range{1, 14}}, false);
  grid.mark(std::array{Range{0, 7}, Range{0, 14}}, true);
  grid.finish(1000, true);
  EXPECT_EQ(grid.cells(), 2u);
  std::size_t visited = 0;
  grid.for_each(std::array{Range{0, 13}, Range{1, 14}}, [&](std::size_t) { ++visited; });
  EXPECT_EQ(visited, 2u);
}

}  // namespace
}  // namespace monet::schedule
