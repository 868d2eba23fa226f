#include "monet/cost/evaluate.h"

#include <algorithm>
#include <cmath>

#include "monet/cost/clock.h"
#include "monet/cost/loop_walk.h"
#include "monet/cost/tiles.h"
#include "monet/cost/whole.h"

namespace monet::cost {
namespace {

using hardware::Direction;

// Half to even, as the reference rounds.
double round_of(double x) {
  constexpr double kShift = 6755399441055744.0;  // 1.5 · 2^52
  return x < 2251799813685248.0 ? (x + kShift) - kShift : x;
}

// Elements in a tile: temporal extents times the spatial ones below a level.
double tile_elements(const OperandProblem& o, const Extents& temporal, const SpatialLevels& s, std::size_t level) {
  double elements = s.relevant[level];
  for (const std::size_t d : o.relevant) elements *= temporal[d];
  const Extents& spatial = s.extent[level];
  for (const Relation& r : o.relations)
    elements *= distinct(r, floor_of(temporal[r.a] * spatial[r.a]), floor_of(temporal[r.b] * spatial[r.b]));
  return elements;
}

// How often elements of partially relevant axes come back.
double overlap(const OperandProblem& o, const Extents& temporal, const Extents& spatial) {
  double times = 1;
  for (const Relation& r : o.relations) {
    const double a = temporal[r.a] * spatial[r.a], b = temporal[r.b] * spatial[r.b];
    times *= a * b / distinct(r, floor_of(a), floor_of(b));
  }
  return times;
}

// What the loops of one memory do to an operand, read from the outermost one inwards.
struct Tops {
  double relevant = 1, irrelevant = 1;
};

// Derived from the order alone, for one operand; index l counts levels as in Problem.
struct Nest {
  std::array<double, kMaxLevels> cycles{};      // temporal iterations below level l; [0]: stationary cycles
  std::array<std::size_t, kMaxLevels> loops{};  // as many loops of the order
  std::array<Extents, kMaxLevels> extents{};    // of those loops
  std::array<double, kMaxLevels> returns{};     // how often the irrelevant loops outside come back to a tile
  std::array<double, kMaxLevels> fractional{};  // elements of the tile at level l
  std::array<double, kMaxLevels> integer{};
  std::array<Tops, kMaxLevels> tops{};
  std::array<bool, kMaxLevels + 1> sums{};                             // sums are still incomplete at level l
  std::array<bool, kMaxLevels + 1> partial{};                          // what moves there are partial sums
  std::array<bool, kMaxLevels + 1> integer_sums{}, integer_partial{};  // of the integer loops, where they are others
};

// A partially relevant loop is neither: it ends both.
Tops tops_of(const OperandProblem& o, std::span<const TemporalLoop> order, std::size_t from, std::size_t to) {
  Tops tops;
  std::size_t i = to;
  for (; i > from && o.relevance[order[i - 1].dimension] == Relevance::None; --i)
    tops.irrelevant *= order[i - 1].factor;
  if (i != to) return tops;
  for (; i > from && o.relevance[order[i - 1].dimension] == Relevance::Relevant; --i)
    tops.relevant *= order[i - 1].factor;
  return tops;
}

void merge_stationary(const OperandProblem& o, std::span<const TemporalLoop> order,
                      const std::array<std::uint8_t, kMaxMemories>& cuts,
                      std::array<std::uint8_t, kMaxMemories>& merged) {
  for (std::size_t m = 0; m < o.memories; ++m) {
    std::size_t cut = cuts[m];
    while (cut < order.size() && o.relevance[order[cut].dimension] == Relevance::None) ++cut;
    merged[m] = static_cast<std::uint8_t>(cut);
  }
}

// Sums stay incomplete below any loop that comes back to them.
void describe_sums(const Problem& p, const OperandProblem& o, std::span<const TemporalLoop> order, Nest& n) {
  const double all = overlap(o, n.extents[o.memories], o.fractional.extent[o.memories + 1]);
  double elements = tile_elements(o, n.extents[o.memories], o.fractional, o.memories + 1);
  for (std::size_t m = 0; m < o.memories; ++m) {
    // From the loops of memory m and the spatial ones above it outwards.
    Extents inside;
    inside.fill(1);
    for (std::size_t j = 0; m > 0 && j < n.loops[m]; ++j) inside[order[j].dimension] *= order[j].factor;
    double returns = o.fractional.copies[m + 1];
    for (std::size_t j = m > 0 ? n.loops[m] : 0; j < order.size(); ++j)
      if (o.relevance[order[j].dimension] == Relevance::None) returns *= order[j].factor;
    if (!o.relations.empty())
      returns *= p.quirks.uniform_tiles ? all / overlap(o, inside, o.fractional.extent[m + 1])
                                        : count_tiles(p, o, inside, m + 1, 1, 1).elements /
                                              count_tiles(p, o, n.extents[o.memories], o.memories + 1, 1, 1).elements;
    n.sums[m] = returns > 1;
    n.partial[m] = p.quirks.uniform_tiles ? floor_of(elements * (returns - 1)) != 0 : n.sums[m];
  }
  n.sums[o.memories] = n.partial[o.memories] = false;
}

// The same, and tiles where factors are not whole, in the reference's order of operations (loop_walk.h).
void describe_by_loop(const Problem& p, const OperandProblem& o, std::span<const TemporalLoop> order, Nest& n) {
  const auto take = [&](LoopWalk& walk, const SpatialLevels& s, std::size_t memory, std::size_t level) {
    LoopProducts products;
    // Of the array itself (memory 0) there are no temporal loops; those that stay in its inputs belong to the first
    // memory.
    for (std::size_t i = memory > 1 ? n.loops[memory - 1] : 0; memory > 0 && i < n.loops[memory]; ++i)
      walk.step(order[i].dimension, order[i].factor, products);
    for (std::size_t i = s.first[level]; i < s.first[level + 1]; ++i)
      walk.step(s.steps[i].dimension, s.steps[i].factor, products);
    return products;
  };
  const auto set_elements = [&](const SpatialLevels& s, std::array<double, kMaxLevels>& elements) {
    LoopWalk walk(o);
    double product = 1;
    for (std::size_t l = 1; l <= o.memories; ++l) {
      product *= take(walk, s, l, l - 1).relevant;
      elements[l] = round_of(product);
    }
  };
  if (o.by_loop) {
    set_elements(o.fractional, n.fractional);
    set_elements(o.integer, n.integer);
  }
  if (!o.is_output) return;
  double elements = 1;
  for (const std::size_t d : o.relevant) elements *= p.size[d];
  for (const Relation& r : o.relations) elements *= distinct(r, p.size[r.a], p.size[r.b]);
  const auto set_sums = [&](const SpatialLevels& s, auto& sums, auto& partial) {
    LoopWalk walk(o);
    std::array<LoopProducts, kMaxLevels> at;
    for (std::size_t l = 0; l <= o.memories; ++l) at[l] = take(walk, s, l, l);
    for (std::size_t m = 0; m <= o.memories; ++m) {
      double returns = 1;
      sums[m] = false;
      for (std::size_t l = m + 1; l <= o.memories; ++l) {
        returns *= at[l].irrelevant;
        sums[m] = sums[m] || at[l].returns;
      }
      partial[m] = floor_of(elements * (returns - 1)) != 0;
    }
  };
  set_sums(o.fractional, n.sums, n.partial);
  if (!p.is_integral) set_sums(o.integer, n.integer_sums, n.integer_partial);
}

void describe(const Problem& p, const OperandProblem& o, std::span<const TemporalLoop> order,
              const std::array<std::uint8_t, kMaxMemories>& cuts, Nest& n) {
  Extents extents;
  extents.fill(1);
  double cycles = 1;
  std::size_t i = 0;
  n.cycles[0] = 1;
  n.extents[0] = extents;
  n.fractional[0] = n.integer[0] = 1;
  for (std::size_t l = 1; l <= o.memories; ++l) {
    const std::size_t from = i;
    for (; i < cuts[l - 1]; ++i) {
      extents[order[i].dimension] *= order[i].factor;
      cycles *= order[i].factor;
    }
    n.cycles[l] = cycles;
    n.loops[l] = i;
    n.extents[l] = extents;
    n.fractional[l] = round_of(tile_elements(o, extents, o.fractional, l));
    n.integer[l] = p.is_integral ? n.fractional[l] : round_of(tile_elements(o, extents, o.integer, l));
    n.tops[l] = tops_of(o, order, from, i);
  }
  if (!o.is_output)
    for (std::size_t& j = n.loops[0]; j < cuts[0] && o.relevance[order[j].dimension] == Relevance::None; ++j) {
      n.cycles[0] *= order[j].factor;
      n.extents[0][order[j].dimension] *= order[j].factor;
    }
  for (std::size_t l = 0; l <= o.memories; ++l) {
    n.returns[l] = 1;
    for (std::size_t j = n.loops[l]; j < order.size(); ++j)
      if (o.relevance[order[j].dimension] == Relevance::None) n.returns[l] *= order[j].factor;
  }
  if (p.quirks.uniform_tiles)
    describe_by_loop(p, o, order, n);
  else if (o.is_output)
    describe_sums(p, o, order, n);
}

void set_flows(const OperandProblem& o, const Nest& n, std::span<MemoryLevel> levels) {
  const double total = n.cycles[o.memories];
  const auto flow = [&](std::size_t m, std::size_t direction, bool low, double elements, double elements_integer,
                        double bits) {
    Flow& f = levels[m].flows[direction];
    const std::size_t l = low ? m : m + 1;
    f.bits = bits;
    f.period = n.cycles[l];
    f.periods = floor_of(total / f.period);
    f.elements = elements_integer;
    const PortRef& port = o.ports[m][direction];
    const double factor = port.min_bits / port.max_bits;
    f.words = floor_of(ceil_of(elements * bits / port.min_bits) * factor * f.periods * o.fractional.instances[m + 1]);
    const double top = l == 0 ? 1 : n.tops[l].irrelevant;
    f.window = floor_of(f.period / top);
    f.busy = ceil_of(elements_integer * bits / port.max_bits);
    f.average_bits = floor_of(elements_integer * (o.is_output && n.sums[l] ? o.partial_bits : o.bits) / f.period);
    f.instant_bits = f.average_bits * top;
  };
  for (std::size_t m = 0; m < o.memories; ++m) {
    const bool is_top = m + 1 == o.memories;
    levels[m].flows = {};
    const double low = n.fractional[m] * o.fractional.boost[m], low_integer = n.integer[m] * o.integer.boost[m];
    const double high = n.fractional[m + 1], high_integer = n.integer[m + 1];
    if (!o.is_output) {
      flow(m, kReadToLow, true, low, low_integer, o.bits);
      if (!is_top) flow(m, kWriteFromHigh, false, high, high_integer, o.bits);
      continue;
    }
    const double low_bits = n.partial[m] ? o.partial_bits : o.bits;
    flow(m, kWriteFromLow, true, floor_of(low), floor_of(low_integer), low_bits);
    if (n.sums[m] || o.reads_first)
      flow(m, kReadToLow, true, floor_of(low), floor_of(low_integer), n.partial[m] || o.reads_first ? low_bits : 0);
    if (is_top) continue;
    const double high_bits = n.partial[m + 1] ? o.partial_bits : o.bits;
    flow(m, kReadToHigh, false, high, high_integer, high_bits);
    if (n.sums[m + 1] || o.reads_first)
      flow(m, kWriteFromHigh, false, high, high_integer, n.partial[m + 1] || o.reads_first ? high_bits : 0);
  }
}

// Integer loops may leave no incomplete sums where fractional ones do: then they are accessed but take no time.
void take_integer_sums(const OperandProblem& o, Nest& n, std::span<MemoryLevel> levels) {
  std::array<std::array<double, 4>, kMaxMemories> words{};
  for (std::size_t m = 0; m < o.memories; ++m)
    for (std::size_t d = 0; d < 4; ++d) words[m][d] = levels[m].flows[d].words;
  n.sums = n.integer_sums;
  n.partial = n.integer_partial;
  set_flows(o, n, levels);
  for (std::size_t m = 0; m < o.memories; ++m)
    for (std::size_t d = 0; d < 4; ++d) levels[m].flows[d].words = words[m][d];
}

// Exact numbers in place of uniform ones: tiles at the edges are smaller, and a sum is not read back before it was
// written.
void count_exactly(const Problem& p, const OperandProblem& o, Nest& n, std::span<MemoryLevel> levels) {
  std::vector<TileSizes> inside;  // by level
  for (std::size_t l = 0; l <= o.memories; ++l) inside.emplace_back(p, o, n.extents[l]);
  for (std::size_t m = 0; m < o.memories; ++m)
    for (std::size_t d = 0; d < 4; ++d) {
      Flow& f = levels[m].flows[d];
      if (f.periods == 0) continue;
      const std::size_t l = d == kReadToLow || d == kWriteFromLow ? m : m + 1;
      const FlowCount count =
          FlowTiles(p, o, m, static_cast<Direction>(d), inside[l], f.bits, inside[o.memories]).count(n.returns[l]);
      f.elements = count.largest;
      f.moved = count.moved;
      f.words = count.words;
      f.busy = count.busy;
      f.cycles = count.cycles;
      f.share = count.share;
      f.average_bits = f.elements * f.bits / f.period;
      f.instant_bits = f.average_bits * (l == 0 ? 1 : n.tops[l].irrelevant);
    }
  for (std::size_t l = 1; l <= o.memories; ++l) n.fractional[l] = n.integer[l] = inside[l].count(l, 1, 1).largest;
}

// Sums that are not complete when they reach a memory are kept there as such while they grow.
double held_bits(const OperandProblem& o, bool sums) {
  return o.is_output && sums ? std::max(o.bits, o.partial_bits) : o.bits;
}

double tile_bits(const OperandProblem& o, const Nest& n, std::size_t level, double elements) {
  return elements * (o.is_output && n.sums[level] ? o.partial_bits : o.bits);
}

// Two tiles of an operand are kept where both fit; who comes first is served first.
void set_buffering(const Problem& p, Evaluation& e) {
  for (const MemoryProblem& memory : p.memories) {
    std::array<double, kMaxOperands> part{};
    double used = 0;
    for (std::size_t i = 0; i < memory.operands.size(); ++i) {
      const std::size_t o = memory.operands[i], m = memory.level[i];
      part[o] = e.levels[o][m].spare_bits / memory.size_bits;
      used += part[o];
    }
    for (std::size_t o = 0; o < p.operands.size(); ++o)
      for (std::size_t i = 0; i < memory.operands.size(); ++i) {
        if (memory.operands[i] != o) continue;
        bool& is_double = e.levels[o][memory.level[i]].is_double_buffered;
        is_double = used <= 0.5 || part[o] <= 1 - used;
        if (used > 0.5 && is_double) used += part[o];
      }
  }
}

void set_allowed(const OperandProblem& o, std::span<MemoryLevel> levels) {
  for (std::size_t m = 0; m < o.memories; ++m)
    for (std::size_t d = 0; d < 4; ++d) {
      Flow& f = levels[m].flows[d];
      const bool low = d == kReadToLow || d == kWriteFromLow;
      const bool is_double = low ? m > 0 && levels[m - 1].is_double_buffered : levels[m].is_double_buffered;
      f.allowed = is_double ? f.period : f.window;
    }
}

struct Activity {
  double allowed = 0, period = 0, periods = 0;
};

// Cycles among the first `until` in which one of the activities is at work, each in the first `allowed` cycles of its
// own period. Sorted by period; each period divides the next.
double covered(std::span<const Activity> activities, double until) {
  if (activities.empty()) return 0;
  const Activity& longest = activities.back();
  const std::span<const Activity> rest = activities.first(activities.size() - 1);
  const double whole = floor_of(until / longest.period), left = until - whole * longest.period;
  const auto first = [&](double cycles) {  // of the first period
    if (cycles <= longest.allowed) return cycles;
    return longest.allowed + covered(rest, cycles) - covered(rest, longest.allowed);
  };
  return (whole > 0 ? whole * first(longest.period) : 0) + first(left);
}

constexpr std::size_t kMaxUsers = kMaxOperands * 4;  // of one port

// Ports whose transfers take longer than allowed stop the array; the worst one decides.
double worst_stall(const Problem& p, Evaluation& e) {
  double worst = 0;
  for (std::size_t i = 0; i < p.ports.size(); ++i) {
    std::array<Activity, kMaxUsers> activities;
    std::size_t count = 0;
    double late = 0, early = 0, windows = 0, always = 0;
    for (const PortUser& user : p.ports[i].users) {
      const Flow& f = e.levels[user.operand][user.level].flows[user.direction];
      if (f.periods == 0) continue;
      const double allowed = ceil_of(f.allowed * p.cycles_per_mac), period = ceil_of(f.period * p.cycles_per_mac);
      const double slack = (f.busy - allowed) * (f.periods - 1);
      (slack > 0 ? late : early) += slack;
      windows += allowed * (f.periods - 1);
      if (allowed == period && always == 0) always = period * f.periods;
      activities[count++] = {.allowed = allowed, .period = period, .periods = f.periods};
    }
    double stall = late + early;
    if (count > 1) {
      double together = always;
      if (always == 0) {
        const std::span<Activity> all(activities.data(), count);
        std::sort(all.begin(), all.end(), [](const Activity& x, const Activity& y) { return x.period < y.period; });
        together = covered(all, all.back().period) * all.back().periods;
      }
      stall = late + std::max(0.0, early + windows - together);
    }
    e.ports[i].stall = stall;
    worst = std::max(worst, stall);
  }
  return worst;
}

// No port carries more than its width, transfers that happen once included.
double saturation(const Problem& p, double cycles, Evaluation& e) {
  double most = 0;
  std::uint32_t cause = 0;
  for (std::uint32_t i = 0; i < p.ports.size(); ++i) {
    e.ports[i].busy = 0;
    for (const PortUser& user : p.ports[i].users) {
      const Flow& f = e.levels[user.operand][user.level].flows[user.direction];
      e.ports[i].busy += f.cycles;
    }
    if (e.ports[i].busy - cycles > most) {
      most = e.ports[i].busy - cycles;
      cause = i;
    }
  }
  if (most <= 0) return 0;
  e.waits.push_back({.period = cycles, .periods = 1, .cycles = most, .port = cause});
  e.ports[cause].stall += most;
  return most;
}

bool is_low(std::size_t direction) { return direction == kReadToLow || direction == kWriteFromLow; }

// Before the first step every memory must hold what that step needs. The rest of a first tile follows while the array
// works, as far as the tile's first pass is long enough. After the last step likewise, for the output.
void set_first_wait(const Problem& p, const OperandProblem& o, std::size_t m, std::size_t direction, double pass,
                    Flow& f) {
  if (is_low(direction) && m == 0) return;
  Extents one_step;
  one_step.fill(1);
  const double first = count_tiles(p, o, one_step, m + 1, 1, 1).largest;
  const double least = ceil_of(first * f.bits / o.ports[m][direction].max_bits);
  f.waited = least + ceil_of(std::max(0.0, f.busy - least - pass)) + p.memories[o.memory[m]].latency;
}

// How often the tile at a level is used, if it is brought once. A memory that holds no more than the one below passes
// on at once what that one needs.
double uses_of_tile(const Nest& n, std::size_t level) {
  while (level > 1 && n.loops[level] == n.loops[level - 1]) --level;
  return level == 0 ? 1 : n.tops[level].irrelevant;
}

// Periods nest: a transfer that belongs to the loops inside a cut happens once for each iteration of those outside.
// From the inside out (clock.h) the time of one period is that of the shorter ones in it and what must be waited for.
double nested_stall(const Problem& p, std::span<const TemporalLoop> order, const std::array<Nest, kMaxOperands>& nests,
                    Evaluation& e) {
  std::vector<double> busy(p.ports.size(), 0);
  double time = p.cycles_per_mac, iterations = 1, stalls = 0;
  const double total = nests[0].cycles[p.operands[0].memories];
  for (PortStall& port : e.ports) port = {};
  for (std::size_t position = 0; position <= order.size(); ++position) {
    if (position > 0) {
      const double factor = order[position - 1].factor;
      time *= factor;
      iterations *= factor;
      for (double& b : busy) b *= factor;
    }
    std::array<Arrival, kMaxOperands * kMaxMemories * 4> arrivals;
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < p.ports.size(); ++i)
      for (const PortUser& user : p.ports[i].users) {
        Flow& f = e.levels[user.operand][user.level].flows[user.direction];
        const std::size_t l = is_low(user.direction) ? user.level : user.level + 1;
        if (f.periods == 0 || nests[user.operand].loops[l] != position) continue;
        const double passes = f.allowed == f.period ? 1 : nests[user.operand].tops[l].irrelevant;
        const double times = f.periods * f.share;
        arrivals[count++] = {
            .port = i, .busy = f.periods > 1 && times > 0 ? f.cycles / times : 0, .share = f.share, .passes = passes};
      }
    if (count == 0) continue;
    std::uint32_t cause = 0;
    const double late = wait_for(std::span(arrivals.data(), count), time, busy, cause);
    time += late;
    const double periods = total / iterations - 1;  // the first is waited for by the first loads
    if (late > 0 && periods > 0) {
      e.waits.push_back({.period = iterations, .periods = periods, .cycles = late, .port = cause});
      e.ports[cause].stall += late * periods;
      stalls += late * periods;
    }
    for (std::uint32_t i = 0; i < p.ports.size(); ++i)
      for (const PortUser& user : p.ports[i].users) {
        Flow& f = e.levels[user.operand][user.level].flows[user.direction];
        const std::size_t l = is_low(user.direction) ? user.level : user.level + 1;
        if (f.periods == 0 || nests[user.operand].loops[l] != position) continue;
        set_first_wait(p, p.operands[user.operand], user.level, user.direction,
                       time / uses_of_tile(nests[user.operand], l), f);
      }
  }
  return stalls;
}

// First loads and last stores: those that happen once may be spread over the computation as far as their port has
// bandwidth left.
void hide_first_loads(const Problem& p, double busy_cycles, const std::array<double, kMaxOperands>& first_bits,
                      Evaluation& e) {
  struct Once {
    Flow* flow;
    double least;
  };
  for (const PortProblem& port : p.ports) {
    std::array<Once, kMaxUsers> once;
    std::size_t count = 0;
    double average = 0;
    for (const PortUser& user : port.users) {
      Flow& f = e.levels[user.operand][user.level].flows[user.direction];
      const bool returns = user.direction == kReadToLow || user.direction == kWriteFromHigh;
      if (f.periods == 0 || (p.operands[user.operand].is_output && returns)) continue;
      f.waited = f.busy;
      if (f.periods > 1)
        average += ceil_of(f.average_bits / p.cycles_per_mac);
      else
        once[count++] = {&f, ceil_of(first_bits[user.operand] / port.max_bits)};
    }
    double surplus = (port.max_bits - average) / port.max_bits * busy_cycles;
    if (surplus <= 0) continue;
    std::stable_sort(once.begin(), once.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const Once& x, const Once& y) { return x.flow->waited > y.flow->waited; });
    for (std::size_t k = 0; k < count; ++k) {
      const double above = once[k].flow->waited - once[k].least;
      const auto sharers = static_cast<double>(k + 1);
      const bool enough = surplus >= above * sharers;
      const double cut = enough ? above : surplus / sharers;
      for (std::size_t j = 0; j <= k; ++j) once[j].flow->waited -= cut;
      if (!enough) break;
      surplus -= above * sharers;
    }
  }
}

struct TransferParts {
  double shared = 0, half_shared = 0, separate = 0;
};

TransferParts onload_parts(const Problem& p, const OperandProblem& o, std::span<const MemoryLevel> levels) {
  TransferParts parts;
  for (std::size_t m = 0; m + 1 < o.memories; ++m) {
    const double pair = std::max(levels[m].flows[kWriteFromHigh].waited, levels[m + 1].flows[kReadToLow].waited);
    const bool lower = p.ports[o.ports[m][kWriteFromHigh].port].serves_both_inputs;
    const bool upper = p.ports[o.ports[m + 1][kReadToLow].port].serves_both_inputs;
    if (lower && upper)
      parts.shared += pair;
    else if (!lower && !upper)
      parts.separate += pair;
    else
      parts.half_shared = pair + (p.quirks.last_half_shared ? 0 : parts.half_shared);
  }
  return parts;
}

double onload_of(const Problem& p, const Evaluation& e) {
  const TransferParts a = onload_parts(p, p.operands[1], e.levels[1]);
  if (p.operands.size() == 2) return a.separate + (p.quirks.last_half_shared ? 0 : a.shared + a.half_shared);
  const TransferParts b = onload_parts(p, p.operands[2], e.levels[2]);
  return std::min(a.shared + std::max(b.shared + b.half_shared + b.separate, a.half_shared + a.separate),
                  b.shared + std::max(a.shared + a.half_shared + a.separate, b.half_shared + b.separate));
}

double offload_of(const OperandProblem& o, std::span<const MemoryLevel> levels) {
  double sum = 0;
  for (std::size_t m = 0; m + 1 < o.memories; ++m)
    sum += std::max(levels[m].flows[kReadToHigh].waited, levels[m + 1].flows[kWriteFromLow].waited);
  return sum;
}

void set_energy(const Problem& p, Evaluation& e) {
  e.mac_energy_pj = p.mac_pj * p.macs;
  e.memory_energy_pj = 0;
  for (std::size_t o = 0; o < p.operands.size(); ++o)
    for (std::size_t m = 0; m < p.operands[o].memories; ++m) {
      const MemoryProblem& memory = p.memories[p.operands[o].memory[m]];
      MemoryLevel& level = e.levels[o][m];
      level.energy_pj = (level.flows[kReadToLow].words + level.flows[kReadToHigh].words) * memory.read_pj +
                        (level.flows[kWriteFromLow].words + level.flows[kWriteFromHigh].words) * memory.write_pj;
      e.memory_energy_pj += level.energy_pj;
    }
  e.static_energy_pj = p.leakage_pj_per_cycle * e.latency;
  e.energy_pj = e.mac_energy_pj + e.memory_energy_pj + e.static_energy_pj;
}

}  // namespace

Costs evaluate(const Problem& p, std::span<const TemporalLoop> order, Evaluation& e) {
  std::array<Nest, kMaxOperands> nests;
  std::array<double, kMaxOperands> first_bits{};
  e.ports.resize(p.ports.size());
  e.waits.clear();
  for (std::size_t o = 0; o < p.operands.size(); ++o) {
    const OperandProblem& operand = p.operands[o];
    merge_stationary(operand, order, e.cuts[o], e.merged_cuts[o]);
    describe(p, operand, order, e.merged_cuts[o], nests[o]);
    set_flows(operand, nests[o], e.levels[o]);
    if (!p.quirks.uniform_tiles) count_exactly(p, operand, nests[o], e.levels[o]);
    for (std::size_t m = 0; m < operand.memories; ++m) {
      MemoryLevel& level = e.levels[o][m];
      level.tile_bits = p.quirks.uniform_tiles ? tile_bits(operand, nests[o], m + 1, nests[o].fractional[m + 1])
                                               : held_bits(operand, nests[o].sums[m]) * nests[o].fractional[m + 1];
      level.spare_bits = floor_of(level.tile_bits / nests[o].tops[m + 1].relevant);
      level.is_double_buffered = e.doubled[o][m];
    }
    if (p.quirks.uniform_tiles && operand.is_output && !p.is_integral)
      take_integer_sums(operand, nests[o], e.levels[o]);
    first_bits[o] = tile_bits(operand, nests[o], 1, nests[o].integer[1]);
    e.stationary[o] = nests[o].cycles[0];
  }
  if (p.quirks.ordered_buffering) set_buffering(p, e);
  for (std::size_t o = 0; o < p.operands.size(); ++o) set_allowed(p.operands[o], e.levels[o]);
  e.ideal_cycles = ceil_of(ceil_of(p.macs / p.lanes) * p.cycles_per_mac);
  e.temporal_cycles = nests[0].cycles[p.operands[0].memories] * p.cycles_per_mac;
  // First loads and stalls are told apart there, too; with both quirks nothing of it is left.
  if (!p.quirks.worst_port || !p.quirks.unbounded_hiding) e.stall = nested_stall(p, order, nests, e);
  if (p.quirks.worst_port) e.stall = worst_stall(p, e);
  if (p.quirks.unbounded_hiding) hide_first_loads(p, ceil_of(e.temporal_cycles) + e.stall, first_bits, e);
  e.onload = onload_of(p, e);
  e.offload = offload_of(p.operands[0], e.levels[0]);
  if (!p.quirks.worst_port) {
    e.stall += saturation(p, e.temporal_cycles + e.stall + e.onload + e.offload, e);
    e.stall =
        whole_cycles(e.temporal_cycles + e.stall + e.onload + e.offload) - e.temporal_cycles - e.onload - e.offload;
  }
  e.latency = e.temporal_cycles + e.stall + e.onload + e.offload;
  set_energy(p, e);
  return {.energy_pj = e.energy_pj, .latency = e.latency};
}

}  // namespace monet::cost
