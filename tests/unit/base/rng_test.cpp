#include "monet/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace monet {
namespace {

// The first outputs of SplitMix64 from seed 0, as Vigna's reference program prints them: the state grows by the golden
// ratio each time, so output i is mix(i times the ratio).
TEST(Rng, MixesAsSplitMix64) {
  constexpr std::uint64_t kRatio = 0x9e3779b97f4a7c15ULL;
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mix(kRatio), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(mix(2 * kRatio), 0x06c45d188009454fULL);
}

TEST(Rng, DependsOnSeedStreamAndCounter) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t stream = 0; stream < 10; ++stream)
      for (std::uint64_t counter = 0; counter < 10; ++counter) seen.insert(random_bits(seed, stream, counter));
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Rng, UniformIsUniform) {
  constexpr int kCount = 100000;
  double sum = 0, squares = 0, least = 1, most = 0;
  for (int i = 0; i < kCount; ++i) {
    const double u = random_uniform(1, 2, static_cast<std::uint64_t>(i));
    sum += u, squares += u * u;
    least = std::min(least, u), most = std::max(most, u);
  }
  EXPECT_GE(least, 0.0);
  EXPECT_LT(most, 1.0);
  // Deviations of the mean: sqrt(1/12/n) = 0.0009; five of them.
  EXPECT_NEAR(sum / kCount, 0.5, 0.0046);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.0048);
}

TEST(Rng, NormalIsNormal) {
  constexpr int kCount = 100000;
  double sum = 0, squares = 0;
  int within = 0;
  for (int i = 0; i < kCount; ++i) {
    const double z = random_normal(3, 4, static_cast<std::uint64_t>(i));
    ASSERT_TRUE(std::isfinite(z));
    sum += z, squares += z * z;
    within += std::abs(z) < 1;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.016);
  EXPECT_NEAR(squares / kCount, 1, 0.023);
  EXPECT_NEAR(static_cast<double>(within) / kCount, 0.682689, 0.0075);  // erf(1/sqrt 2)
}

}  // namespace
}  // namespace monet
