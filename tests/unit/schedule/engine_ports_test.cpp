// Who shares a port waits for as long as can be worked out by hand.
#include <gtest/gtest.h>

#include "monet/schedule/evaluation.h"
#include "support/timeline_check.h"

namespace monet::schedule {
namespace {

constexpr double kWord = 64, kLink = 8;  // bytes a cycle

// Two units on one store of one port, and a link to the home.
Problem machine(int units = 2) {
  Problem p;
  Machine& m = p.machine;
  m.stores = {{"home", 1 << 20, kWord}, {"store", 1 << 16, kWord}};
  m.ports = {{"store.port", StoreId{1}, kWord}};
  m.stores[1].fill = m.stores[1].drain = PortId{0};
  m.channels = {{"in", kLink}, {"out", kLink}};
  m.routes = {{}, {true, {ChannelId{0}}}, {true, {ChannelId{1}}}, {}};
  for (int u = 0; u < units; ++u) m.units.push_back({"unit"});
  return p;
}

// A tile that takes so many cycles of the port; what it reads is at home.
void add(Problem& p, std::uint32_t unit, double cycles, double at_port, std::int64_t bytes = 0) {
  Tile tile{.unit = UnitId{unit},
            .cycles = cycles,
            .first_use = static_cast<std::uint32_t>(p.uses.size()),
            .first_demand = static_cast<std::uint32_t>(p.demands.size()),
            .demands = 1};
  p.demands.push_back({PortId{0}, at_port});
  if (bytes > 0) {
    p.uses.push_back({BlockId{static_cast<std::uint32_t>(p.blocks.size())}, StoreId{1}, Access::Read});
    p.blocks.push_back({.bytes = bytes, .starts_at_home = true});
    tile.uses = 1;
  }
  p.tiles.push_back(tile);
}

Timeline run(const Problem& p) {
  const Timeline t = std::get<Timeline>(schedule(p));
  EXPECT_TRUE(test::faults(p, t).empty());
  return t;
}

// Together they want 120 cycles of the port: the second begins when it will have had its 60 by its end.
TEST(EnginePorts, TwoUnitsTakeTurnsWordByWord) {
  Problem p = machine();
  add(p, 0, 100, 60);
  add(p, 1, 100, 60);
  const Timeline t = run(p);
  EXPECT_EQ(t.tiles[1].start, 20);
  EXPECT_EQ(t.cycles, 120);
  EXPECT_EQ(t.tiles[1].cause, (Cause{Cause::Kind::TileAtPort, 0, PortId{0}}));
  EXPECT_EQ(port_cycles(p, t), std::vector<double>{120});
}

// Short runs of addresses: half of the home's 16 bytes a cycle are reached, and nobody else gets the other half.
TEST(EngineHome, WhatIsNotReachedIsNotThereForOthers) {
  Problem p;
  Machine& m = p.machine;
  m.stores = {{"home", 1 << 20, 16}, {"a", 1 << 16, kWord}, {"b", 1 << 16, kWord}};
  m.channels = {{"home.read", 16, 0, true}, {"to a", 16}, {"to b", 4}};
  m.routes.resize(9);
  m.routes[1] = {true, {ChannelId{0}, ChannelId{1}}};
  m.routes[2] = {true, {ChannelId{0}, ChannelId{2}}};
  m.routes[3] = m.routes[6] = {true, {ChannelId{0}}};
  m.units = {{"unit a"}, {"unit b"}};
  for (std::uint32_t u = 0; u < 2; ++u) {
    p.blocks.push_back({.bytes = 160, .efficiency = 0.5, .starts_at_home = true});
    p.uses.push_back({BlockId{u}, StoreId{u + 1}, Access::Read});
    p.tiles.push_back({.unit = UnitId{u}, .cycles = 1, .first_use = u, .uses = 1});
  }
  const Timeline t = run(p);
  EXPECT_EQ(t.transfers[0].end, 20);  // 160 B at 8 a cycle, all of the port
  EXPECT_EQ(t.transfers[1].start, 20);
  EXPECT_EQ(t.transfers[1].end, 60);  // the link's 4 a cycle are less than half of the port
}

TEST(EnginePorts, WhoFitsBesideDoesNotWait) {
  Problem p = machine();
  add(p, 0, 100, 60);
  add(p, 1, 100, 40);
  EXPECT_EQ(run(p).cycles, 100);
}

// 640 bytes pass the link in 80 cycles and the port in 10. The first tile, whose port has no cycle to spare, is not
// held up; the words wait in front of the port, and the second tile waits for 10 cycles and not for 80.
TEST(EnginePorts, WhatComesOverASlowLinkTakesTheWordsItHas) {
  Problem p = machine(1);
  add(p, 0, 100, 100);
  add(p, 0, 100, 100, 640);
  const Timeline t = run(p);
  ASSERT_EQ(t.transfers.size(), 1u);
  EXPECT_EQ(t.transfers[0].start, 0);
  EXPECT_EQ(t.transfers[0].passed, 80);
  EXPECT_EQ(t.transfers[0].end, 110);
  EXPECT_EQ(t.tiles[1].start, 110);
  EXPECT_EQ(port_cycles(p, t), std::vector<double>{210});
}

// With cycles to spare it is there when it has passed the link.
TEST(EnginePorts, ATransferBesideATileThatSparesCyclesIsNotLate) {
  Problem p = machine(1);
  add(p, 0, 100, 60);
  add(p, 0, 100, 60, 640);
  const Timeline t = run(p);
  EXPECT_EQ(t.transfers[0].end, 80);
  EXPECT_EQ(t.cycles, 200);
}

TEST(EnginePorts, ATileThatWantsMoreThanItsTimeTakesLonger) {
  Problem p = machine(1);
  add(p, 0, 100, 150);
  EXPECT_EQ(run(p).cycles, 150);
}

// The check itself: a port that serves two at once is found.
TEST(EnginePorts, TheCheckFindsAPortThatIsUsedTwice) {
  Problem p = machine();
  add(p, 0, 100, 60);
  add(p, 1, 100, 60);
  Timeline t = run(p);
  t.tiles[1].start -= 1;
  t.tiles[1].end -= 1;
  EXPECT_EQ(test::faults(p, t).size(), 1u);
}

}  // namespace
}  // namespace monet::schedule
