#include "monet/base/config_resolve.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "unit/base/shape.h"

namespace monet::config {
namespace {

using Files = std::map<std::string, std::string>;
using Overrides = std::vector<std::pair<std::string, std::string>>;

struct Resolved {
  std::deque<Tree> trees{};
  Findings findings{};
  std::optional<Tree> result{};
  std::string text() {
    std::string out = result ? shape(result->root()) : "";
    for (const Diagnostic& d : findings.list()) out += "\n" + to_string(d);
    return out;
  }
};

void run(Resolved& r, const Files& files, const Overrides& overrides = {}) {
  const auto open = [&](const std::string& path) -> const Tree& {
    if (!files.contains(path)) throw InputError(Diagnostic{.file = path, .message = "no such file"});
    r.trees.push_back(parse_yaml(files.at(path), path));
    return r.trees.back();
  };
  const Tree& main = open("d/main.yaml");
  r.result = resolve(main, {.open = open, .overrides = overrides}, r.findings);
}
std::string resolved(const Files& files, const Overrides& overrides = {}) {
  Resolved r;
  run(r, files, overrides);
  return r.text();
}
std::string resolved(const std::string& text, const Overrides& overrides = {}) {
  return resolved(Files{{"d/main.yaml", text}}, overrides);
}

TEST(Resolve, ReplacesExpressions) {
  EXPECT_EQ(resolved("parameters: {rows: 32, half: '${rows / 2}'}\na: ${rows}\nb: [\"${half * 3} KiB\", x]"),
            "{a:32,b:[48 KiB,x]}");
  EXPECT_EQ(resolved("a: $x {y}"), "{a:$x {y}}");
}

TEST(Resolve, ADollarMoreMakesItText) {
  EXPECT_EQ(resolved("a: x $${y} z\nb: $$${y}\nc: $${a}${1 + 1}$${"), "{a:x ${y} z,b:$${y},c:${a}2${}");
}

TEST(Resolve, AnExpressionInQuotesIsANumber) {
  Resolved r;
  run(r, {{"d/main.yaml", "parameters: {n: 2}\na: \"${n}\"\nb: \"2\""}});
  EXPECT_FALSE(r.result->root()[0].is_quoted());
  EXPECT_TRUE(r.result->root()[1].is_quoted());
}

TEST(Resolve, OverridesParametersOfTheFile) {
  const std::string text =
      "parameters: {rows: 32, twice: '${rows * 2}'}\na: ${twice}\nb: {parameters: {rows: 5}, c: '${rows}'}";
  EXPECT_EQ(resolved(text), "{a:64,b:{c:5}}");
  EXPECT_EQ(resolved(text, {{"rows", "8"}}), "{a:16,b:{c:5}}");
  EXPECT_EQ(resolved(text, {{"row", "8"}}),
            "{a:64,b:{c:5}}\nd/main.yaml: error: there is no parameter 'row' to set (did you mean 'rows'?)");
}

TEST(Resolve, IncludesWhatIsNotWrittenBesideIt) {
  const Files files{{"d/main.yaml", "core: {include: parts/core.yaml, b: 20}\n"},
                    {"d/parts/core.yaml", "a: 1\nb: {deep: 2}\nc: {include: mem.yaml}"},
                    {"d/parts/mem.yaml", "size: 3"}};
  EXPECT_EQ(resolved(files), "{core:{b:20,a:1,c:{size:3}}}");
  Resolved r;
  run(r, files);
  const Value core = *r.result->root().find("core");
  EXPECT_EQ(core.find("a")->file(), "d/parts/core.yaml");
  EXPECT_EQ(core.find("a")->at().line, 1u);
  EXPECT_EQ(core.find("c")->find("size")->file(), "d/parts/mem.yaml");
  EXPECT_EQ(core.find("b")->file(), "d/main.yaml");
}

TEST(Resolve, ParametersOfAFragmentAreDefaults) {
  const Files files{{"d/main.yaml", "a: {include: f.yaml}\nb: {parameters: {n: 5}, include: f.yaml}"},
                    {"d/f.yaml", "parameters: {n: 2, m: '${n * 2}'}\nx: ${n}\ny: ${m}"}};
  EXPECT_EQ(resolved(files), "{a:{x:2,y:4},b:{x:5,y:10}}");
}

TEST(Resolve, ListsOfFilesTheFirstCounts) {
  const Files files{
      {"d/main.yaml", "include: [p.yaml, q.yaml]"}, {"d/p.yaml", "a: 1"}, {"d/q.yaml", "a: 2\nb: 3\ninclude: p.yaml"}};
  EXPECT_EQ(resolved(files), "{a:1,b:3}");
}

TEST(Resolve, FindsCircles) {
  EXPECT_EQ(resolved({{"d/main.yaml", "include: a.yaml"},
                      {"d/a.yaml", "x: 1\ninclude: b.yaml"},
                      {"d/b.yaml", "include: ./a.yaml"}}),
            "{x:1}\nd/b.yaml:1:10: error: 'd/a.yaml' includes itself");
  EXPECT_EQ(resolved({{"d/main.yaml", "x: {include: main.yaml}"}}),
            "{x:{}}\nd/main.yaml:1:14: error: 'd/main.yaml' includes itself");
  // Through a map below, twice at each level.
  EXPECT_EQ(
      resolved({{"d/main.yaml", "x: {include: a.yaml}"}, {"d/a.yaml", "p: {include: a.yaml}\nq: {include: a.yaml}"}}),
      "{x:{p:{},q:{}}}\nd/a.yaml:1:14: error: 'd/a.yaml' includes itself\nd/a.yaml:2:14: error: 'd/a.yaml' includes "
      "itself");
}

TEST(Resolve, SaysWhatIsWrong) {
  EXPECT_EQ(resolved("parameters: {rows: 2}\na: ${row * 2}"),
            "{a:0}\nd/main.yaml:2:4: error: in an expression: unknown parameter 'row' (did you mean 'rows'?)");
  EXPECT_EQ(resolved("a: ${1 + }"), "{a:0}\nd/main.yaml:1:4: error: in an expression: the expression ends too early");
  EXPECT_EQ(resolved("a: ${1"), "{a:}\nd/main.yaml:1:4: error: '${' has no '}'");
  EXPECT_EQ(resolved("parameters: {a: b}"),
            "{}\nd/main.yaml:1:17: error: parameter 'a' must be a number (or an expression such as ${rows * 2})");
  EXPECT_EQ(resolved("parameters: {2a: 1}"),
            "{}\nd/main.yaml:1:14: error: '2a' is no name for a parameter (letters, digits and '_')");
  EXPECT_EQ(resolved("parameters: [1]"), "{}\nd/main.yaml:1:13: error: 'parameters' must be a map, not a list");
  EXPECT_EQ(resolved("include: {a: b}"), "{}\nd/main.yaml:1:10: error: 'include' must name a file, or list some");
  EXPECT_EQ(resolved("include: none.yaml"),
            "{}\nd/main.yaml:1:10: error: 'd/none.yaml' cannot be included: no such file");
  EXPECT_EQ(resolved({{"d/main.yaml", "include: l.yaml"}, {"d/l.yaml", "[1]"}}),
            "{}\nd/main.yaml:1:10: error: 'd/l.yaml' holds no map to include");
}

TEST(Resolve, ManyScopesAreLimited) {
  std::string text = "parameters: {";
  for (int i = 0; i < 1000; ++i) text += "p" + std::to_string(i) + ": 1, ";
  text += "}\nlist:\n";
  for (int i = 0; i < 1000; ++i) text += "  - {parameters: {q: 1}}\n";
  EXPECT_NE(resolved(text).find("too many parameters"), std::string::npos);
}

TEST(Resolve, FieldsAreSetByTheirPath) {
  const auto with = [](const std::string& text, const Overrides& fields) {
    Resolved r;
    const Tree tree = parse_yaml(text, "m.yaml");
    r.result = resolve(tree, {.fields = fields}, r.findings);
    return r.text();
  };
  const std::string text = "a: {b: 1, c: [{d: 2}, 3]}\ne: 4";
  EXPECT_EQ(with(text, {{"a.b", "x y"}, {"a.c.0.d", "5"}, {"a.c.1", "6"}}), "{a:{b:x y,c:[{d:5},6]},e:4}");
  EXPECT_EQ(with(text, {{"e", "7"}, {"a.new", "8"}}), "{a:{b:1,c:[{d:2},3],new:8},e:7}") << "the last part may be new";
  EXPECT_EQ(with(text, {{"a", "9"}}), "{a:9,e:4}");
  EXPECT_NE(with(text, {{"a.x.y", "1"}}).find("there is no field 'a.x.y' to set ('a' has: b, c)"), std::string::npos)
      << with(text, {{"a.x.y", "1"}});
}

}  // namespace
}  // namespace monet::config
