#pragma once
#include <cstdint>

#include "monet/graph/graph.h"

namespace monet {

// Tells the phases of a graph that already contains gradients, given the node that starts them, and the categories
// that follow: weights, optimizer state, gradient buffers, updates in place. Returns the elements of the weights that
// are updated. How: see phases.cpp.
std::int64_t assign_phases(Graph& graph, std::size_t seed);

// Updates in place need every other reader of the old value to come first: nodes are moved for it if they can be, else
// the update gets storage of its own.
void legalise_overwrites(Graph& graph);

// Elements of the weights the graph writes anew.
std::int64_t count_trained(const Graph& graph);

}  // namespace monet
