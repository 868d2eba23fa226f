#include "monet/schedule/spills.h"

#include "monet/schedule/tile_order.h"

namespace monet::schedule {

void mark_spills(const TilingInput& input, Tiled& tiled) {
  if (input.decided.spilled.empty()) return;
  Problem& p = tiled.problem;
  std::vector<bool> is_spilled(input.graph.tensors.size(), false);
  for (const TensorId t : input.decided.spilled) is_spilled[input.storage.root(t).index()] = true;
  std::vector<std::uint32_t> last(p.blocks.size(), kNone);  // by block: its last use in the forward pass
  const auto is_ours = [&](BlockId b) {
    return !tiled.blocks[b.index()].is_sum && is_spilled[tiled.blocks[b.index()].tensor.index()];
  };
  for (std::size_t t = 0; t < p.tiles.size(); ++t) {
    const Tile& tile = p.tiles[t];
    const Phase phase = input.graph[tiled.tiles[t].node].phase;
    const bool is_forward = phase == Phase::Forward || phase == Phase::Loss;
    for (std::uint32_t i = tile.first_use; i < tile.first_use + tile.uses; ++i) {
      const BlockId b = p.uses[i].block;
      if (!is_ours(b)) continue;
      if (is_forward) {
        last[b.index()] = i;
      } else if (last[b.index()] != kNone) {
        p.uses[last[b.index()]].leaves = true;
        last[b.index()] = kNone;
      }
    }
  }
}

}  // namespace monet::schedule
