// Does a tile cost what Stream says? Figures are those of the tiles in its schedules (70eb6751 with ZigZag 3.8.2).
#include "monet/schedule/stream_costs.h"

#include <gtest/gtest.h>

#include "support/stream_chip.h"

namespace monet::schedule {
namespace {

using hardware::Slot;

std::vector<std::int64_t> sizes(const StreamLayer& layer, const std::map<std::string, std::int64_t>& changed) {
  std::vector<std::int64_t> out;
  for (const work::Dimension& d : layer.dimensions)
    out.push_back(changed.contains(d.name) ? changed.at(d.name) : d.size);
  return out;
}

StreamCost cost_of(std::size_t id, const std::map<std::string, std::int64_t>& changed, bool is_alone,
                   std::int64_t parallel, const hardware::Core& core) {
  const StreamLayer layer = stream_layers(stream_resnet18()).layers.at(id);
  return stream_cost(layer, sizes(layer, changed), is_alone, parallel, core, stream_offchip_core(), {});
}

TEST(StreamCosts, AreThoseOfTilesThatFit) {
  const hardware::Core core = tpu_like_core("core");
  const StreamCost first = cost_of(0, {{"K", 16}, {"OY", 1}}, false, 4, core);
  EXPECT_EQ(first.failure, "");
  EXPECT_EQ(first.runtime, 5538);
  EXPECT_NEAR(first.onchip_pj, 117068.848, 1e-3);
  EXPECT_EQ(first.offchip_pj, 0);
  EXPECT_TRUE(first.too_large.empty());
  const StreamCost relu = cost_of(1, {{"D", 1}, {"K", 28}}, false, 4, core);
  EXPECT_EQ(relu.runtime, 66);
  EXPECT_NEAR(relu.onchip_pj, 6111.528, 1e-4);
  const StreamCost pool = cost_of(2, {{"OY", 1}}, false, 1, stream_pooling_core());
  EXPECT_EQ(pool.runtime, 29118);
  EXPECT_NEAR(pool.onchip_pj, 4104038.4, 1e-2);
}

// Alone in its stack everything is streamed, and the search weighs the off-chip bandwidth of all cores.
TEST(StreamCosts, AreThoseOfTilesThatAreStreamed) {
  const StreamCost conv = cost_of(0, {{"K", 16}}, true, 4, tpu_like_core("core"));
  EXPECT_EQ(conv.runtime, 633185);
  EXPECT_NEAR(conv.onchip_pj, 13246644.496, 1e-1);
  EXPECT_EQ(conv.offchip_pj, 44198000);
  ASSERT_EQ(conv.too_large.size(), 3u);
  EXPECT_EQ(conv.too_large[0].slot, Slot::Output);
  EXPECT_EQ(conv.too_large[0].bits_per_cycle, 2);
  EXPECT_EQ(conv.too_large[1].slot, Slot::Weight);
  EXPECT_EQ(conv.too_large[1].bits_per_cycle, 0);
  EXPECT_EQ(conv.too_large[2].bits_per_cycle, 1);
  const StreamCost last = cost_of(48, {{"K", 250}}, true, 4, tpu_like_core("core"));
  EXPECT_EQ(last.runtime, 16221.875);  // first loads hidden by fractions
  EXPECT_NEAR(last.onchip_pj, 456981.472, 1e-3);
  EXPECT_EQ(last.offchip_pj, 16096000);
  EXPECT_EQ(last.too_large[2].bits_per_cycle, 63);
  const StreamCost add = cost_of(22, {}, true, 1, stream_simd_core());
  EXPECT_EQ(add.runtime, 37632);
  EXPECT_EQ(add.too_large[1].bits_per_cycle, 22);
  // The off-chip memory does not know the third dimension of this array, and is there eight times.
  const StreamCost pool = cost_of(46, {}, true, 1, stream_pooling_core());
  EXPECT_EQ(pool.runtime, 592190);
  EXPECT_EQ(pool.offchip_pj, 3200000);
}

// ZigZag 3.8.2 says 30 and 64: four cycles a step, and first loads have longer to hide behind them.
TEST(StreamCosts, TakeFourCyclesForAnExponential) {
  const auto runtime = [](const char* type) {
    StreamModelMaker m({1, 1, 8, 64});
    m.same(type, {"x"});
    const StreamLayer layer = stream_layers(m.model()).layers.at(0);
    return stream_cost(layer, sizes(layer, {}), false, 1, stream_simd_core(), stream_offchip_core(), {}).runtime;
  };
  EXPECT_EQ(runtime("Relu"), 30);
  EXPECT_EQ(runtime("Exp"), 64);
  EXPECT_EQ(runtime("Sqrt"), 30);
}

TEST(StreamCosts, StreamTheLargestOperandsOfAMemoryThatIsTooSmall) {
  StreamModelMaker m({1, 64, 56, 56});
  m.conv("x", 64, 3, 1);
  const StreamLayer layer = stream_layers(m.model()).layers.at(0);
  hardware::Core core = tpu_like_core("core");
  const std::int64_t input = 64 * 56 * 56 * 8, sums = 64 * 56 * 56 * 16, weights = 64 * 64 * 9 * 8;
  const auto slots = [&](std::int64_t bits) {
    core.memories[2].size_bits = bits;
    return too_large_slots(layer, sizes(layer, {}), core);
  };
  EXPECT_TRUE(slots(input + sums + weights).empty());
  EXPECT_EQ(slots(input + sums + weights - 1), (std::vector<Slot>{Slot::Output}));
  // What stays needs room beside the registers of what does not: 32 of 16 bits for sums.
  EXPECT_EQ(slots(input + weights + 32 * 16), (std::vector<Slot>{Slot::Output}));
  // The lowest memory of inputs is the one in question: when they leave, nothing has room beside it.
  EXPECT_EQ(slots(input + weights + 32 * 16 - 1), (std::vector<Slot>{Slot::Weight, Slot::Input, Slot::Output}));
}

TEST(StreamCosts, SayWhyThereIsNone) {
  hardware::Core core = tpu_like_core("core");
  core.memories[1].size_bits = 8;  // no sum fits
  const StreamCost cost = cost_of(0, {{"K", 16}, {"OY", 1}}, false, 4, core);
  EXPECT_NE(cost.failure, "");
  core.array.reset();
  EXPECT_NE(cost_of(0, {}, false, 4, core).failure, "");
}

}  // namespace
}  // namespace monet::schedule
