// Every differentiable operator's gradient agrees with central differences in double, over random shapes and
// attributes. rapidcheck shrinks a failing case; replay it with the RC_PARAMS it prints.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "support/gradient_check.h"

namespace monet::test {
namespace {

std::int64_t pick(std::int64_t least, std::int64_t most) { return *rc::gen::inRange<std::int64_t>(least, most + 1); }
Shape pick_shape(std::size_t rank, std::int64_t most) {
  Shape s;
  for (std::size_t i = 0; i < rank; ++i) s.push_back(pick(1, most));
  return s;
}
std::uint64_t pick_seed() { return *rc::gen::inRange<std::uint64_t>(0, 1000); }

constexpr Format kDouble{Element::F64};
constexpr Format kIndex{Element::I64};

TensorId weight(Builder& b, const std::string& name, const Shape& shape) {
  return b.source(name, shape, kDouble, Category::Weight);
}

// Weights a, b, … of these shapes, spread numbers in each, one operator over all of them.
Computation operation(Op op, const std::vector<Shape>& shapes, std::size_t outputs = 1, double shift = 0) {
  const std::uint64_t seed = pick_seed();
  Computation c;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    c.values["w" + std::to_string(i)] = spread(shapes[i], seed + i, shift);
  c.build = [=](Builder& b) {
    std::vector<TensorId> operands;
    for (std::size_t i = 0; i < shapes.size(); ++i) operands.push_back(weight(b, "w" + std::to_string(i), shapes[i]));
    return b.add(op, operands, "op", outputs);
  };
  return c;
}

#define CHECK_GRADIENTS(computation)                       \
  do {                                                     \
    const std::string fault = gradient_fault(computation); \
    if (!fault.empty()) RC_FAIL(fault);                    \
  } while (false)

// A shape that broadcasts with `full`: some leading dimensions dropped, some others 1.
Shape broadcastable(const Shape& full) {
  Shape s(full.begin() + pick(0, static_cast<std::int64_t>(full.size())), full.end());
  for (std::int64_t& extent : s)
    if (pick(0, 2) == 0) extent = 1;
  return s;
}

RC_GTEST_PROP(Gradients, MatrixProduct, ()) {
  const bool ta = pick(0, 1), tb = pick(0, 1), addend = pick(0, 1);
  const std::int64_t m = pick(1, 4), k = pick(1, 4), n = pick(1, 4);
  const Shape batch = pick_shape(static_cast<std::size_t>(pick(0, 2)), 3);
  const auto with_batch = [&](Shape matrix, bool varies) {
    Shape s = varies ? batch : broadcastable(batch);
    s.insert(s.end(), matrix.begin(), matrix.end());
    return s;
  };
  const bool a_full = pick(0, 1);
  std::vector<Shape> shapes{with_batch(ta ? Shape{k, m} : Shape{m, k}, a_full),
                            with_batch(tb ? Shape{n, k} : Shape{k, n}, !a_full)};
  if (addend) shapes.push_back(pick(0, 1) ? Shape{n} : Shape{m, n});
  CHECK_GRADIENTS(operation(MatMul{ta, tb, 0.5 * static_cast<double>(pick(1, 4)), addend ? 0.7 : 1}, shapes));
}

Conv pick_conv(std::size_t spatial) {
  Conv op;
  for (std::size_t i = 0; i < spatial; ++i) {
    op.strides.push_back(pick(1, 3));
    op.dilations.push_back(pick(1, 2));
    op.pads_begin.push_back(pick(0, 2));
    op.pads_end.push_back(pick(0, 2));
  }
  op.groups = pick(1, 3);
  return op;
}

RC_GTEST_PROP(Gradients, Convolution, ()) {
  const auto spatial = static_cast<std::size_t>(pick(1, 3));
  const Conv op = pick_conv(spatial);
  Shape x{pick(1, 2), op.groups * pick(1, 2)}, w{op.groups * pick(1, 2), x[1] / op.groups};
  for (std::size_t i = 0; i < spatial; ++i) {
    w.push_back(pick(1, 3));
    const std::int64_t reach = op.dilations[i] * (w.back() - 1) + 1;
    x.push_back(std::max<std::int64_t>(1, reach - op.pads_begin[i] - op.pads_end[i]) + pick(0, spatial == 3 ? 1 : 4));
  }
  std::vector<Shape> shapes{x, w};
  if (pick(0, 1)) shapes.push_back({w[0]});
  CHECK_GRADIENTS(operation(op, shapes));
}

RC_GTEST_PROP(Gradients, TransposedConvolution, ()) {
  const auto spatial = static_cast<std::size_t>(pick(1, 2));
  Conv op = pick_conv(spatial);
  op.kind = ConvKind::DataGradient;
  Shape y{pick(1, 2), op.groups * pick(1, 2)}, w{y[1], pick(1, 2)};
  for (std::size_t i = 0; i < spatial; ++i) {
    w.push_back(pick(1, 3));
    y.push_back(pick(1, 4));
    const std::int64_t reach = op.dilations[i] * (w.back() - 1) + 1;
    const std::int64_t least = (y.back() - 1) * op.strides[i] + reach - op.pads_begin[i] - op.pads_end[i];
    RC_PRE(least >= 1);
    op.extent.push_back(least + pick(0, op.strides[i] - 1));
  }
  std::vector<Shape> shapes{y, w};
  if (pick(0, 1)) shapes.push_back({w[1] * op.groups});
  CHECK_GRADIENTS(operation(op, shapes));
}

RC_GTEST_PROP(Gradients, Unary, ()) {
  const auto kind = static_cast<UnaryKind>(pick(0, static_cast<std::int64_t>(UnaryKind::Softplus)));
  Unary op{kind, 0, 0};
  double shift = 0;
  if (kind == UnaryKind::LeakyRelu) op.a = 0.1;
  if (kind == UnaryKind::Clip) op.a = -0.1, op.b = 0.2;
  if (kind == UnaryKind::HardSigmoid) op.a = 1, op.b = 0.5;
  if (kind == UnaryKind::Log || kind == UnaryKind::Sqrt || kind == UnaryKind::Rsqrt || kind == UnaryKind::Reciprocal)
    shift = 2;
  if (kind == UnaryKind::HardSwish && pick(0, 1)) shift = 3;
  CHECK_GRADIENTS(operation(op, {pick_shape(static_cast<std::size_t>(pick(0, 3)), 4)}, 1, shift));
}

RC_GTEST_PROP(Gradients, Binary, ()) {
  const auto kind = static_cast<BinaryKind>(pick(0, static_cast<std::int64_t>(BinaryKind::ExpDifference)));
  RC_PRE(kind != BinaryKind::Mod);
  const Shape full = pick_shape(static_cast<std::size_t>(pick(0, 3)), 3);
  std::vector<Shape> shapes{full, broadcastable(full)};
  if (pick(0, 1)) std::swap(shapes[0], shapes[1]);
  Computation c = operation(Binary{kind}, shapes, 1, kind == BinaryKind::Div || kind == BinaryKind::Pow ? 2 : 0);
  if (kind == BinaryKind::Max || kind == BinaryKind::Min)
    for (double& v : c.values["w1"].data) v += 0.005;  // no ties
  CHECK_GRADIENTS(c);
}

RC_GTEST_PROP(Gradients, SumAndSelect, ()) {
  const Shape full = pick_shape(2, 4);
  if (pick(0, 1)) CHECK_GRADIENTS(operation(Sum{}, {broadcastable(full), full, broadcastable(full)}));
  const std::uint64_t seed = pick_seed();
  const Shape a = broadcastable(full), b_shape = broadcastable(full);
  Computation c;
  Array<double> condition{full, {}};
  for (std::int64_t i = 0; i < elements(full); ++i)
    condition.data.push_back(static_cast<double>(random_bits(seed, 2, static_cast<std::uint64_t>(i)) % 2));
  c.values = {{"c", condition}, {"w0", spread(a, seed)}, {"w1", spread(b_shape, seed + 1)}};
  c.build = [=](Builder& b) {
    const TensorId cond = b.source("c", full, Format{Element::Bool}, Category::Mask);
    return b.add(Select{}, {cond, weight(b, "w0", a), weight(b, "w1", b_shape)}, "op");
  };
  CHECK_GRADIENTS(c);
}

RC_GTEST_PROP(Gradients, Reduce, ()) {
  const auto rank = static_cast<std::size_t>(pick(1, 4));
  Reduce op{static_cast<ReduceKind>(pick(0, 4)), {}, static_cast<bool>(pick(0, 1))};
  for (std::size_t i = 0; i < rank; ++i)
    if (pick(0, 1)) op.axes.push_back(static_cast<std::int64_t>(i));
  CHECK_GRADIENTS(operation(op, {pick_shape(rank, 3)}));
}

RC_GTEST_PROP(Gradients, Pool, ()) {
  const auto spatial = static_cast<std::size_t>(pick(1, 3));
  Pool op{.kind = static_cast<PoolKind>(pick(0, 1)),
          .kernel = {},
          .strides = {},
          .dilations = {},
          .pads_begin = {},
          .pads_end = {}};
  op.ceil = pick(0, 1);
  op.count_pads = pick(0, 1);
  Shape x{pick(1, 2), pick(1, 2)};
  for (std::size_t i = 0; i < spatial; ++i) {
    op.kernel.push_back(pick(1, 3));
    op.strides.push_back(pick(1, 3));
    op.dilations.push_back(op.kind == PoolKind::Max ? pick(1, 2) : 1);
    op.pads_begin.push_back(pick(0, op.kernel[i] / 2));
    op.pads_end.push_back(pick(0, op.kernel[i] / 2));
    x.push_back(op.dilations[i] * (op.kernel[i] - 1) + 1 + pick(0, spatial == 3 ? 1 : 3));
  }
  CHECK_GRADIENTS(operation(op, {x}));
}

RC_GTEST_PROP(Gradients, BatchNorm, ()) {
  Shape x = pick_shape(static_cast<std::size_t>(pick(2, 4)), 4);
  x[0] += 2;  // the statistics of one or two numbers have no slope worth the name
  const bool frozen = pick(0, 1);
  const std::uint64_t seed = pick_seed();
  const Shape channel{x[1]};
  Computation c;
  c.values = {{"x", spread(x, seed)},
              {"scale", spread(channel, seed + 1, 1)},
              {"bias", spread(channel, seed + 2)},
              {"mean", spread(channel, seed + 3)},
              {"var", spread(channel, seed + 4, 1)}};
  c.build = [=](Builder& b) {
    const TensorId mean = b.source("mean", channel, kDouble, Category::ModelState),
                   var = b.source("var", channel, kDouble, Category::ModelState);
    Norm op{.kind = frozen ? NormKind::FrozenBatch : NormKind::Batch};
    op.epsilon = 1e-3;
    const auto y = b.add(op, {weight(b, "x", x), weight(b, "scale", channel), weight(b, "bias", channel), mean, var},
                         "op", frozen ? 1 : 5);
    return std::vector{y[0]};
  };
  CHECK_GRADIENTS(c);
}

RC_GTEST_PROP(Gradients, LayerGroupAndRmsNorm, ()) {
  const auto kind = *rc::gen::element(NormKind::Layer, NormKind::Group, NormKind::Rms);
  Shape x = pick_shape(3, 3);
  Norm op{.kind = kind};
  op.epsilon = 1e-2;
  Shape parameter;
  if (kind == NormKind::Group) {
    op.groups = pick(1, 2);
    x[1] *= op.groups;
    x[2] += 2;
    parameter = {x[1]};
  } else {
    op.axis = pick(1, 2);
    x[2] += 2;
    parameter = Shape(x.begin() + op.axis, x.end());
  }
  const bool scaled = kind == NormKind::Group || pick(0, 1),
             shifted = kind == NormKind::Group || (kind == NormKind::Layer && pick(0, 1));
  const std::uint64_t seed = pick_seed();
  Computation c;
  c.values = {{"x", spread(x, seed)}};
  if (scaled) c.values["scale"] = spread(parameter, seed + 1, 1);
  if (shifted) c.values["bias"] = spread(parameter, seed + 2);
  c.build = [=](Builder& b) {
    std::vector<TensorId> in{weight(b, "x", x), scaled ? weight(b, "scale", parameter) : kNoTensor};
    if (kind != NormKind::Rms) in.push_back(shifted ? weight(b, "bias", parameter) : kNoTensor);
    return std::vector{b.add(op, in, "op")[0]};
  };
  CHECK_GRADIENTS(c);
}

RC_GTEST_PROP(Gradients, SoftmaxAndLrn, ()) {
  const Shape x = pick_shape(static_cast<std::size_t>(pick(2, 4)), 4);
  const auto axis = pick(0, static_cast<std::int64_t>(x.size()) - 1);
  CHECK_GRADIENTS(operation(Softmax{axis, static_cast<bool>(pick(0, 1))}, {x}));
  CHECK_GRADIENTS(operation(Lrn{pick(1, 5), 0.3, 0.75, 1}, {x}));
}

RC_GTEST_PROP(Gradients, OnlineAttention, ()) {
  const Shape batch = pick_shape(static_cast<std::size_t>(pick(0, 2)), 2);
  const std::int64_t queries = pick(1, 4), keys = queries + pick(0, 3), d = pick(1, 3), dv = pick(1, 3);
  const auto shape = [&](std::int64_t rows, std::int64_t columns) {
    Shape s = batch;
    s.push_back(rows);
    s.push_back(columns);
    return s;
  };
  const Attention op{0.5, static_cast<bool>(pick(0, 1)), pick(1, 4)};
  const bool masked = pick(0, 1);
  const std::uint64_t seed = pick_seed();
  Computation c;
  const Shape q = shape(queries, d), k = shape(keys, d), v = shape(keys, dv);
  c.values = {{"q", spread(q, seed)},
              {"k", spread(k, seed + 1)},
              {"v", spread(v, seed + 2)},
              {"mask", spread({queries, keys}, seed + 3)}};
  c.build = [=](Builder& b) {
    std::vector<TensorId> in{weight(b, "q", q), weight(b, "k", k), weight(b, "v", v)};
    if (masked) in.push_back(b.source("mask", {queries, keys}, kDouble, Category::Input));
    return std::vector{b.add(op, in, "op")[0]};
  };
  CHECK_GRADIENTS(c);
}

RC_GTEST_PROP(Gradients, Losses, ()) {
  Shape logits = pick_shape(static_cast<std::size_t>(pick(2, 3)), 4);
  Shape labels = logits;
  labels.erase(labels.begin() + 1);
  const std::uint64_t seed = pick_seed();
  const bool mean = pick(0, 1), whole = pick(0, 1), ignores = pick(0, 1);
  Computation c;
  Array<double> label{labels, {}};
  for (std::int64_t i = 0; i < elements(labels); ++i)
    label.data.push_back(i > 0 && ignores && i % 2
                             ? -100.0
                             : static_cast<double>(random_bits(seed, 5, static_cast<std::uint64_t>(i)) %
                                                   static_cast<std::uint64_t>(logits[1])));
  c.values = {{"x", spread(logits, seed)}, {"labels", label}};
  c.build = [=](Builder& b) {
    const TensorId x = weight(b, "x", logits), y = b.source("labels", labels, kIndex, Category::Index);
    if (whole) return std::vector{b.add(CrossEntropy{mean, -100}, {x, y}, "op", 2)[0]};
    return b.add(NegativeLogLikelihood{mean, -100}, {x, y}, "op");
  };
  CHECK_GRADIENTS(c);
}

RC_GTEST_PROP(Gradients, Dropout, ()) {
  CHECK_GRADIENTS(operation(Dropout{0.25 * static_cast<double>(pick(0, 3)), pick(0, 99)}, {pick_shape(2, 5)}));
}

RC_GTEST_PROP(Gradients, ViewsTransposesExpansions, ()) {
  const auto rank = static_cast<std::size_t>(pick(1, 4));
  const Shape x = pick_shape(rank, 3);
  CHECK_GRADIENTS(operation(View{{elements(x)}}, {x}));
  Ints perm;
  for (std::size_t i = 0; i < rank; ++i)
    perm.insert(perm.begin() + pick(0, static_cast<std::int64_t>(i)), static_cast<std::int64_t>(i));
  CHECK_GRADIENTS(operation(Transpose{perm}, {x}));
  CHECK_GRADIENTS(operation(Expand{x}, {broadcastable(x)}));
  CHECK_GRADIENTS(operation(Cast{Element::F64}, {x}));
}

RC_GTEST_PROP(Gradients, ConcatSplit, ()) {
  const Shape x = pick_shape(3, 3);
  const std::int64_t axis = pick(0, 2);
  std::vector<Shape> parts;
  Ints sizes;
  Shape whole = x;
  whole[static_cast<std::size_t>(axis)] = 0;
  for (std::int64_t i = pick(1, 3); i > 0; --i) {
    parts.push_back(x);
    sizes.push_back(parts.back()[static_cast<std::size_t>(axis)] = pick(1, 3));
    whole[static_cast<std::size_t>(axis)] += sizes.back();
  }
  CHECK_GRADIENTS(operation(Concat{axis}, parts));
  CHECK_GRADIENTS(operation(Split{axis, sizes}, {whole}, sizes.size()));
  Computation first = operation(Split{axis, sizes}, {whole}, sizes.size());
  const auto all = first.build;
  first.build = [=](Builder& b) { return std::vector{all(b)[0]}; };  // the others' gradients are zero
  CHECK_GRADIENTS(first);
}

RC_GTEST_PROP(Gradients, SliceAndPlace, ()) {
  const auto rank = static_cast<std::size_t>(pick(1, 3));
  const Shape x = pick_shape(rank, 5);
  Slice op;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t size = pick(1, x[i]), step = size == 1 ? 1 : pick(1, (x[i] - 1) / (size - 1));
    const std::int64_t start = pick(0, x[i] - 1 - (size - 1) * step);
    const bool backwards = pick(0, 1);
    op.sizes.push_back(size);
    op.steps.push_back(backwards ? -step : step);
    op.starts.push_back(backwards ? start + (size - 1) * step : start);
  }
  CHECK_GRADIENTS(operation(op, {x}));
  CHECK_GRADIENTS(operation(Place{op.starts, op.steps, x}, {op.sizes}));
}

RC_GTEST_PROP(Gradients, Pad, ()) {
  const auto rank = static_cast<std::size_t>(pick(1, 3));
  const Shape x = pick_shape(rank, 4);
  Pad op;
  op.mode = static_cast<PadMode>(pick(0, 2));
  op.value = 0.5;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t most = op.mode == PadMode::Reflect ? x[i] - 1 : 2;
    const std::int64_t least = op.mode == PadMode::Constant ? -(x[i] - 1) / 2 : 0;
    op.begin.push_back(pick(least, most));
    op.end.push_back(pick(least, most));
  }
  CHECK_GRADIENTS(operation(op, {x}));
}

RC_GTEST_PROP(Gradients, GatherAndTrilu, ()) {
  const auto rank = static_cast<std::size_t>(pick(1, 3));
  const Shape x = pick_shape(rank, 4), at = pick_shape(static_cast<std::size_t>(pick(0, 2)), 3);
  const std::int64_t axis = pick(0, static_cast<std::int64_t>(rank) - 1);
  const std::uint64_t seed = pick_seed();
  Computation c;
  Array<double> indices{at, {}};
  const auto size = static_cast<std::uint64_t>(x[static_cast<std::size_t>(axis)]);
  for (std::int64_t i = 0; i < elements(at); ++i) {
    const auto index = static_cast<double>(random_bits(seed, 9, static_cast<std::uint64_t>(i)) % size);
    indices.data.push_back(i % 3 == 2 ? index - static_cast<double>(size) : index);  // from the end too
  }
  c.values = {{"x", spread(x, seed)}, {"at", indices}};
  c.build = [=](Builder& b) {
    return b.add(Gather{axis}, {weight(b, "x", x), b.source("at", at, kIndex, Category::Index)}, "op");
  };
  CHECK_GRADIENTS(c);
  CHECK_GRADIENTS(operation(Trilu{static_cast<bool>(pick(0, 1)), pick(-2, 2)}, {pick_shape(3, 4)}));
}

}  // namespace
}  // namespace monet::test
