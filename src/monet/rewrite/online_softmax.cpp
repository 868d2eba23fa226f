// Recognises, upwards from every softmax over the last dimension: an added or selected mask, a scaling by a constant,
// the product of queries and keys; downwards: the product with the values. Everything in between must have no other
// reader, batch dimensions must agree, and the mask must not depend on a weight. Attention with dropout between softmax
// and values is left as written.
#include "monet/rewrite/online_softmax.h"

#include <algorithm>
#include <optional>

#include "monet/graph/builder.h"
#include "monet/rewrite/dead_nodes.h"

namespace monet {
namespace {

struct Match {
  NodeId scores, softmax, values;
  TensorId mask = kNoTensor;       // added
  TensorId condition = kNoTensor;  // or: where true the score is `replacement`
  TensorId replacement = kNoTensor;
  bool keep_where_true = false;  // the score stays where the condition is true
  double scale = 1;
};

class Matcher {
 public:
  explicit Matcher(const Graph& graph)
      : g_(graph), u_(uses(graph)), trained_(graph.tensors.size(), false), output_(graph.tensors.size(), false) {
    for (std::size_t t = 0; t < g_.tensors.size(); ++t) trained_[t] = g_.tensors[t].category == Category::Weight;
    for (const Node& node : g_.nodes) {
      const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](TensorId t) { return t != kNoTensor && trained_[t.index()]; });
      for (const TensorId t : node.outputs)
        if (t != kNoTensor) trained_[t.index()] = any;
    }
    for (const TensorId t : g_.outputs) output_[t.index()] = true;
  }

  std::optional<Match> match(NodeId softmax) const {
    const Node& node = g_[softmax];
    const Softmax* op = std::get_if<Softmax>(&node.op);
    const TensorId x = node.inputs[0];
    if (!op || op->log || op->axis != static_cast<std::int64_t>(g_[x].shape.size()) - 1 || node.phase != Phase::Forward)
      return std::nullopt;
    const NodeId values = only_reader(node.outputs[0]);
    if (values == kNoNode) return std::nullopt;
    const MatMul* product = std::get_if<MatMul>(&g_[values].op);
    if (!product || g_[values].inputs[0] != node.outputs[0] || product->trans_a || product->trans_b ||
        product->alpha != 1 || has_addend(g_[values]))
      return std::nullopt;
    Match m;
    m.softmax = softmax;
    m.values = values;
    return climb(x, m) && batches_agree(m) ? std::optional(m) : std::nullopt;
  }

 private:
  static bool has_addend(const Node& node) { return node.inputs.size() > 2 && node.inputs[2] != kNoTensor; }

  NodeId only_reader(TensorId t) const {
    const auto& readers = u_.consumers[t.index()];
    return readers.size() == 1 && !output_[t.index()] ? readers[0] : kNoNode;
  }

  const double* constant(TensorId t) const {
    const Splat* splat = std::get_if<Splat>(&g_[t].initial);
    return splat && g_[t].category == Category::Constant && elements(g_[t].shape) == 1 ? &splat->value : nullptr;
  }

  // From the softmax's input up to the product of queries and keys.
  bool climb(TensorId x, Match& m) const {
    for (int steps = 0; steps < 4; ++steps) {
      const NodeId by = u_.producer[x.index()];
      if (by == kNoNode || only_reader(x) == kNoNode) return false;
      const Node& node = g_[by];
      if (const MatMul* product = std::get_if<MatMul>(&node.op)) {
        if (product->trans_a || has_addend(node)) return false;
        m.scores = by;
        m.scale *= product->alpha;
        return true;
      }
      if (std::holds_alternative<Select>(node.op)) {
        if (m.mask != kNoTensor || m.condition != kNoTensor || trained_[node.inputs[0].index()]) return false;
        m.keep_where_true = constant(node.inputs[2]) != nullptr;
        m.condition = node.inputs[0];
        m.replacement = node.inputs[m.keep_where_true ? 2 : 1];
        if (!constant(m.replacement)) return false;
        x = node.inputs[m.keep_where_true ? 1 : 2];
        continue;
      }
      const Binary* binary = std::get_if<Binary>(&node.op);
      if (!binary) return false;
      if (binary->kind == BinaryKind::Add && m.mask == kNoTensor && m.condition == kNoTensor && m.scale == 1) {
        const bool second = !trained_[node.inputs[1].index()];
        if (!second && trained_[node.inputs[0].index()]) return false;
        m.mask = node.inputs[second ? 1 : 0];
        x = node.inputs[second ? 0 : 1];
      } else if (binary->kind == BinaryKind::Mul && (constant(node.inputs[0]) || constant(node.inputs[1]))) {
        const bool second = constant(node.inputs[1]) != nullptr;
        m.scale *= *constant(node.inputs[second ? 1 : 0]);
        x = node.inputs[second ? 0 : 1];
      } else if (binary->kind == BinaryKind::Div && constant(node.inputs[1])) {
        m.scale /= *constant(node.inputs[1]);
        x = node.inputs[0];
      } else {
        return false;
      }
    }
    return false;
  }

  bool batches_agree(const Match& m) const {
    const Shape &q = g_[g_[m.scores].inputs[0]].shape, &k = g_[g_[m.scores].inputs[1]].shape,
                &v = g_[g_[m.values].inputs[1]].shape;
    if (q.size() != k.size() || q.size() != v.size()) return false;
    return std::equal(q.begin(), q.end() - 2, k.begin()) && std::equal(q.begin(), q.end() - 2, v.begin());
  }

  const Graph& g_;
  Uses u_;
  std::vector<bool> trained_, output_;
};

// [S, T] or [1,…,1, S, T], zero on and below the diagonal and hopeless above it
bool is_causal(const Tensor& mask, std::int64_t queries, std::int64_t keys) {
  const Triangle* triangle = std::get_if<Triangle>(&mask.initial);
  return triangle && mask.category == Category::Constant && triangle->k == 0 && triangle->below == 0 &&
         triangle->above <= -1e9 && queries == keys && elements(mask.shape) == queries * keys;
}

}  // namespace

Graph use_online_softmax(Graph graph, const OnlineSoftmaxOptions& options) {
  std::vector<std::optional<Match>> matches(graph.nodes.size());  // by the node of the product with the values
  {
    const Matcher matcher(graph);
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
      if (const auto m = matcher.match(NodeId{n})) matches[m->values.index()] = m;
  }
  std::vector<Node> nodes = std::move(graph.nodes);
  graph.nodes.clear();
  Builder b(std::move(graph));
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    b.phase = nodes[n].phase;
    if (!matches[n]) {
      b.graph().nodes.push_back(nodes[n]);
      continue;
    }
    const Match& m = *matches[n];
    const Node& scores = nodes[m.scores.index()];
    const std::string name = nodes[n].name + ".attention";
    const TensorId q = scores.inputs[0], v = nodes[n].inputs[1];
    TensorId k = scores.inputs[1], mask = m.mask;
    if (!std::get<MatMul>(scores.op).trans_b) {
      Ints perm(b[k].shape.size());
      for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      k = b.one(Transpose{perm}, {k}, name + ".keys");
    }
    if (m.condition != kNoTensor) {
      const TensorId zero = b.scalar(0, b[q].format.element);
      mask = b.one(Select{},
                   {m.condition, m.keep_where_true ? zero : m.replacement, m.keep_where_true ? m.replacement : zero},
                   name + ".mask");
    }
    const std::int64_t queries = b[q].shape[b[q].shape.size() - 2], keys = b[k].shape[b[k].shape.size() - 2];
    const bool causal = mask != kNoTensor && is_causal(b[mask], queries, keys);
    std::vector<TensorId> operands{q, k, v};
    if (mask != kNoTensor && !causal) operands.push_back(mask);
    b.add_into(Attention{m.scale, causal, options.block}, operands, name, nodes[n].outputs);
  }
  return remove_dead_nodes(std::move(b).finish());
}

}  // namespace monet
