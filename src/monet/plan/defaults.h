#pragma once
#include <forward_list>
#include <optional>
#include <vector>

#include "monet/plan/decide.h"
#include "monet/plan/default_cuts.h"

namespace monet::plan {

// Decisions that always work, for whatever a plan leaves open. Rules in docs/plan.md.
class Defaults {
 public:
  Defaults(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip);

  // Who runs a node, in so many parts at once; `near`: where its inputs are made, if that is known.
  void choose_cores(NodeId node, const NodeChoice* near, NodeChoice& choice, std::vector<std::string>& notes) const;
  // Loops split over the cores, parallel ones only.
  void choose_across(NodeId node, NodeChoice& choice) const;
  // Parts of which two find room in every store; `producer`: who makes the largest of what it reads, which is best cut
  // in the same places, and if they are fused in the same parts.
  void choose_tiles(NodeId node, const NodeChoice* producer, NodeId producer_node, bool is_fused,
                    NodeChoice& choice) const;
  // Element-wise nodes of a group that run over the same loops on the same cores: one tile of each after the other, all
  // that it touches in the store.
  void align(const std::vector<NodeId>& nodes, std::vector<NodeChoice>& choices) const;
  // What a node cuts its operands into; those that come later are best cut in the same places.
  void remember(NodeId node, const NodeChoice& choice) { cuts_.remember(node, choice); }
  // The tiles of the producer, in the loops of the node.
  std::vector<LoopSplit> followed(NodeId node, const NodeChoice& producer, NodeId producer_node) const;

 private:
  struct Load {
    double overflow = 0;                          // bytes that find no room, over all stores
    std::uint64_t largest_moves_with = 0;         // loops, as bits, of the largest operand where there is no room
    std::vector<double> inputs{}, outputs{};      // bytes of a tile
    std::vector<double> moved_in{}, moved_out{};  // the same, more where they lie in short runs of addresses
  };
  // What tiles of several nodes have in a store while one after the other runs.
  struct Life {
    TensorId tensor{};
    std::size_t first = 0, last = 0;  // of the nodes
    bool is_made = false;             // by one of them
    StoreId store{};
    double bytes = 0;
  };
  std::vector<Life> lives_of(const std::vector<NodeId>& nodes, const NodeChoice& choice) const;
  bool holds_all(const std::vector<NodeId>& nodes, const NodeChoice& choice, const std::vector<std::int64_t>& parts,
                 std::vector<Life>& lives) const;
  std::vector<std::int64_t> core_parts(NodeId node, const NodeChoice& choice) const;
  double parts_in_store(const NodeChoice& choice, const OperandFacts& operand) const;
  TileBytes least_bytes(NodeId node) const;
  const Load& load(NodeId node, const NodeChoice& choice, const std::vector<std::int64_t>& parts) const;
  Load load_of(NodeId node, const NodeChoice& choice, const std::vector<std::int64_t>& parts,
               const TileBytes& fewest) const;
  double traffic(NodeId node, const Load& load, const std::vector<std::int64_t>& parts,
                 const std::vector<std::uint32_t>& order) const;
  std::vector<std::uint32_t> best_order(NodeId node, const Load& load, const std::vector<std::int64_t>& parts,
                                        const std::vector<std::uint32_t>& wished) const;

  const Graph& graph_;
  const std::vector<Facts>& facts_;
  const Chip& chip_;
  DefaultCuts cuts_;
  // Of nodes that are alike, kept with the first of them: they are asked for again and again.
  struct KnownLoad {
    std::vector<std::uint32_t> cores{};
    std::vector<LoopSplit> across{};
    std::vector<std::int64_t> parts{};
    Load load{};
  };
  struct KnownLoads {
    std::optional<TileBytes> least{};  // of a tile of one step
    std::forward_list<KnownLoad> all{};
  };
  mutable std::vector<KnownLoads> loads_;  // by node
};

}  // namespace monet::plan
