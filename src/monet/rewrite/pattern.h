#pragma once
#include <optional>
#include <vector>

#include "monet/graph/graph.h"

namespace monet {

// Looking at a graph from a tensor upwards, for passes that recognise operators written out in smaller ones.
class Pattern {
 public:
  explicit Pattern(const Graph& graph);

  // The producer of t if it is of this family and t has `readers` readers at most and is no output; else null.
  template <class Family>
  const Node* made_by(TensorId t, std::size_t readers = 1) const {
    const Node* node = producer(t, readers);
    return node && std::holds_alternative<Family>(node->op) ? node : nullptr;
  }
  const Node* unary(TensorId t, UnaryKind kind, std::size_t readers = 1) const;
  const Node* binary(TensorId t, BinaryKind kind, std::size_t readers = 1) const;

  // The value of a constant of one element.
  std::optional<double> number(TensorId t) const;
  bool is_number(TensorId t, double value) const;  // to 1e-5 relative: exporters write √2 with six digits

  // Of a commutative node, the operand beside the constant `value`, or beside the tensor `other`; kNoTensor if none.
  TensorId beside_number(const Node& node, double value) const;
  static TensorId beside(const Node& node, TensorId other);

  // x if t is x², written as a power, a product or a square
  TensorId squared(TensorId t, std::size_t readers = 1) const;

 private:
  const Node* producer(TensorId t, std::size_t readers) const;

  const Graph& g_;
  Uses uses_;
  std::vector<bool> output_;
};

}  // namespace monet
