#include <algorithm>

#include "monet/base/sort.h"
#include "monet/schedule/evaluation.h"

namespace monet::schedule {
namespace {

struct Change {
  double time = 0;
  double bytes = 0;
  std::uint32_t store = 0, use = 0;
};

}  // namespace

std::vector<StoreUse> store_uses(const Graph& graph, const Tiled& tiled, const Timeline& timeline, Detail detail,
                                 double& peak_total, double& peak_total_time) {
  const std::vector<Store>& stores = tiled.problem.machine.stores;
  std::vector<StoreUse> uses(stores.size());
  std::vector<Change> changes;
  changes.reserve(2 * timeline.stays.size());
  for (const Stay& stay : timeline.stays) {
    const auto bytes = static_cast<double>(tiled.problem.blocks[stay.block.index()].bytes);
    if (stay.to <= stay.from || bytes == 0) continue;
    const BlockInfo& info = tiled.blocks[stay.block.index()];
    const MemoryUse use = info.is_sum ? MemoryUse::Workspace : memory_use(graph[info.tensor].category);
    changes.push_back({stay.from, bytes, stay.store.value, static_cast<std::uint32_t>(use)});
    changes.push_back({stay.to, -bytes, stay.store.value, static_cast<std::uint32_t>(use)});
    StoreUse& store = uses[stay.store.index()];
    store.highest_address =
        std::max(store.highest_address, stay.address + tiled.problem.blocks[stay.block.index()].bytes);
  }
  // Those of one time count as one, in any order: bytes are whole numbers.
  sort_by_number(changes, [](const Change& c) { return c.time; });
  struct Now {
    ByUse by_use{};
    double bytes = 0;
  };
  std::vector<Now> now(stores.size());
  std::vector<bool> is_changed(stores.size(), false);
  std::vector<std::uint32_t> changed;
  double total = 0;
  peak_total = peak_total_time = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const double time = changes[i].time;
    for (; i < changes.size() && changes[i].time == time; ++i) {
      Now& store = now[changes[i].store];
      store.by_use[changes[i].use] += changes[i].bytes;
      store.bytes += changes[i].bytes;
      total += changes[i].bytes;
      if (!is_changed[changes[i].store]) changed.push_back(changes[i].store);
      is_changed[changes[i].store] = true;
    }
    if (total > peak_total) {
      peak_total = total;
      peak_total_time = time;
    }
    for (const std::uint32_t s : changed) {
      is_changed[s] = false;
      if (detail == Detail::All) uses[s].points.push_back({time, now[s].by_use});
      if (now[s].bytes > uses[s].peak_bytes) {
        uses[s].peak_bytes = now[s].bytes;
        uses[s].peak_time = time;
        uses[s].at_peak = now[s].by_use;
      }
    }
    changed.clear();
  }
  return uses;
}

}  // namespace monet::schedule
