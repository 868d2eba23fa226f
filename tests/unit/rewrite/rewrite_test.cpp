// Each pass: what it changes, what it leaves alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "monet/graph/builder.h"
#include "monet/graph/lower.h"
#include "monet/graph/saved.h"
#include "monet/graph/verify.h"
#include "monet/interpret/run.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/dead_nodes.h"
#include "monet/rewrite/decompose.h"
#include "monet/rewrite/fold_constants.h"
#include "monet/rewrite/online_softmax.h"
#include "monet/rewrite/pass.h"
#include "monet/rewrite/precision.h"
#include "monet/rewrite/recompose.h"
#include "monet/rewrite/recompute.h"
#include "monet/training/train.h"

namespace monet {
namespace {

constexpr Format kF32{Element::F32};

std::map<std::string, int> operators(const Graph& g) {
  std::map<std::string, int> counts;
  for (const Node& n : g.nodes) ++counts[std::string(operator_name(n.op))];
  return counts;
}

void expect_sound(const Graph& g) {
  for (const std::string& fault : faults(g)) ADD_FAILURE() << fault;
}

// x -> mean, difference, square, mean, +eps, sqrt, quotient [· scale [+ bias]], as exporters write it
Graph written_layer_norm(bool scaled, bool shifted, bool as_power = true) {
  Builder b("ln");
  const TensorId x = b.source("x", {2, 3, 8}, kF32, Category::Input);
  const TensorId mean = b.one(Reduce{ReduceKind::Mean, {2}, true}, {x}, "mean");
  const TensorId d = b.binary(BinaryKind::Sub, x, mean, "d");
  const TensorId square =
      as_power ? b.binary(BinaryKind::Pow, d, b.scalar(2), "square") : b.binary(BinaryKind::Mul, d, d, "square");
  const TensorId variance = b.one(Reduce{ReduceKind::Mean, {2}, true}, {square}, "variance");
  const TensorId root = b.unary(UnaryKind::Sqrt, b.binary(BinaryKind::Add, variance, b.scalar(1e-5), "safe"), "root");
  TensorId y = b.binary(BinaryKind::Div, d, root, "normal");
  if (scaled) y = b.binary(BinaryKind::Mul, y, b.source("scale", {8}, kF32, Category::Weight), "scaled");
  if (shifted) y = b.binary(BinaryKind::Add, y, b.source("bias", {8}, kF32, Category::Weight), "shifted");
  b.graph().outputs = {y};
  return std::move(b).finish();
}

void expect_same_output(const Graph& a, const Graph& b, double tolerance = 1e-9) {
  const Values<double> values = initial_values<double>(a, 1);
  const std::string name = a[a.outputs[0]].name;
  const auto x = run<double>(a, values).at(name), y = run<double>(b, initial_values<double>(b, 1, values)).at(name);
  ASSERT_EQ(x.shape, y.shape);
  for (std::size_t i = 0; i < x.data.size(); ++i) ASSERT_NEAR(x.data[i], y.data[i], tolerance);
}

TEST(Recompose, LayerNormInAllItsWritings) {
  for (const auto& [scaled, shifted, power] :
       {std::tuple{true, true, true}, {true, false, true}, {false, false, false}, {true, true, false}}) {
    const Graph g = written_layer_norm(scaled, shifted, power), r = recompose_norms(g);
    expect_sound(r);
    EXPECT_EQ(operators(r), (std::map<std::string, int>{{"layer_norm", 1}}));
    expect_same_output(g, r);
  }
}

TEST(Recompose, KeepsADifferenceThatSomethingElseReads) {
  Graph g = written_layer_norm(true, true);
  g.outputs.push_back(tensor_named(g, "d"));
  const Graph r = recompose_norms(g);
  expect_sound(r);
  EXPECT_FALSE(operators(r).contains("layer_norm"));  // what is left is an RMS norm of the difference
  expect_same_output(g, r);
}

TEST(Recompose, RmsNormAsQuotientOrProduct) {
  for (const int form : {0, 1, 2}) {
    Builder b("rms");
    const TensorId x = b.source("x", {4, 6}, kF32, Category::Input), w = b.source("w", {6}, kF32, Category::Weight);
    const TensorId mean =
        b.one(Reduce{ReduceKind::Mean, {1}, true}, {b.binary(BinaryKind::Pow, x, b.scalar(2), "square")}, "mean");
    const TensorId root = b.unary(UnaryKind::Sqrt, b.binary(BinaryKind::Add, mean, b.scalar(1e-6), "safe"), "root");
    TensorId y = form == 0 ? b.binary(BinaryKind::Div, x, root, "y")
                 : form == 1
                     ? b.binary(BinaryKind::Mul, x, b.unary(UnaryKind::Reciprocal, root, "inverse"), "y")
                     : b.binary(BinaryKind::Mul, x, b.binary(BinaryKind::Div, b.scalar(1), root, "inverse"), "y");
    b.graph().outputs = {b.binary(BinaryKind::Mul, w, y, "out")};
    const Graph g = std::move(b).finish(), r = recompose_norms(g);
    expect_sound(r);
    EXPECT_EQ(operators(r), (std::map<std::string, int>{{"rms_norm", 1}})) << form;
    expect_same_output(g, r);
  }
}

TEST(Recompose, Activations) {
  Builder b("act");
  const TensorId x = b.source("x", {3, 5}, kF32, Category::Input);
  const TensorId curve = b.unary(UnaryKind::Erf, b.binary(BinaryKind::Div, x, b.scalar(1.41421354), "scaled"), "erf");
  const TensorId one = b.binary(BinaryKind::Add, curve, b.scalar(1), "one");
  const TensorId gelu = b.binary(BinaryKind::Mul, b.binary(BinaryKind::Mul, x, one, "product"), b.scalar(0.5), "gelu");
  const TensorId silu = b.binary(BinaryKind::Mul, gelu, b.unary(UnaryKind::Sigmoid, gelu, "gate"), "silu");
  const TensorId cube = b.binary(BinaryKind::Pow, silu, b.scalar(3), "cube");
  const TensorId inner =
      b.binary(BinaryKind::Add, silu, b.binary(BinaryKind::Mul, cube, b.scalar(0.044715), "cubic"), "inner");
  const TensorId tanh =
      b.unary(UnaryKind::Tanh, b.binary(BinaryKind::Mul, inner, b.scalar(0.7978845608), "argument"), "tanh");
  const TensorId half = b.binary(BinaryKind::Mul, b.scalar(0.5), silu, "half");
  const TensorId y = b.binary(BinaryKind::Mul, half, b.binary(BinaryKind::Add, tanh, b.scalar(1), "plus"), "y");
  b.graph().outputs = {b.binary(BinaryKind::Mul, y, b.unary(UnaryKind::HardSigmoid, y, "hard", 1.0 / 6, 0.5), "out")};
  const Graph g = std::move(b).finish(), r = recompose_activations(g);
  expect_sound(r);
  EXPECT_EQ(operators(r), (std::map<std::string, int>{{"gelu", 1}, {"silu", 1}, {"gelu_tanh", 1}, {"hard_swish", 1}}));
  expect_same_output(g, r, 1e-6);
}

TEST(DeadNodes, DropsWhatNoOutputNeedsAndKeepsWeights) {
  Builder b("dead");
  const TensorId x = b.source("x", {2}, kF32, Category::Input);
  b.source("unused", {9}, kF32, Category::Weight);
  b.unary(UnaryKind::Exp, x, "dead");
  b.graph().outputs = {b.unary(UnaryKind::Relu, x, "live")};
  const Graph g = remove_dead_nodes(std::move(b).finish());
  expect_sound(g);
  ASSERT_EQ(g.nodes.size(), 1u);
  EXPECT_EQ(g.nodes[0].name, "live");
  EXPECT_NE(tensor_named(g, "unused"), kNoTensor);
  EXPECT_EQ(tensor_named(g, "dead"), kNoTensor);
}

TEST(FoldConstants, FoldsChainsOfKnownValuesOnly) {
  Builder b("fold");
  const TensorId x = b.source("x", {2, 2}, kF32, Category::Input);
  const TensorId ones = b.one(Fill{{2, 2}, 1, Element::F32}, {}, "ones");
  const TensorId mask = b.one(Trilu{true, 1}, {ones}, "mask");
  const TensorId bias = b.binary(BinaryKind::Mul, mask, b.scalar(-5), "bias");
  b.graph().outputs = {b.binary(BinaryKind::Add, x, bias, "y")};
  const Graph g = std::move(b).finish(), f = fold_constants(g);
  expect_sound(f);
  EXPECT_EQ(operators(f), (std::map<std::string, int>{{"add", 1}}));
  EXPECT_EQ(std::get<Dense>(f[tensor_named(f, "bias")].initial).values, (std::vector<double>{0, -5, 0, 0}));
  EXPECT_EQ(operators(fold_constants(g, {.most_elements = 3})), operators(g));
}

TEST(Precision, StatisticsAndLossStayWide) {
  const TrainingGraph t =
      make_training(set_precision(build_model("resnet18:image=16,classes=4,width=4,stem=cifar", 2), Element::BF16), {});
  expect_sound(t.graph);
  EXPECT_EQ(t.graph[t.loss].format.element, Element::F32);
  EXPECT_EQ(t.graph[tensor_named(t.graph, "layer1.0.conv1")].format.element, Element::BF16);
  EXPECT_EQ(t.graph[tensor_named(t.graph, "layer1.0.bn1.mean")].format.element, Element::F32);
  EXPECT_EQ(t.graph[tensor_named(t.graph, "layer1.0.bn1.running_mean")].format.element, Element::F32);
  EXPECT_EQ(t.graph[t.gradients[0]].format.element, Element::BF16);
}

TEST(Decompose, LeavesOnlySingleWorks) {
  for (const char* model : {"resnet18:image=32,classes=4,width=4", "gpt2:layers=1,width=8,heads=2,vocab=11,seq=6",
                            "llama2-7b:layers=1,width=8,heads=2,kv_heads=2,ff=12,vocab=14,seq=5"}) {
    const TrainingGraph t = make_training(use_online_softmax(build_model(model, 2), {.block = 4}), {});
    const Graph g = decompose(t.graph, {.im2col_weight_gradient = true});
    expect_sound(g);
    for (const Node& n : g.nodes) {
      EXPECT_TRUE(is_single_work(n.op)) << n.name;
      EXPECT_NE(operator_name(n.op), "conv_weight_gradient");
      lower(g, n);
    }
  }
}

TEST(Decompose, BatchNormStatisticsComeBeforeAnyNormalisedElement) {
  Builder b("bn");
  const TensorId x = b.source("x", {2, 3, 4, 4}, kF32, Category::Input),
                 scale = b.source("s", {3}, kF32, Category::Weight), bias = b.source("t", {3}, kF32, Category::Weight);
  const TensorId mean = b.source("m", {3}, kF32, Category::ModelState),
                 var = b.source("v", {3}, kF32, Category::ModelState);
  b.graph().outputs = {b.add(Norm{NormKind::Batch}, {x, scale, bias, mean, var}, "bn", 5)[0]};
  const Graph g = decompose(make_training(std::move(b).finish(), {.loss = LossKind::MeanSquared}).graph);
  std::vector<std::string> order;
  for (const Node& n : g.nodes)
    if (std::holds_alternative<NormPart>(n.op)) order.push_back(std::string(operator_name(n.op)));
  EXPECT_EQ(order,
            (std::vector<std::string>{"norm_statistics", "norm_running_update", "norm_apply", "norm_parameter_sums"}));
}

TEST(OnlineSoftmax, SavesOutputAndLogSumExpInsteadOfTheScores) {
  const Graph forward = build_model("gpt2:layers=1,width=8,heads=2,vocab=11,seq=16", 1);
  const Graph written = make_training(forward, {}).graph, online = make_training(use_online_softmax(forward), {}).graph;
  const auto saved = [](const Graph& g) {
    std::uint64_t total = 0;
    for (const TensorId t : saved_activations(g)) total += bytes(g[t]);
    return total;
  };
  const std::uint64_t scores = 2 * 16 * 16 * 4, log_sum = 2 * 16 * 4;
  // The output of attention is saved for the projection in both, but as written after its transposition.
  EXPECT_EQ(saved(written) - scores + log_sum + 16 * 8 * 4, saved(online));
}

TEST(Recompute, SharedChainsAreRebuiltOnceAndPerConsumerChainsEach) {
  const TrainingGraph t = make_training(build_model("mlp:in=6,hidden=5,layers=3,classes=3", 2), {});
  const std::vector<TensorId> saved = saved_activations(t.graph);
  const auto clones = [](const Graph& g) {
    return std::count_if(g.nodes.begin(), g.nodes.end(), [](const Node& n) { return n.phase == Phase::Recompute; });
  };
  const auto shared = clones(recompute(t.graph, saved)),
             each = clones(recompute(t.graph, saved, {.per_consumer = true}));
  EXPECT_GT(shared, 0);
  EXPECT_GT(each, shared);
}

TEST(Recompute, SomeAreRebuiltForEachReaderAndOthersOnce) {
  const TrainingGraph t = make_training(build_model("mlp:in=6,hidden=5,layers=3,classes=3", 2), {});
  const auto clones = [&](bool first_per_consumer) {
    std::vector<Dropped> dropped;
    for (const TensorId saved : saved_activations(t.graph))
      dropped.push_back({.tensor = saved, .per_consumer = first_per_consumer == dropped.empty()});
    const Graph g = recompute(t.graph, dropped);
    return std::count_if(g.nodes.begin(), g.nodes.end(), [](const Node& n) { return n.phase == Phase::Recompute; });
  };
  const auto count = [&](bool per_consumer) {
    const Graph g = recompute(t.graph, saved_activations(t.graph), {.per_consumer = per_consumer});
    return std::count_if(g.nodes.begin(), g.nodes.end(), [](const Node& n) { return n.phase == Phase::Recompute; });
  };
  EXPECT_GE(clones(true), count(false));
  EXPECT_LT(clones(true), count(true));
  EXPECT_GE(clones(false), clones(true));
}

TEST(Recompute, ANarrowActivationWaitsInItsFormatAndIsWidenedForEachReader) {
  const TrainingGraph t = make_training(build_model("mlp:in=6,hidden=5,layers=3,classes=3", 2), {});
  std::vector<Dropped> dropped;
  const Uses u = uses(t.graph);
  std::uint64_t before = 0, after = 0;
  for (const TensorId saved : saved_activations(t.graph)) {
    before += bytes(t.graph[saved]);
    if (u.producer[saved.index()] != kNoNode && t.graph[saved].format.element == Element::F32)
      dropped.push_back({.tensor = saved, .narrow = Element::F8E4M3});
  }
  ASSERT_FALSE(dropped.empty());
  const Graph g = recompute(t.graph, dropped);
  EXPECT_EQ(faults(g), std::vector<std::string>{});
  for (const TensorId saved : saved_activations(g)) after += bytes(g[saved]);
  std::uint64_t won = 0;
  for (const Dropped& d : dropped) won += bytes(t.graph[d.tensor]) * 3 / 4;
  EXPECT_EQ(before - won, after);
  // The interpreter rounds to no float format, so that nothing else may differ.
  const Values<double> values = initial_values<double>(t.graph, 3);
  EXPECT_EQ(run<double>(t.graph, values), run<double>(g, values));
}

TEST(Passes, RunInOrderAndAreSeen) {
  Builder b("p");
  const TensorId x = b.source("x", {2}, kF32, Category::Input);
  b.unary(UnaryKind::Exp, x, "dead");
  b.graph().outputs = {b.one(Softmax{0, false}, {x}, "y")};
  const std::vector<Pass> passes{{"dead", remove_dead_nodes},
                                 {"decompose", [](Graph g) { return decompose(std::move(g)); }}};
  std::vector<std::pair<std::string, std::size_t>> seen;
  run_passes(std::move(b).finish(), passes,
             [&](const std::string& name, const Graph& g) { seen.emplace_back(name, g.nodes.size()); });
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, std::size_t>>{{"dead", 1}, {"decompose", 4}}));
}

}  // namespace
}  // namespace monet
