#include "monet/solve/partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <set>

#include "monet/base/assert.h"
#include "monet/solve/milp.h"

namespace monet::solve {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;
constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

// An edge of the graph between two groups of a cycle.
struct Crossing {
  std::uint32_t from = 0, to = 0;  // nodes
};

class Partition {
 public:
  Partition(const PartitionProblem& problem, const PartitionOptions& options)
      : problem_(problem), deadline_(options.deadline) {
    holders_.resize(problem.nodes);
    for (std::uint32_t c = 0; c < problem.candidates.size(); ++c)
      for (const std::uint32_t n : problem.candidates[c].nodes) holders_[n].push_back(c);
    for (std::uint32_t n = 0; n < problem.nodes; ++n) {
      const auto alone = std::find_if(holders_[n].begin(), holders_[n].end(),
                                      [&](std::uint32_t c) { return problem.candidates[c].nodes.size() == 1; });
      MONET_ASSERT(alone != holders_[n].end(), "every node is a candidate alone");
      alone_.push_back(*alone);
    }
    part_.resize(problem.nodes);
    std::iota(part_.begin(), part_.end(), 0u);
    for (const GroupCandidate& c : problem.candidates)
      for (const std::uint32_t n : c.nodes) join(c.nodes.front(), n);
  }

  PartitionResult run() {
    PartitionResult result;
    std::vector<std::uint32_t> open;
    for (std::uint32_t n = 0; n < problem_.nodes; ++n)
      if (root(n) == n) open.push_back(n);
    solutions_.resize(problem_.nodes);
    bool is_proven = true;
    while (true) {
      ++result.rounds;
      for (const std::uint32_t part : open) is_proven &= solve_part(part);
      const std::vector<std::uint32_t> chosen = all_chosen();
      if (order(chosen).size() == chosen.size()) break;
      if (deadline_.is_over()) {
        is_proven = false;
        break;
      }
      const std::size_t before = cuts_.size();
      open = add_cuts(chosen);
      result.cuts = static_cast<std::uint32_t>(cuts_.size());
      MONET_ASSERT(cuts_.size() > before, "a cycle violates an inequality");
    }
    std::vector<std::uint32_t> chosen = all_chosen();
    for (std::uint32_t n = 0; n < problem_.nodes; ++n)
      if (root(n) == n) result.bound += solutions_[n].bound;
    if (!is_proven) break_cycles(chosen);
    for (const std::uint32_t i : order(chosen)) result.chosen.push_back(chosen[i]);
    for (const std::uint32_t c : result.chosen) result.cost += problem_.candidates[c].cost;
    result.is_proven = is_proven;
    if (is_proven) result.bound = result.cost;
    return result;
  }

 private:
  struct Solution {
    std::vector<std::uint32_t> chosen{};  // of the candidates
    double bound = 0;
  };
  struct Cut {
    std::vector<std::uint32_t> candidates{};
    double most = 0;
  };

  std::uint32_t root(std::uint32_t n) {
    while (part_[n] != n) n = part_[n] = part_[part_[n]];
    return n;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    part_[std::max(a, b)] = std::min(a, b);
  }

  std::vector<std::uint32_t> all_chosen() {
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t n = 0; n < problem_.nodes; ++n)
      if (root(n) == n) chosen.insert(chosen.end(), solutions_[n].chosen.begin(), solutions_[n].chosen.end());
    return chosen;
  }

  std::vector<std::uint32_t> order(const std::vector<std::uint32_t>& chosen) const {
    std::vector<const std::vector<std::uint32_t>*> groups;
    for (const std::uint32_t c : chosen) groups.push_back(&problem_.candidates[c].nodes);
    return order_of_groups(problem_.nodes, problem_.edges, groups);
  }

  // Nodes that no candidate has in common with the others are a problem of their own. False: not proven.
  bool solve_part(std::uint32_t part) {
    std::vector<std::uint32_t> nodes, candidates;
    for (std::uint32_t n = 0; n < problem_.nodes; ++n)
      if (root(n) == part) nodes.push_back(n);
    for (const std::uint32_t n : nodes)
      for (const std::uint32_t c : holders_[n])
        if (problem_.candidates[c].nodes.front() == n) candidates.push_back(c);
    Solution& solution = solutions_[part];
    if (candidates.size() == nodes.size()) {
      solution = {.chosen = candidates};
      for (const std::uint32_t c : candidates) solution.bound += problem_.candidates[c].cost;
      return true;
    }
    std::vector<std::uint32_t> column(problem_.candidates.size(), kNone);
    Milp milp;
    for (const std::uint32_t c : candidates) {
      column[c] = static_cast<std::uint32_t>(milp.columns.size());
      milp.columns.push_back({.cost = problem_.candidates[c].cost});
    }
    for (const std::uint32_t n : nodes) {
      Milp::Row row{.lower = 1, .upper = 1};
      for (const std::uint32_t c : holders_[n]) row.terms.push_back({column[c], 1});
      milp.rows.push_back(std::move(row));
    }
    for (const Cut& cut : cuts_) {
      if (column[cut.candidates.front()] == kNone) continue;
      Milp::Row row{.upper = cut.most};
      for (const std::uint32_t c : cut.candidates) row.terms.push_back({column[c], 1});
      milp.rows.push_back(std::move(row));
    }
    const MilpResult found = solve(milp, {.seconds = deadline_.has_time() ? deadline_.seconds_left() : 1e9});
    solution = {.bound = std::max(found.bound, 0.0)};
    if (found.values.empty()) {
      for (const std::uint32_t n : nodes) solution.chosen.push_back(alone_[n]);
      return false;
    }
    for (const std::uint32_t c : candidates)
      if (found.values[column[c]] > 0.5) solution.chosen.push_back(c);
    return found.end == MilpEnd::Optimal;
  }

  // For every group on a cycle, the shortest cycle through it. Returns the parts that have to be solved again.
  std::vector<std::uint32_t> add_cuts(const std::vector<std::uint32_t>& chosen) {
    std::vector<std::uint32_t> group(problem_.nodes);
    for (std::uint32_t g = 0; g < chosen.size(); ++g)
      for (const std::uint32_t n : problem_.candidates[chosen[g]].nodes) group[n] = g;
    std::vector<std::vector<Edge>> next(chosen.size());  // groups, by an edge of nodes
    for (const Edge& e : problem_.edges)
      if (group[e.first] != group[e.second]) next[group[e.first]].push_back(e);

    std::set<std::vector<std::uint32_t>> seen;
    std::vector<std::uint32_t> touched;
    for (std::uint32_t start = 0; start < chosen.size(); ++start) {
      const std::vector<Crossing> cycle = shortest_cycle(start, next, group);
      if (cycle.empty()) continue;
      std::vector<std::uint32_t> groups;
      for (const Crossing& c : cycle) groups.push_back(group[c.to]);
      std::sort(groups.begin(), groups.end());
      if (!seen.insert(groups).second) continue;
      Cut cut = cut_of(cycle);
      for (const std::uint32_t c : cut.candidates)
        join(problem_.candidates[cut.candidates.front()].nodes.front(), problem_.candidates[c].nodes.front());
      touched.push_back(problem_.candidates[cut.candidates.front()].nodes.front());
      cuts_.push_back(std::move(cut));
    }
    for (std::uint32_t& n : touched) n = root(n);
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    return touched;
  }

  std::vector<Crossing> shortest_cycle(std::uint32_t start, const std::vector<std::vector<Edge>>& next,
                                       const std::vector<std::uint32_t>& group) const {
    std::vector<Edge> by(next.size(), {kNone, kNone});
    std::queue<std::uint32_t> open;
    open.push(start);
    while (!open.empty()) {
      const std::uint32_t g = open.front();
      open.pop();
      for (const Edge& e : next[g]) {
        const std::uint32_t to = group[e.second];
        if (by[to].first != kNone) continue;
        by[to] = e;
        if (to != start) {
          open.push(to);
          continue;
        }
        std::vector<Crossing> cycle;
        std::uint32_t at = start;
        do {
          cycle.push_back({by[at].first, by[at].second});
          at = group[by[at].first];
        } while (at != start);
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
    }
    return {};
  }

  // A group is entered by one edge of the cycle and left by the next. Whatever groups hold these pairs of nodes, if
  // each pair has its own group, there is the same cycle: so of the candidates that hold one pair and no other, one
  // fewer than there are pairs may be chosen. (A node is in one group, so of those that hold a pair at most one is.)
  Cut cut_of(const std::vector<Crossing>& cycle) const {
    std::vector<std::uint32_t> pairs(problem_.candidates.size(), 0);
    std::vector<std::uint32_t> held;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::uint32_t enter = cycle[i].to, leave = cycle[(i + 1) % cycle.size()].from;
      for (const std::uint32_t c : holders_[enter]) {
        const std::vector<std::uint32_t>& nodes = problem_.candidates[c].nodes;
        if (std::binary_search(nodes.begin(), nodes.end(), leave) && pairs[c]++ == 0) held.push_back(c);
      }
    }
    Cut cut{.most = static_cast<double>(cycle.size()) - 1};
    for (const std::uint32_t c : held)
      if (pairs[c] == 1) cut.candidates.push_back(c);
    std::sort(cut.candidates.begin(), cut.candidates.end());
    return cut;
  }

  // What is left when time is over: groups on cycles fall apart, those with the most nodes first.
  void break_cycles(std::vector<std::uint32_t>& chosen) const {
    while (true) {
      const std::vector<std::uint32_t> placed = order(chosen);
      if (placed.size() == chosen.size()) return;
      std::vector<bool> is_placed(chosen.size(), false);
      for (const std::uint32_t i : placed) is_placed[i] = true;
      std::uint32_t largest = kNone;
      for (std::uint32_t i = 0; i < chosen.size(); ++i)
        if (!is_placed[i] && (largest == kNone || problem_.candidates[chosen[i]].nodes.size() >
                                                      problem_.candidates[chosen[largest]].nodes.size()))
          largest = i;
      const std::vector<std::uint32_t>& nodes = problem_.candidates[chosen[largest]].nodes;
      chosen.erase(chosen.begin() + largest);
      for (const std::uint32_t n : nodes) chosen.push_back(alone_[n]);
    }
  }

  const PartitionProblem& problem_;
  Deadline deadline_;
  std::vector<std::vector<std::uint32_t>> holders_;  // by node: candidates that hold it
  std::vector<std::uint32_t> alone_;                 // by node: the candidate that is this node alone
  std::vector<std::uint32_t> part_;                  // by node: of a forest, whose roots stand for parts
  std::vector<Solution> solutions_;                  // by root
  std::vector<Cut> cuts_;
};

}  // namespace

std::vector<std::uint32_t> order_of_groups(std::uint32_t nodes, const std::vector<Edge>& edges,
                                           const std::vector<const std::vector<std::uint32_t>*>& groups) {
  std::vector<std::uint32_t> group(nodes, kNone);
  for (std::uint32_t g = 0; g < groups.size(); ++g)
    for (const std::uint32_t n : *groups[g]) group[n] = g;
  std::vector<std::vector<std::uint32_t>> next(groups.size());
  std::vector<std::uint32_t> waits(groups.size(), 0);
  for (const Edge& e : edges) {
    const std::uint32_t from = group[e.first], to = group[e.second];
    if (from == to || from == kNone || to == kNone) continue;
    next[from].push_back(to);
    ++waits[to];
  }
  std::set<Edge> ready;  // lowest node, group
  for (std::uint32_t g = 0; g < groups.size(); ++g)
    if (waits[g] == 0) ready.emplace(groups[g]->front(), g);
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t g = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(g);
    for (const std::uint32_t to : next[g])
      if (--waits[to] == 0) ready.emplace(groups[to]->front(), to);
  }
  return order;
}

namespace {

// Where every candidate is a stretch of nodes in a row, and every edge leads upwards, any division into stretches can
// run: the cheapest one up to each node, one node after the other.
std::optional<PartitionResult> partition_of_stretches(const PartitionProblem& problem) {
  const bool are_stretches =
      std::all_of(problem.candidates.begin(), problem.candidates.end(),
                  [](const GroupCandidate& c) { return c.nodes.back() - c.nodes.front() + 1 == c.nodes.size(); });
  const bool lead_upwards =
      std::all_of(problem.edges.begin(), problem.edges.end(), [](const Edge& e) { return e.first < e.second; });
  if (!are_stretches || !lead_upwards) return std::nullopt;
  std::vector<double> best(problem.nodes + 1, std::numeric_limits<double>::infinity());
  std::vector<std::uint32_t> by(problem.nodes + 1, kNone);
  std::vector<std::vector<std::uint32_t>> ending(problem.nodes);
  for (std::uint32_t c = 0; c < problem.candidates.size(); ++c) ending[problem.candidates[c].nodes.back()].push_back(c);
  best[0] = 0;
  for (std::uint32_t n = 0; n < problem.nodes; ++n)
    for (const std::uint32_t c : ending[n]) {
      const double cost = best[problem.candidates[c].nodes.front()] + problem.candidates[c].cost;
      if (cost < best[n + 1]) {
        best[n + 1] = cost;
        by[n + 1] = c;
      }
    }
  PartitionResult result{.cost = best.back(), .bound = best.back(), .is_proven = true};
  for (std::uint32_t end = problem.nodes; end > 0; end = problem.candidates[by[end]].nodes.front())
    result.chosen.push_back(by[end]);
  std::reverse(result.chosen.begin(), result.chosen.end());
  return result;
}

}  // namespace

PartitionResult partition(const PartitionProblem& problem, const PartitionOptions& options) {
  if (auto result = partition_of_stretches(problem)) return std::move(*result);
  return Partition(problem, options).run();
}

}  // namespace monet::solve
