#include "monet/search/fusion.h"

#include <algorithm>
#include <map>

#include "monet/solve/partition.h"

namespace monet::search {
namespace {

double cost_of(const FusionInput& input, const FusionGraph& graph, const std::vector<std::uint32_t>& group) {
  if (input.objective == FusionObjective::Groups) return 1;
  const Boundary boundary = boundary_of(graph, group);
  const plan::Store& home = input.chip.machine.stores[input.chip.machine.home.index()];
  if (input.objective == FusionObjective::Traffic) return boundary.in + boundary.out;
  if (input.objective == FusionObjective::Energy) {
    double energy = boundary.in * home.read_pj_per_byte + boundary.out * home.write_pj_per_byte;
    for (const std::uint32_t u : group)
      for (const NodeId n : graph.nodes[u].nodes) energy += input.costs[n.index()].energy_pj;
    return energy;
  }
  std::map<std::uint32_t, double> busy;
  double longest = (boundary.in + boundary.out) / home.bytes_per_cycle;
  for (const std::uint32_t u : group)
    for (const NodeId n : graph.nodes[u].nodes) {
      const NodeCost& cost = input.costs[n.index()];
      longest = std::max(longest, busy[cost.unit] += cost.cycles);
    }
  return longest;
}

}  // namespace

std::string_view name(FusionObjective objective) {
  switch (objective) {
    case FusionObjective::Groups: return "groups";
    case FusionObjective::Traffic: return "traffic";
    case FusionObjective::Latency: return "latency";
    case FusionObjective::Energy: return "energy";
  }
  return "";
}

std::vector<NodeCost> fusion_costs(const plan::Chip& chip, const Evaluated& evaluated) {
  const auto& e = std::get<schedule::Evaluation>(evaluated.outcome);
  std::vector<NodeCost> out(e.nodes.size());
  for (std::size_t n = 0; n < out.size(); ++n) {
    const std::vector<std::uint32_t>& cores = evaluated.decided.nodes[n].cores;
    if (cores.empty()) continue;
    const plan::CoreOnChip& core = chip.cores[cores.front()];
    const bool on_array = e.nodes[n].macs > 0 || !core.vector;
    out[n] = {.cycles = e.nodes[n].busy / static_cast<double>(cores.size()),
              .unit = (on_array ? core.array : core.vector).value_or(plan::UnitId{}).value,
              .energy_pj = e.nodes[n].energy_pj};
  }
  return out;
}

Fusion fuse(const FusionInput& input) {
  const FusionGraph graph = fusion_graph(input.graph, input.facts, input.chip, input.rules);
  FusionRules rules = input.rules;
  const auto listed = [&](std::uint32_t limit) {
    rules.limit = limit;
    return fusion_candidates(graph, input.chip, rules, {.most_looks = input.most_looks, .deadline = input.deadline});
  };
  std::uint32_t limit = input.rules.limit;
  FusionCandidates candidates = listed(limit);
  if (!candidates.is_complete) {  // then of as many nodes as can be: from few on, as a long list takes the longest
    candidates = listed(limit = 1);
    for (std::uint32_t larger = 2; larger < input.rules.limit; ++larger) {
      FusionCandidates more = listed(larger);
      if (!more.is_complete) break;
      candidates = std::move(more);
      limit = larger;
    }
  }
  solve::PartitionProblem problem{.nodes = static_cast<std::uint32_t>(graph.nodes.size()), .edges = graph.order};
  for (std::vector<std::uint32_t>& group : candidates.groups) {
    const double cost = cost_of(input, graph, group);
    problem.candidates.push_back({std::move(group), cost});
  }
  const solve::PartitionResult found = solve::partition(problem, {.deadline = input.deadline});
  std::vector<std::vector<std::uint32_t>> groups;
  for (const std::uint32_t c : found.chosen) groups.push_back(problem.candidates[c].nodes);
  return {.groups = with_movement(input.graph, graph, groups),
          .objective = found.cost,
          .bound = candidates.is_complete ? found.bound : 0,
          .is_proven = found.is_proven && candidates.is_complete,
          .nodes = graph.nodes.size(),
          .candidates = problem.candidates.size(),
          .limit = limit,
          .rounds = found.rounds,
          .cuts = found.cuts};
}

double objective_of(const FusionInput& input, const std::vector<std::vector<NodeId>>& groups) {
  FusionRules rules = input.rules;
  rules.updates_are_one = false;  // these groups may divide an update
  const FusionGraph graph = fusion_graph(input.graph, input.facts, input.chip, rules);
  double sum = 0;
  for (const std::vector<NodeId>& nodes : groups) {
    const std::vector<std::uint32_t> group = fusion_group(graph, nodes);
    if (!group.empty()) sum += cost_of(input, graph, group);
  }
  return sum;
}

}  // namespace monet::search
