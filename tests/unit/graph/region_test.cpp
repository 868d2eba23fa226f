// Boxes of tensors, and what a view makes of them.
#include "monet/graph/region.h"

#include <gtest/gtest.h>

#include <set>

namespace monet {
namespace {

Region box(std::vector<Range> axes) { return {std::move(axes)}; }

TEST(Region, CountsItsElements) {
  EXPECT_EQ(elements(Region{}), 1);  // of a scalar
  EXPECT_EQ(elements(box({{1, 4}, {2, 4}})), 6);
  EXPECT_EQ(elements(box({{1, 4}, {2, 2}})), 0);
  EXPECT_EQ(shape_of(box({{1, 4}, {2, 4}})), (Shape{3, 2}));
  EXPECT_EQ(whole({3, 2}), box({{0, 3}, {0, 2}}));
}

TEST(Region, ContainsUpToItsEnds) {
  EXPECT_TRUE(contains(box({{1, 4}}), box({{1, 4}})));
  EXPECT_FALSE(contains(box({{1, 4}}), box({{0, 4}})));
  EXPECT_FALSE(contains(box({{1, 4}}), box({{1, 5}})));
  EXPECT_TRUE(contains(box({{1, 4}}), box({{7, 7}})));  // nothing is in everything
  EXPECT_FALSE(contains(box({{0, 4}}), box({{0, 4}, {0, 1}})));
}

TEST(Region, SharesWhatBothHold) {
  EXPECT_EQ(intersection(box({{0, 5}, {2, 6}}), box({{3, 9}, {0, 4}})), box({{3, 5}, {2, 4}}));
  EXPECT_EQ(elements(intersection(box({{0, 3}}), box({{3, 9}}))), 0);
  EXPECT_EQ(elements(intersection(box({{5, 6}}), box({{0, 2}}))), 0);
}

TEST(Region, OfAnOperandThatBroadcasts) {
  const Region region = box({{1, 2}, {3, 5}, {0, 4}});
  EXPECT_EQ(broadcast_part({2, 6, 4}, region), region);
  EXPECT_EQ(broadcast_part({6, 1}, region), box({{3, 5}, {0, 1}}));
  EXPECT_EQ(broadcast_part({}, region), Region{});
}

std::string groups(const Shape& from, const Shape& to) {
  std::string text;
  for (const AxisGroup& g : matching_axes(from, to))
    text += std::to_string(g.from[0]) + "-" + std::to_string(g.from[1]) + ":" + std::to_string(g.to[0]) + "-" +
            std::to_string(g.to[1]) + " ";
  return text;
}

TEST(Region, AxesThatAViewKeepsTogether) {
  EXPECT_EQ(groups({4, 6}, {4, 6}), "0-1:0-1 1-2:1-2 ");
  EXPECT_EQ(groups({4, 6}, {4, 2, 3}), "0-1:0-1 1-2:1-3 ");
  EXPECT_EQ(groups({2, 3, 5}, {6, 5}), "0-2:0-1 2-3:1-2 ");
  EXPECT_EQ(groups({4, 6}, {6, 4}), "0-2:0-2 ");
  EXPECT_EQ(groups({}, {1, 1}), "0-0:0-2 ");
  EXPECT_EQ(groups({1, 4, 1}, {4}), "0-1:0-0 1-3:0-1 ");
}

// All flat positions of a box.
std::set<std::int64_t> positions(const Shape& shape, const Region& region) {
  std::set<std::int64_t> flat;
  const std::int64_t all = elements(shape);
  for (std::int64_t i = 0; i < all; ++i) {
    std::int64_t rest = i;
    bool inside = true;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
      inside = inside && rest % shape[d] >= region.axes[d].begin && rest % shape[d] < region.axes[d].end;
    if (inside) flat.insert(i);
  }
  return flat;
}

// Every box of `to`, and the boxes of `from` it comes to.
void expect_exact(const Shape& from, const Shape& to) {
  std::vector<Region> boxes{Region{}};
  for (const std::int64_t extent : to) {
    std::vector<Region> longer;
    for (const Region& head : boxes)
      for (std::int64_t a = 0; a < extent; ++a)
        for (std::int64_t b = a + 1; b <= extent; ++b) {
          longer.push_back(head);
          longer.back().axes.push_back({a, b});
        }
    boxes = std::move(longer);
  }
  for (const Region& region : boxes) {
    const ViewRegions found = regions_through_view(from, to, region);
    const std::set<std::int64_t> wanted = positions(to, region);
    std::set<std::int64_t> held;
    std::size_t count = 0;
    for (const Region& b : found.boxes) {
      ASSERT_TRUE(contains(whole(from), b));
      const std::set<std::int64_t> part = positions(from, b);
      count += part.size();
      held.insert(part.begin(), part.end());
    }
    ASSERT_EQ(held, wanted);
    ASSERT_EQ(count, wanted.size()) << "boxes overlap";
    ASSERT_TRUE(found.exact);
    // One box is enough for one box where there is one.
    const ViewRegions one = regions_through_view(from, to, region, 1);
    ASSERT_EQ(one.boxes.size(), 1u);
    ASSERT_EQ(one.exact, positions(from, one.boxes[0]) == wanted);
    for (const std::int64_t p : wanted) ASSERT_TRUE(positions(from, one.boxes[0]).contains(p));
    for (std::size_t d = 0; d < from.size(); ++d) {  // and it is the smallest: something stands at each end
      bool low = false, high = false;
      std::int64_t inner = 1;
      for (std::size_t i = d + 1; i < from.size(); ++i) inner *= from[i];
      for (const std::int64_t p : wanted) {
        low = low || p / inner % from[d] == one.boxes[0].axes[d].begin;
        high = high || p / inner % from[d] == one.boxes[0].axes[d].end - 1;
      }
      ASSERT_TRUE(low && high);
    }
  }
}

TEST(RegionsThroughView, HoldWhatIsShownAndNothingElse) {
  expect_exact({4, 6}, {4, 6});
  expect_exact({4, 6}, {4, 2, 3});
  expect_exact({2, 3, 4}, {6, 4});
  expect_exact({4, 6}, {6, 4});
  expect_exact({12}, {2, 3, 2});
  expect_exact({2, 3, 2}, {12});
  expect_exact({3, 2, 2}, {2, 6});
  expect_exact({1, 6, 1}, {3, 1, 2});
}

TEST(RegionsThroughView, KeepsWholeRowsAsOneBox) {
  // channels 2 to 4 of an image, flattened
  EXPECT_EQ(regions_through_view({2, 60}, {2, 5, 12}, box({{0, 2}, {2, 4}, {0, 12}})).boxes,
            std::vector<Region>{box({{0, 2}, {24, 48}})});
  // heads of a projection
  EXPECT_EQ(regions_through_view({8, 64}, {8, 4, 16}, box({{2, 3}, {1, 2}, {0, 16}})).boxes,
            std::vector<Region>{box({{2, 3}, {16, 32}})});
}

TEST(RegionsThroughView, CoversWithOneBoxWhereExactnessTakesTooMany) {
  // 1000 columns, each a run of its own
  const ViewRegions found = regions_through_view({100000}, {1000, 100}, box({{0, 1000}, {3, 5}}), 64);
  EXPECT_FALSE(found.exact);
  EXPECT_EQ(found.boxes, std::vector<Region>{box({{3, 99905}})});
  // and so many that they are not looked at one by one
  const std::int64_t many = std::int64_t{1} << 30;
  const ViewRegions large = regions_through_view({many * 4}, {many, 4}, box({{0, many}, {1, 2}}));
  EXPECT_FALSE(large.exact);
  EXPECT_EQ(large.boxes, std::vector<Region>{box({{1, many * 4 - 2}})});
}

TEST(RegionsThroughView, OfNothingIsNothing) {
  EXPECT_TRUE(regions_through_view({4}, {2, 2}, box({{1, 1}, {0, 2}})).boxes.empty());
  EXPECT_EQ(regions_through_view({}, {1}, box({{0, 1}})).boxes, std::vector<Region>{Region{}});
}

}  // namespace
}  // namespace monet
