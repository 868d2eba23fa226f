#include "monet/cost/search.h"

#include <algorithm>
#include <utility>

#include "monet/cost/loops.h"
#include "monet/cost/tabled.h"

namespace monet::cost {

bool is_better(Criterion criterion, const Costs& x, const Costs& y) {
  switch (criterion) {
    case Criterion::Latency: return x.latency != y.latency ? x.latency < y.latency : x.energy_pj < y.energy_pj;
    case Criterion::Energy: return x.energy_pj != y.energy_pj ? x.energy_pj < y.energy_pj : x.latency < y.latency;
    case Criterion::Edp: return x.energy_pj * x.latency < y.energy_pj * y.latency;
  }
  return false;
}

ExhaustiveResult search_exhaustively(const Problem& p, const std::vector<LoopPattern>& pattern,
                                     const std::vector<work::Dimension>& dimensions, const ExhaustiveOptions& options) {
  ExhaustiveResult result;
  Evaluation e;
  const auto is_best = [&](const Costs& costs) {
    return !result.best || is_better(options.criterion, costs, result.best->costs);
  };
  const auto attempt = [&](std::span<const TemporalLoop> order) {
    ++result.tried;
    Misfit misfit;
    if (!allocate_greedily(p, order, options.even, e.cuts, misfit)) {
      if (result.tried - result.evaluated == 1) result.misfit = misfit;
      return;
    }
    ++result.evaluated;
    const Costs costs = evaluate(p, order, e);
    if (is_best(costs)) result.best = {.order = {order.begin(), order.end()}, .costs = costs};
  };
  const PinnedLoops pinned = pinned_loops(p, pattern, dimensions, options.limit);
  result.reason = pinned.reason;
  if (!pinned.reason.empty()) return result;
  if (!pinned.complete.empty()) {
    result.orderings = 1;
    result.seen = 1;
    attempt(pinned.complete);
    return result;
  }
  if (pinned.loops.empty()) {
    result.reason = "the pinned factors leave no loop";
    return result;
  }
  Orderings orderings(p, pinned.loops);
  std::optional<TabledCosts> tables;
  if (!options.even) tables = TabledCosts::make(p, orderings.kinds(), orderings.counts());
  result.orderings = orderings_of(pinned.loops);
  if (options.watch.progress != nullptr) options.watch.progress->expected.fetch_add(result.orderings);
  Ticks ticks(options.watch, 1024);
  std::size_t changed = 0;  // since the last one costed
  while (orderings.next()) {
    if (ticks.is_over()) {
      result.is_stopped = true;
      return result;
    }
    ++result.seen;
    changed = std::max(changed, orderings.changed());
    if (!pinned.pins.empty() && !meets(orderings.current(), pinned.pins)) continue;
    Costs costs;
    if (!tables) {
      attempt(orderings.current());
    } else if (tables->cost(orderings.sequence(), std::exchange(changed, 0), costs)) {
      ++result.tried;
      ++result.evaluated;
      if (!is_best(costs)) continue;
      const std::span<const TemporalLoop> order = orderings.current();
      result.best = {.order = {order.begin(), order.end()}, .costs = costs};
    } else if (result.tried == result.evaluated) {
      attempt(orderings.current());  // for the first misfit's sake
    } else {
      ++result.tried;
    }
  }
  if (result.tried == 0) result.reason = "no ordering of the loops has the pinned ones in their places";
  return result;
}

}  // namespace monet::cost
