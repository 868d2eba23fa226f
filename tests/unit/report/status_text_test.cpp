#include "monet/report/status_text.h"

#include <gtest/gtest.h>

namespace monet {
namespace {

TEST(StatusText, SaysRateAndTimeLeft) {
  Progress progress;
  progress.parts = "points";
  progress.total = 10000;
  EXPECT_EQ(status_text(progress, {}, 5), "0/10000 points");
  progress.done = 20;
  EXPECT_EQ(status_text(progress, {}, 10), "20/10000 points, 2/s, 83 min left");
  progress.say("front 3 training");
  EXPECT_EQ(status_text(progress, {}, 20), "20/10000 points, 1/s, front 3 training, 2 h 46 min left");
  progress.done = 9000;
  EXPECT_EQ(status_text(progress, {}, 900), "9000/10000 points, 10/s, front 3 training, 100 s left");
}

TEST(StatusText, WhatWasKnownBeforeTookNoTime) {
  Progress progress;
  progress.parts = "points";
  progress.total = 1000;
  progress.done = progress.known = 500;
  EXPECT_EQ(status_text(progress, {}, 1), "500/1000 points");
  progress.done = 510;
  EXPECT_EQ(status_text(progress, {}, 10), "510/1000 points, 1/s, 8 min left");
}

TEST(StatusText, ADeadlineThatIsSoonerIsWhatIsLeft) {
  Progress progress;
  progress.parts = "points";
  progress.total = 1000;
  progress.done = 1;
  EXPECT_EQ(status_text(progress, Deadline(30.4), 100), "1/1000 points, 0.01/s, 30 s left");
  EXPECT_EQ(status_text(progress, Deadline(-5.0), 100), "1/1000 points, 0.01/s, 0 s left");
}

TEST(StatusText, CountsOrderingsWhereThereAreSome) {
  Progress progress;
  progress.total = 4;
  progress.done = 1;
  progress.steps = 5000;
  progress.expected = 20000;
  EXPECT_EQ(status_text(progress, {}, 10), "1/4 layers, 5,000 of 20,000 loop orderings, 0.5 k/s, 30 s left");
}

}  // namespace
}  // namespace monet
