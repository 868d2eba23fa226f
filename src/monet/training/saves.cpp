// Every gradient rule's declaration of what it saves. Two sweeps: operators without a choice first, so that those with
// one (an activation that can be rebuilt from its output, its input or a mask) know what is kept anyway.
#include "monet/training/saves.h"

#include <algorithm>

#include "monet/base/overloaded.h"
#include "monet/graph/saved.h"

namespace monet {
namespace {

struct Choice {
  bool input = false, output = false, mask = false;  // what the kind's gradient can be computed from
  Source torch = Source::Input;
};

// Which of its values determine a unary function's slope. `input` is false only where nothing is needed.
Choice choice_of(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::Relu: return {true, true, true, Source::Output};
    case UnaryKind::Clip: return {true, true, true, Source::Input};  // in place too: PyTorch clones what it overwrites
    case UnaryKind::LeakyRelu:
    case UnaryKind::HardSigmoid: return {true, false, true, Source::Input};
    case UnaryKind::Sigmoid:
    case UnaryKind::Tanh:
    case UnaryKind::Exp:
    case UnaryKind::Sqrt:
    case UnaryKind::Rsqrt:
    case UnaryKind::Reciprocal: return {true, true, false, Source::Output};
    case UnaryKind::Gelu:
    case UnaryKind::GeluTanh:
    case UnaryKind::Silu:
    case UnaryKind::HardSwish:
    case UnaryKind::Erf:
    case UnaryKind::Log:
    case UnaryKind::Abs:
    case UnaryKind::Square:
    case UnaryKind::Sin:
    case UnaryKind::Cos:
    case UnaryKind::Softplus: return {true, false, false, Source::Input};
    case UnaryKind::Neg:
    case UnaryKind::Sign:
    case UnaryKind::Floor:
    case UnaryKind::Ceil:
    case UnaryKind::Round:
    case UnaryKind::Not:
    case UnaryKind::IsFinite: return {};
  }
  return {};
}

class Planner {
 public:
  Planner(Builder& builder, std::size_t begin, std::size_t end, std::vector<bool>& needed, SavePolicy policy)
      : b_(builder), begin_(begin), needed_(needed), torch_(policy == SavePolicy::Torch), plan_(end - begin) {
    kept_.resize(b_.graph().tensors.size());
    root_ = view_roots(b_.graph());
  }

  std::vector<NodeSaves> run() {
    for (std::size_t i = 0; i < plan_.size(); ++i)
      if (differentiated(i)) declare_fixed(i);
    for (std::size_t i = 0; i < plan_.size(); ++i)
      if (differentiated(i)) declare_choice(i);
    if (!anchors_.empty()) move_comparisons();
    return std::move(plan_);
  }

 private:
  Node& node(std::size_t i) { return b_.graph().nodes[begin_ + i]; }

  bool differentiated(std::size_t i) {
    const auto wanted = [&](TensorId t) { return t != kNoTensor && needed_[t.index()]; };
    return std::any_of(node(i).outputs.begin(), node(i).outputs.end(), wanted);
  }

  bool wants(std::size_t i, std::size_t input) {
    const Node& n = node(i);
    return input < n.inputs.size() && n.inputs[input] != kNoTensor && needed_[n.inputs[input].index()];
  }

  void read(std::size_t i, TensorId t) {
    plan_[i].reads.push_back(t);
    keep(t);
  }
  void hold(std::size_t i, TensorId t) {
    plan_[i].holds.push_back(t);
    keep(t);
  }

  // Kept is a storage, under whichever view.
  TensorId root(TensorId t) const { return t.index() < root_.size() ? root_[t.index()] : t; }
  void keep(TensorId t) { kept_[root(t).index()] = true; }

  // The node's output number `index`, made if it does not exist yet.
  TensorId require_output(std::size_t i, std::size_t index, Element element) {
    if (node(i).outputs.size() <= index) node(i).outputs.resize(index + 1, kNoTensor);
    if (node(i).outputs[index] == kNoTensor) {
      std::vector<const Tensor*> operands;
      for (const TensorId t : node(i).inputs) operands.push_back(t == kNoTensor ? nullptr : &b_[t]);
      const OutputType type = infer(node(i).op, operands)[index];
      node(i).outputs[index] = b_.source(node(i).name + "." + std::string(type.suffix), type.shape, type.format,
                                         type.category.value_or(Category::Activation));
      needed_.push_back(false);
      kept_.push_back(false);
    }
    const TensorId id = node(i).outputs[index];
    if (is_truth(b_[id].format.element)) b_[id].format = Format{element};
    return id;
  }

  void declare_fixed(std::size_t i) {
    const auto in = [&](std::size_t k) { return node(i).inputs[k]; };
    const auto out = [&](std::size_t k) { return node(i).outputs[k]; };
    const auto factors = [&] {  // of a product: each factor's gradient needs the other
      if (wants(i, 0)) read(i, in(1));
      if (wants(i, 1)) read(i, in(0));
    };
    const auto nothing = [] {};
    std::visit(overloaded{
                   [&](const MatMul&) { factors(); },
                   [&](const Conv& op) {
                     factors();
                     if (op.kind == ConvKind::WeightGradient) return;
                     if (torch_ && !wants(i, 1)) hold(i, in(0));
                   },
                   [&](const Unary&) {},
                   [&](const Binary& op) {
                     switch (op.kind) {
                       case BinaryKind::Mul: factors(); break;
                       case BinaryKind::Div:
                         if (wants(i, 0) || wants(i, 1)) read(i, in(1));
                         if (wants(i, 1)) read(i, in(0));
                         break;
                       case BinaryKind::Pow:
                         read(i, in(0));
                         read(i, in(1));
                         if (wants(i, 1)) read(i, out(0));
                         break;
                       case BinaryKind::ExpDifference: read(i, out(0)); break;
                       case BinaryKind::Max:
                       case BinaryKind::Min:
                         if (torch_) read(i, in(0)), read(i, in(1));
                         break;
                       case BinaryKind::Mod:
                         if (wants(i, 1)) read(i, in(0)), read(i, in(1));
                         break;
                       case BinaryKind::Add:
                       case BinaryKind::Sub:
                       case BinaryKind::Equal:
                       case BinaryKind::Less:
                       case BinaryKind::LessEqual:
                       case BinaryKind::Greater:
                       case BinaryKind::GreaterEqual:
                       case BinaryKind::And:
                       case BinaryKind::Or:
                       case BinaryKind::Xor: break;
                     }
                   },
                   [&](const Select&) { read(i, in(0)); },
                   [&](const Dropout& op) {
                     if (torch_ && op.ratio > 0) read(i, require_output(i, 1, Element::Bool));
                   },
                   [&](const Reduce& op) {
                     if (op.kind == ReduceKind::SumSquare) read(i, in(0));
                     if (torch_ && (op.kind == ReduceKind::Max || op.kind == ReduceKind::Min))
                       read(i, in(0)), read(i, out(0));
                   },
                   [&](const Pool& op) {
                     if (op.kind == PoolKind::Max) {
                       const bool fresh = node(i).outputs.size() < 2 || node(i).outputs[1] == kNoTensor;
                       if (fresh) std::get<Pool>(node(i).op).window_index = !torch_;
                       read(i, require_output(i, 1, Element::Bool));
                     }
                     if (torch_) hold(i, in(0));
                   },
                   [&](const Norm& op) {
                     const bool frozen = op.kind == NormKind::FrozenBatch;
                     if (!frozen || wants(i, 1))
                       read(i, in(0));
                     else if (torch_)
                       hold(i, in(0));
                     if (node(i).inputs.size() > 1 && in(1) != kNoTensor) read(i, in(1));
                     if (frozen) return read(i, in(3)), read(i, in(4));
                     read(i, require_output(i, 1, Element::Bool));
                     if (op.kind != NormKind::Rms) read(i, require_output(i, 2, Element::Bool));
                   },
                   [&](const Lrn&) { read(i, in(0)); },
                   [&](const Softmax&) { read(i, out(0)); },
                   [&](const Attention&) {
                     for (std::size_t k = 0; k < node(i).inputs.size(); ++k)
                       if (in(k) != kNoTensor) read(i, in(k));
                     read(i, out(0));
                     read(i, require_output(i, 1, Element::Bool));
                   },
                   [&](const CrossEntropy&) {
                     read(i, require_output(i, 1, Element::Bool));
                     read(i, in(1));
                   },
                   [&](const NegativeLogLikelihood&) {
                     read(i, in(0));  // its shape and format; torch keeps the values too
                     read(i, in(1));
                   },
                   [&](const Gather&) { read(i, in(1)); },
                   [&](const Sum&) { nothing(); },
                   [&](const Cast&) { nothing(); },
                   [&](const View&) { nothing(); },
                   [&](const Transpose&) { nothing(); },
                   [&](const Expand&) { nothing(); },
                   [&](const Concat&) { nothing(); },
                   [&](const Split&) { nothing(); },
                   [&](const Slice&) { nothing(); },
                   [&](const Place&) { nothing(); },
                   [&](const Pad&) { nothing(); },
                   [&](const Trilu&) { nothing(); },
                   [&](const Fill&) { nothing(); },
                   [&](const Iota&) { nothing(); },
                   // Not differentiable again; the rules refuse them.
                   [&](const UnaryGradient&) { nothing(); },
                   [&](const DropoutGradient&) { nothing(); },
                   [&](const PoolGradient&) { nothing(); },
                   [&](const NormGradient&) { nothing(); },
                   [&](const NormPart&) { nothing(); },
                   [&](const LrnGradient&) { nothing(); },
                   [&](const SoftmaxGradient&) { nothing(); },
                   [&](const AttentionGradient&) { nothing(); },
                   [&](const CrossEntropyGradient&) { nothing(); },
                   [&](const NegativeLogLikelihoodGradient&) { nothing(); },
                   [&](const PadGradient&) { nothing(); },
                   [&](const ScatterAdd&) { nothing(); },
                   [&](const Unfold&) { nothing(); },
                   [&](const Steps&) { nothing(); },
                   [&](const Fallback&) { nothing(); },
               },
               Op{node(i).op});
  }

  void declare_choice(std::size_t i) {
    const Op op = node(i).op;
    if (const Unary* unary = std::get_if<Unary>(&op)) return declare_unary(i, choice_of(unary->kind));
    if (torch_) return;
    const Binary* binary = std::get_if<Binary>(&op);
    const Reduce* reduce = std::get_if<Reduce>(&op);
    if (binary && (binary->kind == BinaryKind::Max || binary->kind == BinaryKind::Min))
      keep_comparison(i, binary->kind == BinaryKind::Max ? BinaryKind::GreaterEqual : BinaryKind::LessEqual);
    if (reduce && (reduce->kind == ReduceKind::Max || reduce->kind == ReduceKind::Min))
      keep_comparison(i, BinaryKind::Equal);
  }

  void declare_unary(std::size_t i, Choice choice) {
    if (!choice.input) return;
    const TensorId x = node(i).inputs[0], y = node(i).outputs[0];
    Source source = choice.torch;
    if (!torch_) {
      const auto kept = [&](TensorId t) { return kept_[root(t).index()] || !is_transient(t); };
      if (choice.output && kept(y))
        source = Source::Output;
      else if (kept(x))
        source = Source::Input;
      else if (choice.mask)
        source = Source::Mask;
      else
        source = choice.output ? Source::Output : Source::Input;
    }
    plan_[i].source = source;
    read(i, source == Source::Input ? x : source == Source::Output ? y : require_output(i, 1, Element::Bit));
  }

  // Weights and inputs stay anyway; reading them in the backward pass keeps nothing new.
  bool is_transient(TensorId t) const {
    const Category c = b_[t].category;
    return c != Category::Weight && c != Category::Constant && c != Category::ModelState;
  }

  // A comparison of node i's two operands, or of a reduction's input and output, made at the end for now.
  void keep_comparison(std::size_t i, BinaryKind kind) {
    const std::size_t before = b_.graph().nodes.size();
    b_.phase = node(i).phase;
    const Reduce* reduce = std::get_if<Reduce>(&node(i).op);
    const TensorId a = node(i).inputs[0];
    TensorId c = reduce ? node(i).outputs[0] : node(i).inputs[1];
    const std::string name = node(i).name;
    if (reduce && !reduce->keep) {
      Shape kept = b_[a].shape;
      for (const std::int64_t axis : Ints(reduce->axes)) kept[static_cast<std::size_t>(axis)] = 1;
      c = b_.view(c, kept, name + ".kept");
    }
    const TensorId mask = b_.binary(kind, a, c, name + ".mask");
    b_[mask].format = Format{Element::Bit};
    b_[mask].category = Category::Mask;
    needed_.resize(b_.graph().tensors.size(), false);
    kept_.resize(b_.graph().tensors.size(), false);
    plan_[i].mask = mask;
    read(i, mask);
    anchors_.insert(anchors_.end(), b_.graph().nodes.size() - before, i);
  }

  // Moves the comparison nodes from the end to right behind the node each belongs to, so that they keep nothing alive.
  void move_comparisons() {
    std::vector<Node>& nodes = b_.graph().nodes;
    const std::size_t end = begin_ + plan_.size();
    std::vector<Node> order(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(begin_));
    std::vector<NodeSaves> plan;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      order.push_back(std::move(nodes[begin_ + i]));
      plan.push_back(std::move(plan_[i]));
      for (std::size_t k = 0; k < anchors_.size(); ++k) {
        if (anchors_[k] != i) continue;
        order.push_back(std::move(nodes[end + k]));
        plan.emplace_back();
      }
    }
    nodes = std::move(order);
    plan_ = std::move(plan);
  }

  Builder& b_;
  std::size_t begin_;
  std::vector<bool>& needed_;
  bool torch_;
  std::vector<NodeSaves> plan_;
  std::vector<TensorId> root_;  // of the tensors there at the start
  std::vector<bool> kept_;
  std::vector<std::size_t> anchors_;  // of each comparison node: the plan entry it belongs behind
};

}  // namespace

std::vector<NodeSaves> plan_saves(Builder& builder, std::size_t begin, std::size_t end, std::vector<bool>& needed,
                                  SavePolicy policy) {
  return Planner(builder, begin, end, needed, policy).run();
}

}  // namespace monet
