#pragma once
#include <string>
#include <string_view>

#include "monet/graph/builder.h"

namespace monet {

enum class OptimizerKind { Sgd, Momentum, Nesterov, Adam, AdamW };

struct Optimizer {
  OptimizerKind kind = OptimizerKind::AdamW;
  double learning_rate = 1e-3;
  double momentum = 0.9;                              // Momentum, Nesterov
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // Adam, AdamW
  double weight_decay = 0;                            // AdamW: decoupled; others: added to the gradient
  bool operator==(const Optimizer&) const = default;
};

// "sgd", "adamw:lr=0.001,wd=0.01": the defaults are PyTorch's. Throws InputError.
Optimizer parse_optimizer(std::string_view text);
std::string_view name(OptimizerKind kind);

// The part of an iteration that all weights share: the step counter and what is computed from it.
struct OptimizerScalars {
  TensorId learning_rate = kNoTensor;
  TensorId correction1 = kNoTensor, correction2 = kNoTensor;  // 1 - beta^step
};
OptimizerScalars add_optimizer_scalars(Builder& builder, const Optimizer& optimizer);

// Appends the update of one weight as element-wise nodes in phase Update: state and weight are overwritten in place.
// `gradient` is in f32 or wider. A weight narrower than that has a master copy in f32. `proceed`, if any, is a truth
// value: where false nothing changes (a step skipped for overflow). Returns the new weight.
TensorId add_update(Builder& builder, const Optimizer& optimizer, const OptimizerScalars& scalars, TensorId weight,
                    TensorId gradient, TensorId proceed);

}  // namespace monet
