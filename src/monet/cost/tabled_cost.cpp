// One ordering costed from the tables.
#include <algorithm>
#include <bit>
#include <limits>

#include "monet/cost/tabled.h"
#include "monet/cost/whole.h"

namespace monet::cost {
namespace {

// Cycles of the longest period in which some activity is at work, each in the first `allowed` of its own; the periods
// divide each other. whole[k]: that number for the k + 1 shortest, in one period of the longest of them; start[k]: for
// the k shortest, in the first `allowed` cycles of the next.
struct TabledActivity {
  double allowed, period, periods;
};

double covered_cycles(std::span<TabledActivity> all) {
  std::array<double, 4 * kMaxOperands> whole, start;
  for (std::size_t i = 1; i < all.size(); ++i) {  // few: by insertion
    const TabledActivity x = all[i];
    std::size_t j = i;
    for (; j > 0 && all[j - 1].period > x.period; --j) all[j] = all[j - 1];
    all[j] = x;
  }
  const auto covered = [&](std::size_t count, double until) {
    double sum = 0;
    for (std::size_t k = count; k-- > 0;) {
      const double times = floor_of(until / all[k].period), left = until - times * all[k].period;
      sum += times * whole[k];
      if (left <= all[k].allowed) return sum + left;
      sum += all[k].allowed - start[k];
      until = left;
    }
    return sum;
  };
  for (std::size_t k = 0; k < all.size(); ++k) {
    start[k] = covered(k, all[k].allowed);
    whole[k] = all[k].allowed >= all[k].period ? all[k].period : all[k].allowed + covered(k, all[k].period) - start[k];
  }
  return whole[all.size() - 1] * all.back().periods;
}

}  // namespace

void TabledCosts::read_order(std::span<const std::uint32_t> order, std::size_t changed) {
  constexpr std::uint64_t kLanes = 0x0001000100010001;
  const std::uint64_t rest = ~(kLanes * ((std::uint64_t{1} << changed) - 1));
  irrelevant_mask_ &= rest;
  relevant_mask_ &= rest;
  std::uint32_t set = 0;
  for (std::size_t j = 0; j < changed; ++j) {
    set += stride_[order[j]];
    set_[j + 1] = set;
    irrelevant_mask_ |= irrelevant_[order[j]] << j;
    relevant_mask_ |= relevant_[order[j]] << j;
  }
}

// The choice of allocate_greedily for one memory. More loops are never more accesses, so that an operand alone keeps as
// many as fit.
bool TabledCosts::share(const MemoryTables& memory) {
  double room = memory.size_bits, all = 0;
  std::size_t open = 0, only = 0;
  for (std::size_t i = 0; i < memory.sharers.size(); ++i) {
    const auto [operand, level, is_top] = memory.sharers[i];
    const OperandTables& o = operands_[operand];
    const bool partial = o.is_output && (o.reduces_from[level + 1] ||
                                         (irrelevant_mask_ >> (kMostLoops * operand) & 0xffff) >> kept_[operand] != 0);
    element_bits_[operand] = partial ? o.partial_bits : o.bits;
    const double bits = o.elements[level][set_[loops_]] * element_bits_[operand];
    if (is_top) {
      room -= bits;
    } else {
      all += bits;
      only = i;
      ++open;
    }
  }
  if (room < 0) return false;
  if (all > room && open > 1) return share_several(room, memory);
  if (all > room) {
    const auto [operand, level, is_top] = memory.sharers[only];
    const std::vector<double>& elements = operands_[operand].elements[level];
    const double bits = element_bits_[operand];
    std::size_t j = kept_[operand];
    if (elements[set_[j]] * bits > room) return false;
    while (elements[set_[j + 1]] * bits <= room) ++j;
    cut_[operand][level] = kept_[operand] = j;
    for (const Sharer& sharer : memory.sharers)
      if (sharer.is_top) cut_[sharer.operand][sharer.level] = kept_[sharer.operand] = loops_;
    return true;
  }
  for (const Sharer& sharer : memory.sharers) cut_[sharer.operand][sharer.level] = kept_[sharer.operand] = loops_;
  return true;
}

// Several operands do not fit whole: every choice of the first ones, and for each the largest of the last that fits.
bool TabledCosts::share_several(double room, const MemoryTables& memory) {
  struct Choices {
    std::size_t sharer = 0, first = 0, count = 0;
    std::array<double, kMostLoops + 1> bits, accesses;
  };
  std::array<Choices, kMaxOperands> free;
  std::size_t open = 0;
  for (std::size_t i = 0; i < memory.sharers.size(); ++i) {
    const auto [operand, level, is_top] = memory.sharers[i];
    if (is_top) {
      cut_[operand][level] = kept_[operand] = loops_;
      continue;
    }
    Choices& c = free[open++];
    c.sharer = i;
    c.first = kept_[operand];
    c.count = 0;
    for (std::size_t j = c.first; j <= loops_; ++j) {
      const double bits = operands_[operand].elements[level][set_[j]] * element_bits_[operand];
      if (bits > room) break;
      c.bits[c.count] = bits;
      c.accesses[c.count++] = outside_[set_[j]] * bits;
    }
    if (c.count == 0) return false;
  }
  std::array<std::size_t, kMaxOperands> chosen{};
  double best = std::numeric_limits<double>::infinity();
  const Choices &first = free[0], &second = free[1], &last = free[open - 1];
  for (std::size_t x = 0; x < first.count; ++x) {
    std::size_t fitting = last.count;  // choices of the last operand; fewer as the others take more
    for (std::size_t y = 0; y < (open == 3 ? second.count : 1); ++y) {
      const double left = room - first.bits[x] - (open == 3 ? second.bits[y] : 0);
      while (fitting > 0 && last.bits[fitting - 1] > left) --fitting;
      if (fitting == 0) break;
      const double accesses = first.accesses[x] + (open == 3 ? second.accesses[y] : 0) + last.accesses[fitting - 1];
      if (accesses > best) continue;
      best = accesses;
      chosen = open == 3 ? std::array{x, y, fitting - 1} : std::array{x, fitting - 1, std::size_t{0}};
    }
  }
  if (best == std::numeric_limits<double>::infinity()) return false;
  for (std::size_t i = 0; i < open; ++i) {
    const Sharer& sharer = memory.sharers[free[i].sharer];
    cut_[sharer.operand][sharer.level] = kept_[sharer.operand] = free[i].first + chosen[i];
  }
  return true;
}

// Leading irrelevant loops of a memory go to the one below; then what its outermost loops do.
void TabledCosts::merge(std::size_t operand) {
  const OperandTables& o = operands_[operand];
  const auto irrelevant = static_cast<std::uint32_t>(irrelevant_mask_ >> (kMostLoops * operand) & 0xffff);
  const auto relevant = static_cast<std::uint32_t>(relevant_mask_ >> (kMostLoops * operand) & 0xffff);
  std::size_t from = 0;
  for (std::size_t m = 0; m < o.memories; ++m) {
    std::size_t to = cut_[operand][m];
    to += static_cast<std::size_t>(std::countr_one(irrelevant >> to));
    const std::uint32_t below = (std::uint32_t{1} << to) - 1;
    const auto run = [&](std::uint32_t mask) {
      const auto start = std::max<std::size_t>(from, static_cast<std::size_t>(std::bit_width(~mask & below)));
      return start < to ? cycles_[set_[to]] / cycles_[set_[start]] : 1.0;
    };
    const bool ends_irrelevant = to > from && (irrelevant >> (to - 1) & 1) != 0;
    top_irrelevant_[operand][m + 1] = ends_irrelevant ? run(irrelevant) : 1;
    top_relevant_[operand][m + 1] = ends_irrelevant ? 1 : run(relevant);
    inside_[operand][m + 1] = set_[to];
    if (m == 0)
      inside_[operand][0] =
          o.is_output ? 0 : set_[std::min<std::size_t>(to, static_cast<std::size_t>(std::countr_one(irrelevant)))];
    from = to;
  }
  top_irrelevant_[operand][0] = 1;
}

void TabledCosts::buffer() {
  for (const MemoryTables& memory : memories_) {
    std::array<double, kMaxOperands> part{};
    double used = 0;
    for (std::size_t i = 0; i < memory.sharers.size(); ++i) {
      const auto [o, m, is_top] = memory.sharers[i];
      const double tile = operands_[o].tile_bits[m][inside_[o][m + 1]];
      part[i] = floor_of(tile / top_relevant_[o][m + 1]) / memory.size_bits;
      used += part[i];
    }
    for (const std::size_t i : memory.by_operand) {
      const bool is_double = used <= 0.5 || part[i] <= 1 - used;
      doubled_[memory.sharers[i].operand][memory.sharers[i].level] = is_double;
      if (used > 0.5 && is_double) used += part[i];
    }
  }
}

void TabledCosts::move(std::uint16_t flow, double busy, double average_bits, double allowed, std::uint32_t set) {
  Moving& f = flows_[flow];
  f.exists = true;
  f.busy = busy;
  f.allowed = allowed * cycles_per_mac_;
  f.period = cycles_[set] * cycles_per_mac_;
  f.periods = outside_[set];
  if (f.port == kNoPort) return;
  PortSums& sums = sums_[f.port];
  const double again = f.periods - 1, slack = (busy - f.allowed) * again;
  sums.late += std::max(slack, 0.0);
  sums.early += std::min(slack, 0.0);
  sums.windows += f.allowed * again;
  sums.is_always_busy = sums.is_always_busy || f.allowed == f.period;
  ++sums.count;
  if (!f.is_first_load) return;
  f.waited = busy;
  if (again > 0)
    sums.average_bits += average_bits;
  else
    sums.first_loads[sums.once++] = flow;
}

void TabledCosts::move(std::size_t operand) {
  const OperandTables& o = operands_[operand];
  const auto side = [&](std::size_t m, std::size_t l, const Moved& moved, bool is_double, std::size_t direction,
                        std::size_t back) {
    const std::uint32_t set = inside_[operand][l];
    const double allowed = is_double ? cycles_[set] : floor_of(cycles_[set] / top_irrelevant_[operand][l]);
    move(o.flow[m][direction], moved.busy, moved.average_bits, allowed, set);
    if (!o.is_output) return;
    if (moved.comes_back)
      move(o.flow[m][back], moved.back_busy, 0, allowed, set);
    else
      flows_[o.flow[m][back]].exists = false;
  };
  for (std::size_t m = 0; m < o.memories; ++m) {
    side(m, m, o.low[m][inside_[operand][m]], m > 0 && doubled_[operand][m - 1],
         o.is_output ? kWriteFromLow : kReadToLow, kReadToLow);
    if (m + 1 < o.memories)
      side(m, m + 1, o.high[m][inside_[operand][m + 1]], doubled_[operand][m],
           o.is_output ? kReadToHigh : kWriteFromHigh, kWriteFromHigh);
  }
}

double TabledCosts::stall() const {
  const double total = cycles_[set_[loops_]] * cycles_per_mac_;
  double worst = 0;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const PortSums& sums = sums_[i];
    double idle = sums.early;
    if (sums.count > 1) {
      double together = total;
      if (!sums.is_always_busy) {
        std::array<TabledActivity, 4 * kMaxOperands> activities;
        std::size_t count = 0;
        for (const std::uint16_t id : ports_[i].flows)
          if (const Moving& f = flows_[id]; f.exists)
            activities[count++] = {.allowed = f.allowed, .period = f.period, .periods = f.periods};
        together = covered_cycles(std::span(activities.data(), count));
      }
      idle = std::max(0.0, sums.early + sums.windows - together);
    }
    worst = std::max(worst, sums.late + idle);
  }
  return worst;
}

void TabledCosts::hide_first_loads(double cycles) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    PortSums& sums = sums_[i];
    const double max_bits = ports_[i].max_bits;
    if (sums.once == 0) continue;
    double surplus = (max_bits - sums.average_bits) / max_bits * cycles;
    if (surplus <= 0) continue;
    std::array<Moving*, 4 * kMaxOperands> once;  // longest first, then as on the port
    for (std::size_t k = 0; k < sums.once; ++k) {
      Moving& f = flows_[sums.first_loads[k]];
      std::size_t j = k;
      for (;
           j > 0 && (once[j - 1]->waited < f.waited || (once[j - 1]->waited == f.waited && once[j - 1]->rank > f.rank));
           --j)
        once[j] = once[j - 1];
      once[j] = &f;
    }
    for (std::size_t k = 0; k < sums.once; ++k) {
      const double first_bits = operands_[once[k]->operand].tile_bits[0][inside_[once[k]->operand][1]];
      const double above = once[k]->waited - ceil_of(first_bits / max_bits);
      const auto sharers = static_cast<double>(k + 1);
      const bool enough = surplus >= above * sharers;
      const double cut = enough ? above : surplus / sharers;
      for (std::size_t j = 0; j <= k; ++j) once[j]->waited -= cut;
      if (!enough) break;
      surplus -= above * sharers;
    }
  }
}

double TabledCosts::onload() const {
  struct Parts {
    double shared = 0, half_shared = 0, separate = 0;
  };
  const auto parts_of = [&](const OperandTables& o) {
    Parts parts;
    for (std::size_t m = 0; m + 1 < o.memories; ++m) {
      const double pair = std::max(flows_[o.flow[m][kWriteFromHigh]].waited, flows_[o.flow[m + 1][kReadToLow]].waited);
      if (o.pair_low_shared[m] && o.pair_high_shared[m])
        parts.shared += pair;
      else if (!o.pair_low_shared[m] && !o.pair_high_shared[m])
        parts.separate += pair;
      else
        parts.half_shared = pair;
    }
    return parts;
  };
  const Parts a = parts_of(operands_[1]);
  if (operands_.size() == 2) return a.separate;
  const Parts b = parts_of(operands_[2]);
  return std::min(a.shared + std::max(b.shared + b.half_shared + b.separate, a.half_shared + a.separate),
                  b.shared + std::max(a.shared + a.half_shared + a.separate, b.half_shared + b.separate));
}

double TabledCosts::offload() const {
  const OperandTables& o = operands_[0];
  double sum = 0;
  for (std::size_t m = 0; m + 1 < o.memories; ++m)
    sum += std::max(flows_[o.flow[m][kReadToHigh]].waited, flows_[o.flow[m + 1][kWriteFromLow]].waited);
  return sum;
}

double TabledCosts::energy() const {
  static constexpr Moved kNothing{};
  double sum = 0;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const OperandTables& o = operands_[i];
    for (std::size_t m = 0; m < o.memories; ++m) {
      const Moved& low = o.low[m][inside_[i][m]];
      const Moved& high = m + 1 < o.memories ? o.high[m][inside_[i][m + 1]] : kNothing;
      const double reads = o.is_output ? low.back_words + high.words : low.words;
      const double writes = o.is_output ? low.words + high.back_words : high.words;
      sum += reads * o.read_pj[m] + writes * o.write_pj[m];
    }
  }
  return sum;
}

bool TabledCosts::cost(std::span<const std::uint32_t> order, std::size_t changed, Costs& costs) {
  read_order(order, changed);
  kept_.fill(0);
  for (const MemoryTables& memory : memories_)
    if (!share(memory)) return false;
  for (std::size_t o = 0; o < operands_.size(); ++o) merge(o);
  buffer();
  for (PortSums& sums : sums_) {
    sums.late = sums.early = sums.windows = sums.average_bits = 0;
    sums.count = sums.once = 0;
    sums.is_always_busy = false;
  }
  for (std::size_t o = 0; o < operands_.size(); ++o) move(o);
  const double cycles = cycles_[set_[loops_]] * cycles_per_mac_;
  const double stalled = stall();
  hide_first_loads(cycles + stalled);
  costs.latency = cycles + stalled + onload() + offload();
  costs.energy_pj = mac_energy_pj_ + energy() + static_pj_per_cycle_ * costs.latency;
  return true;
}

}  // namespace monet::cost
