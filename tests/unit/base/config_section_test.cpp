#include "monet/base/config_section.h"

#include <gtest/gtest.h>

namespace monet::config {
namespace {

constexpr std::array kUnits{Unit{"B", 8, "_bytes"}, Unit{"KiB", 8192}, Unit{"bit", 1, "_bits"},
                            Unit{"GB/s", 8e9, "", true}};
const Quantity kSize{"a size", kUnits};

// Reads with `f` and lists what was found, one "line:column: text" each.
template <class F>
std::string found(const std::string& text, F f, Dialect dialect = Dialect::Strict) {
  const Tree tree = parse_yaml(text, "f");
  Findings findings;
  Section section(tree.root(), "the thing", dialect, findings);
  f(section);
  section.finish();
  std::string out;
  for (const Diagnostic& d : findings.list()) out += to_string(d) + "\n";
  return out;
}

TEST(Section, PullsFields) {
  EXPECT_EQ(found("a: x\nb: 3\nc: 0.5\nd: true\ne: two\nf: [1, 2]\ng: 7",
                  [](Section& s) {
                    EXPECT_EQ(s.text("a"), "x");
                    EXPECT_EQ(s.integer("b", {}), 3);
                    EXPECT_EQ(s.number("c", {}), 0.5);
                    EXPECT_EQ(s.boolean("d"), true);
                    const std::vector<std::string> names{"one", "two"};
                    EXPECT_EQ(s.choice("e", names), 1u);
                    EXPECT_EQ(s.list("f").size(), 2u);
                    EXPECT_EQ(s.list("g").size(), 1u);
                    EXPECT_EQ(s.list("h").size(), 0u);
                    EXPECT_EQ(s.text("i"), std::nullopt);
                  }),
            "");
}

TEST(Section, NamesTheNearestKey) {
  EXPECT_EQ(found("siez: 3", [](Section& s) { s.integer("size", {}); }),
            "f:1:1: error: unknown key 'siez' in the thing (did you mean 'size'?)\n");
  EXPECT_EQ(found("zzzzzz: 3", [](Section& s) { s.integer("size", {}); }),
            "f:1:1: error: unknown key 'zzzzzz' in the thing (known: size)\n");
}

TEST(Section, RepeatedKeys) {
  const std::string text = "a: 1\na: 2";
  EXPECT_EQ(found(text, [](Section& s) { s.integer("a", {}); }),
            "f:2:1: error: 'a' is given twice in the thing, first in line 1 (keep one of them)\n");
  EXPECT_EQ(found(
                text, [](Section& s) { EXPECT_EQ(s.integer("a", {}), 2); }, Dialect::PyYaml),
            "f:2:1: warning: 'a' is given twice in the thing, first in line 1 (the last one counts)\n");
}

TEST(Section, SaysWhatIsMissing) {
  EXPECT_EQ(found("a:", [](Section& s) { s.require("a"); }), "f:1:1: error: 'a' of the thing has no value\n");
  EXPECT_EQ(found("a: 1", [](Section& s) { s.find("a"), s.require("b"); }), "f:1:1: error: the thing has no 'b'\n");
  EXPECT_EQ(found("[1]", [](Section& s) { s.find("a"); }), "f:1:1: error: the thing must be a map, not a list\n");
}

TEST(Section, SaysWhatAValueMustBe) {
  const auto integer = [](Section& s) { s.integer("a", {.least = 1, .most = 10}); };
  EXPECT_EQ(found("a: 0", integer), "f:1:4: error: 'a' must be positive, not '0'\n");
  EXPECT_EQ(found("a: 11", integer), "f:1:4: error: 'a' must be at most 10, not '11'\n");
  EXPECT_EQ(found("a: 1e30", integer), "f:1:4: error: 'a' must be at most 10, not '1e30'\n");
  EXPECT_EQ(found("a: 1.5", integer), "f:1:4: error: 'a' must be a whole number, not '1.5'\n");
  EXPECT_EQ(found("a: many", integer), "f:1:4: error: 'a' must be a number, not 'many'\n");
  EXPECT_EQ(found("a: '1'", integer), "f:1:4: error: 'a' must be a number, not text in quotes\n");
  EXPECT_EQ(found("a: [1]", integer), "f:1:4: error: 'a' must be a number, not a list\n");
  EXPECT_EQ(found("a: -0.5", [](Section& s) { s.number("a", {.least = 0}); }),
            "f:1:4: error: 'a' must not be negative, not '-0.5'\n");
  EXPECT_EQ(found("a: yes", [](Section& s) { s.boolean("a"); }),
            "f:1:4: error: 'a' must be true or false, not 'yes'\n");
  EXPECT_EQ(found(
                "a: yes", [](Section& s) { EXPECT_EQ(s.boolean("a"), true); }, Dialect::PyYaml),
            "");
  const std::vector<std::string> names{"read", "write"};
  EXPECT_EQ(found("a: raed", [&](Section& s) { s.choice("a", names); }),
            "f:1:4: error: unknown a 'raed' (did you mean 'read'?)\n");
}

TEST(Section, Quantities) {
  const auto bits = [](const std::string& text) {
    std::optional<std::int64_t> whole;
    EXPECT_EQ(found(text, [&](Section& s) { whole = s.amount("size", kSize)->amount.number.whole; }), "") << text;
    return whole;
  };
  EXPECT_EQ(bits("size: 2 KiB"), 16384);
  EXPECT_EQ(bits("size: 2KiB"), 16384);
  EXPECT_EQ(bits("size: 0.5 KiB"), 4096);
  EXPECT_EQ(bits("size_bits: 7"), 7);
  EXPECT_EQ(bits("size_bytes: 7"), 56);
  EXPECT_EQ(bits("size: 1000000000000000001 B"), 8000000000000000008);  // more digits than a double has
  const auto amount = [](Section& s) { s.amount("size", kSize); };
  EXPECT_EQ(found("size: 2", amount), "f:1:7: error: 'size' has no unit (units of a size: B, KiB, bit, GB/s)\n");
  EXPECT_EQ(found("size: 2 KB", amount),
            "f:1:7: error: 'KB' is no unit of a size (units of a size: B, KiB, bit, GB/s)\n");
  EXPECT_EQ(found("size: large", amount),
            "f:1:7: error: 'size' must be a size such as '2 B', not 'large' (units of a size: B, KiB, bit, GB/s)\n");
  EXPECT_EQ(found("size: 1 B\nsize_bits: 8", amount),
            "f:2:12: error: the thing has both 'size' and 'size_bits' (keep one of them)\n");
  EXPECT_EQ(found("size_bits: 8 bit", amount), "f:1:12: error: 'size_bits' must be a number, not '8 bit'\n");
  EXPECT_EQ(found("size: 1 GB/s", [](Section& s) { EXPECT_TRUE(s.amount("size", kSize)->amount.per_second); }), "");
}

TEST(Section, ManyUnknownKeysAreFast) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "unknown_key_" + std::to_string(i) + ": 1\n";
  const std::string list = found(text, [](Section& s) {
    for (int i = 0; i < 40; ++i) s.find("known_key_" + std::to_string(i));
  });
  EXPECT_NE(list.find("more is wrong than is listed here"), std::string::npos);
}

}  // namespace
}  // namespace monet::config
