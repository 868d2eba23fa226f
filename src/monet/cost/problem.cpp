#include "monet/cost/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "monet/base/assert.h"
#include "monet/base/diagnostic.h"
#include "monet/cost/imc.h"
#include "monet/cost/loop_walk.h"
#include "monet/cost/python_set.h"

namespace monet::cost {
namespace {

using hardware::Core;
using hardware::Direction;
using hardware::Memory;
using hardware::Slot;

[[noreturn]] void refuse(const Layer& layer, std::string message, std::string hint = "") {
  throw InputError(Diagnostic{.where = layer.name, .message = std::move(message), .hint = std::move(hint)});
}

// Where offset + step · i lies in what is stored; of several axes along a dimension, in all of them.
void set_stored(const Layer& layer, const Operand& operand, OperandProblem& o) {
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
    o.stored_to[d] = static_cast<double>(layer.dimensions[d].size);
  for (const work::Axis& axis : operand.axes) {
    if (axis.terms.size() != 1 || axis.terms[0].coefficient == 0) continue;
    const std::size_t d = axis.terms[0].dimension;
    const auto step = static_cast<double>(axis.terms[0].coefficient), offset = static_cast<double>(axis.offset);
    const double at_start = -offset / step, at_end = (static_cast<double>(axis.extent) - 1 - offset) / step;
    o.stored_from[d] = std::max(o.stored_from[d], std::ceil(std::min(at_start, at_end)));
    o.stored_to[d] = std::min(o.stored_to[d], std::floor(std::max(at_start, at_end)) + 1);
  }
}

void set_relevance(const Layer& layer, const Operand& operand, const Quirks& quirks, OperandProblem& o) {
  for (const work::Axis& axis : operand.axes) {
    std::vector<work::Term> terms;
    for (const work::Term& term : axis.terms) terms.push_back(term);
    if (terms.size() > 2)
      refuse(layer, fmt::format("operand {} has an axis along {} dimensions", operand.name, terms.size()),
             "the model takes sums of at most two");
    if (terms.size() == 1) {
      o.relevance[terms[0].dimension] = Relevance::Relevant;
    } else if (terms.size() == 2) {
      const std::int64_t g = std::gcd(terms[0].coefficient, terms[1].coefficient);
      o.relations.push_back({.a = terms[0].dimension,
                             .b = terms[1].dimension,
                             .step_a = terms[0].coefficient,
                             .step_b = terms[1].coefficient,
                             .offset = axis.offset,
                             .reduced_a = static_cast<double>(std::abs(terms[0].coefficient / g)),
                             .reduced_b = static_cast<double>(std::abs(terms[1].coefficient / g)),
                             .extent = static_cast<double>(axis.extent),
                             .negative_overlap = quirks.negative_overlap});
      for (const work::Term& term : terms) o.relevance[term.dimension] = Relevance::Partial;
    }
  }
  for (const work::Axis& axis : operand.axes)
    if (axis.terms.size() == 1 && o.relevance[axis.terms[0].dimension] == Relevance::Relevant &&
        std::find(o.relevant.begin(), o.relevant.end(), axis.terms[0].dimension) == o.relevant.end())
      o.relevant.push_back(axis.terms[0].dimension);
  // A loop of one iteration neither changes an operand nor comes back to it.
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
    if (layer.dimensions[d].size == 1 && o.relevance[d] == Relevance::None) o.relevance[d] = Relevance::Partial;
  for (const Relation& r : o.relations)
    if (r.extent == 0 || (r.extent < 0 && !quirks.uniform_tiles))
      refuse(layer, fmt::format("operand {} stores nothing: padding is all of it", operand.name));
  set_stored(layer, operand, o);
  if (o.relations.size() > kMaxRelations)
    refuse(layer, fmt::format("operand {} has {} axes along sums of dimensions", operand.name, o.relations.size()));
}

// The factors in the two forms. A dimension that does not divide is spread evenly over its iterations: 56 on 32 lanes
// is two passes of 28.
struct SpatialFactors {
  std::vector<std::vector<double>> fractional, integer;  // shaped like Spatial
};

// Array dimensions in the order of the request.
std::vector<std::size_t> by_turn(const Spatial& spatial) {
  std::vector<std::size_t> order(spatial.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto turn = [&](std::size_t a) { return spatial[a].empty() ? 0 : spatial[a][0].turn; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return turn(x) < turn(y); });
  return order;
}

SpatialFactors adjusted(const Layer& layer, const Spatial& spatial, const Quirks& quirks) {
  SpatialFactors f;
  const std::vector<std::size_t> order = by_turn(spatial);
  for (const auto& loops : spatial) {
    f.fractional.emplace_back();
    for (const SpatialLoop& loop : loops) f.fractional.back().push_back(static_cast<double>(loop.factor));
  }
  f.integer = f.fractional;
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d) {
    double largest = 0, before = 1, before_largest = 1;
    std::size_t at = 0, index = 0;
    for (const std::size_t a : order)
      for (std::size_t i = 0; i < spatial[a].size(); ++i) {
        if (spatial[a][i].dimension != d) continue;
        const auto factor = static_cast<double>(spatial[a][i].factor);
        if (factor > largest) {
          largest = factor;
          before_largest = before;
          at = a;
          index = i;
        }
        before *= factor;
      }
    if (largest == 0) continue;
    const auto size = static_cast<double>(layer.dimensions[d].size);
    const double passes = std::ceil(size / (largest * before_largest));
    const double even = size / passes / before_largest;
    f.fractional[at][index] = even;
    // The hardware has no part of a lane: what is left over is a pass of fewer lanes.
    f.integer[at][index] = quirks.fractional_unrolling ? std::trunc(even) : std::ceil(even);
    if (!quirks.fractional_unrolling) f.fractional[at][index] = f.integer[at][index];
  }
  return f;
}

// The loops of each level: they hang below the first memory that is shared along their array dimension. Array
// dimensions that a memory serves come in its order (quirk: that of a Python set), the rest in the order of the
// request; a dimension on several of them is one loop.
void set_steps(const Core& core, const Spatial& spatial, const std::vector<std::vector<double>>& factors,
               const Quirks& quirks, const OperandProblem& o, SpatialLevels& s) {
  std::vector<bool> taken(spatial.size(), false);
  const auto put = [&](std::size_t a, std::size_t l) {
    if (taken[a]) return;
    taken[a] = true;
    for (std::size_t i = 0; i < spatial[a].size(); ++i) {
      const auto d = static_cast<std::uint32_t>(spatial[a][i].dimension);
      const auto same = std::find_if(s.steps.begin() + s.first[l], s.steps.end(),
                                     [&](const SpatialStep& step) { return step.dimension == d; });
      if (same == s.steps.end())
        s.steps.push_back({.dimension = d, .factor = factors[a][i]});
      else
        same->factor *= factors[a][i];
    }
  };
  for (std::size_t m = 0; m < o.memories; ++m) {
    const std::vector<std::size_t>& served = core.memories[o.memory[m]].served_dimensions;
    if (quirks.set_order) {
      std::vector<std::string> names;
      for (const std::size_t a : served) names.push_back(core.array->dimensions[a].name);
      for (const std::size_t i : python_set_order(PythonClass::OADimension, names)) put(served[i], m);
    } else {
      for (const std::size_t a : served) put(a, m);
    }
    s.first[m + 1] = static_cast<std::uint32_t>(s.steps.size());
  }
  for (const std::size_t a : by_turn(spatial)) put(a, o.memories);
  for (std::size_t l = o.memories + 1; l < s.first.size(); ++l) s.first[l] = static_cast<std::uint32_t>(s.steps.size());
}

// To three decimals, exactly: what is left of errors of multiplication must not decide how halves round.
double to_thousandths(double x) {
  const std::string text = fmt::format("{:.3f}", x);
  double rounded = 0;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

void set_spatial(const Core& core, const Spatial& spatial, const std::vector<std::vector<double>>& factors,
                 const Quirks& quirks, OperandProblem& o, SpatialLevels& s) {
  set_steps(core, spatial, factors, quirks, o, s);
  const std::size_t levels = o.memories + 1;
  std::array<LoopProducts, kMaxLevels> at{};
  LoopWalk walk(o);
  for (auto& row : s.extent) row.fill(1);
  for (std::size_t l = 0; l < levels; ++l) {
    s.extent[l + 1] = s.extent[l];
    for (std::size_t i = s.first[l]; i < s.first[l + 1]; ++i) {
      s.extent[l + 1][s.steps[i].dimension] *= s.steps[i].factor;
      walk.step(s.steps[i].dimension, s.steps[i].factor, at[l]);
    }
  }
  std::array<double, kMaxLevels + 1> unique{};
  for (std::size_t l = 0; l <= levels; ++l) {
    double instances = 1;
    unique[l] = s.copies[l] = 1;
    for (std::size_t k = l; k < levels; ++k) {
      instances *= at[k].all;
      unique[l] *= at[k].relevant;
    }
    s.instances[l] = std::nearbyint(to_thousandths(instances));
    for (std::size_t i = s.first[l]; i < s.steps.size(); ++i) {
      if (o.relevance[s.steps[i].dimension] != Relevance::None) continue;
      s.copies[l] *= s.steps[i].factor;
      s.reduces_from[l] = s.reduces_from[l] || s.steps[i].factor != 1 || quirks.greedy_allocation;
    }
    s.relevant[l] = 1;
    for (const std::size_t d : o.relevant) s.relevant[l] *= s.extent[l][d];
  }
  for (std::size_t l = 0; l <= levels; ++l)
    s.boost[l] = l + 1 <= levels ? std::nearbyint(unique[l] / unique[l + 1]) : 1;
  if (!quirks.uniform_tiles) return;
  for (const SpatialStep& step : s.steps)
    if (o.relevance[step.dimension] != Relevance::None && step.factor != std::trunc(step.factor)) o.by_loop = true;
  for (const Relation& r : o.relations)
    if (r.extent < 1) o.by_loop = true;
}

void set_memories(const Layer& layer, const Core& core, Problem& p, std::vector<std::vector<std::uint32_t>>& port_ids) {
  for (std::size_t m = 0; m < core.memories.size(); ++m) {
    const Memory& memory = core.memories[m];
    p.memories.push_back({.size_bits = static_cast<double>(memory.size_bits),
                          .read_pj = memory.read_energy_pj.value,
                          .write_pj = memory.write_energy_pj.value});
    if (!p.quirks.ignored_memory_options) {
      p.memories[m].latency = static_cast<double>(memory.latency_cycles);
      p.memories[m].always_doubles = memory.buffering == hardware::Buffering::Double;
    }
    port_ids.emplace_back();
    for (std::size_t i = 0; i < memory.ports.size(); ++i) {
      bool first = false, second = false;
      for (const hardware::PortUse& use : memory.ports[i].uses) {
        first = first || use.slot == Slot::Input;
        second = second || use.slot == Slot::Weight;
      }
      port_ids.back().push_back(static_cast<std::uint32_t>(p.ports.size()));
      p.ports.push_back({.memory = m,
                         .port = i,
                         .max_bits = static_cast<double>(memory.ports[i].max_bits_per_cycle),
                         .serves_both_inputs = first && second});
    }
    for (const Slot slot : memory.slots)
      for (std::size_t o = 0; o < layer.operands.size(); ++o) {
        if (layer.operands[o].slot != slot) continue;
        OperandProblem& operand = p.operands[o];
        if (operand.memories == kMaxMemories)
          refuse(layer, fmt::format("core '{}' has more than {} memories for operand {}", core.name, kMaxMemories,
                                    layer.operands[o].name));
        p.memories[m].operands.push_back(o);
        p.memories[m].level.push_back(operand.memories);
        operand.memory[operand.memories++] = m;
      }
  }
}

void set_ports(const Core& core, const Layer& layer, const std::vector<std::vector<std::uint32_t>>& port_ids,
               Problem& p) {
  for (std::size_t m = 0; m < core.memories.size(); ++m)
    for (std::size_t i = 0; i < core.memories[m].ports.size(); ++i) {
      const hardware::Port& port = core.memories[m].ports[i];
      for (const hardware::PortUse& use : port.uses)
        for (std::size_t k = 0; k < p.memories[m].operands.size(); ++k) {
          const std::size_t o = p.memories[m].operands[k], level = p.memories[m].level[k];
          if (layer.operands[o].slot != use.slot) continue;
          const auto direction = static_cast<std::size_t>(use.direction);
          p.operands[o].ports[level][direction] = {.port = port_ids[m][i],
                                                   .min_bits = static_cast<double>(port.min_bits_per_cycle),
                                                   .max_bits = static_cast<double>(port.max_bits_per_cycle)};
          p.ports[port_ids[m][i]].users.push_back({.operand = static_cast<std::uint32_t>(o),
                                                   .level = static_cast<std::uint32_t>(level),
                                                   .direction = static_cast<std::uint32_t>(direction)});
        }
    }
}

// What is left of each dimension when the spatial loops are taken out one after the other.
void set_temporal(Problem& p) {
  for (std::size_t d = 0; d < p.dimensions; ++d) p.temporal[d] = p.size[d];
  for (const SpatialStep& step : p.operands[1].fractional.steps)
    if (p.temporal[step.dimension] > 1)
      p.temporal[step.dimension] = std::ceil(p.temporal[step.dimension] / step.factor);
}

// The narrowest number format of the array that holds the wider of the inputs; none: what the array does in any.
const hardware::MacCost* mac_format(const Layer& layer, const hardware::Array& array) {
  double wanted = 0;
  for (const Operand& operand : layer.operands)
    if (operand.slot != Slot::Output) wanted = std::max(wanted, operand.bits);
  const hardware::MacCost* best = nullptr;
  for (const hardware::MacCost& format : array.formats)
    if (bits(format.multiplicand) >= wanted && (!best || bits(format.multiplicand) < bits(best->multiplicand)))
      best = &format;
  return best;
}

}  // namespace

Problem make_problem(const Layer& layer, const Core& core, const Spatial& spatial, const Quirks& quirks,
                     double clock_hz) {
  if (!core.array) refuse(layer, fmt::format("core '{}' has no array", core.name));
  if (layer.dimensions.size() > kMaxDimensions)
    refuse(layer, fmt::format("{} dimensions, at most {} are modelled", layer.dimensions.size(), kMaxDimensions));
  MONET_ASSERT(layer.operands.size() >= 2 && layer.operands.size() <= kMaxOperands, "one output, one or two inputs");
  MONET_ASSERT(spatial.size() == core.array->dimensions.size(), "one list of loops per array dimension");
  Problem p;
  p.quirks = quirks;
  p.dimensions = layer.dimensions.size();
  p.macs = 1;
  for (std::size_t d = 0; d < p.dimensions; ++d) {
    p.size[d] = static_cast<double>(layer.dimensions[d].size);
    p.macs *= p.size[d];
    if (layer.dimensions[d].size < 1)
      refuse(layer, fmt::format("dimension {} has {} iterations", layer.dimensions[d].name, layer.dimensions[d].size));
    for (const work::Dimension& other : layer.dimensions)
      if (other.name < layer.dimensions[d].name) ++p.rank[d];
  }
  p.lanes = 1;
  for (const hardware::ArrayDimension& a : core.array->dimensions) p.lanes *= static_cast<double>(a.size);
  if (p.lanes < 1) refuse(layer, fmt::format("the array of core '{}' has no lanes", core.name));
  // Accesses and cycles are counted in 64 bits; a word of 64 bits for each multiplication leaves room enough.
  if (p.macs > 0x1p56) refuse(layer, fmt::format("{:.3g} multiplications, at most 2^56 are modelled", p.macs));
  p.mac_pj = core.array->mac_energy_pj.value;
  if (const hardware::MacCost* format = mac_format(layer, *core.array)) {
    p.mac_pj = format->energy_pj.value;
    p.cycles_per_mac = static_cast<double>(format->cycles);
  }
  if (core.array->imc) {
    p.cycles_per_mac = static_cast<double>(core.array->imc->activation_bits) /
                       static_cast<double>(std::max<std::int64_t>(core.array->imc->serial_bits, 1));
    // A figure that the file gives wins.
    if (p.mac_pj == 0 || quirks.fractional_unrolling)
      p.mac_pj = total(imc_energy(*core.array, layer, spatial)) / p.macs;
  }
  p.starts_from_stored = layer.starts_from_stored;
  for (const Operand& operand : layer.operands) {
    OperandProblem o;
    o.is_output = operand.slot == Slot::Output;
    o.bits = operand.bits;
    o.partial_bits = operand.partial_bits;
    set_relevance(layer, operand, quirks, o);
    p.operands.push_back(std::move(o));
  }
  std::vector<std::vector<std::uint32_t>> port_ids;
  set_memories(layer, core, p, port_ids);
  for (std::size_t o = 0; o < p.operands.size(); ++o)
    if (p.operands[o].memories == 0)
      refuse(layer, fmt::format("core '{}' has no memory for operand {}", core.name, layer.operands[o].name));
  set_ports(core, layer, port_ids, p);
  const SpatialFactors factors = adjusted(layer, spatial, quirks);
  p.is_integral = factors.fractional == factors.integer;
  for (OperandProblem& o : p.operands) {
    set_spatial(core, spatial, factors.fractional, quirks, o, o.fractional);
    set_spatial(core, spatial, factors.integer, quirks, o, o.integer);
  }
  set_temporal(p);
  for (OperandProblem& o : p.operands) o.reads_first = o.is_output && layer.starts_from_stored && !quirks.uniform_tiles;
  if (!quirks.no_leakage && clock_hz > 0) p.leakage_pj_per_cycle = leakage_mw(core) * 1e9 / clock_hz;
  return p;
}

}  // namespace monet::cost
