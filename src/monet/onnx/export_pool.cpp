// Pools. ONNX counts a ceil-mode window that starts beyond the image where we do not (window_count), so ceil_mode is
// set only where it adds a window we count too. Averages ONNX 17 cannot say (dilation, padding counted in ceil mode)
// are depthwise convolutions with ones.
#include <algorithm>
#include <limits>

#include "monet/graph/infer.h"
#include "monet/onnx/export_rules.h"

namespace monet::exporting {
namespace {

// Taps of window `o` at positions below `end` of the image, along axis i.
template <class PoolOp>
std::int64_t taps_below(const PoolOp& op, std::size_t i, std::int64_t o, std::int64_t end) {
  const std::int64_t start = o * op.strides[i] - op.pads_begin[i];
  return start >= end ? 0 : std::min(op.kernel[i], (end - 1 - start) / op.dilations[i] + 1);
}

// What an average divides by, for each output position of a plane.
template <class PoolOp>
Value divisors(Scope& s, const PoolOp& op, const Ints& extent, const Shape& y, Element element) {
  const std::size_t spatial = extent.size();
  std::vector<Ints> counts(spatial);
  for (std::size_t i = 0; i < spatial; ++i)
    for (std::int64_t o = 0; o < y[i + 2]; ++o)
      counts[i].push_back(op.count_pads ? taps_below(op, i, o, extent[i] + op.pads_end[i])
                                        : taps_below(op, i, o, extent[i]) - taps_below(op, i, o, 0));
  const auto product = [&](std::size_t position) {
    double divisor = 1;
    for (std::size_t i = spatial; i-- > 0; position /= counts[i].size())
      divisor *= static_cast<double>(counts[i][position % counts[i].size()]);
    return std::max(divisor, 1.0);
  };
  Shape shape = y;
  shape[0] = shape[1] = 1;
  bool uniform = true;
  for (const Ints& axis : counts)
    for (const std::int64_t count : axis) uniform = uniform && count == axis[0];
  return uniform ? s.scalar(product(0), element) : s.table(shape, element, product);
}

template <class PoolOp>
Value ones(Scope& s, const PoolOp& op, std::int64_t channels, Element element) {
  Shape shape{channels, 1};
  shape.insert(shape.end(), op.kernel.begin(), op.kernel.end());
  return s.filled(shape, 1, element);
}

// Padding at the end that makes the windows counted fit exactly or leave a rest below a stride.
template <class PoolOp>
Ints overhang(const PoolOp& op, const Ints& extent, const Shape& y) {
  Ints pads;
  for (std::size_t i = 0; i < extent.size(); ++i) {
    const std::int64_t reach = op.strides[i] * (y[i + 2] - 1) + op.dilations[i] * (op.kernel[i] - 1) + 1;
    pads.push_back(std::max<std::int64_t>(0, reach - op.pads_begin[i] - extent[i]));
  }
  return pads;
}

Ints spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

// Whether ceil mode makes a window that floor mode would not.
bool ceil_matters(const Pool& op, const Ints& extent, const Shape& y) {
  for (std::size_t i = 0; i < extent.size(); ++i)
    if (y[i + 2] !=
        window_count(extent[i], op.kernel[i], op.strides[i], op.dilations[i], op.pads_begin[i], op.pads_end[i], false))
      return true;
  return false;
}

void write_average(const Pool& op, Scope& s) {
  const Shape &x_shape = s.input(0).shape, &y = s.output(0).shape;
  const Ints extent = spatial_of(x_shape);
  const Value x = s.in(0, floating(s.input(0).format.element));
  const bool ceil = ceil_matters(op, extent, y);
  const bool dilated = std::any_of(op.dilations.begin(), op.dilations.end(), [](std::int64_t d) { return d != 1; });
  if (!dilated && !(ceil && op.count_pads))
    return s.out(0, s.make("AveragePool", {x},
                           {{"kernel_shape", op.kernel},
                            {"strides", op.strides},
                            {"pads", joined(op.pads_begin, op.pads_end)},
                            {"ceil_mode", std::int64_t{ceil}},
                            {"count_include_pad", std::int64_t{op.count_pads}}}));
  const Value sum = s.make("Conv", {x, ones(s, op, x_shape[1], x.element)},
                           {{"strides", op.strides},
                            {"dilations", op.dilations},
                            {"pads", joined(op.pads_begin, overhang(op, extent, y))},
                            {"group", x_shape[1]}});
  s.out(0, s.div(sum, divisors(s, op, extent, y, x.element)));
}

// Positions in the flattened padded image as positions in the flattened image.
Value without_pads(Scope& s, const Value& index, const Ints& extent, const Ints& begin, const Ints& end) {
  const auto constant = [&](std::int64_t v) { return s.scalar(static_cast<double>(v), Element::I64); };
  Value rest = index, position = constant(0);
  std::int64_t stride = 1;
  for (std::size_t i = extent.size(); i-- > 0;) {
    const Value size = constant(extent[i] + begin[i] + end[i]);
    const Value at = s.sub(s.make("Mod", {rest, size}), constant(begin[i]));
    position = s.add(position, s.mul(at, constant(stride)));
    rest = s.div(rest, size);
    stride *= extent[i];
  }
  return s.add(position, s.mul(rest, constant(stride)));
}

void write_max(const Pool& op, Scope& s) {
  const Shape& y = s.output(s.wanted(0) ? 0 : 1).shape;
  const Ints extent = spatial_of(s.input(0).shape);
  bool wide_pads = false;  // pads must be smaller than the kernel there, even where dilation spreads it
  for (std::size_t i = 0; i < extent.size(); ++i) {
    wide_pads = wide_pads || op.pads_begin[i] >= op.kernel[i] || op.pads_end[i] >= op.kernel[i];
    for (std::int64_t o = 0; o < y[i + 2]; ++o)
      if (taps_below(op, i, o, extent[i]) == taps_below(op, i, o, 0))
        s.refuse("a window sees nothing but padding, for which ONNX defines no maximum");
  }
  Value x = s.in(0, floating(s.input(0).format.element));
  Attributes attributes{{"kernel_shape", op.kernel}, {"strides", op.strides}, {"dilations", op.dilations}};
  const Ints end = overhang(op, extent, y);
  if (wide_pads) {
    x = s.pad(x, joined({0, 0}, op.pads_begin), joined({0, 0}, end), -std::numeric_limits<double>::infinity());
  } else {
    attributes.push_back({"pads", joined(op.pads_begin, op.pads_end)});
    attributes.push_back({"ceil_mode", std::int64_t{ceil_matters(op, extent, y)}});
  }
  if (!s.wanted(1)) return s.out(0, s.make("MaxPool", {x}, attributes));
  const std::vector<Value> both = s.make("MaxPool", {x}, attributes, {x.element, Element::I64});
  s.out(0, both[0]);
  s.out(1, wide_pads ? without_pads(s, both[1], extent, op.pads_begin, end) : both[1]);
}

// The graph's own encodings of a maximum's place, as positions in the flattened image.
Value flat_positions(Scope& s, const PoolGradient& op, const Shape& y) {
  const Value index = s.in(1, Element::I64);
  const std::size_t spatial = op.extent.size();
  const std::int64_t plane = elements(op.extent);
  Shape planes = y;
  for (std::size_t i = 0; i < spatial; ++i) planes[i + 2] = 1;
  const auto constant = [&](std::int64_t v) { return s.scalar(static_cast<double>(v), Element::I64); };
  Value position = s.table(planes, Element::I64,
                           [&](std::size_t i) { return static_cast<double>(static_cast<std::int64_t>(i) * plane); });
  if (!op.window_index) return s.add(position, index);
  Value rest = index;
  std::int64_t stride = 1;
  for (std::size_t i = spatial; i-- > 0;) {
    const Value tap = s.make("Mod", {rest, constant(op.kernel[i])});
    rest = s.div(rest, constant(op.kernel[i]));
    Shape line(spatial + 2, 1);
    line[i + 2] = y[i + 2];
    const Value start = s.table(line, Element::I64, [&](std::size_t o) {
      return static_cast<double>((static_cast<std::int64_t>(o) * op.strides[i] - op.pads_begin[i]) * stride);
    });
    position = s.add(position, s.add(start, s.mul(tap, constant(op.dilations[i] * stride))));
    stride *= op.extent[i];
  }
  return position;
}

}  // namespace

void write(const Pool& op, Scope& s) {
  switch (op.kind) {
    case PoolKind::Max: return write_max(op, s);
    case PoolKind::Average: return write_average(op, s);
  }
}

void write(const PoolGradient& op, Scope& s) {
  const Shape &y = s.input(0).shape, &x = s.output(0).shape;
  const Element element = wide(s.input(0).format.element);
  const Value dy = s.in(0, element);
  switch (op.kind) {
    case PoolKind::Max: {
      Value position = s.in_flat_indices(1);
      if (position.name.empty()) position = flat_positions(s, op, y);
      const Value sums = s.make("ScatterElements",
                                {s.filled({elements(x)}, 0, element), s.reshape(position, {-1}), s.reshape(dy, {-1})},
                                {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
      return s.out(0, s.reshape(sums, x));
    }
    case PoolKind::Average: {
      const Value share = s.div(dy, divisors(s, op, op.extent, y, element));
      return s.out(0, spread(s, share, ones(s, op, x[1], element), {}, y, op.kernel, op.strides, op.dilations,
                             op.pads_begin, x[1], op.extent));
    }
  }
}

}  // namespace monet::exporting
