#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "monet/cost/zigzag_files.h"
#include "monet/schedule/stream.h"
#include "monet/schedule/stream_layers.h"

namespace monet::schedule {

// From layers to the tiles of Stream's scheduler: what is fused, how layers are cut, tensors, edges and the order.
// Rules are numbered T1 … in docs/stream.md.

using StreamStacks = std::vector<std::vector<std::int64_t>>;  // ids of layers that are fused, in order

enum class StreamMode { LayerByLayer, Fused };

// (T1) One stack a layer; or those given, the rest alone; or as many first layers as have their constants fit
// `weight_bits`, the rest alone.
StreamStacks stream_stacks(const std::vector<StreamLayer>& layers, StreamMode mode, const StreamStacks& given,
                           double weight_bits);

// A dimension of the layer and in how many parts it is cut.
using StreamCuts = std::vector<std::pair<std::size_t, std::int64_t>>;

struct StreamTiledLayer {
  std::int64_t layer = 0;
  std::vector<std::int64_t> sizes{};       // of its dimensions, enlarged where a cut does not divide them
  std::vector<std::int64_t> tile_sizes{};  // of each tile
  StreamCuts intra{}, inter{};
  std::vector<std::int64_t> cores{};   // ids it may run on; as many as it is cut into
  std::uint32_t first = 0, tiles = 0;  // in StreamProblem::tiles
  bool is_alone = false;               // in its stack: everything is streamed
};

struct StreamTiling {
  std::vector<StreamTiledLayer> layers{};  // those that compute
  std::string failure{};                   // why Stream would stop
};

// Cores that a search chose for layers whose mapping leaves them open.
using StreamChoice = std::map<std::int64_t, std::vector<std::int64_t>>;

// Fills tiles (without costs), tensors, edges, order, operands, slots and dimensions of `problem`.
StreamTiling tile_stream(const std::vector<StreamLayer>& layers, const StreamStacks& stacks, StreamMode mode,
                         const cost::MappingFile& mapping, const StreamChoice& chosen, StreamProblem& problem);

}  // namespace monet::schedule
