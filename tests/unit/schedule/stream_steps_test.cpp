// Are the step functions what a plain list of levels says they are?
#include "monet/schedule/stream_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "monet/base/rng.h"

namespace monet::schedule {
namespace {

// Levels kept as they are, every change applied to all that follow.
struct Levels {
  std::vector<double> times{0}, levels{0};
  void change(double when, double bits) {
    std::size_t i = 0;
    while (i < times.size() && times[i] < when) ++i;
    const bool known = i < times.size() && times[i] == when;
    for (std::size_t j = i; j < levels.size(); ++j) levels[j] += bits;
    if (known) return;
    times.insert(times.begin() + static_cast<std::ptrdiff_t>(i), std::trunc(when));
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(i), levels[i - 1] + bits);
  }
  double highest_from(double when) const {
    double highest = -INFINITY;
    for (std::size_t j = 0; j < times.size(); ++j)
      if (times[j] >= when) highest = std::max(highest, levels[j]);
    return highest;
  }
  std::size_t in_force(double when) const {
    std::size_t i = 0;
    while (i + 1 < times.size() && times[i + 1] <= when) ++i;
    return i;
  }
  double room_from(double bits, double when, double size) const {
    if (when >= times.back()) return when;
    if (levels.back() + bits > size) return times.back();
    double room = when;
    for (std::size_t j = in_force(when); j < times.size(); ++j)
      if (levels[j] + bits > size) room = times[j + 1];
    return room;
  }
};

TEST(UsageSteps, SayWhatAListOfLevelsSays) {
  for (std::uint64_t round = 0; round < 200; ++round) {
    std::uint64_t drawn = 0;
    const auto below = [&](std::uint64_t n) { return static_cast<double>(random_bits(7, round, drawn++) % n); };
    UsageSteps steps;
    Levels levels;
    for (int i = 0; i < 60; ++i) {
      const double when = below(40) + (below(4) == 0 ? 0.5 : 0.0);
      const double bits = below(9) - 3;
      steps.change(when, bits);
      levels.change(when, bits);
      const double at = below(45), size = 5 + below(20);
      ASSERT_EQ(steps.highest_from(at), levels.highest_from(at));
      ASSERT_EQ(steps.level_at(at), levels.levels[levels.in_force(at)]);
      ASSERT_EQ(steps.room_from(3, at, size), levels.room_from(3, at, size));
      ASSERT_EQ(steps.peak(), *std::max_element(levels.levels.begin(), levels.levels.end()));
    }
  }
}

TEST(LinkSteps, FindTheFirstWindowThatIsFreeThroughout) {
  LinkSteps link;
  link.occupy(10, 20, 3);
  link.occupy(15, 30, 4);
  // 0..10: 0, 10..15: 3, 15..20: 7, 20..30: 4
  EXPECT_EQ(link.free_from(0, 10, 0), 0);
  EXPECT_EQ(link.free_from(0, 11, 0), 30);
  EXPECT_EQ(link.free_from(3, 15, 0), 0);
  EXPECT_EQ(link.free_from(3, 16, 0), 30);
  EXPECT_EQ(link.free_from(4, 10, 12), 20);
  EXPECT_EQ(link.free_from(7, 100, 12), 12);
  EXPECT_EQ(link.free_from(-1, 1, 0), INFINITY);
}

}  // namespace
}  // namespace monet::schedule
