// gelu      ½·x·(1 + erf(x/√2)) in any order of its factors
// gelu_tanh ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))
// silu      x·sigmoid(x)
// hard_swish x·hard_sigmoid(x) with slope 1/6 and offset ½
#include <cmath>
#include <numbers>
#include <optional>

#include "monet/rewrite/dead_nodes.h"
#include "monet/rewrite/pattern.h"
#include "monet/rewrite/recompose.h"

namespace monet {
namespace {

class ActivationFinder {
 public:
  explicit ActivationFinder(const Graph& graph) : p_(graph) {}

  struct Found {
    UnaryKind kind;
    TensorId x;
  };

  std::optional<Found> at(const Node& node) const {
    const Binary* op = std::get_if<Binary>(&node.op);
    if (!op || op->kind != BinaryKind::Mul || node.phase != Phase::Forward) return std::nullopt;
    for (const std::size_t i : {0u, 1u}) {
      const TensorId x = node.inputs[1 - i];
      if (const Node* gate = p_.unary(node.inputs[i], UnaryKind::Sigmoid); gate && gate->inputs[0] == x)
        return Found{UnaryKind::Silu, x};
      if (const Node* gate = p_.unary(node.inputs[i], UnaryKind::HardSigmoid); gate && gate->inputs[0] == x) {
        const Unary& g = std::get<Unary>(gate->op);
        if (std::abs(g.a - 1.0 / 6) < 1e-4 && g.b == 0.5) return Found{UnaryKind::HardSwish, x};
      }
    }
    return gelu(node);
  }

 private:
  // The three factors ½, x and (1 + s) of nested products.
  std::optional<Found> gelu(const Node& node) const {
    std::vector<TensorId> factors;
    for (const TensorId t : node.inputs) {
      const Node* inner = p_.binary(t, BinaryKind::Mul);
      if (inner && factors.size() < 2)
        factors.insert(factors.end(), inner->inputs.begin(), inner->inputs.end());
      else
        factors.push_back(t);
    }
    if (factors.size() != 3) return std::nullopt;
    for (std::size_t h = 0; h < 3; ++h) {
      if (!p_.is_number(factors[h], 0.5)) continue;
      for (const auto& [x, s] : {std::pair{factors[(h + 1) % 3], factors[(h + 2) % 3]},
                                 std::pair{factors[(h + 2) % 3], factors[(h + 1) % 3]}}) {
        const Node* sum = p_.binary(s, BinaryKind::Add);
        if (!sum) continue;
        const TensorId curve = p_.beside_number(*sum, 1);
        if (curve == kNoTensor) continue;
        if (const Node* erf = p_.unary(curve, UnaryKind::Erf); erf && is_over_root_two(erf->inputs[0], x))
          return Found{UnaryKind::Gelu, x};
        if (const Node* tanh = p_.unary(curve, UnaryKind::Tanh); tanh && is_tanh_argument(tanh->inputs[0], x))
          return Found{UnaryKind::GeluTanh, x};
      }
    }
    return std::nullopt;
  }

  bool is_over_root_two(TensorId t, TensorId x) const {
    if (const Node* node = p_.binary(t, BinaryKind::Div))
      return node->inputs[0] == x && p_.is_number(node->inputs[1], std::numbers::sqrt2);
    if (const Node* node = p_.binary(t, BinaryKind::Mul)) return p_.beside_number(*node, 1 / std::numbers::sqrt2) == x;
    return false;
  }

  bool is_tanh_argument(TensorId t, TensorId x) const {
    const Node* scaled = p_.binary(t, BinaryKind::Mul);
    const TensorId inner = scaled ? p_.beside_number(*scaled, std::sqrt(2 / std::numbers::pi)) : kNoTensor;
    const Node* sum = inner == kNoTensor ? nullptr : p_.binary(inner, BinaryKind::Add);
    const TensorId cubic = sum ? Pattern::beside(*sum, x) : kNoTensor;
    const Node* product = cubic == kNoTensor ? nullptr : p_.binary(cubic, BinaryKind::Mul);
    if (!product) return false;
    const TensorId cube = p_.beside_number(*product, 0.044715);
    if (cube == kNoTensor) return false;
    if (const Node* power = p_.binary(cube, BinaryKind::Pow))
      return power->inputs[0] == x && p_.is_number(power->inputs[1], 3);
    const Node* times = p_.binary(cube, BinaryKind::Mul);
    const TensorId square = times ? Pattern::beside(*times, x) : kNoTensor;
    return square != kNoTensor && p_.squared(square) == x;
  }

  Pattern p_;
};

}  // namespace

Graph recompose_activations(Graph graph) {
  std::vector<std::optional<ActivationFinder::Found>> found(graph.nodes.size());
  {
    const ActivationFinder finder(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) found[n] = finder.at(graph.nodes[n]);
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!found[n]) continue;
    graph.nodes[n].op = Unary{found[n]->kind, 0, 0};
    graph.nodes[n].inputs = {found[n]->x};
  }
  return remove_dead_nodes(std::move(graph));
}

}  // namespace monet
