#include "monet/cost/map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

double part_filled(const Spatial& spatial, const hardware::Core& core) {
  double filled = 1;
  for (const auto& loops : spatial)
    for (const SpatialLoop& loop : loops) filled *= static_cast<double>(loop.factor);
  for (const hardware::ArrayDimension& a : core.array->dimensions) filled /= static_cast<double>(a.size);
  return filled;
}

// Whether to look beyond a core's usual unrolling. Gradients add up along other loops than the layer it is meant for:
// some of it cannot be had then. Layers of few channels leave much of an array idle.
bool wants_others(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                  const std::vector<Spatial>& usual, const MapOptions& options) {
  if (!core.array || core.dataflow == hardware::Dataflow::Fixed || options.quirks.set_order) return false;
  if (!request.spatial.empty() || !request.hints.empty() || core.unrollings.empty()) return false;
  for (std::size_t a = 0; a < core.unrollings.size(); ++a)
    for (const hardware::Unrolling& unrolling : core.unrollings[a])
      if (is_hindered(layer, core, a, unrolling.dimension)) return true;
  return std::all_of(usual.begin(), usual.end(),
                     [&](const Spatial& s) { return part_filled(s, core) < options.spatial.least_filled; });
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
  std::vector<Room> rooms;
  if (options.quirks.greedy_allocation) {
    const ExhaustiveResult found = search_exhaustively(
        m.problem, request.ordering, layer.dimensions,
        {.criterion = options.criterion, .limit = options.limit, .even = options.even, .watch = options.watch});
    if (!found.best && found.is_stopped)
      return {.reason = fmt::format("none of the first {} orderings of the loops fits the memories, of {:.6g}",
                                    found.seen, found.orderings),
              .is_stopped = true};
    if (!found.best)
      return {.reason = found.reason.empty() ? fmt::format("memory '{}' is too small for any ordering of the loops",
                                                           core.memories[found.misfit.memory].name)
                                             : found.reason};
    m.order = found.best->order;
    m.evaluated = found.evaluated;
    m.orderings = found.orderings;
    m.is_proven = !found.is_stopped;
    m.is_stopped = found.is_stopped;
    Misfit misfit;
    allocate_greedily(m.problem, m.order, options.even, m.evaluation.cuts, misfit);
  } else {
    const PinnedLoops pinned = pinned_loops(m.problem, request.ordering, layer.dimensions, 0);
    if (!pinned.reason.empty()) return {.reason = pinned.reason};
    OptimumOptions optimum{.criterion = options.criterion, .most_labels = options.most_labels, .watch = options.watch};
    optimum.loops = pinned.complete.empty() ? pinned.loops : pinned.complete;
    optimum.pins = pinned.pins;
    for (std::size_t i = 0; i < pinned.complete.size(); ++i)
      optimum.pins.push_back({.position = static_cast<std::ptrdiff_t>(i),
                              .dimension = pinned.complete[i].dimension,
                              .factor = pinned.complete[i].factor});
    if (const auto fault = hold(m, core, request, optimum)) return {.reason = *fault};
    const Optimum found = find_optimum(m.problem, optimum);
    rooms = found.rooms;
    if (!found.best && found.is_proven)
      return {.reason = "the memories are too small for any mapping", .rooms = std::move(rooms)};
    if (!found.best && found.is_out_of_time)
      return {.reason = "the search had not found one", .is_stopped = true, .rooms = std::move(rooms)};
    if (!found.best)
      return {.reason = fmt::format("none was found among {} partial mappings", found.labels),
              .rooms = std::move(rooms)};
    m.order = found.best->order;
    m.evaluation.cuts = found.best->cuts;
    m.evaluation.doubled = found.best->doubled;
    m.evaluated = found.labels;
    m.is_proven = found.is_proven;
    m.is_stopped = found.is_out_of_time;
    m.bound = value_of(options.criterion, found.bound);
  }
  evaluate(m.problem, m.order, m.evaluation);
  return {.mapped = std::move(m), .rooms = std::move(rooms)};
}

}  // namespace

Layer with_slots(Layer layer, const MappingRequest& request) {
  for (Operand& operand : layer.operands)
    for (const auto& [name, slot] : request.slots)
      if (name == operand.name) operand.slot = slot;
  return layer;
}

double value_of(Criterion criterion, const Costs& costs) {
  switch (criterion) {
    case Criterion::Latency: return costs.latency;
    case Criterion::Energy: return costs.energy_pj;
    case Criterion::Edp: return costs.energy_pj * costs.latency;
  }
  return 0;
}

std::vector<Spatial> unrollings_of(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                                   const MapOptions& options, std::string* reason) {
  SpatialOptions spatial = options.spatial;
  spatial.quirks = options.quirks;
  spatial.watch = options.watch;
  const Layer placed = with_slots(layer, request);
  std::vector<Spatial> found = spatial_mappings(placed, core, with_dataflow(layer, core, request), spatial, reason);
  if (!wants_others(placed, core, request, found, options)) return found;
  // Any other way to fill the array is tried beside it.
  spatial.mixed = true;
  for (Spatial& other : spatial_mappings(placed, core, request, spatial))
    if (std::find(found.begin(), found.end(), other) == found.end()) found.push_back(std::move(other));
  return found;
}

double orderings_to_try(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                        const MapOptions& options) {
  const MappingRequest wanted = with_dataflow(layer, core, request);
  const Layer placed = with_slots(layer, request);
  double sum = 0;
  for (const Spatial& unrolling : unrollings_of(layer, core, request, options)) {
    const Problem problem = make_problem(placed, core, unrolling, options.quirks, options.clock_hz);
    const PinnedLoops pinned = pinned_loops(problem, wanted.ordering, placed.dimensions, options.limit);
    if (pinned.reason.empty()) sum += pinned.complete.empty() ? orderings_of(pinned.loops) : 1;
  }
  return sum;
}

MapResult map_layer(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                    const MapOptions& options) {
  const MappingRequest wanted = with_dataflow(layer, core, request);
  const Layer placed = with_slots(layer, request);
  MapResult best;
  Mapped all{.bound = std::numeric_limits<double>::infinity()};  // over all unrollings
  const std::vector<Spatial> spatials = unrollings_of(layer, core, request, options, &best.reason);
  const Deadline& deadline = options.watch.deadline;
  best.is_stopped = deadline.is_over();
  all.is_proven = !best.is_stopped;
  MapOptions shared = options;  // each has its share of the time that is left
  for (std::size_t i = 0; i < spatials.size() && (i == 0 || !deadline.is_over()); ++i) {
    if (deadline.has_time())
      shared.watch.deadline = deadline.within(deadline.seconds_left() / static_cast<double>(spatials.size() - i));
    MapResult found = map_unrolled(placed, core, spatials[i], wanted, shared);
    ++all.spatials;
    best.rooms.resize(core.memories.size());
    for (std::size_t r = 0; r < found.rooms.size(); ++r) {
      best.rooms[r].held = std::max(best.rooms[r].held, found.rooms[r].held);
      best.rooms[r].refused = std::min(best.rooms[r].refused, found.rooms[r].refused);
    }
    best.is_stopped = best.is_stopped || found.is_stopped || (found.mapped && found.mapped->is_stopped);
    if (!found.mapped) {
      if (best.reason.empty() || found.is_stopped) best.reason = found.reason;
      if (found.is_stopped) all.bound = 0;
      // As in the reference, one way to unroll that fits nothing ends the search.
      if (options.quirks.set_order && !found.is_stopped) return {.reason = found.reason};
      continue;
    }
    const auto costs = [](const Mapped& m) { return Costs{m.evaluation.energy_pj, m.evaluation.latency}; };
    const Mapped& m = *found.mapped;
    all.evaluated += m.evaluated;
    all.orderings += m.orderings;
    all.is_proven = all.is_proven && m.is_proven;
    all.bound = std::min(all.bound, m.is_proven ? value_of(options.criterion, costs(m)) : m.bound);
    if (!best.mapped || is_better(options.criterion, costs(m), costs(*best.mapped)))
      best.mapped = std::move(found.mapped);
  }
  all.spatials_left = spatials.size() - all.spatials;
  if (best.mapped) {
    best.reason.clear();
    best.mapped->spatials = all.spatials;
    best.mapped->spatials_left = all.spatials_left;
    best.mapped->evaluated = all.evaluated;
    best.mapped->orderings = all.orderings;
    best.is_stopped = best.is_stopped || all.spatials_left > 0;
    best.mapped->is_stopped = best.is_stopped;
    best.mapped->is_proven = all.is_proven && !best.is_stopped;
    // Where an unrolling was not looked at, or not long enough to say, only the arithmetic is certain.
    const Problem& p = best.mapped->problem;
    const Costs roof{.energy_pj = p.mac_pj * p.macs, .latency = std::ceil(p.macs / p.lanes) * p.cycles_per_mac};
    if (all.spatials_left > 0 || all.bound == 0) all.bound = value_of(options.criterion, roof);
    best.mapped->bound = all.bound;
    best.is_stopped = false;
  }
  return best;
}

}  // namespace monet::cost
