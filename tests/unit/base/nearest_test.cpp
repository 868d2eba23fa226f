#include "monet/base/nearest.h"

#include <gtest/gtest.h>

namespace monet {
namespace {

using Strings = std::vector<std::string>;

TEST(Nearest, FindsOneSlipOfAnyKind) {
  const Strings names{"weight", "gradient", "activation"};
  EXPECT_EQ(nearest("wight", names), "weight");       // lost
  EXPECT_EQ(nearest("weightt", names), "weight");     // doubled
  EXPECT_EQ(nearest("waight", names), "weight");      // wrong
  EXPECT_EQ(nearest("weihgt", names), "weight");      // swapped
  EXPECT_EQ(nearest("Gradient", names), "gradient");  // case does not count
  EXPECT_EQ(nearest("gradient", names), "gradient");
}

// A third of the characters, rounded down, and at least one.
TEST(Nearest, AllowsAThirdOfTheCharactersToDiffer) {
  EXPECT_EQ(nearest("abcdXY", Strings{"abcdef"}), "abcdef");  // 2 of 6
  EXPECT_EQ(nearest("abcXYZ", Strings{"abcdef"}), "");        // 3 of 6
  EXPECT_EQ(nearest("abX", Strings{"abc"}), "abc");           // 1 of 3
  EXPECT_EQ(nearest("aXY", Strings{"abc"}), "");              // 2 of 3
  EXPECT_EQ(nearest("aX", Strings{"ab"}), "ab");              // 1 of 2
  EXPECT_EQ(nearest("ba", Strings{"ab"}), "ab");              // one swap
}

TEST(Nearest, WantsSomethingInCommon) {
  EXPECT_EQ(nearest("x", Strings{"y"}), "");
  EXPECT_EQ(nearest("x", Strings{"X"}), "X");
  EXPECT_EQ(nearest("xx", Strings{"x"}), "x");
  EXPECT_EQ(nearest("", Strings{"a", ""}), "");
}

TEST(Nearest, TakesTheClosestAndOfEqualOnesTheFirst) {
  EXPECT_EQ(nearest("conv1", Strings{"conv23", "conv2", "conv3"}), "conv2");
  EXPECT_EQ(nearest("conv1", Strings{}), "");
}

TEST(Nearest, GivesUpOnEndlessNames) {
  EXPECT_EQ(nearest(std::string(200, 'a'), Strings{std::string(200, 'a')}), std::string(200, 'a'));
  EXPECT_EQ(nearest(std::string(201, 'a'), Strings{std::string(201, 'a')}), "");
}

TEST(Nearest, Asks) {
  EXPECT_EQ(did_you_mean("relux", Strings{"relu"}), "did you mean 'relu'?");
  EXPECT_EQ(did_you_mean("zzz", Strings{"relu"}), "");
  EXPECT_EQ(did_you_mean("zzz", Strings{"relu"}, "see the list"), "see the list");
}

}  // namespace
}  // namespace monet
