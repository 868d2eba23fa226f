#include "monet/cost/boundary.h"

#include <algorithm>
#include <cmath>

namespace monet::cost {
namespace {

using hardware::Direction;

// Elements of one step, by memory below which it is made.
using Steps = std::array<double, kMaxMemories>;

void add_flow(const Problem& p, const OperandProblem& o, std::size_t m, Direction direction, TileSizes& inside,
              double bits, TileSizes& all, const Steps& steps, BoundaryTile& tile) {
  const PortRef& port = o.ports[m][static_cast<std::size_t>(direction)];
  const MemoryProblem& memory = p.memories[o.memory[m]];
  const FlowTiles tiles(p, o, m, direction, inside, bits, all);
  const FlowCount once = tiles.count(1), twice = tiles.count(2);
  BoundaryFlow& flow = tile.flows[tile.count++];
  flow.port = port.port;
  flow.busy = once.busy;
  flow.least = std::ceil(steps[m] * bits / port.max_bits);
  flow.latency = memory.latency;
  flow.words = twice.words - once.words;
  flow.words_once = flow.words - once.words;
  flow.cycles = twice.cycles - once.cycles;
  flow.cycles_once = flow.cycles - once.cycles;
  flow.word_pj = hardware::is_read(direction) ? memory.read_pj : memory.write_pj;
}

BoundaryTile make_tile(const Problem& p, const OperandProblem& o, std::size_t b, TileSizes& inside, TileSizes& all,
                       const Steps& steps, double elements, bool sums) {
  BoundaryTile tile{.elements = elements};
  const double bits = sums ? o.partial_bits : o.bits;
  if (o.is_output) {
    add_flow(p, o, b, Direction::WriteFromLow, inside, bits, all, steps, tile);
    if (sums || o.reads_first) add_flow(p, o, b, Direction::ReadToLow, inside, bits, all, steps, tile);
    if (b > 0) {
      add_flow(p, o, b - 1, Direction::ReadToHigh, inside, bits, all, steps, tile);
      if (sums || o.reads_first) add_flow(p, o, b - 1, Direction::WriteFromHigh, inside, bits, all, steps, tile);
    }
  } else {
    add_flow(p, o, b, Direction::ReadToLow, inside, bits, all, steps, tile);
    if (b > 0) add_flow(p, o, b - 1, Direction::WriteFromHigh, inside, bits, all, steps, tile);
  }
  return tile;
}

double first_wait(const BoundaryTile& tile, bool is_output) {
  const BoundaryFlow& above = tile.flows[0];
  const BoundaryFlow& below = tile.flows[is_output && tile.count == 4 ? 2 : 1];
  return std::max(above.least + above.latency, below.least + below.latency);
}

}  // namespace

Boundary::Boundary(const Problem& p, std::size_t operand, std::size_t boundary, const Lattice& lattice)
    : operand_(operand), boundary_(boundary), strides_(lattice.kinds().size(), 0) {
  const OperandProblem& o = p.operands[operand];
  if (boundary > 0) memory_ = o.memory[boundary - 1];
  is_output_ = o.is_output;
  bits_ = o.bits;
  sum_bits_ = std::max(o.bits, o.partial_bits);
  copies_ = o.fractional.copies[boundary + 1];
  std::vector<LoopKind> kinds;
  std::size_t size = 1;
  Extents all;
  all.fill(1);
  for (std::size_t k = 0; k < lattice.kinds().size(); ++k) {
    const LoopKind& kind = lattice.kinds()[k];
    const double product = std::pow(kind.factor, kind.count);
    all[kind.dimension] *= product;
    if (o.relevance[kind.dimension] == Relevance::None) {
      irrelevant_ *= product;
      continue;
    }
    strides_[k] = size;
    size *= kind.count + 1;
    kinds.push_back(kind);
  }
  TileSizes all_sizes(p, o, all);
  const double once = all_sizes.count(o.memories + 1, 1, 1).elements;
  Extents one_step;
  one_step.fill(1);
  Steps steps{};
  for (std::size_t m = boundary > 0 ? boundary - 1 : 0; m <= boundary && m < o.memories; ++m)
    steps[m] = count_tiles(p, o, one_step, m + 1, 1, 1).largest;
  std::vector<std::uint32_t> e(kinds.size(), 0);
  finished_.reserve(size);
  if (is_output_) partial_.reserve(size);
  if (is_output_) overlap_.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    Extents inside;
    inside.fill(1);
    for (std::size_t k = 0; k < kinds.size(); ++k)
      for (std::uint32_t n = 0; n < e[k]; ++n) inside[kinds[k].dimension] *= kinds[k].factor;
    TileSizes sizes(p, o, inside);
    const double elements = boundary > 0 ? sizes.count(boundary, 1, 1).largest : 0;
    // The array holds one element a lane: no relevant loop is inside of it. Of other tiles only those that fit are cut
    // at; whatever is still to be cut is compared with the first.
    allowed_.push_back(boundary == 0 ? i == 0 : elements * bits_ <= p.memories[memory_].size_bits);
    const bool is_looked_at = allowed_.back() || i == 0;
    const BoundaryTile held{.elements = elements};
    finished_.push_back(is_looked_at ? make_tile(p, o, boundary, sizes, all_sizes, steps, elements, false) : held);
    if (is_output_)
      partial_.push_back(is_looked_at ? make_tile(p, o, boundary, sizes, all_sizes, steps, elements, true) : held);
    if (is_output_) overlap_.push_back(o.relations.empty() ? 1 : sizes.count(boundary + 1, 1, 1).elements / once);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (e[k]++ < kinds[k].count) break;
      e[k] = 0;
    }
  }
  if (boundary > 0) least_wait_ = first_wait(finished_[0], o.is_output);
}

std::size_t Boundary::project(const Exponents& e) const {
  std::size_t index = 0;
  for (std::size_t k = 0; k < strides_.size(); ++k) index += strides_[k] * e[k];
  return index;
}

double Boundary::energy_pj(std::size_t projected, double returns) const {
  const BoundaryTile& t = tile(projected, returns);
  double sum = 0;
  for (std::uint32_t i = 0; i < t.count; ++i) sum += t.flows[i].energy_pj(returns);
  return sum;
}

}  // namespace monet::cost
