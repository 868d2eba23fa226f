#include "monet/cost/loops.h"

#include <gtest/gtest.h>

#include <set>

#include "samples.h"

namespace monet::cost {
namespace {

using namespace samples;

Problem on_one_lane(const Layer& layer, const Quirks& quirks = {}) {
  return make_problem(layer, tpu_like(), {{}, {}}, quirks);
}

std::string text(const Layer& layer, std::span<const TemporalLoop> loops) {
  std::string made;
  for (const TemporalLoop& loop : loops)
    made += layer.dimensions[loop.dimension].name + std::to_string(static_cast<int>(loop.factor)) + " ";
  return made;
}

TEST(Loops, PrimeFactorsByDimension) {
  const Layer layer = gemm(12, 7, 1);
  EXPECT_EQ(text(layer, temporal_loops(on_one_lane(layer))), "B2 B2 B3 K7 ");
}

TEST(Loops, LimitMultipliesTheSmallestOfTheLongest) {
  const Layer layer = gemm(24, 6, 5);
  EXPECT_EQ(text(layer, temporal_loops(on_one_lane(layer), 6)), "B2 B3 B4 K2 K3 C5 ");
  EXPECT_EQ(text(layer, temporal_loops(on_one_lane(layer), 5)), "B4 B6 K2 K3 C5 ");
  EXPECT_EQ(text(layer, temporal_loops(on_one_lane(layer), 1)), "B24 K6 C5 ");
}

TEST(Loops, NothingLeftIsOneLoop) {
  const Layer layer = gemm(1, 1, 1);
  EXPECT_EQ(text(layer, temporal_loops(on_one_lane(layer), 6)), "B1 ");
}

TEST(Loops, OrderingsSayHowMuchChanged) {
  const Layer layer = gemm(4, 6, 3);
  const Problem p = on_one_lane(layer);
  Orderings orderings(p, temporal_loops(p));
  std::vector<std::uint32_t> before;
  while (orderings.next()) {
    const std::vector<std::uint32_t> now(orderings.sequence().begin(), orderings.sequence().end());
    EXPECT_TRUE(!before.empty() || orderings.changed() == now.size());
    for (std::size_t i = orderings.changed(); i < now.size(); ++i) EXPECT_EQ(now[i], before[i]);
    before = now;
  }
}

TEST(Loops, OrderingsAreAllAndDistinct) {
  const Layer layer = gemm(4, 6, 3);
  const Problem p = on_one_lane(layer);
  const std::vector<TemporalLoop> loops = temporal_loops(p);  // B2 B2 K2 K3 C3
  Orderings orderings(p, loops);
  std::set<std::string> seen;
  std::size_t count = 0;
  std::string first;
  while (orderings.next()) {
    if (count++ == 0) first = text(layer, orderings.current());
    seen.insert(text(layer, orderings.current()));
  }
  EXPECT_EQ(count, 60u);  // 5! / 2!
  EXPECT_EQ(seen.size(), count);
  EXPECT_EQ(orderings_of(loops), 60);
  EXPECT_EQ(first, "K3 K2 C3 B2 B2 ");  // names and factors falling
}

const std::vector<work::Dimension> kDimensions{{"B", 4}, {"K", 6}, {"C", 8}};

TEST(Pins, CompleteOrderingIsTheOnlyOne) {
  const Layer layer = gemm(4, 6, 8);
  const PinnedLoops pinned = pinned_loops(on_one_lane(layer), {{"C", 8}, {"K", 6}, {"Z", 3}, {"B", 4}}, kDimensions, 6);
  EXPECT_EQ(text(layer, pinned.complete), "C8 K6 B4 ");
}

TEST(Pins, InnerBeforeTheStarOuterAfterIt) {
  const Layer layer = gemm(4, 6, 8);
  const std::vector<LoopPattern> pattern{{"C", 4}, {std::nullopt, std::nullopt}, {"K", std::nullopt}};
  const Problem p = on_one_lane(layer);
  const PinnedLoops pinned = pinned_loops(p, pattern, kDimensions, 0);
  EXPECT_EQ(text(layer, pinned.loops), "B2 B2 K2 K3 C2 C4 ");
  EXPECT_TRUE(meets(order(layer, {{"C", 4}, {"B", 2}, {"C", 2}, {"K", 3}}), pinned.pins));
  EXPECT_FALSE(meets(order(layer, {{"C", 2}, {"B", 2}, {"C", 4}, {"K", 3}}), pinned.pins));
  EXPECT_FALSE(meets(order(layer, {{"C", 4}, {"K", 3}, {"B", 2}}), pinned.pins));
  // Quirk: the star says nothing, K is pinned right after C.
  const PinnedLoops quirk = pinned_loops(on_one_lane(layer, kZigzagQuirks), pattern, kDimensions, 0);
  EXPECT_TRUE(meets(order(layer, {{"C", 4}, {"K", 3}, {"B", 2}}), quirk.pins));
  EXPECT_FALSE(meets(order(layer, {{"C", 4}, {"B", 2}, {"K", 3}}), quirk.pins));
}

TEST(Pins, FactorsThatDoNotDivideAreRefused) {
  const Layer layer = gemm(4, 6, 8);
  for (const Quirks& quirks : {Quirks{}, kZigzagQuirks}) {
    const PinnedLoops pinned = pinned_loops(on_one_lane(layer, quirks), {{"C", 5}}, kDimensions, 6);
    EXPECT_EQ(pinned.reason, "the ordering pins C 5, of which 8 iterations are left for time");
  }
}

TEST(Pins, PinnedFactorsAreNotMerged) {
  const Layer layer = gemm(4, 6, 8);
  for (const Quirks& quirks : {Quirks{}, kZigzagQuirks}) {
    const PinnedLoops pinned = pinned_loops(on_one_lane(layer, quirks), {{"C", 2}}, kDimensions, 4);
    EXPECT_EQ(std::count(pinned.loops.begin(), pinned.loops.end(), (TemporalLoop{2, 2})), 1)
        << text(layer, pinned.loops);
    EXPECT_EQ(std::count(pinned.loops.begin(), pinned.loops.end(), (TemporalLoop{2, 4})), 1)
        << text(layer, pinned.loops);
  }
}

// 6 has two primes; the reference gives the second back, so that K is covered twice over.
TEST(Pins, QuirkGivesTheSecondPrimeBack) {
  const Layer layer = gemm(4, 6, 8);
  const PinnedLoops quirk = pinned_loops(on_one_lane(layer, kZigzagQuirks), {{"K", 6}}, kDimensions, 0);
  EXPECT_EQ(text(layer, quirk.loops), "B2 B2 K3 K6 C2 C2 C2 ");
  EXPECT_EQ(text(layer, pinned_loops(on_one_lane(layer), {{"K", 6}}, kDimensions, 0).loops), "B2 B2 C2 C2 C2 K6 ");
}

}  // namespace
}  // namespace monet::cost
