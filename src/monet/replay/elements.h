#pragma once
#include <cstdint>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/graph/region.h"

namespace monet::replay {

// Copies what two boxes of one tensor share, both row-major.
void copy_shared(const Region& from_box, const double* from, const Region& to_box, double* to);

// Element by element, where a tensor lies in another: an account of views of its own, beside graph/storage.
class Elements {
 public:
  explicit Elements(const Graph& graph, const std::vector<bool>& is_view);  // by node; the graph must stay alive

  // Whose numbers they are: the tensor itself, or what it is a view of.
  TensorId shown(TensorId tensor) const;
  // Whether the tensor lies in its root position by position, as one that takes over its storage does.
  bool is_direct(TensorId tensor) const;
  // For each element of a region its flat position in the root's shape (`through_overwrites`), or in shown(tensor)'s.
  std::vector<std::int64_t> positions(TensorId tensor, const Region& region, bool through_overwrites) const;

 private:
  bool is_made_by_view(TensorId tensor) const;
  void follow_view(const Node& node, TensorId tensor, std::vector<std::int64_t>& at) const;

  const Graph& graph_;
  const std::vector<bool>& is_view_;
  std::vector<NodeId> producer_;
};

}  // namespace monet::replay
