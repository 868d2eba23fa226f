#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/graph/graph.h"
#include "monet/plan/facts.h"
#include "monet/plan/machine.h"
#include "monet/plan/plan.h"

namespace monet::plan {

// A plan with nothing left open, by index.

struct LoopSplit {
  std::uint32_t loop = 0;  // of loops_of
  std::int64_t parts = 1;
  bool operator==(const LoopSplit&) const = default;
};
// Over all splits of one loop.
std::int64_t parts_of(const std::vector<LoopSplit>& splits, std::size_t loop);

struct NodeChoice {
  std::vector<std::uint32_t> cores{};  // of Chip::cores; none for a view, which nobody runs
  std::vector<LoopSplit> across{}, tiles{};
  bool at_lanes = false;  // its results lie in CoreOnChip::lanes
  bool operator==(const NodeChoice&) const = default;
};

struct ChosenGroup {
  std::vector<NodeId> nodes{};  // in the order of the graph
  Order order = Order::DepthFirst;
  bool operator==(const ChosenGroup&) const = default;
};

struct Decided {
  std::vector<NodeChoice> nodes{};    // by node
  std::vector<ChosenGroup> groups{};  // in the order in which they run; every node is in one
  std::vector<std::string> notes{};   // what a user should know of the defaults
  std::int64_t prefetch = 1;          // Plan::prefetch
  std::vector<TensorId> spilled{};    // leave the chip after their last use in the forward pass
  std::vector<SavedPlan> saved{};     // Plan::saved
};

// Where a plan says something, for diagnostics: "groups/2/0", "nodes/conv1", "nodes/conv1/tiles/OY" to a place. Fills
// in file, line and column.
using Places = std::function<void(const std::string& path, Diagnostic& diagnostic)>;

// Checks a plan and decides what it leaves open. `facts` are those of the graph's nodes. Throws InputError with
// everything that is not legal, and why.
Decided decide(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip, const Plan& plan,
               const Places& places = {});

// The same in words: a plan that says everything.
Plan in_words(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip, const Decided& decided);

}  // namespace monet::plan
