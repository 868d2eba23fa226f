// Shapes of operators that only move elements.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "monet/graph/infer_rules.h"

namespace monet::inference {
namespace {

// starts + i·steps for i < sizes must stay inside `shape`
void check_strided(const Ints& starts, const Shape& sizes, const Ints& steps, const Shape& shape) {
  if (starts.size() != shape.size() || sizes.size() != shape.size() || steps.size() != shape.size())
    fail(fmt::format("starts, sizes and steps need {} entries", shape.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (steps[i] == 0 || sizes[i] < 1 || sizes[i] > shape[i])
      fail(fmt::format("size {} with step {} does not fit extent {}", sizes[i], steps[i], shape[i]));
    if (steps[i] > shape[i] || steps[i] < -shape[i]) {
      if (sizes[i] != 1) fail(fmt::format("step {} leaves extent {}", steps[i], shape[i]));
      if (starts[i] < 0 || starts[i] >= shape[i])
        fail(fmt::format("start {} is outside extent {}", starts[i], shape[i]));
      continue;
    }
    if (starts[i] < 0 || starts[i] >= shape[i]) fail(fmt::format("start {} is outside extent {}", starts[i], shape[i]));
    const std::int64_t room = steps[i] > 0 ? (shape[i] - 1 - starts[i]) / steps[i] : starts[i] / -steps[i];
    if (sizes[i] - 1 > room)
      fail(fmt::format("{} elements from {} with step {} leave extent {}", sizes[i], starts[i], steps[i], shape[i]));
  }
}

template <class PadOp>
Shape padded(const PadOp& op, const Shape& x, std::int64_t sign) {
  if (op.begin.size() != x.size() || op.end.size() != x.size()) fail(fmt::format("pads need {} entries", x.size()));
  Shape y = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (const std::int64_t pad : {op.begin[i], op.end[i]})
      if (pad > (std::int64_t{1} << 40) || pad < -(std::int64_t{1} << 40)) fail("pads are too large");
    y[i] += sign * (op.begin[i] + op.end[i]);
    const std::int64_t inner = sign > 0 ? x[i] : y[i];
    if (op.mode != PadMode::Constant && (op.begin[i] < 0 || op.end[i] < 0)) fail("negative pads need constant mode");
    if (op.mode == PadMode::Reflect && (op.begin[i] >= inner || op.end[i] >= inner))
      fail(fmt::format("reflecting pads must be smaller than extent {}", inner));
    if (-op.begin[i] >= inner || -op.end[i] >= inner) fail(fmt::format("pads crop away extent {}", inner));
  }
  return y;
}

}  // namespace

Outputs infer_transpose(const Transpose& op, const Tensor& x) {
  Ints sorted = op.perm;
  std::sort(sorted.begin(), sorted.end());
  Ints identity(x.shape.size());
  std::iota(identity.begin(), identity.end(), 0);
  if (sorted != identity)
    fail(fmt::format("perm {} is no permutation of {} dimensions", to_string(op.perm), x.shape.size()));
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
    if (other.size() != y.size())
      fail(fmt::format("operands {} and {} differ in rank", to_string(first.shape), to_string(other)));
    const std::int64_t extent = other[axis];
    other[axis] = y[axis];
    if (other != y)
      fail(fmt::format("operands {} and {} differ beside axis {}", to_string(first.shape), to_string(in[i]->shape),
                       op.axis));
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
  if (rest != 0) fail(fmt::format("sizes {} do not sum to {}", to_string(op.sizes), extent));
  Outputs out;
  for (const std::int64_t size : op.sizes) {
    out.push_back({x.shape, x.format, ""});
    out.back().shape[static_cast<std::size_t>(op.axis)] = size;
  }
  if (out.empty()) fail("no sizes given");
  return out;
}

Outputs infer_slice(const Slice& op, const Tensor& x) {
  check_strided(op.starts, op.sizes, op.steps, x.shape);
  return {{op.sizes, x.format, ""}};
}

Outputs infer_place(const Place& op, const Tensor& x) {
  check_shape(op.shape);
  check_strided(op.starts, x.shape, op.steps, op.shape);
  return {{op.shape, x.format, ""}};
}

Outputs infer_pad(const Pad& op, const Tensor& x) {
  if (!is_set(op.part)) return {{padded(op, x.shape, 1), x.format, ""}};
  check_inside(op.part.whole, op.part.origin, x.shape);
  check_inside(padded(op, op.part.whole, 1), op.part.first, op.part.count);
  return {{op.part.count, x.format, ""}};
}
Outputs infer_pad_gradient(const PadGradient& op, const Tensor& dy) {
  if (is_set(op.part)) {
    check_inside(op.part.whole, op.part.origin, op.part.count);
    check_inside(padded(op, op.part.whole, 1), op.part.first, dy.shape);
    return {{op.part.count, dy.format, ""}};
  }
  return {{padded(op, dy.shape, -1), dy.format, ""}};
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
    fail(fmt::format("gradient {} does not fit indices {}", to_string(dy.shape), to_string(indices.shape)));
  if (is_set(op.part)) check_inside(op.part.whole, op.part.origin, {op.size});
  Shape x(dy.shape.begin(), dy.shape.begin() + op.axis);
  x.push_back(op.size);
  x.insert(x.end(), dy.shape.begin() + op.axis + static_cast<std::ptrdiff_t>(indices.shape.size()), dy.shape.end());
  return {{x, dy.format, ""}};
}

}  // namespace monet::inference
