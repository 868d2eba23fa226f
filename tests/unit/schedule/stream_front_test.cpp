// Does Stream's way from a model, a chip and a mapping to a schedule give its figures? Totals are those of Stream
// 70eb6751 with ZigZag 3.8.2 (its results for these inputs), which no code of ours had a part in.
#include <gtest/gtest.h>

#include "monet/schedule/stream_costs.h"
#include "monet/schedule/stream_network.h"
#include "monet/schedule/stream_tiles.h"
#include "support/stream_chip.h"

namespace monet::schedule {
namespace {

StreamProblem plan(const StreamModel& model, StreamMode mode, const StreamStacks& given, std::int64_t parts) {
  const hardware::Hardware chip = tpu_quad();
  const StreamLayers layers = stream_layers(model);
  StreamProblem p;
  EXPECT_EQ(layers.failure, "");
  EXPECT_EQ(add_stream_network(chip, p), "");
  const double weight_bits = 4 * 16777216.0 + 2 * 1048576.0;
  const cost::MappingFile mapping = quad_mapping(parts);
  const StreamTiling tiling =
      tile_stream(layers.layers, stream_stacks(layers.layers, mode, given, weight_bits), mode, mapping, {}, p);
  EXPECT_EQ(tiling.failure, "");
  EXPECT_EQ(add_stream_costs(layers.layers, tiling, chip, mapping, p), "");
  return p;
}

StreamStacks two_stacks() {
  StreamStacks stacks(2);
  for (std::int64_t i = 0; i <= 21; ++i) stacks[i < 11 ? 0 : 1].push_back(i);
  return stacks;
}

TEST(StreamFront, MakesResNet18LayerByLayer) {
  const StreamProblem p = plan(stream_resnet18(), StreamMode::LayerByLayer, {}, 4);
  EXPECT_EQ(p.tiles.size(), 162u);
  EXPECT_EQ(p.edges.size(), 541u);
  const StreamResult r = run_stream(p);
  EXPECT_EQ(r.latency, 6200611.5);
  EXPECT_NEAR(r.energy_pj, 4607092175.552, 1);
  EXPECT_NEAR(r.onchip_pj, 827864175.5520003, 1);
  EXPECT_EQ(r.events.size(), 454u);
}

TEST(StreamFront, MakesResNet18FusedOverFourCores) {
  const StreamProblem p = plan(stream_resnet18(), StreamMode::Fused, two_stacks(), 4);
  EXPECT_EQ(p.tiles.size(), 3866u);
  EXPECT_EQ(p.edges.size(), 25216u);
  const StreamResult r = run_stream(p);
  EXPECT_EQ(r.latency, 6309600.5);
  EXPECT_NEAR(r.energy_pj, 3047493123.8719826, 1);
  EXPECT_EQ(r.events.size(), 7531u);
  EXPECT_EQ(r.peak_bits[0], 5973952);
  EXPECT_EQ(r.peak_bits[6], 102481736);
}

TEST(StreamFront, MakesResNet18FusedOnOneCore) {
  const StreamProblem p = plan(stream_resnet18(), StreamMode::Fused, two_stacks(), 1);
  EXPECT_EQ(p.tiles.size(), 1118u);
  EXPECT_EQ(p.edges.size(), 3043u);
  const StreamResult r = run_stream(p);
  EXPECT_EQ(r.latency, 6696091.0);
  EXPECT_NEAR(r.energy_pj, 2619869144.0639963, 1);
}

// A picture that is not square, columns as rows, and memories that overflow.
TEST(StreamFront, MakesFsrcnnAsOneStack) {
  const StreamProblem p = plan(stream_fsrcnn(), StreamMode::Fused, {}, 4);
  EXPECT_EQ(p.tiles.size(), 30720u);
  EXPECT_EQ(p.edges.size(), 291648u);
  const StreamResult r = run_stream(p);
  EXPECT_EQ(r.latency, 67802005.0);
  EXPECT_NEAR(r.energy_pj, 17783313786.396954, 5);
  EXPECT_EQ(r.events.size(), 94719u);
}

TEST(StreamFront, GivesTheSameOnAnyNumberOfThreads) {
  const StreamLayers layers = stream_layers(stream_resnet18());
  const hardware::Hardware chip = tpu_quad();
  const cost::MappingFile mapping = quad_mapping(4);
  StreamProblem p;
  add_stream_network(chip, p);
  const StreamTiling tiling = tile_stream(layers.layers, stream_stacks(layers.layers, StreamMode::LayerByLayer, {}, 0),
                                          StreamMode::LayerByLayer, mapping, {}, p);
  StreamProblem one = p, many = p;
  EXPECT_EQ(add_stream_costs(layers.layers, tiling, chip, mapping, one, {.threads = 1}), "");
  EXPECT_EQ(add_stream_costs(layers.layers, tiling, chip, mapping, many, {.threads = 5}), "");
  EXPECT_EQ(one, many);
  EXPECT_GT(one.tiles[0].runtime, 0);
}

}  // namespace
}  // namespace monet::schedule
