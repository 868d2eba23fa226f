#include "monet/base/watch.h"

#include <gtest/gtest.h>

#include <thread>

namespace monet {
namespace {

TEST(Deadline, NeverByDefault) {
  const Deadline never;
  EXPECT_EQ(never.state(), Stop::No);
  EXPECT_FALSE(never.has_time());
  EXPECT_GT(never.seconds_left(), 1e300);
}

TEST(Deadline, TimeEndsIt) {
  EXPECT_EQ(Deadline(0.0).state(), Stop::Time);
  EXPECT_EQ(Deadline(-1.0).state(), Stop::Time);
  const Deadline later(1000.0);
  EXPECT_EQ(later.state(), Stop::No);
  EXPECT_GT(later.seconds_left(), 990);
  EXPECT_EQ(Deadline(1e300).state(), Stop::No);  // nor does it overflow
}

TEST(Deadline, AskingEndsIt) {
  std::atomic<bool> asked = false;
  const Deadline deadline(1000.0, &asked);
  EXPECT_FALSE(deadline.is_over());
  asked = true;
  EXPECT_EQ(deadline.state(), Stop::Asked);
  EXPECT_EQ(deadline.within(500).state(), Stop::Asked);
}

TEST(Deadline, WithinIsNeverLater) {
  EXPECT_LE(Deadline(10.0).within(1000).seconds_left(), 10);
  EXPECT_LE(Deadline(1000.0).within(10).seconds_left(), 10);
  EXPECT_LE(Deadline().within(10).seconds_left(), 10);
  EXPECT_TRUE(Deadline(0.0).within(10).is_over());
}

TEST(Ticks, LooksAtTheClockOnceInAWhileAndCountsEveryStep) {
  std::atomic<bool> asked = true;
  Progress progress;
  {
    Ticks ticks({.deadline = Deadline(std::nullopt, &asked), .progress = &progress}, 10);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 9; ++i) EXPECT_FALSE(ticks.is_over());
      EXPECT_TRUE(ticks.is_over());
    }
    EXPECT_EQ(progress.steps, 30u);
    ticks.is_over();
  }
  EXPECT_EQ(progress.steps, 31u);
}

}  // namespace
}  // namespace monet
