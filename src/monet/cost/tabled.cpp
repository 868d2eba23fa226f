// The tables of TabledCosts.
#include "monet/cost/tabled.h"

#include <algorithm>

#include "monet/cost/whole.h"

namespace monet::cost {
namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53: sums of whole numbers below it are exact in any order

bool is_whole(double x) { return x == floor_of(x); }

double elements_in(const OperandProblem& o, const std::array<double, kMaxDimensions>& extent, std::size_t level) {
  double elements = o.fractional.relevant[level];
  const std::array<double, kMaxDimensions>& spatial = o.fractional.extent[level];
  for (const std::size_t d : o.relevant) elements *= extent[d];
  for (const Relation& r : o.relations) elements *= distinct(r, extent[r.a] * spatial[r.a], extent[r.b] * spatial[r.b]);
  return elements;
}

}  // namespace

std::optional<TabledCosts> TabledCosts::make(const Problem& p, std::span<const TemporalLoop> kinds,
                                             std::span<const std::uint32_t> counts) {
  std::size_t loops = 0, sets = 1;
  for (const std::uint32_t count : counts) {
    loops += count;
    if (loops > kMostLoops) return std::nullopt;
    sets *= count + 1;
    if (sets > kMostSets) return std::nullopt;
  }
  if (p.quirks != kZigzagQuirks || !p.is_integral || loops == 0 || !is_whole(p.cycles_per_mac)) return std::nullopt;
  for (const OperandProblem& o : p.operands)
    if (o.by_loop || !is_whole(o.bits) || !is_whole(o.partial_bits) || (o.is_output && !o.relations.empty()))
      return std::nullopt;
  TabledCosts made;
  made.loops_ = loops;
  made.tabulate(p, kinds, counts);
  double most = 0;
  for (const OperandTables& o : made.operands_)
    for (std::size_t m = 0; m < o.memories; ++m)
      for (std::size_t s = 0; s < sets; ++s)
        most = std::max(most, o.elements[m][s] * made.outside_[s] * std::max(o.bits, o.partial_bits));
  if (3 * most >= kExact || made.flows_.empty() || !made.is_monotone(counts)) return std::nullopt;
  return made;
}

// One more loop inside a memory never means more accesses to it: true unless windows are more dilated than they are
// many.
bool TabledCosts::is_monotone(std::span<const std::uint32_t> counts) const {
  for (const OperandTables& o : operands_)
    for (std::size_t m = 0; m < o.memories; ++m)
      for (std::size_t s = 0; s < cycles_.size(); ++s)
        for (std::size_t k = 0; k < counts.size(); ++k) {
          if (s / stride_[k] % (counts[k] + 1) == counts[k]) continue;
          const std::size_t more = s + stride_[k];
          if (o.elements[m][more] < o.elements[m][s]) return false;
          if (o.elements[m][more] * outside_[more] > o.elements[m][s] * outside_[s]) return false;
        }
  return true;
}

void TabledCosts::tabulate(const Problem& p, std::span<const TemporalLoop> kinds,
                           std::span<const std::uint32_t> counts) {
  std::size_t sets = 1;
  double total = 1;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    stride_.push_back(static_cast<std::uint32_t>(sets));
    sets *= counts[k] + 1;
    for (std::uint32_t i = 0; i < counts[k]; ++i) total *= kinds[k].factor;
    std::uint64_t irrelevant = 0, relevant = 0;
    for (std::size_t o = 0; o < p.operands.size(); ++o) {
      const Relevance relevance = p.operands[o].relevance[kinds[k].dimension];
      if (relevance == Relevance::None) irrelevant |= std::uint64_t{1} << (kMostLoops * o);
      if (relevance == Relevance::Relevant) relevant |= std::uint64_t{1} << (kMostLoops * o);
    }
    irrelevant_.push_back(irrelevant);
    relevant_.push_back(relevant);
  }
  index_ports(p);
  for (std::size_t set = 0; set < sets; ++set) {
    std::array<double, kMaxDimensions> extent;
    extent.fill(1);
    double inside = 1;
    for (std::size_t k = 0; k < kinds.size(); ++k)
      for (std::size_t i = 0; i < set / stride_[k] % (counts[k] + 1); ++i) {
        extent[kinds[k].dimension] *= kinds[k].factor;
        inside *= kinds[k].factor;
      }
    cycles_.push_back(inside);
    outside_.push_back(floor_of(total / inside));
    for (std::size_t o = 0; o < p.operands.size(); ++o) {
      double returning = 1;  // irrelevant loops, all of them
      for (std::size_t k = 0; k < kinds.size(); ++k)
        if (p.operands[o].relevance[kinds[k].dimension] == Relevance::None)
          for (std::uint32_t i = 0; i < counts[k]; ++i) returning *= kinds[k].factor;
      tabulate_set(p, o, set, extent, returning);
    }
  }
  cycles_per_mac_ = p.cycles_per_mac;
  mac_energy_pj_ = p.mac_pj * p.macs;
  static_pj_per_cycle_ = p.leakage_pj_per_cycle;
}

// `returning`: iterations of the irrelevant loops.
void TabledCosts::tabulate_set(const Problem& p, std::size_t operand, std::size_t set,
                               const std::array<double, kMaxDimensions>& extent, double returning) {
  const OperandProblem& o = p.operands[operand];
  OperandTables& t = operands_[operand];
  double size = 1, inside = 1;
  for (const std::size_t d : o.relevant) size *= p.size[d];
  for (std::size_t d = 0; d < p.dimensions; ++d)
    if (o.relevance[d] == Relevance::None) inside *= extent[d];
  // Whether sums come back to level l, and what moves then are partial ones.
  const auto returns = [&](std::size_t l) {
    if (!o.is_output || l == o.memories) return 1.0;
    return (l == 0 ? returning : returning / inside) * o.fractional.copies[l + 1];
  };
  const double period = cycles_[set], periods = outside_[set];
  const auto moved = [&](std::size_t m, std::size_t l, std::size_t direction, std::size_t back, double elements) {
    const bool sums = returns(l) > 1, partial = floor_of(size * (returns(l) - 1)) != 0;
    const double bits = partial ? o.partial_bits : o.bits;
    const auto words = [&](const PortRef& port, double each) {
      return floor_of(ceil_of(elements * each / port.min_bits) * (port.min_bits / port.max_bits) * periods *
                      o.fractional.instances[m + 1]);
    };
    Moved x{.words = words(o.ports[m][direction], bits),
            .busy = ceil_of(elements * bits / o.ports[m][direction].max_bits),
            .average_bits = ceil_of(floor_of(elements * (sums ? o.partial_bits : o.bits) / period) / p.cycles_per_mac),
            .comes_back = sums};
    if (sums) {
      const PortRef& port = o.ports[m][back];
      x.back_words = words(port, partial ? bits : 0);
      x.back_busy = ceil_of(elements * (partial ? bits : 0) / port.max_bits);
    }
    return x;
  };
  for (std::size_t m = 0; m < o.memories; ++m) {
    const double held = elements_in(o, extent, m + 1);
    const double below = (m == 0 ? 1 : elements_in(o, extent, m)) * o.fractional.boost[m];
    t.elements[m].push_back(held);
    t.tile_bits[m].push_back(held * (o.is_output && returns(m + 1) > 1 ? o.partial_bits : o.bits));
    t.low[m].push_back(moved(m, m, o.is_output ? kWriteFromLow : kReadToLow, kReadToLow, below));
    if (m + 1 < o.memories)
      t.high[m].push_back(moved(m, m + 1, o.is_output ? kReadToHigh : kWriteFromHigh, kWriteFromHigh, held));
  }
}

void TabledCosts::index_ports(const Problem& p) {
  for (const OperandProblem& o : p.operands) {
    OperandTables t;
    t.memories = o.memories;
    t.is_output = o.is_output;
    t.bits = o.bits;
    t.partial_bits = o.partial_bits;
    for (std::size_t m = 0; m < o.memories; ++m) {
      t.read_pj[m] = p.memories[o.memory[m]].read_pj;
      t.write_pj[m] = p.memories[o.memory[m]].write_pj;
      t.reduces_from[m + 1] = o.fractional.reduces_from[m + 1];
      for (std::size_t d = 0; d < 4; ++d) {
        t.flow[m][d] = static_cast<std::uint16_t>(flows_.size());
        flows_.push_back({.operand = static_cast<std::uint8_t>(operands_.size())});
      }
      if (m + 1 == o.memories) continue;
      t.pair_low_shared[m] = p.ports[o.ports[m][kWriteFromHigh].port].serves_both_inputs;
      t.pair_high_shared[m] = p.ports[o.ports[m + 1][kReadToLow].port].serves_both_inputs;
    }
    operands_.push_back(std::move(t));
  }
  for (const MemoryProblem& memory : p.memories) {
    if (memory.operands.empty()) continue;
    MemoryTables t{.size_bits = memory.size_bits};
    for (std::size_t i = 0; i < memory.operands.size(); ++i)
      t.sharers.push_back({.operand = memory.operands[i],
                           .level = memory.level[i],
                           .is_top = memory.level[i] + 1 == p.operands[memory.operands[i]].memories});
    for (std::size_t o = 0; o < p.operands.size(); ++o)
      for (std::size_t i = 0; i < t.sharers.size(); ++i)
        if (t.sharers[i].operand == o) t.by_operand.push_back(i);
    memories_.push_back(std::move(t));
  }
  for (const PortProblem& port : p.ports) {
    PortTables t{.max_bits = port.max_bits};
    for (const PortUser& user : port.users) {
      const std::uint16_t id = operands_[user.operand].flow[user.level][user.direction];
      Moving& flow = flows_[id];
      if (flow.port != kNoPort) {  // on two ports
        flows_.clear();
        return;
      }
      flow.port = static_cast<std::uint16_t>(ports_.size());
      flow.rank = static_cast<std::uint16_t>(t.flows.size());
      flow.is_first_load =
          !p.operands[user.operand].is_output || (user.direction != kReadToLow && user.direction != kWriteFromHigh);
      t.flows.push_back(id);
    }
    ports_.push_back(std::move(t));
  }
  sums_.resize(ports_.size());
}

}  // namespace monet::cost
