#pragma once
#include <variant>

#include "monet/graph/graph.h"

// Counts over a graph, written without the rooms under test.

namespace monet::test {

inline std::int64_t parameters(const Graph& graph) {
  std::int64_t count = 0;
  for (const Tensor& t : graph.tensors)
    if (t.category == Category::Weight) count += elements(t.shape);
  return count;
}

// One per multiplication of a convolution (each output element takes a kernel's worth of one group) or of a matrix
// product (each output element takes the inner size).
inline std::int64_t multiplications(const Graph& graph) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes) {
    if (std::holds_alternative<Conv>(node.op)) {
      const Shape& w = graph[node.inputs[1]].shape;
      count += elements(graph[node.outputs[0]].shape) * elements(w) / w[0];
    } else if (const MatMul* op = std::get_if<MatMul>(&node.op)) {
      const Shape& a = graph[node.inputs[0]].shape;
      count += elements(graph[node.outputs[0]].shape) * a[op->trans_a ? a.size() - 2 : a.size() - 1];
    }
  }
  return count;
}

template <class Op>
std::size_t nodes_of(const Graph& graph) {
  std::size_t count = 0;
  for (const Node& node : graph.nodes) count += std::holds_alternative<Op>(node.op);
  return count;
}

}  // namespace monet::test
