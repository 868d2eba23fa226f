#pragma once
#include <cstdint>

#include "monet/graph/graph.h"

namespace monet {

// Low-rank adaptation: beside every matrix product and convolution with a weight runs a product of two thin ones,
// y = W x + B A x with A (rank x in) random and B (out x rank) zero at first. For convolutions A has the kernel and B
// is 1x1. The new weights are named <weight>.lora_a and <weight>.lora_b; train those alone with
// select_weights("\\.lora_"). (Hu et al., arXiv 2106.09685, scaling 1.)
Graph add_lora(const Graph& forward, std::int64_t rank);

}  // namespace monet
