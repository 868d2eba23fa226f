#include "monet/graph/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "monet/base/overloaded.h"

namespace monet {
namespace {

using Operands = std::span<const Tensor* const>;
using Outputs = std::vector<OutputType>;

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw ShapeError(fmt::format(format, std::forward<Args>(args)...));
}

const Tensor& need(Operands in, std::size_t i) {
  if (i >= in.size() || !in[i]) fail("input {} is missing", i);
  return *in[i];
}
const Tensor* maybe(Operands in, std::size_t i) { return i < in.size() ? in[i] : nullptr; }
void at_most(Operands in, std::size_t count) {
  if (in.size() > count) fail("takes at most {} inputs, got {}", count, in.size());
}

std::int64_t rank(const Tensor& t) { return static_cast<std::int64_t>(t.shape.size()); }

void check_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < 0 || axis >= rank) fail("axis {} is out of range for {} dimensions", axis, rank);
}

// Floating operands promote to the widest; a scalar or an integer never widens a tensor.
Format promote(const Tensor& a, const Tensor& b) {
  if (a.shape.empty() != b.shape.empty()) return a.shape.empty() ? b.format : a.format;
  if (is_float(a.format.element) != is_float(b.format.element)) return is_float(a.format.element) ? a.format : b.format;
  return bits(b.format.element) > bits(a.format.element) ? b.format : a.format;
}

// Sums and statistics of narrow floats are held in f32.
Format wide(Format format) {
  return is_float(format.element) && bits(format.element) < 32 ? Format{Element::F32} : format;
}

Shape broadcast_all(Operands in) {
  Shape shape = need(in, 0).shape;
  for (std::size_t i = 1; i < in.size(); ++i) shape = broadcast(shape, need(in, i).shape);
  return shape;
}

void same_shape(const Tensor& a, const Tensor& b, const char* what) {
  if (a.shape != b.shape) fail("{}: {} and {} differ", what, to_string(a.shape), to_string(b.shape));
}

Shape reduced(const Shape& shape, const Ints& axes, bool keep) {
  Shape out;
  std::int64_t previous = -1;
  for (const std::int64_t axis : axes) {
    check_axis(axis, static_cast<std::int64_t>(shape.size()));
    if (axis <= previous) fail("axes must be ascending and distinct");
    previous = axis;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (!gone)
      out.push_back(shape[i]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}

// ---- Convolution and pooling ----

template <class Op>
void check_window_attributes(const Op& op, std::size_t spatial) {
  for (const Ints* list : {&op.strides, &op.dilations, &op.pads_begin, &op.pads_end})
    if (list->size() != spatial) fail("strides, dilations and pads must have {} entries", spatial);
  for (std::size_t i = 0; i < spatial; ++i)
    if (op.strides[i] < 1 || op.dilations[i] < 1 || op.strides[i] > (1 << 24) || op.dilations[i] > (1 << 24))
      fail("strides and dilations must be positive and below 2^24");
  for (const Ints* list : {&op.pads_begin, &op.pads_end})
    for (const std::int64_t pad : *list)
      if (pad < -(1 << 24) || pad > (1 << 24)) fail("pads must lie within ±2^24");
}

std::size_t spatial_rank(const Tensor& x) {
  if (x.shape.size() < 3 || x.shape.size() > 5)
    fail("expects [N,C,space…] with one to three spatial dimensions, got {}", to_string(x.shape));
  return x.shape.size() - 2;
}

Outputs infer_conv(const Conv& op, Operands in) {
  const Tensor& first = need(in, 0);
  const Tensor& second = need(in, 1);
  at_most(in, op.kind == ConvKind::WeightGradient ? 2 : 3);
  const std::size_t spatial = spatial_rank(first);
  if (second.shape.size() != first.shape.size())
    fail("operands {} and {} differ in rank", to_string(first.shape), to_string(second.shape));
  check_window_attributes(op, spatial);
  if (op.groups < 1) fail("groups must be positive");
  if (op.kind != ConvKind::Forward && op.extent.size() != spatial) fail("extent must have {} entries", spatial);
  const bool weight = op.kind == ConvKind::WeightGradient;
  Shape x, w, y;  // those known; the output's is filled in below
  const std::int64_t g = op.groups;
  if (op.kind == ConvKind::Forward) {
    x = first.shape, w = second.shape;
    if (x[1] % g != 0 || w[1] != x[1] / g)
      fail("weight {} does not fit {} input channels in {} groups", to_string(w), x[1], g);
    if (w[0] % g != 0) fail("{} output channels do not divide into {} groups", w[0], g);
    y = {x[0], w[0]};
  } else if (op.kind == ConvKind::DataGradient) {
    y = first.shape, w = second.shape;
    if (w[0] != y[1]) fail("weight {} does not fit {} channels", to_string(w), y[1]);
    if (w[0] % g != 0) fail("{} channels do not divide into {} groups", w[0], g);
    x = {y[0], w[1] * g};
  } else {
    x = first.shape, y = second.shape;
    if (x[0] != y[0]) fail("batches {} and {} differ", x[0], y[0]);
    if (x[1] % g != 0 || y[1] % g != 0) fail("channels {} and {} do not divide into {} groups", x[1], y[1], g);
    w = {y[1], x[1] / g};
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    if (op.kind != ConvKind::Forward && op.extent[i] < 1) fail("extent must be positive");
    const std::int64_t xi = op.kind == ConvKind::DataGradient ? op.extent[i] : x[i + 2];
    const std::int64_t wi = weight ? op.extent[i] : w[i + 2];
    if (xi > (std::int64_t{1} << 40) || wi > (std::int64_t{1} << 30)) fail("spatial size is too large");
    const std::int64_t yi =
        window_count(xi, wi, op.strides[i], op.dilations[i], op.pads_begin[i], op.pads_end[i], false);
    if (op.kind == ConvKind::Forward)
      y.push_back(yi);
    else if (yi != y[i + 2])
      fail("spatial size {} of the gradient should be {}", y[i + 2], yi);
  }
  if (const Tensor* bias = maybe(in, 2)) {
    const std::int64_t channels = op.kind == ConvKind::Forward ? w[0] : w[1] * g;
    if (bias->shape != Shape{channels}) fail("bias {} should be [{}]", to_string(bias->shape), channels);
  }
  if (op.kind == ConvKind::DataGradient) x.insert(x.end(), op.extent.begin(), op.extent.end());
  if (weight) w.insert(w.end(), op.extent.begin(), op.extent.end());
  const Shape& out = op.kind == ConvKind::Forward ? y : op.kind == ConvKind::DataGradient ? x : w;
  return {{out, promote(first, second), ""}};
}

template <class PoolOp>
Shape pool_output(const PoolOp& op, const Shape& x) {
  const std::size_t spatial = x.size() - 2;
  check_window_attributes(op, spatial);
  if (op.kernel.size() != spatial) fail("kernel must have {} entries", spatial);
  Shape y{x[0], x[1]};
  for (std::size_t i = 0; i < spatial; ++i) {
    if (op.kernel[i] < 1 || op.kernel[i] > (1 << 24)) fail("kernel must be positive and below 2^24");
    // A pad as wide as its window would make windows that hold nothing but padding.
    const std::int64_t reach = op.dilations[i] * (op.kernel[i] - 1) + 1;
    if (op.pads_begin[i] < 0 || op.pads_end[i] < 0 || op.pads_begin[i] >= reach || op.pads_end[i] >= reach)
      fail("pads [{},{}] must be smaller than the window ({})", op.pads_begin[i], op.pads_end[i], reach);
    y.push_back(window_count(x[i + 2], op.kernel[i], op.strides[i], op.dilations[i], op.pads_begin[i], op.pads_end[i],
                             op.ceil));
  }
  return y;
}

Outputs infer_pool(const Pool& op, Operands in) {
  at_most(in, 1);
  const Tensor& x = need(in, 0);
  spatial_rank(x);
  const Shape y = pool_output(op, x.shape);
  Outputs out{{y, x.format, ""}};
  if (op.kind == PoolKind::Max) {
    std::int64_t window = 1;
    for (const std::int64_t k : op.kernel) window = std::min(window * k, std::int64_t{65537});
    const Element index = !op.window_index  ? Element::I64
                          : window <= 16    ? Element::U4
                          : window <= 256   ? Element::U8
                          : window <= 65536 ? Element::U16
                                            : Element::U32;
    out.push_back({y, Format{index}, "indices", Category::Index});
  }
  return out;
}

Outputs infer_pool_gradient(const PoolGradient& op, Operands in) {
  at_most(in, 2);
  const Tensor& dy = need(in, 0);
  if (op.extent.size() != spatial_rank(dy)) fail("extent must have {} entries", spatial_rank(dy));
  Shape x{dy.shape[0], dy.shape[1]};
  x.insert(x.end(), op.extent.begin(), op.extent.end());
  check_shape(x);
  const Shape y = pool_output(op, x);
  if (y != dy.shape) fail("gradient {} should be {}", to_string(dy.shape), to_string(y));
  if (op.kind == PoolKind::Max) same_shape(need(in, 1), dy, "indices and gradient");
  return {{x, dy.format, ""}};
}

// ---- Normalisation ----

struct NormShapes {
  Shape statistics, parameters;
};

template <class NormOp>
NormShapes norm_shapes(const NormOp& op, const Shape& x) {
  NormShapes s;
  switch (op.kind) {
    case NormKind::Batch:
    case NormKind::FrozenBatch:
      if (x.size() < 2) fail("expects [N,C,…], got {}", to_string(x));
      s.statistics = s.parameters = {x[1]};
      break;
    case NormKind::Group:
      if (x.size() < 2) fail("expects [N,C,…], got {}", to_string(x));
      if (op.groups < 1 || x[1] % op.groups != 0) fail("{} channels do not divide into {} groups", x[1], op.groups);
      s.statistics = {x[0], op.groups};
      s.parameters = {x[1]};
      break;
    case NormKind::Layer:
    case NormKind::Rms:
      check_axis(op.axis, static_cast<std::int64_t>(x.size()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool inside = static_cast<std::int64_t>(i) >= op.axis;
        s.statistics.push_back(inside ? 1 : x[i]);
        if (inside) s.parameters.push_back(x[i]);
      }
      break;
  }
  return s;
}

void check_parameter(const Tensor* t, const Shape& shape, const char* what) {
  if (t && t->shape != shape) fail("{} {} should be {}", what, to_string(t->shape), to_string(shape));
}

Outputs infer_norm(const Norm& op, Operands in) {
  const Tensor& x = need(in, 0);
  const NormShapes s = norm_shapes(op, x.shape);
  const bool batch = op.kind == NormKind::Batch || op.kind == NormKind::FrozenBatch;
  at_most(in, batch ? 5 : op.kind == NormKind::Rms ? 2 : 3);
  for (std::size_t i = 1; i < in.size(); ++i) check_parameter(in[i], s.parameters, "parameter");
  if (batch)
    for (std::size_t i = 1; i < 3; ++i) need(in, i);
  const bool running = maybe(in, 3) || maybe(in, 4);  // a recomputed batch-norm leaves the running statistics alone
  if (op.kind == NormKind::FrozenBatch || running)
    for (std::size_t i = 3; i < 5; ++i) need(in, i);
  const Format stat = wide(x.format);
  Outputs out{{x.shape, x.format, ""}};
  if (op.kind == NormKind::FrozenBatch) return out;
  if (op.kind != NormKind::Rms) out.push_back({s.statistics, stat, "mean"});
  out.push_back({s.statistics, stat, op.kind == NormKind::Rms ? "inv_rms" : "inv_std"});
  if (op.kind == NormKind::Batch && running) {
    out.push_back({s.statistics, need(in, 3).format, "running_mean", Category::ModelState});
    out.push_back({s.statistics, need(in, 4).format, "running_var", Category::ModelState});
  }
  return out;
}

Outputs infer_norm_gradient(const NormGradient& op, Operands in) {
  const Tensor& dy = need(in, 0);
  const NormShapes s = norm_shapes(op, dy.shape);
  const bool rms = op.kind == NormKind::Rms;
  at_most(in, rms ? 4 : 5);
  if (op.kind != NormKind::FrozenBatch || maybe(in, 1)) same_shape(dy, need(in, 1), "gradient and input");
  check_parameter(maybe(in, 2), s.parameters, "scale");
  for (std::size_t i = 3; i < (rms ? 4u : 5u); ++i)
    if (need(in, i).shape != s.statistics)
      fail("statistics {} should be {}", to_string(need(in, i).shape), to_string(s.statistics));
  const Format parameter = in[2] ? in[2]->format : dy.format;
  Outputs out{{dy.shape, dy.format, ""}, {s.parameters, parameter, "scale"}};
  if (!rms) out.push_back({s.parameters, parameter, "bias"});
  return out;
}

Outputs infer_norm_part(const NormPart& op, Operands in) {
  const Tensor& x = need(in, 0);
  if (op.pass == NormPass::RunningUpdate) {
    at_most(in, 4);
    for (std::size_t i = 1; i < 4; ++i) same_shape(x, need(in, i), "statistics");
    return {{x.shape, x.format, "running_mean", Category::ModelState},
            {x.shape, need(in, 1).format, "running_var", Category::ModelState}};
  }
  const NormShapes s = norm_shapes(op, x.shape);
  const Format stat = wide(x.format);
  switch (op.pass) {
    case NormPass::Statistics:
      at_most(in, 1);
      return {{s.statistics, stat, "mean"},
              {s.statistics, stat, op.kind == NormKind::Rms ? "inv_rms" : "inv_std"},
              {s.statistics, stat, "variance"}};
    case NormPass::Apply: at_most(in, 5); return {{x.shape, x.format, ""}};
    case NormPass::ParameterSums:
      at_most(in, 4);
      if (maybe(in, 1)) same_shape(x, *in[1], "gradient and input");
      return {{s.parameters, stat, "scale"}, {s.parameters, stat, "bias"}};
    case NormPass::GroupSums:
      at_most(in, 5);
      same_shape(x, need(in, 1), "gradient and input");
      return {{s.statistics, stat, "s1"}, {s.statistics, stat, "s2"}};
    case NormPass::InputGradient:
      at_most(in, 7);
      if (maybe(in, 1)) same_shape(x, *in[1], "gradient and input");
      return {{x.shape, x.format, ""}};
    case NormPass::RunningUpdate: break;
  }
  fail("unknown normalisation pass");
}

// ---- Contractions, attention, losses ----

Outputs infer_matmul(const MatMul& op, Operands in) {
  at_most(in, 3);
  const Tensor &a = need(in, 0), &b = need(in, 1);
  if (a.shape.size() < 2 || b.shape.size() < 2)
    fail("operands {} and {} need two dimensions", to_string(a.shape), to_string(b.shape));
  const auto matrix = [](const Shape& s, bool transposed) {
    const std::int64_t rows = s[s.size() - 2], columns = s[s.size() - 1];
    return transposed ? std::pair{columns, rows} : std::pair{rows, columns};
  };
  const auto [m, k] = matrix(a.shape, op.trans_a);
  const auto [k2, n] = matrix(b.shape, op.trans_b);
  if (k != k2) fail("{} and {} do not multiply: inner sizes {} and {}", to_string(a.shape), to_string(b.shape), k, k2);
  Shape y = broadcast(Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
  y.push_back(m);
  y.push_back(n);
  if (const Tensor* c = maybe(in, 2); c && broadcast(c->shape, y) != y)
    fail("addend {} does not broadcast to {}", to_string(c->shape), to_string(y));
  return {{y, promote(a, b), ""}};
}

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor* mask, std::int64_t block) {
  const std::size_t r = q.shape.size();
  if (r < 2 || k.shape.size() != r || v.shape.size() != r) fail("q, k and v must have the same rank, at least 2");
  if (!std::equal(q.shape.begin(), q.shape.end() - 2, k.shape.begin()) ||
      !std::equal(q.shape.begin(), q.shape.end() - 2, v.shape.begin()))
    fail("batch dimensions of q {}, k {} and v {} differ", to_string(q.shape), to_string(k.shape), to_string(v.shape));
  if (q.shape[r - 1] != k.shape[r - 1] || k.shape[r - 2] != v.shape[r - 2])
    fail("q {}, k {} and v {} do not fit", to_string(q.shape), to_string(k.shape), to_string(v.shape));
  if (block < 1) fail("block must be positive");
  Shape scores = q.shape;
  scores[r - 1] = k.shape[r - 2];
  if (mask && broadcast(mask->shape, scores) != scores)
    fail("mask {} does not broadcast to {}", to_string(mask->shape), to_string(scores));
}

Outputs infer_attention(const Attention& op, Operands in) {
  at_most(in, 4);
  const Tensor &q = need(in, 0), &k = need(in, 1), &v = need(in, 2);
  check_attention(q, k, v, maybe(in, 3), op.block);
  Shape o = q.shape, lse = q.shape;
  o.back() = v.shape.back();
  lse.back() = 1;
  return {{o, q.format, ""}, {lse, wide(q.format), "log_sum_exp"}};
}

Outputs infer_attention_gradient(const AttentionGradient& op, Operands in) {
  at_most(in, 7);
  const Tensor &dout = need(in, 0), &q = need(in, 1), &k = need(in, 2), &v = need(in, 3);
  check_attention(q, k, v, maybe(in, 6), op.block);
  same_shape(dout, need(in, 4), "gradient and output");
  return {{q.shape, dout.format, ""}, {k.shape, dout.format, "k"}, {v.shape, dout.format, "v"}};
}

void check_labels(const Tensor& logits, const Tensor& labels, std::int64_t axis = 1) {
  if (logits.shape.size() < 2) fail("expects [N,C,…], got {}", to_string(logits.shape));
  check_axis(axis, rank(logits));
  Shape want = logits.shape;
  want.erase(want.begin() + axis);
  if (labels.shape != want) fail("labels {} should be {}", to_string(labels.shape), to_string(want));
  if (!is_integer(labels.format.element)) fail("labels must be integers");
}

// ---- Shape and movement ----

Outputs infer_transpose(const Transpose& op, const Tensor& x) {
  Ints sorted = op.perm;
  std::sort(sorted.begin(), sorted.end());
  Ints identity(x.shape.size());
  std::iota(identity.begin(), identity.end(), 0);
  if (sorted != identity) fail("perm {} is no permutation of {} dimensions", to_string(op.perm), x.shape.size());
  Shape y;
  for (const std::int64_t p : op.perm) y.push_back(x.shape[static_cast<std::size_t>(p)]);
  return {{y, x.format, ""}};
}

Outputs infer_concat(const Concat& op, Operands in) {
  const Tensor& first = need(in, 0);
  check_axis(op.axis, rank(first));
  Shape y = first.shape;
  const auto axis = static_cast<std::size_t>(op.axis);
  for (std::size_t i = 1; i < in.size(); ++i) {
    Shape other = need(in, i).shape;
    if (other.size() != y.size()) fail("operands {} and {} differ in rank", to_string(first.shape), to_string(other));
    const std::int64_t extent = other[axis];
    other[axis] = y[axis];
    if (other != y)
      fail("operands {} and {} differ beside axis {}", to_string(first.shape), to_string(in[i]->shape), op.axis);
    y[axis] += extent;
    check_shape(y);
  }
  return {{y, first.format, ""}};
}

Outputs infer_split(const Split& op, const Tensor& x) {
  check_axis(op.axis, rank(x));
  const std::int64_t extent = x.shape[static_cast<std::size_t>(op.axis)];
  std::int64_t rest = extent;
  for (const std::int64_t size : op.sizes) rest = size < 1 || size > rest ? -1 : rest - size;
  if (rest != 0) fail("sizes {} do not sum to {}", to_string(op.sizes), extent);
  Outputs out;
  for (const std::int64_t size : op.sizes) {
    out.push_back({x.shape, x.format, ""});
    out.back().shape[static_cast<std::size_t>(op.axis)] = size;
  }
  if (out.empty()) fail("no sizes given");
  return out;
}

// starts + i·steps for i < sizes must stay inside `shape`
void check_strided(const Ints& starts, const Shape& sizes, const Ints& steps, const Shape& shape) {
  if (starts.size() != shape.size() || sizes.size() != shape.size() || steps.size() != shape.size())
    fail("starts, sizes and steps need {} entries", shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (steps[i] == 0 || sizes[i] < 1 || sizes[i] > shape[i])
      fail("size {} with step {} does not fit extent {}", sizes[i], steps[i], shape[i]);
    if (steps[i] > shape[i] || steps[i] < -shape[i]) {
      if (sizes[i] != 1) fail("step {} leaves extent {}", steps[i], shape[i]);
      if (starts[i] < 0 || starts[i] >= shape[i]) fail("start {} is outside extent {}", starts[i], shape[i]);
      continue;
    }
    if (starts[i] < 0 || starts[i] >= shape[i]) fail("start {} is outside extent {}", starts[i], shape[i]);
    const std::int64_t room = steps[i] > 0 ? (shape[i] - 1 - starts[i]) / steps[i] : starts[i] / -steps[i];
    if (sizes[i] - 1 > room)
      fail("{} elements from {} with step {} leave extent {}", sizes[i], starts[i], steps[i], shape[i]);
  }
}

template <class PadOp>
Shape padded(const PadOp& op, const Shape& x, std::int64_t sign) {
  if (op.begin.size() != x.size() || op.end.size() != x.size()) fail("pads need {} entries", x.size());
  Shape y = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (const std::int64_t pad : {op.begin[i], op.end[i]})
      if (pad > (std::int64_t{1} << 40) || pad < -(std::int64_t{1} << 40)) fail("pads are too large");
    y[i] += sign * (op.begin[i] + op.end[i]);
    const std::int64_t inner = sign > 0 ? x[i] : y[i];
    if (op.mode != PadMode::Constant && (op.begin[i] < 0 || op.end[i] < 0)) fail("negative pads need constant mode");
    if (op.mode == PadMode::Reflect && (op.begin[i] >= inner || op.end[i] >= inner))
      fail("reflecting pads must be smaller than extent {}", inner);
    if (-op.begin[i] >= inner || -op.end[i] >= inner) fail("pads crop away extent {}", inner);
  }
  return y;
}

Outputs infer_gather(const Gather& op, Operands in) {
  at_most(in, 2);
  const Tensor &data = need(in, 0), &indices = need(in, 1);
  check_axis(op.axis, rank(data));
  if (!is_integer(indices.format.element)) fail("indices must be integers");
  Shape y(data.shape.begin(), data.shape.begin() + op.axis);
  y.insert(y.end(), indices.shape.begin(), indices.shape.end());
  y.insert(y.end(), data.shape.begin() + op.axis + 1, data.shape.end());
  return {{y, data.format, ""}};
}

Outputs infer_scatter(const ScatterAdd& op, Operands in) {
  at_most(in, 2);
  const Tensor &dy = need(in, 0), &indices = need(in, 1);
  const auto axis = static_cast<std::size_t>(op.axis);
  if (op.axis < 0 || op.size < 1 || dy.shape.size() < axis + indices.shape.size() ||
      !std::equal(indices.shape.begin(), indices.shape.end(), dy.shape.begin() + op.axis))
    fail("gradient {} does not fit indices {}", to_string(dy.shape), to_string(indices.shape));
  Shape x(dy.shape.begin(), dy.shape.begin() + op.axis);
  x.push_back(op.size);
  x.insert(x.end(), dy.shape.begin() + op.axis + static_cast<std::ptrdiff_t>(indices.shape.size()), dy.shape.end());
  return {{x, dy.format, ""}};
}

Outputs infer_unfold(const Unfold& op, const Tensor& x) {
  const std::size_t spatial = spatial_rank(x);
  check_window_attributes(op, spatial);
  if (op.kernel.size() != spatial) fail("kernel must have {} entries", spatial);
  std::int64_t points = 1, positions = 1;
  for (std::size_t i = 0; i < spatial; ++i) {
    if (op.kernel[i] < 1 || op.kernel[i] > (1 << 24)) fail("kernel must be positive and below 2^24");
    const std::int64_t count = window_count(x.shape[i + 2], op.kernel[i], op.strides[i], op.dilations[i],
                                            op.pads_begin[i], op.pads_end[i], false);
    check_shape({points, op.kernel[i]});
    check_shape({positions, count});
    points *= op.kernel[i];
    positions *= count;
  }
  check_shape({x.shape[1], points});
  return {{{x.shape[0], x.shape[1] * points, positions}, x.format, ""}};
}

Outputs infer_any(const Op& op, Operands in) {
  const auto unary = [&](std::size_t inputs = 1) -> const Tensor& {
    at_most(in, inputs);
    return need(in, 0);
  };
  const auto as_first = [&](std::size_t inputs) { return Outputs{{unary(inputs).shape, in[0]->format, ""}}; };
  return std::visit(
      overloaded{
          [&](const MatMul& o) { return infer_matmul(o, in); },
          [&](const Conv& o) { return infer_conv(o, in); },
          [&](const Unary& o) {
            Outputs out = as_first(1);
            if (o.kind == UnaryKind::Not || o.kind == UnaryKind::IsFinite) {
              out[0].format = Format{Element::Bool};
              return out;
            }
            if (o.kind == UnaryKind::Relu || o.kind == UnaryKind::LeakyRelu || o.kind == UnaryKind::Clip ||
                o.kind == UnaryKind::HardSigmoid)
              out.push_back({out[0].shape, Format{Element::Bit}, "mask", Category::Mask});
            return out;
          },
          [&](const UnaryGradient&) {
            same_shape(unary(2), need(in, 1), "gradient and saved value");
            return as_first(2);
          },
          [&](const Binary& o) {
            at_most(in, 2);
            const Tensor &a = need(in, 0), &b = need(in, 1);
            const bool truth = o.kind >= BinaryKind::Equal;
            return Outputs{{broadcast(a.shape, b.shape), truth ? Format{Element::Bool} : promote(a, b), ""}};
          },
          [&](const Sum&) {
            Format format = need(in, 0).format;
            for (std::size_t i = 1; i < in.size(); ++i)
              if (bits(need(in, i).format.element) > bits(format.element)) format = in[i]->format;
            return Outputs{{broadcast_all(in), format, ""}};
          },
          [&](const Select&) {
            at_most(in, 3);
            need(in, 2);
            return Outputs{{broadcast_all(in), promote(*in[1], *in[2]), ""}};
          },
          [&](const Cast& o) {
            return Outputs{{unary().shape, Format{o.to}, ""}};
          },
          [&](const Dropout& o) {
            if (!(o.ratio >= 0 && o.ratio < 1)) fail("ratio {} must be in [0, 1)", o.ratio);
            Outputs out = as_first(1);
            out.push_back({out[0].shape, Format{Element::Bit}, "mask", Category::Mask});
            return out;
          },
          [&](const DropoutGradient&) {
            if (const Tensor* mask = maybe(in, 1)) same_shape(need(in, 0), *mask, "gradient and mask");
            return as_first(2);
          },
          [&](const Reduce& o) {
            const Tensor& x = unary();
            return Outputs{{reduced(x.shape, o.axes, o.keep), x.format, ""}};
          },
          [&](const Pool& o) { return infer_pool(o, in); },
          [&](const PoolGradient& o) { return infer_pool_gradient(o, in); },
          [&](const Norm& o) { return infer_norm(o, in); },
          [&](const NormGradient& o) { return infer_norm_gradient(o, in); },
          [&](const NormPart& o) { return infer_norm_part(o, in); },
          [&](const Lrn& o) {
            if (unary().shape.size() < 2 || o.size < 1) fail("expects [N,C,…] and a positive size");
            return as_first(1);
          },
          [&](const LrnGradient& o) {
            if (unary(2).shape.size() < 2 || o.size < 1) fail("expects [N,C,…] and a positive size");
            same_shape(*in[0], need(in, 1), "gradient and input");
            return as_first(2);
          },
          [&](const Softmax& o) {
            check_axis(o.axis, rank(unary()));
            return as_first(1);
          },
          [&](const SoftmaxGradient& o) {
            check_axis(o.axis, rank(unary(2)));
            same_shape(*in[0], need(in, 1), "gradient and output");
            return as_first(2);
          },
          [&](const Attention& o) { return infer_attention(o, in); },
          [&](const AttentionGradient& o) { return infer_attention_gradient(o, in); },
          [&](const CrossEntropy&) {
            const Tensor& logits = unary(2);
            check_labels(logits, need(in, 1));
            return Outputs{{{}, wide(logits.format), ""}, {logits.shape, wide(logits.format), "log_prob"}};
          },
          [&](const NegativeLogLikelihood&) {
            check_labels(unary(2), need(in, 1));
            return Outputs{{{}, wide(in[0]->format), ""}};
          },
          [&](const CrossEntropyGradient& o) {
            at_most(in, 3);
            check_labels(need(in, 1), need(in, 2), o.axis);
            return Outputs{{in[1]->shape, Format{o.to}, ""}};
          },
          [&](const NegativeLogLikelihoodGradient&) {
            at_most(in, 3);
            check_labels(need(in, 1), need(in, 2));
            return Outputs{{in[1]->shape, in[1]->format, ""}};
          },
          [&](const View& o) {
            const Tensor& x = unary();
            check_shape(o.shape);
            if (elements(o.shape) != elements(x.shape))
              fail("{} does not reshape to {}", to_string(x.shape), to_string(o.shape));
            return Outputs{{o.shape, x.format, ""}};
          },
          [&](const Transpose& o) { return infer_transpose(o, unary()); },
          [&](const Expand& o) {
            const Tensor& x = unary();
            if (broadcast(x.shape, o.shape) != o.shape)
              fail("{} does not broadcast to {}", to_string(x.shape), to_string(o.shape));
            return Outputs{{o.shape, x.format, ""}};
          },
          [&](const Concat& o) { return infer_concat(o, in); },
          [&](const Split& o) { return infer_split(o, unary()); },
          [&](const Slice& o) {
            const Tensor& x = unary();
            check_strided(o.starts, o.sizes, o.steps, x.shape);
            return Outputs{{o.sizes, x.format, ""}};
          },
          [&](const Place& o) {
            const Tensor& x = unary();
            check_shape(o.shape);
            check_strided(o.starts, x.shape, o.steps, o.shape);
            return Outputs{{o.shape, x.format, ""}};
          },
          [&](const Pad& o) {
            return Outputs{{padded(o, unary().shape, 1), in[0]->format, ""}};
          },
          [&](const PadGradient& o) {
            return Outputs{{padded(o, unary().shape, -1), in[0]->format, ""}};
          },
          [&](const Gather& o) { return infer_gather(o, in); },
          [&](const ScatterAdd& o) { return infer_scatter(o, in); },
          [&](const Trilu&) {
            if (unary().shape.size() < 2) fail("expects a matrix, got {}", to_string(in[0]->shape));
            return as_first(1);
          },
          [&](const Unfold& o) { return infer_unfold(o, unary()); },
          [&](const Fill& o) {
            at_most(in, 0);
            return Outputs{{o.shape, Format{o.element}, ""}};
          },
          [&](const Iota& o) {
            at_most(in, 0);
            return Outputs{{{o.count}, Format{o.element}, ""}};
          },
          [&](const Fallback& o) -> Outputs { fail("'{}' is unknown: its outputs cannot be inferred", o.type); },
      },
      op);
}

}  // namespace

void check_shape(const Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  if (shape.size() > 64) fail("a tensor has at most 64 dimensions, not {}", shape.size());
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1) fail("shape {}: every dimension must be at least 1", to_string(shape));
    if (extent > kMost / product) fail("shape {} has more than 2^48 elements", to_string(shape));
    product *= extent;
  }
}

bool can_store(Format made, Format stored) {
  return made.element == stored.element || (is_truth(made.element) && is_truth(stored.element)) ||
         (is_float(made.element) && is_float(stored.element));
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) fail("{} and {} do not broadcast", to_string(a), to_string(b));
    out[out.size() - 1 - i] = std::max(x, y);
  }
  return out;
}

std::int64_t window_count(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                          std::int64_t pad_begin, std::int64_t pad_end, bool ceil) {
  const std::int64_t room = extent + pad_begin + pad_end - (dilation * (kernel - 1) + 1);
  if (room < 0)
    fail("a window of {} (dilation {}) does not fit extent {} with pads {} and {}", kernel, dilation, extent, pad_begin,
         pad_end);
  if (!ceil) return room / stride + 1;
  std::int64_t count = (room + stride - 1) / stride + 1;
  if ((count - 1) * stride >= extent + pad_begin) --count;  // the last window must start inside the image
  return count;
}

std::vector<OutputType> infer(const Op& op, std::span<const Tensor* const> inputs) {
  Outputs out = infer_any(op, inputs);
  for (const OutputType& type : out) check_shape(type.shape);
  return out;
}

}  // namespace monet
