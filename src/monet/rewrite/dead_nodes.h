#pragma once
#include "monet/graph/graph.h"

namespace monet {

// Removes every node that no output of the graph depends on, and every tensor left without a reader or producer.
// Inputs, labels and weights stay, used or not.
Graph remove_dead_nodes(Graph graph);

// Removes tensors nothing refers to, except inputs, labels and weights; renumbers the rest.
Graph compact(Graph graph);

}  // namespace monet
