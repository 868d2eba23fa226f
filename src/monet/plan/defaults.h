#pragma once
#include <optional>
#include <vector>

#include "monet/plan/decide.h"

namespace monet::plan {

// Decisions that always work, for whatever a plan leaves open. Rules in docs/plan.md.
class Defaults {
 public:
  Defaults(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip);

  // Fused groups of neighbours: a loop nest with the element-wise work and the reductions that follow it.
  std::vector<ChosenGroup> groups() const;

  // Who runs a node, in so many parts at once; `near`: where its inputs are made, if that is known.
  void choose_cores(NodeId node, const NodeChoice* near, NodeChoice& choice, std::vector<std::string>& notes) const;
  // Loops split over the cores, parallel ones only.
  void choose_across(NodeId node, NodeChoice& choice) const;
  // Parts of which two find room in every store; `producer`: whose tiles it should follow, and through which operand.
  void choose_tiles(NodeId node, const NodeChoice* producer, NodeId producer_node, NodeChoice& choice) const;
  // The tiles of the producer, in the loops of the node.
  std::vector<LoopSplit> followed(NodeId node, const NodeChoice& producer, NodeId producer_node) const;

 private:
  struct Load {
    double overflow = 0;  // bytes that find no room, over all stores
    std::vector<double> inputs{}, outputs{};
  };
  std::vector<std::int64_t> core_parts(NodeId node, const NodeChoice& choice) const;
  Load load(NodeId node, const NodeChoice& choice, const std::vector<std::int64_t>& parts) const;
  double traffic(NodeId node, const Load& load, const std::vector<std::int64_t>& parts,
                 const std::vector<std::uint32_t>& order) const;
  std::vector<std::uint32_t> best_order(NodeId node, const Load& load, const std::vector<std::int64_t>& parts,
                                        const std::vector<std::uint32_t>& wished) const;

  const Graph& graph_;
  const std::vector<Facts>& facts_;
  const Chip& chip_;
};

}  // namespace monet::plan
