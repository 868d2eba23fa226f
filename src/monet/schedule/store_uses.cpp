#include <algorithm>

#include "monet/schedule/evaluation.h"

namespace monet::schedule {
namespace {

struct Change {
  double time = 0;
  std::uint32_t store = 0;
  std::uint8_t use = 0;
  double bytes = 0;
};

}  // namespace

std::vector<StoreUse> store_uses(const Graph& graph, const Tiled& tiled, const Timeline& timeline, double& peak_total,
                                 double& peak_total_time) {
  const std::vector<Store>& stores = tiled.problem.machine.stores;
  std::vector<StoreUse> uses(stores.size());
  std::vector<Change> changes;
  changes.reserve(2 * timeline.stays.size());
  for (const Stay& stay : timeline.stays) {
    const auto bytes = static_cast<double>(tiled.problem.blocks[stay.block.index()].bytes);
    if (stay.to <= stay.from || bytes == 0) continue;
    const BlockInfo& info = tiled.blocks[stay.block.index()];
    const MemoryUse use = info.is_sum ? MemoryUse::Workspace : memory_use(graph[info.tensor].category);
    changes.push_back({stay.from, stay.store.value, static_cast<std::uint8_t>(use), bytes});
    changes.push_back({stay.to, stay.store.value, static_cast<std::uint8_t>(use), -bytes});
    StoreUse& store = uses[stay.store.index()];
    store.highest_address =
        std::max(store.highest_address, stay.address + tiled.problem.blocks[stay.block.index()].bytes);
  }
  // What leaves at a time leaves before something comes.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time : a.bytes != b.bytes ? a.bytes < b.bytes : a.store < b.store;
  });
  std::vector<ByUse> now(stores.size());
  std::vector<bool> is_changed(stores.size(), false);
  double total = 0;
  peak_total = peak_total_time = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const double time = changes[i].time;
    for (; i < changes.size() && changes[i].time == time; ++i) {
      now[changes[i].store][changes[i].use] += changes[i].bytes;
      total += changes[i].bytes;
      is_changed[changes[i].store] = true;
    }
    if (total > peak_total) {
      peak_total = total;
      peak_total_time = time;
    }
    for (std::size_t s = 0; s < stores.size(); ++s) {
      if (!is_changed[s]) continue;
      is_changed[s] = false;
      double sum = 0;
      for (const double bytes : now[s]) sum += bytes;
      uses[s].points.push_back({time, now[s]});
      if (sum > uses[s].peak_bytes) {
        uses[s].peak_bytes = sum;
        uses[s].peak_time = time;
        uses[s].at_peak = now[s];
      }
    }
  }
  return uses;
}

}  // namespace monet::schedule
