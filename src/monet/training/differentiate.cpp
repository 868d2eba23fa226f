#include "monet/training/differentiate.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "monet/base/assert.h"
#include "monet/base/diagnostic.h"
#include "monet/base/overloaded.h"
#include "monet/training/gradient_rules.h"

namespace monet {
namespace {

[[noreturn]] void refuse(const Node& node, std::string_view what, std::string hint) {
  throw InputError(Diagnostic{.where = fmt::format("node '{}' ({})", node.name, what),
                              .message = "the loss depends on a trained weight through it, but it has no gradient",
                              .hint = std::move(hint)});
}

void apply_rule(Rule& r) {
  const auto refuse_gradient = [&] {
    refuse(r.node, operator_name(r.node.op), "second derivatives are not supported");
  };
  if (is_part(r.node.op)) refuse(r.node, operator_name(r.node.op), "differentiate before cutting into parts");
  const auto cast_back = [&](TensorId g, Element to) {
    return r.b[g].format.element == to ? g : r.b.one(Cast{to}, {g}, r.name("gradient"));
  };
  std::visit(
      overloaded{
          [&](const MatMul& op) { matmul_gradient(op, r); },
          [&](const Conv& op) { op.kind == ConvKind::WeightGradient ? refuse_gradient() : conv_gradient(op, r); },
          [&](const Unary& op) { unary_gradient(op, r); },
          [&](const Binary& op) { binary_gradient(op, r); },
          [&](const Sum&) {
            for (std::size_t i = 0; i < r.node.inputs.size(); ++i)
              if (r.wanted(i)) r.give(i, r.reduce_to(r.g(), r.shape(r.in(i)), r.name("gradient")));
          },
          [&](const Select&) { select_gradient(r); },
          [&](const Cast&) { r.give(0, cast_back(r.g(), r.b[r.in(0)].format.element)); },
          [&](const Dropout& op) {
            if (op.ratio == 0) return r.give(0, r.g());
            std::vector<TensorId> operands{r.g()};
            operands.insert(operands.end(), r.saves.reads.begin(), r.saves.reads.end());
            r.give(0, r.b.one(DropoutGradient{op.ratio, op.seed}, operands, r.name("gradient")));
          },
          [&](const Reduce& op) { reduce_gradient(op, r); },
          [&](const Pool& op) { pool_gradient(op, r); },
          [&](const Norm& op) { norm_gradient(op, r); },
          [&](const Lrn& op) {
            r.give(0, r.b.one(LrnGradient{op.size, op.alpha, op.beta, op.bias}, {r.g(), r.in(0)}, r.name("gradient")));
          },
          [&](const Softmax& op) {
            r.give(0, r.b.one(SoftmaxGradient{op.axis, op.log}, {r.g(), r.node.outputs[0]}, r.name("gradient")));
          },
          [&](const Attention& op) {
            const auto d = r.b.add(AttentionGradient{op.scale, op.causal, op.block},
                                   {r.g(), r.in(0), r.in(1), r.in(2), r.node.outputs[0], r.node.outputs[1], r.in(3)},
                                   r.name("gradient"), 3);
            for (std::size_t i = 0; i < 3; ++i) r.give(i, d[i]);
            if (r.wanted(3))
              refuse(r.node, "attention", "a trained mask needs attention as written: leave out the online softmax");
          },
          [&](const CrossEntropy& op) {
            r.give(0, r.b.one(CrossEntropyGradient{op.mean, op.ignore_index, r.b[r.in(0)].format.element},
                              {r.g(), r.node.outputs[1], r.in(1)}, r.name("gradient")));
          },
          [&](const NegativeLogLikelihood& op) {
            r.give(0, r.b.one(NegativeLogLikelihoodGradient{op.mean, op.ignore_index}, {r.g(), r.in(0), r.in(1)},
                              r.name("gradient")));
          },
          [&](const View&) { r.give(0, r.b.view(r.g(), r.shape(r.in(0)), r.name("gradient"))); },
          [&](const Transpose& op) { transpose_gradient(op, r); },
          [&](const Expand&) { r.give(0, r.reduce_to(r.g(), r.shape(r.in(0)), r.name("gradient"))); },
          [&](const Concat& op) { concat_gradient(op, r); },
          [&](const Split& op) { split_gradient(op, r); },
          [&](const Slice& op) {
            r.give(0, r.b.one(Place{op.starts, op.steps, r.shape(r.in(0))}, {r.g()}, r.name("gradient")));
          },
          [&](const Place& op) {
            r.give(0, r.b.one(Slice{op.starts, r.shape(r.in(0)), op.steps}, {r.g()}, r.name("gradient")));
          },
          [&](const Pad& op) { pad_gradient(op, r); },
          [&](const Gather& op) {
            r.give(0, r.b.one(ScatterAdd{op.axis, r.shape(r.in(0))[static_cast<std::size_t>(op.axis)]},
                              {r.g(), r.in(1)}, r.name("gradient")));
          },
          [&](const Trilu& op) { r.give(0, r.b.one(op, {r.g()}, r.name("gradient"))); },
          [&](const Fill&) {},
          [&](const Iota&) {},
          [&](const Fallback& op) {
            refuse(r.node, op.type, "freeze what stands before it with --train, or replace the operator");
          },
          [&](const Steps&) { refuse(r.node, "steps", "differentiate before steps are fused"); },
          [&](const UnaryGradient&) { refuse_gradient(); },
          [&](const DropoutGradient&) { refuse_gradient(); },
          [&](const PoolGradient&) { refuse_gradient(); },
          [&](const NormGradient&) { refuse_gradient(); },
          [&](const NormPart&) { refuse_gradient(); },
          [&](const LrnGradient&) { refuse_gradient(); },
          [&](const SoftmaxGradient&) { refuse_gradient(); },
          [&](const AttentionGradient&) { refuse_gradient(); },
          [&](const CrossEntropyGradient&) { refuse_gradient(); },
          [&](const NegativeLogLikelihoodGradient&) { refuse_gradient(); },
          [&](const PadGradient&) { refuse_gradient(); },
          [&](const ScatterAdd&) { refuse_gradient(); },
          [&](const Unfold&) { refuse_gradient(); },
      },
      r.node.op);
}

// Which tensors' gradients are wanted: those a target flows into, as numbers.
std::vector<bool> find_needed(const Graph& g, std::size_t begin, std::size_t end, std::span<const TensorId> targets) {
  std::vector<bool> needed(g.tensors.size(), false);
  for (const TensorId t : targets) needed[t.index()] = true;
  for (std::size_t n = begin; n < end; ++n) {
    const Node& node = g.nodes[n];
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](TensorId t) { return t != kNoTensor && needed[t.index()]; });
    if (!any) continue;
    for (const TensorId t : node.outputs)
      if (t != kNoTensor && is_float(g[t].format.element) && g[t].category == Category::Activation)
        needed[t.index()] = true;
  }
  return needed;
}

// Drops what the loss does not depend on.
void restrict_to_ancestors(const Graph& g, std::size_t begin, std::size_t end, TensorId loss,
                           std::vector<bool>& needed) {
  std::vector<bool> reaches(g.tensors.size(), false);
  reaches[loss.index()] = true;
  for (std::size_t n = end; n-- > begin;) {
    const Node& node = g.nodes[n];
    const bool any = std::any_of(node.outputs.begin(), node.outputs.end(),
                                 [&](TensorId t) { return t != kNoTensor && reaches[t.index()]; });
    if (!any) continue;
    for (const TensorId t : node.inputs)
      if (t != kNoTensor) reaches[t.index()] = true;
  }
  for (std::size_t t = 0; t < needed.size(); ++t) needed[t] = needed[t] && reaches[t];
}

class Backward {
 public:
  Backward(Builder& builder, std::size_t begin) : b_(builder), begin_(begin) {}

  std::vector<TensorId> run(std::size_t end, TensorId loss, TensorId seed, std::span<const TensorId> targets,
                            SavePolicy policy) {
    needed_ = find_needed(b_.graph(), begin_, end, targets);
    restrict_to_ancestors(b_.graph(), begin_, end, loss, needed_);
    const std::vector<NodeSaves> saves = plan_saves(b_, begin_, end, needed_, policy);
    end = begin_ + saves.size();
    find_first_readers(end, targets);
    contributions_.resize(needed_.size());
    b_.phase = Phase::Backward;
    if (needed_[loss.index()]) contributions_[loss.index()].push_back(seed);
    for (std::size_t n = end; n-- > begin_;) differentiate_node(n, saves[n - begin_]);
    std::vector<TensorId> result;
    for (const TensorId t : targets) result.push_back(total(t));
    return result;
  }

 private:
  // A target's gradient is complete, and summed, when the first node that reads it has been differentiated.
  void find_first_readers(std::size_t end, std::span<const TensorId> targets) {
    std::vector<bool> is_target(needed_.size(), false);
    for (const TensorId t : targets) is_target[t.index()] = true;
    for (std::size_t n = begin_; n < end; ++n)
      for (const TensorId t : b_.graph().nodes[n].inputs)
        if (t != kNoTensor && is_target[t.index()]) {
          is_target[t.index()] = false;
          completes_[n].push_back(t);
        }
  }

  TensorId total(TensorId t) {
    auto& parts = contributions_[t.index()];
    if (parts.empty()) return kNoTensor;
    if (parts.size() > 1) {
      const TensorId sum = b_.one(Sum{}, parts, b_[t].name + ".gradient");
      parts = {sum};
    }
    return parts[0];
  }

  void differentiate_node(std::size_t n, const NodeSaves& saves) {
    const Node node = b_.graph().nodes[n];
    std::vector<TensorId> dy;
    for (const TensorId t : node.outputs) dy.push_back(t != kNoTensor && needed_[t.index()] ? total(t) : kNoTensor);
    if (std::any_of(dy.begin(), dy.end(), [](TensorId t) { return t != kNoTensor; })) {
      std::vector<bool> wants;
      for (const TensorId t : node.inputs) wants.push_back(t != kNoTensor && needed_[t.index()]);
      const std::size_t before = b_.graph().nodes.size();
      Rule rule{b_, node, dy, wants, saves, std::vector<TensorId>(node.inputs.size(), kNoTensor)};
      apply_rule(rule);
      if (b_.graph().nodes.size() > before) b_.graph().nodes[before].holds = saves.holds;
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (wants[i] && rule.gradients[i] != kNoTensor)
          contributions_[node.inputs[i].index()].push_back(rule.gradients[i]);
    }
    if (const auto it = completes_.find(n); it != completes_.end())
      for (const TensorId t : it->second) total(t);
  }

  Builder& b_;
  std::size_t begin_;
  std::vector<bool> needed_;
  std::vector<std::vector<TensorId>> contributions_;
  std::unordered_map<std::size_t, std::vector<TensorId>> completes_;
};

}  // namespace

std::vector<TensorId> differentiate(Builder& builder, std::size_t begin, std::size_t end, TensorId loss, TensorId seed,
                                    std::span<const TensorId> targets, const DifferentiateOptions& options) {
  MONET_ASSERT(end == builder.graph().nodes.size(), "the forward nodes must be the builder's last");
  return Backward(builder, begin).run(end, loss, seed, targets, options.policy);
}

}  // namespace monet
