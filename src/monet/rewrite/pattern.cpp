#include "monet/rewrite/pattern.h"

#include <cmath>

namespace monet {

Pattern::Pattern(const Graph& graph) : g_(graph), uses_(uses(graph)), output_(graph.tensors.size(), false) {
  for (const TensorId t : g_.outputs) output_[t.index()] = true;
}

const Node* Pattern::producer(TensorId t, std::size_t readers) const {
  if (t == kNoTensor || output_[t.index()] || uses_.consumers[t.index()].size() > readers) return nullptr;
  const NodeId by = uses_.producer[t.index()];
  return by == kNoNode ? nullptr : &g_[by];
}

const Node* Pattern::unary(TensorId t, UnaryKind kind, std::size_t readers) const {
  const Node* node = made_by<Unary>(t, readers);
  return node && std::get<Unary>(node->op).kind == kind ? node : nullptr;
}

const Node* Pattern::binary(TensorId t, BinaryKind kind, std::size_t readers) const {
  const Node* node = made_by<Binary>(t, readers);
  return node && std::get<Binary>(node->op).kind == kind ? node : nullptr;
}

std::optional<double> Pattern::number(TensorId t) const {
  if (t == kNoTensor) return std::nullopt;
  const Splat* splat = std::get_if<Splat>(&g_[t].initial);
  if (!splat || g_[t].category != Category::Constant || elements(g_[t].shape) != 1) return std::nullopt;
  return splat->value;
}

bool Pattern::is_number(TensorId t, double value) const {
  const auto n = number(t);
  return n && std::abs(*n - value) <= 1e-5 * std::abs(value);
}

TensorId Pattern::beside_number(const Node& node, double value) const {
  if (is_number(node.inputs[1], value)) return node.inputs[0];
  if (is_number(node.inputs[0], value)) return node.inputs[1];
  return kNoTensor;
}

TensorId Pattern::beside(const Node& node, TensorId other) {
  if (node.inputs[0] == other) return node.inputs[1];
  if (node.inputs[1] == other) return node.inputs[0];
  return kNoTensor;
}

TensorId Pattern::squared(TensorId t, std::size_t readers) const {
  if (const Node* node = unary(t, UnaryKind::Square, readers)) return node->inputs[0];
  if (const Node* node = binary(t, BinaryKind::Pow, readers); node && is_number(node->inputs[1], 2))
    return node->inputs[0];
  if (const Node* node = binary(t, BinaryKind::Mul, readers); node && node->inputs[0] == node->inputs[1])
    return node->inputs[0];
  return kNoTensor;
}

}  // namespace monet
