#pragma once
#include "monet/graph/graph.h"

namespace monet {

struct DecomposeOptions {
  bool im2col_weight_gradient = false;  // lower convolution weight gradients to unfold + matrix product (MONET's way)
  bool fused_updates = false;           // the steps of an update are one work (fuse_updates.h)
};

// Breaks up the operators that take several passes, so that every node is one loop nest or one vector work.
Graph decompose(Graph graph, const DecomposeOptions& options = {});

}  // namespace monet
