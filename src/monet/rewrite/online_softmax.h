#pragma once
#include <cstdint>

#include "monet/graph/graph.h"

namespace monet {

struct OnlineSoftmaxOptions {
  std::int64_t block = 128;  // keys handled at a time
};

// Replaces attention as written, softmax(scale · q kᵀ + mask) v, by the Attention operator, which never stores the
// scores and saves only its output and the log-sum-exp for the backward pass. To be run on a forward graph.
Graph use_online_softmax(Graph forward, const OnlineSoftmaxOptions& options = {});

}  // namespace monet
