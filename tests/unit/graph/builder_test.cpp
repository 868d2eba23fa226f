#include "monet/graph/builder.h"

#include <gtest/gtest.h>

namespace monet {
namespace {

TEST(Builder, KeepsNamesUnique) {
  Builder b("g");
  EXPECT_EQ(b.unique_tensor("x"), "x");
  EXPECT_EQ(b.unique_tensor("x"), "x.2");
  EXPECT_EQ(b.unique_tensor("x"), "x.3");
  EXPECT_EQ(b.unique_tensor("x.2"), "x.2.2");
  EXPECT_EQ(b.unique_tensor("y.2"), "y.2");
  EXPECT_EQ(b.unique_tensor("y"), "y");
  EXPECT_EQ(b.unique_tensor("y"), "y.3");  // y.2 is taken
  EXPECT_EQ(b.unique_node("x"), "x");      // nodes have names of their own
}

TEST(Builder, KnowsTheNamesOfTheGraphItContinues) {
  Builder first("g");
  const TensorId x = first.source("x", {2}, Format{}, Category::Input);
  first.unary(UnaryKind::Relu, x, "relu");
  const TensorId two = first.scalar(2);
  Builder b(std::move(first).finish());
  const TensorId y = b.unary(UnaryKind::Relu, x, "relu");
  EXPECT_EQ(b[y].name, "relu.2");
  EXPECT_EQ(b.graph().nodes.back().name, "relu.2");
  EXPECT_EQ(b.scalar(2), two);
  EXPECT_EQ(b.graph().name, "g");
}

TEST(Builder, SharesEqualScalarsOnly) {
  Builder b("g");
  const TensorId half = b.scalar(0.5);
  EXPECT_EQ(b.scalar(0.5), half);
  EXPECT_NE(b.scalar(0.25), half);
  const TensorId narrow = b.scalar(0.5, Element::F16);
  EXPECT_NE(narrow, half);
  EXPECT_EQ(b[narrow].format, Format{Element::F16});
  EXPECT_EQ(b[half].initial, Initial(Splat{0.5}));
  EXPECT_EQ(b[half].category, Category::Constant);
  EXPECT_EQ(b[half].shape, Shape{});
  EXPECT_NE(b[narrow].name, b[half].name);
}

TEST(Builder, InfersOutputsAndNamesThemAfterTheNode) {
  Builder b("g");
  const TensorId x = b.source("x", {2, 4, 6, 6}, Format{Element::BF16}, Category::Input);
  std::vector<TensorId> parameters;
  for (const char* name : {"scale", "bias", "mean", "var"})
    parameters.push_back(b.source(name, {4}, Format{}, Category::Weight));
  const auto y =
      b.add(Norm{.kind = NormKind::Batch}, {x, parameters[0], parameters[1], parameters[2], parameters[3]}, "bn", 5);
  ASSERT_EQ(y.size(), 5u);
  EXPECT_EQ(b[y[0]].name, "bn");
  EXPECT_EQ(b[y[1]].name, "bn.mean");
  EXPECT_EQ(b[y[2]].name, "bn.inv_std");
  EXPECT_EQ(b[y[4]].name, "bn.running_var");
  EXPECT_EQ(b[y[0]].format, Format{Element::BF16});
  EXPECT_EQ(b[y[1]].format, Format{Element::F32});  // statistics are wide
  EXPECT_EQ(b[y[1]].shape, Shape{4});
  EXPECT_EQ(b[y[1]].category, Category::Activation);
  EXPECT_EQ(b[y[4]].category, Category::ModelState);
  const auto parts = b.add(Split{.axis = 1, .sizes = {1, 3}}, {x}, "parts", 2);
  EXPECT_EQ(b[parts[0]].name, "parts");
  EXPECT_EQ(b[parts[1]].name, "parts.1");
}

TEST(Builder, GivesOutputsTheCategoryOfTheirPhase) {
  Builder b("g");
  const TensorId x = b.source("x", {2}, Format{}, Category::Input);
  const std::vector<std::pair<Phase, Category>> expected{{Phase::Forward, Category::Activation},
                                                         {Phase::Loss, Category::Activation},
                                                         {Phase::Backward, Category::Gradient},
                                                         {Phase::Update, Category::Workspace},
                                                         {Phase::Recompute, Category::Activation}};
  for (const auto& [phase, category] : expected) {
    b.phase = phase;
    const auto y = b.add(Unary{UnaryKind::Relu}, {x}, "relu", 2);
    EXPECT_EQ(b.graph().nodes.back().phase, phase);
    EXPECT_EQ(b[y[0]].category, category);
    EXPECT_EQ(b[y[0]].category, category_of(phase));
    EXPECT_EQ(b[y[1]].category, Category::Mask);
  }
}

TEST(Builder, LeavesOutWhatIsNotWanted) {
  Builder b("g");
  const TensorId x = b.source("x", {2, 4}, Format{}, Category::Input);
  const auto wanted = b.add_wanted(Unary{UnaryKind::Relu}, {x}, "relu", {false, true});
  EXPECT_EQ(wanted[0], kNoTensor);
  EXPECT_EQ(b[wanted[1]].name, "relu.mask");
  EXPECT_EQ(b[wanted[1]].format, Format{Element::Bit});
  const auto named = b.add_named(Unary{UnaryKind::Relu}, {x}, "again", {"y", ""});
  EXPECT_EQ(b[named[0]].name, "y");
  EXPECT_EQ(named[1], kNoTensor);
  EXPECT_EQ(b.graph().nodes.back().outputs, named);
}

TEST(Builder, TakesTheOutputsOfAFallbackAsGiven) {
  Builder b("g");
  const TensorId x = b.source("x", {2}, Format{}, Category::Input);
  const auto y = b.add_fallback(Fallback{"my:Op", CostClass::Movement}, {x}, "op", {"y"},
                                {{{3, 3}, Format{Element::I8}, "", Category::Index}});
  EXPECT_EQ(b[y[0]].shape, (Shape{3, 3}));
  EXPECT_EQ(b[y[0]].category, Category::Index);
  EXPECT_THROW(b.add_fallback(Fallback{}, {x}, "op", {"y"}, {{{0}, Format{}, ""}}), ShapeError);
}

// A fault leaves the graph as it was.
TEST(Builder, RefusesWhatDoesNotFit) {
  Builder b("g");
  const TensorId x = b.source("x", {2, 4}, Format{}, Category::Input);
  const Graph before = b.graph();
  EXPECT_THROW(b.source("bad", {2, 0}, Format{}, Category::Input), ShapeError);
  EXPECT_THROW(b.one(MatMul{}, {x, x}, "product"), ShapeError);
  EXPECT_THROW(b.add(Unary{UnaryKind::Neg}, {x}, "neg", 2), ShapeError);  // one output
  EXPECT_THROW(b.add_named(Unary{UnaryKind::Relu}, {x}, "relu", {"a", "b", "c"}), ShapeError);
  EXPECT_EQ(b.graph(), before);
}

TEST(Graph, KnowsWhoMakesAndReadsEachTensor) {
  Builder b("g");
  const TensorId x = b.source("x", {2}, Format{}, Category::Input);
  const TensorId y = b.binary(BinaryKind::Mul, x, x, "square");  // node 0 reads x twice
  const TensorId z = b.binary(BinaryKind::Add, x, y, "sum");     // node 1
  const Uses u = uses(b.graph());
  EXPECT_EQ(u.producer, (std::vector{kNoNode, NodeId{0}, NodeId{1}}));
  EXPECT_EQ(u.consumers[x.index()], (std::vector{NodeId{0}, NodeId{1}}));
  EXPECT_EQ(u.consumers[y.index()], (std::vector{NodeId{1}}));
  EXPECT_TRUE(u.consumers[z.index()].empty());
  EXPECT_EQ(tensor_named(b.graph(), "sum"), z);
  EXPECT_EQ(tensor_named(b.graph(), "none"), kNoTensor);
}

TEST(Graph, RoundsBytesUp) {
  Tensor t;
  t.shape = {9};
  t.format = Format{Element::Bit};
  EXPECT_EQ(bits(t), 9u);
  EXPECT_EQ(bytes(t), 2u);
  EXPECT_EQ(to_string(t.shape), "[9]");
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(elements(Shape{}), 1);
}

}  // namespace
}  // namespace monet
