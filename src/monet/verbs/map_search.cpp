#include "monet/verbs/map_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "monet/base/parallel.h"
#include "monet/cost/cache.h"
#include "monet/report/nest.h"
#include "monet/verbs/cost_cache.h"

namespace monet {
namespace {

// ---- How much there is to do ----

// At a million and a half orderings a second: minutes for a layer, and seconds for all.
constexpr double kMostOrderings = 1e9, kManyOrderings = 1e7;

std::string count_text(double count) { return count < 1e15 ? quantity(count) : fmt::format("{:.2e}", count); }

// Only where all orderings are gone through.
void check_orderings(const MapRequest& request, const MapObserver& observer, const MapRun& run) {
  if (!run.options.quirks.greedy_allocation) return;
  cost::MapOptions options = run.options;
  options.watch = observer.watch;
  std::vector<Diagnostic> faults;
  double sum = 0;
  for (const MappedLayer& m : run.layers) {
    const double orderings = cost::orderings_to_try(m.layer, run.chosen_core(), m.asked, options);
    sum += orderings;
    if (request.time_s || orderings <= kMostOrderings) continue;
    faults.push_back({.where = "--lpf",
                      .message = fmt::format("{} has {} loop orderings to try, more than {}", m.layer.name,
                                             count_text(orderings), count_text(kMostOrderings)),
                      .hint = "fewer loops with --lpf N, or the best found in some seconds with --time S"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  if (sum > kManyOrderings && observer.say)
    observer.say(fmt::format("{} loop orderings to try{}", count_text(sum),
                             run.layers.size() > 1 ? ", those of identical layers once" : ""));
}

// ---- The search ----

// What is found again with more time is taken unless it is worse.
void take(cost::MapResult result, cost::Criterion criterion, MappedLayer& m) {
  if (!result.mapped) {
    if (m.mapped) return;
    m.reason = std::move(result.reason);
    m.is_stopped = result.is_stopped;
    return;
  }
  const auto costs = [](const cost::Mapped& x) {
    return cost::Costs{.energy_pj = x.evaluation.energy_pj, .latency = x.evaluation.latency};
  };
  if (m.mapped && is_better(criterion, costs(*m.mapped), costs(*result.mapped))) return;
  m.mapped = std::move(result.mapped);
  m.reason.clear();
  m.is_stopped = m.mapped->is_stopped;
}

}  // namespace

void search_layers(const MapRequest& request, const MapObserver& observer, MapRun& run) {
  check_orderings(request, observer, run);
  const Deadline& deadline = observer.watch.deadline;
  cost::Cache cache;
  if (!request.cache.empty()) read_cache(request.cache, cache, run.warnings);
  if (observer.watch.progress != nullptr) observer.watch.progress->total += run.layers.size();
  const std::size_t threads = request.threads > 0 ? request.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::size_t> todo;
  for (std::size_t i = 0; i < run.layers.size(); ++i) todo.push_back(i);
  // Time that some layers did not need goes to those that were cut short, if it is more than they had.
  for (double before = 0; !todo.empty();) {
    std::atomic<std::size_t> left = todo.size();
    parallel_for(todo.size(), threads, [&](std::size_t i) {
      MappedLayer& m = run.layers[todo[i]];
      cost::MapOptions options = run.options;
      options.watch = observer.watch;
      const double turns = std::ceil(static_cast<double>(left--) / static_cast<double>(threads));
      if (deadline.has_time()) options.watch.deadline = deadline.within(deadline.seconds_left() / turns);
      take(cache.map(m.layer, run.chosen_core(), m.asked, options), options.criterion, m);
      if (observer.watch.progress != nullptr && before == 0) ++observer.watch.progress->done;
    });
    std::erase_if(todo, [&](std::size_t i) { return !run.layers[i].is_stopped; });
    const double share = deadline.seconds_left() * static_cast<double>(threads) / static_cast<double>(todo.size());
    if (todo.empty() || !deadline.has_time() || deadline.is_over() || share < 2 * before) break;
    before = share;
    cache.forget_stopped();
  }
  if (!todo.empty()) run.stopped = deadline.state() == Stop::Asked ? Stop::Asked : Stop::Time;
  if (!request.cache.empty() && cache.searched() > 0) write_cache(request.cache, cache, run.warnings);
}

}  // namespace monet
