// The work an operator is lowered to: dimensions, affine relations, counts.
#include "monet/graph/lower.h"

#include <gtest/gtest.h>

#include "monet/graph/builder.h"

namespace monet {
namespace {

constexpr Format kF16{Element::F16};

const work::Operand& operand(const work::LoopNest& nest, work::Role role) {
  for (const work::Operand& o : nest.operands)
    if (o.role == role) return o;
  throw std::runtime_error("no such operand");
}

std::vector<std::pair<std::string, std::int64_t>> dimensions(const work::LoopNest& nest) {
  std::vector<std::pair<std::string, std::int64_t>> d;
  for (const work::Dimension& x : nest.dimensions) d.emplace_back(x.name, x.size);
  return d;
}

std::vector<std::string> reductions(const work::LoopNest& nest) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nest.dimensions.size(); ++i)
    if (work::is_reduction(nest, i)) names.push_back(nest.dimensions[i].name);
  return names;
}

// Every operand element in bounds is touched by the nest's points at exactly the tensor positions the convolution's
// definition says: checked by enumerating all points of a small case.
struct Case {
  Conv op{ConvKind::Forward, {2, 1}, {1, 2}, {1, 2}, {0, 0}, 2, {}};
  Graph forward, data, weight;
  Case() {
    Builder b("conv");
    const TensorId x = b.source("x", {2, 4, 7, 6}, kF16, Category::Input),
                   w = b.source("w", {6, 2, 3, 2}, kF16, Category::Weight);
    const TensorId bias = b.source("bias", {6}, kF16, Category::Weight);
    const TensorId y = b.one(op, {x, w, bias}, "y");
    forward = b.graph();
    Conv d = op, g = op;
    d.kind = ConvKind::DataGradient, d.extent = {7, 6};
    g.kind = ConvKind::WeightGradient, g.extent = {3, 2};
    b.one(d, {y, w}, "dx");
    data = b.graph();
    b.one(g, {x, y}, "dw");
    weight = b.graph();
  }
};

TEST(Lower, ForwardConvolution) {
  const Case c;
  const auto nest = std::get<work::LoopNest>(lower(c.forward, c.forward.nodes.back()));
  EXPECT_EQ(dimensions(nest), (std::vector<std::pair<std::string, std::int64_t>>{
                                  {"B", 2}, {"G", 2}, {"K", 3}, {"C", 2}, {"OY", 3}, {"OX", 6}, {"FY", 3}, {"FX", 2}}));
  EXPECT_EQ(reductions(nest), (std::vector<std::string>{"C", "FY", "FX"}));
  EXPECT_EQ(work::macs(nest), 2u * 2 * 3 * 2 * 3 * 6 * 3 * 2);
  const work::Operand& x = operand(nest, work::Role::Input);
  ASSERT_EQ(x.axes.size(), 4u);
  EXPECT_EQ(x.axes[1], (work::Axis{4, 0, {{1, 2}, {3, 1}}}));   // channel = 2·G + C
  EXPECT_EQ(x.axes[2], (work::Axis{7, -1, {{4, 2}, {6, 1}}}));  // iy = 2·OY + FY - 1
  EXPECT_EQ(x.axes[3], (work::Axis{6, -2, {{5, 1}, {7, 2}}}));  // ix = OX + 2·FX - 2
  EXPECT_EQ(operand(nest, work::Role::Initial).axes, (std::vector<work::Axis>{{6, 0, {{1, 3}, {2, 1}}}}));
  const work::Operand& y = operand(nest, work::Role::Output);
  EXPECT_EQ(y.format, kF16);
  EXPECT_EQ(y.accumulator, Format{Element::F32});
}

TEST(Lower, TheThreeConvolutionsOfTrainingShareTheirDimensions) {
  const Case c;
  const auto forward = std::get<work::LoopNest>(lower(c.forward, c.forward.nodes.back()));
  const auto data = std::get<work::LoopNest>(lower(c.data, c.data.nodes.back()));
  const auto weight = std::get<work::LoopNest>(lower(c.weight, c.weight.nodes.back()));
  EXPECT_EQ(dimensions(forward), dimensions(data));
  EXPECT_EQ(dimensions(forward), dimensions(weight));
  // Outputs are partially relevant: the data gradient's rows are 2·OY + FY - 1.
  EXPECT_EQ(operand(data, work::Role::Output).axes, operand(forward, work::Role::Input).axes);
  EXPECT_EQ(reductions(data), (std::vector<std::string>{"K"}));
  EXPECT_EQ(operand(weight, work::Role::Output).axes, operand(forward, work::Role::Weight).axes);
  EXPECT_EQ(reductions(weight), (std::vector<std::string>{"B", "OY", "OX"}));
}

// Fewer positions than outputs around them: each position is gathered with the kernel from its last point on.
TEST(Lower, DataGradientOfAFewRowsGathers) {
  Builder b("rows");
  const TensorId dy = b.source("dy", {1, 3, 4, 8}, kF16, Category::Gradient),
                 w = b.source("w", {3, 2, 3, 3}, kF16, Category::Weight);
  const Conv op{ConvKind::DataGradient, {1, 1}, {1, 1}, {2, 1}, {2, 1}, 1, {2, 8}};
  b.one(op, {dy, w}, "dx");
  const auto nest = std::get<work::LoopNest>(lower(b.graph(), b.graph().nodes[0]));
  EXPECT_EQ(dimensions(nest), (std::vector<std::pair<std::string, std::int64_t>>{
                                  {"B", 1}, {"K", 3}, {"C", 2}, {"OY", 2}, {"OX", 8}, {"FY", 3}, {"FX", 3}}));
  EXPECT_EQ(operand(nest, work::Role::Input).axes[2], (work::Axis{4, 0, {{3, 1}, {5, 1}}}));  // oy = iy + (2 - FY)
  EXPECT_EQ(operand(nest, work::Role::Output).axes[2], (work::Axis{2, 0, {{3, 1}}}));
  EXPECT_EQ(operand(nest, work::Role::Output).axes[3], (work::Axis{8, -1, {{4, 1}, {6, 1}}}));
  EXPECT_EQ(reductions(nest), (std::vector<std::string>{"K", "FY"}));
}

TEST(Lower, MatrixProductsMergeBatchesThatBroadcastAlike) {
  Builder b("mm");
  const TensorId a = b.source("a", {2, 3, 4, 5}, kF16, Category::Input),
                 w = b.source("w", {6, 5}, kF16, Category::Weight);
  const TensorId k = b.source("k", {2, 1, 5, 7}, kF16, Category::Input),
                 bias = b.source("bias", {6}, kF16, Category::Weight);
  b.one(MatMul{false, true, 1, 1}, {a, w, bias}, "linear");
  b.one(MatMul{}, {a, k}, "broadcast");
  const Graph g = b.graph();
  const auto linear = std::get<work::LoopNest>(lower(g, g.nodes[0]));
  EXPECT_EQ(dimensions(linear),
            (std::vector<std::pair<std::string, std::int64_t>>{{"B", 6}, {"D", 4}, {"K", 6}, {"C", 5}}));
  EXPECT_EQ(operand(linear, work::Role::Weight).axes, (std::vector<work::Axis>{{6, 0, {{2, 1}}}, {5, 0, {{3, 1}}}}));
  EXPECT_EQ(operand(linear, work::Role::Initial).axes, (std::vector<work::Axis>{{6, 0, {{2, 1}}}}));
  const auto broadcast = std::get<work::LoopNest>(lower(g, g.nodes[1]));
  EXPECT_EQ(dimensions(broadcast),
            (std::vector<std::pair<std::string, std::int64_t>>{{"B", 2}, {"B2", 3}, {"D", 4}, {"K", 7}, {"C", 5}}));
  EXPECT_EQ(work::macs(broadcast), 2u * 3 * 4 * 7 * 5);
}

TEST(Lower, VectorWorkCountsFunctionsReadsAndWrites) {
  Builder b("v");
  const TensorId x = b.source("x", {4, 6}, kF16, Category::Input), r = b.source("r", {6}, kF16, Category::Input);
  b.binary(BinaryKind::ExpDifference, x, r, "e");
  b.one(Reduce{ReduceKind::Mean, {1}, false}, {x}, "m");
  b.add(Unary{UnaryKind::Relu}, {x}, "relu", 2);
  const Graph g = b.graph();
  const auto e = std::get<work::VectorWork>(lower(g, g.nodes[0]));
  EXPECT_EQ(work::element_operations(e), 48u);
  EXPECT_EQ(e.reads, (std::vector<work::Transfer>{{24, kF16}, {6, kF16}}));
  EXPECT_EQ(e.writes, (std::vector<work::Transfer>{{24, kF16}}));
  const auto m = std::get<work::VectorWork>(lower(g, g.nodes[1]));
  EXPECT_EQ(m.iteration, (std::vector<std::int64_t>{4, 6}));
  EXPECT_EQ(m.reduced, (std::vector<bool>{false, true}));
  EXPECT_EQ(work::element_operations(m), 24u + 4);
  const auto relu = std::get<work::VectorWork>(lower(g, g.nodes[2]));
  EXPECT_EQ(relu.writes, (std::vector<work::Transfer>{{24, kF16}, {24, Format{Element::Bit}}}));
}

TEST(Lower, MovementThatMovesNothingIsAView) {
  Builder b("m");
  const TensorId x = b.source("x", {1, 4, 6}, kF16, Category::Input);
  b.view(x, {24}, "view");
  b.one(Transpose{{1, 0, 2}}, {x}, "unit");
  b.one(Transpose{{0, 2, 1}}, {x}, "real");
  b.one(Slice{{0, 1, 0}, {1, 2, 6}, {1, 1, 1}}, {x}, "rows");
  b.one(Slice{{0, 0, 1}, {1, 4, 2}, {1, 1, 1}}, {x}, "columns");
  b.one(Slice{{0, 0, 0}, {1, 2, 6}, {1, 2, 1}}, {x}, "strided");
  b.add(Split{1, {2, 2}}, {x}, "split", 2);
  const Graph g = b.graph();
  std::vector<bool> views;
  for (const Node& n : g.nodes) views.push_back(std::get<work::VectorWork>(lower(g, n)).is_view);
  EXPECT_EQ(views, (std::vector<bool>{true, true, false, true, false, false, true}));
  EXPECT_TRUE(std::get<work::VectorWork>(lower(g, g.nodes[2])).permutes);
}

TEST(Lower, UnknownOperatorsAreLabelledEstimates) {
  Builder b("f");
  const TensorId x = b.source("x", {4, 6}, kF16, Category::Input);
  for (const CostClass c : {CostClass::Movement, CostClass::Elementwise, CostClass::Reduction})
    b.add_fallback(Fallback{"d:Op", c}, {x}, "op", {"y"}, {{{4}, kF16, ""}});
  const Graph g = b.graph();
  EXPECT_EQ(work::element_operations(std::get<work::VectorWork>(lower(g, g.nodes[0]))), 0u);
  EXPECT_EQ(work::element_operations(std::get<work::VectorWork>(lower(g, g.nodes[1]))), 4u);
  EXPECT_EQ(work::element_operations(std::get<work::VectorWork>(lower(g, g.nodes[2]))), 24u);
}

}  // namespace
}  // namespace monet
