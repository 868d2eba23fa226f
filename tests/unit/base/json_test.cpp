#include "monet/base/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace monet {
namespace {

TEST(Json, WritesEveryKindOfValue) {
  EXPECT_EQ(Json().dump(), "null");
  EXPECT_EQ(Json(nullptr).dump(), "null");
  EXPECT_EQ(Json(true).dump(), "true");
  EXPECT_EQ(Json(false).dump(), "false");
  EXPECT_EQ(Json(-7).dump(), "-7");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(std::numeric_limits<std::uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json("text").dump(), "\"text\"");
  EXPECT_EQ(Json(std::string_view("view")).dump(), "\"view\"");
  EXPECT_EQ(Json::array().dump(), "[]");
  EXPECT_EQ(Json::object().dump(), "{}");
  EXPECT_EQ(Json(std::vector<std::int64_t>{1, 2}).dump(), "[1,2]");
  EXPECT_EQ(Json(std::vector<std::string>{"a", "b"}).dump(), "[\"a\",\"b\"]");
}

TEST(Json, WritesDoublesShortestAndTellsThemFromIntegers) {
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(12.0).dump(), "12.0");
  EXPECT_EQ(Json(-0.0).dump(), "-0.0");
  EXPECT_EQ(Json(1e30).dump(), "1e+30");
  EXPECT_EQ(Json(1.0 / 3).dump(), "0.3333333333333333");
  EXPECT_EQ(Json(5e-324).dump(), "5e-324");
}

TEST(Json, HasNoWordForWhatIsNotFinite) {
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json(-std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
}

TEST(Json, EscapesWhatJsonRequires) {
  EXPECT_EQ(json_quoted("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(json_quoted("\n\r\t\b\f"), R"("\n\r\t\b\f")");
  EXPECT_EQ(json_quoted(std::string("\0\x1F\x7F", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(json_quoted("h\xC3\xBCgel \xF0\x9F\x98\x80"), "\"h\xC3\xBCgel \xF0\x9F\x98\x80\"");
}

// The replacement character, once for each byte that begins no well-formed sequence (Unicode 15, table 3-7).
TEST(Json, ReplacesBytesThatAreNoUtf8) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(json_quoted("a\xFFz"), "\"a" + bad + "z\"");
  EXPECT_EQ(json_quoted("\xC3"), "\"" + bad + "\"");                                // cut short
  EXPECT_EQ(json_quoted("\xC0\xAF"), "\"" + bad + bad + "\"");                      // overlong '/'
  EXPECT_EQ(json_quoted("\xE0\x9F\xBF"), "\"" + bad + bad + bad + "\"");            // overlong
  EXPECT_EQ(json_quoted("\xED\xA0\x80"), "\"" + bad + bad + bad + "\"");            // a surrogate
  EXPECT_EQ(json_quoted("\xF4\x90\x80\x80"), "\"" + bad + bad + bad + bad + "\"");  // beyond U+10FFFF
  EXPECT_EQ(json_quoted("\xE0\xA0\x80\xED\x9F\xBF\xF4\x8F\xBF\xBF"), "\"\xE0\xA0\x80\xED\x9F\xBF\xF4\x8F\xBF\xBF\"");
}

TEST(Json, KeepsTheOrderOfKeysAndReplacesInPlace) {
  Json json;
  json.set("z", 1).set("a", 2).set("m", 3).set("z", 4);
  EXPECT_EQ(json.dump(), R"({"z":4,"a":2,"m":3})");
}

TEST(Json, Indents) {
  Json json;
  json.set("name", "mlp").set("sizes", Json().push(1).push(Json::array()).push(2.5)).set("none", Json::object());
  EXPECT_EQ(json.dump(2), R"({
  "name": "mlp",
  "sizes": [
    1,
    [],
    2.5
  ],
  "none": {}
})");
  EXPECT_EQ(json.dump(), R"({"name":"mlp","sizes":[1,[],2.5],"none":{}})");
}

TEST(JsonDeathTest, RefusesToMixKinds) {
  EXPECT_DEATH(Json(1).push(2), "push on a JSON value that is no array");
  EXPECT_DEATH(Json::array().set("a", 2), "set on a JSON value that is no object");
}

}  // namespace
}  // namespace monet
