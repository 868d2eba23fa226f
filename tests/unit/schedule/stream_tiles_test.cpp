// Are layers cut, joined and ordered as Stream does? Small networks worked out by hand from the rules T1 to T8 of
// docs/stream.md; whole networks in stream_front_test.cpp.
#include "monet/schedule/stream_tiles.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "monet/schedule/stream_network.h"
#include "support/stream_chip.h"

namespace monet::schedule {
namespace {

struct Made {
  StreamProblem problem{};
  StreamTiling tiling{};

  const StreamTile& tile(std::int64_t layer, std::int64_t sub) const {
    for (const StreamTile& t : problem.tiles)
      if (t.layer == layer && t.sub == sub) return t;
    throw std::out_of_range("tile");
  }
  StreamRange range(std::int64_t layer, std::int64_t sub, const std::string& dimension) const {
    for (const auto& [d, range] : tile(layer, sub).ranges)
      if (problem.dimensions[d] == dimension) return range;
    throw std::out_of_range(dimension);
  }
  // Tiles of `to` that take something of a tile of `from`.
  std::set<std::pair<std::int64_t, std::int64_t>> between(std::int64_t from, std::int64_t to) const {
    std::set<std::pair<std::int64_t, std::int64_t>> out;
    for (const StreamEdge& e : problem.edges)
      if (problem.tiles[e.from].layer == from && problem.tiles[e.to].layer == to)
        out.emplace(problem.tiles[e.from].sub, problem.tiles[e.to].sub);
    return out;
  }
};
using Pairs = std::set<std::pair<std::int64_t, std::int64_t>>;

cost::MappingFile mapping(std::vector<cost::Allocation> entries) {
  cost::MappingFile file;
  file.allocations = std::move(entries);
  for (const cost::Allocation& a : file.allocations) file.requests.push_back({.name = a.name});
  return file;
}

Made make(const StreamModel& model, const cost::MappingFile& file, const StreamStacks& stacks,
          StreamChoice chosen = {}) {
  Made made;
  const StreamLayers layers = stream_layers(model);
  EXPECT_EQ(layers.failure, "");
  add_stream_network(tpu_quad(), made.problem);
  made.tiling = tile_stream(layers.layers, stacks, StreamMode::Fused, file, chosen, made.problem);
  return made;
}

cost::MappingFile one_core(const char* intra, std::optional<std::int64_t> factor) {
  return mapping({{.name = "default", .cores = {{0}}, .inter_core = {{"K", 1}}, .intra_core = {{intra, factor}}}});
}

StreamModel two_convolutions() {
  StreamModelMaker m({1, 4, 8, 8});
  m.conv(m.conv("x", 4, 3, 1), 4, 3, 1);
  return m.model();
}

TEST(StreamTiles, JoinRowsWithTheirHalos) {
  const Made made = make(two_convolutions(), one_core("OY", 4), {{0, 1}});
  ASSERT_EQ(made.tiling.failure, "");
  EXPECT_EQ(made.problem.tiles.size(), 8u);
  EXPECT_EQ(made.range(0, 1, "OY"), (StreamRange{2, 4}));
  EXPECT_EQ(made.range(0, 1, "IY"), (StreamRange{1, 5}));
  EXPECT_EQ(made.range(0, 0, "IY"), (StreamRange{-1, 3}));  // with its padding
  // Two rows and one on each side.
  EXPECT_EQ(made.between(0, 1),
            (Pairs{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 2}, {2, 3}, {3, 3}}));
  EXPECT_EQ(made.between(0, 0), (Pairs{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(StreamTiles, GoThroughAStackSlotBySlot) {
  cost::MappingFile file =
      mapping({{.name = "default", .cores = {{0}}, .inter_core = {{"K", 1}}, .intra_core = {{"OY", 2}}},
               {.name = "Conv1", .cores = {{0, 1}}, .inter_core = {{"K", 2}}, .intra_core = {{"OY", 4}}}});
  const Made made = make(two_convolutions(), file, {{0, 1}});
  std::vector<std::pair<std::int64_t, std::int64_t>> order;
  for (const std::uint32_t t : made.problem.order)
    order.emplace_back(made.problem.tiles[t].layer, made.problem.tiles[t].sub);
  EXPECT_EQ(order, (std::vector<std::pair<std::int64_t, std::int64_t>>{
                       {0, 0}, {1, 0}, {1, 1}, {1, 2}, {1, 3}, {0, 1}, {1, 4}, {1, 5}, {1, 6}, {1, 7}}));
  // Parts for different cores come first, and are no chain.
  EXPECT_EQ(made.tile(1, 0).core, 0u);
  EXPECT_EQ(made.tile(1, 1).core, 1u);
  EXPECT_EQ(made.range(1, 1, "K"), (StreamRange{2, 4}));
  EXPECT_EQ(made.between(1, 1), (Pairs{{0, 2}, {2, 4}, {4, 6}, {1, 3}, {3, 5}, {5, 7}}));
}

TEST(StreamTiles, ShareTensorsAndCountTheirUses) {
  const cost::MappingFile file =
      mapping({{.name = "default", .cores = {{0, 1}}, .inter_core = {{"K", 2}}, .intra_core = {{"OY", 4}}}});
  const Made made = make(two_convolutions(), file, {{0, 1}});
  const auto tensor = [&](std::int64_t sub, std::size_t operand) {
    return made.problem.tensors[made.tile(0, sub).operands[operand].tensor];
  };
  EXPECT_EQ(made.tile(0, 0).operands[1].tensor, made.tile(0, 2).operands[1].tensor);  // weights of all rows
  EXPECT_NE(made.tile(0, 0).operands[1].tensor, made.tile(0, 1).operands[1].tensor);
  EXPECT_EQ(made.tile(0, 0).operands[2].tensor, made.tile(0, 1).operands[2].tensor);  // the input of both cores
  EXPECT_EQ(tensor(2, 1).owner, 0u);
  EXPECT_EQ(tensor(0, 1).base_priority, 4);
  EXPECT_EQ(tensor(0, 2).base_priority, 2);
  EXPECT_EQ(tensor(0, 1).bits, 2 * 4 * 3 * 3 * 8);
  EXPECT_EQ(tensor(0, 2).bits, 4 * 4 * 10 * 8);  // padding counts
  EXPECT_FALSE(made.problem.tensors[made.tile(1, 0).operands[2].tensor].base_priority.has_value());
}

TEST(StreamTiles, EnlargeLayersThatAreNotDivided) {
  StreamModelMaker m({1, 4, 8, 8});
  m.conv("x", 6, 3, 1);
  const Made made =
      make(m.model(),
           mapping({{.name = "default", .cores = {{0, 1, 2, 3}}, .inter_core = {{"K", 4}}, .intra_core = {{"OY", 3}}}}),
           {{0}, {}});
  ASSERT_EQ(made.tiling.failure, "");
  // Alone in its stack it is cut over cores only, but its rows have become nine.
  EXPECT_EQ(made.problem.tiles.size(), 4u);
  EXPECT_EQ(made.range(0, 3, "K"), (StreamRange{6, 8}));
  EXPECT_EQ(made.range(0, 0, "OY"), (StreamRange{0, 9}));
  EXPECT_TRUE(made.tiling.layers[0].is_alone);
}

TEST(StreamTiles, TakeDefaultsWhereTheMappingSaysNothingUseful) {
  StreamModelMaker m({1, 4, 8, 8});
  m.same("Relu", {m.conv("x", 4, 3, 1)});
  const Made made = make(m.model(), mapping({{.name = "default", .cores = {{2}}, .inter_core = {{"Q", 3}}}}), {{0, 1}});
  ASSERT_EQ(made.tiling.failure, "");
  EXPECT_EQ(made.range(0, 1, "OY"), (StreamRange{4, 8}));
  EXPECT_EQ(made.range(1, 1, "K"), (StreamRange{4, 8}));
  EXPECT_EQ(made.tile(0, 0).split, 1);
  EXPECT_EQ(made.tile(0, 0).core, 2u);
}

TEST(StreamTiles, KeepTheFactorBeforeOneThatDivides) {
  const Made made = make(two_convolutions(),
                         mapping({{.name = "default",
                                   .cores = {{0}},
                                   .inter_core = {{"K", 1}},
                                   .intra_core = {{"OX", std::nullopt}, {"OY", 4}}}}),
                         {{0, 1}});
  // OY is cut into eight as OX, not into four.
  EXPECT_EQ(made.problem.tiles.size(), 2u * 64u);
}

TEST(StreamTiles, LeaveSumsOutUntilTheyAreComplete) {
  const Made made = make(two_convolutions(), one_core("C", 2), {{0, 1}});
  EXPECT_FALSE(made.tile(0, 0).is_final);
  EXPECT_TRUE(made.tile(0, 1).is_final);
  EXPECT_EQ(made.tile(0, 0).operands[0].tensor, made.tile(0, 1).operands[0].tensor);
  EXPECT_EQ(made.between(0, 1), (Pairs{{1, 0}, {1, 1}}));
}

// Rows of a convolution are its columns for the operators behind it: axes are joined as they stand.
TEST(StreamTiles, JoinTheWidthOfAConvolutionWithTheHeightBehindIt) {
  StreamModelMaker m({1, 4, 4, 8});
  m.same("Relu", {m.conv("x", 4, 1, 1)});
  const Made made =
      make(m.model(),
           mapping({{.name = "default", .cores = {{0}}, .inter_core = {{"B", 1}}, .intra_core = {{"D", 2}}},
                    {.name = "Conv", .cores = {{0}}, .inter_core = {{"B", 1}}, .intra_core = {{"OY", 4}}}}),
           {{0, 1}});
  // OY has eight, in tiles of two; D has four, in tiles of two: tiles 2 and 3 are read by nobody.
  EXPECT_EQ(made.between(0, 1), (Pairs{{0, 0}, {1, 1}}));
}

// A Relu cut into two along its channels, something that only moves, and a reader.
Made through(StreamOperator moves, std::vector<std::int64_t> shape, StreamOperator reader,
             std::vector<std::int64_t> result, const char* dimension, std::int64_t factor) {
  StreamModelMaker m({1, 2, 3, 4});
  moves.inputs = {m.same("Relu", {"x"}), "s"};
  reader.inputs = {m.add(std::move(moves), std::move(shape))};
  if (reader.type != "Exp") reader.inputs.push_back("w");
  const std::string type = reader.type;
  m.add(std::move(reader), std::move(result));
  return make(m.model(),
              mapping({{.name = "default", .cores = {{0}}, .inter_core = {{"B", 1}}, .intra_core = {{"H", 2}}},
                       {.name = type, .cores = {{0}}, .inter_core = {{"D", 1}}, .intra_core = {{dimension, factor}}}}),
              {{0, 2}});
}

TEST(StreamTiles, FollowElementsThroughLayersThatMoveThem) {
  const Made flat =
      through({.type = "Flatten", .attributes = {{"axis", {1}}}}, {1, 24}, {.type = "Gemm"}, {1, 5}, "C", 4);
  ASSERT_EQ(flat.tiling.failure, "");
  EXPECT_EQ(flat.between(0, 2), (Pairs{{0, 0}, {0, 1}, {1, 2}, {1, 3}}));
  const Made reshaped = through({.type = "Reshape"}, {1, 2, 12}, {.type = "Exp"}, {1, 2, 12}, "H", 2);
  ASSERT_EQ(reshaped.tiling.failure, "");
  EXPECT_EQ(reshaped.between(0, 2), (Pairs{{0, 0}, {1, 1}}));
  const Made turned = through({.type = "Transpose", .attributes = {{"perm", {0, 2, 1, 3}}}}, {1, 3, 2, 4},
                              {.type = "Exp"}, {1, 3, 2, 4}, "D", 2);
  ASSERT_EQ(turned.tiling.failure, "");
  EXPECT_EQ(turned.between(0, 2), (Pairs{{0, 0}, {1, 1}}));
  const Made second = through({.type = "Slice", .attributes = {{"starts", {1}}, {"ends", {2}}, {"axes", {1}}}},
                              {1, 1, 3, 4}, {.type = "Exp"}, {1, 1, 3, 4}, "K", 2);
  ASSERT_EQ(second.tiling.failure, "");
  EXPECT_EQ(second.between(0, 2), (Pairs{{1, 0}, {1, 1}}));
}

// Of a reshape that joins more than two axes Stream forgets only one, and stops at the reader.
TEST(StreamTiles, StopWhereStreamLosesCountOfAxes) {
  EXPECT_EQ(through({.type = "Reshape"}, {6, 4}, {.type = "MatMul"}, {6, 5}, "D", 2).tiling.failure,
            "layer 2 takes 2 axes of 3");
}

TEST(StreamTiles, SayWhatTakesASearch) {
  const cost::MappingFile open =
      mapping({{.name = "default", .cores = {{0, 1}}, .inter_core = {{"K", 1}}, .intra_core = {{"OY", 4}}}});
  EXPECT_NE(make(two_convolutions(), open, {{0, 1}}).tiling.failure.find("genetic"), std::string::npos);
  const Made chosen = make(two_convolutions(), open, {{0, 1}}, {{0, {1}}, {1, {0}}});
  EXPECT_EQ(chosen.tiling.failure, "");
  EXPECT_EQ(chosen.tile(0, 3).core, 1u);
  EXPECT_EQ(chosen.tile(1, 3).core, 0u);
  const cost::MappingFile star =
      mapping({{.name = "default", .cores = {{0}}, .inter_core = {{"K", std::nullopt}}, .intra_core = {{"OY", 4}}}});
  EXPECT_NE(make(two_convolutions(), star, {{0, 1}}).tiling.failure.find("left open"), std::string::npos);
  const cost::MappingFile nowhere = mapping({{.name = "default", .cores = {{9}}, .inter_core = {{"K", 1}}}});
  EXPECT_NE(make(two_convolutions(), nowhere, {{0, 1}}).tiling.failure.find("no core 9"), std::string::npos);
}

TEST(StreamStacks, FuseAsManyFirstLayersAsHaveTheirWeightsFit) {
  const std::vector<StreamLayer> layers = stream_layers(stream_resnet18()).layers;
  // 64·3·7·7 and 64·64·3·3 weights of a byte, and one of each Relu: the second convolution is one too many.
  const double bits = 8 * (64 * 3 * 7 * 7 + 1 + 64 * 64 * 9.0);
  const StreamStacks fits = stream_stacks(layers, StreamMode::Fused, {}, bits);
  EXPECT_EQ(fits[0], (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(fits[1], (std::vector<std::int64_t>{4}));
  EXPECT_EQ(stream_stacks(layers, StreamMode::Fused, {}, bits - 1)[0], (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(stream_stacks(layers, StreamMode::LayerByLayer, {}, bits).size(), 48u);
  const StreamStacks given = stream_stacks(layers, StreamMode::Fused, {{1, 47, 99, 0}}, bits);
  EXPECT_EQ(given[0], (std::vector<std::int64_t>{1, 0}));  // 47 is a Flatten, 99 nothing
  EXPECT_EQ(given.size(), 47u);
}

}  // namespace
}  // namespace monet::schedule
