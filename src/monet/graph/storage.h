#pragma once
#include <vector>

#include "monet/graph/graph.h"
#include "monet/graph/region.h"

namespace monet {

// Where tensors lie. Views (work::VectorWork::is_view) and values that overwrite others have no storage of their own:
// they lie in that of another tensor, the root, and so does each of their parts.
class Storage {
 public:
  explicit Storage(const Graph& graph);  // the graph must stay alive

  TensorId root(TensorId tensor) const { return root_[tensor.index()]; }
  bool is_view(NodeId node) const { return is_view_[node.index()]; }

  // The boxes of the root in which a region of a tensor lies; none overlap. Through a view of many short runs they may
  // hold more, unless `exact`.
  std::vector<Region> boxes(TensorId tensor, const Region& region, bool exact = false) const;

 private:
  void add_boxes(TensorId tensor, const Region& region, bool exact, std::vector<Region>& out) const;

  const Graph& graph_;
  std::vector<NodeId> producer_;
  std::vector<bool> is_view_;
  std::vector<TensorId> root_;
};

}  // namespace monet
