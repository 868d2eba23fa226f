#include "monet/base/config_number.h"

#include <gtest/gtest.h>

#include <cmath>

namespace monet::config {
namespace {

std::optional<std::int64_t> whole(std::string_view text, Dialect dialect = Dialect::Strict) {
  const NumberReading reading = read_number(text, dialect);
  return reading.number ? reading.number->whole : std::nullopt;
}
double value(std::string_view text, Dialect dialect = Dialect::Strict) {
  const NumberReading reading = read_number(text, dialect);
  return reading.number ? reading.number->value : std::nan("");
}
bool refused(std::string_view text, Dialect dialect = Dialect::Strict) { return !read_number(text, dialect).number; }

TEST(ReadNumber, Integers) {
  EXPECT_EQ(whole("0"), 0);
  EXPECT_EQ(whole("-12"), -12);
  EXPECT_EQ(whole("+12"), 12);
  EXPECT_EQ(whole("16_777_216"), 16777216);
  EXPECT_EQ(whole("0x1F"), 31);
  EXPECT_EQ(whole("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(whole("1e3"), 1000);
  EXPECT_EQ(whole("2.0"), 2);
  EXPECT_EQ(whole("2.5"), std::nullopt);
}

TEST(ReadNumber, BeyondSixtyFourBitsItIsADouble) {
  EXPECT_EQ(whole("9223372036854775808"), std::nullopt);
  EXPECT_EQ(value("9223372036854775808"), 9223372036854775808.0);
  EXPECT_EQ(value("1e300"), 1e300);
  EXPECT_TRUE(refused("1e309"));
  EXPECT_TRUE(refused("-1e999999999"));
  EXPECT_EQ(value("1e-400"), 0);
  EXPECT_TRUE(refused("0x10000000000000000"));
}

TEST(ReadNumber, Fractions) {
  EXPECT_EQ(value(".5"), 0.5);
  EXPECT_EQ(value("1."), 1.0);
  EXPECT_EQ(value("0.1"), 0.1);
  EXPECT_EQ(value("1.5e-3"), 1.5e-3);
}

TEST(ReadNumber, WhatIsNoNumber) {
  for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "_1", "1_", "1__0", "1 2", "0x", "0xg", "nan", "inf",
                           ".inf", "1,5", "--1", "1.2.3"})
    EXPECT_TRUE(refused(text)) << text;
  EXPECT_TRUE(refused(std::string(100'000, '1')));
}

// What PyYAML 6.0 makes of these, tried: 016 is 14, 08 text, 1e3 text, 1.0e+3 a number, 1:30 is 90.
TEST(ReadNumber, AsPyYamlWhereItMatters) {
  EXPECT_EQ(whole("016", Dialect::PyYaml), 14);
  EXPECT_EQ(whole("-016", Dialect::PyYaml), -14);
  EXPECT_NE(read_number("016", Dialect::PyYaml).warning, "");
  EXPECT_TRUE(refused("08", Dialect::PyYaml));
  EXPECT_EQ(value("016.5", Dialect::PyYaml), 16.5);
  EXPECT_EQ(whole("1e3", Dialect::PyYaml), 1000);
  EXPECT_NE(read_number("1e3", Dialect::PyYaml).warning, "");
  EXPECT_NE(read_number("1.0e3", Dialect::PyYaml).warning, "");
  EXPECT_EQ(read_number("1.0e+3", Dialect::PyYaml).warning, "");
  EXPECT_TRUE(refused("1:30", Dialect::PyYaml));
  EXPECT_TRUE(refused("016"));  // ours does not guess
  EXPECT_EQ(value("0.5"), 0.5);
}

TEST(Shortest, ReadsBackAsTheSameDouble) {
  for (const double x : {0.0, 1.0, 0.1, 416.16, 1e-9, 1e21, 123456789012345678.0, 5e-324})
    EXPECT_EQ(value(shortest(x)), x) << shortest(x);
  EXPECT_EQ(shortest(2), "2");
}

}  // namespace
}  // namespace monet::config
