// Cutting of poolings, im2col, local response normalisation and paddings.
#include <algorithm>

#include "monet/graph/cut_rules.h"

namespace monet::cutting {
namespace {

Ints begins(const std::vector<Range>& ranges, std::size_t from = 0) {
  Ints list;
  for (std::size_t i = from; i < ranges.size(); ++i) list.push_back(ranges[i].begin);
  return list;
}
Ints sizes(const std::vector<Range>& ranges, std::size_t from = 0) {
  Ints list;
  for (std::size_t i = from; i < ranges.size(); ++i) list.push_back(ranges[i].size());
  return list;
}
Ints spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

template <class WindowOp>
WindowAxis axis_of(const WindowOp& op, std::size_t i, std::int64_t extent, std::int64_t outputs) {
  return {op.strides[i], op.dilations[i], op.pads_begin[i], extent, outputs, op.kernel[i]};
}

// Channels of x that channels `made` of a normalisation over windows of channels read, `before` and `after` each.
Range with_neighbours(Range made, std::int64_t before, std::int64_t after, std::int64_t channels) {
  before = std::min(before, channels), after = std::min(after, channels);
  return {std::max<std::int64_t>(0, made.begin - before), std::min(channels, made.end + after)};
}

template <class LrnOp>
void cut_lrn(const LrnOp& op, std::int64_t before, std::int64_t after, Cutter& c) {
  const Region made = c.parallel("A", c.out());
  Region read = made;
  read.axes[1] = with_neighbours(made.axes[1], before, after, c.out()[1]);
  for (std::size_t i = 0; i < c.inputs(); ++i) c.read(i, read);
  LrnOp part = op;
  if (read.axes[1] != made.axes[1])
    part.part = {{}, {made.axes[1].begin - read.axes[1].begin}, {}, {made.axes[1].size()}};
  c.write(0, made);
  c.become(part);
}

// The elements along one axis that positions `made` of a padded axis copy; empty if they copy none.
Range copied(PadMode mode, std::int64_t extent, std::int64_t begin, Range made) {
  const std::int64_t first = made.begin - begin, last = made.end - 1 - begin;  // of the unpadded axis
  switch (mode) {
    case PadMode::Constant: {
      const std::int64_t from = std::clamp<std::int64_t>(first, 0, extent);
      return {from, std::max(from, std::min(extent, last + 1))};
    }
    case PadMode::Edge:
      return {std::clamp<std::int64_t>(first, 0, extent - 1), std::clamp<std::int64_t>(last, 0, extent - 1) + 1};
    case PadMode::Reflect: {
      Range read{extent, 0};
      const auto take = [&](std::int64_t from, std::int64_t to) {  // both included
        read = {std::min(read.begin, from), std::max(read.end, to + 1)};
      };
      if (first < 0) take(-std::min<std::int64_t>(last, -1), -first);
      if (last >= 0 && first < extent) take(std::max<std::int64_t>(first, 0), std::min(last, extent - 1));
      if (last >= extent) take(2 * (extent - 1) - last, 2 * (extent - 1) - std::max(first, extent));
      return read;
    }
  }
  return {};
}

// The positions of the padded axis that copy elements `made`.
Range copies(PadMode mode, std::int64_t extent, std::int64_t begin, std::int64_t end, Range made) {
  Range found{made.begin + begin, made.end + begin};
  const auto take = [&](std::int64_t from, std::int64_t to) {  // both included
    if (from <= to) found = {std::min(found.begin, from), std::max(found.end, to + 1)};
  };
  switch (mode) {
    case PadMode::Constant: return {std::max<std::int64_t>(0, found.begin), std::min(extent + begin + end, found.end)};
    case PadMode::Edge:
      if (made.begin == 0) found.begin = 0;
      if (made.end == extent) found.end = extent + begin + end;
      return found;
    case PadMode::Reflect: {
      take(begin - std::min(made.end - 1, begin), begin - std::max<std::int64_t>(made.begin, 1));
      const std::int64_t mirror = begin + 2 * (extent - 1);
      take(mirror - std::min(made.end - 1, extent - 2), mirror - std::max(made.begin, extent - 1 - end));
      return found;
    }
  }
  return found;
}

}  // namespace

void rule(const Pool& op, Cutter& c) {
  const Shape &x = c.in(0), &y = c.out();
  const Region made = c.parallel("A", y);
  Region read{{made.axes[0], made.axes[1]}};
  for (std::size_t i = 0; i < op.kernel.size(); ++i)
    read.axes.push_back(positions_read(axis_of(op, i, x[i + 2], y[i + 2]), made.axes[i + 2], {0, op.kernel[i]}));
  Pool part = op;
  if (sizes(read.axes, 2) != spatial_of(x) || sizes(made.axes, 2) != spatial_of(y))
    part.part = {spatial_of(x), begins(read.axes, 2), begins(made.axes, 2), sizes(made.axes, 2)};
  c.read(0, std::move(read));
  c.write_all(made);
  c.become(std::move(part));
}

void rule(const PoolGradient& op, Cutter& c) {
  const Shape &dy = c.in(0), &dx = c.out();
  const Region made = c.parallel("A", dx);
  Region read{{made.axes[0], made.axes[1]}};
  for (std::size_t i = 0; i < op.kernel.size(); ++i)
    read.axes.push_back(outputs_reading(axis_of(op, i, dx[i + 2], dy[i + 2]), made.axes[i + 2], {0, op.kernel[i]}));
  PoolGradient part = op;
  part.extent = sizes(made.axes, 2);
  if (part.extent != spatial_of(dx) || sizes(read.axes, 2) != spatial_of(dy))
    part.part = {spatial_of(dx), begins(made.axes, 2), begins(read.axes, 2), {}};
  c.read(0, read);
  c.read(1, read);
  c.write(0, made);
  c.become(std::move(part));
}

// The result is [N, C·F, O]: only the outermost of what is merged into one axis can be cut so that boxes stay boxes.
void rule(const Unfold& op, Cutter& c) {
  static constexpr const char* kMerged = "it lies inside an axis of the result that is cut further out";
  const Shape& x = c.in(0);
  const std::size_t rank = op.kernel.size();
  Unfold part = op;
  const Range b = c.parallel({"B"}, x[0]), channels = c.parallel({"C"}, x[1]);
  Region read{{b, channels}};
  Range o{0, 1};
  bool outermost = true;
  for (std::size_t i = 0; i < rank; ++i) {
    WindowAxis axis = axis_of(op, i, x[i + 2], 1);
    axis.outputs =
        (x[i + 2] + op.pads_begin[i] + op.pads_end[i] - op.dilations[i] * (op.kernel[i] - 1) - 1) / op.strides[i] + 1;
    const Name name = spatial_name('O', i, rank);
    const bool shifts = can_shift(axis);
    const Range range = !shifts     ? c.fixed(name, axis.outputs, kWindowTooLarge)
                        : outermost ? c.parallel(name, axis.outputs)
                                    : c.fixed(name, axis.outputs, kMerged);
    outermost = outermost && axis.outputs == 1;
    o = {o.begin * axis.outputs + range.begin, (o.end - 1) * axis.outputs + range.end};
    if (!shifts) {
      read.axes.push_back({0, x[i + 2]});
      continue;
    }
    read.axes.push_back(positions_read(axis, range, {0, op.kernel[i]}));
    const Pads pads = pads_of(axis, read.axes.back(), range, {0, op.kernel[i]});
    part.pads_begin[i] = pads.begin;
    part.pads_end[i] = pads.end;
  }
  for (std::size_t i = 0; i < rank; ++i) c.fixed(spatial_name('F', i, rank), op.kernel[i], kMerged);
  const std::int64_t points = elements(op.kernel);
  c.read(0, std::move(read));
  c.write(0, {{b, {channels.begin * points, channels.end * points}, o}});
  c.become(std::move(part));
}

void rule(const Lrn& op, Cutter& c) { cut_lrn(op, (op.size - 1) / 2, op.size / 2, c); }

// dx needs dy and the denominators of all whose window holds it, and these in turn their whole windows.
void rule(const LrnGradient& op, Cutter& c) { cut_lrn(op, op.size - 1, op.size - 1, c); }

void rule(const Pad& op, Cutter& c) {
  const Shape& x = c.in(0);
  const Region made = c.parallel("A", c.out());
  Region read;
  for (std::size_t i = 0; i < x.size(); ++i) read.axes.push_back(copied(op.mode, x[i], op.begin[i], made.axes[i]));
  c.write(0, made);
  if (elements(read) == 0) return c.become(Fill{shape_of(made), op.value, c.first_output().format.element});
  Pad part = op;
  if (!c.is_whole() || read != whole(x)) part.part = {x, begins(read.axes), begins(made.axes), sizes(made.axes)};
  c.read(0, std::move(read));
  c.become(std::move(part));
}

void rule(const PadGradient& op, Cutter& c) {
  const Shape& dx = c.out();
  const Region made = c.parallel("A", dx);
  Region read;
  for (std::size_t i = 0; i < dx.size(); ++i)
    read.axes.push_back(copies(op.mode, dx[i], op.begin[i], op.end[i], made.axes[i]));
  c.write(0, made);
  if (elements(read) == 0) return c.become(Fill{shape_of(made), 0, c.first_output().format.element});
  PadGradient part = op;
  if (!c.is_whole() || read != whole(c.in(0))) part.part = {dx, begins(made.axes), begins(read.axes), sizes(made.axes)};
  c.read(0, std::move(read));
  c.become(std::move(part));
}

}  // namespace monet::cutting
