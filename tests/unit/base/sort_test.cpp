#include "monet/base/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "monet/base/rng.h"

namespace monet {
namespace {

struct Timed {
  double time = 0;
  std::uint32_t place = 0;
};

std::vector<Timed> timed(const std::vector<double>& times) {
  std::vector<Timed> out;
  for (const double t : times) out.push_back({t, static_cast<std::uint32_t>(out.size())});
  return out;
}

void expect_as_stable_sort(const std::vector<double>& times) {
  std::vector<Timed> ours = timed(times), theirs = ours;
  sort_by_number(ours, [](const Timed& t) { return t.time; });
  std::stable_sort(theirs.begin(), theirs.end(), [](const Timed& a, const Timed& b) { return a.time < b.time; });
  for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_EQ(ours[i].place, theirs[i].place) << "at " << i;
}

TEST(SortByNumber, OrdersAsAStableSortDoes) {
  expect_as_stable_sort({});
  expect_as_stable_sort({7});
  expect_as_stable_sort({2, 1, 2, 1, 0});
  expect_as_stable_sort(
      {1e300, 0, 5e-324, std::numeric_limits<double>::infinity(), 1, 0.5, 1e-300, 1.0000000000000002});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<double> whole, fractions;
    for (std::uint64_t i = 0; i < 500; ++i) {
      whole.push_back(static_cast<double>(random_bits(seed, 1, i) >> (seed % 2 == 0 ? 60 : 20)));
      fractions.push_back(static_cast<double>(random_bits(seed, 2, i)) * 1e-17);
    }
    expect_as_stable_sort(whole);
    expect_as_stable_sort(fractions);
  }
}

TEST(SortByNumber, TakesNegativeZeroForZero) { expect_as_stable_sort({1, -0.0, 0.0, -0.0}); }

}  // namespace
}  // namespace monet
