#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/plan/decide.h"
#include "monet/search/fusion_rules.h"

namespace monet::search {

// A graph as fusion sees it: the nodes that compute, what passes between them, and who must run before whom.

struct FusionNode {
  std::vector<NodeId> nodes{};  // one, or the steps of an update
  std::string_view kind{};      // of the operator
  std::string_view work_class{};
  std::int64_t rows = 1;    // of its result, along which it is cut
  double weight_bytes = 0;  // of a loop nest: operands that no node makes
  double made = 0;          // elements of its largest result
  double summed = 0;        // elements that it sums up across the outermost axis; of none, 0
  std::uint64_t cores = 0;  // of Chip::cores that may run it, as bits
};

// A tensor that one node makes, or that is there before, and who reads it.
struct FusionTensor {
  static constexpr std::uint32_t kNobody = static_cast<std::uint32_t>(-1);
  std::uint32_t producer = kNobody;
  std::vector<std::uint32_t> readers{};  // rising, without the producer
  double bytes = 0, row_bytes = 0;       // all of it; one row
  bool is_output = false;                // it must leave the chip, whoever reads it
};

struct FusionGraph {
  std::vector<FusionNode> nodes{};
  std::vector<FusionTensor> tensors{};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order{};  // who must run before whom
  std::vector<std::vector<std::uint32_t>>
      neighbours{};  // by node: whose results (of more than a number) it reads, or who reads its own
  std::vector<std::vector<std::uint32_t>> made{}, read{};  // by node: tensors
  std::vector<std::uint32_t> index_of{};                   // by node of the graph; kNobody: it goes with a reader
};

// Of a graph of single works. At most 64 cores.
FusionGraph fusion_graph(const Graph& graph, const std::vector<plan::Facts>& facts, const plan::Chip& chip,
                         const FusionRules& rules);

// Nodes of the graph as those of the fusion graph that they belong to, rising.
std::vector<std::uint32_t> fusion_group(const FusionGraph& fusion, const std::vector<NodeId>& nodes);

// Groups of nodes of the graph from groups of nodes of the fusion graph, in the order in which they run: what is no
// node goes with its first reader.
std::vector<std::vector<NodeId>> with_movement(const Graph& graph, const FusionGraph& fusion,
                                               const std::vector<std::vector<std::uint32_t>>& groups);

}  // namespace monet::search
