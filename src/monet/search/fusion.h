#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "monet/search/fusion_candidates.h"
#include "monet/search/fusion_graph.h"
#include "monet/search/fusion_rules.h"
#include "monet/search/subject.h"

namespace monet::search {

// Which nodes to fuse: the best division of a graph into groups that the rules allow, by a cost that is the sum of its
// groups' costs, proven (solve/partition.h).

enum class FusionObjective {
  Groups,   // as few as there can be: MONET's
  Traffic,  // bytes that enter and leave groups
  Latency,  // cycles: of each group, those of its busiest unit or of what enters and leaves, whichever are more
  Energy,   // pJ: of the nodes, and of what enters and leaves
};
std::string_view name(FusionObjective objective);

// What a node takes by itself, wherever it stands.
struct NodeCost {
  double cycles = 0;
  std::uint32_t unit = 0;
  double energy_pj = 0;
};

// As an evaluation has it, which must have been possible.
std::vector<NodeCost> fusion_costs(const plan::Chip& chip, const Evaluated& evaluated);

struct FusionInput {
  const Graph& graph;  // every node a single work
  const std::vector<plan::Facts>& facts;
  const plan::Chip& chip;
  FusionRules rules{};
  FusionObjective objective = FusionObjective::Groups;
  std::vector<NodeCost> costs{};  // by node of the graph; for latency and energy
  std::size_t most_looks = CandidateOptions{}.most_looks;
  Deadline deadline{};
};

struct Fusion {
  std::vector<std::vector<NodeId>> groups{};  // of all nodes, in the order in which they run
  double objective = 0, bound = 0;
  bool is_proven = false;
  std::size_t nodes = 0, candidates = 0;
  std::uint32_t limit = 0;  // that of the rules, or the largest one with candidates that can be listed
  std::uint32_t rounds = 0, cuts = 0;
};

Fusion fuse(const FusionInput& input);

// What a division costs by the same measure. Nodes that are none count with the groups they stand in.
double objective_of(const FusionInput& input, const std::vector<std::vector<NodeId>>& groups);

}  // namespace monet::search
