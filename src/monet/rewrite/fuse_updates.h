#pragma once
#include "monet/graph/graph.h"

namespace monet {

// Makes the element-wise steps of each weight's update one node (Steps), called <weight>.update. Tensors that anyone
// else reads keep their names; the others are no tensors any more.
Graph fuse_updates(Graph graph);

}  // namespace monet
