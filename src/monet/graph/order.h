#pragma once
#include <vector>

#include "monet/graph/graph.h"
#include "monet/graph/storage.h"

namespace monet {

// For each node those that must have run before it: who made what it reads, who read or made what it overwrites, and
// what stands on the other side of a barrier. In rising order, all before the node itself.
std::vector<std::vector<NodeId>> predecessors(const Graph& graph, const Storage& storage);

}  // namespace monet
