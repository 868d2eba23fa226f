// Do queries mean what they say, exactly, and is every fault placed?
#include "monet/base/config_query.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "monet/base/diagnostic.h"

namespace monet::config {
namespace {

const std::vector<QueryColumn> kColumns{{"x"},
                                        {"share"},
                                        {"fusion", true},
                                        {"training.latency_s"},
                                        {"training.energy_pj"},
                                        {"inference.latency_s"},
                                        {"a b:c=1.energy_pj"}};
const std::vector<Cell> kRow{Ratio{4, 1}, Ratio{3, 10}, std::string("limit 3"), 0.0625, 2e9, std::monostate{}, 1e-30};

std::string answer(std::string_view text) {
  try {
    const std::optional<bool> value = Query(text, kColumns, "--query").holds(kRow);
    return value ? (*value ? "yes" : "no") : "unknown";
  } catch (const InputError& e) {
    return e.what();
  }
}

TEST(Query, ComparesAndJoins) {
  EXPECT_EQ(answer("x == 4"), "yes");
  EXPECT_EQ(answer("x < 4"), "no");
  EXPECT_EQ(answer("x <= 4 and x >= 4 and x != 5 and not x > 4"), "yes");
  EXPECT_EQ(answer("x == 1 or x == 4"), "yes");
  EXPECT_EQ(answer("x == 4 or x == 1 and x == 2"), "yes");  // and binds closer
  EXPECT_EQ(answer("(x == 4 or x == 1) and x == 2"), "no");
  EXPECT_EQ(answer("not x == 1 and x == 4"), "yes");  // not binds closest
  EXPECT_EQ(answer("not (x == 1 or x == 4)"), "no");
  EXPECT_EQ(answer("(x + 4) * 2 - -1 == 17"), "yes");  // a parenthesis of a number
  EXPECT_EQ(answer("((x)) == (4)"), "yes");
  EXPECT_EQ(answer("x==4 and(x<5)"), "yes");
}

TEST(Query, IsExactWhereDigitsAreWritten) {
  EXPECT_EQ(answer("share == 0.1 * 3"), "yes");  // no doubles are
  EXPECT_EQ(answer("share / 3 == 0.1"), "yes");
  EXPECT_EQ(answer("training.latency_s == 0.0625"), "yes");
  EXPECT_EQ(answer("training.latency_s < 0.06250000000000001"), "yes");
  EXPECT_EQ(answer("training.energy_pj == 2e9"), "yes");
  EXPECT_EQ(answer("training.energy_pj * training.latency_s == 125000000"), "yes");
  EXPECT_EQ(answer("`a b:c=1`.energy_pj < 2e-30"), "yes");  // more than 64 bits
}

TEST(Query, AFigureEqualsItsOwnDigits) {
  const std::vector<QueryColumn> column{{"f"}};
  double figure = 1;
  for (int i = 1; i < 2000; ++i) {
    figure = 1e-5 * i / 7 * figure / (figure > 1e3 ? 1e9 : 1e-3);
    const std::vector<Cell> row{figure};
    EXPECT_EQ(Query(fmt::format("f == {}", figure), column, "q").holds(row), true) << figure;
    EXPECT_EQ(Query(fmt::format("f < {}", std::nextafter(figure, 1e300)), column, "q").holds(row), true) << figure;
  }
}

TEST(Query, TextsAreEqualOrNot) {
  EXPECT_EQ(answer("fusion == \"limit 3\""), "yes");
  EXPECT_EQ(answer("fusion != \"default\" and x == 4"), "yes");
  EXPECT_EQ(answer("fusion == \"limit\""), "no");
}

TEST(Query, AnEmptyCellDecidesNothing) {
  EXPECT_EQ(answer("inference.latency_s < 1"), "unknown");
  EXPECT_EQ(answer("not inference.latency_s < 1"), "unknown");
  EXPECT_EQ(answer("inference.latency_s < 1 or x == 4"), "yes");
  EXPECT_EQ(answer("inference.latency_s < 1 and x == 5"), "no");
  EXPECT_EQ(answer("x == 4 and inference.latency_s < 1"), "unknown");
  EXPECT_EQ(answer("1 / (x - 4) > 0"), "unknown");
}

TEST(Query, ANameMayLackItsFirstPartIfThatSaysEnough) {
  EXPECT_EQ(Query("latency_s < 1", std::vector<QueryColumn>{{"training.latency_s"}}, "q").holds(std::vector<Cell>{0.5}),
            true);
  EXPECT_EQ(answer("latency_s < 1"),
            "--query:1:1: error: 'latency_s' is the end of several columns (which one: training.latency_s, "
            "inference.latency_s)");
}

TEST(Query, SaysWhereItIsWrong) {
  EXPECT_EQ(answer("x == 4 and training.latncy_s < 1"),
            "--query:1:12: error: there is no column 'training.latncy_s' (did you mean 'training.latency_s'?)");
  // Every name that there is not.
  const std::string both = answer("xx < 1 and training.energy_p < 1");
  EXPECT_NE(both.find("--query:1:1: error: there is no column 'xx'"), std::string::npos) << both;
  EXPECT_NE(both.find("--query:1:12: error: there is no column 'training.energy_p'"), std::string::npos) << both;
  EXPECT_EQ(answer("x = 4"), "--query:1:3: error: '=' is not understood (write '==')");
  EXPECT_EQ(answer("x == 4 && x < 5"), "--query:1:8: error: '&&' is not understood (write 'and')");
  EXPECT_EQ(answer("x + 1"),
            "--query:1:1: error: this is a number, where a condition is needed (compare it with something: <, <=, ==, "
            "!=, >=, >)");
  EXPECT_EQ(answer("x == 4 and share"),
            "--query:1:12: error: this is a number, where a condition is needed (compare it with something: <, <=, ==, "
            "!=, >=, >)");
  EXPECT_EQ(answer("x < fusion"), "--query:1:5: error: this is a text, where a number is needed");
  EXPECT_EQ(answer("fusion < \"a\""), "--query:1:8: error: '<' does not compare texts (== and != do)");
  EXPECT_EQ(answer("1 < x < 5"), "--query:1:7: error: a third side of a comparison (join two comparisons by and)");
  EXPECT_EQ(answer("(x == 4"), "--query:1:1: error: '(' has no ')'");
  EXPECT_EQ(answer("x =="), "--query:1:5: error: something is missing at the end (a column, a number or a \"text\")");
  EXPECT_EQ(answer("x == 4KiB"), "--query:1:6: error: '4KiB' is no number (units are those of the columns)");
  EXPECT_EQ(answer("fusion == \"a"), "--query:1:11: error: the text has no end (a second \")");
  EXPECT_EQ(answer("`x == 4"), "--query:1:1: error: the name has no end (a second `)");
  EXPECT_EQ(answer(""), "--query:1:1: error: something is missing at the end (a column, a number or a \"text\")");
}

TEST(Query, NoTextMakesItRunLongOrDeep) {
  EXPECT_NE(answer(std::string(2000, '(')).find("too many parentheses"), std::string::npos);
  EXPECT_NE(answer(std::string(2000, '-')).find("too many parentheses"), std::string::npos);
  EXPECT_NE(answer(std::string(100'000, 'x')).find("longer than"), std::string::npos);
  std::string nots;
  for (int i = 0; i < 900; ++i) nots += "not ";
  EXPECT_NE(answer(nots + "x == 1").find("too deep"), std::string::npos);
  std::string many = "x == 4";
  for (int i = 0; i < 300; ++i) many += " and x == 4";
  EXPECT_EQ(answer(many), "yes");
}

}  // namespace
}  // namespace monet::config
