#include "monet/interpret/run.h"

#include <functional>

#include "monet/graph/builder.h"
#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using V = std::vector<double>;
using A = Array<double>;

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const ValueError& error) {
    return error.what();
  }
  return "no error";
}
Tensor tensor_of(Shape shape) {
  Tensor t;
  t.shape = std::move(shape);
  return t;
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// y = relu(x · w + 1), s = Σ y
struct Small {
  Graph graph;
  TensorId x, w, product, sum, y;
};
Small small() {
  Builder b("small");
  Small s;
  s.x = b.source("x", {2, 2}, {}, Category::Input);
  s.w = b.source("w", {2, 1}, {}, Category::Weight, Dense{{1, -1}});
  s.product = b.one(MatMul{}, {s.x, s.w}, "product");
  s.y = b.unary(UnaryKind::Relu, b.binary(BinaryKind::Add, s.product, b.scalar(1), "shifted"), "y");
  s.sum = b.one(Reduce{ReduceKind::Sum, {0, 1}, false}, {s.y}, "sum");
  b.graph().outputs = {s.sum};
  s.graph = std::move(b).finish();
  return s;
}

TEST(Run, ComputesOutputsAndWhatIsKept) {
  const Small s = small();
  const Values<double> x{{"x", {{2, 2}, {5, 2, 1, 3}}}};
  EXPECT_EQ(run<double>(s.graph, x), (Values<double>{{"sum", {{}, {4}}}}));
  EXPECT_EQ(
      run<double>(s.graph, x, {.keep = {s.product, s.x, s.w}}),
      (Values<double>{{"sum", {{}, {4}}}, {"product", {{2, 1}, {3, -2}}}, {"x", x.at("x")}, {"w", {{2, 1}, {1, -1}}}}));
  // A given value goes before the graph's own.
  const Values<double> both{{"x", x.at("x")}, {"w", {{2, 1}, {0, 1}}}};
  EXPECT_EQ(run<double>(s.graph, both).at("sum").data, (V{7}));
}

TEST(Run, NamesWhatIsMissingOrOfTheWrongShape) {
  const Small s = small();
  EXPECT_TRUE(contains(error_of([&] { run<double>(s.graph, {}); }), "source 'x' [2,2] has no value"));
  const Values<double> wrong{{"x", {{2}, {1, 2}}}}, short_data{{"x", {{2, 2}, {1, 2}}}};
  EXPECT_TRUE(contains(error_of([&] { run<double>(s.graph, wrong); }), "'x' has shape [2,2], but [2]"));
  EXPECT_TRUE(contains(error_of([&] { run<double>(s.graph, short_data); }), "'x'"));
  const Values<double> x{{"x", {{2, 2}, {5, 2, 1, 3}}}};
  EXPECT_TRUE(contains(error_of([&] { run<double>(s.graph, x, {.keep = {TensorId{999}}}); }), "999"));
}

TEST(Run, SourcesNobodyReadsNeedNoValue) {
  Small s = small();
  Builder b(s.graph);
  b.source("unused", {1000}, {}, Category::Input);
  EXPECT_NO_THROW(run<double>(b.graph(), {{"x", {{2, 2}, {5, 2, 1, 3}}}}));
}

TEST(Run, SaysAtWhichNodeAValueDoesNotFit) {
  Builder b("lookup");
  const TensorId table = b.source("table", {3, 2}, {}, Category::Weight, Splat{1});
  const TensorId tokens = b.source("tokens", {2}, Format{Element::I64}, Category::Input);
  b.graph().outputs = {b.one(Gather{0}, {table, tokens}, "embedding")};
  EXPECT_TRUE(contains(error_of([&] {
                         run<double>(b.graph(), {{"tokens", {{2}, {0, 3}}}});
                       }),
                       "node 'embedding' (gather): index 3"));
}

TEST(Run, NodesOutOfOrderAreRefused) {
  Small s = small();
  std::swap(s.graph.nodes[0], s.graph.nodes[1]);
  EXPECT_TRUE(contains(error_of([&] {
                         run<double>(s.graph, {{"x", {{2, 2}, {5, 2, 1, 3}}}});
                       }),
                       "before it has a value"));
}

TEST(Run, AnOverwrittenTensorKeepsItsOldValueForItsReaders) {
  Builder b("update");
  const TensorId w = b.source("w", {2}, {}, Category::Weight);
  const TensorId updated = b.binary(BinaryKind::Sub, w, b.scalar(1), "updated");
  b[updated].overwrites = w;
  b.graph().outputs = {b.binary(BinaryKind::Sub, w, updated, "difference"), updated};
  const Values<double> out = run<double>(b.graph(), {{"w", {{2}, {5, 7}}}});
  EXPECT_EQ(out.at("difference").data, (V{1, 1}));
  EXPECT_EQ(out.at("updated").data, (V{4, 6}));
}

TEST(Run, DropoutDependsOnTheStep) {
  Builder b("dropout");
  const TensorId x = b.source("x", {64}, {}, Category::Input, Splat{1});
  b.graph().outputs = {b.one(Dropout{0.5, 3}, {x}, "y")};
  const auto at = [&](std::uint64_t step) { return run<double>(b.graph(), {}, {.step = step, .keep = {}}); };
  EXPECT_EQ(at(1), at(1));
  EXPECT_NE(at(1), at(2));
}

TEST(Evaluate, RefusesUnknownOperatorsByName) {
  const A x{{1}, {1}};
  const Tensor out = tensor_of({1});
  const std::vector<const A*> in{&x};
  const std::vector<const Tensor*> outputs{&out};
  EXPECT_TRUE(contains(error_of([&] { evaluate<double>(Fallback{"ai.onnx:Einsum"}, in, outputs); }), "ai.onnx:Einsum"));
}

TEST(Evaluate, RefusesOperandsThatDoNotFit) {
  const A a{{2, 3}, {1, 2, 3, 4, 5, 6}}, lying{{2, 2}, {1}};
  const Tensor square = tensor_of({2, 2}), wrong = tensor_of({4});
  const std::vector<const Tensor*> outputs{&square}, wrong_outputs{&wrong}, two{&square, &square};
  const std::vector<const A*> no_product{&a, &a}, short_data{&lying}, none{nullptr}, fine{&a, &a};
  EXPECT_THROW(evaluate<double>(MatMul{}, no_product, outputs), ValueError);
  EXPECT_THROW(evaluate<double>(Unary{}, short_data, outputs), ValueError);
  EXPECT_THROW(evaluate<double>(Unary{}, none, outputs), ValueError);
  EXPECT_THROW(evaluate<double>(MatMul{.trans_b = true}, fine, wrong_outputs), ValueError);
  EXPECT_THROW(evaluate<double>(MatMul{.trans_b = true}, fine, two), ValueError);
  EXPECT_NO_THROW(evaluate<double>(MatMul{.trans_b = true}, fine, outputs));
}

TEST(Evaluate, UnwantedOutputsStayEmpty) {
  const A x = random_array({2, 3}, 1);
  const std::vector<const A*> in{&x};
  const Tensor mask = tensor_of({2, 3});
  const std::vector<const Tensor*> outputs{nullptr, &mask};
  const auto out = evaluate<double>(Unary{UnaryKind::Relu}, in, outputs);
  EXPECT_TRUE(out[0].data.empty());
  EXPECT_EQ(out[1].data.size(), 6u);
}

}  // namespace
}  // namespace monet
