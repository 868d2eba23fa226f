#include "monet/search/stretches.h"

#include <algorithm>
#include <unordered_map>

namespace monet::search {

Stretches::Stretches(const Graph& single_works, std::size_t most) {
  std::vector<const Node*> backward;
  for (const Node& node : single_works.nodes)
    if (node.phase == Phase::Loss || node.phase == Phase::Backward) backward.push_back(&node);
  const std::size_t count = std::min(most, backward.size());
  for (std::size_t k = 0; k < count; ++k) first_.push_back(backward[k * backward.size() / count]->name);
}

std::vector<double> Stretches::peak_total_bytes(const Graph& graph, const schedule::Evaluation& evaluation) const {
  std::unordered_map<std::string_view, std::size_t> stretch;
  for (std::size_t k = 1; k < size(); ++k) stretch.emplace(first_[k], k);
  std::vector<double> begins(size(), 0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (const auto at = stretch.find(graph.nodes[n].name); at != stretch.end() && evaluation.nodes[n].tiles > 0)
      begins[at->second] = evaluation.nodes[n].start;
  // A node that runs before the stretch before its own has begun leaves that one empty.
  for (std::size_t k = 1; k < size(); ++k) begins[k] = std::max(begins[k - 1], begins[k]);
  struct Level {
    double time = 0;
    std::size_t store = 0;
    double bytes = 0;
  };
  std::vector<Level> levels;
  for (std::size_t s = 0; s < evaluation.stores.size(); ++s)
    for (const schedule::StoreUse::Point& p : evaluation.stores[s].points) {
      double bytes = 0;
      for (const double of_use : p.bytes) bytes += of_use;
      levels.push_back({p.time, s, bytes});
    }
  std::stable_sort(levels.begin(), levels.end(), [](const Level& a, const Level& b) { return a.time < b.time; });
  std::vector<double> peaks(size(), 0), now(evaluation.stores.size(), 0);
  double total = 0;
  std::size_t k = 0;
  for (std::size_t i = 0; i < levels.size();) {
    const double time = levels[i].time;
    while (k + 1 < size() && begins[k + 1] <= time) peaks[++k] = total;  // what is there when it begins
    for (; i < levels.size() && levels[i].time == time; ++i) {
      total += levels[i].bytes - now[levels[i].store];
      now[levels[i].store] = levels[i].bytes;
    }
    peaks[k] = std::max(peaks[k], total);
  }
  return peaks;
}

}  // namespace monet::search
