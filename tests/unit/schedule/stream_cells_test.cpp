// Do elements keep their makers through reshapes? Against positions worked out by hand.
#include "monet/schedule/stream_cells.h"

#include <gtest/gtest.h>

namespace monet::schedule {
namespace {

using Tiles = std::vector<std::uint32_t>;

// Rows 0 and 1 by tile 7, rows 2 and 3 by tile 9.
StreamCells halves() {
  StreamCells cells({4, 3});
  cells.add({{0, 2}, {0, 3}}, 7);
  cells.add({{2, 4}, {0, 3}}, 9);
  return cells;
}

TEST(StreamCells, KnowWhoMakesAWindow) {
  EXPECT_EQ(halves().tiles_in({{1, 2}, {0, 3}}), (Tiles{7}));
  EXPECT_EQ(halves().tiles_in({{1, 3}, {2, 3}}), (Tiles{7, 9}));
  EXPECT_EQ(halves().tiles_in({{1, 3}}), (Tiles{7, 9}));        // all of the other axes
  EXPECT_EQ(halves().tiles_in({{-1, 4}, {0, 9}}), (Tiles{9}));  // from the end
  EXPECT_EQ(halves().tiles_in({{-1, 2}, {0, 3}}), (Tiles{}));   // begins behind its end
}

TEST(StreamCells, KeepSeveralMakersOfAnElement) {
  StreamCells cells = halves();
  cells.add({{1, 3}, {0, 1}}, 8);
  EXPECT_EQ(cells.tiles_in({{1, 2}, {0, 1}}), (Tiles{7, 8}));
  EXPECT_EQ(cells.tiles_in({{1, 2}, {1, 3}}), (Tiles{7}));
}

TEST(StreamCells, MoveWithTheirElements) {
  StreamCells cells = halves();
  cells.transpose({1, 0});
  EXPECT_EQ(cells.shape(), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(cells.tiles_in({{0, 3}, {1, 2}}), (Tiles{7}));
  EXPECT_EQ(cells.tiles_in({{0, 3}, {3, 4}}), (Tiles{9}));
  cells = halves();
  cells.reshape({2, -1});
  EXPECT_EQ(cells.shape(), (std::vector<std::int64_t>{2, 6}));
  EXPECT_EQ(cells.tiles_in({{1, 2}, {0, 6}}), (Tiles{9}));
  cells = halves();
  cells.take(0, {3, 0});
  EXPECT_EQ(cells.tiles_in({{0, 1}, {0, 3}}), (Tiles{9}));
  EXPECT_EQ(cells.tiles_in({{1, 2}, {0, 3}}), (Tiles{7}));
  cells.drop_axis(0);
  EXPECT_EQ(cells.shape(), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(cells.tiles_in({{0, 3}}), (Tiles{9}));
  cells = halves();
  cells.prepend_empty(0, {2, 3});
  EXPECT_EQ(cells.shape()[0], 6);
  EXPECT_EQ(cells.tiles_in({{0, 2}, {0, 3}}), (Tiles{}));
  EXPECT_EQ(cells.tiles_in({{2, 4}, {0, 3}}), (Tiles{7}));
}

TEST(StreamCells, RefuseWhatCannotBe) {
  StreamCells cells = halves();
  EXPECT_THROW(cells.reshape({5, 5}), CellFault);
  EXPECT_THROW(cells.transpose({0, 0}), CellFault);
  EXPECT_THROW(cells.take(2, {0}), CellFault);
  EXPECT_THROW(cells.take(0, {4}), CellFault);
  EXPECT_THROW(cells.prepend_empty(0, {2, 4}), CellFault);
  EXPECT_THROW(StreamCells({1 << 20, 1 << 20}), CellFault);
}

}  // namespace
}  // namespace monet::schedule
