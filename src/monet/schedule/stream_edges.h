#pragma once
#include <string>
#include <vector>

#include "monet/schedule/stream_tiles.h"

namespace monet::schedule {

// Edges between the tiles of different layers (T6, T7), and within a layer (T5). Returns why Stream would stop.
std::string add_stream_edges(const std::vector<StreamLayer>& layers, const std::vector<StreamTiledLayer>& tiled,
                             const std::vector<std::uint32_t>& groups, StreamProblem& problem);

}  // namespace monet::schedule
