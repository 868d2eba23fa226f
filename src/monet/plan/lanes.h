#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/plan/decide.h"
#include "monet/plan/facts.h"
#include "monet/plan/machine.h"

namespace monet::plan {

// Results that a plan keeps at the lanes (`keep: lanes`) lie in the registers of the array that made them, and are used
// there by the next nodes on the same array: they pass through no memory. The registers are a store of their own then.

// What the lanes of a core hold of results, all together; 0 if they keep none.
std::int64_t lane_bytes(const hardware::Core& core);

struct LaneFault {
  NodeId node{};
  std::string message{}, hint{};
};
// Why what a plan wants to keep cannot be kept.
std::vector<LaneFault> lane_faults(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip,
                                   const Decided& decided);

// Gives every core that keeps results a store for them.
void add_lane_stores(Chip& chip, const Decided& decided);

// The core as work sees it whose operands of these slots (by hardware::Slot) are at its lanes: without the memories
// above the registers. `memory`: for each of its memories which one of the core it is.
struct AtLanes {
  hardware::Core core{};
  std::vector<std::uint32_t> memory{};
};
AtLanes at_lanes(const hardware::Core& core, const std::array<bool, 3>& slots);

}  // namespace monet::plan
