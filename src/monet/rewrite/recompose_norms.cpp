// Layer normalisation: d = x - mean(x); y = d / sqrt(mean(d²) + ε) [· γ [+ β]].
// RMS normalisation:   y = x / sqrt(mean(x²) + ε), as a quotient or a product with the reciprocal, [· γ].
// The means run over the trailing dimensions; γ and β have their shape. The scale and shift are taken in only as
// weights.
#include <algorithm>
#include <optional>

#include "monet/graph/builder.h"
#include "monet/rewrite/dead_nodes.h"
#include "monet/rewrite/pattern.h"
#include "monet/rewrite/recompose.h"

namespace monet {
namespace {

struct Found {
  NormKind kind = NormKind::Layer;
  TensorId x = kNoTensor, scale = kNoTensor, bias = kNoTensor;
  std::int64_t axis = 0;
  double epsilon = 0;
};

class NormFinder {
 public:
  explicit NormFinder(const Graph& graph) : g_(graph), p_(graph) {}

  // The normalisation that node ends: with its scale and shift, with its scale, or bare.
  std::optional<Found> at(const Node& node) const {
    const Binary* op = std::get_if<Binary>(&node.op);
    if (!op || node.phase != Phase::Forward) return std::nullopt;
    if (op->kind == BinaryKind::Add)
      for (const std::size_t i : {0u, 1u})
        if (auto found = scaled_operand(node.inputs[i]);
            found && is_parameter(node.inputs[1 - i], *found) && found->kind == NormKind::Layer) {
          found->bias = node.inputs[1 - i];
          return found;
        }
    if (op->kind == BinaryKind::Mul)
      if (auto found = scaled(node)) return found;
    return core(node);
  }

 private:
  std::optional<Found> scaled_operand(TensorId t) const {
    const Node* node = p_.binary(t, BinaryKind::Mul);
    return node ? scaled(*node) : std::nullopt;
  }

  std::optional<Found> scaled(const Node& product) const {
    for (const std::size_t i : {0u, 1u}) {
      const Node* inner = p_.made_by<Binary>(product.inputs[i]);
      if (!inner) continue;
      if (auto found = core(*inner); found && is_parameter(product.inputs[1 - i], *found)) {
        found->scale = product.inputs[1 - i];
        return found;
      }
    }
    return std::nullopt;
  }

  bool is_parameter(TensorId t, const Found& found) const {
    const Shape& x = g_[found.x].shape;
    return g_[t].category == Category::Weight && g_[t].shape == Shape(x.begin() + found.axis, x.end());
  }

  // d / √(mean(d²)+ε), or d · (1/√…)
  std::optional<Found> core(const Node& node) const {
    const BinaryKind kind = std::get<Binary>(node.op).kind;
    if (kind == BinaryKind::Div)
      if (const Node* root = p_.unary(node.inputs[1], UnaryKind::Sqrt))
        return from_variance(node.inputs[0], root->inputs[0]);
    if (kind == BinaryKind::Mul)
      for (const std::size_t i : {0u, 1u}) {
        const TensorId variance = inverse_root(node.inputs[i]);
        if (variance != kNoTensor)
          if (auto found = from_variance(node.inputs[1 - i], variance)) return found;
      }
    return std::nullopt;
  }

  // v if t is 1/√v
  TensorId inverse_root(TensorId t) const {
    if (const Node* node = p_.unary(t, UnaryKind::Rsqrt)) return node->inputs[0];
    const Node* reciprocal = p_.unary(t, UnaryKind::Reciprocal);
    const Node* quotient = p_.binary(t, BinaryKind::Div);
    TensorId root = kNoTensor;
    if (reciprocal) root = reciprocal->inputs[0];
    if (quotient && p_.is_number(quotient->inputs[0], 1)) root = quotient->inputs[1];
    const Node* sqrt = root == kNoTensor ? nullptr : p_.unary(root, UnaryKind::Sqrt);
    return sqrt ? sqrt->inputs[0] : kNoTensor;
  }

  std::optional<std::int64_t> mean_axis(TensorId t, std::size_t rank, TensorId& of) const {
    const Node* node = p_.made_by<Reduce>(t, 2);
    if (!node) return std::nullopt;
    const Reduce& op = std::get<Reduce>(node->op);
    if (op.kind != ReduceKind::Mean || !op.keep || op.axes.empty() ||
        op.axes.back() != static_cast<std::int64_t>(rank) - 1)
      return std::nullopt;
    if (op.axes.back() - op.axes.front() + 1 != static_cast<std::int64_t>(op.axes.size())) return std::nullopt;
    of = node->inputs[0];
    return op.axes.front();
  }

  std::optional<Found> from_variance(TensorId d, TensorId shifted_variance) const {
    const Node* sum = p_.binary(shifted_variance, BinaryKind::Add);
    if (!sum) return std::nullopt;
    Found found;
    TensorId variance = kNoTensor;
    for (const std::size_t i : {0u, 1u})
      if (const auto e = p_.number(sum->inputs[i])) found.epsilon = *e, variance = sum->inputs[1 - i];
    if (variance == kNoTensor) return std::nullopt;
    const std::size_t rank = g_[d].shape.size();
    TensorId squares = kNoTensor, averaged = kNoTensor;
    const auto axis = mean_axis(variance, rank, squares);
    if (!axis || p_.squared(squares) != d) return std::nullopt;
    found.axis = *axis;
    const Node* difference = p_.binary(d, BinaryKind::Sub, 2);
    if (difference && mean_axis(difference->inputs[1], rank, averaged) == axis && averaged == difference->inputs[0]) {
      found.x = difference->inputs[0];
    } else {
      found.kind = NormKind::Rms;
      found.x = d;
    }
    return found;
  }

  const Graph& g_;
  Pattern p_;
};

}  // namespace

Graph recompose_norms(Graph graph) {
  std::vector<std::optional<Found>> found(graph.nodes.size());
  {
    const NormFinder finder(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) found[n] = finder.at(graph.nodes[n]);
  }
  // A bare or scaled normalisation inside a larger one is taken in by it and dies with its only reader.
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!found[n]) continue;
    Node& node = graph.nodes[n];
    const Found& f = *found[n];
    node.inputs = {f.x, f.scale};
    if (f.kind == NormKind::Layer) node.inputs.push_back(f.bias);
    node.op = Norm{f.kind, f.axis, 1, f.epsilon, 0.1};
  }
  return remove_dead_nodes(std::move(graph));
}

}  // namespace monet
