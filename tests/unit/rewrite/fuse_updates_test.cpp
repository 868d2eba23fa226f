// Which steps of an update become one node, and which do not.
#include "monet/rewrite/fuse_updates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "monet/graph/lower.h"
#include "monet/graph/steps.h"
#include "monet/graph/text.h"
#include "monet/graph/verify.h"
#include "monet/interpret/run.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/decompose.h"
#include "monet/rewrite/precision.h"
#include "monet/training/train.h"

namespace monet {
namespace {

constexpr const char* kSources =
    "graph g\n"
    "weight w : f32[4]\n"
    "input g : f32[4]\n"
    "optimizer_state m : f32[4] = splat(1)\n"
    "constant k : f32[] = splat(2)\n";

// The nodes of a graph of updates after the pass: single ones by name, programs as name{step step …}(inputs)->outputs.
std::string fused(const std::string& nodes) {
  const Graph before = parse_graph(kSources + nodes, "g.monet");
  for (const std::string& fault : faults(before)) ADD_FAILURE() << fault;
  const Graph after = fuse_updates(before);
  for (const std::string& fault : faults(after)) ADD_FAILURE() << fault;
  const Values<double> sources = initial_values<double>(before, 1);
  EXPECT_EQ(run<double>(before, sources), run<double>(after, sources));
  std::string text;
  for (const Node& node : after.nodes) {
    text += (text.empty() ? "" : " ") + node.name;
    const Steps* program = std::get_if<Steps>(&node.op);
    if (program == nullptr) continue;
    std::string steps, inputs, outputs;
    for (const Step& step : program->program)
      steps += (steps.empty() ? "" : " ") + std::string(operator_name(whole_op(step.op)));
    for (const TensorId t : node.inputs) inputs += (inputs.empty() ? "" : " ") + after[t].name;
    for (std::size_t o = 0; o < program->outputs.size(); ++o)
      outputs += (o == 0 ? "" : " ") + after[node.outputs[o]].name;
    text += "{" + steps + "}(" + inputs + ")->" + outputs;
  }
  return text;
}

TEST(FuseUpdates, StepsThatReadEachOtherAreOneNode) {
  EXPECT_EQ(fused("update w.a = mul(g, k) -> a : f32[4]\n"
                  "update w.b = mul(m, k) -> b : f32[4]\n"
                  "update w.c = add(b, a) -> c : f32[4] optimizer_state overwrites(m)\n"
                  "update w.d = sub(w, c) -> d : f32[4] weight overwrites(w)\n"
                  "output c, d\n"),
            "w.update{mul mul add sub}(g k m w)->c d");
}

TEST(FuseUpdates, WhatOthersReadStaysAnOutput) {
  EXPECT_EQ(fused("update w.a = mul(g, k) -> a : f32[4]\n"
                  "update w.b = sub(w, a) -> b : f32[4] weight overwrites(w)\n"
                  "update sum = reduce_sum{axes=[0], keep=false}(a) -> sum : f32[]\n"
                  "output b, sum\n"),
            "w.update{mul sub}(g k w)->a b sum");
  EXPECT_EQ(fused("update w.a = mul(g, k) -> a : f32[4]\n"
                  "update w.b = sub(w, a) -> b : f32[4] weight overwrites(w)\n"
                  "output b, a\n"),
            "w.update{mul sub}(g k w)->a b");
  // Held by a node that stays single for that reason.
  EXPECT_EQ(fused("update w.a = mul(g, k) -> a : f32[4]\n"
                  "update w.b = sub(w, a) -> b : f32[4] weight overwrites(w)\n"
                  "update holder = neg(b) -> c : f32[4] holds(a)\n"
                  "output b, c\n"),
            "w.update{mul sub}(g k w)->a b holder");
}

TEST(FuseUpdates, WhatIsHeldIsNotOverwrittenBefore) {
  EXPECT_EQ(fused("update w.a = mul(g, k) -> a : f32[4]\n"
                  "update holder = neg(a) -> c : f32[4] holds(w)\n"
                  "update w.b = sub(w, a) -> b : f32[4] weight overwrites(w)\n"
                  "output b, c\n"),
            "w.a holder w.b");
}

TEST(FuseUpdates, WhatNobodyReadsStaysAnOutput) {
  EXPECT_EQ(fused("update w.a = mul(g, k) -> a : f32[4]\n"
                  "update w.b = sub(w, a) -> b : f32[4] weight overwrites(w)\n"
                  "update w.c = neg(b) -> c : f32[4]\n"
                  "output b\n"),
            "w.update{mul sub neg}(g k w)->b c");
}

TEST(FuseUpdates, ABarrierDividesThemIntoStages) {
  // The norm of 'a' decides how far 'd' goes. What only 'd' needs waits for it; 'a' is made before.
  EXPECT_EQ(fused("update w.a = mul(g, k) -> a : f32[4]\n"
                  "update w.b = mul(w, k) -> b : f32[4]\n"
                  "update norm = reduce_sum_square{axes=[0], keep=false}(a) -> norm : f32[] barrier\n"
                  "update w.c = mul(a, norm) -> c : f32[4]\n"
                  "update w.d = sub(b, c) -> d : f32[4] weight overwrites(w)\n"
                  "output d\n"),
            "w.a norm w.update{mul mul sub}(w k a norm)->d");
  // Two steps before it are one node as well, called as the last of them.
  EXPECT_EQ(fused("update w.a = mul(g, k) -> a : f32[4]\n"
                  "update w.finite = is_finite(a) -> finite : bool[4]\n"
                  "update all = reduce_min{axes=[0], keep=false}(finite) -> all : bool[] barrier\n"
                  "update w.b = sub(w, a) -> b : f32[4]\n"
                  "update w.c = select(all, b, w) -> c : f32[4] weight overwrites(w)\n"
                  "output c\n"),
            "w.finite{mul is_finite}(g k)->a finite all w.update{sub select}(w a all)->c");
  // A barrier that is element-wise itself is none of the steps.
  EXPECT_EQ(fused("update w.a = mul(g, k) -> a : f32[4]\n"
                  "update check = neg(a) -> c : f32[4] barrier\n"
                  "update w.b = add(c, a) -> b : f32[4]\n"
                  "update w.d = sub(w, b) -> d : f32[4] weight overwrites(w)\n"
                  "output d\n"),
            "w.a check w.update{add sub}(c a w)->d");
}

TEST(FuseUpdates, NoTwoWeightsWaitForEachOther) {
  // Each needs a sum of the other: every chain alone could be one node, both together could not.
  EXPECT_EQ(fused("weight v : f32[3]\n"
                  "input h : f32[3]\n"
                  "update w.a = mul(g, k) -> a : f32[4]\n"
                  "update v.a = mul(h, k) -> p : f32[3]\n"
                  "update s = reduce_sum{axes=[0], keep=false}(a) -> s : f32[]\n"
                  "update t = reduce_sum{axes=[0], keep=false}(p) -> t : f32[]\n"
                  "update w.b = mul(a, t) -> b : f32[4]\n"
                  "update w.c = sub(w, b) -> c : f32[4] weight overwrites(w)\n"
                  "update v.b = mul(p, s) -> q : f32[3]\n"
                  "update v.c = sub(v, q) -> r : f32[3] weight overwrites(v)\n"
                  "output c, r\n"),
            "w.a v.a s t w.update{mul sub}(a t w)->c v.update{mul sub}(p s v)->r");
}

TEST(FuseUpdates, NumbersForAllWeightsStayOutside) {
  EXPECT_EQ(fused("optimizer_state step : f32[] = splat(0)\n"
                  "update next = add(step, k) -> next : f32[] optimizer_state overwrites(step)\n"
                  "update power = pow(k, next) -> power : f32[]\n"
                  "update w.a = div(g, power) -> a : f32[4]\n"
                  "update w.b = sub(w, a) -> b : f32[4] weight overwrites(w)\n"
                  "output next, b\n"),
            "next power w.update{div sub}(g power w)->b");
}

TEST(FuseUpdates, LeavesSingleWhatItCannotHold) {
  // Sums of more than three, values that are overwritten later, old values seen through a view, other phases.
  EXPECT_EQ(fused("update w.a = sum(g, g, w, w) -> a : f32[4]\n"
                  "update w.b = sub(w, a) -> b : f32[4] weight overwrites(w)\n"
                  "output b\n"),
            "w.a w.b");
  EXPECT_EQ(fused("update acc.1 = add(m, g) -> a : f32[4] optimizer_state overwrites(m)\n"
                  "update acc.2 = add(a, g) -> b : f32[4] optimizer_state overwrites(a)\n"
                  "update w.c = mul(b, k) -> c : f32[4]\n"
                  "update w.d = sub(w, c) -> d : f32[4] weight overwrites(w)\n"
                  "output b, d\n"),
            "acc.1 w.update{add mul sub}(a g k w)->b d");
  EXPECT_EQ(fused("update same = view{shape=[4]}(w) -> same : f32[4]\n"
                  "update w.a = mul(same, k) -> a : f32[4]\n"
                  "update w.b = add(a, g) -> b : f32[4]\n"
                  "update w.c = mul(b, k) -> c : f32[4] weight overwrites(w)\n"
                  "output c\n"),
            "same w.a w.update{add mul}(a g k)->c");
  EXPECT_EQ(fused("update a = neg(g) -> _\n"
                  "update w.b = sub(w, g) -> b : f32[4] weight overwrites(w)\n"
                  "output b\n"),
            "a w.b");
  EXPECT_EQ(fused("backward a = mul(g, k) -> a : f32[4]\n"
                  "update w.b = sub(w, a) -> b : f32[4] weight overwrites(w)\n"
                  "output b\n"),
            "a w.b");
}

TEST(FuseUpdates, SumsAndFormatsOfOtherFrameworks) {
  // As imported graphs have it: an accumulated gradient, moments in f32, a weight in f16, names of their own.
  EXPECT_EQ(fused("weight conv1.weight : f16[4]\n"
                  "input grad : f16[4]\n"
                  "optimizer_state buffer : f16[4] = splat(0)\n"
                  "update Sum_Grad_conv1.weight = sum(grad, buffer) -> summed : f16[4]\n"
                  "update Adam_Mul = mul(summed, k) -> scaled : f16[4]\n"
                  "update Adam_Add = add(scaled, m) -> moment : f32[4]\n"
                  "update Adam_Update = sub(conv1.weight, moment) -> end : f16[4] weight overwrites(conv1.weight)\n"
                  "output end\n"),
            "conv1.weight.update{sum mul add sub}(grad buffer k m conv1.weight)->end");
}

// ---- The optimizers of ours ----

struct Trained {
  Graph steps, fused;
  explicit Trained(const std::string& optimizer, TrainingOptions options = {}, Element precision = Element::F32) {
    options.optimizer = parse_optimizer(optimizer);
    const Graph forward = set_precision(build_model("mlp:in=5,hidden=4,layers=2,classes=3", 2), precision);
    steps = decompose(make_training(forward, options).graph);
    fused = fuse_updates(steps);
    for (const std::string& fault : faults(fused)) ADD_FAILURE() << fault;
  }
  std::vector<std::string> updates() const {
    std::vector<std::string> names;
    for (const Node& node : fused.nodes)
      if (node.phase == Phase::Update) names.push_back(node.name);
    return names;
  }
};

TEST(FuseUpdates, AnUpdateOfOursIsOneNode) {
  for (const Element precision : {Element::F32, Element::F16})
    for (const char* optimizer : {"sgd", "momentum", "nesterov", "sgd:wd=0.1", "momentum:wd=0.1"})
      EXPECT_EQ(Trained(optimizer, {}, precision).updates(),
                (std::vector<std::string>{"layers.0.weight.update", "layers.0.bias.update", "layers.1.weight.update",
                                          "layers.1.bias.update", "layers.2.weight.update", "layers.2.bias.update"}))
          << optimizer;
  for (const char* optimizer : {"adam", "adamw", "adam:wd=0.1"}) {
    const Trained t(optimizer);
    EXPECT_EQ(t.updates().size(), 6u + 5) << optimizer;  // the step counter and two corrections
    EXPECT_EQ(t.updates()[4], "optimizer.correction2");
  }
  // The sums of microbatches are made by the backward passes; the update begins with the last.
  TrainingOptions options;
  options.microbatches = 3;
  const Trained accumulated("momentum", options);
  EXPECT_EQ(accumulated.updates().size(), 6u);
  const auto update = std::find_if(accumulated.fused.nodes.begin(), accumulated.fused.nodes.end(),
                                   [](const Node& n) { return n.name == "layers.0.weight.update"; });
  EXPECT_EQ(accumulated.fused[update->inputs[2]].name, "layers.0.weight.accumulated@3");
}

TEST(FuseUpdates, AnAdamWStepReadsFourTensorsAndMakesFour) {
  const Trained t("adamw", {}, Element::F16);
  const auto update = std::find_if(t.fused.nodes.begin(), t.fused.nodes.end(),
                                   [](const Node& n) { return n.name == "layers.0.weight.update"; });
  std::string inputs, outputs;
  for (const TensorId i : update->inputs)
    if (elements(t.fused[i].shape) > 1) inputs += t.fused[i].name + " ";
  for (const TensorId o : update->outputs) outputs += t.fused[o].name + " ";
  EXPECT_EQ(inputs, "layers.0.b_gradient layers.0.weight.master layers.0.weight.m layers.0.weight.v ");
  EXPECT_EQ(outputs,
            "layers.0.weight.update.m layers.0.weight.update.v layers.0.weight.update.weight "
            "layers.0.weight.update.cast ");
}

TEST(FuseUpdates, ClippingAndLossScalingComeBetween) {
  TrainingOptions options;
  options.clip_norm = 1;
  EXPECT_EQ(Trained("momentum", options).updates().size(), 6u + 6 + 5);  // updates, sums of squares, the factor
  options.loss_scaling = true;
  const Trained t("adamw", options, Element::F16);
  std::map<std::string, int> programs;
  for (const Node& node : t.fused.nodes)
    if (std::holds_alternative<Steps>(node.op)) ++programs[node.name];
  EXPECT_EQ(programs.size(), 12u);
  EXPECT_EQ(programs["layers.1.bias.unscaled"], 1);  // with the cast and the check of the gradient
  EXPECT_EQ(programs["layers.1.bias.update"], 1);
}

TEST(FuseUpdates, DoesTheSameWorkAndExpandsToTheSameNodes) {
  for (const char* optimizer : {"sgd", "nesterov", "adamw"}) {
    const Trained t(optimizer);
    const auto operations = [](const Graph& g) {
      std::uint64_t sum = 0;
      for (const Node& node : g.nodes)
        if (node.phase == Phase::Update) sum += work::element_operations(std::get<work::VectorWork>(lower(g, node)));
      return sum;
    };
    EXPECT_EQ(operations(t.steps), operations(t.fused)) << optimizer;
    const Graph again = expand_steps(t.fused);
    EXPECT_EQ(again.nodes.size(), t.steps.nodes.size());
    EXPECT_EQ(again.tensors.size(), t.steps.tensors.size());
    for (const std::string& fault : faults(again)) ADD_FAILURE() << fault;
    EXPECT_EQ(fuse_updates(t.fused), t.fused) << "once is enough";
    EXPECT_EQ(decompose(t.steps, {.fused_updates = true}), t.fused);
  }
}

}  // namespace
}  // namespace monet
