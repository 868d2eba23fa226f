// What a training graph is made of: which gradients, what is saved, which updates, in which storage.
#include "monet/training/train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "monet/base/diagnostic.h"
#include "monet/graph/saved.h"
#include "monet/graph/storage.h"
#include "monet/graph/verify.h"
#include "monet/interpret/run.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/precision.h"
#include "monet/training/lora.h"
#include "monet/training/select.h"

namespace monet {
namespace {

constexpr Format kF32{Element::F32};

std::map<std::string, std::size_t> operators(const Graph& g, Phase phase) {
  std::map<std::string, std::size_t> counts;
  for (const Node& n : g.nodes)
    if (n.phase == phase) ++counts[std::string(operator_name(n.op))];
  return counts;
}

std::set<std::string> saved_names(const Graph& g) {
  std::set<std::string> names;
  for (const TensorId t : saved_activations(g)) names.insert(g[t].name);
  return names;
}

// conv -> relu -> max-pool -> linear: every saving rule in one chain
Graph chain(bool pooled_first = false) {
  Builder b("chain");
  const TensorId x = b.source("x", {2, 3, 8, 8}, kF32, Category::Input);
  const TensorId w = b.source("conv.weight", {4, 3, 3, 3}, kF32, Category::Weight);
  const TensorId fc = b.source("fc.weight", {5, 64}, kF32, Category::Weight);
  TensorId t = b.one(Conv{ConvKind::Forward, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, {}}, {x, w}, "conv");
  const Pool pool{PoolKind::Max, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
  if (pooled_first) t = b.one(pool, {t}, "pool");
  t = b.unary(UnaryKind::Relu, t, "relu");
  if (!pooled_first) t = b.one(pool, {t}, "pool");
  t = b.view(t, {2, 64}, "flat");
  b.graph().outputs = {b.one(MatMul{false, true, 1, 1}, {t, fc}, "fc")};
  return std::move(b).finish();
}

TrainingGraph train(Graph g, TrainingOptions options = {}) {
  TrainingGraph t = make_training(std::move(g), options);
  for (const std::string& fault : faults(t.graph)) ADD_FAILURE() << fault;
  return t;
}

TEST(Saves, LeanKeepsMasksAndWindowOffsets) {
  const Graph g = train(chain()).graph;
  EXPECT_EQ(saved_names(g),
            (std::set<std::string>{"x", "relu.mask", "pool.indices", "pool", "loss.log_prob", "labels"}));
  const Tensor& mask = g[tensor_named(g, "relu.mask")];
  EXPECT_EQ(mask.format.element, Element::Bit);
  EXPECT_EQ(bytes(mask), 2u * 4 * 8 * 8 / 8);
  EXPECT_EQ(g[tensor_named(g, "pool.indices")].format.element, Element::U4);  // offsets in a window of 4
}

TEST(Saves, LeanUsesWhatIsKeptAnyway) {
  // After the pool, the ReLU's output is what the linear layer keeps: no mask.
  const Graph g = train(chain(true)).graph;
  EXPECT_EQ(saved_names(g), (std::set<std::string>{"x", "pool.indices", "relu", "loss.log_prob", "labels"}));
}

TEST(Saves, TorchKeepsOutputsInputsAndWideIndices) {
  TrainingOptions options;
  options.policy = SavePolicy::Torch;
  const Graph g = train(chain(), options).graph;
  EXPECT_EQ(saved_names(g), (std::set<std::string>{"x", "relu", "pool.indices", "pool", "loss.log_prob", "labels"}));
  EXPECT_EQ(g[tensor_named(g, "pool.indices")].format.element, Element::I64);
}

TEST(Saves, DropoutIsDrawnAgainOrItsMaskKept) {
  Builder b("drop");
  const TensorId x = b.source("x", {2, 4}, kF32, Category::Input), w = b.source("w", {4, 4}, kF32, Category::Weight);
  const TensorId v = b.source("v", {4, 3}, kF32, Category::Weight);
  TensorId t = b.one(MatMul{}, {x, w}, "hidden");
  t = b.one(Dropout{0.5, 11}, {t}, "drop");
  b.graph().outputs = {b.one(MatMul{}, {t, v}, "out")};
  const Graph g = std::move(b).finish();
  EXPECT_FALSE(saved_names(train(g).graph).contains("drop.mask"));
  TrainingOptions options;
  options.policy = SavePolicy::Torch;
  const Graph torch = train(g, options).graph;
  ASSERT_TRUE(saved_names(torch).contains("drop.mask"));
  EXPECT_EQ(torch[tensor_named(torch, "drop.mask")].format.element, Element::Bool);
}

TEST(Train, GradientsNobodyNeedsAreNotComputed) {
  const auto backward = operators(train(chain()).graph, Phase::Backward);
  EXPECT_FALSE(backward.contains("conv_data_gradient"));  // of the input
  EXPECT_EQ(backward.at("conv_weight_gradient"), 1u);
  TrainingOptions last;
  last.train = "last";
  const TrainingGraph t = train(chain(), last);
  ASSERT_EQ(t.weights.size(), 1u);
  EXPECT_EQ(t.graph[t.weights[0]].name, "fc.weight");
  const auto few = operators(t.graph, Phase::Backward);
  EXPECT_FALSE(few.contains("conv_weight_gradient"));
  EXPECT_FALSE(few.contains("relu_gradient"));
  EXPECT_EQ(few.at("matmul"), 1u);
  EXPECT_EQ(saved_names(t.graph), (std::set<std::string>{"pool", "loss.log_prob", "labels"}));
}

TEST(Train, SelectionByExpressionAndItsFaults) {
  const Graph g = chain();
  EXPECT_EQ(select_weights(g, "^fc").size(), 1u);
  EXPECT_EQ(select_weights(g, "all").size(), 2u);
  for (const char* bad : {"(", "no such weight"}) {
    try {
      select_weights(g, bad);
      ADD_FAILURE() << bad;
    } catch (const InputError& error) {
      EXPECT_EQ(error.diagnostics()[0].where, "--train");
    }
  }
}

TEST(Train, NarrowWeightsHaveMasterCopies) {
  const TrainingGraph t = train(set_precision(chain(), Element::F16));
  const Tensor& master = t.graph[tensor_named(t.graph, "fc.weight.master")];
  EXPECT_EQ(master.format.element, Element::F32);
  EXPECT_EQ(master.category, Category::OptimizerState);
  EXPECT_EQ(t.graph[t.weights[0]].format.element, Element::F16);
  for (std::size_t i = 0; i < t.weights.size(); ++i) EXPECT_EQ(t.graph[t.new_weights[i]].overwrites, t.weights[i]);
}

// A state takes the storage of the old one: both are as wide as the arithmetic, which is as wide as the weight.
TEST(Train, StatesOfWideWeightsAreAsWide) {
  for (const char* optimizer : {"momentum", "nesterov", "adam", "adamw"})
    for (const bool is_scaled : {false, true}) {
      TrainingOptions options;
      options.optimizer = parse_optimizer(optimizer);
      options.loss_scaling = is_scaled;
      options.clip_norm = 1;
      options.microbatches = 2;
      const Graph g = train(set_precision(chain(), Element::F64), options).graph;
      EXPECT_TRUE(faults(g).empty()) << optimizer << ": " << faults(g).front();
      const std::string state = std::string(optimizer).starts_with("adam") ? "fc.weight.m" : "fc.weight.velocity";
      EXPECT_EQ(g[tensor_named(g, state)].format.element, Element::F64) << optimizer;
    }
}

TEST(Train, AdamIsFourteenNodesPerWeight) {
  TrainingOptions options;
  options.optimizer = parse_optimizer("adam");
  const auto update = operators(train(chain(), options).graph, Phase::Update);
  // Two weights; step counter and bias corrections are shared: 1 add, 2 pow, 2 sub.
  EXPECT_EQ(update.at("mul"), 2u * 6);
  EXPECT_EQ(update.at("div"), 2u * 3);
  EXPECT_EQ(update.at("sqrt"), 2u);
  EXPECT_EQ(update.at("add"), 2u * 3 + 1);
  EXPECT_EQ(update.at("sub"), 2u + 2);
  EXPECT_EQ(update.at("pow"), 2u);
}

// One weight of one element, gradient 2 each step: the sequence by hand.
double after_steps(const std::string& optimizer, int steps) {
  Builder b("scalar");
  const TensorId x = b.source("x", {1, 1}, kF32, Category::Input), w = b.source("w", {1, 1}, kF32, Category::Weight);
  b.graph().outputs = {b.view(b.one(MatMul{}, {x, w}, "y"), {}, "scalar_loss")};
  TrainingOptions options;
  options.optimizer = parse_optimizer(optimizer);
  const TrainingGraph t = train(std::move(b).finish(), options);
  Values<double> values = initial_values<double>(t.graph, 1, {{"x", {{1, 1}, {2}}}, {"w", {{1, 1}, {1}}}});
  for (int s = 0; s < steps; ++s) {
    Values<double> next = run<double>(t.graph, values);
    for (const TensorId o : t.graph.outputs)
      if (t.graph[o].overwrites != kNoTensor) values[t.graph[t.graph[o].overwrites].name] = next.at(t.graph[o].name);
  }
  return values.at("w").data[0];
}

TEST(Optimizers, FirstStepsByHand) {
  EXPECT_DOUBLE_EQ(after_steps("sgd:lr=0.1", 2), 1 - 0.1 * 2 - 0.1 * 2);
  EXPECT_DOUBLE_EQ(after_steps("sgd:lr=0.1,wd=0.5", 1), 1 - 0.1 * (2 + 0.5));
  EXPECT_DOUBLE_EQ(after_steps("momentum:lr=0.1,momentum=0.5", 2), 1 - 0.1 * 2 - 0.1 * (0.5 * 2 + 2));
  EXPECT_DOUBLE_EQ(after_steps("nesterov:lr=0.1,momentum=0.5", 1), 1 - 0.1 * (2 + 0.5 * 2));
  EXPECT_NEAR(after_steps("adam:lr=0.1", 3), 1 - 3 * 0.1, 1e-7);  // a constant gradient moves by lr each step
  EXPECT_NEAR(after_steps("adamw:lr=0.1,wd=0.5", 1), 1 * (1 - 0.1 * 0.5) - 0.1, 1e-7);
}

TEST(Optimizers, BadSpecsSayWhatIsKnown) {
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{{"adan", "did you mean 'adam'?"},
                                                        {"sgd:lr=x", "a number not below zero"},
                                                        {"sgd:rate=1", "known: lr"},
                                                        {"adam:beta1=1", "'beta1' must be below 1"},
                                                        {"sgd:lr", "options look like"}}) {
    try {
      parse_optimizer(text);
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

TEST(Train, AnOverflowSkipsTheStepAndHalvesTheScale) {
  TrainingOptions options;
  options.loss_scaling = true;
  const TrainingGraph t = train(chain(), options);
  Values<double> values = initial_values<double>(t.graph, 1);
  values.at("fc.weight").data[0] = std::numeric_limits<double>::infinity();
  const Values<double> after = run<double>(t.graph, values);
  for (std::size_t i = 0; i < t.weights.size(); ++i)
    EXPECT_EQ(after.at(t.graph[t.new_weights[i]].name), values.at(t.graph[t.weights[i]].name));
  EXPECT_EQ(after.at("loss_scale.next").data[0], 65536.0 / 2);
  EXPECT_EQ(after.at("conv.weight.update.m_kept").data, values.at("conv.weight.m").data);
}

TEST(Train, ClippingBoundsTheGlobalNorm) {
  TrainingOptions options;
  options.optimizer = parse_optimizer("sgd:lr=1");
  options.clip_norm = 1e-3;
  const TrainingGraph t = train(chain(), options);
  const Values<double> values = initial_values<double>(t.graph, 1);
  const Values<double> after = run<double>(t.graph, values);
  double square = 0;
  for (std::size_t i = 0; i < t.weights.size(); ++i)
    for (std::size_t k = 0; k < values.at(t.graph[t.weights[i]].name).data.size(); ++k) {
      const double change =
          after.at(t.graph[t.new_weights[i]].name).data[k] - values.at(t.graph[t.weights[i]].name).data[k];
      square += change * change;
    }
  EXPECT_NEAR(std::sqrt(square), 1e-3, 1e-5);
}

TEST(Lora, TrainsOnlyThinMatricesAndStartsAsTheModel) {
  const Graph plain = chain();
  const Graph adapted = add_lora(plain, 2);
  for (const std::string& fault : faults(adapted)) ADD_FAILURE() << fault;
  const Values<double> values = initial_values<double>(adapted, 3);
  EXPECT_EQ(run<double>(plain, values).at("fc"), run<double>(adapted, values).at("fc"));  // B starts at zero
  TrainingOptions options;
  options.train = "lora:rank=2";
  const TrainingGraph t = train(plain, options);
  std::int64_t trained = 0;
  for (const TensorId w : t.weights) trained += elements(t.graph[w].shape);
  EXPECT_EQ(trained, 2 * 3 * 9 + 4 * 2 + 64 * 2 + 2 * 5);
}

// The published LoRA ResNet-18 (rank 8 on every convolution, CIFAR stem): 286,424 trained parameters without the
// classifier's (MONET's resnet18_lora graph).
TEST(Lora, RankEightResNet18HasThePublishedParameters) {
  TrainingOptions options;
  options.train = "lora:rank=8";
  const TrainingGraph t = train(build_model("resnet18:stem=cifar,norm=folded,image=32,classes=10", 4), options);
  std::int64_t trained = 0;
  for (const TensorId w : t.weights)
    if (t.graph[w].name.rfind("fc.", 0) != 0) trained += elements(t.graph[w].shape);
  EXPECT_EQ(trained, 286424);
}

TEST(Train, MicrobatchesAccumulateInPlaceAndUpdateLast) {
  TrainingOptions options;
  options.microbatches = 3;
  const TrainingGraph t = train(chain(), options);
  std::size_t in_place = 0, last_backward = 0, first_update = t.graph.nodes.size();
  for (std::size_t n = 0; n < t.graph.nodes.size(); ++n) {
    const Node& node = t.graph.nodes[n];
    if (node.phase == Phase::Backward) last_backward = n;
    if (node.phase == Phase::Update) first_update = std::min(first_update, n);
    if (node.phase == Phase::Backward && node.outputs[0] != kNoTensor &&
        t.graph[node.outputs[0]].overwrites != kNoTensor)
      ++in_place;
  }
  EXPECT_EQ(in_place, 2u * 2);  // two weights, two additions each
  EXPECT_LT(last_backward, first_update);
  EXPECT_EQ(t.graph[tensor_named(t.graph, "x")].shape, (Shape{6, 3, 8, 8}));
}

// The gradient of the class token is a part of that of the positions it is added to.
TEST(Train, SumsOfGradientsThatAreOnePartOfAnotherHaveStorageOfTheirOwn) {
  TrainingOptions options;
  options.microbatches = 2;
  const TrainingGraph t = train(build_model("vit_b_16:image=32,classes=3,layers=1,width=8,heads=2,mlp=10", 1), options);
  const Storage storage(t.graph);
  std::set<TensorId> roots;
  for (const TensorId g : t.gradients) EXPECT_TRUE(roots.insert(storage.root(g)).second) << t.graph[g].name;
}

TEST(Train, EveryMicrobatchDrawsItsOwnDropoutMask) {
  TrainingOptions options;
  options.microbatches = 3;
  const TrainingGraph t = train(build_model("gpt2:layers=1,width=8,heads=2,vocab=11,seq=6,dropout=0.2", 1), options);
  std::set<std::int64_t> seeds;
  std::size_t dropouts = 0;
  for (const Node& n : t.graph.nodes)
    if (const Dropout* d = std::get_if<Dropout>(&n.op)) ++dropouts, seeds.insert(d->seed);
  EXPECT_GT(dropouts, 3u);
  EXPECT_EQ(seeds.size(), dropouts);
}

TEST(Train, RunningStatisticsPassFromMicrobatchToMicrobatch) {
  TrainingOptions options;
  options.microbatches = 2;
  const TrainingGraph t = train(build_model("resnet18:image=16,classes=4,width=4,stem=cifar", 2), options);
  EXPECT_FALSE(t.notes.empty());
  std::size_t chained = 0;
  for (const Tensor& s : t.graph.tensors)
    if (s.category == Category::ModelState && s.overwrites != kNoTensor &&
        t.graph[s.overwrites].overwrites != kNoTensor)
      ++chained;
  EXPECT_EQ(chained, 2u * 20);
}

TEST(Loss, TakesScalarsAsTheyAreAndLeavesOutAFinalSoftmax) {
  Graph g = chain();
  Builder b(g);
  b.graph().outputs = {b.one(Softmax{1, false}, {g.outputs[0]}, "prob")};
  const TrainingGraph t = train(std::move(b).finish());
  ASSERT_EQ(t.notes.size(), 1u);
  EXPECT_NE(t.notes[0].find("'prob' is part of the cross-entropy loss"), std::string::npos);
  TrainingOptions mse;
  mse.loss = LossKind::MeanSquared;
  const TrainingGraph m = train(chain(), mse);
  EXPECT_NE(tensor_named(m.graph, "target"), kNoTensor);
}

TEST(Differentiate, RefusesUnknownOperatorsOnTheWay) {
  Builder b("unknown");
  const TensorId w = b.source("w", {3, 2}, kF32, Category::Weight);
  b.graph().outputs =
      b.add_fallback(Fallback{"custom:Thing", CostClass::Elementwise}, {w}, "thing", {"y"}, {{{3, 2}, kF32, ""}});
  try {
    make_training(std::move(b).finish(), {});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("node 'thing' (custom:Thing)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace monet
