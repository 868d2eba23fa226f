#include "monet/solve/surrogate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace monet::solve {
namespace {

Choices drawn(std::uint64_t seed, const std::vector<std::uint16_t>& choices) {
  Random random(seed, 0, 0);
  return choice_variation(choices).sample(random);
}

TEST(Surrogate, LearnsWhatDecisionsDoAloneAndInPairs) {
  const std::vector<std::uint16_t> choices{2, 3, 2, 2, 4, 2};
  const auto value = [](const Choices& g) {
    return 100.0 + 7 * g[0] - 3.0 * (g[1] == 2) + 5.0 * (g[4] == 3) + 11.0 * (g[2] == 1 && g[4] == 1) -
           6.0 * (g[0] == 1 && g[5] == 1);
  };
  std::vector<Choices> known;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < 150; ++i) {
    known.push_back(drawn(i, choices));
    values.push_back(value(known.back()));
  }
  Surrogate surrogate(choices);
  surrogate.fit(known, values);
  for (std::uint64_t i = 1'000; i < 1'100; ++i)
    EXPECT_NEAR(surrogate.guess(drawn(i, choices)), value(drawn(i, choices)), 0.6) << i;
}

TEST(Surrogate, OfManyDecisionsLooksAtNeighboursOnly) {
  const std::vector<std::uint16_t> choices(60, 2);
  const auto value = [](const Choices& g) {
    double sum = 50;
    for (std::size_t i = 0; i < g.size(); ++i) sum += static_cast<double>(i) * g[i];
    return sum - 40.0 * (g[10] == 1 && g[11] == 1);
  };
  std::vector<Choices> known;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < 400; ++i) {
    known.push_back(drawn(i, choices));
    values.push_back(value(known.back()));
  }
  Surrogate surrogate(choices);
  EXPECT_EQ(surrogate.terms(), 121u);
  surrogate.fit(known, values);
  for (std::uint64_t i = 1'000; i < 1'050; ++i)
    EXPECT_NEAR(surrogate.guess(drawn(i, choices)), value(drawn(i, choices)), 2) << i;
}

TEST(Nearby, KnowsWhatIsMissedAndSpreadsItOverWhatIsAlike) {
  const std::vector<Choices> known{{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 1, 1}};
  const Nearby nearby(known);
  const Nearby::Residual r = nearby.fit({2, -4, 0});
  EXPECT_NEAR(r.size, std::sqrt(20.0 / 3), 1e-12);
  const auto missed = [&](const Choices& genome, double* most = nullptr) {
    std::vector<double> likeness;
    const double m = nearby.likeness(genome, likeness);
    if (most != nullptr) *most = m;
    double sum = 0;
    for (std::size_t i = 0; i < likeness.size(); ++i) sum += likeness[i] * r.weights[i];
    return sum;
  };
  double most = 0;
  EXPECT_NEAR(missed({0, 0, 0, 0}, &most), 2, 0.1);
  EXPECT_EQ(most, 1);
  EXPECT_NEAR(missed({1, 1, 1, 1}), -4, 0.1);
  EXPECT_GT(missed({1, 0, 0, 0}, &most), 0.2);
  EXPECT_LT(most, 1);
  EXPECT_LT(missed({1, 1, 0, 1}), -1);
}

TEST(Surrogate, OfOneValueGuessesThat) {
  Surrogate surrogate({2, 2});
  surrogate.fit(std::vector<Choices>{{0, 1}}, std::vector<double>{42});
  EXPECT_NEAR(surrogate.guess({1, 0}), 42, 1e-6);
}

}  // namespace
}  // namespace monet::solve
