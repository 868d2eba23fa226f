#include "monet/graph/saved.h"

namespace monet {

std::vector<TensorId> view_roots(const Graph& g) {
  std::vector<TensorId> root(g.tensors.size());
  for (std::uint32_t t = 0; t < root.size(); ++t) root[t] = TensorId{t};
  for (const Node& node : g.nodes) {
    if (!std::holds_alternative<View>(node.op) && !std::holds_alternative<Expand>(node.op)) continue;
    root[node.outputs[0].index()] = root[node.inputs[0].index()];
  }
  return root;
}

std::vector<TensorId> saved_activations(const Graph& g) {
  const std::vector<TensorId> root = view_roots(g);
  std::vector<bool> forward(g.tensors.size(), false), saved(g.tensors.size(), false);
  const auto transient = [&](TensorId t) {
    switch (g[t].category) {
      case Category::Input:
      case Category::Index:
      case Category::Activation:
      case Category::Mask: return true;
      case Category::Weight:
      case Category::Gradient:
      case Category::OptimizerState:
      case Category::ModelState:
      case Category::Constant:
      case Category::Workspace: return false;
    }
    return false;
  };
  std::vector<TensorId> part_of(g.tensors.size(), kNoTensor);  // of a slice: what it was cut from
  std::vector<bool> is_made(g.tensors.size(), false);
  for (const Node& node : g.nodes)
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) is_made[t.index()] = true;
  for (std::uint32_t t = 0; t < g.tensors.size(); ++t) forward[t] = !is_made[t] && transient(TensorId{t});
  for (const Node& node : g.nodes) {
    const bool is_part = std::holds_alternative<Slice>(node.op) || std::holds_alternative<Split>(node.op);
    for (const TensorId t : node.outputs) {
      if (t == kNoTensor) continue;
      forward[t.index()] = (node.phase == Phase::Forward || node.phase == Phase::Loss) && transient(t);
      if (is_part) part_of[t.index()] = root[node.inputs[0].index()];
    }
    if (node.phase != Phase::Backward && node.phase != Phase::Recompute && node.phase != Phase::Update) continue;
    for (const auto* list : {&node.inputs, &node.holds})
      for (const TensorId t : *list)
        if (t != kNoTensor && forward[root[t.index()].index()]) saved[root[t.index()].index()] = true;
  }
  std::vector<TensorId> result;
  const auto take = [&](TensorId t) {
    if (!saved[t.index()]) return;
    for (TensorId whole = part_of[t.index()]; whole != kNoTensor; whole = part_of[whole.index()])
      if (saved[whole.index()]) return;  // its storage is counted with the whole
    result.push_back(t);
  };
  for (std::uint32_t t = 0; t < g.tensors.size(); ++t)
    if (!is_made[t]) take(TensorId{t});
  for (const Node& node : g.nodes)
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) take(t);
  return result;
}

}  // namespace monet
