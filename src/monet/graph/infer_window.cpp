// Shapes of convolutions, poolings and unfoldings.
#include <fmt/format.h>

#include <algorithm>

#include "monet/graph/infer_rules.h"

namespace monet::inference {
namespace {

template <class Op>
void check_window_attributes(const Op& op, std::size_t spatial) {
  for (const Ints* list : {&op.strides, &op.dilations, &op.pads_begin, &op.pads_end})
    if (list->size() != spatial) fail(fmt::format("strides, dilations and pads must have {} entries", spatial));
  for (std::size_t i = 0; i < spatial; ++i)
    if (op.strides[i] < 1 || op.dilations[i] < 1 || op.strides[i] > (1 << 24) || op.dilations[i] > (1 << 24))
      fail("strides and dilations must be positive and below 2^24");
  for (const Ints* list : {&op.pads_begin, &op.pads_end})
    for (const std::int64_t pad : *list)
      if (pad < -(1 << 24) || pad > (1 << 24)) fail("pads must lie within ±2^24");
}

std::size_t spatial_rank(const Tensor& x) {
  if (x.shape.size() < 3 || x.shape.size() > 5)
    fail(fmt::format("expects [N,C,space…] with one to three spatial dimensions, got {}", to_string(x.shape)));
  return x.shape.size() - 2;
}

template <class PoolOp>
Shape pool_output(const PoolOp& op, const Shape& x) {
  const std::size_t spatial = x.size() - 2;
  check_window_attributes(op, spatial);
  if (op.kernel.size() != spatial) fail(fmt::format("kernel must have {} entries", spatial));
  Shape y{x[0], x[1]};
  for (std::size_t i = 0; i < spatial; ++i) {
    if (op.kernel[i] < 1 || op.kernel[i] > (1 << 24)) fail("kernel must be positive and below 2^24");
    // A pad as wide as its window would make windows that hold nothing but padding.
    const std::int64_t reach = op.dilations[i] * (op.kernel[i] - 1) + 1;
    if (op.pads_begin[i] < 0 || op.pads_end[i] < 0 || op.pads_begin[i] >= reach || op.pads_end[i] >= reach)
      fail(fmt::format("pads [{},{}] must be smaller than the window ({})", op.pads_begin[i], op.pads_end[i], reach));
    y.push_back(window_count(x[i + 2], op.kernel[i], op.strides[i], op.dilations[i], op.pads_begin[i], op.pads_end[i],
                             op.ceil));
  }
  return y;
}

Ints spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

// An image of these spatial sizes with the samples and channels of `x`.
Shape image_of(const Shape& x, const Ints& spatial) {
  Shape image{x[0], x[1]};
  image.insert(image.end(), spatial.begin(), spatial.end());
  check_shape(image);
  return image;
}

// The windows of the whole image of which there is a part.
template <class PoolOp>
Ints whole_windows(const PoolOp& op, const Shape& x) {
  if (op.part.whole.size() != x.size() - 2) fail(fmt::format("the whole image needs {} extents", x.size() - 2));
  return spatial_of(pool_output(op, image_of(x, op.part.whole)));
}

}  // namespace

Outputs infer_conv(const Conv& op, Operands in) {
  const Tensor& first = need(in, 0);
  const Tensor& second = need(in, 1);
  at_most(in, op.kind == ConvKind::WeightGradient ? 2 : 3);
  const std::size_t spatial = spatial_rank(first);
  if (second.shape.size() != first.shape.size())
    fail(fmt::format("operands {} and {} differ in rank", to_string(first.shape), to_string(second.shape)));
  check_window_attributes(op, spatial);
  if (op.groups < 1) fail("groups must be positive");
  if (op.kind != ConvKind::Forward && op.extent.size() != spatial)
    fail(fmt::format("extent must have {} entries", spatial));
  const bool weight = op.kind == ConvKind::WeightGradient;
  Shape x, w, y;  // those known; the output's is filled in below
  const std::int64_t g = op.groups;
  if (op.kind == ConvKind::Forward) {
    x = first.shape, w = second.shape;
    if (x[1] % g != 0 || w[1] != x[1] / g)
      fail(fmt::format("weight {} does not fit {} input channels in {} groups", to_string(w), x[1], g));
    if (w[0] % g != 0) fail(fmt::format("{} output channels do not divide into {} groups", w[0], g));
    y = {x[0], w[0]};
  } else if (op.kind == ConvKind::DataGradient) {
    y = first.shape, w = second.shape;
    if (w[0] != y[1]) fail(fmt::format("weight {} does not fit {} channels", to_string(w), y[1]));
    if (w[0] % g != 0) fail(fmt::format("{} channels do not divide into {} groups", w[0], g));
    x = {y[0], w[1] * g};
  } else {
    x = first.shape, y = second.shape;
    if (x[0] != y[0]) fail(fmt::format("batches {} and {} differ", x[0], y[0]));
    if (x[1] % g != 0 || y[1] % g != 0)
      fail(fmt::format("channels {} and {} do not divide into {} groups", x[1], y[1], g));
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
      fail(fmt::format("spatial size {} of the gradient should be {}", y[i + 2], yi));
  }
  if (const Tensor* bias = maybe(in, 2)) {
    const std::int64_t channels = op.kind == ConvKind::Forward ? w[0] : w[1] * g;
    if (bias->shape != Shape{channels}) fail(fmt::format("bias {} should be [{}]", to_string(bias->shape), channels));
  }
  if (op.kind == ConvKind::DataGradient) x.insert(x.end(), op.extent.begin(), op.extent.end());
  if (weight) w.insert(w.end(), op.extent.begin(), op.extent.end());
  const Shape& out = op.kind == ConvKind::Forward ? y : op.kind == ConvKind::DataGradient ? x : w;
  return {{out, promote(first, second), ""}};
}

Outputs infer_pool(const Pool& op, Operands in) {
  at_most(in, 1);
  const Tensor& x = need(in, 0);
  spatial_rank(x);
  Shape y;
  if (is_set(op.part)) {
    check_inside(whole_windows(op, x.shape), op.part.first, op.part.count);
    check_inside(op.part.whole, op.part.origin, spatial_of(x.shape));
    y = image_of(x.shape, op.part.count);
  } else {
    y = pool_output(op, x.shape);
  }
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
  if (op.extent.size() != spatial_rank(dy)) fail(fmt::format("extent must have {} entries", spatial_rank(dy)));
  const Shape x = image_of(dy.shape, op.extent);
  if (is_set(op.part)) {
    check_inside(whole_windows(op, x), op.part.first, spatial_of(dy.shape));
    check_inside(op.part.whole, op.part.origin, op.extent);
  } else if (const Shape y = pool_output(op, x); y != dy.shape) {
    fail(fmt::format("gradient {} should be {}", to_string(dy.shape), to_string(y)));
  }
  if (op.kind == PoolKind::Max) same_shape(need(in, 1), dy, "indices and gradient");
  return {{x, dy.format, ""}};
}

Outputs infer_unfold(const Unfold& op, const Tensor& x) {
  const std::size_t spatial = spatial_rank(x);
  check_window_attributes(op, spatial);
  if (op.kernel.size() != spatial) fail(fmt::format("kernel must have {} entries", spatial));
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

}  // namespace monet::inference
