#include "monet/schedule/repeat.h"

namespace monet::schedule {

void repeat(const Graph& graph, std::int64_t iterations, Tiled& tiled) {
  Problem& p = tiled.problem;
  const std::size_t tiles = p.tiles.size(), blocks = p.blocks.size();
  tiled.tiles_of_iteration = static_cast<std::uint32_t>(tiles);
  tiled.blocks_of_iteration = static_cast<std::uint32_t>(blocks);
  for (std::int64_t k = 1; k < iterations; ++k) {
    std::vector<std::uint32_t> now(blocks);
    for (std::uint32_t b = 0; b < blocks; ++b) {
      const Category category = graph[tiled.blocks[b].tensor].category;
      const bool is_data = category == Category::Input || category == Category::Index;  // other samples each time
      const bool stays = p.blocks[b].starts_at_home && !is_data;
      now[b] = stays ? b : static_cast<std::uint32_t>(p.blocks.size());
      if (stays) continue;
      p.blocks.push_back(Block(p.blocks[b]));
      tiled.blocks.push_back(BlockInfo(tiled.blocks[b]));
    }
    for (std::size_t t = 0; t < tiles; ++t) {
      Tile tile = p.tiles[t];
      const std::uint32_t first_use = tile.first_use, first_flow = tile.first_flow;
      tile.first_use = static_cast<std::uint32_t>(p.uses.size());
      tile.first_flow = static_cast<std::uint32_t>(p.flows.size());
      for (std::uint32_t i = 0; i < tile.uses; ++i) {
        Use use = p.uses[first_use + i];
        use.block = BlockId{now[use.block.index()]};
        p.uses.push_back(use);
      }
      for (std::uint32_t i = 0; i < tile.flows; ++i) {
        Flow flow = p.flows[first_flow + i];
        flow.block = BlockId{now[flow.block.index()]};
        p.flows.push_back(flow);
        tiled.flow_is_extra.push_back(Tiled::Extra(tiled.flow_is_extra[first_flow + i]));
      }
      p.tiles.push_back(tile);
      tiled.tiles.push_back(TileInfo(tiled.tiles[t]));
    }
  }
}

}  // namespace monet::schedule
