#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/fusion_graph.h"

namespace monet::search {

// Every group that the rules allow: nodes that hang together, of which nobody outside must run in between. Each node
// alone is one, whatever the rules say. Rising nodes, in a fixed order.
struct FusionCandidates {
  std::vector<std::vector<std::uint32_t>> groups{};
  bool is_complete = true;  // or there were too many
};

struct CandidateOptions {
  std::size_t most = 100'000;          // groups
  std::size_t most_looks = 4'000'000;  // at sets of nodes that hang together, allowed or not
  Deadline deadline{};
};

FusionCandidates fusion_candidates(const FusionGraph& graph, const plan::Chip& chip, const FusionRules& rules,
                                   const CandidateOptions& options = {});

// Which rule a group breaks, in words; none: it is allowed. Graph, chip and rules must outlive it.
using GroupJudge = std::function<std::optional<std::string>(const std::vector<std::uint32_t>& group)>;
GroupJudge group_judge(const FusionGraph& graph, const plan::Chip& chip, const FusionRules& rules);

// What enters a group and what leaves it, in bytes.
struct Boundary {
  double in = 0, out = 0;
  double rows = 0;  // a row of each
};
Boundary boundary_of(const FusionGraph& graph, const std::vector<std::uint32_t>& group);

}  // namespace monet::search
