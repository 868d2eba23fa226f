#pragma once
#include <vector>

#include "monet/graph/graph.h"

namespace monet {

// For each tensor the one whose storage it is a view of: itself, or what View and Expand nodes lead back to. Parts cut
// out by Slice and Split count as storage of their own.
std::vector<TensorId> view_roots(const Graph& graph);

// The tensors of the forward pass (inputs and labels included, weights, states and constants not) that backward or
// update nodes read or hold: each storage once, in order of production. Recomputed values are not saved.
std::vector<TensorId> saved_activations(const Graph& graph);

}  // namespace monet
