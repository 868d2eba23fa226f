#pragma once
#include <vector>

#include "monet/plan/decide.h"

namespace monet::plan {

// In how many parts tensors are cut by the nodes decided so far. Whoever comes next is best cut in the same places: a
// tensor lies in as many blocks as all of its cuts together make of it.
class DefaultCuts {
 public:
  DefaultCuts(const Graph& graph, const std::vector<Facts>& facts);

  void remember(NodeId node, const NodeChoice& choice);
  // Into how many blocks all operands of a node are cut, by those so far and by it; parts by loop.
  double blocks(NodeId node, const std::vector<std::int64_t>& across, const std::vector<std::int64_t>& parts) const;
  // The most parts of a loop, up to `most`, that begin nowhere within a row on the other side of a view; 0 if there are
  // none.
  std::int64_t parts_at_seams(NodeId node, std::size_t loop, std::int64_t most) const;

 private:
  void pass_through_view(const Node& view);
  void find_seams(const Node& view);
  void set_seam(TensorId tensor, std::size_t axis, std::int64_t size);
  std::int64_t blocks_along(TensorId tensor, std::size_t axis, std::int64_t parts) const;

  const Graph& graph_;
  const std::vector<Facts>& facts_;
  std::vector<std::vector<std::int64_t>> cuts_;   // by tensor and axis: parts; none: not cut
  std::vector<std::vector<std::int64_t>> seams_;  // by tensor and axis: the rows of the other side of a view; 1: none
};

}  // namespace monet::plan
