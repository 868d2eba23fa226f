#pragma once
#include <optional>
#include <span>

#include "monet/graph/graph.h"

namespace monet {

// A saved activation (of saved_activations()) that does not wait for the backward pass as it is.
struct Dropped {
  TensorId tensor{};
  bool per_consumer = false;        // rebuilt for each reader, instead of once for all later ones
  std::optional<Element> narrow{};  // not rebuilt: it waits in this format, and each reader widens it again
};

// Activation checkpointing: forgets the given activations after the forward pass and rebuilds them, in phase Recompute,
// from the nearest kept tensors just before the backward pass needs them.
Graph recompute(const Graph& graph, std::span<const Dropped> dropped);

struct RecomputeOptions {
  bool per_consumer = false;
};
Graph recompute(const Graph& graph, std::span<const TensorId> dropped, const RecomputeOptions& options = {});

}  // namespace monet
