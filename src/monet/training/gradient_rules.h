#pragma once
#include <string>
#include <vector>

#include "monet/graph/builder.h"
#include "monet/training/saves.h"

namespace monet {

// What a gradient rule works with: the node, the gradients of its outputs, and where to put those of its inputs.
struct Rule {
  Builder& b;
  const Node& node;                 // a copy: the builder's own moves while nodes are added
  const std::vector<TensorId>& dy;  // per output, kNoTensor where the loss does not depend on it
  const std::vector<bool>& wants;   // per input
  const NodeSaves& saves;
  std::vector<TensorId> gradients;  // per input, filled in by the rule

  TensorId in(std::size_t i) const { return i < node.inputs.size() ? node.inputs[i] : kNoTensor; }
  bool wanted(std::size_t i) const { return i < wants.size() && wants[i]; }
  Shape shape(TensorId t) const { return b[t].shape; }  // a copy: adding nodes moves tensors
  std::string name(const char* what) const { return node.name + "." + what; }
  void give(std::size_t i, TensorId gradient) { gradients[i] = gradient; }
  // The first output's gradient; every rule but those of several outputs starts from it.
  TensorId g() const { return dy[0]; }
  // Sums a gradient over the dimensions its operand was broadcast along.
  TensorId reduce_to(TensorId gradient, const Shape& target, const std::string& label);
};

void matmul_gradient(const MatMul& op, Rule& rule);
void conv_gradient(const Conv& op, Rule& rule);
void unary_gradient(const Unary& op, Rule& rule);
void binary_gradient(const Binary& op, Rule& rule);
void select_gradient(Rule& rule);
void reduce_gradient(const Reduce& op, Rule& rule);
void pool_gradient(const Pool& op, Rule& rule);
void norm_gradient(const Norm& op, Rule& rule);
void transpose_gradient(const Transpose& op, Rule& rule);
void concat_gradient(const Concat& op, Rule& rule);
void split_gradient(const Split& op, Rule& rule);
void pad_gradient(const Pad& op, Rule& rule);

}  // namespace monet
