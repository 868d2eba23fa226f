#include "monet/solve/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

namespace monet::solve {
namespace {

std::vector<std::vector<std::uint32_t>> chain(std::uint32_t length) {
  std::vector<std::vector<std::uint32_t>> related(length);
  for (std::uint32_t d = 1; d < length; ++d) related[d] = {d - 1};
  return related;
}

Choices drawn(std::uint64_t seed, std::size_t decisions) {
  Random random(seed, 0, 0);
  return choice_variation(std::vector<std::uint16_t>(decisions, 2)).sample(random);
}

TEST(Likeness, IsWholeOfEqualGenomesAndNothingOfOpposites) {
  const Likeness alike(chain(4));
  EXPECT_DOUBLE_EQ(alike({0, 1, 2, 0}, {0, 1, 2, 0}), 1);
  EXPECT_DOUBLE_EQ(alike({0, 0, 0, 0}, {1, 1, 1, 1}), 0);
}

// With a = 0.6: chains of one weigh a, of two a², of three a³, of four a⁴.
TEST(Likeness, CountsChainsOfRelatedDecisionsThatAgree) {
  const double a = 0.6, whole = 4 * a + 3 * a * a + 2 * a * a * a + a * a * a * a;
  const Likeness alike(chain(4));
  EXPECT_NEAR(alike({0, 0, 0, 0}, {1, 0, 0, 0}), (3 * a + 2 * a * a + a * a * a) / whole, 1e-12);
  EXPECT_NEAR(alike({0, 0, 0, 0}, {0, 1, 0, 0}), (3 * a + a * a) / whole, 1e-12);
  // Unrelated decisions are alike one by one.
  const Likeness apart(std::vector<std::vector<std::uint32_t>>(4));
  EXPECT_NEAR(apart({0, 0, 0, 0}, {0, 1, 0, 0}), 0.75, 1e-12);
}

TEST(Likeness, SharesAmongSeveralRelatedOnes) {
  const double a = 0.6;
  const Likeness alike({{}, {}, {0, 1}});
  // 0 and 1 alone, 2 alone, and half of each chain into 2.
  EXPECT_NEAR(alike({0, 0, 0}, {1, 0, 0}), (2 * a + a * a / 2) / (3 * a + a * a), 1e-12);
}

TEST(Likeness, IsHalvedByAnAxisThatDiffers) {
  const Likeness alike(chain(2), 2);
  EXPECT_DOUBLE_EQ(alike({0, 1, 2, 3}, {0, 1, 2, 3}), 1);
  EXPECT_DOUBLE_EQ(alike({0, 1, 2, 3}, {0, 1, 1, 3}), 0.5);
  EXPECT_DOUBLE_EQ(alike({0, 1, 2, 3}, {0, 1, 1, 0}), 0.25);
}

// A run of forgotten activations costs what none of them does: what surrogates without chains do not see.
TEST(GaussianProcess, LearnsWhatRunsOfDecisionsDoTogether) {
  const auto value = [](const Choices& g) {
    double longest = 0, run = 0, sum = 100;
    for (const std::uint16_t c : g) {
      run = c == 1 ? run + 1 : 0;
      longest = std::max(longest, run);
      sum += 3 * c;
    }
    return sum + 5 * longest;
  };
  std::vector<Choices> known;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < 120; ++i) {
    known.push_back(drawn(i, 9));
    values.push_back(value(known.back()));
  }
  const auto missed = [&](const Likeness& likeness) {
    const GaussianProcess process(likeness, known);
    const GaussianProcess::Fit fit = process.fit(values);
    double square = 0;
    for (std::uint64_t i = 1'000; i < 1'200; ++i) {
      const Choices g = drawn(i, 9);
      const double miss = fit.guess(process.likenesses(g)) - value(g);
      square += miss * miss / 200;
    }
    return std::sqrt(square);
  };
  const double by_chains = missed(Likeness(chain(9)));
  const double one_by_one = missed(Likeness(std::vector<std::vector<std::uint32_t>>(9)));
  EXPECT_LT(by_chains, 2.5);
  EXPECT_LT(by_chains, 0.6 * one_by_one);
}

TEST(GaussianProcess, KnowsWhatItWasToldAndDoubtsTheRest) {
  const Likeness alike(chain(4));
  const std::vector<Choices> known{{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 1, 1}};
  const GaussianProcess process(alike, known);
  const GaussianProcess::Fit fit = process.fit({2, -4, 0});
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::vector<double> row = process.likenesses(known[i]);
    EXPECT_NEAR(fit.guess(row), std::vector<double>({2, -4, 0})[i], 0.01);
    EXPECT_LT(process.doubt(row), 0.02);
    EXPECT_EQ(GaussianProcess::most_doubt(row), 0);
  }
  for (const Choices& other : std::vector<Choices>{{1, 0, 0, 0}, {0, 1, 0, 1}, {1, 1, 0, 0}}) {
    const std::vector<double> row = process.likenesses(other);
    EXPECT_GT(process.doubt(row), 0.1);
    EXPECT_LE(process.doubt(row), GaussianProcess::most_doubt(row) + 1e-3);
  }
  EXPECT_GT(fit.size, 1);
}

TEST(GaussianProcess, OfOneValueGuessesThat) {
  const Likeness alike(chain(2));
  const GaussianProcess process(alike, {{0, 1}});
  EXPECT_NEAR(process.fit({42}).guess(process.likenesses({1, 0})), 42, 1e-9);
}

}  // namespace
}  // namespace monet::solve
