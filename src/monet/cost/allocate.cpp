#include "monet/cost/allocate.h"

#include <fmt/format.h>

#include <limits>

namespace monet::cost {
namespace {

// What one operand could keep in one memory: the first i of the loops left to it, i = 0 … count - 1.
struct Options {
  std::size_t first = 0;  // loops kept already
  std::size_t skip = 0;   // options before this one are not allowed
  std::size_t count = 0;
  double next_bits = 0;  // of the last one looked at, which may not fit
  std::array<double, kMaxLoops + 1> bits{}, accesses{};
};

// One past the outermost loop irrelevant for the output: up to there sums are incomplete.
std::size_t last_reduction(const OperandProblem& o, std::span<const TemporalLoop> order) {
  for (std::size_t i = order.size(); i-- > 0;)
    if (o.relevance[order[i].dimension] == Relevance::None) return i + 1;
  return 0;
}

// Fills the options that fit; false if not even the first does. `extent`: of the loops below.
bool list_options(const OperandProblem& o, std::size_t m, std::span<const TemporalLoop> order, double capacity,
                  std::array<double, kMaxDimensions> extent, Options& options) {
  double remaining = 1;
  for (std::size_t i = options.first; i < order.size(); ++i) remaining *= order[i].factor;
  const bool is_top = m + 1 == o.memories;
  // Room is made for partial sums if the loops not yet placed make any, wherever they end up.
  const bool partial = o.is_output && (last_reduction(o, order) > options.first || o.fractional.reduces_from[m + 1]);
  const double element_bits = partial ? o.partial_bits : o.bits;
  options.count = 0;
  options.skip = 0;
  for (std::size_t i = 0;; ++i) {
    const std::size_t kept = options.first + i;
    double elements = 1;
    for (const std::size_t d : o.relevant) elements *= extent[d];
    for (const Relation& r : o.relations)
      elements *= distinct(r, static_cast<double>(static_cast<std::int64_t>(extent[r.a])),
                           static_cast<double>(static_cast<std::int64_t>(extent[r.b])));
    const double bits = elements * element_bits;
    options.next_bits = bits;
    if (bits > capacity) break;
    options.bits[i] = bits;
    options.accesses[i] = is_top ? 0 : remaining * bits;
    options.count = i + 1;
    if (kept == order.size()) break;
    extent[order[kept].dimension] *= order[kept].factor;
    remaining /= order[kept].factor;
  }
  if (is_top && options.count > 0) options.skip = options.count - 1;
  return options.count > 0;
}

// What one operand takes into the memory, none that shares it leaves above.
bool is_even(std::span<const Options> options, const std::array<std::size_t, kMaxOperands>& pick) {
  for (std::size_t i = 0; i < options.size(); ++i)
    for (std::size_t j = 0; j < options.size(); ++j)
      if (pick[i] > 0 && options[i].first + pick[i] > options[j].first + pick[j]) return false;
  return true;
}

}  // namespace

std::string to_string(const Misfit& misfit, const Layer& layer, const hardware::Core& core) {
  const hardware::Memory& memory = core.memories[misfit.memory];
  const std::string& operand = layer.operands[misfit.operand].name;
  std::string what;
  switch (misfit.kind) {
    case Misfit::Kind::Tile: what = fmt::format("a tile of {}", operand); break;
    case Misfit::Kind::Tiles: what = "the tiles of all its operands"; break;
    case Misfit::Kind::TopTile: what = fmt::format("all of {}, whose highest memory it is", operand); break;
  }
  return fmt::format("memory '{}' ({} bits) cannot hold {}: at least {} bits", memory.name, memory.size_bits, what,
                     misfit.needed_bits);
}

bool allocate_greedily(const Problem& p, std::span<const TemporalLoop> order, bool even, Cuts& cuts, Misfit& misfit) {
  std::array<std::size_t, kMaxOperands> kept{};
  std::array<Options, kMaxOperands> options;
  // Extents grow loop by loop from the array outwards, spatial loops where they hang: with fractional unrollings the
  // order of the multiplications decides between choices that are equally good.
  std::array<std::array<double, kMaxDimensions>, kMaxOperands> extent;
  for (std::size_t o = 0; o < p.operands.size(); ++o) extent[o] = p.operands[o].fractional.extent[1];
  for (std::size_t m = 0; m < p.memories.size(); ++m) {
    const MemoryProblem& memory = p.memories[m];
    const std::size_t n = memory.operands.size();
    if (n == 0) continue;
    double least = 0;
    for (std::size_t i = 0; i < n; ++i) {
      options[i].first = kept[memory.operands[i]];
      if (!list_options(p.operands[memory.operands[i]], memory.level[i], order, memory.size_bits,
                        extent[memory.operands[i]], options[i])) {
        misfit = {.kind = Misfit::Kind::Tile,
                  .memory = m,
                  .operand = memory.operands[i],
                  .needed_bits = options[i].next_bits};
        return false;
      }
      least += options[i].bits[options[i].skip];
    }
    if (least > memory.size_bits) {
      misfit = {.kind = Misfit::Kind::Tiles, .memory = m, .operand = memory.operands[n - 1], .needed_bits = least};
      return false;
    }
    for (std::size_t i = n; i < kMaxOperands; ++i) {
      options[i].skip = 0;
      options[i].count = 1;
      options[i].bits[0] = options[i].accesses[0] = 0;
    }
    double best = std::numeric_limits<double>::infinity();
    std::array<std::size_t, kMaxOperands> chosen{}, pick{};
    for (pick[0] = options[0].skip; pick[0] < options[0].count; ++pick[0])
      for (pick[1] = options[1].skip; pick[1] < options[1].count; ++pick[1])
        for (pick[2] = options[2].skip; pick[2] < options[2].count; ++pick[2]) {
          const double bits = options[0].bits[pick[0]] + options[1].bits[pick[1]] + options[2].bits[pick[2]];
          if (bits > memory.size_bits) break;
          const double accesses =
              options[0].accesses[pick[0]] + options[1].accesses[pick[1]] + options[2].accesses[pick[2]];
          if (accesses > best) continue;
          if (even && !is_even(std::span(options).first(n), pick)) continue;
          best = accesses;
          chosen = pick;
        }
    // No even choice: nothing is taken, which a top memory cannot do.
    if (best == std::numeric_limits<double>::infinity()) chosen.fill(0);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t o = memory.operands[i];
      const SpatialLevels& s = p.operands[o].fractional;
      for (std::size_t k = kept[o]; k < kept[o] + chosen[i]; ++k) extent[o][order[k].dimension] *= order[k].factor;
      for (std::size_t k = s.first[memory.level[i] + 1]; k < s.first[memory.level[i] + 2]; ++k)
        extent[o][s.steps[k].dimension] *= s.steps[k].factor;
      kept[o] += chosen[i];
      cuts[o][memory.level[i]] = static_cast<std::uint8_t>(kept[o]);
      if (memory.level[i] + 1 == p.operands[o].memories && kept[o] != order.size()) {
        misfit = {.kind = Misfit::Kind::TopTile, .memory = m, .operand = o, .needed_bits = options[i].next_bits};
        return false;
      }
    }
  }
  return true;
}

}  // namespace monet::cost
