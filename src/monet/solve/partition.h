#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "monet/base/watch.h"

namespace monet::solve {

// The cheapest way to divide the nodes of a directed acyclic graph into groups out of a given list, such that the
// groups can run one after the other: every node in one group, and no cycle between groups. Exact: an exact cover by
// branch and bound (milp.h); where its groups form a cycle, an inequality that this cycle violates and every legal
// division obeys is added, and it is solved again. Chains are solved by dynamic programming.

struct GroupCandidate {
  std::vector<std::uint32_t> nodes{};  // rising
  double cost = 0;
};

struct PartitionProblem {
  std::uint32_t nodes = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges{};  // who must run before whom
  std::vector<GroupCandidate> candidates{};                      // every node alone among them
};

struct PartitionOptions {
  Deadline deadline{};  // what is found by then may not be proven
};

struct PartitionResult {
  std::vector<std::uint32_t> chosen{};  // of the candidates, in an order in which they can run
  double cost = 0, bound = 0;           // no legal division costs less than the bound
  bool is_proven = false;
  std::uint32_t rounds = 0, cuts = 0;
};

PartitionResult partition(const PartitionProblem& problem, const PartitionOptions& options = {});

// Groups in an order in which they can run, of several the one with the lowest node first; fewer than there are if some
// form a cycle.
std::vector<std::uint32_t> order_of_groups(std::uint32_t nodes,
                                           const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges,
                                           const std::vector<const std::vector<std::uint32_t>*>& groups);

}  // namespace monet::solve
