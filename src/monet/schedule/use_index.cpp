#include "monet/schedule/use_index.h"

namespace monet::schedule {

UseIndex::UseIndex(const Problem& p) : first_(p.blocks.size() + 1, 0), last_write_(p.blocks.size(), kNever) {
  const auto each = [&](const auto& visit) {
    for (std::uint32_t t = 0; t < p.tiles.size(); ++t) {
      const Tile& tile = p.tiles[t];
      for (std::uint32_t i = 0; i < tile.uses; ++i) {
        const Use& use = p.uses[tile.first_use + i];
        visit(t, use.block.index(), use.store, use.access);
      }
      for (std::uint32_t i = 0; i < tile.flows; ++i) {
        const Flow& flow = p.flows[tile.first_flow + i];
        visit(t, flow.block.index(), p.machine.home, flow.access);
      }
    }
  };
  each([&](std::uint32_t t, std::size_t b, StoreId, Access access) {
    ++first_[b + 1];
    if (access != Access::Read) last_write_[b] = t;
  });
  for (std::size_t b = 0; b < p.blocks.size(); ++b) first_[b + 1] += first_[b];
  tiles_.resize(first_.back());
  stores_.resize(first_.back());
  next_.assign(first_.begin(), first_.end() - 1);
  each([&](std::uint32_t t, std::size_t b, StoreId store, Access) {
    tiles_[next_[b]] = t;
    stores_[next_[b]++] = store;
  });
  next_.assign(first_.begin(), first_.end() - 1);
}

}  // namespace monet::schedule
