#include "monet/cost/map.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/cost/loops.h"

namespace monet::cost {
namespace {

// What a core unrolls where the request says nothing. A core that can do otherwise fills array dimensions for which the
// layer has none of the usual loops with others.
MappingRequest with_dataflow(const Layer& layer, const hardware::Core& core, MappingRequest request) {
  if (!core.array || core.unrollings.empty()) return request;
  const bool is_fixed = core.dataflow == hardware::Dataflow::Fixed;
  if (!is_fixed && (!request.spatial.empty() || !request.hints.empty())) return request;
  request.spatial.clear();
  for (std::size_t a = 0; a < core.unrollings.size(); ++a) {
    const bool serves = std::any_of(core.unrollings[a].begin(), core.unrollings[a].end(), [&](const auto& unrolling) {
      return std::any_of(layer.dimensions.begin(), layer.dimensions.end(),
                         [&](const work::Dimension& d) { return d.name == unrolling.dimension && d.size > 1; });
    });
    if (serves || is_fixed) request.spatial.emplace_back(core.array->dimensions[a].name, core.unrollings[a]);
  }
  return request;
}

std::optional<std::string> hold(const Mapped& m, const hardware::Core& core, const MappingRequest& request,
                                OptimumOptions& options) {
  for (const Placement& placement : request.placements) {
    const auto operand = std::find_if(m.layer.operands.begin(), m.layer.operands.end(),
                                      [&](const Operand& o) { return o.name == placement.operand; });
    if (operand == m.layer.operands.end()) continue;
    const auto o = static_cast<std::size_t>(operand - m.layer.operands.begin());
    const OperandProblem& problem = m.problem.operands[o];
    Held held{.operand = o, .level = problem.memories};
    held.extents.fill(1);
    for (std::size_t level = 0; level < problem.memories; ++level)
      if (core.memories[problem.memory[level]].name == placement.memory) held.level = level;
    if (held.level == problem.memories)
      return fmt::format("operand {} does not go through memory '{}'", placement.operand, placement.memory);
    for (const hardware::Unrolling& loop : placement.loops)
      for (std::size_t d = 0; d < m.layer.dimensions.size(); ++d)
        if (m.layer.dimensions[d].name == loop.dimension) held.extents[d] *= static_cast<double>(loop.factor);
    options.held.push_back(held);
  }
  return std::nullopt;
}

// The best mapping for one way to unroll.
MapResult map_unrolled(const Layer& layer, const hardware::Core& core, const Spatial& spatial,
                       const MappingRequest& request, const MapOptions& options) {
  Mapped m{.layer = layer, .spatial = spatial};
  m.problem = make_problem(layer, core, spatial, options.quirks, options.clock_hz);
  if (options.quirks.greedy_allocation) {
    const ExhaustiveResult found =
        search_exhaustively(m.problem, request.ordering, layer.dimensions,
                            {.criterion = options.criterion, .limit = options.limit, .even = options.even});
    if (!found.best)
      return {.reason = found.reason.empty() ? fmt::format("memory '{}' is too small for any ordering of the loops",
                                                           core.memories[found.misfit.memory].name)
                                             : found.reason};
    m.order = found.best->order;
    m.evaluated = found.evaluated;
    m.is_proven = true;
    Misfit misfit;
    allocate_greedily(m.problem, m.order, options.even, m.evaluation.cuts, misfit);
  } else {
    const PinnedLoops pinned = pinned_loops(m.problem, request.ordering, layer.dimensions, 0);
    if (!pinned.reason.empty()) return {.reason = pinned.reason};
    OptimumOptions optimum{.criterion = options.criterion, .most_labels = options.most_labels};
    optimum.loops = pinned.complete.empty() ? pinned.loops : pinned.complete;
    optimum.pins = pinned.pins;
    for (std::size_t i = 0; i < pinned.complete.size(); ++i)
      optimum.pins.push_back({.position = static_cast<std::ptrdiff_t>(i),
                              .dimension = pinned.complete[i].dimension,
                              .factor = pinned.complete[i].factor});
    if (const auto fault = hold(m, core, request, optimum)) return {.reason = *fault};
    const Optimum found = find_optimum(m.problem, optimum);
    if (!found.best) return {.reason = found.is_proven ? "the memories are too small for any mapping" : "not found"};
    m.order = found.best->order;
    m.evaluation.cuts = found.best->cuts;
    m.evaluation.doubled = found.best->doubled;
    m.evaluated = found.labels;
    m.is_proven = found.is_proven;
    m.bound = found.bound;
  }
  evaluate(m.problem, m.order, m.evaluation);
  return {.mapped = std::move(m)};
}

}  // namespace

Layer with_slots(Layer layer, const MappingRequest& request) {
  for (Operand& operand : layer.operands)
    for (const auto& [name, slot] : request.slots)
      if (name == operand.name) operand.slot = slot;
  return layer;
}

MapResult map_layer(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                    const MapOptions& options) {
  const MappingRequest wanted = with_dataflow(layer, core, request);
  const Layer placed = with_slots(layer, request);
  SpatialOptions spatial = options.spatial;
  spatial.quirks = options.quirks;
  MapResult best;
  std::uint64_t evaluated = 0;
  const std::vector<Spatial> spatials = spatial_mappings(placed, core, wanted, spatial, &best.reason);
  for (const Spatial& unrolling : spatials) {
    MapResult found = map_unrolled(placed, core, unrolling, wanted, options);
    if (!found.mapped) {
      if (best.reason.empty()) best.reason = found.reason;
      // As in the reference, one way to unroll that fits nothing ends the search.
      if (options.quirks.set_order) return {.reason = best.reason};
      continue;
    }
    evaluated += found.mapped->evaluated;
    const auto costs = [](const Mapped& m) { return Costs{m.evaluation.energy_pj, m.evaluation.latency}; };
    if (!best.mapped || is_better(options.criterion, costs(*found.mapped), costs(*best.mapped))) {
      const bool proven = found.mapped->is_proven && (!best.mapped || best.mapped->is_proven);
      best.mapped = std::move(found.mapped);
      best.mapped->is_proven = proven;
    } else if (!found.mapped->is_proven) {
      best.mapped->is_proven = false;
    }
  }
  if (best.mapped) {
    best.reason.clear();
    best.mapped->spatials = spatials.size();
    best.mapped->evaluated = evaluated;
  }
  return best;
}

}  // namespace monet::cost
