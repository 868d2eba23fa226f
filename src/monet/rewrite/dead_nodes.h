#pragma once
#include "monet/graph/graph.h"

namespace monet {

// Removes every node that no output of the graph depends on and that overwrites nothing an output's storage holds, and
// every tensor left without a reader or producer. Inputs and weights stay, used or not.
Graph remove_dead_nodes(Graph graph);

// Removes tensors nothing refers to, except inputs, weights, states and named constants; renumbers the rest.
Graph compact(Graph graph);

}  // namespace monet
