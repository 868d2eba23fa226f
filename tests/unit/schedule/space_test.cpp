// Addresses and channels over time, by hand; whole schedules are checked in tests/property/schedule_test.cpp.
#include "monet/schedule/space.h"

#include <gtest/gtest.h>

#include "monet/schedule/channel_time.h"
#include "monet/schedule/timeline.h"

namespace monet::schedule {
namespace {

TEST(Space, GivesTheEarliestSpotThenTheLowest) {
  Space space(100);
  const std::uint32_t low = space.take(0, 40, 1), high = space.take(40, 30, 1);
  ASSERT_TRUE(space.find(30, 5));
  EXPECT_EQ(space.find(30, 5)->address, 70);
  EXPECT_FALSE(space.find(31, 5));  // 30 bytes are left, and nobody knows when there will be more
  space.release(0, 40, low, 20, 7);
  EXPECT_EQ(space.find(35, 5)->time, 20);
  EXPECT_EQ(space.find(35, 5)->address, 0);
  EXPECT_EQ(space.find(35, 5)->freed_by, 7u);
  space.release(40, 30, high, 10, 9);
  // 30 + 30 bytes from cycle 10, together with the first 40 from cycle 20.
  EXPECT_EQ(space.find(60, 0)->time, 10);
  EXPECT_EQ(space.find(60, 0)->address, 40);
  EXPECT_EQ(space.find(100, 0)->time, 20);
  EXPECT_EQ(space.free_from(), 20);
  EXPECT_FALSE(space.find(101, 0));
  EXPECT_EQ(space.find(0, 3)->time, 3);
}

TEST(Space, ASpotMayLieOverPiecesFreedOneAfterTheOther) {
  Space space(30);
  const std::uint32_t a = space.take(0, 10, 1), b = space.take(10, 10, 1), c = space.take(20, 10, 1);
  space.release(0, 10, a, 1, 1);
  space.release(10, 10, b, 3, 2);
  space.release(20, 10, c, 2, 3);
  const std::uint32_t all = space.take(0, 25, 1);
  EXPECT_EQ(space.find(5, 0)->address, 25);
  EXPECT_EQ(space.find(5, 0)->time, 2);
  space.release(0, 25, all, 9, 4);
  EXPECT_EQ(space.find(30, 0)->time, 9);
  // Before the horizon the times do not matter any more.
  space.forget_before(9);
  EXPECT_EQ(space.find(30, 9)->time, 9);
  EXPECT_EQ(space.find(5, 10)->address, 0);
}

TEST(Space, NamesThoseInTheWayWhereItHurtsLeast) {
  Space space(100);
  std::vector<std::uint32_t> pieces;
  for (std::uint32_t i = 0; i < 4; ++i) pieces.push_back(space.take(20 * i, 20, i));  // 20 bytes are left
  const auto in_the_way = [&](std::int64_t bytes) {
    // Owner 2 is used last, then 3, then 1; owner 0 must stay.
    std::vector<std::uint32_t> left{pieces[1], pieces[3], pieces[2]};
    return space.in_the_way(bytes, [&](std::vector<std::uint32_t>& given) {
      if (left.empty()) return false;
      given = {left.back()};
      left.pop_back();
      return true;
    });
  };
  EXPECT_EQ(in_the_way(30), std::vector<std::uint32_t>{3});  // beside the free ones
  EXPECT_EQ(in_the_way(60), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(in_the_way(80), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(in_the_way(81), std::vector<std::uint32_t>{});  // owner 0 stays
}

TEST(ChannelTime, FindsRoomForARate) {
  ChannelTime channel;
  channel.occupy(10, 20, 4, 7);
  channel.occupy(15, 30, 4, 9);
  EXPECT_EQ(channel.free_from(8, 8, 10, 0).time, 0);
  EXPECT_EQ(channel.free_from(8, 8, 10, 0).freed_by, 0u);
  EXPECT_EQ(channel.free_from(8, 8, 11, 0).time, 30);
  EXPECT_EQ(channel.free_from(8, 8, 11, 0).freed_by, 9u);
  EXPECT_EQ(channel.free_from(4, 8, 15, 0).time, 0);
  EXPECT_EQ(channel.free_from(4, 8, 16, 0).time, 20);
  EXPECT_EQ(channel.free_from(4, 8, 16, 0).freed_by, 7u);
  EXPECT_EQ(channel.free_from(1, 8, 5, 12).time, 20);
  channel.forget_before(16);
  EXPECT_EQ(channel.free_from(4, 8, 1, 16).time, 20);
}

// Two stores of 100 bytes on a bus of 10 bytes a cycle, home at 10.
Problem small() {
  Problem p;
  p.machine.stores = {{"home", 1000, 10}, {"a", 100, 10}, {"b", 100, 10}};
  p.machine.channels = {{"bus", 10}};
  p.machine.units = {{"one"}, {"two"}};
  for (std::uint32_t i = 0; i < 9; ++i) p.machine.routes.push_back({.exists = i % 4 != 0, .channels = {ChannelId{0}}});
  return p;
}

void add(Problem& p, std::uint32_t unit, double cycles, std::vector<Use> uses) {
  p.tiles.push_back({.unit = UnitId{unit},
                     .cycles = cycles,
                     .first_use = static_cast<std::uint32_t>(p.uses.size()),
                     .uses = static_cast<std::uint32_t>(uses.size())});
  p.uses.insert(p.uses.end(), uses.begin(), uses.end());
}

TEST(Schedule, FetchesTheNextTileWhileOneRuns) {
  Problem p = small();
  for (int i = 0; i < 4; ++i) p.blocks.push_back({.bytes = 20, .starts_at_home = true});
  for (std::uint32_t i = 0; i < 4; ++i) add(p, 0, 10, {{BlockId{i}, StoreId{1}}});
  const Timeline t = std::get<Timeline>(schedule(p));
  // The first block takes 2 cycles; the others come while a tile runs.
  EXPECT_EQ(t.tiles[0].start, 2);
  EXPECT_EQ(t.tiles[3].end, 42);
  EXPECT_EQ(t.cycles, 42);
  EXPECT_EQ(t.tiles[0].cause.kind, Cause::Kind::Transfer);
  EXPECT_EQ(t.tiles[3].cause.kind, Cause::Kind::Unit);
}

TEST(Schedule, OneTransferServesTwoStoresOnABus) {
  Problem p = small();
  p.blocks.push_back({.bytes = 50, .starts_at_home = true});
  add(p, 0, 10, {{BlockId{0}, StoreId{1}}});
  add(p, 1, 10, {{BlockId{0}, StoreId{2}}});
  const Timeline t = std::get<Timeline>(schedule(p));
  ASSERT_EQ(t.transfers.size(), 2u);
  EXPECT_EQ(t.transfers[1].carried_by, 0u);
  EXPECT_EQ(t.tiles[1].start, 5);
}

TEST(Schedule, WhatLeavesAfterAUseGoesHomeAndGivesItsPlaceBack) {
  Problem p = small();
  p.blocks = {{.bytes = 40}, {.bytes = 40}};
  add(p, 0, 10, {{.block = BlockId{0}, .store = StoreId{1}, .access = Access::Write, .leaves = true}});
  add(p, 0, 10, {{BlockId{1}, StoreId{1}, Access::Write}});
  add(p, 0, 10, {{BlockId{1}, StoreId{1}}});
  add(p, 0, 10, {{BlockId{0}, StoreId{1}}});
  const Timeline t = std::get<Timeline>(schedule(p));
  ASSERT_EQ(t.transfers.size(), 2u);
  EXPECT_EQ(t.transfers[0].purpose, Purpose::Spill);
  EXPECT_EQ(t.transfers[0].to, p.machine.home);
  EXPECT_EQ(t.transfers[0].start, 10);
  EXPECT_EQ(t.transfers[1].purpose, Purpose::Fetch);
  // It is on the chip until it is home, and again when it is wanted.
  std::vector<std::pair<double, double>> stays;
  for (const Stay& s : t.stays)
    if (s.block == BlockId{0} && s.store == StoreId{1}) stays.emplace_back(s.from, s.to);
  ASSERT_EQ(stays.size(), 2u);
  EXPECT_EQ(stays[0].second, t.transfers[0].end);
  EXPECT_GE(stays[1].first, stays[0].second);
}

// 60 bytes in a row: block 1 must go, though block 0 is used later, as what is left beside it is not enough.
Problem one_must_go(bool is_kept) {
  Problem p = small();
  p.blocks = {{.bytes = 40}, {.bytes = 40}, {.bytes = 60, .ends_at_home = is_kept}};
  add(p, 0, 10, {{BlockId{0}, StoreId{1}, Access::Write}});
  add(p, 0, 10, {{BlockId{1}, StoreId{1}, Access::Write}});
  add(p, 0, 10, {{BlockId{2}, StoreId{1}, Access::Write}});
  add(p, 0, 10, {{BlockId{1}, StoreId{1}}});
  add(p, 0, 10, {{BlockId{0}, StoreId{1}}});
  return p;
}

TEST(Schedule, MovesAwayWhatIsUsedLastAndBringsItBack) {
  const Timeline t = std::get<Timeline>(schedule(one_must_go(false)));
  ASSERT_EQ(t.transfers.size(), 2u);
  EXPECT_EQ(t.transfers[0].block, BlockId{1});
  EXPECT_EQ(t.transfers[0].purpose, Purpose::Spill);
  // Its place is free when the third tile ends, and it is there 4 cycles later.
  EXPECT_EQ(t.transfers[1].block, BlockId{1});
  EXPECT_EQ(t.transfers[1].purpose, Purpose::Fetch);
  EXPECT_EQ(t.tiles[3].start, t.tiles[2].end + 4);
}

TEST(Schedule, WaitsForAPlaceNoLongerThanMovingSomethingAwayTakes) {
  // Block 2 goes home first, 6 cycles, and block 1 comes back, 4; to move block 0 out and in again takes 8.
  const Timeline t = std::get<Timeline>(schedule(one_must_go(true)));
  ASSERT_EQ(t.transfers.size(), 5u);
  EXPECT_EQ(std::count_if(t.transfers.begin(), t.transfers.end(),
                          [](const Transfer& transfer) { return transfer.block == BlockId{0}; }),
            2);
  EXPECT_EQ(t.tiles[3].start, t.tiles[2].end);
  EXPECT_EQ(t.tiles[4].start, t.tiles[3].end);
}

// However many tiles are decided before: rule 1 knows no other bound than the tile before on the same unit.
TEST(Schedule, AUnitThatComesLateInTheOrderBeginsAtOnce) {
  Problem p = small();
  p.blocks = {{.bytes = 20, .starts_at_home = true}, {.bytes = 20, .starts_at_home = true}};
  for (int i = 0; i < 5000; ++i) add(p, 0, 10, {{BlockId{0}, StoreId{1}}});
  add(p, 1, 10, {{BlockId{1}, StoreId{2}}});
  const Timeline t = std::get<Timeline>(schedule(p));
  EXPECT_EQ(t.tiles[4999].start, 2 + 4999 * 10);
  EXPECT_EQ(t.tiles[5000].start, 4);
}

TEST(Schedule, SaysWhatHeldTheChannelOfAFlow) {
  Problem p = small();
  p.blocks = {{.bytes = 500, .starts_at_home = true}, {.bytes = 50, .starts_at_home = true}};
  p.tiles.push_back({.unit = UnitId{0}, .cycles = 10, .flows = 1});
  p.flows.push_back({BlockId{0}, Access::Read, StoreId{1}, 500});
  add(p, 1, 10, {{BlockId{1}, StoreId{2}}});
  const Timeline t = std::get<Timeline>(schedule(p));
  EXPECT_EQ(t.tiles[0].end, 50);  // as long as 500 bytes flow
  ASSERT_EQ(t.transfers.size(), 1u);
  EXPECT_EQ(t.transfers[0].start, 50);
  EXPECT_EQ(t.transfers[0].cause, (Cause{Cause::Kind::Tile, 0}));
}

TEST(Schedule, SaysWhatDoesNotFit) {
  Problem p = small();
  p.blocks = {{.bytes = 60, .starts_at_home = true}, {.bytes = 50}};
  add(p, 0, 10, {{BlockId{0}, StoreId{1}}, {BlockId{1}, StoreId{1}, Access::Write}});
  const NoRoom none = std::get<NoRoom>(schedule(p));
  EXPECT_EQ(none.store, StoreId{1});
  EXPECT_EQ(none.block, BlockId{1});
  EXPECT_EQ(none.wanted_bytes, 50);
  EXPECT_EQ(none.pinned_bytes, 60);
  EXPECT_EQ(none.pinned, std::vector<BlockId>{BlockId{0}});
  p.machine.stores[1].bytes = 110;
  EXPECT_TRUE(std::holds_alternative<Timeline>(schedule(p)));
}

}  // namespace
}  // namespace monet::schedule
