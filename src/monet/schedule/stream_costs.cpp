#include "monet/schedule/stream_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "monet/base/diagnostic.h"
#include "monet/base/parallel.h"
#include "monet/cost/allocate.h"
#include "monet/cost/evaluate.h"
#include "monet/cost/loops.h"
#include "monet/cost/quirks.h"
#include "monet/cost/spatial.h"

namespace monet::schedule {
namespace {

using hardware::Memory;
using hardware::Slot;

std::size_t levels_of(const hardware::Core& core, Slot slot) {
  return static_cast<std::size_t>(
      std::count_if(core.memories.begin(), core.memories.end(), [&](const Memory& m) { return holds(m, slot); }));
}

const Memory* lowest(const hardware::Core& core, Slot slot) {
  for (const Memory& m : core.memories)
    if (holds(m, slot)) return &m;
  return nullptr;
}
const Memory* highest(const hardware::Core& core, Slot slot) {
  for (std::size_t m = core.memories.size(); m-- > 0;)
    if (holds(core.memories[m], slot)) return &core.memories[m];
  return nullptr;
}

// ---- (C3) What is searched for ----

// Bits a cycle that an operand moves to and from its highest memory: what it needs, and what first loads take of the
// time of the computation. Sums of ceilings, by direction.
struct Instant {
  double read_to_low = 0, write_from_low = 0, others = 0;
  double sum() const { return read_to_low + write_from_low + others; }
};

Instant instant_bandwidth(const cost::Problem& p, const cost::Evaluation& e, std::size_t operand, double scale,
                          bool beside_output) {
  const cost::OperandProblem& o = p.operands[operand];
  const cost::MemoryLevel& level = e.levels[operand][o.memories - 1];
  const auto needed = [&](std::size_t d) { return std::ceil(level.flows[d].instant_bits * scale / p.cycles_per_mac); };
  Instant out{.read_to_low = needed(cost::kReadToLow), .write_from_low = needed(cost::kWriteFromLow)};
  // Sums are only brought back while they are computed, never loaded first.
  const std::size_t once = o.is_output ? cost::kWriteFromLow : cost::kReadToLow;
  const cost::Flow& f = level.flows[once];
  if (f.periods != 1) return out;
  const double cycles = std::ceil(e.temporal_cycles) + e.stall;
  const double taken = std::ceil((f.busy - f.waited) / cycles * o.ports[o.memories - 1][once].max_bits);
  (beside_output ? out.others : out.read_to_low) += std::ceil(taken * scale);
  return out;
}

struct Streams {
  std::vector<std::size_t> counted{};  // operands of the layer with the most levels
  std::size_t broadcast = 0;           // of them the one that all cores get at once
  double width = 0;                    // of the off-chip memory
  bool beside_output = false;          // it holds the output, too
};

// Only operands with as many levels as any are thought to be streamed; of two inputs the first is thought to be sent
// to all cores at once.
Streams streams_of(const cost::Layer& layer, const hardware::Core& core) {
  Streams s;
  std::size_t most = 0;
  for (const Slot slot : hardware::kSlots) most = std::max(most, levels_of(core, slot));
  const auto operand_in = [&](Slot slot) -> std::optional<std::size_t> {
    for (std::size_t o = 0; o < layer.operands.size(); ++o)
      if (layer.operands[o].slot == slot && levels_of(core, slot) == most) return o;
    return std::nullopt;
  };
  for (const Slot slot : hardware::kSlots)
    if (const auto o = operand_in(slot)) s.counted.push_back(*o);
  s.broadcast = layer.operands.size();
  for (const Slot slot : {Slot::Input, Slot::Weight})
    if (const auto o = operand_in(slot); o && s.broadcast == layer.operands.size()) s.broadcast = *o;
  if (s.counted.size() == 1) s.broadcast = layer.operands.size();
  const Memory* top = s.counted.empty() ? nullptr : highest(core, layer.operands[s.counted[0]].slot);
  for (std::size_t i = 0; top && i < top->ports.size(); ++i)
    s.width = std::max(s.width, static_cast<double>(top->ports[i].max_bits_per_cycle));
  s.beside_output = top && holds(*top, Slot::Output);
  return s;
}

double objective(const cost::Problem& p, const cost::Evaluation& e, const Streams* streams, double parallel) {
  const double latency = std::trunc(e.latency);
  if (!streams || streams->width == 0) return latency;
  double used = 0;
  for (const std::size_t o : streams->counted)
    used += instant_bandwidth(p, e, o, 1, streams->beside_output).sum() * (o == streams->broadcast ? 1 : parallel);
  return std::ceil(used / streams->width) * latency;
}

struct Found {
  cost::Problem problem{};
  std::vector<cost::TemporalLoop> order{};
  cost::Cuts cuts{};
  double value = std::numeric_limits<double>::infinity();
};

// The first of the best orderings of the loops.
std::optional<Found> search(const cost::Layer& layer, const hardware::Core& core, const cost::Spatial& spatial,
                            const Streams* streams, double parallel, std::size_t limit, std::string& reason) {
  Found best;
  best.problem = cost::make_problem(layer, core, spatial, cost::kZigzagQuirks);
  const cost::Problem& p = best.problem;
  const std::vector<cost::TemporalLoop> loops = cost::temporal_loops(p, std::max<std::size_t>(1, limit));
  const auto e = std::make_unique<cost::Evaluation>();
  cost::Misfit misfit;
  bool is_found = false;
  cost::Orderings orderings(p, loops);
  while (orderings.next()) {
    const std::span<const cost::TemporalLoop> order = orderings.current();
    if (!cost::allocate_greedily(p, order, false, e->cuts, misfit)) continue;
    cost::evaluate(p, order, *e);
    const double value = objective(p, *e, streams, parallel);
    if (is_found && !(value < best.value)) continue;
    is_found = true;
    best.value = value;
    best.order.assign(order.begin(), order.end());
    best.cuts = e->cuts;
  }
  if (is_found) return best;
  reason = cost::to_string(misfit, layer, core);
  return std::nullopt;
}

// (C4) Cycles of one operation.
double cycles_per_operation(const std::string& type) {
  return type == "silu" || type == "sigmoid" || type == "exp" ? 4 : 1;
}

}  // namespace

std::vector<Slot> too_large_slots(const StreamLayer& layer, const std::vector<std::int64_t>& sizes,
                                  const hardware::Core& core) {
  std::vector<Slot> out;
  for (const Memory& top : core.memories) {
    struct Kept {
      Slot slot;
      double bits;
    };
    std::vector<Kept> kept;
    for (const Slot slot : top.slots) {
      if (highest(core, slot) != &top) continue;
      for (const StreamLayerOperand& o : layer.operands)
        if (o.slot == slot) kept.push_back({slot, static_cast<double>(operand_bits(layer, o, sizes))});
    }
    const auto sum = [&](std::size_t count) {
      double bits = 0;
      for (std::size_t i = 0; i < count; ++i) bits += kept[i].bits;
      return bits;
    };
    const auto size = static_cast<double>(top.size_bits);
    if (sum(kept.size()) <= size) continue;
    std::stable_sort(kept.begin(), kept.end(), [](const Kept& x, const Kept& y) { return x.bits < y.bits; });
    std::size_t count = kept.size();
    while (count > 0 && sum(count) > size) --count;
    // Those that stay need room beside what the lowest memories of the others take in.
    for (; count > 0; --count) {
      double lowest_bits = 0;
      for (std::size_t i = count; i < kept.size(); ++i)
        if (const Memory* m = lowest(core, kept[i].slot))
          lowest_bits += static_cast<double>(m->size_bits) * static_cast<double>(hardware::instances(*m, core));
      if (size - sum(count) >= std::round(lowest_bits)) break;
    }
    for (std::size_t i = count; i < kept.size(); ++i) out.push_back(kept[i].slot);
  }
  return out;
}

hardware::Core with_streams(const hardware::Core& core, const hardware::Core& offchip, const std::vector<Slot>& slots) {
  hardware::Core out = core;
  if (slots.empty() || offchip.memories.empty() || !core.array) return out;
  Memory memory = offchip.memories.back();
  // Array dimensions go by their names; those it does not know have an off-chip memory for every lane.
  std::vector<std::size_t> served;
  for (const std::size_t s : memory.served_dimensions)
    for (std::size_t a = 0; offchip.array && a < core.array->dimensions.size(); ++a)
      if (core.array->dimensions[a].name == offchip.array->dimensions[s].name) served.push_back(a);
  std::sort(served.begin(), served.end());
  memory.served_dimensions = std::move(served);
  const auto is_streamed = [&](Slot slot) { return std::find(slots.begin(), slots.end(), slot) != slots.end(); };
  memory.slots = slots;
  for (hardware::Port& port : memory.ports) {
    std::erase_if(port.uses, [&](const hardware::PortUse& use) { return !is_streamed(use.slot); });
    // In the order of the slots: it decides which of two equally long first loads is hidden.
    const auto rank = [&](Slot slot) { return std::find(slots.begin(), slots.end(), slot); };
    std::stable_sort(port.uses.begin(), port.uses.end(), [&](const hardware::PortUse& x, const hardware::PortUse& y) {
      return rank(x.slot) < rank(y.slot);
    });
  }
  if (std::any_of(core.memories.begin(), core.memories.end(), [&](const Memory& m) { return m.name == memory.name; }))
    memory.name = "off-chip " + memory.name;
  out.memories.push_back(std::move(memory));
  return out;
}

StreamCost stream_cost(const StreamLayer& layer, const std::vector<std::int64_t>& sizes, bool is_alone,
                       std::int64_t parallel, const hardware::Core& core, const hardware::Core& offchip,
                       const cost::MappingRequest& request, const StreamCostOptions& options) {
  StreamCost out;
  if (!core.array) return {.failure = fmt::format("core '{}' has no array", core.name)};
  std::vector<Slot> slots = too_large_slots(layer, sizes, core);
  if (is_alone) slots.assign(hardware::kSlots.begin(), hardware::kSlots.end());
  const hardware::Core whole = with_streams(core, offchip, slots);
  const cost::Layer tile = cost_layer(layer, sizes);
  // The core's dataflow takes the place of what the mapping says.
  cost::MappingRequest wanted{.name = request.name, .spatial = request.spatial};
  if (!core.unrollings.empty()) {
    wanted.spatial.clear();
    for (std::size_t a = 0; a < core.unrollings.size(); ++a)
      wanted.spatial.emplace_back(core.array->dimensions[a].name, core.unrollings[a]);
  }
  const Streams streams = streams_of(tile, whole);
  std::optional<Found> best;
  try {
    const std::vector<cost::Spatial> spatials =
        cost::spatial_mappings(tile, whole, wanted, {.quirks = cost::kZigzagQuirks}, &out.failure);
    for (const cost::Spatial& spatial : spatials) {
      std::optional<Found> found = search(tile, whole, spatial, slots.empty() ? nullptr : &streams,
                                          static_cast<double>(parallel), options.limit, out.failure);
      if (!found) return out;
      if (!best || found->value < best->value) best = std::move(found);
    }
  } catch (const InputError& error) {
    out.failure = error.diagnostics().empty() ? "the core cannot take it" : error.diagnostics()[0].message;
    return out;
  }
  if (!best) return out;
  out.failure.clear();
  const auto e = std::make_unique<cost::Evaluation>();
  e->cuts = best->cuts;
  best->problem.cycles_per_mac *= cycles_per_operation(layer.type);
  cost::evaluate(best->problem, best->order, *e);
  out.runtime = e->latency;
  out.onchip_pj = e->energy_pj;
  for (std::size_t o = 0; o < tile.operands.size(); ++o) {
    if (std::find(slots.begin(), slots.end(), tile.operands[o].slot) == slots.end()) continue;
    const double energy = e->levels[o][best->problem.operands[o].memories - 1].energy_pj;
    out.offchip_pj += energy;
    out.onchip_pj -= energy;
    const Instant instant =
        instant_bandwidth(best->problem, *e, o, e->temporal_cycles / e->latency, streams.beside_output);
    out.too_large.push_back(
        {tile.operands[o].slot, tile.operands[o].slot == Slot::Output ? instant.write_from_low : instant.read_to_low});
  }
  return out;
}

std::string add_stream_costs(const std::vector<StreamLayer>& layers, const StreamTiling& tiling,
                             const hardware::Hardware& hardware, const cost::MappingFile& mapping,
                             StreamProblem& problem, const StreamCostOptions& options) {
  struct Job {
    const StreamTiledLayer* layer;
    const hardware::Core* core;
    const cost::MappingRequest* request;
    std::int64_t parallel;
  };
  const cost::MappingRequest none;
  std::vector<Job> jobs;
  const auto is_same = [&](const Job& x, const Job& y) {
    const StreamLayer &a = layers[static_cast<std::size_t>(x.layer->layer)],
                      &b = layers[static_cast<std::size_t>(y.layer->layer)];
    return x.parallel == y.parallel && x.layer->is_alone == y.layer->is_alone && a.type == b.type &&
           x.layer->tile_sizes == y.layer->tile_sizes && a.dimensions.size() == b.dimensions.size() &&
           x.request->spatial == y.request->spatial && (x.core == y.core || *x.core == *y.core) &&
           cost_layer(a, x.layer->tile_sizes).operands == cost_layer(b, y.layer->tile_sizes).operands &&
           cost_layer(a, x.layer->tile_sizes).dimensions == cost_layer(b, y.layer->tile_sizes).dimensions;
  };
  std::vector<std::uint32_t> job_of(problem.tiles.size());
  for (const StreamTiledLayer& layer : tiling.layers) {
    const StreamLayer& own = layers[static_cast<std::size_t>(layer.layer)];
    cost::Layer named{.name = own.name, .operator_type = own.operator_type};
    const cost::MappingRequest* request = cost::find_request(mapping.requests, named);
    std::map<std::uint32_t, std::uint32_t> by_core;
    for (std::uint32_t i = layer.first; i < layer.first + layer.tiles; ++i) {
      const StreamTile& tile = problem.tiles[i];
      const auto [at, is_new] = by_core.try_emplace(tile.core, 0);
      if (is_new) {
        const Job job{&layer, &hardware.cores[tile.core], request ? request : &none, tile.split};
        const auto same = std::find_if(jobs.begin(), jobs.end(), [&](const Job& other) { return is_same(job, other); });
        at->second = static_cast<std::uint32_t>(same - jobs.begin());
        if (same == jobs.end()) jobs.push_back(job);
      }
      job_of[i] = at->second;
    }
  }
  std::vector<StreamCost> costs(jobs.size());
  const hardware::Core& offchip = hardware.cores[problem.offchip];
  parallel_for(jobs.size(), options.threads, [&](std::size_t j) {
    const Job& job = jobs[j];
    costs[j] = stream_cost(layers[static_cast<std::size_t>(job.layer->layer)], job.layer->tile_sizes,
                           job.layer->is_alone, job.parallel, *job.core, offchip, *job.request, options);
  });
  for (std::size_t i = 0; i < problem.tiles.size(); ++i) {
    StreamTile& tile = problem.tiles[i];
    const StreamCost& c = costs[job_of[i]];
    if (!c.failure.empty())
      return fmt::format("layer {} '{}' on core {}: {}", tile.layer, layers[static_cast<std::size_t>(tile.layer)].name,
                         tile.core, c.failure);
    tile.runtime = c.runtime;
    tile.onchip_pj = c.onchip_pj;
    tile.offchip_pj = c.offchip_pj;
    for (const StreamCost::Stream& s : c.too_large)
      for (const StreamOperand& o : tile.operands)
        if (problem.slots[o.slot] == (s.slot == Slot::Input ? "I1" : s.slot == Slot::Weight ? "I2" : "O"))
          tile.too_large.push_back({o.slot, s.bits_per_cycle});
  }
  return "";
}

}  // namespace monet::schedule
