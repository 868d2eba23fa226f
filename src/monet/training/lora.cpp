#include "monet/training/lora.h"

#include "monet/graph/builder.h"

namespace monet {
namespace {

// The low-rank branch of a product with the plain matrix w [in, out] (or [out, in] when transposed).
TensorId matmul_branch(Builder& b, const Node& node, const MatMul& op, std::int64_t rank) {
  const Tensor w = b[node.inputs[1]];
  const std::int64_t in = w.shape[op.trans_b ? 1 : 0], out = w.shape[op.trans_b ? 0 : 1];
  const TensorId a = b.source(w.name + ".lora_a", {in, rank}, w.format, Category::Weight);
  const TensorId c = b.source(w.name + ".lora_b", {rank, out}, w.format, Category::Weight, Splat{0});
  const TensorId thin = b.one(MatMul{op.trans_a, false, op.alpha, 1}, {node.inputs[0], a}, node.name + ".lora_a");
  return b.one(MatMul{}, {thin, c}, node.name + ".lora_b");
}

TensorId conv_branch(Builder& b, const Node& node, Conv op, std::int64_t rank) {
  const Tensor w = b[node.inputs[1]];
  Shape a_shape = w.shape, b_shape(w.shape.size(), 1);
  a_shape[0] = rank * op.groups;
  b_shape[0] = w.shape[0];
  b_shape[1] = rank;
  const TensorId a = b.source(w.name + ".lora_a", a_shape, w.format, Category::Weight);
  const TensorId c = b.source(w.name + ".lora_b", b_shape, w.format, Category::Weight, Splat{0});
  const TensorId thin = b.one(op, {node.inputs[0], a}, node.name + ".lora_a");
  const Ints ones(op.strides.size(), 1), zeros(op.strides.size(), 0);
  return b.one(Conv{ConvKind::Forward, ones, ones, zeros, zeros, op.groups, {}}, {thin, c}, node.name + ".lora_b");
}

bool is_weight(const Graph& g, TensorId t, std::size_t least_rank) {
  return t != kNoTensor && g[t].category == Category::Weight && g[t].shape.size() >= least_rank;
}

}  // namespace

Graph add_lora(const Graph& forward, std::int64_t rank) {
  Graph sources = forward;
  std::vector<Node> nodes = std::move(sources.nodes);
  sources.nodes.clear();
  Builder b(std::move(sources));
  for (Node& node : nodes) {
    b.phase = node.phase;
    const MatMul* matmul = std::get_if<MatMul>(&node.op);
    const Conv* conv = std::get_if<Conv>(&node.op);
    const bool adapts = (matmul && is_weight(b.graph(), node.inputs[1], 2) && b[node.inputs[1]].shape.size() == 2) ||
                        (conv && conv->kind == ConvKind::Forward && is_weight(b.graph(), node.inputs[1], 3));
    if (!adapts) {
      b.graph().nodes.push_back(std::move(node));
      continue;
    }
    const TensorId branch = matmul ? matmul_branch(b, node, *matmul, rank) : conv_branch(b, node, *conv, rank);
    // The sum takes the layer's place under its name; the frozen product gets a new one.
    const TensorId result = node.outputs[0];
    const Tensor type = b[result];
    const TensorId frozen = b.source(type.name + ".frozen", type.shape, type.format, type.category);
    const std::string name = node.name;
    node.outputs[0] = frozen;
    node.name = b.unique_node(name + ".frozen");
    b.graph().nodes.push_back(std::move(node));
    b.graph().nodes.push_back(Node{.name = b.unique_node(name + ".adapted"),
                                   .op = Binary{BinaryKind::Add},
                                   .inputs = {frozen, branch},
                                   .outputs = {result},
                                   .phase = b.phase,
                                   .barrier = false,
                                   .holds = {}});
  }
  return std::move(b).finish();
}

}  // namespace monet
