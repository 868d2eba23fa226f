// Whole training iterations: forward, loss, backward and optimizer of small networks.
#include "monet/interpret/run.h"
#include "monet/models/catalogue.h"
#include "monet/training/train.h"
#include "unit/onnx/export_cases.h"

namespace monet::test {
namespace {

ExportCase iteration(const std::string& name, const std::string& model, std::int64_t batch,
                     const TrainingOptions& options) {
  TrainingGraph training = make_training(build_model(model, batch), options);
  ExportCase made{"train_" + name, std::move(training.graph), {}};
  for (const TensorId t : training.gradients) made.graph.outputs.push_back(t);
  made.sources = initial_values<double>(made.graph, 7);
  for (auto& [tensor, array] : made.sources)
    for (double& number : array.data) number = static_cast<double>(static_cast<float>(number));
  return made;
}

TrainingOptions with(OptimizerKind kind) {
  TrainingOptions options;
  options.optimizer.kind = kind;
  return options;
}

}  // namespace

void add_training_cases(std::vector<ExportCase>& cases) {
  cases.push_back(iteration("mlp", "mlp:in=12,hidden=16,classes=5", 4, with(OptimizerKind::AdamW)));
  cases.push_back(iteration("resnet18", "resnet18:image=32,classes=10,width=8", 2, with(OptimizerKind::Momentum)));
  cases.push_back(
      iteration("gpt2", "gpt2:seq=8,layers=2,width=32,heads=4,vocab=50,dropout=0", 2, with(OptimizerKind::Sgd)));
  cases.push_back(iteration("llama", "llama2-7b:seq=8,layers=2,width=32,heads=4,kv_heads=2,ff=48,vocab=50", 2,
                            with(OptimizerKind::Nesterov)));
  cases.push_back(
      iteration("vit", "vit_b_16:image=32,classes=5,layers=2,width=32,heads=4,mlp=64", 2, with(OptimizerKind::Sgd)));
  TrainingOptions clipped = with(OptimizerKind::AdamW);
  clipped.clip_norm = 0.5;
  clipped.loss_scaling = true;
  clipped.microbatches = 2;
  cases.push_back(iteration("mlp_clipped", "mlp:in=12,hidden=16,classes=5", 4, clipped));
}

}  // namespace monet::test
