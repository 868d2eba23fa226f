#pragma once
#include <cstdint>
#include <vector>

#include "monet/graph/graph.h"

namespace monet {

// Positions begin … end-1 along one axis or loop.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// A box of a tensor, in the tensor's own axes. That of a scalar has no axes and one element.
struct Region {
  std::vector<Range> axes;
  bool operator==(const Region&) const = default;
};

Region whole(const Shape& shape);
Shape shape_of(const Region& region);
std::int64_t elements(const Region& region);  // 0 if any axis is empty
bool contains(const Region& outer, const Region& inner);
// What two boxes of the same rank share; axes without anything in common come out empty.
Region intersection(const Region& a, const Region& b);
// The part of an operand of `shape` that broadcasts to `region` of a result: axes are aligned at the end.
Region broadcast_part(const Shape& shape, const Region& region);

// Axes from[0], … from[1]-1 of one shape that hold the same elements as axes to[0], … to[1]-1 of another, in row-major
// order; as few axes together as there can be. Axes of extent 1 at the end belong to the last group.
struct AxisGroup {
  std::size_t from[2] = {0, 0}, to[2] = {0, 0};
};
std::vector<AxisGroup> matching_axes(const Shape& from, const Shape& to);

// Boxes of `from` that together hold the elements which a view shows as `region` of `to`; none overlap. `exact`: they
// hold nothing else. That may take many boxes; where it takes more than `most`, groups of axes are covered by one box
// each instead (the smallest there is, up to 2^16 runs of elements).
struct ViewRegions {
  std::vector<Region> boxes;
  bool exact = true;
};
ViewRegions regions_through_view(const Shape& from, const Shape& to, const Region& region, std::size_t most = 64);

}  // namespace monet
