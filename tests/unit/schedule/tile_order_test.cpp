#include "monet/schedule/tile_order.h"

#include <gtest/gtest.h>

namespace monet::schedule {
namespace {

// Three nodes in a chain: tile i of each makes block 10 · node + i of block i of the node before.
struct TileChain {
  std::vector<GroupTile> tiles{};
  std::vector<TileAccess> accesses{};
  void add(std::uint32_t node, std::vector<std::uint32_t> reads, std::uint32_t writes) {
    const auto first = static_cast<std::uint32_t>(accesses.size());
    for (const std::uint32_t block : reads) accesses.push_back({block, true, false});
    accesses.push_back({writes, false, true});
    tiles.push_back({node, first, static_cast<std::uint32_t>(accesses.size()) - first});
  }
};

TEST(TileOrder, SumsOfSeveralCoresTakeTurns) {
  // Node 1 sums up what node 0 makes on two cores, one tile of each in turn; its last tile and node 2 need both sums.
  TileChain c;
  for (std::uint32_t i = 0; i < 6; ++i) c.add(0, {}, i);
  for (std::uint32_t i = 0; i < 6; ++i) c.add(1, {i, 10 + i % 2}, 10 + i % 2);
  c.add(1, {10, 11}, 12);
  c.add(2, {12}, 20);
  for (std::uint32_t t = 0; t < c.tiles.size(); ++t) c.tiles[t].unit = t < 12 ? t % 2 : 0;
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 3, plan::Order::DepthFirst),
            (std::vector<std::uint32_t>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 12, 13}));
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 3, plan::Order::Overlapped),
            (std::vector<std::uint32_t>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, 12, 13}));
}

TEST(TileOrder, DepthFirstDecidesUnitsInTheOrderOfTime) {
  // Each tile of node 1 needs two of node 0: one after the other on its core, while the other core does the same.
  TileChain c;
  for (std::uint32_t i = 0; i < 4; ++i) c.add(0, {}, i);
  c.add(1, {0, 1}, 10);
  c.add(1, {2, 3}, 11);
  for (std::uint32_t t = 0; t < c.tiles.size(); ++t) {
    c.tiles[t].unit = t < 4 ? t / 2 : t - 4;
    c.tiles[t].cycles = 10;
  }
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 2, plan::Order::DepthFirst),
            (std::vector<std::uint32_t>{0, 2, 1, 3, 4, 5}));
}

TEST(TileOrder, InterleavedTakesOneTileOfEveryNodeInTurn) {
  TileChain c;
  for (std::uint32_t n = 0; n < 3; ++n)
    for (std::uint32_t i = 0; i < 3; ++i)
      c.add(n, n == 0 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{10 * (n - 1) + i}, 10 * n + i);
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 3, plan::Order::Interleaved),
            (std::vector<std::uint32_t>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
}

TEST(TileOrder, InterleavedTakesSidewaysBranchesInTheirTurn) {
  // Node 1 and node 2 both read node 0, and nobody reads them: depth first would finish node 2 before node 1.
  TileChain c;
  for (std::uint32_t i = 0; i < 2; ++i) c.add(0, {}, i);
  for (std::uint32_t i = 0; i < 2; ++i) c.add(1, {i}, 10 + i);
  for (std::uint32_t i = 0; i < 2; ++i) c.add(2, {10 + i}, 20 + i);
  for (std::uint32_t i = 0; i < 2; ++i) c.add(3, {i}, 30 + i);
  for (std::uint32_t i = 0; i < 2; ++i) c.add(4, {30 + i}, 40 + i);
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 5, plan::Order::Interleaved),
            (std::vector<std::uint32_t>{0, 2, 4, 6, 8, 1, 3, 5, 7, 9}));
}

TEST(TileOrder, PipelinedIsOneTileBehindForEveryChangeOfTheCore) {
  TileChain c;
  for (std::uint32_t n = 0; n < 4; ++n)
    for (std::uint32_t i = 0; i < 3; ++i)
      c.add(n, n == 0 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{10 * (n - 1) + i}, 10 * n + i);
  for (GroupTile& tile : c.tiles) tile.unit = tile.node == 0 ? 0 : tile.node == 3 ? 0 : 1;
  // Nodes 1 and 2 (tiles 3 to 8) one behind node 0, node 3 (tiles 9 to 11) two.
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 4, plan::Order::Pipelined),
            (std::vector<std::uint32_t>{0, 1, 3, 6, 2, 4, 7, 9, 5, 8, 10, 11}));
}

TEST(TileOrder, PipelinedIsBehindByATileOfTheCoarsestNode) {
  TileChain c;
  for (std::uint32_t i = 0; i < 3; ++i) c.add(0, {}, i);
  for (std::uint32_t i = 0; i < 6; ++i) c.add(1, {i / 2}, 10 + i);
  for (GroupTile& tile : c.tiles) tile.unit = tile.node;
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 2, plan::Order::Pipelined),
            (std::vector<std::uint32_t>{0, 1, 3, 4, 2, 5, 6, 7, 8}));
}

// Before, between and after: short, long, short, the first and the last on one unit.
TileChain with_work_before_and_after(std::uint32_t count) {
  TileChain c;
  for (std::uint32_t n = 0; n < 3; ++n)
    for (std::uint32_t i = 0; i < count; ++i)
      c.add(n, n == 0 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{100 * (n - 1) + i}, 100 * n + i);
  for (GroupTile& tile : c.tiles) {
    tile.unit = tile.node == 1 ? 1 : 0;
    tile.cycles = tile.node == 1 ? 10 : 1;
  }
  return c;
}

TEST(TileOrder, OverlappedPreparesTheNextWhileTheLongestRuns) {
  const TileChain c = with_work_before_and_after(3);
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 3, plan::Order::DepthFirst),
            (std::vector<std::uint32_t>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
  // While 3 runs, 1 is made ready for 4, but not 2 for 5.
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 3, plan::Order::Overlapped),
            (std::vector<std::uint32_t>{0, 3, 1, 6, 4, 2, 7, 5, 8}));
}

TEST(TileOrder, OverlappedIsDepthFirstOnOneUnit) {
  TileChain c = with_work_before_and_after(20);
  for (GroupTile& tile : c.tiles) tile.unit = 0;
  EXPECT_EQ(order_tiles(c.tiles, c.accesses, 3, plan::Order::Overlapped),
            order_tiles(c.tiles, c.accesses, 3, plan::Order::DepthFirst));
}

TEST(TileOrder, OverlappedKeepsAStepAheadWhateverTheTimes) {
  // A step is a tile on each of the units of the longest node: two here.
  TileChain c = with_work_before_and_after(40);
  for (std::uint32_t i = 0; i < 40; ++i) c.tiles[40 + i].unit = 1 + i % 2;
  const auto order = order_tiles(c.tiles, c.accesses, 3, plan::Order::Overlapped);
  ASSERT_EQ(order.size(), 120u);
  int ahead = 0;
  for (const std::uint32_t t : order) {
    ahead += t < 40 ? 1 : t < 80 ? -1 : 0;
    EXPECT_GE(ahead, 0);
    EXPECT_LE(ahead, 4);
  }
}

TEST(TileOrder, InterleavedWaitsForHalosAndFollowsShares) {
  // Four tiles beside two, the second of which needs the last of the four; the first needs the third.
  TileChain c;
  for (std::uint32_t i = 0; i < 4; ++i) c.add(0, {}, i);
  c.add(1, {0, 1, 2}, 10);
  c.add(1, {2, 3}, 11);
  const auto order = order_tiles(c.tiles, c.accesses, 2, plan::Order::Interleaved);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2, 4, 3, 5}));
}

}  // namespace
}  // namespace monet::schedule
