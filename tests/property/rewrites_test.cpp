// What rewrites and the training pass promise of numbers, on small models of every kind.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "monet/graph/saved.h"
#include "monet/graph/steps.h"
#include "monet/graph/text.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/fold_batch_norm.h"
#include "monet/rewrite/fuse_updates.h"
#include "monet/rewrite/online_softmax.h"
#include "monet/rewrite/precision.h"
#include "monet/rewrite/recompute.h"
#include "monet/training/train.h"
#include "support/gradient_check.h"

namespace monet::test {
namespace {

const std::vector<std::string> kModels{
    "mlp:in=6,hidden=5,layers=2,classes=3",
    "resnet18:image=16,classes=4,width=4,stem=cifar",
    "resnet18:image=32,classes=4,width=4",
    "resnet18:image=16,classes=4,width=32,stem=cifar,norm=group",
    "mobilenet_v2:image=32,classes=3",
    "gpt2:layers=2,width=8,heads=2,vocab=11,seq=6,dropout=0.2",
    "gpt2-mini:seq=6,width=8,heads=2,ff=10,vocab=12",
    "bert-base:layers=1,width=8,heads=2,vocab=13,seq=5,head=classify,dropout=0.1",
    "llama2-7b:layers=2,width=8,heads=4,kv_heads=2,ff=12,vocab=14,seq=5",
    "vit_b_16:image=32,classes=3,layers=1,width=8,heads=2,mlp=10",
};

std::string pick_model() { return *rc::gen::elementOf(kModels); }
TrainingOptions pick_options() {
  TrainingOptions o;
  o.policy = *rc::gen::arbitrary<bool>() ? SavePolicy::Torch : SavePolicy::Lean;
  o.optimizer = parse_optimizer(*rc::gen::elementOf(std::vector<std::string>{"sgd", "momentum", "adam", "adamw"}));
  return o;
}

void require_sound(const Graph& g) {
  for (const std::string& fault : faults(g)) RC_FAIL(fault);
}

// Every output of `a` that `b` has too, bit for bit.
void require_same_outputs(const Graph& a, const Graph& b, const Values<double>& values) {
  const Values<double> ra = run<double>(a, values), rb = run<double>(b, values);
  RC_ASSERT(ra.size() == rb.size());
  for (const auto& [name, array] : ra)
    if (!(rb.at(name) == array)) RC_FAIL("'" + name + "' differs");
}

RC_GTEST_PROP(Recompute, AnySubsetLeavesEveryResultBitIdentical, ()) {
  const TrainingGraph t = make_training(build_model(pick_model(), 2), pick_options());
  require_sound(t.graph);
  const std::vector<TensorId> saved = saved_activations(t.graph);
  std::vector<Dropped> dropped;
  const int density = *rc::gen::inRange(0, 101);
  for (const TensorId s : saved)
    if (*rc::gen::inRange(0, 100) < density)
      dropped.push_back({.tensor = s, .per_consumer = *rc::gen::arbitrary<bool>()});
  const Graph r = recompute(t.graph, dropped);
  require_sound(r);
  require_same_outputs(t.graph, r, initial_values<double>(t.graph, 3));
  std::set<std::string> kept;
  for (const TensorId s : saved_activations(r)) kept.insert(r[s].name);
  const Uses u = uses(t.graph);
  for (const Dropped& d : dropped)
    if (u.producer[d.tensor.index()] != kNoNode && kept.contains(t.graph[d.tensor].name))
      RC_FAIL("'" + t.graph[d.tensor].name + "' is still saved");
}

RC_GTEST_PROP(OnlineSoftmax, AgreesWithAttentionAsWritten, ()) {
  const std::string model = *rc::gen::elementOf(std::vector<std::string>{
      "gpt2:layers=2,width=8,heads=2,vocab=11,seq=6", "gpt2-mini:seq=7,width=8,heads=2,ff=10,vocab=12",
      "bert-base:layers=1,width=8,heads=2,vocab=13,seq=5,head=classify",
      "llama2-7b:layers=1,width=8,heads=4,kv_heads=2,ff=12,vocab=14,seq=5",
      "vit_b_16:image=32,classes=3,layers=1,width=8,heads=2,mlp=10"});
  const Graph forward = build_model(model, 2);
  const Graph online = use_online_softmax(forward, {.block = *rc::gen::inRange<std::int64_t>(1, 8)});
  std::size_t softmaxes = 0, attentions = 0;
  for (const Node& n : online.nodes)
    softmaxes += std::holds_alternative<Softmax>(n.op), attentions += std::holds_alternative<Attention>(n.op);
  RC_ASSERT(softmaxes == 0u);
  RC_ASSERT(attentions > 0u);
  const TrainingOptions options = pick_options();
  const TrainingGraph a = make_training(forward, options), b = make_training(online, options);
  const Graph pieces = decompose(b.graph);  // the unrolled blocks
  require_sound(b.graph);
  require_sound(pieces);
  const Values<double> values = initial_values<double>(a.graph, 5);
  const Values<double> ra = run<double>(a.graph, values, {.step = 0, .keep = a.gradients});
  std::vector<TensorId> keep;
  for (const TensorId g : b.gradients) keep.push_back(tensor_named(pieces, b.graph[g].name));
  const Values<double> rb = run<double>(pieces, initial_values<double>(pieces, 5, values), {.step = 0, .keep = keep});
  RC_ASSERT(a.gradients.size() == b.gradients.size());
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    const std::string fault = difference(ra.at(a.graph[a.gradients[i]].name), rb.at(b.graph[b.gradients[i]].name), 1e-6,
                                         a.graph[a.weights[i]].name);
    if (!fault.empty()) RC_FAIL(fault);
  }
}

RC_GTEST_PROP(Training, MicrobatchesGiveTheGradientOfTheWholeBatch, ()) {
  // Without batch-norm: its statistics are per microbatch.
  const std::string model = *rc::gen::elementOf(std::vector<std::string>{
      kModels[0], kModels[3], "gpt2:layers=1,width=8,heads=2,vocab=11,seq=6", kModels[6], kModels[8]});
  const std::int64_t parts = *rc::gen::inRange<std::int64_t>(2, 4);
  TrainingOptions options = pick_options();
  const TrainingGraph whole = make_training(build_model(model, 2 * parts), options);
  options.microbatches = parts;
  const TrainingGraph split = make_training(build_model(model, 2), options);
  require_sound(split.graph);
  Values<double> values = initial_values<double>(whole.graph, 9);
  const Values<double> a = run<double>(whole.graph, values, {.step = 0, .keep = whole.gradients});
  values.erase("loss.seed");  // each part counts for its share
  const Values<double> b =
      run<double>(split.graph, initial_values<double>(split.graph, 9, values), {.step = 0, .keep = split.gradients});
  for (std::size_t i = 0; i < whole.gradients.size(); ++i) {
    const std::string fault =
        difference(a.at(whole.graph[whole.gradients[i]].name), b.at(split.graph[split.gradients[i]].name), 1e-9,
                   whole.graph[whole.weights[i]].name);
    if (!fault.empty()) RC_FAIL(fault);
  }
}

RC_GTEST_PROP(Training, LossScalingAndClippingKeepTheUpdateOfAGoodStep, ()) {
  const std::string model = pick_model();
  TrainingOptions options = pick_options();
  const TrainingGraph plain = make_training(build_model(model, 2), options);
  options.loss_scaling = true;
  options.clip_norm = 1e9;  // never reached
  const TrainingGraph guarded = make_training(build_model(model, 2), options);
  require_sound(guarded.graph);
  const Values<double> values = initial_values<double>(plain.graph, 2);
  const Values<double> a = run<double>(plain.graph, values),
                       b = run<double>(guarded.graph, initial_values<double>(guarded.graph, 2, values));
  for (std::size_t i = 0; i < plain.weights.size(); ++i) {
    const std::string fault =
        difference(a.at(plain.graph[plain.new_weights[i]].name), b.at(guarded.graph[guarded.new_weights[i]].name), 1e-6,
                   plain.graph[plain.weights[i]].name);
    if (!fault.empty()) RC_FAIL(fault);
  }
}

RC_GTEST_PROP(Decompose, KeepsEveryResult, ()) {
  const TrainingGraph t = make_training(build_model(pick_model(), 2), pick_options());
  const Graph pieces = decompose(t.graph, {.im2col_weight_gradient = *rc::gen::arbitrary<bool>()});
  require_sound(pieces);
  const Values<double> values = initial_values<double>(t.graph, 4);
  const Values<double> a = run<double>(t.graph, values),
                       b = run<double>(pieces, initial_values<double>(pieces, 4, values));
  for (const auto& [name, array] : a) {
    const std::string fault = difference(array, b.at(name), 1e-9, name);
    if (!fault.empty()) RC_FAIL(fault);
  }
}

// All optimizers, whatever comes between, on whole networks.
RC_GTEST_PROP(FuseUpdates, LeavesEveryResultBitIdentical, ()) {
  TrainingOptions options = pick_options();
  options.optimizer = parse_optimizer(*rc::gen::elementOf(std::vector<std::string>{
      "sgd", "sgd:wd=0.1", "momentum", "nesterov", "nesterov:wd=0.1", "adam", "adam:wd=0.1", "adamw"}));
  options.microbatches = *rc::gen::inRange<std::int64_t>(1, 4);
  options.loss_scaling = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) options.clip_norm = 0.5;
  const Element precision = *rc::gen::elementOf(std::vector<Element>{Element::F32, Element::F16, Element::BF16});
  const Graph forward = set_precision(build_model(kModels[*rc::gen::inRange<std::size_t>(0, 2)], 2), precision);
  const Graph steps = decompose(make_training(forward, options).graph);
  const Graph fused = fuse_updates(steps);
  require_sound(fused);
  RC_ASSERT(fused.nodes.size() < steps.nodes.size());
  RC_ASSERT(fused.outputs.size() == steps.outputs.size());
  const Values<double> values = initial_values<double>(steps, 8);
  require_same_outputs(steps, fused, values);
  require_same_outputs(expand_steps(fused), fused, values);
  RC_ASSERT(parse_graph(print(fused), "fused.monet") == normalised(fused));
}

TEST(FuseUpdates, KeepsEveryOptimizersNumbers) {
  for (const char* model : {"mlp:in=6,hidden=5,layers=2,classes=3", "resnet18:image=16,classes=4,width=4,stem=cifar"})
    for (const char* optimizer : {"sgd", "momentum", "nesterov", "adam", "adamw"}) {
      TrainingOptions options;
      options.optimizer = parse_optimizer(optimizer);
      const Graph steps = decompose(make_training(build_model(model, 2), options).graph);
      const Graph fused = fuse_updates(steps);
      const Values<float> values = initial_values<float>(steps, 2);
      EXPECT_EQ(run<float>(steps, values), run<float>(fused, values)) << model << " " << optimizer;
      std::size_t programs = 0;
      for (const Node& node : fused.nodes) programs += std::holds_alternative<Steps>(node.op);
      std::size_t weights = 0;
      for (const Tensor& t : steps.tensors) weights += t.category == Category::Weight && t.overwrites != kNoTensor;
      EXPECT_EQ(programs, weights) << model << " " << optimizer;
    }
}

RC_GTEST_PROP(Text, RoundTripOfTrainingGraphs, ()) {
  TrainingOptions options = pick_options();
  options.microbatches = *rc::gen::inRange<std::int64_t>(1, 3);
  const Graph g = make_training(build_model(pick_model(), 1), options).graph;
  const std::string text = print(g);
  const Graph back = parse_graph(text, "round.monet");
  RC_ASSERT(back == normalised(g));
  RC_ASSERT(print(back) == text);
}

TEST(FoldBatchNorm, KeepsTheOutput) {
  const Graph g = build_model("resnet18:image=16,classes=4,width=4,stem=cifar,norm=frozen", 2);
  Values<double> values = initial_values<double>(g, 6);
  const Values<double> before = run<double>(g, values);
  const Graph folded = fold_batch_norm(g, &values);
  for (const std::string& fault : faults(folded)) FAIL() << fault;
  for (const Node& n : folded.nodes) EXPECT_FALSE(std::holds_alternative<Norm>(n.op)) << n.name;
  const Values<double> after = run<double>(folded, values);
  const std::string logits = g[g.outputs[0]].name;
  EXPECT_EQ(difference(before.at(logits), after.at(logits), 1e-10, logits), "");
}

}  // namespace
}  // namespace monet::test
