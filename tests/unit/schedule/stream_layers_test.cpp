// Are layers what Stream's front end makes of operators? Dimensions, operands and sources worked out by hand from the
// rules L1 to L10 of docs/stream.md.
#include "monet/schedule/stream_layers.h"

#include <gtest/gtest.h>

#include "support/stream_chip.h"

namespace monet::schedule {
namespace {

std::string dimensions(const StreamLayer& layer) {
  std::string out;
  for (const work::Dimension& d : layer.dimensions) out += d.name + std::to_string(d.size) + " ";
  return out;
}

// "O[B K OY OX]" with the names of dimensions and relations.
std::string axes(const StreamLayer& layer, std::size_t operand) {
  std::string out = layer.operands[operand].name + "[";
  for (const std::size_t axis : layer.operands[operand].axes)
    out += (axis < layer.dimensions.size() ? layer.dimensions[axis].name
                                           : layer.relations[axis - layer.dimensions.size()].name) +
           " ";
  return out + "]";
}

TEST(StreamLayers, CallsTheHeightOfAConvolutionOx) {
  StreamModelMaker m({1, 3, 10, 20});
  m.conv("x", 8, 3, 2);
  const StreamLayers made = stream_layers(m.model());
  ASSERT_EQ(made.failure, "");
  const StreamLayer& layer = made.layers.at(0);
  EXPECT_EQ(dimensions(layer), "B1 K8 G1 OX5 C3 FX3 OY10 FY3 ");
  EXPECT_EQ(axes(layer, 0), "O[B G K OY OX ]");
  EXPECT_EQ(axes(layer, 1), "W[K C FY FX ]");
  EXPECT_EQ(axes(layer, 2), "I[B G C IY IX ]");
  EXPECT_EQ(layer.relations[0].extent, 10);
  EXPECT_EQ(layer.relations[1].extent, 20);
  EXPECT_EQ(layer.operands[0].bits, 8);
  EXPECT_EQ(layer.operands[0].partial_bits, 16);
  EXPECT_EQ(layer.constants, (std::vector<std::size_t>{1, 2}));  // nobody makes its input
}

TEST(StreamLayers, LeavesOutChannelsOfOneAndTheKOfGroupedWeights) {
  StreamModelMaker m({1, 8, 6, 6});
  m.conv(m.conv("x", 8, 3, 1, 8), 8, 1, 1, 2);
  const StreamLayers made = stream_layers(m.model());
  EXPECT_EQ(dimensions(made.layers.at(0)), "B1 G8 OX6 FX3 OY6 FY3 ");
  EXPECT_EQ(axes(made.layers[0], 1), "W[G FY FX ]");
  EXPECT_EQ(axes(made.layers[1], 1), "W[G C FY FX ]");
  EXPECT_EQ(axes(made.layers[1], 0), "O[B G K OY OX ]");
  EXPECT_EQ(made.layers[1].operands[2].source, 0);
}

TEST(StreamLayers, CountsTheChannelsOfPoolingTwice) {
  StreamModelMaker m({1, 8, 6, 6});
  m.add({.type = "GlobalAveragePool", .inputs = {"x"}}, {1, 8, 1, 1});
  const StreamLayer layer = stream_layers(m.model()).layers.at(0);
  EXPECT_EQ(dimensions(layer), "B1 K8 OX1 OY1 C8 FX6 FY6 ");
  EXPECT_EQ(layer.type, "pooling");
  EXPECT_EQ(layer.operands[1].bits, 0);
  EXPECT_EQ(layer.operands[0].partial_bits, 8);
  // The input of a first pooling is neither constant nor made.
  EXPECT_EQ(layer.constants, (std::vector<std::size_t>{1}));
  EXPECT_FALSE(layer.operands[2].is_constant);
}

TEST(StreamLayers, GivesMadeWeightsOfAProductItsBatch) {
  StreamModelMaker m({2, 4, 6});
  const std::string a = m.same("Relu", {"x"}), b = m.same("Relu", {"x"});
  m.add({.type = "MatMul", .inputs = {a, "w"}}, {2, 4, 5});
  m.add({.type = "MatMul", .inputs = {a, b}}, {2, 4, 5});
  const StreamLayers made = stream_layers(m.model());
  EXPECT_EQ(dimensions(made.layers.at(2)), "B2 D4 C6 K5 ");
  EXPECT_EQ(axes(made.layers[2], 2), "W[C K ]");
  EXPECT_EQ(axes(made.layers[3], 2), "W[B C K ]");
  EXPECT_EQ(made.layers[3].operands[1].source, 0);  // I is the first
  EXPECT_EQ(made.layers[3].operands[2].source, 1);
  EXPECT_TRUE(made.layers[3].constants.empty());
}

TEST(StreamLayers, TakesTheBroadcastInputAsWeight) {
  StreamModelMaker m({1, 4, 5, 6});
  const std::string a = m.same("Relu", {"x"});
  const std::string b = m.add({.type = "Relu", .inputs = {"v"}}, {5, 6});
  m.model().shapes["v"] = {5, 6};
  m.add({.type = "Mul", .inputs = {a, b}}, {1, 4, 5, 6});
  m.add({.type = "Add", .inputs = {a, a}}, {1, 4, 5, 6});
  const StreamLayers made = stream_layers(m.model());
  ASSERT_EQ(made.failure, "");
  EXPECT_EQ(axes(made.layers.at(2), 2), "W[D K ]");
  EXPECT_EQ(made.layers[2].operands[2].source, 1);
  EXPECT_EQ(made.layers[2].operands[1].source, 0);
  EXPECT_EQ(made.layers[3].operands[1].source, 0);
  EXPECT_EQ(made.layers[3].operands[2].source, 0);
  EXPECT_EQ(axes(made.layers[0], 2), "W[B H D K ]");  // of an operator without made inputs
}

TEST(StreamLayers, MakesFourLayersOfASoftmax) {
  StreamModelMaker m({2, 3, 8});
  const std::string s = m.same("Softmax", {m.same("Relu", {"x"})});
  m.same("Relu", {s});
  const StreamLayers made = stream_layers(m.model());
  ASSERT_EQ(made.layers.size(), 6u);
  EXPECT_EQ(made.layers[1].name, "Softmax1-max/");
  EXPECT_EQ(dimensions(made.layers[1]), "B2 H3 D8 R1 ");
  EXPECT_EQ(axes(made.layers[1], 0), "O[B H R ]");
  EXPECT_EQ(axes(made.layers[2], 2), "W[B H R ]");
  EXPECT_EQ(made.layers[2].operands[1].source, 0);
  EXPECT_EQ(made.layers[2].operands[2].source, 1);
  EXPECT_EQ(made.layers[3].operands[1].source, 2);
  EXPECT_EQ(made.layers[4].operands[2].source, 3);
  EXPECT_EQ(made.layers[5].operands[1].source, 4);
}

TEST(StreamLayers, CountsEveryOperatorWithInputsAndMakesUnknownOnesFree) {
  StreamModelMaker m({1, 4});
  m.model().operators.push_back({.type = "Constant", .outputs = {"c"}});
  const std::string a = m.same("Relu", {"x"}), b = m.same("Relu", {"x"}), c = m.same("Relu", {"x"});
  m.add({.type = "LayerNormalization", .inputs = {a, b, c}}, {1, 4});
  const StreamLayers made = stream_layers(m.model());
  ASSERT_EQ(made.layers.size(), 4u);
  EXPECT_EQ(made.layers[3].kind, StreamLayerKind::Free);
  EXPECT_EQ(made.layers[3].before, (std::vector<std::int64_t>{0, 1}));
}

TEST(StreamLayers, ReadsPrecisionsFromTheModel) {
  StreamModelMaker m({1, 3, 6, 6});
  m.conv("x", 8, 1, 1);
  m.model().operators[0].attributes["act_size"] = {4};
  m.model().operators[0].attributes["weight_size"] = {2};
  const StreamLayer layer = stream_layers(m.model()).layers.at(0);
  EXPECT_EQ(layer.operands[0].bits, 4);
  EXPECT_EQ(layer.operands[0].partial_bits, 8);
  EXPECT_EQ(layer.operands[1].bits, 2);
}

TEST(StreamLayers, SaysWhereStreamStops) {
  StreamModelMaker m({1, 4, 6});
  const std::string a = m.same("Relu", {"x"}), b = m.same("Relu", {"x"});
  m.add({.type = "Concat", .inputs = {a, b}, .attributes = {{"axis", {1}}}}, {1, 8, 6});
  EXPECT_NE(stream_layers(m.model()).failure.find("constant"), std::string::npos);
  StreamModelMaker unknown({1, 4});
  unknown.same("Relu", {"x"});
  unknown.model().shapes.erase("x");
  EXPECT_NE(stream_layers(unknown.model()).failure.find("'x' is not known"), std::string::npos);
  StreamModelMaker reduced({1, 4, 6});
  reduced.add({.type = "ReduceMean", .inputs = {reduced.same("Relu", {"x"})}}, {1, 1, 6});
  EXPECT_NE(reduced.model().operators.size(), 0u);
  EXPECT_NE(stream_layers(reduced.model()).failure.find("last axis"), std::string::npos);
}

// 56x56 outputs of a 3x3 window with stride 1: rows of one tile see 58 columns, of which 56 are stored.
TEST(StreamLayers, CountsWhatAWindowSees) {
  StreamModelMaker m({1, 64, 56, 56});
  m.conv("x", 64, 3, 1);
  const StreamLayer layer = stream_layers(m.model()).layers.at(0);
  std::vector<std::int64_t> sizes;
  for (const work::Dimension& d : layer.dimensions) sizes.push_back(d.name == "OY" ? 1 : d.size);
  EXPECT_EQ(operand_bits(layer, layer.operands[2], sizes), 64 * 56 * 3 * 8);
  EXPECT_EQ(operand_bits(layer, layer.operands[0], sizes), 64 * 56 * 16);
  // OX, OY, FX and FY all belong to windows of the input; G and B have one element.
  EXPECT_EQ(irrelevant_dimensions(layer, layer.operands[2], sizes), (std::vector<std::size_t>{1}));
}

}  // namespace
}  // namespace monet::schedule
