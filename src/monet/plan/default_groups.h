#pragma once
#include <vector>

#include "monet/plan/decide.h"

namespace monet::plan {

// Elements that a node sums up across the outermost axis, of which no part is done before all of it is; else 0.
std::int64_t summed_across(const Graph& graph, const Facts& facts, NodeId node);

// Fused groups: a loop nest with the element-wise work before it that belongs to no other one, and the element-wise
// work and the reductions that follow it; the steps of an update. `before`: order.h. Rules in docs/plan.md.
std::vector<ChosenGroup> default_groups(const Graph& graph, const std::vector<Facts>& facts,
                                        const std::vector<std::vector<NodeId>>& before);

}  // namespace monet::plan
