#include "monet/interpret/run.h"
#include "unit/onnx/import_model.h"

// One ONNX node, one node of ours where there is one; attributes or inputs by opset. Whether the numbers are right is
// checked against onnxruntime (tests/oracle); here: what is made of the attributes.

namespace monet::test {
namespace {

using Names = std::vector<std::string>;

// The nodes of a model, one text line each without the header.
std::string nodes_of(const Graph& graph) {
  std::string text = print(graph), out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.rfind("forward ", 0) == 0) out += line + "\n";
    at = end + 1;
  }
  return out;
}

// ---- Convolution ----

TEST(ImportConv, AutomaticPads) {
  for (const std::string mode : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    ModelText m;
    m.input("x", {1, 2, 7, 8}).weight("w", {4, 2, 3, 3}).output("y");
    auto& conv = m.node("Conv", {"x", "w"}, {"y"});
    set_text(conv, "auto_pad", mode);
    set(conv, "strides", {2, 2});
    const Graph graph = m.import().graph;
    const Conv& op = std::get<Conv>(graph.nodes[0].op);
    if (mode == "VALID") {
      EXPECT_EQ(op.pads_begin, (Ints{0, 0}));
      EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 4, 3, 3}));
      continue;
    }
    // rows: ceil(7/2)=4 outputs need (4-1)·2+3-7 = 2 pads; columns: 4 need (4-1)·2+3-8 = 1, its place by the mode
    EXPECT_EQ(op.pads_begin, mode == "SAME_UPPER" ? (Ints{1, 0}) : (Ints{1, 1}));
    EXPECT_EQ(op.pads_end, mode == "SAME_UPPER" ? (Ints{1, 1}) : (Ints{1, 0}));
    EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 4, 4, 4}));
  }
}

TEST(ImportConv, OneAndThreeDimensionsGroupsDilation) {
  ModelText m;
  m.input("a", {1, 4, 20}).weight("v", {8, 2, 3}).input("b", {1, 2, 4, 5, 6}).weight("w", {3, 2, 2, 2, 2});
  m.output("y").output("z");
  auto& line = m.node("Conv", {"a", "v"}, {"y"});
  set(line, "group", 2);
  set(line, "dilations", Ints{3});
  m.node("Conv", {"b", "w"}, {"z"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 8, 14}));
  EXPECT_EQ(shape_of(graph, "z"), (Shape{1, 3, 3, 4, 5}));
}

TEST(ImportConv, KernelMustBeTheWeights) {
  ModelText m;
  m.input("x", {1, 2, 7, 8}).weight("w", {4, 2, 3, 3}).output("y");
  set(m.node("Conv", {"x", "w"}, {"y"}), "kernel_shape", {5, 5});
  EXPECT_HOLDS(text_of(errors_of(m)), "kernel_shape [5,5] is not that of the weight [4,2,3,3]");
}

// Sizes by the formula of the ONNX specification: stride·(in-1) + output_padding + (kernel-1)·dilation + 1 - pads
TEST(ImportConv, TransposedIsADataGradient) {
  ModelText m;
  m.input("x", {1, 6, 5, 5}).weight("w", {6, 2, 3, 3}).weight("b", {4}).output("y");
  auto& conv = m.node("ConvTranspose", {"x", "w", "b"}, {"y"}, "up");
  set(conv, "strides", {2, 3});
  set(conv, "pads", {1, 0, 1, 1});
  set(conv, "output_padding", {1, 2});
  set(conv, "group", 2);
  const Graph graph = m.import().graph;
  EXPECT_EQ(operators(graph), (Names{"conv_data_gradient"}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 4, 2 * 4 + 1 + 3 - 2, 3 * 4 + 2 + 3 - 1}));
}

TEST(ImportConv, TransposedWithAGivenShape) {
  ModelText m;
  m.input("x", {1, 1, 3, 3}).weight("w", {1, 2, 3, 3}).output("y");
  auto& conv = m.node("ConvTranspose", {"x", "w"}, {"y"});
  set(conv, "strides", {3, 2});
  set(conv, "output_shape", {10, 8});
  EXPECT_EQ(shape_of(m.import().graph, "y"), (Shape{1, 2, 10, 8}));
  ModelText same;
  same.input("x", {1, 1, 3, 3}).weight("w", {1, 2, 3, 3}).output("y");
  auto& upper = same.node("ConvTranspose", {"x", "w"}, {"y"});
  set(upper, "strides", {2, 2});
  set_text(upper, "auto_pad", "SAME_UPPER");
  EXPECT_EQ(shape_of(same.import().graph, "y"), (Shape{1, 2, 6, 6}));
}

// onnxruntime's training graphs leave output_padding out: 7 by the formula, 8 by the convolution it belongs to.
TEST(ImportConv, TransposedFollowsTheStatedShapeWithinOneStride) {
  for (const int stated : {8, 9}) {
    ModelText m;
    m.input("x", {1, 1, 4, 4}).weight("w", {1, 1, 3, 3}).stated("y", {1, 1, stated, stated}).output("y");
    auto& conv = m.node("ConvTranspose", {"x", "w"}, {"y"});
    set(conv, "strides", {2, 2});
    set(conv, "pads", {1, 1, 1, 1});
    EXPECT_EQ(shape_of(m.import().graph, "y"), stated == 8 ? (Shape{1, 1, 8, 8}) : (Shape{1, 1, 7, 7}));
  }
}

// ---- Matrix products ----

TEST(ImportMatMul, GemmIsOneNode) {
  ModelText m;
  m.input("a", {4, 2}).weight("b", {3, 4}).weight("c", {3}).output("y");
  auto& gemm = m.node("Gemm", {"a", "b", "c"}, {"y"}, "fc");
  set(gemm, "transA", 1);
  set(gemm, "transB", 1);
  set_real(gemm, "alpha", 0.5f);
  set_real(gemm, "beta", 2);
  EXPECT_EQ(nodes_of(m.import().graph),
            "forward fc = matmul{trans_a=true, trans_b=true, alpha=0.5, beta=2}(a, b, c) -> y : f32[2,3]\n");
}

TEST(ImportMatMul, VectorsAndBatches) {
  ModelText m;
  m.input("v", {4}).input("a", {2, 3, 4}).input("b", {5, 1, 4, 6}).output("va").output("av").output("vv").output("ab");
  m.weight("w", {4, 7});
  m.node("MatMul", {"v", "w"}, {"va"});
  m.node("MatMul", {"a", "v"}, {"av"});
  m.node("MatMul", {"v", "v"}, {"vv"});
  m.node("MatMul", {"a", "b"}, {"ab"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(shape_of(graph, "va"), (Shape{7}));
  EXPECT_EQ(shape_of(graph, "av"), (Shape{2, 3}));
  EXPECT_EQ(shape_of(graph, "vv"), Shape{});
  EXPECT_EQ(shape_of(graph, "ab"), (Shape{5, 2, 3, 6}));
}

TEST(ImportMatMul, EinsumBecomesAMatMul) {
  ModelText m;
  m.input("q", {2, 5, 3, 4}).input("k", {2, 7, 3, 4}).output("s");
  set_text(m.node("Einsum", {"q", "k"}, {"s"}), "equation", "bqhd, bkhd -> bhqk");
  const Graph graph = m.import().graph;
  EXPECT_EQ(shape_of(graph, "s"), (Shape{2, 3, 5, 7}));
  EXPECT_EQ(operators(graph), (Names{"transpose", "transpose", "matmul"}));
}

// ---- Axes as attribute or input ----

TEST(ImportAxes, SqueezeUnsqueezeAndReductionsInBothForms) {
  for (const std::int64_t opset : {11, 18}) {
    ModelText m(opset);
    m.input("x", {1, 3, 1, 4}).ints("first", {0}).ints("ends", {-1, 0}).output("s").output("u").output("r").output("t");
    const bool inputs = opset == 18;
    const auto with = [&](const char* type, const char* axes, const Ints& list, const char* out) -> onnx::NodeProto& {
      auto& node = inputs ? m.node(type, {"x", axes}, {out}) : m.node(type, {"x"}, {out});
      if (!inputs) set(node, "axes", list);
      return node;
    };
    with("Squeeze", "first", {0}, "s");
    with("Unsqueeze", "ends", {-1, 0}, "u");
    set(with("ReduceMean", "ends", {-1, 0}, "r"), "keepdims", 0);
    m.node("Squeeze", {"x"}, {"t"});
    const Graph graph = m.import().graph;
    EXPECT_EQ(shape_of(graph, "s"), (Shape{3, 1, 4})) << opset;
    EXPECT_EQ(shape_of(graph, "u"), (Shape{1, 1, 3, 1, 4, 1})) << opset;
    EXPECT_EQ(shape_of(graph, "r"), (Shape{3, 1})) << opset;
    EXPECT_EQ(shape_of(graph, "t"), (Shape{3, 4})) << opset;
    EXPECT_EQ(graph.nodes.size(), 4u);
  }
}

TEST(ImportAxes, EmptyAxesMeanAllOrNone) {
  ModelText m(18);
  m.input("x", {2, 3}).output("all").output("none");
  m.node("ReduceSum", {"x"}, {"all"});
  set(m.node("ReduceSum", {"x"}, {"none"}), "noop_with_empty_axes", 1);
  const Graph graph = m.import().graph;
  EXPECT_EQ(shape_of(graph, "all"), (Shape{1, 1}));
  EXPECT_EQ(operators(graph), (Names{"reduce_sum", "view"}));
}

TEST(ImportAxes, SplitByAttributeInputCountOrEvenly) {
  ModelText m(18);
  m.input("x", {7, 2}).ints("sizes", {3, 4}).output("a").output("b").output("c").output("d").output("e");
  m.node("Split", {"x", "sizes"}, {"a", "b"});
  set(m.node("Split", {"x"}, {"c", "d", "e"}), "num_outputs", 3);
  const Graph graph = m.import().graph;
  EXPECT_EQ(shape_of(graph, "a"), (Shape{3, 2}));
  EXPECT_EQ(shape_of(graph, "c"), (Shape{3, 2}));
  EXPECT_EQ(shape_of(graph, "e"), (Shape{1, 2}));
  ModelText old(11);
  old.input("x", {2, 7}).output("a").output("b");
  auto& split = old.node("Split", {"x"}, {"a", "b"});
  set(split, "axis", 1);
  set(split, "split", {2, 5});
  EXPECT_EQ(shape_of(old.import().graph, "b"), (Shape{2, 5}));
}

TEST(ImportAxes, OldSlicePadAndClipHaveAttributes) {
  ModelText m(7);
  m.input("x", {4, 6}).output("s").output("p").output("c").output("l");
  auto& slice = m.node("Slice", {"x"}, {"s"});
  set(slice, "starts", {1, -3});
  set(slice, "ends", {1000, -1});
  auto& pad = m.node("Pad", {"x"}, {"p"});
  set(pad, "pads", {0, 1, 2, 3});
  set_real(pad, "value", 0.5f);
  auto& clip = m.node("Clip", {"x"}, {"c"});
  set_real(clip, "min", 0);
  set_real(clip, "max", 6);
  set_real(m.node("Clip", {"x"}, {"l"}), "min", 1);
  const Graph graph = m.import().graph;
  EXPECT_EQ(shape_of(graph, "s"), (Shape{3, 2}));
  EXPECT_EQ(shape_of(graph, "p"), (Shape{6, 10}));
  EXPECT_EQ(std::get<Pad>(graph.nodes[1].op).value, 0.5);
  EXPECT_EQ(graph.nodes[2].op, (Op{Unary{UnaryKind::Clip, 0, 6}}));
  EXPECT_EQ(operators(graph)[3], "max");  // one bound alone
}

TEST(ImportAxes, NewPadHasAxes) {
  ModelText m(18);
  m.input("x", {4, 6}).ints("pads", {1, 2}).ints("axes", {-1}).output("y");
  auto& pad = m.node("Pad", {"x", "pads", "", "axes"}, {"y"});
  set_text(pad, "mode", "reflect");
  const Graph graph = m.import().graph;
  EXPECT_EQ(shape_of(graph, "y"), (Shape{4, 9}));
  EXPECT_EQ(std::get<Pad>(graph.nodes[0].op).mode, PadMode::Reflect);
}

TEST(ImportAxes, SoftmaxOverOneAxisOrAllFromItOn) {
  for (const std::int64_t opset : {11, 13}) {
    ModelText m(opset);
    m.input("x", {2, 3, 4}).output("y").output("z");
    m.node("Softmax", {"x"}, {"y"});
    set(m.node("Softmax", {"x"}, {"z"}), "axis", 2);
    const Graph graph = m.import().graph;
    if (opset == 13) {
      EXPECT_EQ(operators(graph), (Names{"softmax", "softmax"}));
      EXPECT_EQ(std::get<Softmax>(graph.nodes[0].op).axis, 2);
    } else {  // 3·4 numbers together
      EXPECT_EQ(operators(graph), (Names{"view", "softmax", "view", "softmax"}));
      EXPECT_EQ(graph[graph.nodes[1].outputs[0]].shape, (Shape{2, 12}));
      EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 3, 4}));
    }
  }
}

TEST(ImportAxes, ReshapeCopiesFillsAndRefuses) {
  ModelText m;
  m.input("x", {2, 3, 4}).ints("a", {0, -1}).ints("b", {-1, 0, 2}).output("y").output("z");
  m.node("Reshape", {"x", "a"}, {"y"});
  m.node("Reshape", {"x", "b"}, {"z"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(shape_of(graph, "y"), (Shape{2, 12}));
  EXPECT_EQ(shape_of(graph, "z"), (Shape{4, 3, 2}));
  for (const Ints& bad : {Ints{-1, -1}, Ints{5, -1}, Ints{2, 3}, Ints{-2, 12}, Ints{0, 0, 0, 0}}) {
    ModelText wrong;
    wrong.input("x", {2, 3, 4}).ints("a", bad).output("y");
    wrong.node("Reshape", {"x", "a"}, {"y"});
    EXPECT_EQ(errors_of(wrong).size(), 1u);
  }
}

// ---- Normalisation ----

ModelText batch_norm(std::int64_t opset, std::size_t outputs, bool training) {
  ModelText m(opset);
  m.input("x", {2, 3, 4, 4}).weight("g", {3}).weight("b", {3}).weight("mean", {3}).weight("var", {3}).output("y");
  const Names out{"y", "new_mean", "new_var", "saved_mean", "saved_var"};
  auto& node = m.node("BatchNormalization", {"x", "g", "b", "mean", "var"},
                      Names(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(outputs)), "bn");
  set_real(node, "epsilon", 1e-5f);
  set_real(node, "momentum", 0.9f);
  if (training) set(node, "training_mode", 1);
  return m;
}

TEST(ImportNorm, FrozenAndTrainedBatchNorm) {
  EXPECT_EQ(operators(batch_norm(17, 1, false).import().graph), (Names{"frozen_batch_norm"}));
  EXPECT_EQ(operators(batch_norm(12, 1, false).import().graph), (Names{"frozen_batch_norm"}));
  for (const auto& [opset, outputs] : {std::pair<std::int64_t, std::size_t>{17, 3}, {12, 5}}) {
    const Graph graph = batch_norm(opset, outputs, opset >= 14).import().graph;
    ASSERT_EQ(graph.nodes.size(), 1u);
    const Norm& op = std::get<Norm>(graph.nodes[0].op);
    EXPECT_EQ(op.kind, NormKind::Batch);
    EXPECT_EQ(op.momentum, 0.1);  // the weight of the new value, not of the old
    EXPECT_EQ(op.epsilon, 1e-5);
    EXPECT_EQ(tensor_of(graph, "new_mean").overwrites, tensor_named(graph, "mean"));
    EXPECT_EQ(tensor_of(graph, "new_var").overwrites, tensor_named(graph, "var"));
    EXPECT_EQ(tensor_of(graph, "mean").category, Category::ModelState);
    EXPECT_EQ(graph.outputs.size(), 3u);  // the new statistics are results
  }
}

TEST(ImportNorm, LayerGroupInstanceAndRms) {
  ModelText m(23);
  m.input("x", {2, 6, 4}).weight("s", {4}).weight("wide", {1, 1, 4}).weight("c", {6}).weight("d", {6});
  m.output("l").output("g").output("i").output("r");
  m.node("LayerNormalization", {"x", "wide"}, {"l"});
  auto& group = m.node("GroupNormalization", {"x", "c", "d"}, {"g"});
  set(group, "num_groups", 3);
  m.node("InstanceNormalization", {"x", "c", "d"}, {"i"});
  m.node("RMSNormalization", {"x", "s"}, {"r"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(operators(graph), (Names{"view", "layer_norm", "group_norm", "group_norm", "rms_norm"}));
  EXPECT_EQ(std::get<Norm>(graph.nodes[2].op).groups, 3);
  EXPECT_EQ(std::get<Norm>(graph.nodes[3].op).groups, 6);
}

TEST(ImportNorm, OldGroupNormHasParametersPerGroup) {
  ModelText m(18);
  m.input("x", {2, 6, 4}).weight("c", {3}).weight("d", {3}).output("g");
  auto& group = m.node("GroupNormalization", {"x", "c", "d"}, {"g"});
  set(group, "num_groups", 3);
  const Graph graph = m.import().graph;
  const Node& norm = graph.nodes.back();
  EXPECT_EQ(graph[norm.inputs[1]].shape, (Shape{6}));
}

// ---- Dropout ----

TEST(ImportDropout, OnlyTrainingModeDrops) {
  const auto model = [](std::int64_t opset, bool mode) {
    ModelText m(opset);
    m.input("x", {8}).output("y").output("z").add(ModelText::floats("ratio", {}, {0.25f}));
    auto flag = ModelText::tensor("mode", {}, 9);
    flag.add_int32_data(mode);
    m.add(flag);
    if (opset >= 12) {
      m.node("Dropout", {"x", "ratio", "mode"}, {"y"});
      m.node("Dropout", {"x", "ratio", "mode"}, {"z"});
    } else {
      set_real(m.node("Dropout", {"x"}, {"y"}), "ratio", 0.25f);
      m.node("Dropout", {"x"}, {"z"});
    }
    return m.import().graph;
  };
  EXPECT_EQ(operators(model(11, true)), (Names{"view", "view"}));
  EXPECT_EQ(operators(model(13, false)), (Names{"view", "view"}));
  const Graph graph = model(13, true);
  ASSERT_EQ(operators(graph), (Names{"dropout", "dropout"}));
  const auto& first = std::get<Dropout>(graph.nodes[0].op);
  const auto& second = std::get<Dropout>(graph.nodes[1].op);
  EXPECT_EQ(first.ratio, 0.25);
  EXPECT_NE(first.seed, second.seed);
  EXPECT_EQ(graph, model(13, true));  // the same each time
}

// ---- The rest, by count ----

TEST(ImportOperators, IdentityOfAWeightIsANameOfActivationsANode) {
  ModelText m;
  m.input("x", {4, 4}).weight("w", {4, 4}).output("y").output("z");
  m.node("Identity", {"w"}, {"tied"});
  m.node("MatMul", {"x", "tied"}, {"y"});
  m.node("Identity", {"y"}, {"z"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(operators(graph), (Names{"matmul", "view"}));
  EXPECT_EQ(graph[graph.nodes[0].inputs[1]].name, "w");
}

TEST(ImportOperators, SumIsOneNodeOfMany) {
  ModelText m;
  m.input("a", {4}).input("b", {4}).input("c", {4}).output("s").output("m").output("e");
  m.node("Sum", {"a", "b", "c"}, {"s"});
  m.node("Max", {"a", "b", "c"}, {"m"});
  m.node("Mean", {"a", "b"}, {"e"});
  EXPECT_EQ(operators(m.import().graph), (Names{"sum", "max", "max", "sum", "mul"}));
}

TEST(ImportOperators, TileOfOnesIsABroadcast) {
  ModelText m;
  m.input("x", {1, 3}).ints("r", {4, 1}).ints("q", {2, 3}).output("y").output("z");
  m.node("Tile", {"x", "r"}, {"y"});
  m.node("Tile", {"x", "q"}, {"z"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(operators(graph), (Names{"expand", "view", "expand", "view"}));
  EXPECT_EQ(shape_of(graph, "z"), (Shape{2, 9}));
}

// Numbers by hand: x = 0 … 5 twice in two directions
TEST(ImportOperators, TileRepeatsInOrder) {
  ModelText m;
  m.input("x", {2, 2}).ints("r", {2, 2}).output("y");
  m.node("Tile", {"x", "r"}, {"y"});
  const Graph graph = m.import().graph;
  const Values<double> out = run<double>(graph, {{"x", {{2, 2}, {1, 2, 3, 4}}}});
  EXPECT_EQ(out.at("y").data, (std::vector<double>{1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}));
}

TEST(ImportOperators, MaxPoolIndicesCountOverTheWholeTensor) {
  ModelText m;
  m.input("x", {1, 2, 2, 2}).output("y").output("i");
  auto& pool = m.node("MaxPool", {"x"}, {"y", "i"});
  set(pool, "kernel_shape", {2, 2});
  const Graph graph = m.import().graph;
  const Values<double> out = run<double>(graph, {{"x", {{1, 2, 2, 2}, {0, 9, 1, 2, 3, 4, 8, 5}}}});
  EXPECT_EQ(out.at("y").data, (std::vector<double>{9, 8}));
  EXPECT_EQ(out.at("i").data, (std::vector<double>{1, 6}));
}

TEST(ImportOperators, CrossEntropyBelongsToTheLoss) {
  ModelText m;
  m.input("x", {4, 10}).input("t", {4}, 7).weight("w", {10}).output("l").output("n");
  m.node("SoftmaxCrossEntropyLoss", {"x", "t"}, {"l"}, "loss");
  m.node("SoftmaxCrossEntropyLoss", {"x", "t", "w"}, {"n"}, "weighted");
  m.stated("n", {});
  const Graph graph = m.import().graph;
  EXPECT_EQ(operators(graph), (Names{"cross_entropy", "fallback"}));
  EXPECT_EQ(graph.nodes[0].phase, Phase::Loss);
  EXPECT_EQ(shape_of(graph, "l"), Shape{});
}

TEST(ImportOperators, WhatIsMadeOfALossBelongsToIt) {
  ModelText m;
  m.input("x", {4, 10}).input("t", {4}, 7).add(ModelText::floats("half", {}, {0.5f})).output("l").output("p");
  m.node("SoftmaxCrossEntropyLoss", {"x", "t"}, {"a", "log_prob"}, "loss");
  m.node("Mul", {"a", "half"}, {"l"}, "scaled");
  m.node("Exp", {"log_prob"}, {"p"}, "prob");
  for (const Node& node : m.import().graph.nodes) EXPECT_EQ(node.phase, Phase::Loss) << node.name;
}

// Rows of updates added to zeros, indices broadcast along the row: how a gradient of Gather is written in ONNX.
TEST(ImportOperators, ScatteredSumsAreAGradientOfGather) {
  ModelText m(18);
  m.input("dy", {3, 2}).input("i", {3, 1}, 7).ints("wide", {3, 2}).ints("table", {4, 2}).output("d");
  m.node("Expand", {"i", "wide"}, {"rows"});
  m.node("ConstantOfShape", {"table"}, {"zeros"});
  auto& scatter = m.node("ScatterElements", {"zeros", "rows", "dy"}, {"d"});
  set(scatter, "axis", 0);
  set_text(scatter, "reduction", "add");
  const Graph graph = m.import().graph;
  EXPECT_EQ(operators(graph), (Names{"view", "scatter_add"}));  // the broadcast is gone
  const Values<double> out = run<double>(graph, {{"dy", {{3, 2}, {1, 2, 3, 4, 5, 6}}}, {"i", {{3, 1}, {2, 0, 2}}}});
  EXPECT_EQ(out.at("d").data, (std::vector<double>{3, 4, 0, 0, 6, 8, 0, 0}));
}

// ---- Functions ----

ModelText with_function() {
  ModelText m;
  m.input("x", {3}).output("y").output("z");
  auto* function = m.proto.add_functions();
  function->set_domain("local");
  function->set_name("Scaled");
  function->add_input("A");
  function->add_output("B");
  function->add_attribute("slope");
  auto* import = function->add_opset_import();
  import->set_domain("");
  import->set_version(17);
  auto& leaky = ModelText::fill(*function->add_node(), "LeakyRelu", {"A"}, {"T"}, "leaky");
  auto* slope = leaky.add_attribute();
  slope->set_name("alpha");
  slope->set_type(onnx::AttributeProto::FLOAT);
  slope->set_ref_attr_name("slope");
  ModelText::fill(*function->add_node(), "Exp", {"T"}, {"B"}, "exp");
  set_real(m.node("local:Scaled", {"x"}, {"y"}, "one"), "slope", 0.5f);
  m.node("local:Scaled", {"y"}, {"z"}, "two");
  return m;
}

TEST(ImportFunctions, AreInlinedWithTheirAttributes) {
  const Graph graph = with_function().import().graph;
  EXPECT_EQ(nodes_of(graph),
            "forward one/leaky = leaky_relu{a=0.5}(x) -> one/T : f32[3]\n"
            "forward one/exp = exp(one/T) -> y : f32[3]\n"
            "forward two/leaky = leaky_relu{a=0.01}(y) -> two/T : f32[3]\n"  // not given: the operator's default
            "forward two/exp = exp(two/T) -> z : f32[3]\n");
}

TEST(ImportFunctions, CallEachOtherButNotInCircles) {
  ModelText m = with_function();
  auto* outer = m.proto.add_functions();
  outer->set_domain("local");
  outer->set_name("Outer");
  outer->add_input("P");
  outer->add_output("Q");
  ModelText::fill(*outer->add_node(), "local:Scaled", {"P"}, {"Q"}, "inner");
  m.node("local:Outer", {"z"}, {"w"}, "three");
  m.output("w");
  EXPECT_EQ(m.import().graph.nodes.size(), 6u);
  outer->mutable_node(0)->set_op_type("Outer");
  const auto errors = errors_of(m);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_HOLDS(errors[0].message, "in a circle: local:Outer -> local:Outer");
}

TEST(ImportFunctions, FaultsInsideNameTheCall) {
  ModelText m = with_function();
  m.proto.mutable_functions(0)->mutable_node(1)->set_op_type("MatMul");
  const auto errors = errors_of(m);
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].where, "node 0 'one' (local:Scaled), in the function: node 1 'exp' (MatMul)");
}

// Each function calls the one before it ten times: 10^12 nodes.
TEST(ImportFunctions, DoNotMultiplyWithoutEnd) {
  ModelText m;
  m.input("x", {3}).output("y");
  for (int level = 0; level < 12; ++level) {
    auto* function = m.proto.add_functions();
    function->set_domain("local");
    function->set_name("F" + std::to_string(level));
    function->add_input("A");
    function->add_output("B");
    std::string from = "A";
    for (int i = 0; i < 10; ++i) {
      const std::string to = i == 9 ? "B" : "t" + std::to_string(i);
      ModelText::fill(*function->add_node(), level == 0 ? "Relu" : "local:F" + std::to_string(level - 1), {from}, {to});
      from = to;
    }
  }
  m.node("local:F11", {"x"}, {"y"}, "top");
  EXPECT_HOLDS(text_of(errors_of(m)), "more than");
}

}  // namespace
}  // namespace monet::test
