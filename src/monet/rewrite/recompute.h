#pragma once
#include <span>

#include "monet/graph/graph.h"

namespace monet {

struct RecomputeOptions {
  bool per_consumer = false;  // a chain of clones for each reader instead of one that all later readers share
};

// Activation checkpointing: forgets the given saved activations (of saved_activations()) after the forward pass and
// rebuilds them, in phase Recompute, from the nearest kept tensors just before the backward pass needs them.
Graph recompute(Graph graph, std::span<const TensorId> dropped, const RecomputeOptions& options = {});

}  // namespace monet
