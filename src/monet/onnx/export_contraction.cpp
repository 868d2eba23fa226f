// Matrix products, the three convolutions, and attention as the plain products it stands for.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "monet/onnx/export_rules.h"

namespace monet::exporting {
namespace {

// The last two of `rank` dimensions exchanged.
Ints swapped(std::size_t rank) {
  Ints perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

bool any_negative(const Ints& values) {
  return std::any_of(values.begin(), values.end(), [](std::int64_t v) { return v < 0; });
}

// ONNX convolutions cannot crop: x cropped by the negative pads, which become zero.
struct Cropped {
  Value x;
  Ints pads_begin, pads_end;
};
Cropped crop_negative_pads(Scope& s, const Value& x, const Ints& pads_begin, const Ints& pads_end) {
  Cropped c{x, pads_begin, pads_end};
  if (!any_negative(pads_begin) && !any_negative(pads_end)) return c;
  Ints begin{0, 0}, end{0, 0};
  for (std::size_t i = 0; i < pads_begin.size(); ++i) {
    begin.push_back(std::min<std::int64_t>(0, pads_begin[i]));
    end.push_back(std::min<std::int64_t>(0, pads_end[i]));
    c.pads_begin[i] -= begin.back();
    c.pads_end[i] -= end.back();
  }
  c.x = s.pad(x, begin, end);
  return c;
}

Attributes window(const Ints& strides, const Ints& dilations, const Ints& pads, std::int64_t groups) {
  return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", groups}};
}

void write_weight_gradient(const Conv& op, Scope& s, Element element) {
  const Shape &x = s.input(0).shape, &y = s.input(1).shape;
  const std::int64_t g = op.groups;
  // Samples take the place of channels and channels that of samples: x [C/g, G·N, *] with filters dy [K, N, *] that
  // move by the forward dilation and are spread by the forward stride.
  Shape split{x[0], g, x[1] / g}, merged{x[1] / g, g * x[0]};
  Ints exchange{2, 1, 0}, back{1, 0};
  for (std::size_t i = 2; i < x.size(); ++i) {
    split.push_back(x[i]);
    merged.push_back(x[i]);
    exchange.push_back(static_cast<std::int64_t>(i + 1));
    back.push_back(static_cast<std::int64_t>(i));
  }
  Value image = s.in(0, element);
  if (g == 1)
    image = s.transpose(image, back);
  else
    image = s.reshape(s.transpose(s.reshape(image, split), exchange), merged);
  const Value filter = s.transpose(s.in(1, element), back);
  // What the forward convolution left over at the end would let the window make steps too many: it is cut off.
  Ints pads_end = op.pads_end;
  for (std::size_t i = 0; i < op.extent.size(); ++i) {
    const std::int64_t reach = op.strides[i] * (y[i + 2] - 1) + 1;
    const std::int64_t steps = (x[i + 2] + op.pads_begin[i] + op.pads_end[i] - reach) / op.dilations[i] + 1;
    pads_end[i] -= (steps - op.extent[i]) * op.dilations[i];
  }
  const Cropped c = crop_negative_pads(s, image, op.pads_begin, pads_end);
  const Value w = s.make("Conv", {c.x, filter}, window(op.dilations, op.strides, joined(c.pads_begin, c.pads_end), g));
  s.out(0, s.transpose(w, back));
}

// scale · q kᵀ + mask, keys after the query hidden
Value scores(Scope& s, double scale, bool causal, const Value& q, const Value& k, const Shape& q_shape,
             const Shape& k_shape, const Value& mask) {
  const std::size_t rank = q_shape.size();
  Value result = s.mul(s.make("MatMul", {q, s.transpose(k, swapped(rank))}), scale);
  if (!mask.name.empty()) result = s.add(result, mask);
  if (causal) {
    const Value hidden =
        s.filled({q_shape[rank - 2], k_shape[rank - 2]}, -std::numeric_limits<double>::infinity(), q.element);
    // The last query sees the last key.
    const auto first_hidden = static_cast<double>(1 + k_shape[rank - 2] - q_shape[rank - 2]);
    result =
        s.add(result, s.make("Trilu", {hidden, s.scalar(first_hidden, Element::I64)}, {{"upper", std::int64_t{1}}}));
  }
  return result;
}

// A query that sees no key has maximum -inf, and -inf - -inf is no number: the lowest number stands in.
Value finite(Scope& s, const Value& x) {
  return s.make("Max", {x, s.scalar(std::numeric_limits<float>::lowest(), x.element)});
}

}  // namespace

void write(const MatMul& op, Scope& s) {
  const Tensor &a = s.input(0), &b = s.input(1);
  const Element stored = s.output(0).format.element;
  const bool plain = op.alpha == 1 && (op.beta == 1 || !s.has(2));
  const Element element = is_float(stored) ? floating(stored) : plain ? arithmetic(stored) : Element::F64;
  if (is_float(element) && a.shape.size() == 2 && b.shape.size() == 2)
    return s.out(0, s.make("Gemm", {s.in(0, element), s.in(1, element), s.in_or_none(2, element)},
                           {{"alpha", op.alpha},
                            {"beta", op.beta},
                            {"transA", std::int64_t{op.trans_a}},
                            {"transB", std::int64_t{op.trans_b}}}));
  Value left = s.in(0, element), right = s.in(1, element);
  if (op.trans_a) left = s.transpose(left, swapped(a.shape.size()));
  if (op.trans_b) right = s.transpose(right, swapped(b.shape.size()));
  Value y = s.mul(s.make("MatMul", {left, right}), op.alpha);
  if (s.has(2)) y = s.add(y, s.mul(s.in(2, element), op.beta));
  s.out(0, y);
}

Value spread(Scope& s, const Value& y, const Value& w, const Value& bias, const Shape& y_shape, const Ints& kernel,
             const Ints& strides, const Ints& dilations, const Ints& pads_begin, std::int64_t groups,
             const Ints& extent) {
  const std::size_t spatial = extent.size();
  Ints begin(spatial), end(spatial), extra(spatial), zeros_begin(spatial + 2), zeros_end(spatial + 2);
  for (std::size_t i = 0; i < spatial; ++i) {
    // Windows cover positions -pads_begin … reach-pads_begin of the image: crop what lies outside, fill what they miss.
    const std::int64_t reach = strides[i] * (y_shape[i + 2] - 1) + dilations[i] * (kernel[i] - 1) + 1;
    const std::int64_t missed = extent[i] - (reach - pads_begin[i]);
    begin[i] = std::max<std::int64_t>(0, pads_begin[i]);
    zeros_begin[i + 2] = std::max<std::int64_t>(0, -pads_begin[i]);
    end[i] = std::max<std::int64_t>(0, -missed);
    if (missed > 0) (missed < strides[i] ? extra[i] : zeros_end[i + 2]) = missed;
  }
  const bool fills = zeros_begin != Ints(spatial + 2) || zeros_end != Ints(spatial + 2);
  Attributes attributes = window(strides, dilations, joined(begin, end), groups);
  attributes.push_back({"output_padding", extra});
  Value x = s.make("ConvTranspose", {y, w, fills ? Value{} : bias}, attributes);
  if (!fills) return x;
  x = s.pad(x, zeros_begin, zeros_end);
  if (bias.name.empty()) return x;
  Shape channels(spatial + 2, 1);
  channels[1] = -1;
  return s.add(x, s.reshape(bias, channels));
}

void write(const Conv& op, Scope& s) {
  const Element element = floating(s.output(0).format.element);
  switch (op.kind) {
    case ConvKind::Forward: {
      const Cropped c = crop_negative_pads(s, s.in(0, element), op.pads_begin, op.pads_end);
      return s.out(0, s.make("Conv", {c.x, s.in(1, element), s.in_or_none(2, element)},
                             window(op.strides, op.dilations, joined(c.pads_begin, c.pads_end), op.groups)));
    }
    case ConvKind::DataGradient: {
      const Shape& w = s.input(1).shape;
      return s.out(0, spread(s, s.in(0, element), s.in(1, element), s.in_or_none(2, element), s.input(0).shape,
                             {w.begin() + 2, w.end()}, op.strides, op.dilations, op.pads_begin, op.groups, op.extent));
    }
    case ConvKind::WeightGradient: return write_weight_gradient(op, s, element);
  }
}

void write(const Attention& op, Scope& s) {
  const Element element = wide(s.input(0).format.element);
  const Shape &q = s.input(0).shape, &k = s.input(1).shape;
  const Ints last{std::ssize(q) - 1};
  const Value score =
      scores(s, op.scale, op.causal, s.in(0, element), s.in(1, element), q, k, s.in_or_none(3, element));
  const Value most = finite(s, s.reduce("ReduceMax", score, last));
  const Value weight = s.make("Exp", {s.sub(score, most)});
  const Value sum = s.reduce("ReduceSum", weight, last);
  // The largest weight is 1, so that a sum below it is that of a query without keys.
  const Value divisor = s.make("Max", {sum, s.scalar(1, element)});
  if (s.wanted(0)) s.out(0, s.div(s.make("MatMul", {weight, s.in(2, element)}), divisor));
  if (s.wanted(1)) s.out(1, s.add(most, s.make("Log", {sum})));
}

void write(const AttentionGradient& op, Scope& s) {
  const Element element = wide(s.input(1).format.element);
  const Shape &q_shape = s.input(1).shape, &k_shape = s.input(2).shape;
  const std::size_t rank = q_shape.size();
  const Ints last{std::ssize(q_shape) - 1};
  const Value dout = s.in(0, element), q = s.in(1, element), k = s.in(2, element), v = s.in(3, element);
  const Value score = scores(s, op.scale, op.causal, q, k, q_shape, k_shape, s.in_or_none(6, element));
  const Value weight = s.make("Exp", {s.sub(score, finite(s, s.in(5, element)))});
  if (s.wanted(2)) s.out(2, s.make("MatMul", {s.transpose(weight, swapped(rank)), dout}));
  if (!s.wanted(0) && !s.wanted(1)) return;
  const Value dweight = s.make("MatMul", {dout, s.transpose(v, swapped(rank))});
  const Value row = s.reduce("ReduceSum", s.mul(dout, s.in(4, element)), last);  // Σ_j weight · dweight
  const Value dscore = s.mul(s.mul(weight, s.sub(dweight, row)), op.scale);
  if (s.wanted(0)) s.out(0, s.make("MatMul", {dscore, k}));
  if (s.wanted(1)) s.out(1, s.make("MatMul", {s.transpose(dscore, swapped(rank)), q}));
}

}  // namespace monet::exporting
