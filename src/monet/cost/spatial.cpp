#include "monet/cost/spatial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "monet/base/assert.h"
#include "monet/cost/python_set.h"
#include "monet/cost/unrolling_search.h"

namespace monet::cost {
namespace {

using hardware::Core;
using hardware::Direction;
using hardware::Memory;
using hardware::Slot;

using Loops = std::vector<SpatialLoop>;
using Limits = std::vector<std::vector<std::int64_t>>;  // per array dimension and layer dimension

// The operands whose loops a memory limits: those it is the lowest of. Quirk: all or none, none if any of its operands
// has another memory below.
std::vector<const Operand*> limited_operands(const Layer& layer, const Core& core, std::size_t m, bool all_or_none) {
  const Memory& memory = core.memories[m];
  const auto has_lower = [&](Slot slot) {
    return std::any_of(core.memories.begin(), core.memories.begin() + static_cast<std::ptrdiff_t>(m),
                       [&](const Memory& lower) { return holds(lower, slot); });
  };
  std::vector<const Operand*> found;
  if (all_or_none && std::any_of(memory.slots.begin(), memory.slots.end(), has_lower)) return found;
  for (const Slot slot : memory.slots)
    for (const Operand& operand : layer.operands)
      if (operand.slot == slot && !has_lower(slot)) found.push_back(&operand);
  return found;
}

// A loop of one iteration counts as if it changed the operand.
bool changes(const Layer& layer, const Operand& operand, std::size_t dimension) {
  for (const work::Axis& axis : operand.axes)
    for (const work::Term& term : axis.terms)
      if (term.dimension == dimension) return true;
  return layer.dimensions[dimension].size == 1;
}

double element_bits(const Operand& operand) {
  return operand.slot == Slot::Output ? operand.partial_bits : operand.bits;
}

std::optional<std::int64_t> bandwidth_to_array(const Memory& memory, const Operand& operand) {
  const Direction wanted = operand.slot == Slot::Output ? Direction::WriteFromLow : Direction::ReadToLow;
  for (const hardware::Port& port : memory.ports)
    for (const hardware::PortUse& use : port.uses)
      if (use.slot == operand.slot && use.direction == wanted) return port.max_bits_per_cycle;
  return std::nullopt;
}

// The largest factor of each layer dimension on each array dimension. Without the quirk at least one lane is served,
// if slowly.
Limits factor_limits(const Layer& layer, const Core& core, bool quirk) {
  Limits limit;
  for (const hardware::ArrayDimension& a : core.array->dimensions) {
    limit.emplace_back();
    for (const work::Dimension& d : layer.dimensions) limit.back().push_back(std::min(d.size, a.size));
  }
  for (std::size_t m = 0; m < core.memories.size(); ++m)
    for (const Operand* operand : limited_operands(layer, core, m, quirk)) {
      const std::optional<std::int64_t> bandwidth = bandwidth_to_array(core.memories[m], *operand);
      if (element_bits(*operand) <= 0 || !bandwidth) continue;
      auto most = static_cast<std::int64_t>(std::floor(static_cast<double>(*bandwidth) / element_bits(*operand)));
      if (!quirk) most = std::max<std::int64_t>(most, 1);
      for (const std::size_t a : core.memories[m].served_dimensions)
        for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
          if (changes(layer, *operand, d)) limit[a][d] = std::min(limit[a][d], most);
    }
  return limit;
}

std::optional<std::size_t> dimension_named(const Layer& layer, const std::string& name) {
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
    if (layer.dimensions[d].name == name) return d;
  return std::nullopt;
}

std::optional<std::size_t> array_dimension_named(const Core& core, const std::string& name) {
  for (std::size_t a = 0; a < core.array->dimensions.size(); ++a)
    if (core.array->dimensions[a].name == name) return a;
  return std::nullopt;
}

// Which of some layer dimensions (array dimensions) comes first out of a set of them.
std::size_t first_of(const Layer& layer, const Loops& loops) {
  std::vector<std::string> names;
  for (const SpatialLoop& loop : loops) names.push_back(layer.dimensions[loop.dimension].name);
  return python_set_order(PythonClass::LayerDim, names)[0];
}

std::vector<std::size_t> set_of(const Core& core, const std::vector<std::size_t>& array_dimensions) {
  std::vector<std::string> names;
  std::vector<std::size_t> in_order;
  for (const std::size_t a : array_dimensions) names.push_back(core.array->dimensions[a].name);
  for (const std::size_t i : python_set_order(PythonClass::OADimension, names)) in_order.push_back(array_dimensions[i]);
  return in_order;
}

double product(const Loops& loops) {
  double all = 1;
  for (const SpatialLoop& loop : loops) all *= static_cast<double>(loop.factor);
  return all;
}

double total_of(const Spatial& spatial, std::size_t dimension) {
  double total = 1;
  for (const Loops& loops : spatial)
    for (const SpatialLoop& loop : loops)
      if (loop.dimension == dimension) total *= static_cast<double>(loop.factor);
  return total;
}

// What the request gives, and which array dimensions it leaves open.
struct Given {
  Spatial loops{};
  std::vector<std::size_t> order{};  // array dimensions as in the request
};

Given read_request(const Layer& layer, const Core& core, const MappingRequest& request, const Limits& limit,
                   bool quirk) {
  Given given;
  given.loops.resize(core.array->dimensions.size());
  for (const auto& [name, unrollings] : request.spatial) {
    const std::optional<std::size_t> a = array_dimension_named(core, name);
    if (!a || std::find(given.order.begin(), given.order.end(), *a) != given.order.end()) continue;
    const auto turn = static_cast<std::uint32_t>(given.order.size());
    given.order.push_back(*a);
    Loops& loops = given.loops[*a];
    for (const hardware::Unrolling& u : unrollings) {
      const std::optional<std::size_t> d = dimension_named(layer, u.dimension);
      if (!d) continue;
      const std::int64_t most = limit[*a][*d], least = quirk ? 0 : 1;
      const std::int64_t factor = std::max(least, std::min(u.factor, most));
      const auto same = std::find_if(loops.begin(), loops.end(), [&](const auto& l) { return l.dimension == *d; });
      if (same == loops.end())
        loops.push_back({.dimension = *d, .factor = factor, .turn = turn});
      else
        same->factor = quirk ? factor : factor > most / same->factor ? most : factor * same->factor;
    }
  }
  return given;
}

// Whole loops go until the rest fits the array dimension and the layer's.
void reduce_as_sets(const Layer& layer, const Core& core, Given& given) {
  for (const std::size_t a : given.order) {
    Loops& loops = given.loops[a];
    while (product(loops) > static_cast<double>(core.array->dimensions[a].size))
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(first_of(layer, loops)));
  }
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
    while (total_of(given.loops, d) > static_cast<double>(layer.dimensions[d].size)) {
      std::vector<std::size_t> having;
      const auto is_d = [&](const SpatialLoop& loop) { return loop.dimension == d; };
      for (const std::size_t a : set_of(core, given.order))
        if (std::any_of(given.loops[a].begin(), given.loops[a].end(), is_d)) having.push_back(a);
      std::erase_if(given.loops[set_of(core, having)[0]], is_d);
    }
}

// Loops are cut, those given last first.
void reduce_in_order(const Layer& layer, const Core& core, Given& given) {
  std::vector<std::int64_t> left;
  for (const work::Dimension& d : layer.dimensions) left.push_back(d.size);
  for (const std::size_t a : given.order) {
    std::int64_t lanes = core.array->dimensions[a].size;
    for (SpatialLoop& loop : given.loops[a]) {
      loop.factor = std::max<std::int64_t>(1, std::min({loop.factor, lanes, left[loop.dimension]}));
      lanes /= loop.factor;
      left[loop.dimension] /= loop.factor;
    }
    std::erase_if(given.loops[a], [](const SpatialLoop& loop) { return loop.factor == 1; });
  }
}

// The layer dimensions to try on an open array dimension.
std::vector<std::size_t> hinted(const Layer& layer, const Core& core, const MappingRequest& request, std::size_t a,
                                bool quirk) {
  std::vector<std::string> names;
  for (const auto& [name, hint] : request.hints)
    if (name == core.array->dimensions[a].name)
      for (const std::string& each : hint) names.push_back(each);
  const bool any = std::any_of(names.begin(), names.end(),
                               [&](const std::string& name) { return dimension_named(layer, name).has_value(); });
  if (!any) {
    names.clear();
    for (const work::Dimension& d : layer.dimensions) names.push_back(d.name);
  }
  if (quirk) {
    std::vector<std::string> in_order;
    for (const std::size_t i : python_set_order(PythonClass::LayerDim, names)) in_order.push_back(names[i]);
    names = std::move(in_order);
  }
  std::vector<std::size_t> dimensions;
  for (const std::string& name : names)
    if (const auto d = dimension_named(layer, name);
        d && std::find(dimensions.begin(), dimensions.end(), *d) == dimensions.end())
      dimensions.push_back(*d);
  return dimensions;
}

// The factors an innermost memory holds at once for one operand.
std::vector<SpatialLoop*> held_loops(const Layer& layer, const Core& core, const Memory& memory, const Operand& operand,
                                     bool quirk, Spatial& spatial) {
  const std::vector<std::size_t> served =
      quirk ? set_of(core, memory.served_dimensions) : std::vector<std::size_t>(memory.served_dimensions);
  std::vector<SpatialLoop*> loops;
  std::vector<std::string> names;
  for (const std::size_t a : served)
    for (SpatialLoop& loop : spatial[a])
      if (changes(layer, operand, loop.dimension)) {
        loops.push_back(&loop);
        names.push_back(layer.dimensions[loop.dimension].name);
      }
  if (!quirk) return loops;
  std::vector<SpatialLoop*> by_dimension;
  for (const std::size_t i : python_set_order(PythonClass::LayerDim, names))
    for (SpatialLoop* loop : loops)
      if (loop->dimension == loops[i]->dimension) by_dimension.push_back(loop);
  return by_dimension;
}

// The largest gives way, step by step, until no more than `most` are held.
std::vector<std::int64_t> lowered(std::vector<std::int64_t> factors, double most) {
  const auto held = [&](std::int64_t cap) {
    double all = 1;
    for (const std::int64_t f : factors) all *= static_cast<double>(std::min(f, cap));
    return all;
  };
  if (factors.empty()) return factors;
  // On its way down the largest passes through every common cap: the last that is too much is found by bisection.
  std::int64_t low = 0, high = *std::max_element(factors.begin(), factors.end());
  while (high - low > 1) (held(low + (high - low) / 2) > most ? high : low) = low + (high - low) / 2;
  for (std::int64_t& f : factors) f = std::min(f, high);
  while (held(high) > most) --*std::max_element(factors.begin(), factors.end());
  return factors;
}

bool has_empty_loop(const Spatial& spatial) {
  return std::any_of(spatial.begin(), spatial.end(), [](const Loops& loops) {
    return std::any_of(loops.begin(), loops.end(), [](const SpatialLoop& loop) { return loop.factor <= 0; });
  });
}

// The innermost memories must hold what the loops they serve need at once. Says which holds not even one element.
std::string cut_to_capacity(const Layer& layer, const Core& core, bool quirk, Spatial& spatial) {
  for (std::size_t m = 0; m < core.memories.size(); ++m)
    for (const Operand* operand : limited_operands(layer, core, m, quirk)) {
      if (element_bits(*operand) <= 0) continue;
      const double most = static_cast<double>(core.memories[m].size_bits) / element_bits(*operand);
      const std::vector<SpatialLoop*> loops = held_loops(layer, core, core.memories[m], *operand, quirk, spatial);
      std::vector<std::int64_t> before;
      double held = 1;
      for (const SpatialLoop* loop : loops) {
        before.push_back(loop->factor);
        held *= static_cast<double>(loop->factor);
      }
      if (held <= most) continue;
      const auto too_small = [&] {
        return fmt::format("memory '{}' ({} bits) cannot hold one element of {}: {} bits", core.memories[m].name,
                           core.memories[m].size_bits, operand->name, element_bits(*operand));
      };
      if (quirk && loops.empty()) return too_small();
      const std::vector<std::int64_t> after = lowered(before, quirk ? most : std::max(most, 1.0));
      for (std::size_t i = 0; i < loops.size(); ++i) {
        // Quirk: factors are written back by their old value, so that equal ones all take what became of the last.
        std::size_t from = i;
        for (std::size_t j = i + 1; quirk && j < loops.size(); ++j)
          if (before[j] == before[i]) from = j;
        loops[i]->factor = after[from];
      }
      if (has_empty_loop(spatial)) return too_small();
    }
  return {};
}

void set_turns(const std::vector<std::size_t>& order, Spatial& spatial) {
  for (std::size_t i = 0; i < order.size(); ++i)
    for (SpatialLoop& loop : spatial[order[i]]) loop.turn = static_cast<std::uint32_t>(i);
}

// Which memory has too little bandwidth for one lane.
std::string why_no_lane(const Layer& layer, const Core& core) {
  for (std::size_t m = 0; m < core.memories.size(); ++m)
    for (const Operand* operand : limited_operands(layer, core, m, true)) {
      const std::optional<std::int64_t> bandwidth = bandwidth_to_array(core.memories[m], *operand);
      if (bandwidth && static_cast<double>(*bandwidth) < element_bits(*operand))
        return fmt::format("memory '{}' has {} bits a cycle for {}, less than one element: {} bits",
                           core.memories[m].name, *bandwidth, operand->name, element_bits(*operand));
    }
  return "no unrolling fits the array";
}

}  // namespace

bool is_hindered(const Layer& layer, const Core& core, std::size_t array_dimension, const std::string& loop) {
  const std::optional<std::size_t> d = dimension_named(layer, loop);
  if (!d || layer.dimensions[*d].size < 2 || core.array->dimensions[array_dimension].size < 2) return false;
  return factor_limits(layer, core, false)[array_dimension][*d] < 2;
}

std::vector<Spatial> spatial_mappings(const Layer& layer, const Core& core, const MappingRequest& request,
                                      const SpatialOptions& options, std::string* reason) {
  MONET_ASSERT(core.array, "spatial mappings need an array");
  const bool quirk = options.quirks.set_order;
  const auto fails = [&](std::string why) {
    if (reason) *reason = std::move(why);
    return std::vector<Spatial>{};
  };
  const Limits limit = factor_limits(layer, core, quirk);
  Given given = read_request(layer, core, request, limit, quirk);
  if (quirk)
    reduce_as_sets(layer, core, given);
  else
    reduce_in_order(layer, core, given);
  if (has_empty_loop(given.loops)) return fails(why_no_lane(layer, core));
  std::vector<OpenDimension> open;
  for (std::size_t a = 0; a < core.array->dimensions.size(); ++a) {
    if (std::find(given.order.begin(), given.order.end(), a) != given.order.end()) continue;
    open.push_back({.array_dimension = a,
                    .size = core.array->dimensions[a].size,
                    .dimensions = hinted(layer, core, request, a, quirk),
                    .limit = limit[a]});
  }
  std::vector<Spatial> all{given.loops};
  if (!open.empty())
    all = fill_open_dimensions(layer, given.loops, open, options.generated, options.mixed, options.watch);
  if (all.empty()) return fails(why_no_lane(layer, core));
  for (const OpenDimension& each : open) given.order.push_back(each.array_dimension);
  for (Spatial& spatial : all) {
    set_turns(given.order, spatial);
    std::string too_small = cut_to_capacity(layer, core, quirk, spatial);
    if (!too_small.empty()) return fails(std::move(too_small));
  }
  return all;
}

}  // namespace monet::cost
