#include <limits>

#include "unit/onnx/import_model.h"

// Arithmetic on shapes is computed while reading: nothing of it stays in the graph.

namespace monet::test {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

std::vector<double> numbers_of(const Graph& graph, const std::string& name) {
  const Tensor& tensor = tensor_of(graph, name);
  if (const Dense* dense = std::get_if<Dense>(&tensor.initial)) return dense->values;
  return std::vector<double>(static_cast<std::size_t>(elements(tensor.shape)), std::get<Splat>(tensor.initial).value);
}

onnx::NodeProto& constant(ModelText& m, const std::string& name, const std::vector<std::int64_t>& values,
                          bool scalar = false) {
  auto& node = m.node("Constant", {}, {name});
  set_tensor(node, "value", ModelText::integers("", values, scalar));
  return node;
}

// x.view(x.size(0), -1, 2) as torch writes it
TEST(ImportFolding, ViewOfDynamicBatch) {
  ModelText m;
  m.input("x", {"batch", 6, 4}).output("y");
  m.node("Shape", {"x"}, {"s"});
  constant(m, "zero", {0}, true);
  m.node("Gather", {"s", "zero"}, {"b"});
  constant(m, "axes", {0});
  m.node("Unsqueeze", {"b", "axes"}, {"b1"});
  constant(m, "rest", {-1});
  constant(m, "two", {2});
  m.node("Concat", {"b1", "rest", "two"}, {"target"});
  set(*m.graph().mutable_node(m.graph().node_size() - 1), "axis", 0);
  m.node("Reshape", {"x", "target"}, {"y"}, "view");
  ImportOptions options;
  options.batch = 5;
  const Graph graph = m.import(options).graph;
  EXPECT_EQ(operators(graph), (std::vector<std::string>{"view"}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{5, 12, 2}));
}

TEST(ImportFolding, DivisionOfIntegersDropsTheRest) {
  ModelText m;
  m.input("x", {7, 3}).one("two", 2).one("negative", -7).output("y").output("q");
  m.node("Shape", {"x"}, {"s"});
  m.one("zero", 0);
  m.node("Gather", {"s", "zero"}, {"n"});
  m.node("Div", {"n", "two"}, {"half"});
  m.node("Range", {"zero", "half", "one"}, {"y"});
  m.one("one", 1);
  m.node("Div", {"negative", "two"}, {"q"});
  const Graph graph = m.import().graph;
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_EQ(numbers_of(graph, "y"), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(numbers_of(graph, "q"), (std::vector<double>{-3}));
}

TEST(ImportFolding, ChainOfManyOperators) {
  ModelText m;
  m.input("x", {2, 3, 4}).ints("k", {5, 6}).ints("axes0", {0}).output("out");
  m.node("Shape", {"x"}, {"s"});
  auto& cast = m.node("Cast", {"s"}, {"f"});
  set(cast, "to", 1);
  m.add(ModelText::floats("factor", {}, {0.5f}));
  m.node("Mul", {"f", "factor"}, {"h"});  // 1, 1.5, 2
  m.node("Ceil", {"h"}, {"c"});           // 1, 2, 2
  auto& back = m.node("Cast", {"c"}, {"i"});
  set(back, "to", 7);
  m.node("Equal", {"i", "s"}, {"same"});  // none
  m.node("Where", {"same", "i", "s"}, {"w"});
  auto& sum = m.node("ReduceProd", {"w"}, {"p"});
  set(sum, "keepdims", 0);  // 24
  m.node("Unsqueeze", {"p", "axes0"}, {"p1"});
  auto& concat = m.node("Concat", {"p1", "k"}, {"out"});
  set(concat, "axis", 0);
  const Graph graph = m.import().graph;
  EXPECT_TRUE(graph.nodes.empty());
  EXPECT_EQ(numbers_of(graph, "out"), (std::vector<double>{24, 5, 6}));
}

TEST(ImportFolding, SlicesToTheEndBackwardsAndToNothing) {
  ModelText m;
  m.ints("v", {10, 11, 12, 13, 14}).ints("two", {2}).ints("end", {kEnd}).ints("minus", {-1});
  m.ints("start", {-kEnd - 1}).ints("zero", {0}).ints("axis", {0});
  m.output("tail").output("reversed").output("all");
  m.node("Slice", {"v", "two", "end"}, {"tail"});
  m.node("Slice", {"v", "minus", "start", "axis", "minus"}, {"reversed"});
  m.node("Slice", {"v", "zero", "zero"}, {"nothing"});
  auto& concat = m.node("Concat", {"nothing", "v"}, {"all"});
  set(concat, "axis", 0);
  const Graph graph = m.import().graph;
  EXPECT_EQ(numbers_of(graph, "tail"), (std::vector<double>{12, 13, 14}));
  EXPECT_EQ(numbers_of(graph, "reversed"), (std::vector<double>{14, 13, 12, 11, 10}));
  EXPECT_EQ(numbers_of(graph, "all"), (std::vector<double>{10, 11, 12, 13, 14}));
}

TEST(ImportFolding, EmptyShapeMakesAScalar) {
  ModelText m;
  m.input("x", {1, 1}).add(ModelText::tensor("none", {0}, 7)).output("y").output("z");
  m.node("Reshape", {"x", "none"}, {"y"});
  m.node("ConstantOfShape", {"none"}, {"z"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(shape_of(graph, "y"), Shape{});
  EXPECT_EQ(shape_of(graph, "z"), Shape{});
}

TEST(ImportFolding, ShapeTakesAPart) {
  ModelText m;
  m.input("x", {2, 3, 5, 7}).output("a").output("b");
  auto& last = m.node("Shape", {"x"}, {"a"});
  set(last, "start", -2);
  auto& middle = m.node("Shape", {"x"}, {"b"});
  set(middle, "start", 1);
  set(middle, "end", -1);
  const Graph graph = m.import().graph;
  EXPECT_EQ(numbers_of(graph, "a"), (std::vector<double>{5, 7}));
  EXPECT_EQ(numbers_of(graph, "b"), (std::vector<double>{3, 5}));
}

TEST(ImportFolding, CausalMaskBecomesAConstant) {
  ModelText m;
  m.input("x", {4, 4}).ints("n", {4, 4}).output("y");
  auto& ones = m.node("ConstantOfShape", {"n"}, {"ones"});
  set_tensor(ones, "value", ModelText::floats("", {1}, {1}));
  auto& lower = m.node("Trilu", {"ones"}, {"tril"});
  set(lower, "upper", 0);
  m.node("Mul", {"x", "tril"}, {"y"}, "masked");
  const Graph graph = m.import().graph;
  EXPECT_EQ(operators(graph), (std::vector<std::string>{"mul"}));
  EXPECT_EQ(numbers_of(graph, "tril"), (std::vector<double>{1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}));
  EXPECT_EQ(tensor_of(graph, "tril").category, Category::Constant);
}

TEST(ImportFolding, LargeConstantsBecomeNodes) {
  ModelText m;
  m.input("x", {300, 300}).ints("n", {300, 300}).output("y");
  m.node("ConstantOfShape", {"n"}, {"zeros"});
  m.node("Cos", {"zeros"}, {"ones"});
  m.node("Mul", {"x", "ones"}, {"y"});
  EXPECT_EQ(operators(m.import().graph), (std::vector<std::string>{"fill", "cos", "mul"}));
}

TEST(ImportFolding, HugeFillsAreNotAllocated) {
  ModelText m;
  m.ints("n", {std::int64_t{1} << 24, std::int64_t{1} << 24}).output("y");
  m.node("ConstantOfShape", {"n"}, {"y"});
  EXPECT_EQ(operators(m.import().graph), (std::vector<std::string>{"fill"}));
  ModelText range;
  range.one("start", 0).one("limit", std::int64_t{1} << 50).one("step", 1).output("y");
  range.node("Range", {"start", "limit", "step"}, {"y"});
  EXPECT_HOLDS(text_of(errors_of(range)), "a range of");
}

// Ten thousand constants of 65536 numbers would be 5 GB.
TEST(ImportFolding, ManyLargeConstantsAreNotAllComputed) {
  ModelText m;
  m.ints("n", {65536}).output("y");
  m.node("ConstantOfShape", {"n"}, {"c0"});
  for (int i = 0; i < 10000; ++i) m.node("Cos", {"c" + std::to_string(i)}, {"c" + std::to_string(i + 1)});
  m.node("Neg", {"c10000"}, {"y"});
  const Graph graph = m.import().graph;
  EXPECT_GT(graph.nodes.size(), 5000u);
  EXPECT_LT(graph.nodes.size(), 10000u);
}

TEST(ImportFolding, ShapesMustNotDependOnData) {
  ModelText m;
  m.input("x", {6}).input("s", {2}, 7).output("y");
  m.node("Reshape", {"x", "s"}, {"y"}, "r");
  const auto errors = errors_of(m);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].where, "node 0 'r' (Reshape)");
  EXPECT_HOLDS(errors[0].message, "shape 's' is only known when the model runs");
}

TEST(ImportFolding, IndexOutOfRangeIsTheUsersFault) {
  ModelText m;
  m.ints("v", {1, 2, 3}).one("far", 9).output("y");
  m.node("Gather", {"v", "far"}, {"y"});
  EXPECT_EQ(errors_of(m).size(), 1u);
}

TEST(ImportFolding, ScatteredMask) {
  ModelText m;  // zeros[1:3] = 7, as torch writes it
  m.ints("data", {0, 0, 0, 0}).ints("updates", {7, 8}).output("y");
  auto indices = ModelText::tensor("indices", {2, 1}, 7);
  indices.add_int64_data(1);
  indices.add_int64_data(-2);
  m.add(indices);
  m.node("ScatterND", {"data", "indices", "updates"}, {"y"});
  EXPECT_EQ(numbers_of(m.import().graph, "y"), (std::vector<double>{0, 7, 8, 0}));
}

// ---- Branches ----

TEST(ImportBranches, KnownConditionTakesOneBranch) {
  for (const bool taken : {true, false}) {
    ModelText m;
    m.input("x", {1, 4}).one("zero", 0).one("one", taken ? 1 : 2).output("y");
    m.node("Shape", {"x"}, {"s"});
    m.node("Gather", {"s", "zero"}, {"n"});
    m.node("Equal", {"n", "one"}, {"is_one"});
    auto& branch = m.node("If", {"is_one"}, {"y"}, "if");
    for (const char* name : {"then_branch", "else_branch"}) {
      auto* a = branch.add_attribute();
      a->set_name(name);
      a->set_type(onnx::AttributeProto::GRAPH);
      ModelText::fill(*a->mutable_g()->add_node(), name[0] == 't' ? "Relu" : "Neg", {"x"}, {"inner"}, "n");
      a->mutable_g()->add_output()->set_name("inner");
    }
    const Graph graph = m.import().graph;
    EXPECT_EQ(operators(graph), (std::vector<std::string>{taken ? "relu" : "neg"}));
    EXPECT_EQ(graph[graph.outputs.at(0)].name, "y");
    EXPECT_EQ(graph.nodes[0].name, "if/n");
  }
}

TEST(ImportBranches, ConditionOnDataIsEstimated) {
  ModelText m;
  m.input("x", {1, 4}).input("c", {}, 9).stated("y", {1, 4}).output("y");
  m.node("If", {"c"}, {"y"}, "if");
  EXPECT_EQ(operators(m.import().graph), (std::vector<std::string>{"fallback"}));
}

}  // namespace
}  // namespace monet::test
