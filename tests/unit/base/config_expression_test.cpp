#include "monet/base/config_expression.h"

#include <gtest/gtest.h>

namespace monet::config {
namespace {

const Scope kScope{{"rows", {32, 1}}, {"half", {1, 2}}, {"rows", {16, 1}}};

std::string computed(std::string_view text) {
  const ExpressionValue result = evaluate(text, kScope);
  return result.value ? to_string(*result.value) : "fault: " + result.fault;
}

TEST(Evaluate, FollowsTheRulesOfArithmetic) {
  EXPECT_EQ(computed("1 + 2 * 3"), "7");
  EXPECT_EQ(computed("(1 + 2) * 3"), "9");
  EXPECT_EQ(computed("10 - 4 - 3"), "3");
  EXPECT_EQ(computed("64 / 4 / 2"), "8");
  EXPECT_EQ(computed("-3 + +5"), "2");
  EXPECT_EQ(computed("2 * -3"), "-6");
}

TEST(Evaluate, IsExact) {
  EXPECT_EQ(computed("1 / 3 * 3"), "1");
  EXPECT_EQ(computed("0.1 + 0.2"), "0.3");
  EXPECT_EQ(computed("1e3 * 1.5"), "1500");
  EXPECT_EQ(computed("3 / 8"), "0.375");
  EXPECT_EQ(computed("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(computed("0x10 + 1_000"), "1016");
}

TEST(Evaluate, ReadsExponentsAsTheyAreWritten) {
  EXPECT_EQ(parse_ratio("2.5e-08"), (Ratio{1, 40'000'000}));
  EXPECT_EQ(parse_ratio("1e-9"), (Ratio{1, 1'000'000'000}));
  EXPECT_EQ(parse_ratio("1E+03"), (Ratio{1000, 1}));
  EXPECT_EQ(parse_ratio("1e-40"), std::nullopt);
  EXPECT_EQ(parse_ratio("1e99999999999999999999"), std::nullopt);
}

TEST(Evaluate, TheInnermostNameCounts) {
  EXPECT_EQ(computed("rows * 2"), "32");
  EXPECT_EQ(computed("rows * half"), "8");
}

TEST(Evaluate, SaysWhatIsWrong) {
  EXPECT_EQ(computed("columns * 2"), "fault: unknown parameter 'columns'");
  EXPECT_EQ(evaluate("columns", kScope).unknown, "columns");
  EXPECT_EQ(computed("1 / (2 - 2)"), "fault: division by zero");
  EXPECT_EQ(computed("9223372036854775807 * 2"), "fault: the value does not fit in 64 bits");
  EXPECT_EQ(computed("(1 + 2"), "fault: a ')' is missing");
  EXPECT_EQ(computed("1 +"), "fault: the expression ends too early");
  EXPECT_EQ(computed("1 2"), "fault: '2' is not understood");
  EXPECT_EQ(computed("1e400"), "fault: '1e400' is no number that can be computed with exactly");
  EXPECT_EQ(computed(std::string(500, '(') + "1"), "fault: too many parentheses");
  EXPECT_EQ(computed(std::string(500, '-') + "1"), "fault: too many parentheses");
  EXPECT_EQ(computed(std::string(5000, '1')), "fault: the expression is too long");
}

TEST(Expression, Conditions) {
  const Scope scope{{"x", {4, 1}}, {"y", {1, 3}}};
  const auto holds = [&](std::string_view text) { return evaluate(*parse_condition(text), scope).holds; };
  EXPECT_TRUE(holds("x * y <= 4 / 3"));
  EXPECT_FALSE(holds("x * y < 4 / 3"));
  EXPECT_TRUE(holds("x >= 4"));
  EXPECT_TRUE(holds("x > 3.999"));
  EXPECT_TRUE(holds("3 * y == 1")) << "exactly";
  EXPECT_FALSE(holds("3 * y != 1"));
  EXPECT_FALSE(parse_condition("x + y"));
  EXPECT_FALSE(parse_condition("1 < x < 3"));
  EXPECT_EQ(evaluate(*parse_condition("z <= 1"), scope).unknown, "z");
  EXPECT_FALSE(evaluate(*parse_condition("1 <= z"), scope).holds);
}

TEST(Expression, Expands) {
  const Scope scope{{"x", {4, 1}}};
  EXPECT_EQ(expand("${x * 2} KiB and $${x}", scope).text, "8 KiB and ${x}");
  EXPECT_EQ(expand("${y}", scope).unknown, "y");
  EXPECT_FALSE(expand("${x", scope).fault.empty());
}

}  // namespace
}  // namespace monet::config
