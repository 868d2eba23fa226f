// Results of parts of a reduction, put together.
#include "monet/interpret/combine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace monet {
namespace {

using Parts = std::vector<Array<double>>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Array<double> values(std::vector<double> data) { return {{static_cast<std::int64_t>(data.size())}, std::move(data)}; }

Partial<double> combined(CombineKind kind, const std::vector<std::pair<std::int64_t, Parts>>& parts) {
  Partial<double> total;
  for (const auto& [count, part] : parts) combine(Combine{kind, count}, part, total);
  return total;
}

TEST(Combine, SumsAndExtrema) {
  const std::vector<std::pair<std::int64_t, Parts>> parts{{1, {values({1, -5})}}, {2, {values({2, -7})}}};
  EXPECT_EQ(combined(CombineKind::Sum, parts).values[0].data, (std::vector<double>{3, -12}));
  EXPECT_EQ(combined(CombineKind::Max, parts).values[0].data, (std::vector<double>{2, -5}));
  EXPECT_EQ(combined(CombineKind::Min, parts).values[0].data, (std::vector<double>{1, -7}));
  EXPECT_EQ(combined(CombineKind::Sum, parts).count, 3);
}

TEST(Combine, ExtremaKeepWhatIsNoNumber) {
  for (const CombineKind kind : {CombineKind::Max, CombineKind::Min})
    for (const bool first : {false, true}) {
      const Partial<double> total =
          combined(kind, {{1, {values({first ? kNan : 1})}}, {1, {values({first ? 1 : kNan})}}});
      EXPECT_TRUE(std::isnan(total.values[0].data[0]));
    }
}

TEST(Combine, MeansAreWeighedByTheirCounts) {
  const Partial<double> total =
      combined(CombineKind::Mean, {{1, {values({3})}}, {3, {values({7})}}, {4, {values({10})}}});
  EXPECT_DOUBLE_EQ(total.values[0].data[0], (3 + 3 * 7 + 4 * 10) / 8.0);
  EXPECT_EQ(total.count, 8);
}

// Mean, inverse deviation and variance of numbers, by definition.
Parts statistics(const std::vector<double>& x, double epsilon) {
  double mean = 0, variance = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  return {values({mean}), values({1 / std::sqrt(variance + epsilon)}), values({variance})};
}

TEST(Combine, StatisticsOfUnequalParts) {
  const std::vector<double> all{1, 4, 2, 9, -3, 7, 5};
  for (const double epsilon : {0.0, 1e-5, 2.0}) {
    const Partial<double> total = combined(
        CombineKind::Statistics,
        {{2, statistics({1, 4}, epsilon)}, {1, statistics({2}, epsilon)}, {4, statistics({9, -3, 7, 5}, epsilon)}});
    const Parts expected = statistics(all, epsilon);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(total.values[i].data[0], expected[i].data[0], 1e-12) << epsilon;
  }
}

TEST(Combine, StatisticsWithoutAMeanAreOfRootMeanSquares) {
  const auto part = [](double square) { return Parts{{}, values({1 / std::sqrt(square)})}; };
  const Partial<double> total = combined(CombineKind::Statistics, {{1, part(4)}, {3, part(8)}});
  EXPECT_TRUE(total.values[0].data.empty());
  EXPECT_DOUBLE_EQ(total.values[1].data[0], 1 / std::sqrt((4 + 3 * 8) / 4.0));
}

}  // namespace
}  // namespace monet
