#include "unit/onnx/export_cases.h"

#include <fmt/format.h>

#include <limits>

namespace monet::test {
namespace {

// ---- Contractions ----

// One forward geometry and its three convolutions.
ExportCase convolutions(std::uint64_t seed, std::size_t spatial) {
  CaseBuilder c(fmt::format("conv_{}d_{}", spatial, seed), seed);
  const std::int64_t groups = c.choice.between(1, 3), in = groups * c.choice.between(1, 2),
                     out = groups * c.choice.between(1, 2), batch = c.choice.between(1, 3);
  Conv op;
  op.groups = groups;
  Shape x{batch, in}, w{out, in / groups}, y{batch, out};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t kernel = c.choice.between(1, 3), dilation = c.choice.between(1, 2);
    const std::int64_t extent = c.choice.between(6, 11);
    op.strides.push_back(c.choice.between(1, 3));
    op.dilations.push_back(dilation);
    op.pads_begin.push_back(c.choice.between(seed % 5 == 0 ? -1 : 0, 3));
    op.pads_end.push_back(c.choice.between(seed % 5 == 0 ? -2 : 0, 3));
    x.push_back(extent);
    w.push_back(kernel);
    y.push_back(window_count(extent, kernel, op.strides[i], dilation, op.pads_begin[i], op.pads_end[i], false));
  }
  const TensorId image = c.normal("x", x), weight = c.normal("w", w), dy = c.normal("dy", y);
  c.output(op, {image, weight, c.choice.coin() ? c.normal("bias", {out}) : kNoTensor});
  op.kind = ConvKind::DataGradient;
  op.extent = {x.begin() + 2, x.end()};
  c.output(op, {dy, weight, c.choice.coin() ? c.normal("dbias", {in}) : kNoTensor});
  op.kind = ConvKind::WeightGradient;
  op.extent = {w.begin() + 2, w.end()};
  c.output(op, {image, dy});
  return c.finish();
}

ExportCase matmul(const std::string& name, const MatMul& op, Shape a, Shape b, std::optional<Shape> addend) {
  CaseBuilder c("matmul_" + name);
  const TensorId left = c.normal("a", std::move(a)), right = c.normal("b", std::move(b));
  c.output(op, {left, right, addend ? c.normal("c", *addend) : kNoTensor});
  return c.finish();
}

ExportCase attention(const std::string& name, bool causal, std::int64_t queries, std::int64_t keys, bool mask,
                     bool hides_all = false) {
  CaseBuilder c("attention_" + name);
  const TensorId q = c.normal("q", {2, 3, queries, 4}), k = c.normal("k", {2, 3, keys, 4}),
                 v = c.normal("v", {2, 3, keys, 5}), dy = c.normal("dy", {2, 3, queries, 5});
  const double hidden = -std::numeric_limits<double>::infinity();
  std::int64_t at = 0;
  const TensorId m = mask ? c.numbers("mask", {2, 1, queries, keys},
                                      [&] {
                                        const std::int64_t row = at++ / keys;
                                        return (hides_all && row == 1) || (row != 0 && at % 3 == 0) ? hidden : 0.5;
                                      })
                          : kNoTensor;
  const auto o = c.output(Attention{.scale = 0.5, .causal = causal}, {q, k, v, m}, 2);
  c.output(AttentionGradient{.scale = 0.5, .causal = causal}, {dy, q, k, v, o[0], o[1], m}, 3);
  return c.finish();
}

}  // namespace

void add_contraction_cases(std::vector<ExportCase>& cases) {
  cases.push_back(
      matmul("gemm", {.trans_a = true, .trans_b = true, .alpha = 0.5, .beta = 2}, {3, 4}, {5, 3}, Shape{5}));
  cases.push_back(matmul("gemm_column", {}, {4, 3}, {3, 5}, Shape{4, 1}));
  cases.push_back(matmul("plain", {.trans_b = true}, {4, 3}, {5, 3}, std::nullopt));
  cases.push_back(matmul("batch", {.trans_a = true, .alpha = 2, .beta = 3}, {2, 1, 3, 4}, {6, 3, 5}, Shape{6, 1, 5}));
  cases.push_back(matmul("batch_by_matrix", {.trans_b = true}, {2, 3, 4}, {5, 4}, std::nullopt));
  {
    CaseBuilder c("matmul_integers");
    c.output(MatMul{}, {c.integers("a", {3, 4}, -9, 9, Element::I8), c.integers("b", {4, 2}, -3, 3, Element::I32)});
    cases.push_back(c.finish());
  }
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    for (std::size_t spatial = 1; spatial <= 2; ++spatial) cases.push_back(convolutions(seed, spatial));
  for (std::uint64_t seed = 1; seed <= 5; ++seed) cases.push_back(convolutions(seed, 3));
  cases.push_back(attention("plain", false, 5, 7, false));
  cases.push_back(attention("causal", true, 6, 6, false));
  cases.push_back(attention("causal_cached", true, 3, 7, false));
  cases.push_back(attention("causal_blind", true, 6, 4, false));  // the first two queries see no key
  cases.push_back(attention("mask", false, 5, 7, true));
  cases.push_back(attention("mask_blind", true, 6, 6, true, true));
}

// ---- Element-wise ----

namespace {

std::pair<double, double> parameters(UnaryKind kind) {
  if (kind == UnaryKind::LeakyRelu) return {0.1, 0};
  if (kind == UnaryKind::HardSigmoid) return {0.2, 0.5};
  if (kind == UnaryKind::Clip) return {-0.5, 0.75};
  return {0, 0};
}

bool has_mask(UnaryKind kind) {
  return kind == UnaryKind::Relu || kind == UnaryKind::LeakyRelu || kind == UnaryKind::Clip ||
         kind == UnaryKind::HardSigmoid;
}

bool follows_from_output(UnaryKind kind) {
  for (const UnaryKind k : {UnaryKind::Relu, UnaryKind::Sigmoid, UnaryKind::Tanh, UnaryKind::Exp, UnaryKind::Sqrt,
                            UnaryKind::Rsqrt, UnaryKind::Reciprocal, UnaryKind::Neg})
    if (k == kind) return true;
  return false;
}

ExportCase unary(UnaryKind kind) {
  CaseBuilder c(fmt::format("unary_{}", name(kind)));
  const auto [a, b] = parameters(kind);
  const bool roots = kind == UnaryKind::Log || kind == UnaryKind::Sqrt || kind == UnaryKind::Rsqrt;
  const double infinity = std::numeric_limits<double>::infinity();
  const TensorId x = kind == UnaryKind::Not        ? c.integers("x", {3, 4}, 0, 1, Element::Bool)
                     : kind == UnaryKind::IsFinite ? c.given("x", {4}, {1, infinity, -infinity, std::nan("")})
                     : roots                       ? c.positive("x", {3, 40})
                     : kind == UnaryKind::Round    ? c.given("x", {6}, {0.5, 1.5, -2.5, 0.4, -0.6, 7})
                                                   : c.numbers("x", {3, 40}, [&] { return 2 * c.choice.normal(); });
  const bool mask = has_mask(kind);
  const auto y = c.output(Unary{kind, a, b}, {x}, mask ? 2 : 1);
  const TensorId dy = c.normal("dy", c.b[x].shape);
  c.output(UnaryGradient{kind, a, b, Source::Input}, {dy, x});
  if (follows_from_output(kind)) c.output(UnaryGradient{kind, a, b, Source::Output}, {dy, y[0]});
  if (mask) c.output(UnaryGradient{kind, a, b, Source::Mask}, {dy, y[1]});
  return c.finish();
}

ExportCase binary(BinaryKind kind, Element element) {
  CaseBuilder c(fmt::format("binary_{}_{}", name(kind), name(element)));
  TensorId a, b;
  if (is_float(element)) {
    a = kind == BinaryKind::Pow ? c.positive("a", {3, 1, 4}) : c.normal("a", {3, 1, 4}, element);
    b = c.normal("b", {5, 1}, element);
  } else if (is_truth(element)) {
    a = c.integers("a", {3, 1, 4}, 0, 1, element), b = c.integers("b", {5, 1}, 0, 1, element);
  } else {
    a = c.integers("a", {3, 1, 4}, kind == BinaryKind::Pow ? 1 : element == Element::U8 ? 0 : -9, 9, element);
    b = c.integers("b", {5, 1}, 1, 3, element);
  }
  c.output(Binary{kind}, {a, b});
  return c.finish();
}

// Dropout's mask is onnxruntime's own: what is compared does not depend on it.
ExportCase dropout() {
  CaseBuilder c("dropout");
  const TensorId x = c.normal("x", {8, 1000}), dy = c.normal("dy", {8, 1000});
  const Dropout op{.ratio = 0.25, .seed = 11};
  const auto y = c.b.add(op, {x}, "dropout", 2);
  const TensorId mask = c.b.one(Cast{Element::F32}, {y[1]}, "mask");
  const TensorId expected =
      c.b.binary(BinaryKind::Mul, c.b.binary(BinaryKind::Mul, x, mask, "kept"), c.b.scalar(1 / 0.75), "expected");
  c.output(c.b.binary(BinaryKind::Sub, y[0], expected, "forward_difference"));
  const TensorId with = c.b.one(DropoutGradient{.ratio = 0.25, .seed = 11}, {dy, y[1]}, "with_mask");
  const TensorId without = c.b.one(DropoutGradient{.ratio = 0.25, .seed = 11}, {dy, kNoTensor}, "without_mask");
  c.output(c.b.binary(BinaryKind::Sub, with, without, "gradient_difference"));
  const TensorId kept = c.b.one(Reduce{ReduceKind::Mean, {0, 1}, false}, {mask}, "kept_share");
  c.output(c.b.binary(BinaryKind::Greater, kept, c.b.scalar(0.73), "kept_enough"));
  c.output(c.b.binary(BinaryKind::Less, kept, c.b.scalar(0.77), "dropped_enough"));
  return c.finish();
}

// Formats that onnxruntime has few kernels for, between casts.
ExportCase narrow(Element element) {
  CaseBuilder c(fmt::format("format_{}", name(element)));
  const TensorId x32 = c.normal("x", {2, 3, 6, 6}), w32 = c.normal("w", {4, 3, 3, 3}),
                 d32 = c.normal("dy", {2, 3, 6, 6});
  const TensorId x = c.b.one(Cast{element}, {x32}, "x_narrow"), w = c.b.one(Cast{element}, {w32}, "w_narrow"),
                 dy = c.b.one(Cast{element}, {d32}, "dy_narrow");
  const auto wide = [&](TensorId t) { c.output(c.b.one(Cast{Element::F32}, {t}, "wide")); };
  const Conv conv{.strides = {1, 1}, .dilations = {1, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .extent = {}};
  wide(c.b.one(conv, {x, w, kNoTensor}, "conv"));
  wide(c.b.unary(UnaryKind::Relu, x, "relu"));
  wide(c.b.binary(BinaryKind::Mul, x, c.b.scalar(3e-6), "tiny"));  // below f16's normal range
  wide(c.b.binary(BinaryKind::Add, x, x32, "mixed"));
  wide(c.b.one(Sum{}, {x, dy}, "sum"));
  wide(c.b.one(Softmax{.axis = 1}, {x}, "softmax"));
  wide(c.b.one(Reduce{ReduceKind::Sum, {2, 3}, true}, {x}, "reduce"));
  wide(c.b.one(Expand{{2, 2, 3, 6, 6}}, {x}, "expand"));
  wide(c.b.one(Transpose{{1, 0, 3, 2}}, {x}, "transpose"));
  wide(c.b.one(Concat{1}, {x, dy}, "concat"));
  wide(c.b.one(Slice{{0, 1, 2, 0}, {2, 2, 3, 2}, {1, 1, 1, 3}}, {x}, "slice"));
  wide(c.b.one(Pad{{0, 0, 1, 1}, {0, 0, 1, -1}}, {x}, "pad"));
  const TensorId index = c.integers("index", {4}, 0, 2);
  wide(c.b.one(Gather{1}, {x, index}, "gather"));
  wide(c.b.one(ScatterAdd{1, 3}, {c.b.one(Gather{1}, {dy, index}, "rows"), index}, "scatter"));
  const Pool pool{.kernel = {2, 2}, .strides = {2, 2}, .dilations = {1, 1}, .pads_begin = {0, 0}, .pads_end = {0, 0}};
  const auto most = c.b.add(pool, {x}, "pool", 2);
  wide(c.b.one(PoolGradient{.kernel = {2, 2},
                            .strides = {2, 2},
                            .dilations = {1, 1},
                            .pads_begin = {0, 0},
                            .pads_end = {0, 0},
                            .extent = {6, 6}},
               {most[0], most[1]}, "pool_gradient"));
  const TensorId flat = c.b.view(x, {6, 36}, "flat");
  const TensorId scale = c.normal("scale", {36});
  wide(c.b.add(Norm{.kind = NormKind::Layer, .axis = 1}, {flat, scale}, "layer", 3)[0]);
  wide(c.b.one(Fill{{2, 3}, 1.5, element}, {}, "fill"));
  wide(c.b.one(MatMul{.trans_b = true}, {flat, flat, kNoTensor}, "gemm"));
  return c.finish(bits(element) == 16 && element == Element::F16 ? 5e-3 : element == Element::BF16 ? 3e-2 : 1e-4);
}

}  // namespace

void add_elementwise_cases(std::vector<ExportCase>& cases) {
  for (int k = 0; k <= static_cast<int>(UnaryKind::IsFinite); ++k) cases.push_back(unary(static_cast<UnaryKind>(k)));
  for (int k = 0; k <= static_cast<int>(BinaryKind::Xor); ++k) {
    const auto kind = static_cast<BinaryKind>(k);
    const bool logical = kind >= BinaryKind::And;
    for (const Element element : {Element::F32, Element::I64, Element::I32, Element::U8, Element::Bit})
      if (logical == is_truth(element) && !(element == Element::U8 && kind < BinaryKind::Equal) &&
          !(kind == BinaryKind::ExpDifference && element != Element::F32))
        cases.push_back(binary(kind, element));
  }
  {
    CaseBuilder c("sum_select_cast");
    const TensorId a = c.normal("a", {3, 4}), b = c.normal("b", {4}), one = c.normal("one", {});
    c.output(Sum{}, {a, b, one});
    c.output(Sum{}, {a});
    c.output(Sum{}, {c.integers("i", {3}, 0, 9), c.integers("j", {2, 1}, 0, 9, Element::I32)});
    const TensorId condition = c.integers("condition", {3, 1}, 0, 1, Element::Bit);
    c.output(Select{}, {condition, a, b});
    c.output(Select{},
             {condition, c.integers("k", {3, 2}, 0, 9, Element::U8), c.integers("l", {2}, 0, 9, Element::I16)});
    c.output(Binary{BinaryKind::Mul}, {a, condition});
    for (const Element to :
         {Element::F64, Element::I64, Element::I32, Element::Bool, Element::I8, Element::F16, Element::F8E4M3})
      c.output(Cast{to}, {c.b.binary(BinaryKind::Add, a, a, "twice")});
    cases.push_back(c.finish(1e-3));
  }
  {
    CaseBuilder c("reduce");
    const TensorId x = c.normal("x", {2, 3, 4, 5}), i = c.integers("i", {3, 4}, -9, 9, Element::I32);
    for (const ReduceKind kind :
         {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min, ReduceKind::SumSquare}) {
      c.output(Reduce{kind, {1, 3}, true}, {x});
      c.output(Reduce{kind, {0, 1, 2, 3}, false}, {x});
      c.output(Reduce{kind, {}, true}, {x});
      if (kind != ReduceKind::Mean) c.output(Reduce{kind, {1}, false}, {i});
    }
    cases.push_back(c.finish());
  }
  cases.push_back(dropout());
  for (const Element element : {Element::F16, Element::BF16, Element::F8E5M2}) cases.push_back(narrow(element));
}

// ---- Windows ----

namespace {

struct PoolShape {
  Pool op;
  Shape x, y;
};

PoolShape random_pool(Choice& choice, PoolKind kind, std::size_t spatial) {
  PoolShape p;
  p.op.kind = kind;
  p.op.ceil = choice.coin();
  p.op.count_pads = choice.coin();
  p.op.window_index = choice.coin();
  p.x = p.y = {choice.between(1, 2), choice.between(1, 3)};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t kernel = choice.between(2, 3), dilation = choice.between(1, 2), stride = choice.between(1, 4);
    const std::int64_t most = dilation == 1 ? kernel - 1 : 1, extent = choice.between(5, 9);
    const std::int64_t begin = choice.between(0, most), end = choice.between(0, most);
    p.op.kernel.push_back(kernel);
    p.op.strides.push_back(stride);
    p.op.dilations.push_back(dilation);
    p.op.pads_begin.push_back(begin);
    p.op.pads_end.push_back(end);
    p.x.push_back(extent);
    p.y.push_back(window_count(extent, kernel, stride, dilation, begin, end, p.op.ceil));
  }
  return p;
}

PoolGradient gradient_of(const Pool& op, const Shape& x) {
  return {.kind = op.kind,
          .kernel = op.kernel,
          .strides = op.strides,
          .dilations = op.dilations,
          .pads_begin = op.pads_begin,
          .pads_end = op.pads_end,
          .ceil = op.ceil,
          .count_pads = op.count_pads,
          .window_index = op.window_index,
          .extent = {x.begin() + 2, x.end()}};
}

// The indices are compared through the gradient alone: ONNX encodes them in its own way.
ExportCase pool(const std::string& name, std::uint64_t seed, const PoolShape& p) {
  CaseBuilder c(name, seed);
  const TensorId x = c.normal("x", p.x), dy = c.normal("dy", p.y);
  const bool max = p.op.kind == PoolKind::Max;
  const auto y = c.b.add(p.op, {x}, "pool", max ? 2 : 1);
  c.output(y[0]);
  c.output(gradient_of(p.op, p.x), {dy, max ? y[1] : kNoTensor});
  return c.finish();
}

// A gradient whose indices come from outside, in the graph's own encoding.
ExportCase pool_gradient_alone(bool window_index) {
  CaseBuilder c(window_index ? "pool_window_index" : "pool_plane_index");
  const Pool op{.kernel = {2, 3},
                .strides = {2, 2},
                .dilations = {1, 2},
                .pads_begin = {0, 0},
                .pads_end = {0, 0},
                .window_index = window_index};
  const Shape x{2, 3, 6, 9}, y{2, 3, 3, 3};
  const TensorId index = c.integers("index", y, 0, window_index ? 5 : 53, window_index ? Element::U4 : Element::I64);
  c.output(gradient_of(op, x), {c.normal("dy", y), index});
  return c.finish();
}

ExportCase unfold(std::uint64_t seed, std::size_t spatial) {
  CaseBuilder c(fmt::format("unfold_{}d", spatial), seed);
  Unfold op;
  Shape x{2, 3};
  for (std::size_t i = 0; i < spatial; ++i) {
    op.kernel.push_back(c.choice.between(1, 3));
    op.strides.push_back(c.choice.between(1, 2));
    op.dilations.push_back(c.choice.between(1, 2));
    op.pads_begin.push_back(c.choice.between(-1, 2));
    op.pads_end.push_back(c.choice.between(0, 2));
    x.push_back(c.choice.between(6, 8));
  }
  c.output(op, {c.normal("x", x)});
  return c.finish();
}

}  // namespace

void add_window_cases(std::vector<ExportCase>& cases) {
  for (const PoolKind kind : {PoolKind::Max, PoolKind::Average})
    for (std::size_t spatial = 1; spatial <= 3; ++spatial)
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Choice choice(100 * spatial + seed);
        const PoolShape p = random_pool(choice, kind, spatial);
        cases.push_back(
            pool(fmt::format("pool_{}_{}d_{}", kind == PoolKind::Max ? "max" : "average", spatial, seed), seed, p));
      }
  // Pads as wide as the kernel, which dilation allows.
  const Pool wide{.kernel = {2, 2}, .strides = {2, 1}, .dilations = {3, 3}, .pads_begin = {2, 0}, .pads_end = {2, 3}};
  cases.push_back(pool("pool_max_wide_pads", 3, {wide, {2, 3, 8, 7}, {2, 3, 5, 7}}));
  cases.push_back(pool_gradient_alone(true));
  cases.push_back(pool_gradient_alone(false));
  for (std::size_t spatial = 1; spatial <= 3; ++spatial) cases.push_back(unfold(spatial, spatial));
}

// ---- All of them ----

std::vector<ExportCase> export_cases() {
  std::vector<ExportCase> cases;
  add_contraction_cases(cases);
  add_elementwise_cases(cases);
  add_window_cases(cases);
  add_norm_and_loss_cases(cases);
  add_movement_cases(cases);
  add_whole_cases(cases);
  return cases;
}

}  // namespace monet::test
