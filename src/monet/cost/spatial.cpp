#include "monet/cost/spatial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "monet/base/assert.h"

namespace monet::cost {
namespace {

using hardware::Core;
using hardware::Direction;
using hardware::Memory;
using hardware::Slot;

// The operands whose lowest memory this is.
std::vector<const Operand*> innermost_operands(const Layer& layer, const Core& core, std::size_t m) {
  std::vector<const Operand*> found;
  for (const Operand& operand : layer.operands) {
    const auto holds = [&](const Memory& memory) {
      return std::find(memory.slots.begin(), memory.slots.end(), operand.slot) != memory.slots.end();
    };
    const auto lowest = std::find_if(core.memories.begin(), core.memories.end(), holds);
    if (lowest == core.memories.begin() + static_cast<std::ptrdiff_t>(m)) found.push_back(&operand);
  }
  return found;
}

bool is_relevant(const Operand& operand, std::size_t dimension) {
  for (const work::Axis& axis : operand.axes)
    for (const work::Term& term : axis.terms)
      if (term.dimension == dimension) return true;
  return false;
}

double bandwidth_to_array(const Memory& memory, const Operand& operand) {
  const Direction wanted = operand.slot == Slot::Output ? Direction::WriteFromLow : Direction::ReadToLow;
  for (const hardware::Port& port : memory.ports)
    for (const hardware::PortUse& use : port.uses)
      if (use.slot == operand.slot && use.direction == wanted) return static_cast<double>(port.max_bits_per_cycle);
  return 0;
}

// limit[a][d]: the largest factor of layer dimension d on array dimension a.
std::vector<std::vector<std::int64_t>> factor_limits(const Layer& layer, const Core& core) {
  std::vector<std::vector<std::int64_t>> limit;
  for (const hardware::ArrayDimension& a : core.array->dimensions) {
    limit.emplace_back();
    for (const work::Dimension& d : layer.dimensions) limit.back().push_back(std::min(d.size, a.size));
  }
  for (std::size_t m = 0; m < core.memories.size(); ++m)
    for (const Operand* operand : innermost_operands(layer, core, m)) {
      if (operand->bits <= 0) continue;
      const double bits = operand->slot == Slot::Output ? operand->partial_bits : operand->bits;
      const auto most = static_cast<std::int64_t>(std::floor(bandwidth_to_array(core.memories[m], *operand) / bits));
      for (const std::size_t a : core.memories[m].served_dimensions)
        for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
          if (is_relevant(*operand, d)) limit[a][d] = std::min(limit[a][d], most);
    }
  return limit;
}

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t i = 1; i * i <= n; ++i)
    if (n % i == 0) {
      small.push_back(i);
      if (i != n / i) large.push_back(n / i);
    }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

std::optional<std::size_t> dimension_named(const Layer& layer, const std::string& name) {
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
    if (layer.dimensions[d].name == name) return d;
  return std::nullopt;
}

template <class T>
const T* find_named(const Named<T>& entries, const std::string& name) {
  for (const auto& [key, value] : entries)
    if (key == name) return &value;
  return nullptr;
}

using Loops = std::vector<SpatialLoop>;

Loops given_loops(const Layer& layer, const std::vector<hardware::Unrolling>& given,
                  const std::vector<std::int64_t>& limit) {
  Loops loops;
  for (const hardware::Unrolling& u : given)
    if (const auto d = dimension_named(layer, u.dimension)) loops.push_back({*d, std::min(u.factor, limit[*d])});
  return loops;
}

// Ways to fill one array dimension: one layer dimension with each divisor of its limit, or products of several.
std::vector<Loops> generated_loops(const Layer& layer, const std::vector<std::string>* hint,
                                   const std::vector<std::int64_t>& limit, std::int64_t size, bool mixed) {
  std::vector<std::size_t> tried;
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
    if (!hint || std::find(hint->begin(), hint->end(), layer.dimensions[d].name) != hint->end()) tried.push_back(d);
  std::vector<Loops> ways;
  for (const std::size_t d : tried)
    for (const std::int64_t f : divisors(limit[d])) ways.push_back({{d, f}});
  if (!mixed) return ways;
  std::vector<Loops> partial{{}};
  for (const std::size_t d : tried) {
    const std::vector<Loops> before = partial;
    for (const Loops& loops : before) {
      std::int64_t product = 1;
      for (const SpatialLoop& loop : loops) product *= loop.factor;
      for (const std::int64_t f : divisors(limit[d])) {
        if (f == 1 || product * f > size) continue;
        partial.push_back(loops);
        partial.back().push_back({d, f});
      }
    }
  }
  for (Loops& loops : partial)
    if (loops.size() > 1) ways.push_back(std::move(loops));
  return ways;
}

std::vector<std::int64_t> totals(const Layer& layer, const Spatial& spatial) {
  std::vector<std::int64_t> total(layer.dimensions.size(), 1);
  for (const Loops& loops : spatial)
    for (const SpatialLoop& loop : loops) total[loop.dimension] *= loop.factor;
  return total;
}

// Prefers full arrays, then even ones.
double rank(const Layer& layer, const Spatial& spatial) {
  double all = 1, most = 1;
  for (const std::int64_t total : totals(layer, spatial)) {
    all *= static_cast<double>(total);
    most = std::max(most, static_cast<double>(total));
  }
  return all + all / most - 1;
}

// The innermost memories must hold what the loops they serve need at once: the largest factor gives way.
void cut_to_capacity(const Layer& layer, const Core& core, Spatial& spatial) {
  for (std::size_t m = 0; m < core.memories.size(); ++m)
    for (const Operand* operand : innermost_operands(layer, core, m)) {
      const double bits = operand->slot == Slot::Output ? operand->partial_bits : operand->bits;
      if (bits <= 0) continue;
      const double capacity = static_cast<double>(core.memories[m].size_bits) / bits;
      for (;;) {
        double held = 1;
        SpatialLoop* largest = nullptr;
        for (const std::size_t a : core.memories[m].served_dimensions)
          for (SpatialLoop& loop : spatial[a]) {
            if (!is_relevant(*operand, loop.dimension)) continue;
            held *= static_cast<double>(loop.factor);
            if (!largest || loop.factor > largest->factor) largest = &loop;
          }
        if (held <= capacity || !largest || largest->factor == 1) break;
        --largest->factor;
      }
    }
}

}  // namespace

std::vector<Spatial> spatial_mappings(const Layer& layer, const Core& core, const MappingRequest& request,
                                      const SpatialOptions& options) {
  MONET_ASSERT(core.array, "spatial mappings need an array");
  const auto& array = core.array->dimensions;
  const auto limit = factor_limits(layer, core);
  std::vector<std::vector<Loops>> ways(array.size());
  bool generates = false;
  for (std::size_t a = 0; a < array.size(); ++a) {
    if (const auto* given = find_named(request.spatial, array[a].name)) {
      ways[a] = {given_loops(layer, *given, limit[a])};
    } else {
      generates = true;
      const auto* hint = find_named(request.hints, array[a].name);
      ways[a] = generated_loops(layer, hint, limit[a], array[a].size, options.mixed);
      if (ways[a].empty()) ways[a] = {{}};
    }
  }
  std::vector<Spatial> all{{}};
  for (const std::vector<Loops>& choices : ways) {
    std::vector<Spatial> longer;
    for (const Spatial& spatial : all)
      for (const Loops& loops : choices) {
        longer.push_back(spatial);
        longer.back().push_back(loops);
      }
    all = std::move(longer);
  }
  if (generates) {
    std::erase_if(all, [&](const Spatial& spatial) {
      const std::vector<std::int64_t> total = totals(layer, spatial);
      for (std::size_t d = 0; d < total.size(); ++d)
        if (total[d] > layer.dimensions[d].size) return true;
      return false;
    });
    std::stable_sort(all.begin(), all.end(),
                     [&](const Spatial& x, const Spatial& y) { return rank(layer, x) > rank(layer, y); });
    if (all.size() > options.generated) all.resize(options.generated);
  }
  for (Spatial& spatial : all) cut_to_capacity(layer, core, spatial);
  return all;
}

}  // namespace monet::cost
