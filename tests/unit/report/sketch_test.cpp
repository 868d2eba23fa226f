#include "monet/report/sketch.h"

#include <gtest/gtest.h>

namespace monet {
namespace {

TEST(Sketch, PutsPointsWhereTheyBelong) {
  const std::string drawn = sketch(
      {{.mark = 'T', .points = {{1, 100}, {100, 1}, {10, 10}}, .on_front = {true, true, false}}}, 25, 3, "s", "J");
  EXPECT_EQ(drawn,
            "100 T                    \n"
            "  J           .          \n"
            "  1                     T\n"
            "    1        s        100\n")
      << drawn;
}

TEST(Sketch, IsNothingWithoutPoints) {
  EXPECT_EQ(sketch({}, 60, 10, "s", "J"), "");
  EXPECT_EQ(sketch({{.points = {{0, 1}}, .on_front = {true}}}, 60, 10, "s", "J"), "");
}

TEST(Sketch, OnePointIsADrawing) {
  const std::string drawn = sketch({{.mark = 'I', .points = {{2, 3}}, .on_front = {true}}}, 30, 4, "s", "J");
  EXPECT_NE(drawn.find('I'), std::string::npos);
}

}  // namespace
}  // namespace monet
