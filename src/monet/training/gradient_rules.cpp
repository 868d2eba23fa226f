// The gradient rules of the operator families that take more than a line. Each gives the gradient of every wanted
// input.
#include "monet/training/gradient_rules.h"

#include <algorithm>

#include "monet/base/assert.h"

namespace monet {

TensorId Rule::reduce_to(TensorId gradient, const Shape& target, const std::string& label) {
  const Shape from = shape(gradient);
  if (from == target) return gradient;
  Ints axes;
  const std::size_t lead = from.size() - target.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (i < lead || (target[i - lead] == 1 && from[i] != 1)) axes.push_back(static_cast<std::int64_t>(i));
  const bool drops = axes.size() == lead;  // whole leading dimensions: nothing to keep
  if (!axes.empty()) gradient = b.one(Reduce{ReduceKind::Sum, axes, !drops}, {gradient}, label);
  return shape(gradient) == target ? gradient : b.view(gradient, target, label + ".view");
}

// ---- Contractions ----

namespace {

Shape flattened(const Shape& s) { return {elements(s) / s.back(), s.back()}; }

}  // namespace

// y = alpha · A B with A = a or aᵀ, B = b or bᵀ; dA = alpha · dy Bᵀ and dB = alpha · Aᵀ dy.
void matmul_gradient(const MatMul& op, Rule& r) {
  const TensorId a = r.in(0), b = r.in(1), g = r.g();
  if (r.wanted(0)) {
    const TensorId da = op.trans_a ? r.b.one(MatMul{op.trans_b, true, op.alpha, 1}, {b, g}, r.name("a_gradient"))
                                   : r.b.one(MatMul{false, !op.trans_b, op.alpha, 1}, {g, b}, r.name("a_gradient"));
    r.give(0, r.reduce_to(da, r.shape(a), r.name("a_gradient.sum")));
  }
  if (r.wanted(1)) {
    TensorId left = a, right = g;
    if (r.shape(b).size() == 2 && r.shape(a).size() > 2 && !op.trans_a) {
      // A plain matrix under a batch of others: one product over all rows at once instead of a batch to be summed.
      left = r.b.view(a, flattened(r.shape(a)), r.name("a_rows"));
      right = r.b.view(g, flattened(r.shape(g)), r.name("gradient_rows"));
    }
    const TensorId db = op.trans_b
                            ? r.b.one(MatMul{true, op.trans_a, op.alpha, 1}, {right, left}, r.name("b_gradient"))
                            : r.b.one(MatMul{!op.trans_a, false, op.alpha, 1}, {left, right}, r.name("b_gradient"));
    r.give(1, r.reduce_to(db, r.shape(b), r.name("b_gradient.sum")));
  }
  if (r.wanted(2)) {
    TensorId dc = r.reduce_to(g, r.shape(r.in(2)), r.name("c_gradient"));
    if (op.beta != 1) dc = r.b.binary(BinaryKind::Mul, dc, r.b.scalar(op.beta), r.name("c_gradient.scaled"));
    r.give(2, dc);
  }
}

// The three kinds differentiate into one another: y = conv(x, w) gives dx = data_gradient(dy, w), dw =
// weight_gradient(x, dy); x = data_gradient(y, w) gives dy = conv(dx, w), dw = weight_gradient(dx, y).
void conv_gradient(const Conv& op, Rule& r) {
  MONET_ASSERT(op.kind != ConvKind::WeightGradient, "a gradient is not differentiated again");
  const TensorId first = r.in(0), w = r.in(1), g = r.g();
  const bool transposed = op.kind == ConvKind::DataGradient;
  const auto spatial = [&](TensorId t) {
    const Shape s = r.shape(t);
    return Ints(s.begin() + 2, s.end());
  };
  if (r.wanted(0)) {
    Conv data = op;
    data.kind = transposed ? ConvKind::Forward : ConvKind::DataGradient;
    data.extent = transposed ? Ints{} : spatial(first);
    r.give(0, r.b.one(data, {g, w}, r.name("data_gradient")));
  }
  if (r.wanted(1)) {
    Conv weight = op;
    weight.kind = ConvKind::WeightGradient;
    weight.extent = spatial(w);
    const std::vector<TensorId> operands = transposed ? std::vector{g, first} : std::vector{first, g};
    r.give(1, r.b.one(weight, operands, r.name("weight_gradient")));
  }
  if (r.wanted(2)) {
    Ints axes{0};
    for (std::size_t i = 2; i < r.shape(g).size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    r.give(2, r.b.one(Reduce{ReduceKind::Sum, axes, false}, {g}, r.name("bias_gradient")));
  }
}

// ---- Element-wise ----

void unary_gradient(const Unary& op, Rule& r) {
  switch (op.kind) {
    case UnaryKind::Neg: return r.give(0, r.b.unary(UnaryKind::Neg, r.g(), r.name("gradient")));
    case UnaryKind::Sign:
    case UnaryKind::Floor:
    case UnaryKind::Ceil:
    case UnaryKind::Round:
    case UnaryKind::Not:
    case UnaryKind::IsFinite: return;  // flat wherever they are differentiable
    default: break;
  }
  MONET_ASSERT(r.saves.reads.size() == 1, "a unary gradient reads one saved value");
  r.give(0, r.b.one(UnaryGradient{op.kind, op.a, op.b, r.saves.source}, {r.g(), r.saves.reads[0]}, r.name("gradient")));
}

namespace {

// Gradients of a and b times their local slopes, summed back over broadcast dimensions.
void give_product(Rule& r, std::size_t input, TensorId factor, const char* what) {
  const TensorId product = r.b.binary(BinaryKind::Mul, r.g(), factor, r.name(what));
  r.give(input, r.reduce_to(product, r.shape(r.in(input)), r.name(what) + ".sum"));
}

void give_reduced(Rule& r, std::size_t input, TensorId gradient, const char* what) {
  r.give(input, r.reduce_to(gradient, r.shape(r.in(input)), r.name(what) + ".sum"));
}

void power_gradient(Rule& r) {
  const TensorId x = r.in(0), p = r.in(1);
  Builder& b = r.b;
  if (r.wanted(0)) {  // p · x^(p-1)
    const TensorId less = b.binary(BinaryKind::Sub, p, b.scalar(1), r.name("exponent"));
    const TensorId power = b.binary(BinaryKind::Pow, x, less, r.name("power"));
    give_product(r, 0, b.binary(BinaryKind::Mul, p, power, r.name("slope")), "a_gradient");
  }
  if (r.wanted(1)) {  // ln(x) · x^p
    const TensorId log = b.unary(UnaryKind::Log, x, r.name("log"));
    give_product(r, 1, b.binary(BinaryKind::Mul, log, r.node.outputs[0], r.name("slope_b")), "b_gradient");
  }
}

// The winner of a Max or Min takes the gradient; at ties the first operand does (lean) or both do half (torch).
void extremum_gradient(BinaryKind kind, Rule& r) {
  Builder& b = r.b;
  const TensorId zero = b.scalar(0);
  TensorId mask = r.saves.mask;
  if (mask == kNoTensor)
    mask = b.binary(kind == BinaryKind::Max ? BinaryKind::GreaterEqual : BinaryKind::LessEqual, r.in(0), r.in(1),
                    r.name("mask"));
  if (r.wanted(0)) give_reduced(r, 0, b.one(Select{}, {mask, r.g(), zero}, r.name("a_gradient")), "a_gradient");
  if (r.wanted(1)) give_reduced(r, 1, b.one(Select{}, {mask, zero, r.g()}, r.name("b_gradient")), "b_gradient");
}

}  // namespace

void binary_gradient(const Binary& op, Rule& r) {
  Builder& b = r.b;
  const TensorId x = r.in(0), y = r.in(1), g = r.g();
  switch (op.kind) {
    case BinaryKind::Add:
    case BinaryKind::Sub:
      if (r.wanted(0)) give_reduced(r, 0, g, "a_gradient");
      if (r.wanted(1)) {
        const TensorId sum = r.reduce_to(g, r.shape(y), r.name("b_gradient.sum"));
        r.give(1, op.kind == BinaryKind::Add ? sum : b.unary(UnaryKind::Neg, sum, r.name("b_gradient")));
      }
      return;
    case BinaryKind::Mul:
      if (r.wanted(0)) give_product(r, 0, y, "a_gradient");
      if (r.wanted(1)) give_product(r, 1, x, "b_gradient");
      return;
    case BinaryKind::Div: {  // a/b: dy/b and -(dy/b)·(a/b)
      const TensorId quotient = b.binary(BinaryKind::Div, g, y, r.name("a_gradient"));
      if (r.wanted(0)) give_reduced(r, 0, quotient, "a_gradient");
      if (r.wanted(1)) {
        const TensorId ratio = b.binary(BinaryKind::Div, x, y, r.name("ratio"));
        const TensorId product = b.binary(BinaryKind::Mul, quotient, ratio, r.name("product"));
        const TensorId sum = r.reduce_to(product, r.shape(y), r.name("b_gradient.sum"));
        r.give(1, b.unary(UnaryKind::Neg, sum, r.name("b_gradient")));
      }
      return;
    }
    case BinaryKind::Pow: return power_gradient(r);
    case BinaryKind::Max:
    case BinaryKind::Min: return extremum_gradient(op.kind, r);
    case BinaryKind::Mod: {  // a - b·floor(a/b)
      if (r.wanted(0)) give_reduced(r, 0, g, "a_gradient");
      if (r.wanted(1)) {
        const TensorId ratio = b.binary(BinaryKind::Div, x, y, r.name("ratio"));
        const TensorId whole =
            b.unary(UnaryKind::Neg, b.unary(UnaryKind::Floor, ratio, r.name("whole")), r.name("slope"));
        give_product(r, 1, whole, "b_gradient");
      }
      return;
    }
    case BinaryKind::ExpDifference: {  // exp(a-b)
      const TensorId product = b.binary(BinaryKind::Mul, g, r.node.outputs[0], r.name("product"));
      if (r.wanted(0)) give_reduced(r, 0, product, "a_gradient");
      if (r.wanted(1)) {
        const TensorId sum = r.reduce_to(product, r.shape(y), r.name("b_gradient.sum"));
        r.give(1, b.unary(UnaryKind::Neg, sum, r.name("b_gradient")));
      }
      return;
    }
    case BinaryKind::Equal:
    case BinaryKind::Less:
    case BinaryKind::LessEqual:
    case BinaryKind::Greater:
    case BinaryKind::GreaterEqual:
    case BinaryKind::And:
    case BinaryKind::Or:
    case BinaryKind::Xor: return;
  }
}

void select_gradient(Rule& r) {
  const TensorId zero = r.b.scalar(0);
  if (r.wanted(1)) give_reduced(r, 1, r.b.one(Select{}, {r.in(0), r.g(), zero}, r.name("a_gradient")), "a_gradient");
  if (r.wanted(2)) give_reduced(r, 2, r.b.one(Select{}, {r.in(0), zero, r.g()}, r.name("b_gradient")), "b_gradient");
}

// ---- Reductions, pooling, normalisation ----

void reduce_gradient(const Reduce& op, Rule& r) {
  Builder& b = r.b;
  const TensorId x = r.in(0);
  const Shape full = r.shape(x);
  Shape kept = full;
  std::int64_t count = 1;
  for (const std::int64_t axis : op.axes) {
    count *= kept[static_cast<std::size_t>(axis)];
    kept[static_cast<std::size_t>(axis)] = 1;
  }
  const auto as_kept = [&](TensorId t, const char* what) {
    return r.shape(t) == kept ? t : b.view(t, kept, r.name(what));
  };
  TensorId g = as_kept(r.g(), "gradient.kept");
  switch (op.kind) {
    case ReduceKind::Mean:
      g = b.binary(BinaryKind::Mul, g, b.scalar(1.0 / static_cast<double>(count)), r.name("gradient.scaled"));
      [[fallthrough]];
    case ReduceKind::Sum: return r.give(0, r.shape(g) == full ? g : b.one(Expand{full}, {g}, r.name("gradient")));
    case ReduceKind::SumSquare: {
      const TensorId twice = b.binary(BinaryKind::Mul, g, b.scalar(2), r.name("gradient.scaled"));
      return r.give(0, b.binary(BinaryKind::Mul, x, twice, r.name("gradient")));
    }
    case ReduceKind::Max:
    case ReduceKind::Min: {  // equal shares to all that reach the extremum
      TensorId mask = r.saves.mask;
      if (mask == kNoTensor) mask = b.binary(BinaryKind::Equal, x, as_kept(r.node.outputs[0], "kept"), r.name("mask"));
      const TensorId ones = b.one(Cast{b[r.g()].format.element}, {mask}, r.name("winners"));
      const TensorId winners = b.one(Reduce{ReduceKind::Sum, op.axes, true}, {ones}, r.name("winner_count"));
      const TensorId share = b.binary(BinaryKind::Div, g, winners, r.name("share"));
      return r.give(0, b.one(Select{}, {mask, share, b.scalar(0)}, r.name("gradient")));
    }
  }
}

void pool_gradient(const Pool& op, Rule& r) {
  const Shape x = r.shape(r.in(0));
  const PoolGradient gradient{op.kind,     op.kernel, op.strides,    op.dilations,    op.pads_begin,
                              op.pads_end, op.ceil,   op.count_pads, op.window_index, Ints(x.begin() + 2, x.end())};
  std::vector<TensorId> operands{r.g()};
  if (op.kind == PoolKind::Max) operands.push_back(r.node.outputs[1]);
  r.give(0, r.b.one(gradient, operands, r.name("gradient")));
}

void norm_gradient(const Norm& op, Rule& r) {
  const bool rms = op.kind == NormKind::Rms, frozen = op.kind == NormKind::FrozenBatch;
  const TensorId x = frozen && !r.wanted(1) ? kNoTensor : r.in(0);
  std::vector<TensorId> operands{r.g(), x, r.in(1)};
  if (frozen)
    operands.insert(operands.end(), {r.in(3), r.in(4)});
  else
    operands.push_back(r.node.outputs[1]);
  if (!frozen && !rms) operands.push_back(r.node.outputs[2]);
  std::vector<bool> outputs{r.wanted(0), r.wanted(1)};
  if (!rms) outputs.push_back(r.wanted(2));
  const auto d =
      r.b.add_wanted(NormGradient{op.kind, op.axis, op.groups, op.epsilon}, operands, r.name("gradient"), outputs);
  for (std::size_t i = 0; i < d.size(); ++i)
    if (d[i] != kNoTensor) r.give(i, d[i]);
}

// ---- Movement ----

void transpose_gradient(const Transpose& op, Rule& r) {
  Ints inverse(op.perm.size());
  for (std::size_t i = 0; i < op.perm.size(); ++i)
    inverse[static_cast<std::size_t>(op.perm[i])] = static_cast<std::int64_t>(i);
  r.give(0, r.b.one(Transpose{inverse}, {r.g()}, r.name("gradient")));
}

void concat_gradient(const Concat& op, Rule& r) {
  Ints sizes;
  for (const TensorId t : r.node.inputs) sizes.push_back(r.shape(t)[static_cast<std::size_t>(op.axis)]);
  std::vector<bool> outputs = r.wants;
  const auto parts = r.b.add_wanted(Split{op.axis, sizes}, {r.g()}, r.name("gradient"), outputs);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i] != kNoTensor) r.give(i, parts[i]);
}

void split_gradient(const Split& op, Rule& r) {
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < r.dy.size(); ++i) {
    if (r.dy[i] != kNoTensor) {
      parts.push_back(r.dy[i]);
      continue;
    }
    Shape part = r.shape(r.in(0));
    part[static_cast<std::size_t>(op.axis)] = op.sizes[i];
    parts.push_back(r.b.one(Fill{part, 0, r.b[r.in(0)].format.element}, {}, r.name("zeros")));
  }
  r.give(0, r.b.one(Concat{op.axis}, parts, r.name("gradient")));
}

// Cropping is the gradient of padding with a constant, and the other way round.
void pad_gradient(const Pad& op, Rule& r) {
  if (op.mode != PadMode::Constant)
    return r.give(0, r.b.one(PadGradient{op.begin, op.end, op.mode}, {r.g()}, r.name("gradient")));
  Pad crop{op.begin, op.end, PadMode::Constant, 0};
  for (std::int64_t& v : crop.begin) v = -v;
  for (std::int64_t& v : crop.end) v = -v;
  r.give(0, r.b.one(crop, {r.g()}, r.name("gradient")));
}

}  // namespace monet
