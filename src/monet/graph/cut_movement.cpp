// Cutting of operators that only move elements, or make them from nothing.
#include <algorithm>

#include "monet/graph/cut_rules.h"

namespace monet::cutting {
namespace {

Name axis_name(std::size_t i) { return {"A", static_cast<std::int64_t>(i)}; }

}  // namespace

void rule(const View& op, Cutter& c) {
  static constexpr const char* kReshaped =
      "boxes of it are no boxes of what is viewed: follow the elements with regions_through_view";
  const Shape &x = c.in(0), &y = c.out();
  Region read = whole(x), made = whole(y);
  // Axes that stand alone on both sides, but for extents of 1.
  std::vector<std::optional<std::size_t>> partner(y.size());
  for (const AxisGroup& g : matching_axes(x, y)) {
    std::vector<std::size_t> from, to;
    for (std::size_t i = g.from[0]; i < g.from[1]; ++i)
      if (x[i] > 1) from.push_back(i);
    for (std::size_t i = g.to[0]; i < g.to[1]; ++i)
      if (y[i] > 1) to.push_back(i);
    if (from.size() == 1 && to.size() == 1) partner[to[0]] = from[0];
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!partner[i] && y[i] > 1) {
      c.fixed(axis_name(i), y[i], kReshaped);
      continue;
    }
    made.axes[i] = c.parallel(axis_name(i), y[i]);
    if (partner[i]) read.axes[*partner[i]] = made.axes[i];
  }
  View part = op;
  part.shape = shape_of(made);
  c.read(0, std::move(read));
  c.write(0, std::move(made));
  c.become(std::move(part));
}

void rule(const Transpose& op, Cutter& c) {
  const Region made = c.parallel("A", c.out());
  Region read = made;
  for (std::size_t i = 0; i < op.perm.size(); ++i) read.axes[static_cast<std::size_t>(op.perm[i])] = made.axes[i];
  c.read(0, std::move(read));
  c.write(0, made);
  c.become(op);
}

void rule(const Expand& op, Cutter& c) {
  const Region made = c.parallel("A", c.out());
  Expand part = op;
  part.shape = shape_of(made);
  c.read(0, broadcast_part(c.in(0), made));
  c.write(0, made);
  c.become(std::move(part));
}

void rule(const Concat& op, Cutter& c) {
  const Region made = c.parallel("A", c.out());
  const auto axis = static_cast<std::size_t>(op.axis);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    const std::int64_t extent = c.in(i)[axis];
    Region read = made;
    read.axes[axis] = {std::max<std::int64_t>(0, made.axes[axis].begin - offset),
                       std::min(extent, made.axes[axis].end - offset)};
    if (read.axes[axis].size() > 0) c.read(i, std::move(read));
    offset += extent;
  }
  c.write(0, made);
  c.become(op);
}

void rule(const Split& op, Cutter& c) {
  const Region read = c.parallel("A", c.in(0));
  const auto axis = static_cast<std::size_t>(op.axis);
  Split part = op;
  part.sizes.clear();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < op.sizes.size(); ++i) {
    Region made = read;
    made.axes[axis] = {std::max<std::int64_t>(0, read.axes[axis].begin - offset),
                       std::min(op.sizes[i], read.axes[axis].end - offset)};
    if (made.axes[axis].size() > 0) {
      part.sizes.push_back(made.axes[axis].size());
      c.write(i, std::move(made));
    }
    offset += op.sizes[i];
  }
  c.read(0, read);
  c.become(std::move(part));
}

void rule(const Slice& op, Cutter& c) {
  const Region made = c.parallel("A", c.out());
  Region read;
  Slice part = op;
  for (std::size_t i = 0; i < made.axes.size(); ++i) {
    const std::int64_t first = op.starts[i] + (made.axes[i].begin == 0 ? 0 : made.axes[i].begin * op.steps[i]);
    const std::int64_t way = made.axes[i].size() == 1 ? 0 : (made.axes[i].size() - 1) * op.steps[i];
    read.axes.push_back({std::min(first, first + way), std::max(first, first + way) + 1});
    part.starts[i] = first - read.axes[i].begin;
    part.sizes[i] = made.axes[i].size();
  }
  c.read(0, std::move(read));
  c.write(0, made);
  c.become(std::move(part));
}

void rule(const Place& op, Cutter& c) {
  const Shape& x = c.in(0);
  const Region made = c.parallel("A", c.out());
  Region read;
  Place part = op;
  part.shape = shape_of(made);
  for (std::size_t i = 0; i < made.axes.size(); ++i) {
    const Range& to = made.axes[i];
    // Elements i of x that stand at starts + i·steps inside; counted from the lower end.
    const std::int64_t count = x[i], step = count == 1 ? 1 : std::abs(op.steps[i]);
    const std::int64_t low = count > 1 && op.steps[i] < 0 ? op.starts[i] - (count - 1) * step : op.starts[i];
    const std::int64_t from = to.begin <= low ? 0 : std::min(count, (to.begin - low + step - 1) / step);
    const std::int64_t end = to.end <= low ? 0 : std::min(count, (to.end - 1 - low) / step + 1);
    const bool reversed = count > 1 && op.steps[i] < 0;
    const Range placed = reversed ? Range{count - end, count - from} : Range{from, end};
    read.axes.push_back({placed.begin, std::max(placed.begin, placed.end)});
    part.starts[i] = (reversed ? low + (end - 1) * step : low + from * step) - to.begin;
  }
  c.write(0, made);
  if (elements(read) == 0) return c.become(Fill{part.shape, 0, c.first_output().format.element});
  c.read(0, std::move(read));
  c.become(std::move(part));
}

void rule(const Gather& op, Cutter& c) {
  const Shape &data = c.in(0), &indices = c.in(1);
  const Region made = c.parallel("A", c.out());
  const auto axis = made.axes.begin() + op.axis;
  Region read, which{{axis, axis + static_cast<std::ptrdiff_t>(indices.size())}};
  read.axes.assign(made.axes.begin(), axis);
  read.axes.push_back({0, data[static_cast<std::size_t>(op.axis)]});
  read.axes.insert(read.axes.end(), axis + static_cast<std::ptrdiff_t>(indices.size()), made.axes.end());
  c.read(0, std::move(read));
  c.read(1, std::move(which));
  c.write(0, made);
  c.become(op);
}

void rule(const ScatterAdd& op, Cutter& c) {
  const Shape &dy = c.in(0), &indices = c.in(1), &sums = c.out();
  const auto axis = static_cast<std::size_t>(op.axis);
  Region read, which, made;
  for (std::size_t i = 0; i < axis; ++i) {
    made.axes.push_back(c.parallel(axis_name(i), sums[i]));
    read.axes.push_back(made.axes.back());
  }
  const Range entries = c.parallel(axis_name(axis), sums[axis]);
  ScatterAdd part = op;
  if (entries.size() < sums[axis]) {
    part.size = entries.size();
    part.part.whole = {sums[axis]};
    part.part.origin = {entries.begin};
  }
  made.axes.push_back(entries);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    which.axes.push_back(c.reduction({"R", static_cast<std::int64_t>(axis + i)}, indices[i]));
    read.axes.push_back(which.axes.back());
  }
  for (std::size_t i = axis + indices.size(); i < dy.size(); ++i) {
    made.axes.push_back(c.parallel(axis_name(made.axes.size()), dy[i]));
    read.axes.push_back(made.axes.back());
  }
  c.combine(CombineKind::Sum);
  c.read(0, std::move(read));
  c.read(1, std::move(which));
  c.write(0, std::move(made));
  c.become(std::move(part));
}

void rule(const Trilu& op, Cutter& c) {
  const Region made = c.parallel("A", c.out());
  const std::size_t rank = made.axes.size();
  constexpr std::int64_t kFar = std::int64_t{1} << 50;  // beyond every diagonal there is
  Trilu part = op;
  if (!c.is_whole()) part.k = std::clamp(op.k, -kFar, kFar) + made.axes[rank - 2].begin - made.axes[rank - 1].begin;
  c.read(0, made);
  c.write(0, made);
  c.become(part);
}

void rule(const Fill& op, Cutter& c) {
  const Region made = c.parallel("A", c.out());
  Fill part = op;
  part.shape = shape_of(made);
  c.write(0, made);
  c.become(std::move(part));
}

void rule(const Iota& op, Cutter& c) {
  const Region made = c.parallel("A", c.out());
  Iota part = op;
  part.count = made.axes[0].size();
  if (!c.is_whole()) part.part = {{op.count}, {made.axes[0].begin}, {}, {}};
  c.write(0, made);
  c.become(std::move(part));
}

}  // namespace monet::cutting
