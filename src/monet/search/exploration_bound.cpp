#include "monet/search/exploration_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "monet/base/diagnostic.h"
#include "monet/cost/vector.h"
#include "monet/graph/lower.h"

namespace monet::search {
namespace {

double bytes_of(const Tensor& t) { return static_cast<double>(bits(t)) / kBitsPerByte; }

// The first core of each kind: those that differ in their name alone cost the same.
std::vector<std::size_t> kinds_of(const plan::Chip& chip) {
  std::vector<std::size_t> kinds;
  for (std::size_t c = 0; c < chip.cores.size(); ++c) {
    const bool is_new = std::none_of(kinds.begin(), kinds.end(), [&](std::size_t k) {
      hardware::Core other = chip.cores[k].core;
      other.name = chip.cores[c].core.name;
      return other == chip.cores[c].core;
    });
    if (is_new) kinds.push_back(c);
  }
  return kinds;
}

double lanes_of(const hardware::Array& array) {
  double lanes = 1;
  for (const hardware::ArrayDimension& d : array.dimensions) lanes *= static_cast<double>(d.size);
  return lanes;
}

// A MAC of the cheapest format, and the fewest cycles of one.
double cheapest_mac(const hardware::Array& array) {
  double pj = array.formats.empty() ? array.mac_energy_pj.value : std::numeric_limits<double>::infinity();
  for (const hardware::MacCost& mac : array.formats) pj = std::min(pj, mac.energy_pj.value);
  return array.imc ? 0 : std::min(pj, array.mac_energy_pj.value);
}

// Cycles that a channel is busy at the least, of those that every way to or from home passes.
double busiest_channel(const plan::Machine& machine, double read_bytes, double written_bytes) {
  double most = 0;
  for (std::uint32_t c = 0; c < machine.channels.size(); ++c) {
    bool in_all_reads = true, in_all_writes = true, is_any = false;
    for (std::uint32_t s = 0; s < machine.stores.size(); ++s) {
      if (plan::StoreId{s} == machine.home) continue;
      const auto passes = [&](const plan::Route& route) {
        return !route.exists ||
               std::find(route.channels.begin(), route.channels.end(), plan::ChannelId{c}) != route.channels.end();
      };
      is_any = true;
      in_all_reads = in_all_reads && passes(machine.route(machine.home, plan::StoreId{s}));
      in_all_writes = in_all_writes && passes(machine.route(plan::StoreId{s}, machine.home));
    }
    if (!is_any) continue;
    const double bytes = (in_all_reads ? read_bytes : 0) + (in_all_writes ? written_bytes : 0);
    most = std::max(most, bytes / machine.channels[c].bytes_per_cycle);
  }
  return most;
}

}  // namespace

Demand demand_of(const Subject& subject) {
  const Graph& graph = subject.graph;
  std::vector<bool> is_made(graph.tensors.size(), false), is_read(graph.tensors.size(), false),
      is_written(graph.tensors.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const plan::Facts& facts = subject.facts[n];
    for (const TensorId t : node.outputs) {
      if (t == kNoTensor) continue;
      is_made[t.index()] = true;
      if (!facts.is_view) is_written[subject.storage->root(t).index()] = true;
    }
    if (facts.is_view) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (const TensorId t = node.inputs[i]; t != kNoTensor && facts.inputs[i].is_there && facts.inputs[i].is_read &&
                                             !facts.inputs[i].is_looked_up && subject.storage->root(t) == t)
        is_read[t.index()] = true;
  }
  std::vector<bool> ends(graph.tensors.size(), false);
  for (const TensorId t : graph.outputs) ends[subject.storage->root(t).index()] = true;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t)
    if (graph.tensors[t].overwrites != kNoTensor) ends[subject.storage->root(TensorId{t}).index()] = true;
  Demand out;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const bool is_vector = !subject.facts[n].is_view && !subject.facts[n].is_nest;
    out.works.push_back(is_vector ? lower(graph, graph.nodes[n]) : work::Work{});
  }
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (subject.storage->root(TensorId{t}) != TensorId{t}) continue;
    // Of inputs a stride may leave parts unread; weights and states are read whole.
    const bool is_whole = tensor.category == Category::Weight || tensor.category == Category::OptimizerState;
    if (!is_made[t] && is_read[t] && is_whole) out.read_bytes += bytes_of(tensor);
    const bool is_state = !is_made[t] && is_whole;
    if (is_state && ends[t] && is_written[t]) out.written_bytes += bytes_of(tensor);
  }
  return out;
}

LowerBound lower_bound(const Subject& subject, const Demand& demand, const plan::Chip& chip) {
  const std::vector<std::size_t> kinds = kinds_of(chip);
  // A core that has its operands at home takes them past all stores; what it reads is in the cost of its tiles.
  const bool has_core_at_home = std::any_of(chip.cores.begin(), chip.cores.end(), [&](const plan::CoreOnChip& core) {
    return std::find(core.stores.begin(), core.stores.end(), chip.machine.home) != core.stores.end();
  });
  const double read_bytes = has_core_at_home ? 0 : demand.read_bytes;
  const double written_bytes = has_core_at_home ? 0 : demand.written_bytes;
  const plan::Store& home = chip.machine.stores[chip.machine.home.index()];
  LowerBound out{.energy_pj = read_bytes * home.read_pj_per_byte + written_bytes * home.write_pj_per_byte};
  // All arrays together are no faster than the sum of their lanes; vector units no faster than the best one for each
  // work, as often as there are units.
  double lanes = 0, units = 0, macs = 0, vector_cycles = 0;
  for (const plan::CoreOnChip& core : chip.cores) {
    if (core.core.array) lanes += lanes_of(*core.core.array);
    if (core.vector) units += 1;
  }
  for (std::size_t n = 0; n < subject.graph.nodes.size(); ++n) {
    const plan::Facts& facts = subject.facts[n];
    if (facts.is_view) continue;
    double least_cycles = std::numeric_limits<double>::infinity(), least_pj = least_cycles;
    for (const std::size_t k : kinds) {
      const plan::CoreOnChip& core = chip.cores[k];
      if (!takes(core, facts)) continue;
      if (facts.is_nest) {
        least_cycles = 0;
        least_pj = std::min(least_pj, facts.operations * cheapest_mac(*core.core.array));
        continue;
      }
      try {
        const cost::VectorCost c = cost::vector_cost(std::get<work::VectorWork>(demand.works[n]), core.core);
        least_cycles = std::min(least_cycles, c.latency - c.fill_cycles);
        least_pj = std::min(least_pj, c.compute_energy_pj + c.memory_energy_pj);
      } catch (const InputError&) {
        // Another core may do it.
      }
    }
    if (std::isinf(least_pj)) continue;  // nobody takes it: not possible, which is for the evaluation to say
    out.energy_pj += least_pj;
    if (facts.is_nest)
      macs += facts.operations;
    else
      vector_cycles += least_cycles;
  }
  out.latency_cycles = busiest_channel(chip.machine, read_bytes, written_bytes);
  if (lanes > 0) out.latency_cycles = std::max(out.latency_cycles, macs / lanes);
  if (units > 0) out.latency_cycles = std::max(out.latency_cycles, vector_cycles / units);
  out.energy_pj += out.latency_cycles * chip.leakage_pj_per_cycle;
  return out;
}

}  // namespace monet::search
