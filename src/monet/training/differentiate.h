#pragma once
#include <span>
#include <vector>

#include "monet/graph/builder.h"
#include "monet/training/saves.h"

namespace monet {

struct DifferentiateOptions {
  SavePolicy policy = SavePolicy::Lean;
};

// Reverse-mode differentiation. Appends to the builder, in phase Backward, the nodes that compute the gradient of the
// scalar `loss` (times the scalar tensor `seed`) with respect to each of `targets`, out of the forward nodes
// [begin, end). Forward nodes get the extra outputs their gradients want saved (masks, indices). Gradients nobody needs
// are not computed. Returns one gradient per target, kNoTensor where the loss does not depend on it.
// Throws InputError where the loss depends on a target through an operator that has no gradient.
std::vector<TensorId> differentiate(Builder& builder, std::size_t begin, std::size_t end, TensorId loss, TensorId seed,
                                    std::span<const TensorId> targets, const DifferentiateOptions& options = {});

}  // namespace monet
