#include "monet/cost/search.h"

#include "monet/cost/loops.h"

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
  const auto attempt = [&](std::span<const TemporalLoop> order) {
    ++result.tried;
    Misfit misfit;
    if (!allocate_greedily(p, order, options.even, e.cuts, misfit)) {
      if (result.tried - result.evaluated == 1) result.misfit = misfit;
      return;
    }
    ++result.evaluated;
    const Costs costs = evaluate(p, order, e);
    if (!result.best || is_better(options.criterion, costs, result.best->costs))
      result.best = {.order = {order.begin(), order.end()}, .costs = costs};
  };
  const PinnedLoops pinned = pinned_loops(p, pattern, dimensions, options.limit);
  result.reason = pinned.reason;
  if (!pinned.reason.empty()) return result;
  if (!pinned.complete.empty()) {
    attempt(pinned.complete);
    return result;
  }
  if (pinned.loops.empty()) {
    result.reason = "the pinned factors leave no loop";
    return result;
  }
  Orderings orderings(p, pinned.loops);
  while (orderings.next())
    if (meets(orderings.current(), pinned.pins)) attempt(orderings.current());
  if (result.tried == 0) result.reason = "no ordering of the loops has the pinned ones in their places";
  return result;
}

LayerSearchResult search_layer(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                               const SpatialOptions& spatial, const ExhaustiveOptions& options, double clock_hz) {
  LayerSearchResult result;
  for (const Spatial& mapping : spatial_mappings(layer, core, request, spatial, &result.reason)) {
    const Problem p = make_problem(layer, core, mapping, spatial.quirks, clock_hz);
    const ExhaustiveResult each = search_exhaustively(p, request.ordering, layer.dimensions, options);
    result.tried += each.tried;
    result.evaluated += each.evaluated;
    if (!each.best) {
      if (result.reason.empty())
        result.reason = each.reason.empty() ? to_string(each.misfit, layer, core) : each.reason;
      if (!spatial.quirks.set_order) continue;
      result.best.reset();
      result.spatial.reset();
      return result;
    }
    if (result.best && !is_better(options.criterion, each.best->costs, result.best->costs)) continue;
    result.best = each.best;
    result.spatial = mapping;
  }
  if (result.best) result.reason.clear();
  return result;
}

}  // namespace monet::cost
