#include "monet/solve/pareto.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "monet/solve/random.h"

namespace monet::solve {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::vector<Objectives> random_points(std::uint64_t seed, std::size_t count, std::size_t objectives, int steps) {
  Random random(seed, 0, 0);
  std::vector<Objectives> points(count, Objectives(objectives));
  for (Objectives& p : points)
    for (double& value : p) value = static_cast<double>(random.below(static_cast<std::uint64_t>(steps)));
  return points;
}

// Cells of a grid of whole numbers that some point dominates.
double counted_volume(const std::vector<Objectives>& points, const Objectives& reference) {
  std::vector<int> cell(reference.size(), 0);
  double count = 0;
  while (true) {
    for (const Objectives& p : points) {
      bool is_covered = true;
      for (std::size_t k = 0; k < cell.size(); ++k) is_covered = is_covered && p[k] <= cell[k];
      if (is_covered) {
        ++count;
        break;
      }
    }
    std::size_t k = 0;
    while (k < cell.size() && ++cell[k] >= static_cast<int>(reference[k])) cell[k++] = 0;
    if (k == cell.size()) return count;
  }
}

TEST(Dominates, NeedsOneBetterAndNoneWorse) {
  EXPECT_TRUE(dominates(Objectives{1, 2}, Objectives{1, 3}));
  EXPECT_FALSE(dominates(Objectives{1, 2}, Objectives{1, 2}));
  EXPECT_FALSE(dominates(Objectives{1, 3}, Objectives{2, 2}));
  EXPECT_TRUE(dominates(Objectives{1, 1}, Objectives{kInfinite, 0}));
  EXPECT_FALSE(dominates(Objectives{kInfinite, 0}, Objectives{1, 1}));
  EXPECT_FALSE(dominates(Objectives{std::nan(""), 0}, Objectives{kInfinite, 1}));
}

TEST(Fronts, AreThoseOfTheDefinition) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<Objectives> points = random_points(seed, 40, 2 + seed % 3, 6);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < points.size(); ++i) {
      bool is_on_front = true;
      for (std::uint32_t j = 0; j < points.size(); ++j)
        is_on_front = is_on_front && !dominates(points[j], points[i]) && !(j < i && points[j] == points[i]);
      if (is_on_front) expected.push_back(i);
    }
    EXPECT_EQ(front_of(points), expected);

    // A point's layer is one behind the last of those that dominate it.
    const auto fronts = sorted_fronts(points);
    std::vector<std::size_t> layer(points.size(), points.size());
    for (std::size_t f = 0; f < fronts.size(); ++f)
      for (const std::uint32_t i : fronts[f]) layer[i] = f;
    for (std::uint32_t i = 0; i < points.size(); ++i) {
      std::size_t behind = 0;
      for (std::uint32_t j = 0; j < points.size(); ++j)
        if (dominates(points[j], points[i])) behind = std::max(behind, layer[j] + 1);
      EXPECT_EQ(layer[i], behind);
    }
  }
}

TEST(Fronts, LeaveOutWhatIsNotFinite) {
  const std::vector<Objectives> points{{kInfinite, 0}, {2, 2}, {std::nan(""), 1}};
  EXPECT_EQ(front_of(points), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(front_of(std::vector<Objectives>{}).empty());
}

TEST(Hypervolume, EqualsTheCellsOfAGrid) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::size_t objectives = 1 + seed % 5;
    const std::vector<Objectives> points = random_points(100 + seed, 1 + seed % 12, objectives, 6);
    const Objectives reference(objectives, 5);
    EXPECT_DOUBLE_EQ(hypervolume(points, reference), counted_volume(points, reference)) << "seed " << seed;
  }
}

TEST(Hypervolume, OfMuchInManyObjectivesIsGivenUp) {
  const std::vector<Objectives> few = random_points(7, 60, 8, 1000), many = random_points(8, 400, 12, 1000);
  EXPECT_GT(hypervolume(few, Objectives(8, 1000)), 0);
  EXPECT_TRUE(std::isnan(hypervolume(many, Objectives(12, 1000))));
  const FrontVolume v = volume_of(many);
  EXPECT_TRUE(std::isnan(v.volume) && std::isnan(v.share));
}

TEST(Hypervolume, CountsNothingBeyondTheReference) {
  EXPECT_EQ(hypervolume(std::vector<Objectives>{{1, 5}, {5, 1}, {kInfinite, 0}}, Objectives{5, 5}), 0);
  EXPECT_EQ(hypervolume(std::vector<Objectives>{}, Objectives{5, 5}), 0);
  EXPECT_DOUBLE_EQ(hypervolume(std::vector<Objectives>{{1, 2}}, Objectives{3, 5}), 6);
}

TEST(Crowding, IsTheSumOfTheSidesOfTheBox) {
  const std::vector<Objectives> points{{0, 4}, {1, 2}, {3, 1}, {4, 0}};
  const std::vector<std::uint32_t> front{0, 1, 2, 3};
  const std::vector<double> distances = crowding_distances(points, front);
  EXPECT_EQ(distances[0], kInfinite);
  EXPECT_EQ(distances[3], kInfinite);
  EXPECT_DOUBLE_EQ(distances[1], 3.0 / 4 + 3.0 / 4);
  EXPECT_DOUBLE_EQ(distances[2], 3.0 / 4 + 2.0 / 4);
}

TEST(Nadir, IsTheWorstOfTheFrontAlone) {
  EXPECT_EQ(nadir_of(std::vector<Objectives>{{0, 4}, {3, 1}, {9, 9}}), (Objectives{3, 4}));
}

}  // namespace
}  // namespace monet::solve
