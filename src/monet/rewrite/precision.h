#pragma once
#include <string_view>

#include "monet/graph/graph.h"

namespace monet {

// "fp32", "fp16", "bf16", "fp64": the format weights and activations are stored in. Throws InputError.
Element parse_precision(std::string_view name);

// Stores weights, inputs and everything computed from them in `storage`. Statistics, losses, running statistics and
// optimizer state stay at least f32; products accumulate in f32. A training pass made from the result keeps f32 master
// copies of narrower weights.
Graph set_precision(Graph graph, Element storage);

}  // namespace monet
