#pragma once
#include <vector>

#include "monet/base/watch.h"
#include "monet/report/sketch.h"
#include "monet/search/exploration_search.h"

namespace monet {

// What is shown while results come in: how many are not possible, the fronts, a drawing of latency and energy.
class LiveView {
 public:
  LiveView(const search::Exploration& exploration, const search::ExplorationGoal& goal);

  void add(const search::TaskResult& result, Progress& progress);

 private:
  const search::Exploration& exploration_;
  search::ExplorationGoal goal_;
  std::vector<SketchSeries> series_;  // by workload
  std::vector<std::vector<solve::Score>> scores_;
  std::vector<std::vector<std::uint32_t>> fronts_;
  bool has_letters_ = false;  // workloads that begin alike, or are many, have letters for their marks
  std::size_t known_ = 0;     // results that are in the fronts
  std::size_t impossible_ = 0;
  std::size_t next_ = 0;  // so many results are there when it is drawn again
};

}  // namespace monet
