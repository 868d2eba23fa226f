#include "monet/graph/verify.h"
#include "unit/onnx/import_model.h"

// Files that already contain gradients: which node belongs to which phase, which tensor is what.

namespace monet::test {
namespace {

std::string phase(const Graph& graph, const std::string& node) {
  for (const Node& n : graph.nodes)
    if (n.name == node) return std::string(name(n.phase));
  return "no node " + node;
}
Category category(const Graph& graph, const std::string& tensor) { return tensor_of(graph, tensor).category; }

// One linear layer used twice (tied), cross entropy, and what follows `update` writes by hand.
ModelText two_uses() {
  ModelText m;
  m.input("x", {4, 6}).input("t", {4}, 7).input("w", {6, 6}).input("bias", {6}).add(ModelText::floats("one", {}, {1}));
  m.node("MatMul", {"x", "w"}, {"h"}, "first");
  m.node("Add", {"h", "bias"}, {"hb"}, "biased");
  m.node("MatMul", {"hb", "w"}, {"y"}, "second");
  m.node("LogSoftmax", {"y"}, {"p"}, "prob");
  m.node("com.microsoft:SoftmaxCrossEntropyLossGrad", {"one", "p", "t"}, {"dy"}, "seed");
  auto& dh = m.node("com.microsoft:FusedMatMul", {"dy", "w"}, {"dh"}, "dh");
  set(dh, "transB", 1);
  auto& g2 = m.node("com.microsoft:FusedMatMul", {"hb", "dy"}, {"g2"}, "g2");
  set(g2, "transA", 1);
  auto& g1 = m.node("com.microsoft:FusedMatMul", {"x", "dh"}, {"g1"}, "g1");
  set(g1, "transA", 1);
  m.node("Sum", {"g1", "g2"}, {"g"}, "tied");
  return m;
}

TEST(ImportTraining, PlainDescent) {
  ModelText m = two_uses();
  m.add(ModelText::floats("lr", {}, {0.1f})).output("w_new");
  m.node("Mul", {"g", "lr"}, {"step"}, "scale");
  m.node("Sub", {"w", "step"}, {"w_new"}, "descend");
  const Import result = m.import();
  const Graph& graph = result.graph;
  for (const char* node : {"first", "biased", "second", "prob"}) EXPECT_EQ(phase(graph, node), "forward");
  for (const char* node : {"seed", "dh", "g1", "g2", "tied"}) EXPECT_EQ(phase(graph, node), "backward") << node;
  for (const char* node : {"scale", "descend"}) EXPECT_EQ(phase(graph, node), "update") << node;
  EXPECT_EQ(result.trained_parameters, 36);
  EXPECT_EQ(tensor_of(graph, "w_new").overwrites, tensor_named(graph, "w"));
  EXPECT_EQ(category(graph, "w"), Category::Weight);
  EXPECT_EQ(category(graph, "w_new"), Category::Weight);
  EXPECT_EQ(category(graph, "bias"), Category::Weight);  // never updated, but a parameter
  EXPECT_EQ(category(graph, "x"), Category::Input);
  EXPECT_EQ(category(graph, "g"), Category::Gradient);
  EXPECT_TRUE(faults(graph).empty());
}

TEST(ImportTraining, GradientsAloneAreNoUpdate) {
  ModelText m = two_uses();
  m.output("g");
  const Import result = m.import();
  for (const Node& node : result.graph.nodes) EXPECT_NE(node.phase, Phase::Update) << node.name;
  EXPECT_EQ(result.trained_parameters, 0);
}

// Adam with both moments returned, weight decay in the gradient (so the weight is seen by every output).
TEST(ImportTraining, MomentsAndBuffersAreToldFromWeights) {
  ModelText m = two_uses();
  m.input("m", {6, 6}).input("v", {6, 6}).input("w_grad.accumulation.buffer", {6, 6});
  for (const char* name : {"b1", "b2", "wd", "lr", "eps"}) m.add(ModelText::floats(name, {}, {0.5f}));
  m.output("w_new").output("m_new").output("v_new");
  m.node("Sum", {"g", "w_grad.accumulation.buffer"}, {"gs"}, "accumulate");
  m.node("Mul", {"w", "wd"}, {"decay"}, "decay");
  m.node("Add", {"gs", "decay"}, {"gd"}, "regularise");
  m.node("Mul", {"m", "b1"}, {"m1"}, "m1");
  m.node("Mul", {"gd", "b1"}, {"m2"}, "m2");
  m.node("Add", {"m1", "m2"}, {"m_new"}, "m_new");
  m.node("Mul", {"gd", "gd"}, {"gg"}, "gg");
  m.node("Mul", {"v", "b2"}, {"v1"}, "v1");
  m.node("Add", {"v1", "gg"}, {"v_new"}, "v_new");
  m.node("Sqrt", {"v_new"}, {"root"}, "root");
  m.node("Div", {"m_new", "root"}, {"ratio"}, "ratio");
  m.node("Mul", {"ratio", "lr"}, {"step"}, "step");
  m.node("Sub", {"w", "step"}, {"w_new"}, "descend");
  const Import result = m.import();
  const Graph& graph = result.graph;
  EXPECT_EQ(phase(graph, "tied"), "backward");
  for (const char* node : {"accumulate", "decay", "regularise", "m1", "m2", "m_new", "gg", "v1", "v_new", "root",
                           "ratio", "step", "descend"})
    EXPECT_EQ(phase(graph, node), "update") << node;
  EXPECT_EQ(tensor_of(graph, "w_new").overwrites, tensor_named(graph, "w"));
  EXPECT_EQ(tensor_of(graph, "m_new").overwrites, tensor_named(graph, "m"));
  EXPECT_EQ(tensor_of(graph, "v_new").overwrites, tensor_named(graph, "v"));
  EXPECT_EQ(category(graph, "m"), Category::OptimizerState);
  EXPECT_EQ(category(graph, "v"), Category::OptimizerState);
  EXPECT_EQ(category(graph, "w_grad.accumulation.buffer"), Category::Gradient);
  EXPECT_EQ(category(graph, "w"), Category::Weight);
  EXPECT_EQ(result.trained_parameters, 36);
  EXPECT_TRUE(faults(graph).empty());
}

// Clipping: the norm of the gradient scales it. The norm is update, though it reads no state.
TEST(ImportTraining, NormsForClippingBelongToTheUpdate) {
  ModelText m = two_uses();
  m.add(ModelText::floats("lr", {}, {0.1f})).add(ModelText::floats("most", {}, {1})).output("w_new");
  auto& squares = m.node("ReduceSumSquare", {"g"}, {"gg"}, "squares");
  set(squares, "keepdims", 0);
  m.node("Sqrt", {"gg"}, {"norm"}, "norm");
  m.node("Div", {"most", "norm"}, {"share"}, "share");
  m.node("Mul", {"g", "share"}, {"clipped"}, "clip");
  m.node("Mul", {"clipped", "lr"}, {"step"}, "scale");
  m.node("Sub", {"w", "step"}, {"w_new"}, "descend");
  const Graph graph = m.import().graph;
  for (const char* node : {"squares", "norm", "share", "clip", "scale", "descend"})
    EXPECT_EQ(phase(graph, node), "update") << node;
  for (const char* node : {"tied", "g1", "g2"}) EXPECT_EQ(phase(graph, node), "backward") << node;
}

// The new weight is computed before the old one is read for the last time: the reader moves forward.
TEST(ImportTraining, UpdatesInPlaceWaitForTheLastReader) {
  ModelText m = two_uses();
  m.add(ModelText::floats("lr", {}, {0.1f})).output("w_new").output("late");
  m.node("Mul", {"g", "lr"}, {"step"}, "scale");
  m.node("Sub", {"w", "step"}, {"w_new"}, "descend");
  m.node("MatMul", {"x", "w"}, {"late"}, "reader");
  const Graph graph = m.import().graph;
  EXPECT_EQ(tensor_of(graph, "w_new").overwrites, tensor_named(graph, "w"));
  EXPECT_EQ(graph.nodes.back().name, "descend");
  EXPECT_TRUE(faults(graph).empty());
}

TEST(ImportTraining, ImpossibleUpdatesInPlaceGetTheirOwnStorage) {
  ModelText m = two_uses();
  m.add(ModelText::floats("lr", {}, {0.1f})).output("w_new").output("late");
  m.node("Mul", {"g", "lr"}, {"step"}, "scale");
  m.node("Sub", {"w", "step"}, {"w_new"}, "descend");
  m.node("MatMul", {"w_new", "w"}, {"late"}, "reader");  // needs both
  const Import result = m.import();
  EXPECT_EQ(tensor_of(result.graph, "w_new").overwrites, kNoTensor);
  EXPECT_EQ(result.trained_parameters, 36);
  EXPECT_TRUE(faults(result.graph).empty());
}

TEST(ImportTraining, ClassesOnTheLastAxis) {
  ModelText m;
  m.input("p", {2, 5, 7}).input("t", {2, 5}, 7).add(ModelText::floats("one", {}, {1})).output("d");
  m.node("com.microsoft:SoftmaxCrossEntropyLossGrad", {"one", "p", "t"}, {"d"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(std::get<CrossEntropyGradient>(graph.nodes[0].op).axis, 2);
  EXPECT_EQ(shape_of(graph, "d"), (Shape{2, 5, 7}));
}

TEST(ImportTraining, GradientOperators) {
  ModelText m;
  m.input("dy", {2, 3, 4, 4}).input("y", {2, 3, 4, 4}).input("i", {5}, 7).input("de", {5, 8}).ints("table", {9, 8});
  m.input("buffer", {2, 3, 4, 4}).stated("dp", {2, 3, 8, 8});
  m.output("r").output("s").output("dp").output("e").output("sum");
  m.node("com.microsoft:ReluGrad", {"dy", "y"}, {"r"});
  set(m.node("com.microsoft:SoftmaxGrad_13", {"dy", "y"}, {"s"}), "axis", -1);
  auto& pool = m.node("com.microsoft:AveragePoolGrad", {"dy"}, {"dp"});
  set(pool, "kernel_shape", {2, 2});
  set(pool, "strides", {2, 2});
  m.node("com.microsoft:GatherGrad", {"table", "i", "de"}, {"e"});
  m.node("com.microsoft:InPlaceAccumulatorV2", {"buffer", "r"}, {"flag", "sum"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(operators(graph), (std::vector<std::string>{"relu_gradient", "softmax_gradient", "average_pool_gradient",
                                                        "scatter_add", "sum"}));
  EXPECT_EQ(shape_of(graph, "dp"), (Shape{2, 3, 8, 8}));
  EXPECT_EQ(shape_of(graph, "e"), (Shape{9, 8}));
  EXPECT_EQ(tensor_of(graph, "sum").overwrites, tensor_named(graph, "buffer"));
}

// ---- MONET's own notes ----

TEST(ImportNotes, RestorePhasesCategoriesAndUpdates) {
  ModelText m;
  m.input("w", {4}).input("g", {4}).output("n");
  m.graph().mutable_input(0)->set_doc_string("monet category=weight");
  m.graph().mutable_input(1)->set_doc_string("monet category=gradient format=f16");
  m.graph().mutable_output(0)->set_doc_string("monet category=weight overwrites=w");
  m.node("Sub", {"w", "g"}, {"n"}, "step").set_doc_string("monet phase=update");
  const Import result = m.import();
  EXPECT_EQ(phase(result.graph, "step"), "update");
  EXPECT_EQ(category(result.graph, "w"), Category::Weight);
  EXPECT_EQ(category(result.graph, "g"), Category::Gradient);
  EXPECT_EQ(tensor_of(result.graph, "g").format, Format{Element::F16});
  EXPECT_EQ(tensor_of(result.graph, "n").overwrites, tensor_named(result.graph, "w"));
  EXPECT_EQ(result.trained_parameters, 4);
}

TEST(ImportNotes, ThatContradictTheGraphAreErrors) {
  ModelText m;
  m.input("x", {4}).output("z");
  m.node("Relu", {"x"}, {"y"}, "one").set_doc_string("monet phase=update");
  m.node("Relu", {"y"}, {"z"}, "two").set_doc_string("monet phase=forward");
  EXPECT_HOLDS(text_of(errors_of(m)), "node 'two' of phase forward reads 'y' of phase update");
}

TEST(ImportNotes, ThatMeanNothingAreIgnored) {
  ModelText m;
  m.input("x", {4}).output("y");
  m.graph().mutable_input(0)->set_doc_string("monet category=banana overwrites=nothing");
  m.node("Relu", {"x"}, {"y"}, "one").set_doc_string("a helpful remark");
  EXPECT_EQ(category(m.import().graph, "x"), Category::Input);
}

}  // namespace
}  // namespace monet::test
