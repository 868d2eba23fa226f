// Cutting of matrix products and convolutions. All three convolutions relate positions i of x, outputs o of y and
// kernel points f of w by i = stride·o + dilation·f - pad along each spatial axis; a tile has its own origin on each of
// the three, which moves the pad to pad + i0 - stride·o0 - dilation·f0. Pads may so become negative.
#include <algorithm>

#include "monet/graph/cut_rules.h"

namespace monet::cutting {

namespace {

std::int64_t divide_down(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
std::int64_t divide_up(std::int64_t a, std::int64_t b) { return -divide_down(-a, b); }

}  // namespace

Name spatial_name(char kind, std::size_t axis, std::size_t rank) {
  static constexpr const char* kOut[] = {"OZ", "OY", "OX"};
  static constexpr const char* kIn[] = {"IZ", "IY", "IX"};
  static constexpr const char* kKernel[] = {"FZ", "FY", "FX"};
  return {(kind == 'O' ? kOut : kind == 'I' ? kIn : kKernel)[3 - rank + axis]};
}

bool can_shift(const WindowAxis& a) {
  constexpr std::int64_t kMost = 1 << 24;  // pads that infer() allows
  const std::int64_t reach = a.dilation * (a.kernel - 1) + 1;
  const std::int64_t end = a.stride * (a.outputs - 1) + reach - a.pad;  // one past what the last output reads
  return a.kernel <= kMost && reach + a.stride + std::abs(a.pad) + std::abs(end - a.extent) <= kMost;
}

Range positions_read(const WindowAxis& a, Range o, Range f) {
  const auto position = [&](std::int64_t out, std::int64_t point) {
    return a.stride * out + a.dilation * point - a.pad;
  };
  const std::int64_t lowest = position(o.begin, f.begin), highest = position(o.end - 1, f.end - 1);
  if (lowest >= 0 && highest < a.extent) return {lowest, highest + 1};
  Range read{a.extent, 0};
  // For each step of the shorter of the two, what the other reads inside.
  const bool by_point = f.size() <= o.size();
  const Range outer = by_point ? f : o, inner = by_point ? o : f;
  const std::int64_t outer_step = by_point ? a.dilation : a.stride, step = by_point ? a.stride : a.dilation;
  for (std::int64_t i = outer.begin; i < outer.end; ++i) {
    const std::int64_t base = outer_step * i - a.pad;
    const std::int64_t from = std::max(inner.begin, divide_up(-base, step));
    const std::int64_t last = std::min(inner.end - 1, divide_down(a.extent - 1 - base, step));
    if (from > last) continue;
    read.begin = std::min(read.begin, base + step * from);
    read.end = std::max(read.end, base + step * last + 1);
  }
  if (read.begin < read.end) return read;
  const std::int64_t nearest = std::clamp<std::int64_t>(lowest, 0, a.extent - 1);
  return {nearest, nearest + 1};
}

Range outputs_reading(const WindowAxis& a, Range i, Range f) {
  Range found{a.outputs, 0};
  for (std::int64_t point = f.begin; point < f.end; ++point) {
    const std::int64_t shift = a.pad - a.dilation * point;  // stride·o = i + shift
    const std::int64_t from = std::max<std::int64_t>(0, divide_up(i.begin + shift, a.stride));
    const std::int64_t last = std::min(a.outputs - 1, divide_down(i.end - 1 + shift, a.stride));
    if (from > last) continue;
    found.begin = std::min(found.begin, from);
    found.end = std::max(found.end, last + 1);
  }
  if (found.begin < found.end) return found;
  const std::int64_t nearest =
      std::clamp<std::int64_t>(divide_down(i.begin + a.pad - a.dilation * f.begin, a.stride), 0, a.outputs - 1);
  return {nearest, nearest + 1};
}

Pads pads_of(const WindowAxis& a, Range positions, Range o, Range f) {
  const std::int64_t begin = a.pad + positions.begin - a.stride * o.begin - a.dilation * f.begin;
  return {begin, a.stride * (o.size() - 1) + a.dilation * (f.size() - 1) + 1 - positions.size() - begin};
}

namespace {

// Channels of a range of groups, or of a part of one group; `size` channels each.
Range channels(Range group, Range part, std::int64_t size) {
  if (group.size() > 1) return {group.begin * size, group.end * size};
  return {group.begin * size + part.begin, group.begin * size + part.end};
}

// Regions of the three tensors of a convolution.
struct ConvParts {
  Region x, w, y;
};

// Cuts the spatial axes: loops over outputs (or, for a data gradient, positions), then over kernel points.
void cut_space(const Conv& op, const Shape& x, const Shape& w, const Shape& y, Cutter& c, ConvParts& parts,
               Conv& part) {
  const std::size_t rank = x.size() - 2;
  const bool data = op.kind == ConvKind::DataGradient, weight = op.kind == ConvKind::WeightGradient;
  std::vector<WindowAxis> axes;
  std::vector<Range> outer, points;
  for (std::size_t i = 0; i < rank; ++i) {
    axes.push_back({op.strides[i], op.dilations[i], op.pads_begin[i], x[i + 2], y[i + 2], w[i + 2]});
    const Name name = spatial_name(data ? 'I' : 'O', i, rank);
    const std::int64_t size = data ? x[i + 2] : y[i + 2];
    outer.push_back(!can_shift(axes[i]) ? c.fixed(name, size, kWindowTooLarge)
                    : weight            ? c.reduction(name, size)
                                        : c.parallel(name, size));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const Name name = spatial_name('F', i, rank);
    points.push_back(!can_shift(axes[i]) ? c.fixed(name, w[i + 2], kWindowTooLarge)
                     : weight            ? c.parallel(name, w[i + 2])
                                         : c.reduction(name, w[i + 2]));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    Range positions{0, x[i + 2]}, outputs{0, y[i + 2]};
    if (can_shift(axes[i])) {
      outputs = data ? outputs_reading(axes[i], outer[i], points[i]) : outer[i];
      positions = data ? outer[i] : positions_read(axes[i], outer[i], points[i]);
      const Pads pads = pads_of(axes[i], positions, outputs, points[i]);
      part.pads_begin[i] = pads.begin;
      part.pads_end[i] = pads.end;
    }
    if (op.kind != ConvKind::Forward) part.extent[i] = data ? positions.size() : points[i].size();
    parts.x.axes.push_back(positions);
    parts.w.axes.push_back(points[i]);
    parts.y.axes.push_back(outputs);
  }
}

}  // namespace

void rule(const Conv& op, Cutter& c) {
  const bool data = op.kind == ConvKind::DataGradient, weight = op.kind == ConvKind::WeightGradient;
  const Shape& x = data ? c.out() : c.in(0);
  const Shape& w = weight ? c.out() : c.in(1);
  const Shape& y = data ? c.in(0) : weight ? c.in(1) : c.out();
  const std::int64_t k_size = w[0] / op.groups, c_size = w[1];
  const Range b = weight ? c.reduction({"B"}, x[0]) : c.parallel({"B"}, x[0]);
  const Range g = op.groups > 1 ? c.parallel({"G"}, op.groups) : Range{0, 1};
  const auto channel = [&](const char* name, std::int64_t size, bool reduced) {
    const LoopKind kind = reduced ? LoopKind::Reduction : LoopKind::Parallel;
    if (op.groups > 1) return c.inside(kind, {name}, size, g, "G");
    return reduced ? c.reduction({name}, size) : c.parallel({name}, size);
  };
  const Range k = channel("K", k_size, data), ch = channel("C", c_size, op.kind == ConvKind::Forward);
  const Range of_x = channels(g, ch, c_size), of_y = channels(g, k, k_size);
  ConvParts parts{{{b, of_x}}, {{of_y, ch}}, {{b, of_y}}};
  Conv part = op;
  part.groups = g.size();
  cut_space(op, x, w, y, c, parts, part);
  c.combine(CombineKind::Sum);
  c.read(0, data ? parts.y : parts.x);
  c.read(1, weight ? parts.y : parts.w);
  if (c.is_first()) c.read(2, {{data ? of_x : of_y}});
  c.write(0, data ? parts.x : weight ? parts.w : parts.y);
  c.become(std::move(part));
}

void rule(const MatMul& op, Cutter& c) {
  const Shape &a = c.in(0), &b = c.in(1), &y = c.out();
  const std::size_t rank = y.size();
  const auto extent = [&](const Shape& shape, std::size_t axis) {  // batch axes are aligned at the end
    const std::size_t lead = rank - shape.size();
    return axis < lead ? 1 : shape[axis - lead];
  };
  // The dimensions into which lower merges batch axes: neighbours that broadcast alike.
  struct Batch {
    bool in_a, in_b;
    int axes;
  };
  std::vector<Batch> dimensions;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    const Batch next{extent(a, i) > 1, extent(b, i) > 1, 1};
    if (y[i] == 1) continue;
    if (!dimensions.empty() && dimensions.back().in_a == next.in_a && dimensions.back().in_b == next.in_b)
      ++dimensions.back().axes;
    else
      dimensions.push_back(next);
  }
  Region region;
  std::size_t dimension = 0;
  int inside = 0;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (y[i] == 1) {
      region.axes.push_back({0, 1});
      continue;
    }
    const auto axis = static_cast<std::int64_t>(i);
    const bool merged = dimensions[dimension].axes > 1;
    const Name name = merged           ? Name{"B.", axis}
                      : dimension == 0 ? Name{"B"}
                                       : Name{"B", static_cast<std::int64_t>(dimension + 1)};
    region.axes.push_back(c.parallel(name, y[i]));
    if (++inside == dimensions[dimension].axes) ++dimension, inside = 0;
  }
  const Range rows = c.parallel({"D"}, y[rank - 2]), columns = c.parallel({"K"}, y[rank - 1]);
  const Range inner = c.reduction({"C"}, a[a.size() - (op.trans_a ? 2 : 1)]);
  c.combine(CombineKind::Sum);
  const auto operand = [&](const Shape& shape, Range first, Range second) {
    Region part = broadcast_part(Shape(shape.begin(), shape.end() - 2), region);
    part.axes.insert(part.axes.end(), {first, second});
    return part;
  };
  c.read(0, op.trans_a ? operand(a, inner, rows) : operand(a, rows, inner));
  c.read(1, op.trans_b ? operand(b, columns, inner) : operand(b, inner, columns));
  region.axes.insert(region.axes.end(), {rows, columns});
  if (c.is_first() && c.input(2)) c.read(2, broadcast_part(c.in(2), region));
  c.write(0, std::move(region));
  c.become(op);
}

}  // namespace monet::cutting
