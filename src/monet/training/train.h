#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monet/training/differentiate.h"
#include "monet/training/loss.h"
#include "monet/training/optimizer.h"

namespace monet {

struct TrainingOptions {
  LossKind loss = LossKind::CrossEntropy;
  Optimizer optimizer{};
  std::string train = "all";  // all, last, lora:rank=R, or an expression searched in the weights' names
  SavePolicy policy = SavePolicy::Lean;
  std::int64_t microbatches = 1;      // gradient accumulation; the forward graph is that of one microbatch
  std::optional<double> clip_norm{};  // global-norm clipping
  bool loss_scaling = false;          // dynamic loss scale with overflow check
};

struct TrainingGraph {
  Graph graph;  // outputs: loss, then what changes between iterations (statistics, state, weights)
  TensorId loss;
  std::vector<TensorId> weights;    // trained, before the iteration
  std::vector<TensorId> gradients;  // of each weight, summed over the microbatches, unscaled, before clipping
  std::vector<TensorId> new_weights;
  std::vector<std::string> notes;  // what the user should know of choices made
};

// One training iteration of `forward`: forward, loss, backward, optimizer. Throws InputError.
TrainingGraph make_training(Graph forward, const TrainingOptions& options);

}  // namespace monet
