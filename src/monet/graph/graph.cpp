#include "monet/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace monet {

std::string_view name(Category category) {
  static constexpr std::array<std::string_view, 10> kNames{
      "input",       "weight",   "activation", "gradient", "optimizer_state",
      "model_state", "constant", "index",      "mask",     "workspace"};
  return kNames[static_cast<std::size_t>(category)];
}

std::string_view name(Phase phase) {
  static constexpr std::array<std::string_view, kPhases> kNames{"forward", "loss", "backward", "update", "recompute"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::int64_t elements(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

std::uint64_t bits(const Tensor& tensor) { return storage_bits(tensor.shape, tensor.format); }
std::uint64_t bytes(const Tensor& tensor) { return (bits(tensor) + 7) / 8; }
std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

Uses uses(const Graph& graph) {
  Uses u;
  u.producer.assign(graph.tensors.size(), kNoNode);
  u.consumers.resize(graph.tensors.size());
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const TensorId t : node.inputs) {
      if (t == kNoTensor) continue;
      auto& readers = u.consumers[t.index()];
      if (readers.empty() || readers.back() != NodeId{n}) readers.push_back(NodeId{n});
    }
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) u.producer[t.index()] = NodeId{n};
  }
  return u;
}

TensorId tensor_named(const Graph& graph, std::string_view name) {
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t)
    if (graph.tensors[t].name == name) return TensorId{t};
  return kNoTensor;
}

}  // namespace monet
