#pragma once
#include <cstdint>

#include "monet/graph/graph.h"

namespace monet {

struct FoldOptions {
  std::int64_t most_elements = 65536;  // larger results stay nodes
};

// Evaluates nodes whose operands are all constants with known values, and makes their results constants.
Graph fold_constants(Graph graph, const FoldOptions& options = {});

}  // namespace monet
