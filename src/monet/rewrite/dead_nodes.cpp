// Dead-node elimination. What the graph is asked for are its outputs; training graphs list every new weight, state and
// statistic among them, so an update is never dead. Limits: none.
#include "monet/rewrite/dead_nodes.h"

#include <algorithm>

namespace monet {

Graph compact(Graph g) {
  std::vector<bool> used(g.tensors.size(), false);
  const auto mark = [&](TensorId t) {
    if (t != kNoTensor) used[t.index()] = true;
  };
  for (const Node& node : g.nodes)
    for (const auto* list : {&node.inputs, &node.outputs, &node.holds}) std::for_each(list->begin(), list->end(), mark);
  std::for_each(g.outputs.begin(), g.outputs.end(), mark);
  for (std::size_t t = 0; t < g.tensors.size(); ++t) {
    const Category c = g.tensors[t].category;
    if (c == Category::Input || c == Category::Weight || c == Category::Index)
      used[t] = used[t] || g.tensors[t].overwrites == kNoTensor;
    if (!used[t]) continue;
    mark(g.tensors[t].overwrites);
    if (const CopyOf* copy = std::get_if<CopyOf>(&g.tensors[t].initial)) mark(copy->tensor);
  }
  if (std::all_of(used.begin(), used.end(), [](bool is_used) { return is_used; })) return g;
  std::vector<TensorId> renumbered(g.tensors.size(), kNoTensor);
  std::uint32_t kept = 0;
  for (std::size_t t = 0; t < g.tensors.size(); ++t) {
    if (!used[t]) continue;
    renumbered[t] = TensorId{kept};
    if (t != kept) g.tensors[kept] = std::move(g.tensors[t]);
    ++kept;
  }
  g.tensors.erase(g.tensors.begin() + kept, g.tensors.end());
  const auto renumber = [&](TensorId& t) {
    if (t != kNoTensor) t = renumbered[t.index()];
  };
  for (Tensor& t : g.tensors) {
    renumber(t.overwrites);
    if (CopyOf* copy = std::get_if<CopyOf>(&t.initial)) renumber(copy->tensor);
  }
  for (Node& node : g.nodes)
    for (auto* list : {&node.inputs, &node.outputs, &node.holds}) std::for_each(list->begin(), list->end(), renumber);
  std::for_each(g.outputs.begin(), g.outputs.end(), renumber);
  return g;
}

Graph remove_dead_nodes(Graph g) {
  std::vector<bool> live(g.tensors.size(), false);
  for (const TensorId t : g.outputs) live[t.index()] = true;
  std::vector<bool> is_dead(g.nodes.size(), false);
  for (std::size_t n = g.nodes.size(); n-- > 0;) {
    const Node& node = g.nodes[n];
    const auto is_live = [&](TensorId t) { return t != kNoTensor && live[t.index()]; };
    is_dead[n] = std::none_of(node.outputs.begin(), node.outputs.end(), is_live);
    if (is_dead[n]) continue;
    for (const auto* list : {&node.inputs, &node.holds})
      for (const TensorId t : *list)
        if (t != kNoTensor) live[t.index()] = true;
  }
  std::size_t kept = 0;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    if (is_dead[n]) continue;
    if (n != kept) g.nodes[kept] = std::move(g.nodes[n]);
    ++kept;
  }
  g.nodes.erase(g.nodes.begin() + static_cast<std::ptrdiff_t>(kept), g.nodes.end());
  return compact(std::move(g));
}

}  // namespace monet
