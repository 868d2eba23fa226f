#include "monet/cost/allocate.h"

#include <gtest/gtest.h>

#include "samples.h"

namespace monet::cost {
namespace {

using namespace samples;

Core two_levels(std::int64_t buffer_bits) {
  return core({{"D1", 1}}, 1,
              {{"buffer", buffer_bits, 1, 1, "I1 I2 O", "D1", {{8, 64, "I1.fh I1.tl I2.fh I2.tl O.fh O.tl O.fl O.th"}}},
               {"dram", 1 << 20, 10, 10, "I1 I2 O", "D1", {{8, 64, "I1.fh I1.tl I2.fh I2.tl O.fh O.tl O.fl O.th"}}}});
}

Cuts cuts_of(const Layer& layer, const Core& core, const std::vector<TemporalLoop>& loops, bool even = false) {
  const Problem p = make_problem(layer, core, Spatial(core.array->dimensions.size()), kZigzagQuirks);
  Cuts cuts{};
  Misfit misfit;
  EXPECT_TRUE(allocate_greedily(p, loops, even, cuts, misfit)) << to_string(misfit, layer, core);
  return cuts;
}

TEST(Allocate, TakesWhatLeavesFewestAccesses) {
  const Layer layer = gemm(4, 4, 4);
  const auto loops = order(layer, {{"C", 4}, {"K", 4}, {"B", 4}});
  // All three whole: 16 weights, 16 inputs (8 bits), 16 sums (16 bits while any reduction is unplaced).
  EXPECT_EQ(cuts_of(layer, two_levels(16 * 8 * 2 + 16 * 16), loops)[0][0], 3);
  // One bit less and not all fit. Sums lose nothing by it: along B they are others.
  const Cuts less = cuts_of(layer, two_levels(16 * 8 * 2 + 16 * 16 - 1), loops);
  EXPECT_EQ(less[0][0], 2);  // output
  EXPECT_EQ(less[1][0], 3);  // weights
  EXPECT_EQ(less[2][0], 3);  // inputs
}

// The rule itself, in a few lines that share nothing with the code: every combination, fewest accesses, last of equals.
TEST(Allocate, EqualsEnumeration) {
  const Layer layer = gemm(6, 4, 6);
  const std::vector<std::vector<std::pair<std::string, double>>> orders{
      {{"C", 2}, {"K", 2}, {"B", 3}, {"C", 3}, {"K", 2}, {"B", 2}},
      {{"B", 2}, {"B", 3}, {"K", 4}, {"C", 6}},
      {{"K", 2}, {"C", 6}, {"B", 6}, {"K", 2}}};
  const auto uses = [](int operand, const std::string& name) {
    return operand == 0 ? name != "C" : operand == 1 ? name != "B" : name != "K";
  };
  for (const auto& loops : orders)
    for (std::int64_t capacity = 32; capacity < 1400; capacity += 17) {
      const auto tile = [&](int operand, std::size_t kept) {
        double elements = 1;
        for (std::size_t i = 0; i < kept; ++i)
          if (uses(operand, loops[i].first)) elements *= loops[i].second;
        return elements * (operand == 0 ? 16 : 8);
      };
      const auto outside = [&](std::size_t kept) {
        double times = 1;
        for (std::size_t i = kept; i < loops.size(); ++i) times *= loops[i].second;
        return times;
      };
      double best = 1e300;
      std::array<std::size_t, 3> kept{};
      for (std::size_t i = 0; i <= loops.size(); ++i)      // inputs are the memory's first operand
        for (std::size_t w = 0; w <= loops.size(); ++w)    // then weights
          for (std::size_t o = 0; o <= loops.size(); ++o)  // then outputs
            if (tile(2, i) + tile(1, w) + tile(0, o) <= static_cast<double>(capacity)) {
              const double accesses = tile(2, i) * outside(i) + tile(1, w) * outside(w) + tile(0, o) * outside(o);
              if (accesses > best) continue;
              best = accesses;
              kept = {o, w, i};
            }
      const Cuts cuts = cuts_of(layer, two_levels(capacity), order(layer, loops));
      for (std::size_t operand = 0; operand < 3; ++operand)
        EXPECT_EQ(cuts[operand][0], kept[operand]) << capacity << " bits, operand " << operand;
    }
}

TEST(Allocate, EvenHoldsTheSameLoops) {
  const Layer layer = gemm(4, 4, 4);
  const Cuts cuts = cuts_of(layer, two_levels(400), order(layer, {{"C", 4}, {"K", 4}, {"B", 4}}), true);
  EXPECT_EQ(cuts[0][0], cuts[1][0]);
  EXPECT_EQ(cuts[1][0], cuts[2][0]);
}

Misfit misfit_of(const Layer& layer, const Core& core, const std::vector<TemporalLoop>& loops, const Spatial& spatial) {
  const Problem p = make_problem(layer, core, spatial, kZigzagQuirks);
  Cuts cuts{};
  Misfit misfit;
  EXPECT_FALSE(allocate_greedily(p, loops, false, cuts, misfit));
  return misfit;
}

TEST(Allocate, SaysWhatDoesNotFit) {
  const Layer layer = gemm(4, 4, 4);
  const auto loops = order(layer, {{"C", 4}, {"K", 4}, {"B", 4}});
  Core small = two_levels(15);
  EXPECT_EQ(misfit_of(layer, small, loops, {{}}),
            (Misfit{.kind = Misfit::Kind::Tile, .memory = 0, .operand = 0, .needed_bits = 16}));
  EXPECT_EQ(to_string(misfit_of(layer, small, loops, {{}}), layer, small),
            "memory 'buffer' (15 bits) cannot hold a tile of O: at least 16 bits");
  small.memories[0].size_bits = 31;  // 16 + 8 + 8
  EXPECT_EQ(misfit_of(layer, small, loops, {{}}),
            (Misfit{.kind = Misfit::Kind::Tiles, .memory = 0, .operand = 0, .needed_bits = 32}));
  small.memories[0].size_bits = 32;
  small.memories[1].size_bits = 200;  // each operand has 16 · 8
  const Misfit together = misfit_of(layer, small, loops, {{}});
  EXPECT_EQ(together.memory, 1u);
  EXPECT_EQ(together.kind, Misfit::Kind::Tiles);
  small.memories[1].size_bits = 127;  // no operand is whole
  EXPECT_EQ(misfit_of(layer, small, loops, {{}}),
            (Misfit{.kind = Misfit::Kind::TopTile, .memory = 1, .operand = 2, .needed_bits = 128}));
}

// A loop over one lane makes no sums, but the reference makes room for them.
TEST(Allocate, QuirkOneLaneCountsAsReduction) {
  const Layer layer = gemm(4, 4, 4);
  const Spatial one_lane{{{.dimension = 2, .factor = 1}}};
  const Core core = two_levels(1024);
  Core replicated = core;
  replicated.memories[0].served_dimensions.clear();
  const Problem quirk = make_problem(layer, replicated, one_lane, kZigzagQuirks);
  const Problem ours = make_problem(layer, replicated, one_lane, Quirks{});
  EXPECT_TRUE(quirk.operands[0].fractional.reduces_from[1]);
  EXPECT_FALSE(ours.operands[0].fractional.reduces_from[1]);
}

}  // namespace
}  // namespace monet::cost
