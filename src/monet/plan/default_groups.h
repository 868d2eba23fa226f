#pragma once
#include <vector>

#include "monet/plan/decide.h"

namespace monet::plan {

// Fused groups: a loop nest with the element-wise work before it that belongs to no other one, and the element-wise
// work and the reductions that follow it; the steps of an update. `before`: order.h. Rules in docs/plan.md.
std::vector<ChosenGroup> default_groups(const Graph& graph, const std::vector<Facts>& facts,
                                        const std::vector<std::vector<NodeId>>& before);

}  // namespace monet::plan
