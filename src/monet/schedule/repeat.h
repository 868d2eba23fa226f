#pragma once
#include <cstdint>

#include "monet/graph/graph.h"
#include "monet/schedule/tiling.h"

namespace monet::schedule {

// Several iterations, one after the other: the same tiles again. Weights and states are the same blocks, which may stay
// on the chip; inputs and all that an iteration makes are blocks of their own.
void repeat(const Graph& graph, std::int64_t iterations, Tiled& tiled);

}  // namespace monet::schedule
