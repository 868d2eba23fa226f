#include "monet/verbs/silicon_effects.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace monet {
namespace {

using schedule::Problem;
using schedule::Tiled;

constexpr double kAtOnce = 1e15;                           // bytes a cycle
constexpr std::int64_t kEndless = std::int64_t{1} << 60;   // bytes
constexpr std::int64_t kWidePort = std::int64_t{1} << 36;  // bits a cycle

// Cycles of each kind of tile with every lane of the mapping busy and nothing to wait for.
std::vector<double> array_cycles(const schedule::TilingInput& in, const Tiled& tiled) {
  std::vector<double> out;
  cost::Cache own;
  cost::Cache& cache = in.costs.cache != nullptr ? *in.costs.cache : own;
  for (const schedule::TileKind& kind : tiled.kinds) {
    const hardware::Core& core = in.chip.cores[kind.core].core;
    if (std::holds_alternative<work::LoopNest>(kind.work)) {
      double cycles = 0;
      for (const cost::Layer& layer : kind.layers) {
        const cost::MapResult found = cache.map(layer, core, {}, in.costs.map);
        cycles += found.mapped ? found.mapped->evaluation.temporal_cycles : kind.cost.cycles;
      }
      out.push_back(cycles);
    } else {
      out.push_back(cost::vector_cost(std::get<work::VectorWork>(kind.work), core).compute_cycles);
    }
  }
  return out;
}

double busiest(const Problem& problem) {
  std::vector<double> busy(problem.machine.units.size(), 0);
  for (const schedule::Tile& tile : problem.tiles) busy[tile.unit.index()] += tile.cycles;
  return busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
}

void move_at_once(Problem& problem) {
  for (schedule::Channel& channel : problem.machine.channels) channel.bytes_per_cycle = kAtOnce;
  for (schedule::Store& store : problem.machine.stores) store.bytes_per_cycle = kAtOnce;
}

void separate_ports(Problem& problem) {
  for (schedule::Tile& tile : problem.tiles) tile.demands = 0;
  for (schedule::Store& store : problem.machine.stores) store.fill = store.drain = std::nullopt;
}

void hold_everything(Problem& problem) {
  for (schedule::Store& store : problem.machine.stores) store.bytes = std::max(store.bytes, kEndless);
}

double cycles_of(const Problem& problem) {
  const schedule::Scheduled found = schedule::schedule(problem);
  const auto* timeline = std::get_if<schedule::Timeline>(&found);
  return timeline == nullptr ? 0 : timeline->cycles;
}

}  // namespace

std::vector<Effect> effects_of(const schedule::TilingInput& input, const schedule::Evaluation& result) {
  std::vector<Effect> out;
  const std::vector<double> ideal = array_cycles(input, result.tiled);
  Problem kept = result.tiled.problem;
  separate_ports(kept);
  Problem bare = kept;
  hold_everything(bare);
  Problem arrays = bare;
  move_at_once(arrays);
  for (std::size_t t = 0; t < arrays.tiles.size(); ++t) arrays.tiles[t].cycles = ideal[result.tiled.tiles[t].kind];
  out.push_back({"busiest core, lanes alone", busiest(arrays)});
  out.push_back({"busiest core, with ports, fill and drain", busiest(bare)});
  out.push_back({"lanes alone, with dependencies", cycles_of(arrays)});
  Problem linked = bare;
  move_at_once(linked);
  out.push_back({"+ ports, fill and drain", cycles_of(linked)});
  out.push_back({"+ transfers", cycles_of(bare)});
  out.push_back({"+ finite memories", cycles_of(kept)});
  out.push_back({"+ shared ports", result.latency});
  return out;
}

double cycles_in_turns(const schedule::Evaluation& result) {
  Problem problem = result.tiled.problem;
  const schedule::StoreId home = problem.machine.home;
  for (const schedule::Transfer& t : result.timeline.transfers)
    if (t.from == home || t.to == home) problem.tiles[t.tile.index()].cycles += t.passed - t.start;
  hold_everything(problem);
  move_at_once(problem);
  separate_ports(problem);
  return cycles_of(problem);
}

double cycles_with_free_weights(const schedule::TilingInput& input) {
  plan::Chip chip = input.chip;
  for (plan::CoreOnChip& core : chip.cores)
    for (hardware::Memory& memory : core.core.memories)
      for (hardware::Port& port : memory.ports)
        if (std::all_of(port.uses.begin(), port.uses.end(),
                        [](const hardware::PortUse& use) { return use.slot == hardware::Slot::Weight; }))
          port.max_bits_per_cycle = port.min_bits_per_cycle = kWidePort;
  const auto evaluated = schedule::evaluate({.graph = input.graph,
                                             .storage = input.storage,
                                             .facts = input.facts,
                                             .chip = chip,
                                             .hardware = input.hardware,
                                             .decided = input.decided,
                                             .costs = input.costs,
                                             .iterations = input.iterations},
                                            schedule::Detail::Figures);
  const auto* found = std::get_if<schedule::Evaluation>(&evaluated);
  return found == nullptr ? 0 : found->latency;
}

}  // namespace monet
