#include "monet/cost/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "monet/base/assert.h"
#include "monet/base/diagnostic.h"

namespace monet::cost {
namespace {

using hardware::Core;
using hardware::Direction;
using hardware::Memory;
using hardware::Slot;

[[noreturn]] void refuse(const Layer& layer, std::string message, std::string hint = "") {
  throw InputError(Diagnostic{.where = layer.name, .message = std::move(message), .hint = std::move(hint)});
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
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
    if (o.relevance[d] == Relevance::Relevant) o.relevant.push_back(d);
  if (o.relations.size() > kMaxRelations)
    refuse(layer, fmt::format("operand {} has {} axes along sums of dimensions", operand.name, o.relations.size()));
}

// Elements of the operand in a box of these extents. Windows are counted in whole steps.
double box(const OperandProblem& o, const std::array<double, kMaxDimensions>& extent) {
  double elements = 1;
  for (const std::size_t d : o.relevant) elements *= extent[d];
  for (const Relation& r : o.relations) elements *= distinct(r, std::trunc(extent[r.a]), std::trunc(extent[r.b]));
  return elements;
}

// The factors in the two forms. A dimension that does not divide is spread evenly over its iterations: 56 on 32 lanes
// is two passes of 28.
struct Factors {
  std::vector<std::vector<double>> fractional, integer;  // shaped like Spatial
};

Factors adjusted(const Layer& layer, const Spatial& spatial, const Quirks& quirks) {
  Factors f;
  for (const auto& loops : spatial) {
    f.fractional.emplace_back();
    for (const SpatialLoop& loop : loops) f.fractional.back().push_back(static_cast<double>(loop.factor));
  }
  f.integer = f.fractional;
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d) {
    double largest = 0, before = 1, before_largest = 1;
    std::size_t at = 0, index = 0;
    for (std::size_t a = 0; a < spatial.size(); ++a)
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

// Spatial loops hang below the first memory that is shared along their array dimension.
std::vector<std::size_t> level_of_array_dimension(const OperandProblem& o, const Core& core) {
  const std::size_t count = core.array->dimensions.size();
  std::vector<std::size_t> level(count, o.memories);
  std::vector<bool> taken(count, false);
  for (std::size_t m = 0; m < o.memories; ++m)
    for (const std::size_t a : core.memories[o.memory[m]].served_dimensions)
      if (!taken[a]) {
        taken[a] = true;
        level[a] = m;
      }
  return level;
}

void set_spatial(const Layer& layer, const Core& core, const Spatial& spatial,
                 const std::vector<std::vector<double>>& factors, OperandProblem& o, SpatialLevels& s) {
  const std::vector<std::size_t> level = level_of_array_dimension(o, core);
  const std::size_t levels = o.memories + 1;
  std::array<std::array<double, kMaxDimensions>, kMaxLevels> at{};  // at[l][d]: loops of level l alone
  for (auto& row : at) row.fill(1);
  for (std::size_t a = 0; a < spatial.size(); ++a)
    for (std::size_t i = 0; i < spatial[a].size(); ++i) at[level[a]][spatial[a][i].dimension] *= factors[a][i];
  for (auto& row : s.extent) row.fill(1);
  for (std::size_t l = 0; l < levels; ++l)
    for (std::size_t d = 0; d < layer.dimensions.size(); ++d) s.extent[l + 1][d] = s.extent[l][d] * at[l][d];
  const double all = box(o, s.extent[levels]);
  std::array<double, kMaxLevels + 1> unique{};
  double instances = 1, copies = 1;
  bool reduces = false;
  for (std::size_t l = levels + 1; l-- > 0;) {
    if (l < levels)
      for (std::size_t d = 0; d < layer.dimensions.size(); ++d) {
        instances *= at[l][d];
        if (o.relevance[d] != Relevance::None) continue;
        copies *= at[l][d];
        reduces = reduces || at[l][d] != 1;
      }
    s.instances[l] = std::nearbyint(std::nearbyint(instances * 1000) / 1000);
    s.copies[l] = copies;
    s.reduces_from[l] = reduces;
    unique[l] = all / box(o, s.extent[l]);
    s.relevant[l] = 1;
    for (const std::size_t d : o.relevant) s.relevant[l] *= s.extent[l][d];
  }
  for (std::size_t l = 0; l <= levels; ++l)
    s.boost[l] = l + 1 <= levels ? std::nearbyint(unique[l] / unique[l + 1]) : 1;
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
void set_temporal(const Layer& layer, const Core& core, const Spatial& spatial, const Factors& factors, Problem& p) {
  for (std::size_t d = 0; d < p.dimensions; ++d) p.temporal[d] = p.size[d];
  const OperandProblem& first = p.operands.size() > 1 ? p.operands[1] : p.operands[0];
  const std::vector<std::size_t> level = level_of_array_dimension(first, core);
  for (std::size_t l = 0; l <= first.memories; ++l) {
    std::array<double, kMaxDimensions> at{};
    at.fill(1);
    for (std::size_t a = 0; a < spatial.size(); ++a)
      for (std::size_t i = 0; i < spatial[a].size() && level[a] == l; ++i)
        at[spatial[a][i].dimension] *= factors.fractional[a][i];
    for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
      if (at[d] != 1) p.temporal[d] = std::ceil(p.temporal[d] / at[d]);
  }
}

// Of all instances of all memories.
double leakage_mw(const Core& core) {
  double sum = 0;
  for (const Memory& memory : core.memories) {
    double instances = 1;
    for (std::size_t a = 0; a < core.array->dimensions.size(); ++a)
      if (std::find(memory.served_dimensions.begin(), memory.served_dimensions.end(), a) ==
          memory.served_dimensions.end())
        instances *= static_cast<double>(core.array->dimensions[a].size);
    sum += instances * memory.leakage_mw.value;
  }
  return sum;
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
    for (const work::Dimension& other : layer.dimensions)
      if (other.name < layer.dimensions[d].name) ++p.rank[d];
  }
  p.lanes = 1;
  for (const hardware::ArrayDimension& a : core.array->dimensions) p.lanes *= static_cast<double>(a.size);
  p.mac_pj = core.array->mac_energy_pj.value;
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
  const Factors factors = adjusted(layer, spatial, quirks);
  p.is_integral = factors.fractional == factors.integer;
  for (OperandProblem& o : p.operands) {
    set_spatial(layer, core, spatial, factors.fractional, o, o.fractional);
    set_spatial(layer, core, spatial, factors.integer, o, o.integer);
  }
  set_temporal(layer, core, spatial, factors, p);
  if (!quirks.no_leakage && clock_hz > 0) p.leakage_pj_per_cycle = leakage_mw(core) * 1e9 / clock_hz;
  return p;
}

}  // namespace monet::cost
