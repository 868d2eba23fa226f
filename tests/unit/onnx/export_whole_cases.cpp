// Whole graphs: one with every operator, and training iterations (forward, loss, backward, optimizer) of small
// networks.
#include "monet/interpret/run.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/decompose.h"
#include "monet/rewrite/precision.h"
#include "monet/training/train.h"
#include "support/every_operator.h"
#include "unit/onnx/export_cases.h"

namespace monet::test {
namespace {

// Whether a tensor depends on a random mask, is encoded in ONNX's own way, or has a format numpy cannot read.
std::vector<bool> incomparable(const Graph& graph) {
  std::vector<bool> found(graph.tensors.size());
  for (const Node& node : graph.nodes) {
    bool taints = std::holds_alternative<Dropout>(node.op) || std::holds_alternative<DropoutGradient>(node.op);
    // Those are given the normalised values themselves as gradient, and all terms cancel: only rounding is left.
    taints =
        taints || operator_name(node.op) == "norm_input_gradient" || operator_name(node.op) == "batch_norm_gradient";
    for (const TensorId t : node.inputs)
      taints = taints || (t != kNoTensor && found[t.index()] && graph[t].category != Category::Index);
    for (const TensorId t : node.outputs)
      if (t != kNoTensor)
        found[t.index()] = taints || graph[t].category == Category::Index || graph[t].format.element == Element::BF16;
  }
  return found;
}

ExportCase all_at_once(bool weights) {
  ExportCase made{weights ? "every_operator_weights" : "every_operator", every_operator(false), {}};
  made.weights = weights;
  const std::vector<bool> skip = incomparable(made.graph);
  std::erase_if(made.graph.outputs, [&](TensorId t) { return skip[t.index()]; });
  made.sources = initial_values<double>(made.graph, 1);
  return made;
}

ExportCase named(const std::string& name, Graph graph, double tolerance = 1e-4) {
  ExportCase made{"train_" + name, std::move(graph), {}, tolerance};
  made.sources = initial_values<double>(made.graph, 7);
  for (auto& [tensor, array] : made.sources)
    for (double& number : array.data) number = static_cast<double>(static_cast<float>(number));
  return made;
}

// The iteration's own outputs, and every gradient.
Graph iteration(Graph forward, const TrainingOptions& options) {
  TrainingGraph training = make_training(std::move(forward), options);
  std::vector<TensorId>& outputs = training.graph.outputs;
  outputs.insert(outputs.end(), training.gradients.begin(), training.gradients.end());
  return std::move(training.graph);
}

// Biases away from zero. Where a gradient cancels to zero (a key's bias, a bias before a normalisation) only rounding
// would be left to compare in the new bias.
Graph with_biases(Graph graph) {
  for (Tensor& tensor : graph.tensors)
    if (tensor.category == Category::Weight && tensor.initial == Initial{Splat{0}}) tensor.initial = {};
  return graph;
}

TrainingOptions with(OptimizerKind kind) {
  TrainingOptions options;
  options.optimizer.kind = kind;
  return options;
}

}  // namespace

void add_whole_cases(std::vector<ExportCase>& cases) {
  for (const bool weights : {false, true}) cases.push_back(all_at_once(weights));
  const std::string mlp = "mlp:in=12,hidden=16,classes=5", resnet = "resnet18:image=64,classes=10,width=4",
                    gpt2 = "gpt2:seq=8,layers=2,width=32,heads=4,vocab=50,dropout=0",
                    llama = "llama2-7b:seq=8,layers=2,width=32,heads=4,kv_heads=2,ff=48,vocab=50",
                    vit = "vit_b_16:image=32,classes=5,layers=2,width=32,heads=4,mlp=64";
  const auto sgd = with(OptimizerKind::Sgd);
  cases.push_back(named("mlp", iteration(build_model(mlp, 4), with(OptimizerKind::AdamW))));
  TrainingOptions clipped = with(OptimizerKind::AdamW);
  clipped.clip_norm = 0.5;
  clipped.loss_scaling = true;
  clipped.microbatches = 2;
  cases.push_back(named("mlp_clipped", iteration(build_model(mlp, 4), clipped)));
  cases.push_back(named("mlp_fused", decompose(iteration(build_model(mlp, 4), clipped), {.fused_updates = true})));
  const Graph images = iteration(build_model(resnet, 4), with(OptimizerKind::Momentum));
  cases.push_back(named("resnet18", images));
  cases.push_back(named("resnet18_decomposed", decompose(images, {.im2col_weight_gradient = true})));
  const Graph words = iteration(build_model(gpt2, 2), sgd);
  cases.push_back(named("gpt2", words));
  cases.push_back(named("gpt2_decomposed", decompose(words)));
  cases.push_back(named("llama", iteration(build_model(llama, 2), with(OptimizerKind::Nesterov))));
  cases.push_back(named("vit", iteration(build_model(vit, 2), sgd)));
  const std::string mobilenet = "mobilenet_v3_large:image=64,classes=5",
                    bert = "bert-base:seq=8,layers=2,width=32,heads=4,vocab=50,head=classify";
  cases.push_back(named("mobilenet_v3", with_biases(make_training(build_model(mobilenet, 4), sgd).graph)));
  const std::string clipped_net = "mobilenet_v2:image=64,classes=5";
  cases.push_back(named("mobilenet_v2", with_biases(make_training(build_model(clipped_net, 4), sgd).graph)));
  cases.push_back(named("bert", with_biases(make_training(build_model(bert, 2), sgd).graph)));
  // Half precision rounds after every node; the interpreter does not.
  cases.push_back(named("gpt2_f16", iteration(set_precision(build_model(gpt2, 2), Element::F16), sgd), 2e-2));
}

}  // namespace monet::test
