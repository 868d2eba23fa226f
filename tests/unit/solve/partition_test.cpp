#include "monet/solve/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "monet/solve/random.h"

namespace monet::solve {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

bool has_order(const PartitionProblem& p, const std::vector<std::uint32_t>& chosen) {
  std::vector<const std::vector<std::uint32_t>*> groups;
  for (const std::uint32_t c : chosen) groups.push_back(&p.candidates[c].nodes);
  return order_of_groups(p.nodes, p.edges, groups).size() == chosen.size();
}

// Every division into candidates, one after the other.
void try_all(const PartitionProblem& p, std::vector<bool>& covered, std::vector<std::uint32_t>& chosen, double cost,
             double& best) {
  const auto first = std::find(covered.begin(), covered.end(), false);
  if (first == covered.end()) {
    if (cost < best && has_order(p, chosen)) best = cost;
    return;
  }
  const auto n = static_cast<std::uint32_t>(first - covered.begin());
  for (std::uint32_t c = 0; c < p.candidates.size(); ++c) {
    const std::vector<std::uint32_t>& nodes = p.candidates[c].nodes;
    if (nodes.front() != n || std::any_of(nodes.begin(), nodes.end(), [&](std::uint32_t m) { return covered[m]; }))
      continue;
    for (const std::uint32_t m : nodes) covered[m] = true;
    chosen.push_back(c);
    try_all(p, covered, chosen, cost + p.candidates[c].cost, best);
    chosen.pop_back();
    for (const std::uint32_t m : nodes) covered[m] = false;
  }
}

PartitionProblem random_problem(std::uint64_t seed) {
  Random random(seed, 0, 0);
  PartitionProblem p{.nodes = 4 + static_cast<std::uint32_t>(random.below(7))};
  for (std::uint32_t a = 0; a < p.nodes; ++a)
    for (std::uint32_t b = a + 1; b < p.nodes; ++b)
      if (random.chance(0.25)) p.edges.push_back({a, b});
  for (std::uint32_t n = 0; n < p.nodes; ++n) p.candidates.push_back({{n}, 1});
  std::set<std::vector<std::uint32_t>> sets;
  while (sets.size() < 25) {
    std::set<std::uint32_t> nodes;
    const std::uint64_t size = 2 + random.below(3);
    while (nodes.size() < size) nodes.insert(static_cast<std::uint32_t>(random.below(p.nodes)));
    if (p.nodes < 5 && sets.size() > 8) break;
    if (sets.emplace(nodes.begin(), nodes.end()).second)
      p.candidates.push_back({{nodes.begin(), nodes.end()}, 0.25 * static_cast<double>(1 + random.below(8))});
  }
  return p;
}

TEST(Partition, IsTheBestOfAllDivisionsWithoutCycles) {
  int with_cuts = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const PartitionProblem p = random_problem(seed);
    const PartitionResult found = partition(p);
    double best = 1e9;
    std::vector<bool> covered(p.nodes, false);
    std::vector<std::uint32_t> chosen;
    try_all(p, covered, chosen, 0, best);
    EXPECT_TRUE(found.is_proven) << seed;
    EXPECT_DOUBLE_EQ(found.cost, best) << seed;
    EXPECT_DOUBLE_EQ(found.bound, best) << seed;
    EXPECT_TRUE(has_order(p, found.chosen)) << seed;
    std::vector<std::uint32_t> held;
    for (const std::uint32_t c : found.chosen)
      held.insert(held.end(), p.candidates[c].nodes.begin(), p.candidates[c].nodes.end());
    std::sort(held.begin(), held.end());
    for (std::uint32_t n = 0; n < p.nodes; ++n) EXPECT_EQ(held.at(n), n);
    EXPECT_EQ(held.size(), p.nodes);
    with_cuts += found.cuts > 0 ? 1 : 0;
  }
  EXPECT_GT(with_cuts, 20);
}

TEST(Partition, OfAChainIsTheBestOfAllToo) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed, 1, 0);
    PartitionProblem p{.nodes = 11};
    for (std::uint32_t n = 0; n + 1 < p.nodes; ++n) p.edges.push_back({n, n + 1});
    for (std::uint32_t first = 0; first < p.nodes; ++first)
      for (std::uint32_t size = 1; size <= 4 && first + size <= p.nodes; ++size) {
        GroupCandidate c{.cost = 1 + random.uniform() * size};
        for (std::uint32_t n = first; n < first + size; ++n) c.nodes.push_back(n);
        if (size == 1 || random.chance(0.7)) p.candidates.push_back(c);
      }
    double best = 1e9;
    std::vector<bool> covered(p.nodes, false);
    std::vector<std::uint32_t> chosen;
    try_all(p, covered, chosen, 0, best);
    const PartitionResult found = partition(p);
    EXPECT_EQ(found.rounds, 0u);  // no search
    EXPECT_TRUE(found.is_proven);
    EXPECT_DOUBLE_EQ(found.cost, best) << seed;
    EXPECT_TRUE(has_order(p, found.chosen));
  }
}

TEST(Partition, OrdersGroupsAsTheyCanRun) {
  // 0 -> 1 -> 2 and 0 -> 3: {1, 2} after {0}, {3} after {0}.
  const PartitionProblem p{.nodes = 4,
                           .edges = {{0, 1}, {1, 2}, {0, 3}},
                           .candidates = {{{0}, 1}, {{1}, 1}, {{2}, 1}, {{3}, 1}, {{1, 2}, 1}}};
  const PartitionResult found = partition(p);
  EXPECT_EQ(found.chosen, (std::vector<std::uint32_t>{0, 4, 3}));
  EXPECT_EQ(found.cost, 3);
}

TEST(Partition, CutsTheCycleOfTwoGroupsThatWaitForEachOther) {
  // 0 -> 1, 2 -> 3; {0, 3} and {1, 2} wait for each other.
  const PartitionProblem p{.nodes = 4,
                           .edges = {{0, 1}, {2, 3}},
                           .candidates = {{{0}, 1}, {{1}, 1}, {{2}, 1}, {{3}, 1}, {{0, 3}, 1}, {{1, 2}, 1}}};
  const PartitionResult found = partition(p);
  EXPECT_EQ(found.cost, 3);
  EXPECT_EQ(found.cuts, 1u);
}

TEST(Partition, WithoutTimeGivesALegalDivisionAndABound) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const PartitionProblem p = random_problem(seed);
    const PartitionResult found = partition(p, {.deadline = Deadline(0.0)});
    EXPECT_TRUE(has_order(p, found.chosen)) << seed;
    EXPECT_LE(found.bound, found.cost + 1e-9) << seed;
  }
}

}  // namespace
}  // namespace monet::solve
