// Which loops an operator has, and what a box of them reads. tests/property runs the tiles on numbers.
#include "monet/graph/cut.h"

#include <gtest/gtest.h>

#include "monet/graph/builder.h"
#include "monet/graph/lower.h"
#include "monet/graph/verify.h"

namespace monet {
namespace {

struct One {
  Builder b{"one"};
  TensorId in(Shape shape, Element element = Element::F32) {
    return b.source("s", std::move(shape), Format{element}, Category::Input);
  }
  const Node& add(Op op, std::vector<TensorId> inputs, std::size_t outputs = 1) {
    b.add(std::move(op), std::move(inputs), "n", outputs);
    return b.graph().nodes.back();
  }
};

std::string describe(const Graph& g, const Node& node) {
  std::string text;
  for (const Loop& loop : loops_of(g, node)) {
    const char* kind = loop.kind == LoopKind::Parallel ? "" : loop.kind == LoopKind::Reduction ? "+" : "!";
    text += loop.name + kind + std::to_string(loop.size) + (loop.within.empty() ? "" : "<" + loop.within) + " ";
    EXPECT_EQ(loop.why.empty(), loop.kind != LoopKind::Fixed);
  }
  return text;
}

std::string text(const Region& region) {
  std::string t;
  for (const Range& r : region.axes) t += std::to_string(r.begin) + ":" + std::to_string(r.end) + " ";
  return t;
}
std::string text(const std::optional<Region>& region) { return region ? text(*region) : "none"; }

// A box that is whole but for one loop.
std::vector<Range> only(const Graph& g, const Node& node, const std::string& name, Range range) {
  std::vector<Range> box;
  for (const Loop& loop : loops_of(g, node)) box.push_back(loop.name == name ? range : Range{0, loop.size});
  return box;
}

Conv conv_of(std::int64_t stride, std::int64_t pad, std::int64_t groups = 1, ConvKind kind = ConvKind::Forward,
             Ints extent = {}) {
  return {.kind = kind,
          .strides = {stride, stride},
          .dilations = {1, 1},
          .pads_begin = {pad, pad},
          .pads_end = {pad, pad},
          .groups = groups,
          .extent = std::move(extent)};
}

TEST(Loops, OfConvolutions) {
  One o;
  const TensorId x = o.in({2, 4, 8, 9}), w = o.in({6, 2, 3, 3}), y = o.in({2, 6, 8, 9});
  EXPECT_EQ(describe(o.b.graph(), o.add(conv_of(1, 1, 2), {x, w})), "B2 G2 K3<G C+2<G OY8 OX9 FY+3 FX+3 ");
  EXPECT_EQ(describe(o.b.graph(), o.add(conv_of(1, 1, 2, ConvKind::DataGradient, {8, 9}), {y, w})),
            "B2 G2 K+3<G C2<G IY8 IX9 FY+3 FX+3 ");
  EXPECT_EQ(describe(o.b.graph(), o.add(conv_of(1, 1, 2, ConvKind::WeightGradient, {3, 3}), {x, y})),
            "B+2 G2 K3<G C2<G OY+8 OX+9 FY3 FX3 ");
}

TEST(Loops, OfMatrixProducts) {
  One o;
  EXPECT_EQ(describe(o.b.graph(), o.add(MatMul{}, {o.in({3, 4}), o.in({4, 5})})), "D3 K5 C+4 ");
  EXPECT_EQ(describe(o.b.graph(), o.add(MatMul{}, {o.in({7, 3, 4}), o.in({4, 5})})), "B7 D3 K5 C+4 ");
  // lower merges both axes into one dimension B of 14
  EXPECT_EQ(describe(o.b.graph(), o.add(MatMul{}, {o.in({2, 7, 3, 4}), o.in({2, 7, 4, 5})})), "B.02 B.17 D3 K5 C+4 ");
  EXPECT_EQ(describe(o.b.graph(), o.add(MatMul{}, {o.in({2, 7, 3, 4}), o.in({2, 1, 4, 5})})), "B2 B27 D3 K5 C+4 ");
}

TEST(Loops, OfVectorWork) {
  One o;
  const Graph& g = o.b.graph();
  const TensorId image = o.in({2, 6, 4, 5});
  EXPECT_EQ(describe(g, o.add(Unary{}, {image})), "A02 A16 A24 A35 ");
  EXPECT_EQ(describe(g, o.add(Reduce{ReduceKind::Sum, {1, 3}, true}, {image})), "A02 R1+6 A24 R3+5 ");
  EXPECT_EQ(describe(g, o.add(Reduce{ReduceKind::Sum, {1, 3}, false}, {image})), "A02 R1+6 A14 R3+5 ");
  const auto norm = [](NormPass pass, NormKind kind, std::int64_t axis, std::int64_t groups) {
    NormPart part;
    part.pass = pass, part.kind = kind, part.axis = axis, part.groups = groups;
    return part;
  };
  EXPECT_EQ(describe(g, o.add(norm(NormPass::Statistics, NormKind::Batch, -1, 1), {image}, 2)), "R0+2 A06 R2+4 R3+5 ");
  EXPECT_EQ(describe(g, o.add(norm(NormPass::Statistics, NormKind::Layer, 2, 1), {image}, 2)), "A02 A16 R2+4 R3+5 ");
  EXPECT_EQ(describe(g, o.add(norm(NormPass::Statistics, NormKind::Group, -1, 3), {image}, 2)),
            "A02 G3 R1+2<G R2+4 R3+5 ");
  EXPECT_EQ(describe(g, o.add(ScatterAdd{1, 9}, {image, o.in({6, 4}, Element::I64)})), "A02 A19 R1+6 R2+4 A25 ");
  EXPECT_EQ(describe(g, o.add(Split{1, {2, 4}}, {image}, 2)), "A02 A16 A24 A35 ");
}

TEST(Loops, ThatStayWholeSayWhy) {
  One o;
  const Graph& g = o.b.graph();
  EXPECT_EQ(describe(g, o.add(View{{4, 3, 2}}, {o.in({4, 6})})), "A04 A1!3 A2!2 ");
  EXPECT_EQ(describe(g, o.add(Reduce{ReduceKind::Mean, {0}, true}, {o.in({4, 6}, Element::I64)})), "R0!4 A16 ");
  EXPECT_EQ(describe(g, o.add(Unfold{{2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, {o.in({2, 3, 5, 6})})),
            "B2 C3 OY4 OX!5 FY!2 FX!2 ");
  // a variance without its mean is not put together
  NormPart part;
  part.pass = NormPass::Statistics;
  o.b.add_wanted(part, {o.in({4, 6, 5})}, "statistics", {false, true});
  EXPECT_EQ(describe(g, g.nodes.back()), "R0!4 A06 R2!5 ");
  // a window as large as can be stated leaves no room for the pads of parts
  Conv large = conv_of(1, 0);
  large.dilations = {1 << 23, 1};
  EXPECT_EQ(describe(g, o.add(large, {o.in({1, 1, (1 << 23) + 1, 3}), o.in({1, 1, 2, 3})})),
            "B1 K1 C+1 OY1 OX1 FY+2 FX+3 ");
  large.dilations = {(1 << 24) - 1, 1};
  EXPECT_EQ(describe(g, o.add(large, {o.in({1, 1, 1 << 24, 3}), o.in({1, 1, 2, 3})})), "B1 K1 C+1 OY!1 OX1 FY!2 FX+3 ");
}

TEST(Cut, RowsOfAConvolutionWithTheirHalo) {
  One o;
  const Node& n = o.add(conv_of(1, 1), {o.in({1, 2, 8, 8}), o.in({3, 2, 3, 3}), o.in({3})});
  const Graph& g = o.b.graph();
  const auto rows = [&](Range r) { return cut(g, n, only(g, n, "OY", r)); };
  EXPECT_EQ(text(rows({0, 2}).inputs[0]), "0:1 0:2 0:3 0:8 ");
  EXPECT_EQ(std::get<Conv>(rows({0, 2}).op).pads_begin, (Ints{1, 1}));
  EXPECT_EQ(std::get<Conv>(rows({0, 2}).op).pads_end, (Ints{0, 1}));
  EXPECT_EQ(text(rows({3, 5}).inputs[0]), "0:1 0:2 2:6 0:8 ");
  EXPECT_EQ(std::get<Conv>(rows({3, 5}).op).pads_begin, (Ints{0, 1}));
  EXPECT_EQ(text(rows({7, 8}).inputs[0]), "0:1 0:2 6:8 0:8 ");
  EXPECT_EQ(std::get<Conv>(rows({7, 8}).op).pads_end, (Ints{1, 1}));
  EXPECT_EQ(text(rows({3, 5}).outputs[0]), "0:1 0:3 3:5 0:8 ");
  EXPECT_EQ(rows({3, 5}).combine, (Combine{CombineKind::None, 2 * 3 * 3}));
}

TEST(Cut, RowsOfADataGradientAndTheGradientsTheyAreGatheredFrom) {
  One o;
  const Node& n = o.add(conv_of(2, 1, 1, ConvKind::DataGradient, {9, 9}), {o.in({1, 3, 5, 5}), o.in({3, 2, 3, 3})});
  const Graph& g = o.b.graph();
  const auto rows = [&](Range r) { return text(cut(g, n, only(g, n, "IY", r)).inputs[0]); };
  EXPECT_EQ(rows({0, 1}), "0:1 0:3 0:1 0:5 ");  // row 0 = 2·0 + 1 - 1
  EXPECT_EQ(rows({1, 2}), "0:1 0:3 0:2 0:5 ");  // row 1 = 2·0 + 2 - 1 = 2·1 + 0 - 1
  EXPECT_EQ(rows({2, 5}), "0:1 0:3 1:3 0:5 ");
  EXPECT_EQ(rows({8, 9}), "0:1 0:3 4:5 0:5 ");
}

TEST(Cut, ChannelsOfGroupsAreCutInOneGroup) {
  One o;
  const Node& n = o.add(conv_of(1, 1, 2), {o.in({2, 4, 8, 8}), o.in({6, 2, 3, 3})});
  const Graph& g = o.b.graph();
  std::vector<Range> box{{0, 2}, {1, 2}, {1, 3}, {0, 2}, {0, 8}, {0, 8}, {0, 3}, {0, 3}};
  const Cut part = cut(g, n, box);
  EXPECT_EQ(text(part.inputs[0]), "0:2 2:4 0:8 0:8 ");
  EXPECT_EQ(text(part.inputs[1]), "4:6 0:2 0:3 0:3 ");
  EXPECT_EQ(text(part.outputs[0]), "0:2 4:6 0:8 0:8 ");
  EXPECT_EQ(std::get<Conv>(part.op).groups, 1);
  box[1] = {0, 2};
  EXPECT_DEATH(cut(g, n, box), "one step");
}

TEST(Cut, PartsOfASumLeaveTheBiasToTheFirst) {
  One o;
  const Node& n = o.add(MatMul{}, {o.in({3, 8}), o.in({8, 5}), o.in({5})});
  const Graph& g = o.b.graph();
  const Cut first = cut(g, n, only(g, n, "C", {0, 3})), second = cut(g, n, only(g, n, "C", {3, 8}));
  EXPECT_EQ(first.combine, (Combine{CombineKind::Sum, 3}));
  EXPECT_EQ(second.combine, (Combine{CombineKind::Sum, 5}));
  EXPECT_EQ(text(first.inputs[2]), "0:5 ");
  EXPECT_EQ(text(second.inputs[2]), "none");
  EXPECT_EQ(alone(g, n, second).nodes[0].inputs.size(), 2u);
  EXPECT_EQ(text(second.inputs[1]), "3:8 0:5 ");
}

TEST(Cut, LeavesOutWhatABoxDoesNotTouch) {
  One o;
  const Node concat = o.add(Concat{0}, {o.in({2, 3}), o.in({4, 3}), o.in({5, 3})});
  const Cut part = cut(o.b.graph(), concat, std::vector<Range>{{5, 8}, {0, 3}});
  EXPECT_EQ(text(part.inputs[0]), "none");
  EXPECT_EQ(text(part.inputs[1]), "3:4 0:3 ");
  EXPECT_EQ(text(part.inputs[2]), "0:2 0:3 ");
  const Node split = o.add(Split{0, {2, 4, 5}}, {o.in({11, 3})}, 3);
  const Cut parts = cut(o.b.graph(), split, std::vector<Range>{{1, 4}, {0, 3}});
  EXPECT_EQ(text(parts.outputs[0]), "1:2 0:3 ");
  EXPECT_EQ(text(parts.outputs[1]), "0:2 0:3 ");
  EXPECT_EQ(text(parts.outputs[2]), "none");
  EXPECT_EQ(std::get<Split>(parts.op).sizes, (Ints{1, 2}));
  const Node pad = o.add(Pad{{4, 0}, {0, 0}, PadMode::Constant, 0.5}, {o.in({2, 3})});
  const Cut padding = cut(o.b.graph(), pad, std::vector<Range>{{1, 3}, {0, 3}});
  EXPECT_EQ(padding.op, (Op{Fill{{2, 3}, 0.5, Element::F32}}));
  EXPECT_EQ(text(padding.inputs[0]), "none");
}

TEST(Cut, SaysWhereAPartStandsWhenItMatters) {
  One o;
  const Graph& g = o.b.graph();
  const Node dropout = o.add(Dropout{0.5, 3}, {o.in({4, 6})});
  EXPECT_EQ(std::get<Dropout>(cut(g, dropout, std::vector<Range>{{1, 2}, {2, 5}}).op).part,
            (Part{{4, 6}, {1, 2}, {}, {}}));
  EXPECT_EQ(cut(g, dropout, std::vector<Range>{{0, 4}, {0, 6}}).op, dropout.op);
  const Node trilu = o.add(Trilu{true, 1}, {o.in({5, 6})});
  EXPECT_EQ(std::get<Trilu>(cut(g, trilu, std::vector<Range>{{3, 5}, {1, 6}}).op).k, 3);
  Pool pool{.kind = PoolKind::Max,
            .kernel = {3},
            .strides = {2},
            .dilations = {1},
            .pads_begin = {1},
            .pads_end = {1},
            .ceil = false,
            .count_pads = false,
            .window_index = false};
  const Node pooled = o.add(pool, {o.in({1, 1, 9})}, 2);
  EXPECT_EQ(std::get<Pool>(cut(g, pooled, std::vector<Range>{{0, 1}, {0, 1}, {2, 4}}).op).part,
            (Part{{9}, {3}, {2}, {2}}));
  // The mean of a loss is over all labels that count.
  const Node loss = o.add(NegativeLogLikelihood{}, {o.in({4, 5}), o.in({4}, Element::I64)});
  const Cut part = cut(g, loss, std::vector<Range>{{1, 3}, {0, 5}});
  EXPECT_EQ(text(part.inputs[0]), "1:3 0:5 ");
  EXPECT_EQ(text(part.inputs[1]), "0:4 ");
  EXPECT_EQ(std::get<NegativeLogLikelihood>(part.op).part, (Part{{4, 5}, {1, 0}, {}, {}}));
  const Node sum = o.add(NegativeLogLikelihood{.mean = false}, {o.in({4, 5}), o.in({4}, Element::I64)});
  EXPECT_EQ(text(cut(g, sum, std::vector<Range>{{1, 3}, {0, 5}}).inputs[1]), "1:3 ");
}

TEST(Cut, WholeOperatorsThatCannotBeCut) {
  One o;
  Dropout dropout{0.5, 3};
  dropout.part = {{8, 6}, {4, 0}, {}, {}};
  const Node part = o.add(dropout, {o.in({4, 6})});
  EXPECT_EQ(describe(o.b.graph(), part), "A0!4 A1!6 ");
  const Cut same = cut(o.b.graph(), part, std::vector<Range>{{0, 4}, {0, 6}});
  EXPECT_EQ(same.op, part.op);
  o.b.add_fallback(Fallback{"x:Y", CostClass::Movement}, {part.inputs[0]}, "f", {"f"}, {{{3}, Format{}, ""}});
  const Node fallback = o.b.graph().nodes.back();
  EXPECT_EQ(describe(o.b.graph(), fallback), "A0!3 ");
  EXPECT_EQ(text(cut(o.b.graph(), fallback, std::vector<Range>{{0, 3}}).inputs[0]), "0:4 0:6 ");
}

TEST(Cut, MisuseIsCaught) {
  One o;
  const Node n = o.add(Unary{}, {o.in({4, 6})});
  const Graph& g = o.b.graph();
  EXPECT_DEATH(cut(g, n, std::vector<Range>{{0, 4}}), "one range for each loop");
  EXPECT_DEATH(cut(g, n, std::vector<Range>{{0, 4}, {0, 6}, {0, 1}}), "one range for each loop");
  EXPECT_DEATH(cut(g, n, std::vector<Range>{{0, 5}, {0, 6}}), "lie in their loops");
  EXPECT_DEATH(cut(g, n, std::vector<Range>{{2, 2}, {0, 6}}), "lie in their loops");
  const Node view = o.add(View{{2, 12}}, {n.inputs[0]});
  EXPECT_DEATH(cut(g, view, std::vector<Range>{{0, 1}, {0, 12}}), "fixed loop");
  const Node softmax = o.add(Softmax{1, false}, {n.inputs[0]});
  EXPECT_DEATH(loops_of(g, softmax), "decomposed first");
}

TEST(Cut, AloneIsASoundGraphOfItsWork) {
  One o;
  const TensorId x = o.in({4, 6});
  const Node n = o.add(MatMul{true, false, 1, 1}, {x, x});  // one operand, read in two places
  const Graph& g = o.b.graph();
  const Graph tile = alone(g, n, cut(g, n, std::vector<Range>{{1, 3}, {4, 6}, {0, 4}}));
  EXPECT_EQ(faults(tile), std::vector<std::string>{});
  EXPECT_EQ(tile.tensors.size(), 3u);
  EXPECT_EQ(tile[tile.nodes[0].inputs[0]].shape, (Shape{4, 2}));
  EXPECT_EQ(macs(std::get<work::LoopNest>(lower(tile, tile.nodes[0]))), 2u * 2 * 4);
}

// Gathered row by row, a data gradient with the usual padding is no more work than at once.
TEST(Cut, RowsOfADataGradientShareItsWork) {
  One o;
  const Node n = o.add(conv_of(1, 1, 1, ConvKind::DataGradient, {8, 8}), {o.in({1, 3, 8, 8}), o.in({3, 2, 3, 3})});
  const Graph& g = o.b.graph();
  const auto macs_of = [](const Graph& graph, const Node& node) {
    return macs(std::get<work::LoopNest>(lower(graph, node)));
  };
  std::uint64_t sum = 0;
  for (std::int64_t row = 0; row < 8; ++row) {
    const Graph tile = alone(g, n, cut(g, n, only(g, n, "IY", {row, row + 1})));
    sum += macs_of(tile, tile.nodes[0]);
  }
  EXPECT_EQ(sum, macs_of(g, n));
}

}  // namespace
}  // namespace monet
