#include "monet/graph/region.h"

#include <algorithm>

#include "monet/base/assert.h"

namespace monet {

Region whole(const Shape& shape) {
  Region region;
  region.axes.reserve(shape.size());
  for (const std::int64_t extent : shape) region.axes.push_back({0, extent});
  return region;
}

Shape shape_of(const Region& region) {
  Shape shape;
  shape.reserve(region.axes.size());
  for (const Range& r : region.axes) shape.push_back(r.size());
  return shape;
}

std::int64_t elements(const Region& region) {
  std::int64_t product = 1;
  for (const Range& r : region.axes) product *= std::max<std::int64_t>(0, r.size());
  return product;
}

bool contains(const Region& outer, const Region& inner) {
  if (elements(inner) == 0) return true;
  if (outer.axes.size() != inner.axes.size()) return false;
  for (std::size_t i = 0; i < outer.axes.size(); ++i)
    if (inner.axes[i].begin < outer.axes[i].begin || inner.axes[i].end > outer.axes[i].end) return false;
  return true;
}

Region intersection(const Region& a, const Region& b) {
  MONET_ASSERT(a.axes.size() == b.axes.size(), "boxes of the same tensor");
  Region shared;
  shared.axes.reserve(a.axes.size());
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const std::int64_t begin = std::max(a.axes[i].begin, b.axes[i].begin);
    shared.axes.push_back({begin, std::max(begin, std::min(a.axes[i].end, b.axes[i].end))});
  }
  return shared;
}

Region broadcast_part(const Shape& shape, const Region& region) {
  MONET_ASSERT(shape.size() <= region.axes.size(), "an operand has no more axes than the result");
  const std::size_t missing = region.axes.size() - shape.size();
  Region part;
  part.axes.reserve(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    part.axes.push_back(shape[i] == 1 ? Range{0, 1} : region.axes[missing + i]);
  return part;
}

std::vector<AxisGroup> matching_axes(const Shape& from, const Shape& to) {
  MONET_ASSERT(elements(from) == elements(to), "a view keeps its elements");
  std::vector<AxisGroup> groups;
  std::size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    AxisGroup group{{f, f}, {t, t}};
    std::int64_t left = 1, right = 1;
    do {
      if (f < from.size() && (left <= right || t == to.size()))
        left *= from[f++];
      else
        right *= to[t++];
    } while (left != right);
    // A group of ones alone hangs on the one before it; so do ones that follow.
    while (f < from.size() && from[f] == 1) ++f;
    while (t < to.size() && to[t] == 1) ++t;
    group.from[1] = f, group.to[1] = t;
    if (left == 1 && !groups.empty())
      groups.back().from[1] = f, groups.back().to[1] = t;
    else
      groups.push_back(group);
  }
  return groups;
}

namespace {

constexpr std::int64_t kMostRuns = std::int64_t{1} << 16;

// Appends the boxes of `shape` that hold the flat positions [begin, end): the rest of a row, whole rows, the start of
// a row, and so for each axis inwards.
void append_run(const Shape& shape, std::int64_t begin, std::int64_t end, std::size_t axis, std::vector<Range>& prefix,
                std::vector<Region>& boxes) {
  if (begin >= end) return;
  const auto emit = [&] {
    Region box{prefix};
    for (std::size_t i = box.axes.size(); i < shape.size(); ++i) box.axes.push_back({0, shape[i]});
    boxes.push_back(std::move(box));
  };
  if (axis == shape.size()) return emit();
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const auto inside = [&](std::int64_t row, std::int64_t from, std::int64_t to) {
    prefix.push_back({row, row + 1});
    append_run(shape, from, to, axis + 1, prefix, boxes);
    prefix.pop_back();
  };
  std::int64_t first = begin / inner;
  const std::int64_t last = end / inner;
  if (first == last) return inside(first, begin % inner, end % inner);
  if (begin % inner != 0) inside(first++, begin % inner, inner);
  if (first < last) {
    prefix.push_back({first, last});
    emit();
    prefix.pop_back();
  }
  if (end % inner != 0) inside(last, 0, end % inner);
}

// Whether two boxes are one when put together along one axis; then `a` becomes it.
bool merge(Region& a, const Region& b) {
  std::size_t differing = a.axes.size();
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    if (a.axes[i] == b.axes[i]) continue;
    if (differing != a.axes.size() || a.axes[i].end != b.axes[i].begin) return false;
    differing = i;
  }
  if (differing == a.axes.size()) return false;
  a.axes[differing].end = b.axes[differing].end;
  return true;
}

// Runs of neighbouring flat positions that a box of `shape` consists of.
struct Runs {
  std::int64_t length = 1, count = 1;
  std::size_t outer = 0;  // axes before this one step from run to run
};
Runs runs_of(const Shape& shape, const Region& box) {
  Runs runs;
  std::size_t axis = shape.size();
  for (bool full = true; axis > 0 && full; --axis) {
    runs.length *= box.axes[axis - 1].size();
    full = box.axes[axis - 1].size() == shape[axis - 1];
  }
  runs.outer = axis;
  for (std::size_t i = 0; i < axis; ++i) runs.count *= box.axes[i].size();
  return runs;
}

// Calls f(first flat position) for each run.
template <class F>
void for_each_run(const Shape& shape, const Region& box, const Runs& runs, F&& f) {
  Ints at;
  for (const Range& r : box.axes) at.push_back(r.begin);
  for (;;) {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + at[i];
    f(flat);
    std::size_t d = runs.outer;
    for (; d > 0; --d) {
      if (++at[d - 1] < box.axes[d - 1].end) break;
      at[d - 1] = box.axes[d - 1].begin;
    }
    if (d == 0) return;
  }
}

Region around(const std::vector<Region>& boxes) {
  Region hull = boxes.front();
  for (const Region& box : boxes)
    for (std::size_t i = 0; i < hull.axes.size(); ++i) {
      hull.axes[i].begin = std::min(hull.axes[i].begin, box.axes[i].begin);
      hull.axes[i].end = std::max(hull.axes[i].end, box.axes[i].end);
    }
  return hull;
}

struct Cover {
  std::vector<Region> boxes;
  bool exact = true;
  bool operator<(const Cover& other) const { return boxes.size() < other.boxes.size(); }
};

void simplify(Cover& cover) {
  cover.boxes = {around(cover.boxes)};
  cover.exact = false;
}

// Boxes of one group of axes.
Cover cover_of(const Shape& from, const Shape& to, const Region& box, std::size_t most) {
  Cover cover;
  const Runs runs = runs_of(to, box);
  std::vector<Range> prefix;
  if (runs.count > kMostRuns) {  // everything between the first and the last
    std::int64_t first = 0, last = 0;
    for (std::size_t i = 0; i < to.size(); ++i) {
      first = first * to[i] + box.axes[i].begin;
      last = last * to[i] + box.axes[i].end - 1;
    }
    append_run(from, first, last + 1, 0, prefix, cover.boxes);
    simplify(cover);
    return cover;
  }
  std::vector<Region> run;
  for_each_run(to, box, runs, [&](std::int64_t first) {
    run.clear();
    append_run(from, first, first + runs.length, 0, prefix, run);
    for (Region& next : run)
      if (cover.boxes.empty() || !merge(cover.boxes.back(), next)) cover.boxes.push_back(std::move(next));
    while (cover.boxes.size() > 1 && merge(cover.boxes[cover.boxes.size() - 2], cover.boxes.back()))
      cover.boxes.pop_back();
    if (cover.boxes.size() > most) simplify(cover);
  });
  if (!cover.exact) simplify(cover);
  return cover;
}

}  // namespace

ViewRegions regions_through_view(const Shape& from, const Shape& to, const Region& region, std::size_t most) {
  MONET_ASSERT(contains(whole(to), region) && most > 0, "a box of what the view shows");
  ViewRegions result;
  if (elements(region) == 0) return result;
  std::vector<Cover> covers;
  for (const AxisGroup& g : matching_axes(from, to)) {
    const auto part = [](const auto& list, const std::size_t(&axes)[2]) {
      return std::decay_t<decltype(list)>(list.begin() + static_cast<std::ptrdiff_t>(axes[0]),
                                          list.begin() + static_cast<std::ptrdiff_t>(axes[1]));
    };
    covers.push_back(cover_of(part(from, g.from), part(to, g.to), Region{part(region.axes, g.to)}, most));
  }
  const auto total = [&] {
    std::size_t product = 1;
    for (const Cover& c : covers) product = std::min(product, most + 1) * c.boxes.size();
    return product;
  };
  while (total() > most) simplify(*std::max_element(covers.begin(), covers.end()));
  result.boxes = {Region{}};
  for (const Cover& cover : covers) {
    std::vector<Region> longer;
    for (const Region& head : result.boxes)
      for (const Region& tail : cover.boxes) {
        longer.push_back(head);
        longer.back().axes.insert(longer.back().axes.end(), tail.axes.begin(), tail.axes.end());
      }
    result.boxes = std::move(longer);
    result.exact = result.exact && cover.exact;
  }
  return result;
}

}  // namespace monet
