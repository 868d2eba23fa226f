#include "monet/base/config.h"

#include <gtest/gtest.h>

#include <ctime>

#include "unit/base/shape.h"

namespace monet::config {
namespace {

std::string yaml(std::string_view text) { return shape(parse_yaml(text, "f.yaml").root()); }
std::string json(std::string_view text) { return shape(parse_json(text, "f.json").root()); }

// "line:column message" of the first thing wrong.
template <class F>
std::string fault(F f) {
  try {
    f();
  } catch (const InputError& error) {
    const Diagnostic& d = error.diagnostics().front();
    return std::to_string(d.line) + ":" + std::to_string(d.column) + " " + d.message;
  }
  return "no fault";
}
std::string yaml_fault(const std::string& text) {
  return fault([&] { parse_yaml(text, "f.yaml"); });
}
std::string json_fault(const std::string& text) {
  return fault([&] { parse_json(text, "f.json"); });
}

std::string times(std::size_t count, const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(Yaml, KeepsTheOrderOfTheFileAndTheTextOfScalars) {
  EXPECT_EQ(yaml("b: 016\na: [1e3, yes, 'x y', ~]\nc: {d: }"), "{b:016,a:[1e3,yes,x y,null],c:{d:null}}");
  EXPECT_EQ(yaml(""), "null");
  EXPECT_EQ(yaml("- K, 32 # inner\n- \"a\\nb\""), "[K, 32,a\nb]");
}

TEST(Yaml, KnowsWhatWasQuoted) {
  const Tree tree = parse_yaml("[1, '1', \"1\"]", "f");
  EXPECT_FALSE(tree.root()[0].is_quoted());
  EXPECT_TRUE(tree.root()[1].is_quoted());
  EXPECT_TRUE(tree.root()[2].is_quoted());
  EXPECT_EQ(yaml("a: 'null'"), "{a:null}");
  EXPECT_TRUE(parse_yaml("a: 'null'", "f").root()[0].is_scalar());
}

TEST(Yaml, GivesEveryKeyAndValueItsPlace) {
  const Tree tree = parse_yaml("a: 1\nmap:\n  key: value\n  list:\n    - x\n    - {y: z}\n", "f.yaml");
  const Value map = *tree.root().find("map");
  EXPECT_EQ(map.key(0).at(), (Location{0, 3, 3}));
  EXPECT_EQ(map[0].at(), (Location{0, 3, 8}));
  EXPECT_EQ((*map.find("list"))[0].at(), (Location{0, 5, 7}));
  EXPECT_EQ((*map.find("list"))[1][0].at(), (Location{0, 6, 11}));
  EXPECT_EQ(map.file(), "f.yaml");
}

TEST(Yaml, KeepsBothOfTwoEqualKeysAndFindsTheLast) {
  const Tree tree = parse_yaml("a: 1\nb: 2\na: 3\n", "f");
  EXPECT_EQ(tree.root().size(), 3u);
  EXPECT_EQ(tree.root().find("a")->text(), "3");
}

TEST(Yaml, ExpandsAliasesAndMerges) {
  EXPECT_EQ(yaml("a: &x {p: 1, q: 2}\nb: *x"), "{a:{p:1,q:2},b:{p:1,q:2}}");
  EXPECT_EQ(yaml("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}"), "{a:{p:1,q:2},b:{q:3,p:1}}");
  EXPECT_EQ(yaml("a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}"), "{a:{p:1},b:{p:2,q:2},c:{p:1,q:2}}");
  EXPECT_EQ(yaml("a: {'<<': 1}"), "{a:{<<:1}}");
}

TEST(Yaml, SaysWhereItIsNotYaml) {
  EXPECT_EQ(yaml_fault("a: 1\nb: [1, 2\n").substr(0, 13), "3:1 not YAML:");
  EXPECT_EQ(yaml_fault("a: *nobody").substr(0, 4), "1:4 ");
  EXPECT_EQ(yaml_fault("a: 1\n---\nb: 2\n"), "2:1 a second document begins here");
  EXPECT_EQ(yaml_fault("[a, b]: c"), "1:1 a key must be text, not a list");
  EXPECT_EQ(yaml_fault("a: !python/object x"), "1:4 the tag '!python/object' has no meaning here");
  EXPECT_EQ(yaml_fault("a: &x [1, *x]"), "1:11 this alias refers to what it is part of");
  EXPECT_EQ(yaml_fault("a: 1\nb: {<<: 3}"), "2:5 '<<' merges maps, and this is none");
}

TEST(Yaml, RefusesBytesThatAreNoText) {
  EXPECT_EQ(yaml_fault(std::string("a: b\nc: \0d", 10)), "2:4 byte 0x00 is no text");
  EXPECT_EQ(yaml_fault("a: \xff"), "1:4 byte 0xff is no UTF-8");
  EXPECT_EQ(yaml_fault("a: \xc0\xaf"), "1:4 byte 0xc0 is no UTF-8");          // overlong
  EXPECT_EQ(yaml_fault("a: \xed\xa0\x80"), "1:4 byte 0xed is no UTF-8");      // surrogate
  EXPECT_EQ(yaml_fault("a: \xf4\x90\x80\x80"), "1:4 byte 0xf4 is no UTF-8");  // beyond U+10FFFF
  EXPECT_EQ(yaml("a: \xf4\x8f\xbf\xbf"), "{a:\xf4\x8f\xbf\xbf}");
}

TEST(Json, GivesTheSameTreeAsYaml) {
  const std::string text = R"({"a": [1, -2.5e3, "x\"y\u00e9", null, true], "b": {"c": {}, "d": []}})";
  EXPECT_EQ(json(text), "{a:[1,-2.5e3,x\"y\xc3\xa9,null,true],b:{c:{},d:[]}}");
  EXPECT_EQ(json(text), yaml(text));
  const Tree tree = parse_json("{\n  \"a\": [\n    7\n  ]\n}", "f.json");
  EXPECT_EQ(tree.root().key(0).at(), (Location{0, 2, 3}));
  EXPECT_EQ(tree.root()[0][0].at(), (Location{0, 3, 5}));
}

TEST(Json, ReadsEscapes) {
  EXPECT_EQ(json(R"(["\\\/\b\f\n\r\t"])"), "[\\/\b\f\n\r\t]");
  EXPECT_EQ(json(R"(["\ud83d\ude00"])"), "[\xf0\x9f\x98\x80]");
  EXPECT_EQ(json_fault(R"(["\ud83d"])"), "1:3 not JSON: half a surrogate pair");
  EXPECT_EQ(json_fault(R"(["\u12g4"])"), "1:3 not JSON: \\u needs four hexadecimal digits");
  EXPECT_EQ(json_fault(R"(["\x"])"), "1:3 not JSON: unknown escape in a string");
}

TEST(Json, IsStrict) {
  EXPECT_EQ(json_fault("{\"a\": 1,}"), "1:9 not JSON: a key in double quotes expected");
  EXPECT_EQ(json_fault("[1,]"), "1:4 not JSON: a value expected");
  EXPECT_EQ(json_fault("[1 2]"), "1:4 not JSON: ',' or ']' expected");
  EXPECT_EQ(json_fault("{\"a\" 1}"), "1:6 not JSON: ':' expected");
  EXPECT_EQ(json_fault("[01]"), "1:2 not JSON: '01' is no value");
  EXPECT_EQ(json_fault("[NaN]"), "1:2 not JSON: 'NaN' is no value");
  EXPECT_EQ(json_fault("[Infinity, -Infinity]"), "no fault");  // as Python writes it; no reader takes it for a number
  EXPECT_EQ(json_fault("[1.]"), "1:2 not JSON: '1.' is no value");
  EXPECT_EQ(json_fault("[\n\"a\nb\"]"), "2:3 not JSON: byte 0x0a in a string must be escaped");
  EXPECT_EQ(json_fault("[1] x"), "1:5 not JSON: something follows the end of the document");
  EXPECT_EQ(json_fault("[1"), "1:3 not JSON: the file ends too early");
  EXPECT_EQ(json_fault("[\"a"), "1:2 not JSON: this string has no end");
  EXPECT_EQ(json_fault(""), "1:1 not JSON: the file ends too early");
}

TEST(Parse, TellsJsonFromYaml) {
  EXPECT_EQ(parse("{\"a\": 1}", "x").syntax(), Syntax::Json);
  EXPECT_EQ(parse("{a: 1}", "x.yaml").syntax(), Syntax::Yaml);
  EXPECT_EQ(parse("a: 1", "x").syntax(), Syntax::Yaml);
}

// Files made to hurt end in an error, and soon.
class Hostile : public testing::Test {
 protected:
  // The fault of the text, which must come within a second (much less, in fact; sanitizers are slow).
  static std::string soon(const std::string& text, bool is_json = false) {
    const std::clock_t start = std::clock();  // of the processor: others may be busy beside us
    std::string found = is_json ? json_fault(text) : yaml_fault(text);
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
    EXPECT_LT(took, 20);
#else
    EXPECT_LT(took, 1);
#endif
    return found;
  }
};

TEST_F(Hostile, DeepNesting) {
  EXPECT_NE(soon(times(1'000'000, "[")), "no fault");
  EXPECT_NE(soon(times(1'000'000, "{")), "no fault");
  EXPECT_NE(soon(times(500'000, "- ")), "no fault");
  EXPECT_NE(soon(times(500'000, "? ")), "no fault");
  EXPECT_EQ(soon(times(100, "[") + times(100, "]")), "1:65 nested more than 64 levels deep");
  EXPECT_EQ(soon(times(200, "["), true), "1:129 nested more than 128 levels deep");
  EXPECT_EQ(yaml_fault(times(64, "[") + times(64, "]")), "no fault");
}

TEST_F(Hostile, ManyKeys) {
  std::string keys;
  for (int i = 0; i < 1'000'000; ++i) keys += std::to_string(i) + ": 1\n";
  EXPECT_NE(soon(keys).find("bytes are more than"), std::string::npos);
  EXPECT_NE(soon(keys.substr(0, 2'000'000)).find("more than 100000 values"), std::string::npos);
}

TEST_F(Hostile, AliasesOfAliases) {
  std::string laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string last(1, static_cast<char>(c - 1));
    laughs += std::string(1, c) + ": &" + c + " [*" + last + times(8, ",*" + last) + "]\n";
  }
  EXPECT_NE(soon(laughs).find("more than 100000 values once its aliases are expanded"), std::string::npos);
  // A chain of aliases is as deep as nesting.
  std::string chain = "- &a0 [x]\n";
  for (int i = 1; i < 200; ++i) chain += "- &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_NE(soon(chain).find("nested more than 64 levels deep through aliases"), std::string::npos);
  std::string merges = "a: &a {";
  for (int i = 0; i < 5000; ++i) merges += "k" + std::to_string(i) + ": 1, ";
  merges += "}\nb:\n";
  for (int i = 0; i < 5000; ++i) merges += "  - {<<: *a}\n";
  EXPECT_NE(soon(merges).find("more than 100000 values"), std::string::npos);
}

TEST_F(Hostile, LongScalarsAndNothing) {
  EXPECT_EQ(soon("a: " + std::string(2'000'000, 'x')), "no fault");
  EXPECT_EQ(soon(std::string(2'000'000, '\n')), "no fault");
  EXPECT_NE(soon("a: \"" + std::string(1'900'000, '\\')), "no fault");
}

TEST(Findings, AreListedInTheOrderOfTheFile) {
  const Tree tree = parse_yaml("a: 1\nb: 2\nc: 3\n", "f.yaml");
  Findings findings;
  findings.error(*tree.root().find("c"), "third");
  findings.warning(*tree.root().find("a"), "first");
  findings.error(*tree.root().find("b"), "second");
  findings.error(*tree.root().find("b"), "second");  // said once
  try {
    findings.throw_if_failed();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "f.yaml:1:4: warning: first\nf.yaml:2:4: error: second\nf.yaml:3:4: error: third");
  }
}

TEST(Findings, StopListingButNotCounting) {
  std::string text = "[";
  for (int i = 0; i < 100; ++i) text += "x,";
  const Tree tree = parse_yaml(text + "]", "f");
  Findings findings;
  for (std::size_t i = 0; i < 100; ++i) findings.error(tree.root()[i], "wrong");
  EXPECT_EQ(findings.errors(), 100u);
  EXPECT_EQ(findings.list().size(), 51u);
  EXPECT_EQ(findings.list().back().message, "more is wrong than is listed here");
}

TEST(Findings, WarningsAloneThrowNothing) {
  const Tree tree = parse_yaml("a", "f");
  Findings findings;
  findings.warning(tree.root(), "odd");
  EXPECT_NO_THROW(findings.throw_if_failed());
}

}  // namespace
}  // namespace monet::config
