#include "monet/graph/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/base/overloaded.h"
#include "monet/graph/infer_rules.h"
#include "monet/graph/steps.h"

namespace monet {
namespace inference {

[[noreturn]] void fail(const std::string& message) { throw ShapeError(message); }

const Tensor& need(Operands in, std::size_t i) {
  if (i >= in.size() || !in[i]) fail(fmt::format("input {} is missing", i));
  return *in[i];
}
const Tensor* maybe(Operands in, std::size_t i) { return i < in.size() ? in[i] : nullptr; }
void at_most(Operands in, std::size_t count) {
  if (in.size() > count) fail(fmt::format("takes at most {} inputs, got {}", count, in.size()));
}

void check_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < 0 || axis >= rank) fail(fmt::format("axis {} is out of range for {} dimensions", axis, rank));
}

Format promote(const Tensor& a, const Tensor& b) {
  if (a.shape.empty() != b.shape.empty()) return a.shape.empty() ? b.format : a.format;
  if (is_float(a.format.element) != is_float(b.format.element)) return is_float(a.format.element) ? a.format : b.format;
  return bits(b.format.element) > bits(a.format.element) ? b.format : a.format;
}

Format wide(Format format) {
  return is_float(format.element) && bits(format.element) < 32 ? Format{Element::F32} : format;
}

void same_shape(const Tensor& a, const Tensor& b, const char* what) {
  if (a.shape != b.shape) fail(fmt::format("{}: {} and {} differ", what, to_string(a.shape), to_string(b.shape)));
}

void check_inside(const Ints& whole, const Ints& origin, const Ints& extents) {
  check_shape(whole);
  bool inside = origin.size() == whole.size() && extents.size() == whole.size();
  for (std::size_t i = 0; i < whole.size() && inside; ++i)
    inside = origin[i] >= 0 && extents[i] >= 1 && extents[i] <= whole[i] && origin[i] <= whole[i] - extents[i];
  if (!inside)
    fail(fmt::format("a part of {} at {} does not lie inside {}", to_string(extents), to_string(origin),
                     to_string(whole)));
}

// A part of the channels.
Outputs infer_lrn(const Part& part, Outputs same) {
  if (!is_set(part)) return same;
  if (part.count.size() != 1) fail("a part needs one count of channels");
  check_inside({same[0].shape[1]}, part.origin, part.count);
  same[0].shape[1] = part.count[0];
  return same;
}

Outputs infer_steps(const Steps& op, Operands in) {
  const std::vector<Tensor> values = step_values(op, in);
  Outputs out;
  for (const std::int64_t o : op.outputs)
    out.push_back({values[static_cast<std::size_t>(o)].shape, values[static_cast<std::size_t>(o)].format, ""});
  return out;
}

}  // namespace inference

namespace {

using namespace inference;

Shape broadcast_all(Operands in) {
  Shape shape = need(in, 0).shape;
  for (std::size_t i = 1; i < in.size(); ++i) shape = broadcast(shape, need(in, i).shape);
  return shape;
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

void check_labels(const Tensor& logits, const Tensor& labels, std::int64_t axis = 1, const Part& part = {}) {
  if (logits.shape.size() < 2) fail(fmt::format("expects [N,C,…], got {}", to_string(logits.shape)));
  check_axis(axis, rank(logits));
  if (is_set(part)) check_inside(part.whole, part.origin, logits.shape);
  Shape want = is_set(part) ? part.whole : logits.shape;
  want.erase(want.begin() + axis);
  if (labels.shape != want) fail(fmt::format("labels {} should be {}", to_string(labels.shape), to_string(want)));
  if (!is_integer(labels.format.element)) fail("labels must be integers");
}

// The three operands of a loss's gradient: the first is that of the scalar loss.
void check_loss_gradient(Operands in) {
  at_most(in, 3);
  if (elements(need(in, 0).shape) != 1) fail("the loss's gradient must be a single number");
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
            if (!(o.ratio >= 0 && o.ratio < 1)) fail(fmt::format("ratio {} must be in [0, 1)", o.ratio));
            Outputs out = as_first(1);
            if (is_set(o.part)) check_inside(o.part.whole, o.part.origin, out[0].shape);
            out.push_back({out[0].shape, Format{Element::Bit}, "mask", Category::Mask});
            return out;
          },
          [&](const DropoutGradient& o) {
            if (!(o.ratio >= 0 && o.ratio < 1)) fail(fmt::format("ratio {} must be in [0, 1)", o.ratio));
            if (const Tensor* mask = maybe(in, 1)) same_shape(need(in, 0), *mask, "gradient and mask");
            if (is_set(o.part)) check_inside(o.part.whole, o.part.origin, need(in, 0).shape);
            return as_first(2);
          },
          [&](const Steps& o) { return infer_steps(o, in); },
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
            return infer_lrn(o.part, as_first(1));
          },
          [&](const LrnGradient& o) {
            if (unary(2).shape.size() < 2 || o.size < 1) fail("expects [N,C,…] and a positive size");
            same_shape(*in[0], need(in, 1), "gradient and input");
            return infer_lrn(o.part, as_first(2));
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
          [&](const NegativeLogLikelihood& o) {
            check_labels(unary(2), need(in, 1), 1, o.part);
            return Outputs{{{}, wide(in[0]->format), ""}};
          },
          [&](const CrossEntropyGradient& o) {
            check_loss_gradient(in);
            check_labels(need(in, 1), need(in, 2), o.axis, o.part);
            return Outputs{{in[1]->shape, Format{o.to}, ""}};
          },
          [&](const NegativeLogLikelihoodGradient& o) {
            check_loss_gradient(in);
            check_labels(need(in, 1), need(in, 2), 1, o.part);
            return Outputs{{in[1]->shape, in[1]->format, ""}};
          },
          [&](const View& o) {
            const Tensor& x = unary();
            check_shape(o.shape);
            if (elements(o.shape) != elements(x.shape))
              fail(fmt::format("{} does not reshape to {}", to_string(x.shape), to_string(o.shape)));
            return Outputs{{o.shape, x.format, ""}};
          },
          [&](const Transpose& o) { return infer_transpose(o, unary()); },
          [&](const Expand& o) {
            const Tensor& x = unary();
            if (broadcast(x.shape, o.shape) != o.shape)
              fail(fmt::format("{} does not broadcast to {}", to_string(x.shape), to_string(o.shape)));
            return Outputs{{o.shape, x.format, ""}};
          },
          [&](const Concat& o) { return infer_concat(o, in); },
          [&](const Split& o) { return infer_split(o, unary()); },
          [&](const Slice& o) { return infer_slice(o, unary()); },
          [&](const Place& o) { return infer_place(o, unary()); },
          [&](const Pad& o) { return infer_pad(o, unary()); },
          [&](const PadGradient& o) { return infer_pad_gradient(o, unary()); },
          [&](const Gather& o) { return infer_gather(o, in); },
          [&](const ScatterAdd& o) { return infer_scatter(o, in); },
          [&](const Trilu&) {
            if (unary().shape.size() < 2) fail(fmt::format("expects a matrix, got {}", to_string(in[0]->shape)));
            return as_first(1);
          },
          [&](const Unfold& o) { return infer_unfold(o, unary()); },
          [&](const Fill& o) {
            at_most(in, 0);
            return Outputs{{o.shape, Format{o.element}, ""}};
          },
          [&](const Iota& o) {
            at_most(in, 0);
            if (is_set(o.part)) check_inside(o.part.whole, o.part.origin, {o.count});
            return Outputs{{{o.count}, Format{o.element}, ""}};
          },
          [&](const Fallback& o) -> Outputs {
            fail(fmt::format("'{}' is unknown: its outputs cannot be inferred", o.type));
          },
      },
      op);
}

}  // namespace

void check_shape(const Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  if (shape.size() > 64) fail(fmt::format("a tensor has at most 64 dimensions, not {}", shape.size()));
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1) fail(fmt::format("shape {}: every dimension must be at least 1", to_string(shape)));
    if (extent > kMost / product) fail(fmt::format("shape {} has more than 2^48 elements", to_string(shape)));
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
    if (x != y && x != 1 && y != 1) fail(fmt::format("{} and {} do not broadcast", to_string(a), to_string(b)));
    out[out.size() - 1 - i] = std::max(x, y);
  }
  return out;
}

std::int64_t window_count(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                          std::int64_t pad_begin, std::int64_t pad_end, bool ceil) {
  const std::int64_t room = extent + pad_begin + pad_end - (dilation * (kernel - 1) + 1);
  if (room < 0)
    fail(fmt::format("a window of {} (dilation {}) does not fit extent {} with pads {} and {}", kernel, dilation,
                     extent, pad_begin, pad_end));
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
