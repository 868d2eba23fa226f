#include "monet/onnx/prune.h"

#include <algorithm>

namespace monet {
namespace {

void keep_tensors(Graph& graph, const std::vector<bool>& kept) {
  std::vector<TensorId> renumbered(graph.tensors.size(), kNoTensor);
  std::vector<Tensor> tensors;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!kept[t]) continue;
    renumbered[t] = TensorId{static_cast<std::uint32_t>(tensors.size())};
    tensors.push_back(std::move(graph.tensors[t]));
  }
  const auto renumber = [&](TensorId& t) {
    if (t != kNoTensor) t = renumbered[t.index()];
  };
  for (Tensor& tensor : tensors) renumber(tensor.overwrites);
  for (Node& node : graph.nodes) {
    std::for_each(node.inputs.begin(), node.inputs.end(), renumber);
    std::for_each(node.outputs.begin(), node.outputs.end(), renumber);
  }
  std::for_each(graph.outputs.begin(), graph.outputs.end(), renumber);
  graph.tensors = std::move(tensors);
}

}  // namespace

void remove_unread(Graph& graph, const std::unordered_set<std::string>& nodes) {
  std::vector<std::size_t> readers(graph.tensors.size(), 0);
  for (const TensorId t : graph.outputs) ++readers[t.index()];
  for (const Tensor& tensor : graph.tensors)
    if (tensor.overwrites != kNoTensor) ++readers[tensor.overwrites.index()];
  for (const Node& node : graph.nodes)
    for (const TensorId t : node.inputs)
      if (t != kNoTensor) ++readers[t.index()];
  std::vector<bool> kept(graph.tensors.size(), true), gone(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const auto unread = [&](TensorId t) { return t == kNoTensor || readers[t.index()] == 0; };
    if (!nodes.count(node.name) || !std::all_of(node.outputs.begin(), node.outputs.end(), unread)) continue;
    gone[n] = true;
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) kept[t.index()] = false;
    for (const TensorId t : node.inputs)
      if (t != kNoTensor && --readers[t.index()] == 0 && graph[t].category == Category::Constant &&
          !std::holds_alternative<std::monostate>(graph[t].initial))
        kept[t.index()] = false;
  }
  if (std::find(gone.begin(), gone.end(), true) == gone.end()) return;
  std::vector<Node> left;
  for (std::size_t n = 0; n < gone.size(); ++n)
    if (!gone[n]) left.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(left);
  keep_tensors(graph, kept);
}

}  // namespace monet
