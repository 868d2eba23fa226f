#include "monet/schedule/use_index.h"

namespace monet::schedule {

// From the last use to the first: what was met last is what comes next.
UseIndex::UseIndex(const Problem& p)
    : first_(p.blocks.size(), kNever),
      last_write_(p.blocks.size(), kNever),
      uses_(p.uses.size()),
      after_flow_(p.flows.size(), kNever) {
  struct InStore {
    StoreId store{};
    std::uint32_t tile = kNever;
    std::uint32_t next = kNever;  // the same block in another store
  };
  std::vector<InStore> met;
  std::vector<std::uint32_t> met_of(p.blocks.size(), kNever);
  const auto writes = [&](std::uint32_t tile, BlockId b, Access access) {
    if (access != Access::Read && last_write_[b.index()] == kNever) last_write_[b.index()] = tile;
  };
  for (auto t = static_cast<std::uint32_t>(p.tiles.size()); t-- > 0;) {
    const Tile& tile = p.tiles[t];
    for (std::uint32_t i = tile.first_flow + tile.flows; i-- > tile.first_flow;) {
      const Flow& flow = p.flows[i];
      writes(t, flow.block, flow.access);
      after_flow_[i] = first_[flow.block.index()];
      first_[flow.block.index()] = t;
    }
    for (std::uint32_t i = tile.first_use + tile.uses; i-- > tile.first_use;) {
      const Use& use = p.uses[i];
      writes(t, use.block, use.access);
      uses_[i].anywhere = first_[use.block.index()];
      first_[use.block.index()] = t;
      std::uint32_t* at = &met_of[use.block.index()];
      while (*at != kNever && met[*at].store != use.store) at = &met[*at].next;
      if (*at == kNever) {
        *at = static_cast<std::uint32_t>(met.size());
        met.push_back({use.store, t});  // `at` may point into it: it is not used any more
      } else {
        uses_[i].here = met[*at].tile;
        met[*at].tile = t;
      }
    }
  }
}

}  // namespace monet::schedule
