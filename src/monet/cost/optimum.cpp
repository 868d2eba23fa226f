#include "monet/cost/optimum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <queue>
#include <span>
#include <unordered_map>

#include "monet/base/assert.h"
#include "monet/cost/boundary_table.h"
#include "monet/cost/clock.h"
#include "monet/cost/loops.h"

namespace monet::cost {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// Everything a label has cost so far, smaller is better in each: what dominance compares. Laid out in one row of
// doubles: these, then the bits used of each memory, then the cycles each port is busy in a period.
enum Spent : std::size_t {
  kEnergy,
  kTime,     // of one period
  kSaved,    // less than the periods' times: the first is waited for by the first loads; zero or negative
  kBusiest,  // in all, of the ports that nothing still to be cut uses
  kOffload,
  kShared,
  kHalfShared = kShared + 2,
  kSeparate = kHalfShared + 2,
  kFixed = kSeparate + 2
};

struct Label {
  std::uint32_t parent = kNone;
  std::uint32_t index = 0;                            // of the tile
  std::uint8_t kind = 0;                              // of the loop that was added last
  std::array<std::uint8_t, kMaxOperands> cuts{};      // boundaries cut so far
  std::array<std::uint8_t, kMaxOperands> cut_here{};  // of them, at the tile before the last loop
  bool sums = false;                      // incomplete sums crossed the boundary of the output that was cut last
  std::uint8_t doubled = 0;               // bit per operand: the first of them has a second buffer
  std::array<float, kMaxOperands> run{};  // product of the loops since the operand last changed
  Exponents exponents{};
};

// Labels are compared with those of the same state: whatever comes next costs them the same.
struct State {
  std::uint32_t index = 0;
  std::array<std::uint8_t, kMaxOperands> cuts{};
  bool sums = false;
  std::array<float, kMaxOperands> run{};
  bool operator==(const State&) const = default;
};
struct StateHash {
  std::size_t operator()(const State& s) const {
    std::uint64_t hash = s.index * 2ull + (s.sums ? 1 : 0);
    const auto mix = [&](std::uint64_t value) { hash = std::rotl((hash ^ value) * 0x9e3779b97f4a7c15ull, 29); };
    for (std::size_t o = 0; o < kMaxOperands; ++o)
      mix(std::uint64_t{s.cuts[o]} << 32 | std::bit_cast<std::uint32_t>(s.run[o]));
    return hash;
  }
};

struct Rank {
  double first = 0, second = 0;
  bool operator<(const Rank& other) const { return first != other.first ? first < other.first : second < other.second; }
};

Rank rank_of(Criterion criterion, const Costs& c) {
  switch (criterion) {
    case Criterion::Latency: return {c.latency, c.energy_pj};
    case Criterion::Energy: return {c.energy_pj, c.latency};
    case Criterion::Edp: return {c.energy_pj * c.latency, 0};
  }
  return {};
}

class Search {
 public:
  Search(const Problem& p, const OptimumOptions& options)
      : p_(p),
        options_(options),
        lattice_(options.loops.empty() ? temporal_loops(p) : options.loops),
        table_(p, lattice_, options.watch.deadline),
        width_(kFixed + p.memories.size() + p.ports.size()) {
    result_.rooms.resize(p.memories.size());
  }
  Optimum run();

 private:
  std::span<double> row(std::uint32_t label) { return {spent_.data() + std::size_t{label} * width_, width_}; }
  double& used(std::span<double> r, std::size_t memory) const { return r[kFixed + memory]; }
  std::span<double> busy(std::span<double> r) const { return r.subspan(kFixed + p_.memories.size()); }

  std::size_t depth(const Label& l) const;
  bool holds(std::size_t memory, double bits) const {
    return result_.rooms[memory].ask(bits, p_.memories[memory].size_bits);
  }
  bool is_whole(const Label& l) const { return l.index + 1 == lattice_.size(); }

  // One way to cut at a tile: how many boundaries of each operand, and which of them get a second buffer.
  struct Cutting {
    std::array<std::uint8_t, kMaxOperands> count{};
    std::uint8_t doubled = 0;
  };
  bool is_pinned(const Label& l, const LoopKind& kind) const;
  bool is_held(const Label& l, std::size_t operand, std::size_t level) const;
  void list_cuttings(const Label& l, std::size_t kind);
  bool apply(const Label& l, const Cutting& cutting, double periods, std::span<double> r, bool& sums);
  bool fits_later(const Label& l, std::span<double> r) const;
  bool fits_top(const Label& l, std::span<double> r) const;
  void forget_closed(const Label& l, std::span<double> r) const;
  void find_ends();
  Costs bound(const Label& l, std::span<double> r) const;
  void add_wait(std::size_t operand, const BoundaryTile& tile, double wait, std::span<double> r) const;
  double onload(std::span<const double> r) const;
  void expand(std::uint32_t label);
  void keep(Label l, std::span<double> r);
  void complete(std::uint32_t label);
  void carry_on();
  Chosen trace(std::uint32_t label) const;

  const Problem& p_;
  const OptimumOptions& options_;
  Lattice lattice_;
  BoundaryTable table_;
  std::size_t width_;
  // By operand, one more than the last boundary that something has to do with; 0: none.
  using Ends = std::array<std::uint8_t, kMaxOperands>;
  std::vector<Ends> port_ends_, memory_ends_;
  std::vector<Label> labels_;
  std::vector<double> spent_;
  std::vector<bool> alive_;
  struct Entry {
    Rank rank;
    std::uint32_t depth;
    std::uint32_t label;
    bool operator<(const Entry& other) const {  // std::priority_queue takes the largest
      if (rank < other.rank || other.rank < rank) return other.rank < rank;
      return depth != other.depth ? depth < other.depth : label > other.label;
    }
  };
  std::priority_queue<Entry> queue_;
  std::unordered_map<State, std::vector<std::uint32_t>, StateHash> by_state_;
  // Of `expand` and `apply`, kept for their memory.
  std::vector<Cutting> cuttings_, longer_;
  std::array<Arrival, kMaxOperands * kMaxMemories * 4> arrivals_;
  double iterations_ = 1;
  std::size_t loops_ = 0;
  double output_elements_ = 0;
  std::optional<std::uint32_t> best_;
  Costs best_costs_{};
  mutable Optimum result_;  // its rooms are told of every question
};

std::size_t Search::depth(const Label& l) const {
  std::size_t sum = 0;
  for (std::size_t k = 0; k < lattice_.kinds().size(); ++k) sum += l.exponents[k];
  return sum;
}

// Whether the user lets this kind of loop come next.
bool Search::is_pinned(const Label& l, const LoopKind& kind) const {
  if (options_.pins.empty()) return true;
  const auto at = static_cast<std::ptrdiff_t>(depth(l)), from_outside = at - static_cast<std::ptrdiff_t>(loops_);
  return std::all_of(options_.pins.begin(), options_.pins.end(), [&](const PinnedLoop& pin) {
    if (pin.position != at && pin.position != from_outside) return true;
    return pin.dimension == kind.dimension && (!pin.factor || *pin.factor == kind.factor);
  });
}

// Whether the tile is the one the user wants in this memory, if any.
bool Search::is_held(const Label& l, std::size_t operand, std::size_t level) const {
  for (const Held& held : options_.held)
    if (held.operand == operand && held.level == level && held.extents != lattice_.extents(l.exponents)) return false;
  return true;
}

// The array boundary is cut where the operand first changes, the output's before the first loop: sums go to the lowest
// memory at every step. Others may be cut before a loop that changes the operand.
void Search::list_cuttings(const Label& l, std::size_t kind) {
  cuttings_.assign(1, {});
  for (std::size_t o = 0; o < p_.operands.size(); ++o) {
    const bool changes = p_.operands[o].relevance[lattice_.kinds()[kind].dimension] != Relevance::None;
    const bool is_first = o == 0 && l.cuts[o] == 0;
    if (!changes && !is_first) continue;
    const std::size_t all = changes ? table_.of(o).size() : 1;
    const std::uint8_t least = l.cuts[o] == 0 ? 1 : 0;  // the array's
    longer_.clear();
    for (const Cutting& c : cuttings_)
      for (std::size_t n = least; l.cuts[o] + n <= all; ++n) {
        Cutting with = c;
        with.count[o] = static_cast<std::uint8_t>(n);
        const bool cuts_memory = n > least;
        const std::size_t first = l.cuts[o] + least;
        const bool always = cuts_memory && p_.memories[table_.of(o)[first].memory()].always_doubles;
        if (!always) longer_.push_back(with);
        if (!cuts_memory || (l.run[o] == 1 && !always)) continue;
        with.doubled = static_cast<std::uint8_t>(with.doubled | (1u << o));
        longer_.push_back(with);
      }
    cuttings_.swap(longer_);
  }
}

// Makes the cuts at the tile of `l`; false if they do not fit.
bool Search::apply(const Label& l, const Cutting& cutting, double periods, std::span<double> r, bool& sums) {
  sums = l.sums;
  struct Pair {
    const BoundaryTile* tile;
    std::size_t operand, boundary;
    double run;
  };
  std::array<Pair, kMaxOperands * kMaxMemories> pairs;
  std::size_t arriving = 0, cut = 0;
  for (std::size_t o = 0; o < p_.operands.size(); ++o) {
    double run = l.run[o];
    for (std::size_t n = 0; n < cutting.count[o]; ++n) {
      const std::size_t b = l.cuts[o] + n;
      const Boundary& boundary = table_.of(o)[b];
      const std::size_t at = table_.projected(o, b, l.index);
      if (!boundary.allows(at) || (b > 0 && !is_held(l, o, b - 1))) return false;
      const double returns = boundary.returns(table_.irrelevant_inside(o, l.index));
      const BoundaryTile& tile = boundary.tile(at, returns);
      bool doubled = false;
      if (!boundary.is_array()) {
        doubled = (cutting.doubled >> o & 1u) != 0 && run == l.run[o] &&
                  (run > 1 || p_.memories[boundary.memory()].always_doubles);
        double& bits = used(r, boundary.memory());
        bits += (doubled ? 2 : 1) * boundary.held_bits(at, o == 0 && sums);
        if (!holds(boundary.memory(), bits)) return false;
      }
      if (o == 0) sums = boundary.has_sums(at, returns);
      const double passes = boundary.is_array() || doubled ? 1 : run;
      for (std::uint32_t f = 0; f < tile.count; ++f) {
        r[kEnergy] += tile.flows[f].energy_pj(returns);
        const double share = tile.flows[f].share(returns);
        arrivals_[arriving++] = {.port = tile.flows[f].port,
                                 .busy = share > 0 ? tile.flows[f].carried(returns) / (periods * share) : 0,
                                 .share = share,
                                 .passes = passes};
      }
      pairs[cut++] = {&tile, o, b, boundary.is_array() ? 1 : l.run[o]};
      if (!boundary.is_array()) run = 1;
    }
  }
  if (cut == 0) return true;
  std::uint32_t cause = 0;
  if (periods > 1) {
    const double late = wait_for(std::span(arrivals_.data(), arriving), r[kTime], busy(r), cause);
    r[kTime] += late;
    r[kSaved] -= late;
  } else {
    for (std::size_t i = 0; i < arriving; ++i) busy(r)[arrivals_[i].port] += arrivals_[i].busy * arrivals_[i].share;
  }
  for (std::size_t i = 0; i < cut; ++i) {
    const Pair& pair = pairs[i];
    if (pair.boundary == 0) continue;
    // Flows: inputs read above and write below; outputs write above (and read back), read below (and write back).
    const auto waited = [&](const BoundaryFlow& f) {
      return f.least + std::ceil(std::max(0.0, f.busy - f.least - r[kTime] / pair.run)) + f.latency;
    };
    const OperandProblem& operand = p_.operands[pair.operand];
    const BoundaryFlow& above = pair.tile->flows[0];
    const BoundaryFlow& below = pair.tile->flows[operand.is_output && pair.tile->count == 4 ? 2 : 1];
    const double wait = std::max(waited(above), waited(below));
    add_wait(pair.operand, *pair.tile, wait, r);
  }
  return true;
}

void Search::add_wait(std::size_t operand, const BoundaryTile& tile, double wait, std::span<double> r) const {
  if (p_.operands[operand].is_output) {
    r[kOffload] += wait;
    return;
  }
  const int shares = static_cast<int>(p_.ports[tile.flows[0].port].serves_both_inputs) +
                     static_cast<int>(p_.ports[tile.flows[1].port].serves_both_inputs);
  r[(shares == 2 ? kShared : shares == 1 ? kHalfShared : kSeparate) + operand - 1] += wait;
}

double Search::onload(std::span<const double> r) const {
  if (p_.operands.size() == 2) return r[kShared] + r[kHalfShared] + r[kSeparate];
  const double sa = r[kShared], ha = r[kHalfShared], pa = r[kSeparate];
  const double sb = r[kShared + 1], hb = r[kHalfShared + 1], pb = r[kSeparate + 1];
  return std::min(sa + std::max(sb + hb + pb, ha + pa), sb + std::max(sa + ha + pa, hb + pb));
}

// What is not cut yet needs at least its tile as it now is.
bool Search::fits_later(const Label& l, std::span<double> r) const {
  for (std::size_t m = 0; m < p_.memories.size(); ++m) {
    double bits = used(r, m);
    for (std::size_t i = 0; i < p_.memories[m].operands.size(); ++i) {
      const std::size_t o = p_.memories[m].operands[i], b = p_.memories[m].level[i] + 1;
      if (b >= table_.of(o).size() || b < l.cuts[o]) continue;  // top memory (counted at the start), or cut
      bits += table_.of(o)[b].held_bits(table_.projected(o, b, l.index), false);
    }
    if (!holds(m, bits)) return false;
  }
  return true;
}

// The output's highest memory was counted with complete sums.
bool Search::fits_top(const Label& l, std::span<double> r) const {
  const OperandProblem& o = p_.operands[0];
  const std::size_t top = o.memory[o.memories - 1];
  const double more = l.sums ? std::max(0.0, o.partial_bits - o.bits) * output_elements_ : 0;
  return holds(top, used(r, top) + more);
}

// Of the ports that nothing still to be cut uses only the busiest counts, of such memories none: labels that differ
// only there are equals.
void Search::forget_closed(const Label& l, std::span<double> r) const {
  const double left = iterations_ / table_.iterations(l.index);
  const auto is_open = [&](const Ends& ends) {
    for (std::size_t o = 0; o < p_.operands.size(); ++o)
      if (ends[o] > l.cuts[o]) return true;
    return false;
  };
  for (std::size_t i = 0; i < p_.ports.size(); ++i) {
    if (is_open(port_ends_[i])) continue;
    r[kBusiest] = std::max(r[kBusiest], busy(r)[i] * left);
    busy(r)[i] = 0;
  }
  for (std::size_t m = 0; m < p_.memories.size(); ++m)
    if (!is_open(memory_ends_[m]) && m != p_.operands[0].memory[p_.operands[0].memories - 1]) used(r, m) = 0;
}

// Boundaries whose flows pass a port, or below which a memory holds something.
void Search::find_ends() {
  const auto note = [&](Ends& ends, std::size_t operand, std::size_t boundary) {
    if (boundary < table_.of(operand).size())
      ends[operand] = std::max(ends[operand], static_cast<std::uint8_t>(boundary + 1));
  };
  port_ends_.resize(p_.ports.size());
  for (std::size_t i = 0; i < p_.ports.size(); ++i)
    for (const PortUser& user : p_.ports[i].users) {
      const bool low = user.direction == static_cast<std::uint32_t>(hardware::Direction::ReadToLow) ||
                       user.direction == static_cast<std::uint32_t>(hardware::Direction::WriteFromLow);
      note(port_ends_[i], user.operand, low ? user.level : user.level + 1);
    }
  memory_ends_.resize(p_.memories.size());
  for (std::size_t m = 0; m < p_.memories.size(); ++m)
    for (std::size_t i = 0; i < p_.memories[m].operands.size(); ++i)
      note(memory_ends_[m], p_.memories[m].operands[i], p_.memories[m].level[i] + 1);
}

Costs Search::bound(const Label& l, std::span<double> r) const {
  const double left = iterations_ / table_.iterations(l.index);
  thread_local std::vector<double> carried, waits;
  carried.assign(p_.ports.size(), 0);
  waits.assign(r.begin(), r.begin() + kFixed);
  Costs c{.energy_pj = r[kEnergy]};
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = busy(r)[i] * left;
  for (std::size_t o = 0; o < p_.operands.size(); ++o)
    for (std::size_t b = l.cuts[o]; b < table_.of(o).size(); ++b) {
      const BoundaryTable::Least& least = table_.least(o, b, l.index);
      c.energy_pj += least.energy;
      const BoundaryTile& any = table_.of(o)[b].tile(0, std::numeric_limits<double>::infinity());
      for (std::uint32_t f = 0; f < any.count; ++f) carried[any.flows[f].port] += least.busy[f];
      if (b > 0) add_wait(o, any, table_.of(o)[b].least_wait(), waits);
    }
  c.latency = r[kTime] * left + r[kSaved] + onload(waits) + waits[kOffload];
  c.latency = std::max(c.latency, r[kBusiest]);
  for (const double cycles : carried) c.latency = std::max(c.latency, cycles);
  c.latency = whole_cycles(c.latency);
  c.energy_pj += p_.leakage_pj_per_cycle * c.latency;
  return c;
}

void Search::keep(Label l, std::span<double> r) {
  const Costs costs = bound(l, r);
  if (!(costs.energy_pj < std::numeric_limits<double>::infinity())) return;
  const Rank rank = rank_of(options_.criterion, costs);
  if (best_ && !(rank < rank_of(options_.criterion, best_costs_))) return;
  State state{.index = l.index, .cuts = l.cuts, .sums = l.sums};
  for (std::size_t o = 0; o < p_.operands.size(); ++o)
    state.run[o] = l.cuts[o] == table_.of(o).size() ? 1.0f : l.run[o];
  std::vector<std::uint32_t>& others = by_state_[state];
  for (const std::uint32_t other : others) {
    const std::span<double> theirs = row(other);
    bool better = true;
    for (std::size_t i = 0; i < width_ && better; ++i) better = theirs[i] <= r[i];
    if (better) {
      ++result_.dominated;
      return;
    }
  }
  std::erase_if(others, [&](std::uint32_t other) {
    const std::span<double> theirs = row(other);
    for (std::size_t i = 0; i < width_; ++i)
      if (theirs[i] < r[i]) return false;
    alive_[other] = false;
    ++result_.dominated;
    return true;
  });
  const auto id = static_cast<std::uint32_t>(labels_.size());
  others.push_back(id);
  labels_.push_back(l);
  alive_.push_back(true);
  spent_.insert(spent_.end(), r.begin(), r.end());
  queue_.push({rank, static_cast<std::uint32_t>(depth(l)), id});
}

void Search::expand(std::uint32_t label) {
  const Label from = labels_[label];
  const std::vector<double> spent(row(label).begin(), row(label).end());
  const double periods = iterations_ / table_.iterations(from.index);
  std::vector<double> r;
  for (std::size_t k = 0; k < lattice_.kinds().size(); ++k) {
    const LoopKind& kind = lattice_.kinds()[k];
    if (from.exponents[k] == kind.count || !is_pinned(from, kind)) continue;
    list_cuttings(from, k);
    for (const Cutting& cutting : cuttings_) {
      r = spent;
      bool incomplete = false;
      if (!apply(from, cutting, periods, r, incomplete)) continue;
      Label to = from;
      to.sums = incomplete;
      to.parent = label;
      to.kind = static_cast<std::uint8_t>(k);
      to.cut_here = cutting.count;
      to.doubled = cutting.doubled;
      ++to.exponents[k];
      to.index += static_cast<std::uint32_t>(lattice_.stride(k));
      for (std::size_t o = 0; o < p_.operands.size(); ++o) {
        to.cuts[o] = static_cast<std::uint8_t>(to.cuts[o] + cutting.count[o]);
        const bool irrelevant = p_.operands[o].relevance[kind.dimension] == Relevance::None;
        to.run[o] = irrelevant ? to.run[o] * static_cast<float>(kind.factor) : 1.0f;
      }
      r[kTime] *= kind.factor;
      for (double& b : busy(r)) b *= kind.factor;
      if (!fits_later(to, r)) continue;
      forget_closed(to, r);
      keep(to, r);
    }
  }
}

Chosen Search::trace(std::uint32_t label) const {
  Chosen chosen;
  std::vector<std::uint32_t> path;
  for (std::uint32_t l = label; labels_[l].parent != kNone; l = labels_[l].parent) path.push_back(l);
  std::array<std::size_t, kMaxOperands> made{};
  for (std::size_t position = 0; position < path.size(); ++position) {
    const Label& l = labels_[path[path.size() - 1 - position]];
    for (std::size_t o = 0; o < p_.operands.size(); ++o) {
      bool first = true;
      for (std::size_t n = 0; n < l.cut_here[o]; ++n, ++made[o]) {
        if (made[o] == 0) continue;  // the array's
        chosen.cuts[o][made[o] - 1] = static_cast<std::uint8_t>(position);
        chosen.doubled[o][made[o] - 1] = first && (l.doubled >> o & 1u) != 0;
        first = false;
      }
    }
    if (l.kind < lattice_.kinds().size())
      chosen.order.push_back({lattice_.kinds()[l.kind].dimension, lattice_.kinds()[l.kind].factor});
  }
  for (std::size_t o = 0; o < p_.operands.size(); ++o)
    for (std::size_t b = std::max<std::size_t>(made[o], 1); b <= p_.operands[o].memories; ++b)
      chosen.cuts[o][b - 1] = static_cast<std::uint8_t>(path.size());
  if (chosen.order.empty()) chosen.order.push_back({0, 1});
  return chosen;
}

// Everything still uncut is cut at the end: those memories hold their operands whole.
void Search::complete(std::uint32_t label) {
  std::vector<double> end(row(label).begin(), row(label).end());
  Label l = labels_[label];
  Cutting rest;
  for (std::size_t o = 0; o < p_.operands.size(); ++o)
    rest.count[o] = static_cast<std::uint8_t>(table_.of(o).size() - l.cuts[o]);
  if (!apply(l, rest, 1, end, l.sums) || !fits_top(l, end)) return;
  for (std::size_t o = 0; o < p_.operands.size(); ++o) l.cuts[o] = static_cast<std::uint8_t>(table_.of(o).size());
  const Costs costs = bound(l, end);
  if (best_ && !(rank_of(options_.criterion, costs) < rank_of(options_.criterion, best_costs_))) return;
  best_ = label;
  best_costs_ = costs;
}

// The search is stopped: the best labels of each depth are taken one loop further, until some are whole. If none of
// them comes to fit, the next best are.
void Search::carry_on() {
  constexpr std::size_t kLooked = 4096, kWidth = 16, kRounds = 16;
  std::vector<std::vector<Entry>> waiting(loops_ + 1);  // per depth, the best last
  for (std::size_t i = 0; i < kLooked && !queue_.empty(); ++i, queue_.pop())
    waiting[queue_.top().depth].push_back(queue_.top());
  for (std::vector<Entry>& list : waiting) std::sort(list.begin(), list.end());
  for (std::size_t round = 0; round < kRounds && !best_; ++round)
    for (std::vector<Entry>& list : waiting) {
      queue_ = {};
      for (std::size_t i = 0; i < kWidth && !list.empty(); ++i) {
        const std::uint32_t label = list.back().label;
        list.pop_back();
        if (!alive_[label]) continue;
        if (is_whole(labels_[label]))
          complete(label);
        else
          expand(label);
      }
      for (; !queue_.empty(); queue_.pop()) waiting[queue_.top().depth].push_back(queue_.top());
      if (&list != &waiting.back()) std::sort((&list + 1)->begin(), (&list + 1)->end());
    }
}

Optimum Search::run() {
  if (!table_.is_complete()) {
    result_.is_out_of_time = true;
    return result_;
  }
  find_ends();
  result_.is_proven = true;
  Exponents last{};
  for (std::size_t k = 0; k < lattice_.kinds().size(); ++k)
    last[k] = static_cast<std::uint8_t>(lattice_.kinds()[k].count);
  iterations_ = table_.iterations(lattice_.size() - 1);
  for (const LoopKind& kind : lattice_.kinds()) loops_ += kind.count;
  std::vector<double> r(width_, 0);
  r[kTime] = p_.cycles_per_mac;
  r[kEnergy] = p_.mac_pj * p_.macs;
  // Top memories hold their operands whole.
  for (std::size_t o = 0; o < p_.operands.size(); ++o) {
    const OperandProblem& operand = p_.operands[o];
    const std::size_t top = operand.memory[operand.memories - 1];
    const double elements = count_tiles(p_, operand, lattice_.extents(last), operand.memories, 1, 1).largest;
    if (o == 0) output_elements_ = elements;
    used(r, top) += elements * operand.bits;
    if (!holds(top, used(r, top))) return result_;
  }
  Label start;
  start.run.fill(1);
  keep(start, r);
  Ticks ticks(options_.watch, 64);
  while (!queue_.empty()) {
    const Entry entry = queue_.top();
    if (alive_[entry.label]) {
      if (best_ && !(entry.rank < rank_of(options_.criterion, best_costs_))) break;
      result_.is_out_of_time = ticks.is_over();
      if (result_.is_out_of_time || labels_.size() > options_.most_labels) {
        result_.is_proven = false;
        result_.bound = bound(labels_[entry.label], row(entry.label));
        carry_on();
        break;
      }
    }
    queue_.pop();
    if (!alive_[entry.label]) continue;
    if (is_whole(labels_[entry.label]))
      complete(entry.label);
    else
      expand(entry.label);
  }
  result_.labels = labels_.size();
  if (best_) {
    result_.best = trace(*best_);
    result_.best->costs = best_costs_;
    if (result_.is_proven) result_.bound = best_costs_;
  }
  return result_;
}

}  // namespace

Optimum find_optimum(const Problem& p, const OptimumOptions& options) { return Search(p, options).run(); }

}  // namespace monet::cost
