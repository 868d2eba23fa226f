// Is a plan file understood as it is written, and written as it is understood? Are faults said where they stand?
#include "monet/plan/plan_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "monet/base/file.h"

namespace monet::plan {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExample = R"(monet: plan
groups:
  - [layer1.0.conv1, layer1.0.relu]
  - {nodes: [a, b], order: breadth_first}
nodes:
  layer1.0.conv1: {cores: [tpu_0, tpu_1], across: {OY: 2}, tiles: {K: 4, OY: 7}}
  "layer2.*": {tiles: {OY: 4}}
)";

const Plan kAsValue{
    .groups = {{.nodes = {"layer1.0.conv1", "layer1.0.relu"}}, {.nodes = {"a", "b"}, .order = Order::BreadthFirst}},
    .nodes = {{.node = "layer1.0.conv1",
               .cores = {"tpu_0", "tpu_1"},
               .across = {{.loop = "OY", .parts = 2}},
               .tiles = {{.loop = "K", .parts = 4}, {.loop = "OY", .parts = 7}}},
              {.node = "layer2.*", .tiles = {{.loop = "OY", .parts = 4}}}}};

TEST(PlanFile, IsReadAndWrittenAsItIs) {
  const ParsedPlan parsed = parse_plan(kExample, "p.yaml");
  EXPECT_EQ(parsed.plan, kAsValue);
  EXPECT_TRUE(parsed.warnings.empty());
  EXPECT_EQ(to_yaml(kAsValue), kExample);
}

TEST(PlanFile, WhatIsKeptAndFetchedAheadIsReadAndWritten) {
  const std::string text =
      "monet: plan\nprefetch: 12\ngroups:\n  - {nodes: [a, b], order: interleaved}\nnodes:\n  a: {cores: [array], "
      "keep: "
      "lanes}\n";
  const Plan plan{.groups = {{.nodes = {"a", "b"}, .order = Order::Interleaved}},
                  .nodes = {{.node = "a", .cores = {"array"}, .at_lanes = true}},
                  .prefetch = 12};
  EXPECT_EQ(parse_plan(text, "p.yaml").plan, plan);
  EXPECT_EQ(to_yaml(plan), text);
  EXPECT_FALSE(parse_plan("monet: plan\nnodes: {a: {keep: memory}}", "p.yaml").plan.nodes[0].at_lanes);
  EXPECT_THROW(parse_plan("monet: plan\nprefetch: 0", "p.yaml"), InputError);
  const char* saved = "monet: plan\nsaved:\n  a.act: recompute\n  \"b*\": spill\n  c: f8e4m3\n";
  EXPECT_EQ(to_yaml(parse_plan(saved, "p.yaml").plan), saved);
  EXPECT_THROW(parse_plan("monet: plan\nsaved: {a: forget}", "p.yaml"), InputError);
  EXPECT_THROW(parse_plan("monet: plan\nsaved: [a]", "p.yaml"), InputError);
  EXPECT_THROW(parse_plan("monet: plan\nnodes: {a: {keep: nowhere}}", "p.yaml"), InputError);
}

TEST(PlanFile, OtherSpellingsMeanTheSame) {
  EXPECT_EQ(parse_plan(R"(
nodes:
  layer1.0.conv1:
    tiles:
      K: 4
      OY: 7
    across:
      OY: 2
    cores:
      - tpu_0
      - tpu_1
  "layer2.*":
    tiles: {OY: 4}
groups:
  - nodes:
      - layer1.0.conv1
      - layer1.0.relu
    order: depth_first
  - order: breadth_first
    nodes: [a, b]
monet: plan
)",
                       "p.yaml")
                .plan,
            kAsValue);
  EXPECT_EQ(parse_plan("monet: plan\nnodes: {a: {cores: one}}", "p.yaml").plan,
            (Plan{.nodes = {{.node = "a", .cores = {"one"}}}}));
}

TEST(PlanFile, MayLeaveEverythingOut) {
  for (const char* text : {"monet: plan", "monet: plan\ngroups:\nnodes:\n", "monet: plan\ngroups: []\nnodes: {}"})
    EXPECT_EQ(parse_plan(text, "p.yaml").plan, Plan{}) << text;
  EXPECT_EQ(to_yaml(Plan{}), "monet: plan\n");
  EXPECT_EQ(parse_plan("monet: plan\nnodes: {a: {}}", "p.yaml").plan, (Plan{.nodes = {{.node = "a"}}}));
}

TEST(PlanFile, OrderOfTilesIsTheOrderOfTheFile) {
  const auto tiles = [](const char* text) { return parse_plan(text, "p.yaml").plan.nodes.at(0).tiles; };
  EXPECT_EQ(tiles("monet: plan\nnodes: {a: {tiles: {Z: 2, A: 3}}}"),
            (std::vector<Split>{{.loop = "Z", .parts = 2}, {.loop = "A", .parts = 3}}));
  EXPECT_EQ(tiles("monet: plan\nnodes: {a: {tiles: {A: 3, Z: 2}}}"),
            (std::vector<Split>{{.loop = "A", .parts = 3}, {.loop = "Z", .parts = 2}}));
}

// Names that YAML would take for something else, or that hold its own signs.
TEST(PlanFile, AnyNameComesBack) {
  std::vector<std::string> names{"a b",
                                 "null",
                                 "~",
                                 "true",
                                 "Yes",
                                 "n",
                                 "1",
                                 "1e3",
                                 "0x10",
                                 "-",
                                 "- a",
                                 "*",
                                 "&a",
                                 "a*b",
                                 "a: b",
                                 "a #b",
                                 "{a}",
                                 "[a]",
                                 "a,b",
                                 "\"a\"",
                                 "'a'",
                                 "\\n",
                                 "a\nb",
                                 "\ta",
                                 " a ",
                                 "\x01",
                                 "B.0",
                                 ".5",
                                 "/a/b",
                                 "é",
                                 "日本",
                                 "a\xC2\x85"
                                 "b",
                                 "<<",
                                 "?",
                                 "? a",
                                 "%a",
                                 "@a",
                                 "`a",
                                 "!a",
                                 "|",
                                 ">",
                                 "---",
                                 "...",
                                 "monet",
                                 "NULL",
                                 "off",
                                 "0-10",
                                 "a::b",
                                 "__x__",
                                 std::string(2000, 'x'),
                                 std::string(2000, '*')};
  Plan plan;
  plan.groups.push_back({.nodes = names});
  plan.groups.push_back({.nodes = {"last"}, .order = Order::BreadthFirst});
  for (const std::string& name : names)
    plan.nodes.push_back({.node = name,
                          .cores = {name, "c", name},
                          .across = {{.loop = name, .parts = 2}},
                          .tiles = {{.loop = "K", .parts = 3}, {.loop = name, .parts = std::int64_t{1} << 40}}});
  EXPECT_EQ(parse_plan(to_yaml(plan), "p.yaml").plan, plan) << to_yaml(plan);
}

TEST(PlanFile, LongGroupsAreBrokenIntoLines) {
  Plan plan;
  for (const Order order : {Order::DepthFirst, Order::BreadthFirst}) {
    Group& group = plan.groups.emplace_back(Group{.order = order});
    for (int i = 0; i < 60; ++i) group.nodes.push_back(fmt::format("{}.block{}.attention", name(order), i));
  }
  std::vector<std::string> cores;
  for (int i = 0; i < 64; ++i) cores.push_back(fmt::format("core_{}", i));
  plan.nodes.push_back({.node = "a", .cores = cores, .tiles = {{.loop = "K", .parts = 2}}});
  const std::string text = to_yaml(plan);
  EXPECT_EQ(parse_plan(text, "p.yaml").plan, plan);
  std::size_t longest = 0;
  for (std::size_t from = 0, to = 0; to != std::string::npos; from = to + 1) {
    to = text.find('\n', from);
    longest = std::max(longest, (to == std::string::npos ? text.size() : to) - from);
  }
  EXPECT_LE(longest, 145u);  // the last line also has what follows the list
  EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 20);
}

TEST(PlanFile, OfSeveralEntriesForOneNameTheLastIsWritten) {
  const Plan plan{.nodes = {{.node = "a", .cores = {"x"}}, {.node = "*", .cores = {"y"}}, {.node = "a"}}};
  const Plan back = parse_plan(to_yaml(plan), "p.yaml").plan;
  EXPECT_EQ(back, (Plan{.nodes = {{.node = "*", .cores = {"y"}}, {.node = "a"}}}));
}

TEST(PlanFile, APlanOfALargeModelIsReadBack) {
  Plan plan;
  for (int i = 0; i < 30'000; ++i) {
    const std::string node = fmt::format("layer{}.node", i);
    plan.groups.push_back({.nodes = {node}});
    plan.nodes.push_back({.node = node,
                          .cores = {"c0", "c1", "c2", "c3"},
                          .across = {{.loop = "K", .parts = 4}},
                          .tiles = {{.loop = "OY", .parts = 7}, {.loop = "OX", .parts = 7}}});
  }
  EXPECT_EQ(parse_plan(to_yaml(plan), "p.yaml").plan, plan);
}

TEST(PlanFile, PlacesOfPartsAreKnown) {
  const ParsedPlan parsed = parse_plan(kExample, "p.yaml");
  const auto place = [&](const std::string& part) {
    Diagnostic d{.message = "m"};
    locate(parsed, part, d);
    return to_string(d);
  };
  EXPECT_EQ(place("groups/0"), "p.yaml:3:5: error: m");
  EXPECT_EQ(place("groups/0/1"), "p.yaml:3:22: error: m");
  EXPECT_EQ(place("groups/1/1"), "p.yaml:4:17: error: m");
  EXPECT_EQ(place("nodes/layer1.0.conv1"), "p.yaml:6:3: error: m");
  EXPECT_EQ(place("nodes/layer1.0.conv1/cores/tpu_1"), "p.yaml:6:35: error: m");
  EXPECT_EQ(place("nodes/layer1.0.conv1/across/OY"), "p.yaml:6:52: error: m");
  EXPECT_EQ(place("nodes/layer1.0.conv1/tiles/OY"), "p.yaml:6:74: error: m");
  EXPECT_EQ(place("nodes/layer2.*/tiles/OY"), "p.yaml:7:24: error: m");
  // What has no place has that of what it belongs to.
  EXPECT_EQ(place("nodes/layer2.*/cores"), "p.yaml:7:3: error: m");
  EXPECT_EQ(place("nodes/nobody"), "p.yaml: error: m");
  // Names of ONNX nodes hold slashes themselves.
  const ParsedPlan slashes = parse_plan("monet: plan\nnodes:\n  /a/b/Conv: {tiles: {K: 2}}\n", "p.yaml");
  EXPECT_EQ(slashes.places.at("nodes//a/b/Conv/tiles/K").column, 23u);
}

TEST(PlanFile, HintsNameWhatWasMeant) {
  const auto fault = [](const char* text) -> std::string {
    try {
      parse_plan(text, "p.yaml");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault("monet: plan\nnodes: {a: {tile: {K: 2}}}"),
            "p.yaml:2:13: error: unknown key 'tile' in node 'a' (did you mean 'tiles'?)");
  EXPECT_EQ(fault("monet: plan\ngroups: [{nodes: [a], order: breadthfirst}]"),
            "p.yaml:2:30: error: unknown order 'breadthfirst' (did you mean 'breadth_first'?)");
  EXPECT_EQ(fault("monet: plan\ngroups: [a]"),
            "p.yaml:2:10: error: a group must be a list of nodes, not a single value (of one node: [a])");
  EXPECT_EQ(fault("monet: plan\ngroups: [[a]").find("p.yaml:2:"), 0u);
  EXPECT_NE(fault(""), "");
}

TEST(PlanFile, TheExampleOfTheDocumentationIsAPlan) {
  const std::string page = read_file((fs::path(MONET_TEST_DATA).parent_path().parent_path() / "docs/plan.md").string());
  const std::string fence = "```yaml\n";
  const std::size_t from = page.find(fence) + fence.size(), to = page.find("```", from);
  ASSERT_NE(to, std::string::npos);
  const Plan plan = parse_plan(page.substr(from, to - from), "plan.md").plan;
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.groups[1].order, Order::BreadthFirst);
  ASSERT_EQ(plan.nodes.size(), 3u);
  EXPECT_EQ(plan.nodes[0].tiles, (std::vector<Split>{{.loop = "K", .parts = 4}, {.loop = "OY", .parts = 7}}));
}

// ---- tests/diagnostics/plan: what must be said stands in the line it must be said of ----

struct Expected {
  int line = 0;
  std::string text;
};

std::vector<Expected> expectations(const std::string& text) {
  constexpr std::string_view kMark = "# expect: error \"";
  std::vector<Expected> list;
  int line = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') ++line;
    if (!std::string_view(text).substr(at).starts_with(kMark)) continue;
    const std::size_t from = at + kMark.size();
    list.push_back({line, text.substr(from, text.find('"', from) - from)});
  }
  return list;
}

TEST(PlanFile, FaultsOfEveryBadFileAreThoseItExpects) {
  const fs::path folder = fs::path(MONET_TEST_DATA).parent_path() / "diagnostics" / "plan";
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    ++files;
    const std::string path = entry.path().string(), text = read_file(path);
    std::vector<Diagnostic> found;
    try {
      parse_plan(text, path);
      ADD_FAILURE() << path << " was read";
    } catch (const InputError& error) {
      found = error.diagnostics();
    }
    const std::vector<Expected> wanted = expectations(text);
    EXPECT_FALSE(wanted.empty()) << path;
    for (const Expected& e : wanted) {
      const auto match = std::find_if(found.begin(), found.end(), [&](const Diagnostic& d) {
        return d.file == path && d.line == e.line && d.column > 0 && d.message.find(e.text) != std::string::npos;
      });
      if (match == found.end())
        ADD_FAILURE() << fmt::format("{}:{}: nobody said '{}'", path, e.line, e.text);
      else
        found.erase(match);
    }
    for (const Diagnostic& d : found) ADD_FAILURE() << "nobody expected: " << to_string(d);
  }
  EXPECT_GE(files, 6u);
}

}  // namespace
}  // namespace monet::plan
