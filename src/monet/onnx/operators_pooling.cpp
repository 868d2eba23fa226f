#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "monet/onnx/operators.h"

namespace monet {
namespace {

constexpr std::int64_t kMostWindow = 1 << 24;  // of strides, kernels and pads

Ints kernel_shape(const OnnxCall& call, std::size_t spatial) {
  const auto kernel = call.attributes.integers("kernel_shape");
  if (!kernel || kernel->size() != spatial) throw ModelError(fmt::format("kernel_shape should have {} sizes", spatial));
  return *kernel;
}

std::size_t spatial_rank(Converter& c, OperandId x) {
  if (c.rank(x) < 3) throw ModelError(fmt::format("expects [N,C,space…], got {}", to_string(c.shape(x))));
  return c.shape(x).size() - 2;
}

Pool pool_of(Converter& c, const OnnxCall& call, PoolKind kind) {
  const OperandId x = c.need(call, 0);
  Pool op;
  op.kind = kind;
  op.kernel = kernel_shape(call, spatial_rank(c, x));
  const Window window = read_window(call, c.shape(x), op.kernel);
  op.strides = window.strides;
  op.dilations = window.dilations;
  op.pads_begin = window.begin;
  op.pads_end = window.end;
  op.ceil = call.attributes.integer("ceil_mode", 0) != 0;
  op.count_pads = kind == PoolKind::Average && call.attributes.integer("count_include_pad", 0) != 0;
  return op;
}

// ONNX counts positions over the whole tensor, we over one image plane: the planes' offsets are added.
void max_pool(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  if (call.attributes.integer("storage_order", 0) != 0) throw UnsupportedUse("column-major indices");
  const Pool op = pool_of(c, call, PoolKind::Max);
  if (!call.has_output(1) || !c.is_used(call.out[1])) {
    c.finish(call, op, {x});
    return;
  }
  const Shape& shape = c.shape(x);
  const std::int64_t planes = shape[0] * shape[1], plane = elements(shape) / planes;
  constexpr std::int64_t kMostPlanes = 1 << 20;
  if (planes > kMostPlanes) throw UnsupportedUse("indices over too many planes");
  const auto made = c.add(call, op, {x}, {call.out[0], c.part_name(call, "plane_indices")});
  std::vector<double> offsets(static_cast<std::size_t>(planes));
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<double>(i) * static_cast<double>(plane);
  Shape per_plane(shape.size(), 1);
  per_plane[0] = shape[0];
  per_plane[1] = shape[1];
  const OperandId offset = c.constant(c.part_name(call, "planes"), per_plane, Element::I64, std::move(offsets), false);
  const auto indices = c.add(call, Binary{BinaryKind::Add}, {made[1], offset}, {call.out[1]}, "indices");
  c.alias(call.out[1], indices[0]);
}

void average_pool(Converter& c, const OnnxCall& call) {
  c.finish(call, pool_of(c, call, PoolKind::Average), {c.need(call, 0)});
}

template <ReduceKind kind>
void global_pool(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  Ints axes(spatial_rank(c, x));
  std::iota(axes.begin(), axes.end(), 2);
  c.finish(call, Reduce{kind, axes, true}, {x});
}

// The input's size is in no attribute: the file states it.
void average_pool_gradient(Converter& c, const OnnxCall& call) {
  const OperandId dy = c.need(call, 0);
  const std::size_t spatial = spatial_rank(c, dy);
  const auto stated = c.stated().spatial_shape(call.out.empty() ? "" : call.out[0]);
  if (!stated || stated->size() != spatial + 2)
    throw ModelError("the size of its output is not stated in the file", "run ONNX shape inference on it first");
  PoolGradient op;
  op.kind = PoolKind::Average;
  op.extent.assign(stated->begin() + 2, stated->end());
  op.kernel = kernel_shape(call, spatial);
  Shape x = *stated;
  x[0] = c.shape(dy)[0];
  x[1] = c.shape(dy)[1];
  const Window window = read_window(call, x, op.kernel);
  op.strides = window.strides;
  op.dilations = window.dilations;
  op.pads_begin = window.begin;
  op.pads_end = window.end;
  op.ceil = call.attributes.integer("ceil_mode", 0) != 0;
  op.count_pads = call.attributes.integer("count_include_pad", 0) != 0;
  c.finish(call, op, {dy});
}

// Enlarging by whole factors without mixing pixels is a repetition: x[…, h, w] seen as [h, 1, w, 1], broadcast.
void repeat(Converter& c, const OnnxCall& call, OperandId x, const Ints& factors) {
  Shape split, wide, joined;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    split.insert(split.end(), {c.shape(x)[i], 1});
    wide.insert(wide.end(), {c.shape(x)[i], factors[i]});
    joined.push_back(c.shape(x)[i] * factors[i]);
  }
  const OperandId apart = reshape(c, call, x, split, "apart");
  const OperandId repeated = c.step(call, Expand{wide}, {apart}, "repeated");
  c.finish(call, View{joined}, {repeated});
}

void resize(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const bool old = call.type == "Upsample" || call.opset < 11;
  const OperandId scales = call.input(old ? 1 : 2), sizes = old ? kNoOperand : call.input(3);
  if (call.attributes.text("mode", "nearest") != "nearest") throw UnsupportedUse("interpolation");
  if (call.attributes.has("axes")) throw UnsupportedUse("some axes only");
  const std::string mapping = call.attributes.text("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  const std::string rounding = call.attributes.text("nearest_mode", old ? "floor" : "round_prefer_floor");
  const bool exact = (mapping == "asymmetric" && rounding == "floor") ||
                     (mapping == "half_pixel" && rounding.starts_with("round_prefer"));
  if (!exact) throw UnsupportedUse(fmt::format("{} with {}", mapping, rounding));
  const bool sized = sizes != kNoOperand && elements(c.shape(sizes)) > 0;
  if (!sized && scales == kNoOperand) throw ModelError("neither scales nor sizes are given");
  const std::vector<double> given = c.numbers(sized ? sizes : scales, sized ? "sizes" : "scales");
  if (std::ssize(given) != c.rank(x)) throw ModelError("needs one scale per dimension");
  Ints factors;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double factor = sized ? given[i] / static_cast<double>(c.shape(x)[i]) : given[i];
    if (!(factor >= 1 && factor <= static_cast<double>(kMostWindow)) ||
        factor != static_cast<double>(to_integer(factor)))
      throw UnsupportedUse("a factor that is not whole");
    factors.push_back(to_integer(factor));
  }
  Shape result = c.shape(x);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] > (std::int64_t{1} << 48) / result[i]) throw ModelError("the result is too large");
    result[i] *= factors[i];
  }
  check_shape(result);
  if (result == c.shape(x))
    c.finish(call, View{result}, {x});
  else
    repeat(c, call, x, factors);
}

// [N, C·b·b, H, W] <-> [N, C, H·b, W·b]
void depth_to_space(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const Shape s = c.shape(x);
  const std::int64_t b = call.attributes.integer("blocksize");
  if (s.size() != 4 || b < 1 || b > 65536 || s[1] % (b * b) != 0)
    throw ModelError(fmt::format("{} does not split into blocks of {}", to_string(s), b));
  const std::int64_t channels = s[1] / (b * b);
  const bool columns = call.attributes.text("mode", "DCR") == "CRD";
  const Shape split = columns ? Shape{s[0], channels, b, b, s[2], s[3]} : Shape{s[0], b, b, channels, s[2], s[3]};
  const Ints perm = columns ? Ints{0, 1, 4, 2, 5, 3} : Ints{0, 3, 4, 1, 5, 2};
  const OperandId apart = reshape(c, call, x, split, "apart");
  const OperandId moved = c.step(call, Transpose{perm}, {apart}, "moved");
  c.finish(call, View{{s[0], channels, s[2] * b, s[3] * b}}, {moved});
}

void space_to_depth(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const Shape s = c.shape(x);
  const std::int64_t b = call.attributes.integer("blocksize");
  if (s.size() != 4 || b < 1 || s[2] % b != 0 || s[3] % b != 0)
    throw ModelError(fmt::format("{} does not split into blocks of {}", to_string(s), b));
  const OperandId apart = reshape(c, call, x, {s[0], s[1], s[2] / b, b, s[3] / b, b}, "apart");
  const bool columns = call.attributes.text("mode", "DCR") == "CRD";
  const Ints perm = columns ? Ints{0, 1, 3, 5, 2, 4} : Ints{0, 3, 5, 1, 2, 4};
  const OperandId moved = c.step(call, Transpose{perm}, {apart}, "moved");
  c.finish(call, View{{s[0], s[1] * b * b, s[2] / b, s[3] / b}}, {moved});
}

}  // namespace

Window read_window(const OnnxCall& call, const Shape& x, const Ints& kernel) {
  const std::size_t n = kernel.size();
  Window window;
  window.strides = call.attributes.integers("strides").value_or(Ints(n, 1));
  window.dilations = call.attributes.integers("dilations").value_or(Ints(n, 1));
  const Ints pads = call.attributes.integers("pads").value_or(Ints(2 * n, 0));
  const std::string mode = call.attributes.text("auto_pad", "NOTSET");
  if (window.strides.size() != n || window.dilations.size() != n || (mode == "NOTSET" && pads.size() != 2 * n))
    throw ModelError(fmt::format("strides and dilations need {} sizes, pads {}", n, 2 * n));
  for (std::size_t i = 0; i < n; ++i)
    for (const std::int64_t size : {window.strides[i], window.dilations[i], kernel[i]})
      if (size < 1 || size > kMostWindow)
        throw ModelError("strides, dilations and kernel must be positive and below 2^24");
  if (mode == "NOTSET") {
    window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
    window.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
    return window;
  }
  window.begin.assign(n, 0);
  window.end.assign(n, 0);
  if (mode == "VALID") return window;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") throw ModelError(fmt::format("unknown auto_pad '{}'", mode));
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t extent = x[i + 2], stride = window.strides[i];
    const std::int64_t count = (extent - 1) / stride + 1;
    const std::int64_t reach = window.dilations[i] * (kernel[i] - 1) + 1;
    const std::int64_t total = std::max<std::int64_t>(0, (count - 1) * stride + reach - extent);
    window.begin[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.end[i] = total - window.begin[i];
  }
  return window;
}

OperandId reshape(Converter& converter, const OnnxCall& call, OperandId x, Shape shape, std::string_view part) {
  return converter.step(call, View{std::move(shape)}, {x}, part);
}

std::span<const OperatorRule> pooling_rules() {
  static constexpr auto kRules = std::to_array<OperatorRule>({
      {"MaxPool", max_pool},
      {"AveragePool", average_pool},
      {"GlobalAveragePool", global_pool<ReduceKind::Mean>},
      {"GlobalMaxPool", global_pool<ReduceKind::Max>},
      {"com.microsoft:AveragePoolGrad", average_pool_gradient},
      {"Resize", resize},
      {"Upsample", resize},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
  });
  return kRules;
}

}  // namespace monet
