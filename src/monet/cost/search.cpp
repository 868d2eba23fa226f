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
  (void)pattern;
  (void)dimensions;
  ExhaustiveResult result;
  Evaluation e;
  Orderings orderings(p, temporal_loops(p, options.limit));
  while (orderings.next()) {
    ++result.evaluated;
    Misfit misfit;
    if (!allocate_greedily(p, orderings.current(), options.even, e.cuts, misfit)) {
      if (result.evaluated - result.fitted == 1) result.misfit = misfit;
      continue;
    }
    ++result.fitted;
    const Costs costs = evaluate(p, orderings.current(), e);
    if (!result.best || is_better(options.criterion, costs, result.best->costs))
      result.best = {.order = {orderings.current().begin(), orderings.current().end()}, .costs = costs};
  }
  return result;
}

}  // namespace monet::cost
