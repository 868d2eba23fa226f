// Do Stream's mapping files and layer stacks become the plans they mean?
#include "monet/plan/stream_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "monet/graph/builder.h"
#include "monet/hardware/library.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/decompose.h"
#include "monet/training/train.h"

namespace monet::plan {
namespace {

constexpr Format kF32{Element::F32};

Conv convolution(std::int64_t pad, std::int64_t groups = 1) {
  return {.kind = ConvKind::Forward,
          .strides = {1, 1},
          .dilations = {1, 1},
          .pads_begin = {pad, pad},
          .pads_end = {pad, pad},
          .groups = groups,
          .extent = {}};
}

// One of each kind: height 14, width 9.
Graph small_graph() {
  Builder b("small");
  const TensorId x = b.source("x", {2, 8, 14, 9}, kF32, Category::Input);
  const auto weight = [&](const char* name, Shape shape) { return b.source(name, shape, kF32, Category::Weight); };
  TensorId y = b.one(convolution(1), {x, weight("w1", {16, 8, 3, 3})}, "/conv1/Conv");
  y = b.one(convolution(1, 4), {y, weight("w2", {8, 4, 3, 3})}, "/grouped/Conv");
  y = b.unary(UnaryKind::Relu, y, "/Relu");
  y = b.one(Pool{.kind = PoolKind::Average,
                 .kernel = {14, 9},
                 .strides = {1, 1},
                 .dilations = {1, 1},
                 .pads_begin = {0, 0},
                 .pads_end = {0, 0}},
            {y}, "/pool/GlobalAveragePool");
  y = b.view(y, {2, 8}, "/Flatten");
  y = b.one(MatMul{}, {y, weight("w3", {8, 10})}, "/fc/Gemm");
  b.graph().outputs = {y};
  return std::move(b).finish();
}

StreamContext small_context() {
  hardware::Hardware chip;
  for (const char* name : {"tpu_0", "tpu_1", "tpu_2", "tpu_3", "simd", "dram"}) chip.cores.push_back({.name = name});
  chip.offchip = hardware::CoreId{5};
  return stream_context(chip, small_graph());
}

ParsedPlan parse(const std::string& text, const StreamContext& context = small_context()) {
  return parse_stream_plan(text, "m.yaml", context);
}

NodePlan of(const ParsedPlan& parsed, const std::string& node) {
  for (const NodePlan& plan : parsed.plan.nodes)
    if (plan.node == node) return plan;
  return {.node = "none"};
}

std::vector<std::string> messages(const ParsedPlan& parsed) {
  std::vector<std::string> out;
  for (const Diagnostic& d : parsed.warnings) out.push_back(to_string(d));
  return out;
}

std::string fault(const std::string& text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

using Splits = std::vector<Split>;
using Names = std::vector<std::string>;

// ---- Names ----

TEST(StreamContext, HeightIsOxInStreamAndOyHere) {
  const StreamContext context = small_context();
  std::map<std::string, std::string> names;
  std::map<std::string, std::int64_t> sizes;
  for (const StreamDimension& d : context.nodes[0].dimensions) {
    names[d.name] = d.loop.name;
    sizes[d.name] = d.loop.size;
  }
  EXPECT_EQ(names, (std::map<std::string, std::string>{
                       {"B", "B"}, {"K", "K"}, {"C", "C"}, {"OX", "OY"}, {"OY", "OX"}, {"FX", "FY"}, {"FY", "FX"}}));
  EXPECT_EQ(sizes.at("OX"), 14);  // the height
  EXPECT_EQ(sizes.at("OY"), 9);
}

TEST(StreamContext, OperatorsHaveTheirNamesInOnnx) {
  std::vector<Names> types;
  for (const StreamNode& node : small_context().nodes) types.push_back(node.types);
  EXPECT_EQ(types, (std::vector<Names>{{"Conv"},
                                       {"Conv"},
                                       {"Relu"},
                                       {"GlobalAveragePool", "AveragePool"},
                                       {"Reshape", "Flatten"},
                                       {"Gemm", "MatMul"}}));
}

// I[B][H][D][C] · W[C][K]: batch axes of one step have no loop, and do not shift the names of the others.
TEST(StreamContext, BatchAxesOfProductsAreBAndH) {
  const auto names = [](Shape a, Shape w) {
    Builder b("product");
    const TensorId x = b.source("x", a, kF32, Category::Input), y = b.source("y", w, kF32, Category::Input);
    b.graph().outputs = {b.one(MatMul{}, {x, y}, "m")};
    std::map<std::string, std::string> out;
    const StreamContext context = stream_context({}, b.graph());
    for (const StreamDimension& d : context.nodes[0].dimensions) out[d.name] = d.loop.name;
    return out;
  };
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(names({2, 12, 5, 7}, {2, 12, 7, 6}), (Map{{"B", "B.0"}, {"H", "B.1"}, {"D", "D"}, {"C", "C"}, {"K", "K"}}));
  EXPECT_EQ(names({1, 12, 5, 7}, {1, 12, 7, 6}), (Map{{"H", "B"}, {"D", "D"}, {"C", "C"}, {"K", "K"}}));
  EXPECT_EQ(names({12, 5, 7}, {7, 6}), (Map{{"B", "B"}, {"D", "D"}, {"C", "C"}, {"K", "K"}}));
}

// A data gradient makes the channels C of its convolution, which for a convolution of Stream's would be K.
TEST(StreamContext, GradientsAreNamedByWhatTheyMake) {
  const Graph graph = decompose(make_training(build_model("resnet18:image=32,norm=folded", 2), {}).graph);
  const StreamContext context = stream_context({}, graph);
  int seen = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Conv* conv = std::get_if<Conv>(&graph.nodes[n].op);
    if (!conv || conv->kind == ConvKind::Forward) continue;
    const bool is_data = conv->kind == ConvKind::DataGradient;
    const Shape& made = graph[graph.nodes[n].outputs[0]].shape;
    for (const StreamDimension& d : context.nodes[n].dimensions) {
      if (d.name != "K") continue;
      ++seen;
      EXPECT_EQ(d.loop.size, made[is_data ? 1 : 0]);
      EXPECT_EQ(d.loop.kind, LoopKind::Parallel);
    }
  }
  EXPECT_GT(seen, 30);
}

// ---- Mapping files ----

TEST(StreamPlan, EntriesAreFoundByNameTypeAndDefault) {
  const ParsedPlan parsed = parse(R"(
- {name: default, core_allocation: [0]}
- {name: Conv, core_allocation: [1]}
- {name: /grouped/Conv, core_allocation: [2]}
- {name: GlobalAveragePool, core_allocation: [4]}
)");
  EXPECT_EQ(of(parsed, "/conv1/Conv").cores, Names{"tpu_1"});
  EXPECT_EQ(of(parsed, "/grouped/Conv").cores, Names{"tpu_2"});
  EXPECT_EQ(of(parsed, "/Relu").cores, Names{"tpu_0"});
  EXPECT_EQ(of(parsed, "/pool/GlobalAveragePool").cores, Names{"simd"});
  EXPECT_EQ(of(parsed, "/fc/Gemm").cores, Names{"tpu_0"});
  EXPECT_EQ(of(parsed, "/Flatten").node, "none");  // to Stream it is no layer
  EXPECT_TRUE(parsed.warnings.empty());
}

TEST(StreamPlan, WhatWasMadeOfANodeHasItsEntry) {
  StreamContext context{.cores = {"a", "b", "c"}};
  for (const char* name : {"soft.max", "soft.gradient.sum", "soft", "softer", "Conv.3"})
    context.nodes.push_back({.name = name, .types = {std::string(name) == "Conv.3" ? "Add" : "Conv"}});
  const ParsedPlan parsed = parse(R"(
- {name: default, core_allocation: [0]}
- {name: soft, core_allocation: [1]}
- {name: Conv, core_allocation: [2]}
)",
                                  context);
  for (const char* name : {"soft.max", "soft.gradient.sum", "soft"}) EXPECT_EQ(of(parsed, name).cores, Names{"b"});
  EXPECT_EQ(of(parsed, "softer").cores, Names{"c"});
  EXPECT_EQ(of(parsed, "Conv.3").cores, Names{"a"}) << "Conv is a type, not what the node was made of";
}

TEST(StreamPlan, TilingsAreTranslatedAndTurnedOutermostFirst) {
  const ParsedPlan parsed = parse(R"(
- name: default
  core_allocation: [0, 1]
  intra_core_tiling: ["D, all"]
  inter_core_tiling: ["K, 2"]
- name: Conv
  core_allocation: [3, 1, 2, 0]
  intra_core_tiling: ["OX, 7", "OY, all", "H, 2", "C, 100"]
  inter_core_tiling: ["K, 4"]
)");
  const NodePlan conv = of(parsed, "/conv1/Conv");
  EXPECT_EQ(conv.cores, (Names{"tpu_3", "tpu_1", "tpu_2", "tpu_0"}));
  EXPECT_EQ(conv.across, (Splits{{"K", 4}}));
  EXPECT_EQ(conv.tiles, (Splits{{"C", 8}, {"OX", 9}, {"OY", 7}}));
  const NodePlan relu = of(parsed, "/Relu");  // [2, 8, 14, 9] by position: B H D K
  EXPECT_EQ(relu.across, (Splits{{"A3", 2}}));
  EXPECT_EQ(relu.tiles, (Splits{{"A2", 14}}));
  const NodePlan fc = of(parsed, "/fc/Gemm");
  EXPECT_EQ(fc.across, (Splits{{"K", 2}}));
  EXPECT_EQ(fc.tiles, (Splits{{"D", 2}}));
}

TEST(StreamPlan, AnEntryWithoutTilingsHasThoseOfDefault) {
  const ParsedPlan parsed = parse(R"(
- {name: /conv1/Conv, core_allocation: [1], inter_core_tiling: ["B, 1"]}
- {name: default, core_allocation: [0], intra_core_tiling: ["OX, 2"], inter_core_tiling: ["K, 1"]}
)");
  EXPECT_EQ(of(parsed, "/conv1/Conv").tiles, (Splits{{"OY", 2}}));
  EXPECT_TRUE(of(parsed, "/conv1/Conv").across.empty());
}

TEST(StreamPlan, PartsAreAtMostTheSteps) {
  // 8 channels over 4 cores leave 2 on each; the height is cut twice.
  const ParsedPlan parsed = parse(R"(
- name: Conv
  core_allocation: [0, 1, 2, 3]
  intra_core_tiling: ["C, 100", "K, all", "OX, 5", "OX, 2"]
  inter_core_tiling: ["K, 4"]
)");
  EXPECT_EQ(of(parsed, "/conv1/Conv").tiles, (Splits{{"OY", 10}, {"K", 4}, {"C", 8}}));
  const ParsedPlan most = parse("[{name: Conv, core_allocation: [0], intra_core_tiling: ['OX, 5', 'OX, 4']}]");
  EXPECT_EQ(of(most, "/conv1/Conv").tiles, (Splits{{"OY", 14}}));
}

// Channels of one of several groups: cut.h takes such a part only of a single group.
TEST(StreamPlan, ChannelsOfGroupsAreCutOnlyInOneGroup) {
  const ParsedPlan whole = parse(R"(
- name: /grouped/Conv
  core_allocation: [0, 1]
  inter_core_tiling: ["K, 2"]
)");
  EXPECT_TRUE(of(whole, "/grouped/Conv").across.empty());
  EXPECT_EQ(messages(whole).at(1),
            "m.yaml:2:3: warning: loop K of node '/grouped/Conv' cannot be cut and is left whole (only where each step "
            "of G is a part)");
  const ParsedPlan each = parse(R"(
- name: /grouped/Conv
  core_allocation: [0, 1]
  intra_core_tiling: ["G, all"]
  inter_core_tiling: ["K, 2"]
)");
  EXPECT_EQ(of(each, "/grouped/Conv").across, (Splits{{"K", 2}}));
  EXPECT_EQ(of(each, "/grouped/Conv").tiles, (Splits{{"G", 4}}));
}

TEST(StreamPlan, SaysWhatItLeavesOpenOrOut) {
  const ParsedPlan parsed = parse(R"(- name: default
  core_allocation: [0, 1, 2]
  inter_core_tiling: ["K, *"]
- name: Conv
  core_allocation: [0, 1]
  inter_core_tiling: ["K, 1"]
  spatial_mapping: {D1: ["K, 32"]}
- name: /conv9/Conv
  core_allocation: [1]
- name: /conv8/Conv
  core_allocation: [1]
- name: Softmax
  core_allocation: [0]
)");
  EXPECT_EQ(messages(parsed),
            (std::vector<std::string>{
                "m.yaml:3:22: warning: over how many cores 'K' is cut is left open (all 3 are taken; Stream searches)",
                "m.yaml:5:20: warning: one part for 2 cores: which of them run is left open (nodes are dealt out to "
                "them in turn; Stream searches)",
                "m.yaml:7:20: warning: 'spatial_mapping' is not taken over: a plan does not say how a core is filled "
                "(unrollings stand in the hardware file, orders are searched)",
                "m.yaml:8:9: warning: there is no node '/conv9/Conv', nor that of another entry (did you mean "
                "'/conv1/Conv'?)"}));
  EXPECT_EQ(of(parsed, "/fc/Gemm").across, (Splits{{"K", 3}}));
}

// "K, 1" on four cores: each layer whole, on one of them, as Stream's genetic search would have it.
TEST(StreamPlan, FewerPartsThanCoresTakeTurns) {
  StreamContext context = small_context();
  const ParsedPlan whole = parse("[{name: Conv, core_allocation: [0, 1, 2], inter_core_tiling: ['K, 1']}]", context);
  EXPECT_EQ(of(whole, "/conv1/Conv").cores, Names{"tpu_0"});
  EXPECT_EQ(of(whole, "/grouped/Conv").cores, Names{"tpu_1"});
  for (const char* name : {"again", "last"}) {
    context.nodes.push_back(context.nodes[0]);
    context.nodes.back().name = name;
  }
  const ParsedPlan halves = parse("[{name: Conv, core_allocation: [0, 1, 2], inter_core_tiling: ['OX, 2']}]", context);
  EXPECT_EQ(of(halves, "/conv1/Conv").cores, (Names{"tpu_0", "tpu_1"}));
  EXPECT_EQ(of(halves, "/grouped/Conv").cores, (Names{"tpu_2", "tpu_0"}));
  EXPECT_EQ(of(halves, "again").cores, (Names{"tpu_1", "tpu_2"}));
  EXPECT_EQ(of(halves, "last").across, (Splits{{"OY", 2}}));
  // Who has no such loop is left to the defaults.
  const ParsedPlan none = parse("[{name: default, core_allocation: [0, 1, 2], inter_core_tiling: ['OX, 3']}]", context);
  EXPECT_EQ(of(none, "/Relu").cores, (Names{"tpu_0", "tpu_1", "tpu_2"}));
  EXPECT_TRUE(of(none, "/Relu").across.empty());
}

// As in the mapping of ResNet-18 that Stream's repository has with fixed splits: cores repeat.
TEST(StreamPlan, FixedCoresAreOneForEachPart) {
  const ParsedPlan parsed = parse(R"(
- {name: default, core_allocation: [1], core_allocation_is_fixed: true}
- {name: /conv1/Conv, core_allocation: [1, 3, 1, 3], core_allocation_is_fixed: true}
)");
  EXPECT_EQ(of(parsed, "/conv1/Conv").cores, (Names{"tpu_1", "tpu_3", "tpu_1", "tpu_3"}));
  EXPECT_EQ(of(parsed, "/conv1/Conv").across, (Splits{{"K", 4}}));
  EXPECT_TRUE(of(parsed, "/Relu").across.empty());
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_EQ(parsed.warnings[0].hint, "it is taken to be 'K, 4'");
}

TEST(StreamPlan, FilesOf2026AreReadAsFarAsTheyNameThings) {
  const ParsedPlan parsed = parse(R"(layers:
- name: Conv
  core_allocation:
  - [0, 1]
  inter_core_tiling:
  - - dim: D6
      split: 2
- name: Gemm
  core_allocation:
  - [0, 1]
  inter_core_tiling:
  - - {dim: K, split: 2}
fused_groups:
- name: named
  layers: [/conv1/Conv, /Relu]
- name: by_type
  layers: [Conv]
  intra_core_tiling:
  - {dim: Conv.D0, tile: 1}
)");
  EXPECT_EQ(of(parsed, "/conv1/Conv").cores, (Names{"tpu_0", "tpu_1"}));
  EXPECT_TRUE(of(parsed, "/conv1/Conv").across.empty());
  EXPECT_EQ(of(parsed, "/fc/Gemm").across, (Splits{{"K", 2}}));
  EXPECT_EQ(parsed.plan.groups, (std::vector<Group>{{.nodes = {"/conv1/Conv", "/Relu"}}}));
  std::vector<int> lines;
  for (const Diagnostic& d : parsed.warnings) lines.push_back(d.line);
  EXPECT_EQ(lines, (std::vector<int>{6, 16}));
}

TEST(StreamPlan, FaultsSayWhere) {
  EXPECT_EQ(fault("- name: default\n  core_allocation: [0, 9]\n"),
            "m.yaml:2:24: error: there is no core 9 (cores are 0 to 5)");
  EXPECT_EQ(fault("- name: default\n  core_allocation: [5]\n"),
            "m.yaml:2:21: error: core 5 is the off-chip memory 'dram' (give cores that compute)");
  EXPECT_EQ(
      fault("- name: default\n  core_allocations: [0]\n")
          .find("m.yaml:2:3: error: unknown key 'core_allocations' in a mapping (did you mean 'core_allocation'?)"),
      0u);
  EXPECT_EQ(fault("monet: plan").find("m.yaml:1:1: error: not a mapping file of Stream"), 0u);
}

TEST(StreamPlan, PlacesAreThoseOfTheEntry) {
  const ParsedPlan parsed = parse("- name: Conv\n  core_allocation: [0]\n  intra_core_tiling:\n  - OX, 2\n");
  const auto line = [&](const char* part) {
    Diagnostic d;
    locate(parsed, part, d);
    return d.line;
  };
  EXPECT_EQ(line("nodes//conv1/Conv"), 1);
  EXPECT_EQ(line("nodes//conv1/Conv/cores/tpu_0"), 2);
  EXPECT_EQ(line("nodes//conv1/Conv/tiles/OY"), 4);
}

// ---- Stream's own figures ----

constexpr const char* kQuad = R"(
- {name: default, core_allocation: [0, 1, 2, 3], intra_core_tiling: ["D, all"], inter_core_tiling: ["K, 4"]}
- {name: Conv, core_allocation: [0, 1, 2, 3], intra_core_tiling: ["OY, all"], inter_core_tiling: ["K, 4"]}
- {name: Gemm, core_allocation: [0, 1, 2, 3], intra_core_tiling: ["D, all"], inter_core_tiling: ["K, 4"]}
- {name: MaxPool, core_allocation: [4], intra_core_tiling: ["OY, all"], inter_core_tiling: ["K, 1"]}
- {name: GlobalAveragePool, core_allocation: [4], intra_core_tiling: ["OY, all"], inter_core_tiling: ["K, 1"]}
- {name: Add, core_allocation: [5], intra_core_tiling: ["D, all"], inter_core_tiling: ["H, 1"]}
)";

std::int64_t product(const Splits& splits) {
  std::int64_t parts = 1;
  for (const Split& split : splits) parts *= split.parts;
  return parts;
}

// Stream (July 2025) makes 162 tiles of ResNet-18 with this mapping layer by layer, and 3866 with the first 22 layers
// in two stacks; a layer alone in its stack is not cut in time there.
TEST(StreamPlan, Resnet18HasAsManyTilesAsStreamMakes) {
  const Graph graph = build_model("resnet18:norm=folded", 1);
  const ParsedPlan parsed = parse(kQuad, stream_context(hardware::find_hardware("tpu_like_quad_core").hardware, graph));
  EXPECT_TRUE(parsed.warnings.empty());
  Names layers;
  for (const Node& node : graph.nodes) layers.push_back(node.name);
  std::vector<Group> stacks =
      parse_stacks("[(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), (11,12,13,14,15,16,17,18,19,20,21)]", layers);
  ASSERT_EQ(stacks.size(), 2u);
  EXPECT_EQ(stacks, parse_stacks("[0-10, 11-21]", layers));
  std::int64_t alone = 0, fused = 0;
  for (const NodePlan& node : parsed.plan.nodes) {
    const bool is_fused = std::any_of(stacks.begin(), stacks.end(), [&](const Group& group) {
      return std::count(group.nodes.begin(), group.nodes.end(), node.node) > 0;
    });
    alone += product(node.across);
    fused += product(node.across) * (is_fused ? product(node.tiles) : 1);
  }
  EXPECT_EQ(alone, 162);
  EXPECT_EQ(fused, 3866);
}

TEST(StreamPlan, HoldsForATrainingGraphToo) {
  const Graph graph = decompose(make_training(build_model("resnet18:image=32", 2), {}).graph);
  const StreamContext context = stream_context(hardware::find_hardware("tpu_like_quad_core").hardware, graph);
  const ParsedPlan parsed = parse(kQuad, context);
  std::map<std::string, const StreamNode*> nodes;
  for (const StreamNode& node : context.nodes) nodes[node.name] = &node;
  EXPECT_GT(parsed.plan.nodes.size(), 200u);
  for (const NodePlan& node : parsed.plan.nodes)
    for (const StreamDimension& d : nodes.at(node.node)->dimensions) {
      std::int64_t parts = 1;
      for (const Splits* list : {&node.across, &node.tiles})
        for (const Split& split : *list)
          if (split.loop == d.loop.name) parts *= split.parts;
      EXPECT_LE(parts, d.loop.size) << node.node << ' ' << d.loop.name;
      EXPECT_TRUE(parts == 1 || d.loop.kind != LoopKind::Fixed) << node.node << ' ' << d.loop.name;
    }
  EXPECT_EQ(parse_plan(to_yaml(parsed.plan), "p.yaml").plan, parsed.plan);
}

// ---- Stacks ----

const Names kLayers{"conv1", "relu1", "/pool (max)", "fc"};

TEST(Stacks, AreReadAsStreamAndAsYamlWritesThem) {
  const std::vector<Group> expected{{.nodes = {"conv1", "relu1", "/pool (max)"}}, {.nodes = {"fc"}}};
  for (const char* text :
       {"[(0, 1, 2), (3,)]", "[(0,1,2),(3,)]", "((0,1,2),(3,))", "[[0, 1, 2], [3]]", "- [0, 1, 2]\n- [3]\n",
        "- (0, 1, 2)\n- (3,)\n", "[0-2, 3]", "[[0-1, 2], fc]", "- - conv1\n  - relu1\n  - /pool (max)\n- [fc]",
        "[(conv1, relu1, '/pool (max)'), [\"fc\"]]", "[(0,\n  1, 2), # first\n (3,)]"})
    EXPECT_EQ(parse_stacks(text, kLayers), expected) << text;
  EXPECT_TRUE(parse_stacks("[]", kLayers).empty());
}

TEST(Stacks, FaultsSayWhere) {
  const auto faults = [](const char* text) -> std::string {
    try {
      parse_stacks(text, kLayers);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(faults("[(0, 4), (1, con1)]"),
            "--stacks:1:6: error: there is no layer 4 (they are 0 to 3)\n"
            "--stacks:1:14: error: there is no layer 'con1' (did you mean 'conv1'?)");
  EXPECT_EQ(faults("[(0, 1), (2, relu1)]"),
            "--stacks:1:14: error: layer 1 ('relu1') stands in stacks twice (keep one of them)");
  EXPECT_EQ(faults("[2-1]"), "--stacks:1:2: error: layers 2 to 1 are none");
  EXPECT_EQ(faults("[(), ((0,),)]"),
            "--stacks:1:2: error: a stack has no layers (leave it out)\n"
            "--stacks:1:7: error: a layer must be a name or a number, not a list");
  for (const char* text : {"3", "", "[(0, 1)", "(0, 1), (2, 3)", "{a: b}", "[-1]", "[0.5]", "[99999999999999999999]"})
    EXPECT_NE(faults(text), "") << text;
}

TEST(Stacks, LayersThatWereBrokenUpStandForTheirParts) {
  Builder b("g");
  const TensorId x = b.source("x", {4, 6}, kF32, Category::Input);
  TensorId y = b.unary(UnaryKind::Relu, x, "a");
  y = b.one(Softmax{.axis = 1}, {y}, "soft");
  y = b.unary(UnaryKind::Relu, y, "a.b");
  b.graph().outputs = {y};
  const Graph graph = decompose(std::move(b).finish());
  ASSERT_EQ(graph.nodes.size(), 6u);
  const std::vector<Group> groups = groups_in(
      graph, {{.nodes = {"a", "soft"}, .order = Order::BreadthFirst}, {.nodes = {"gone"}}, {.nodes = {"a.b"}}});
  EXPECT_EQ(groups, (std::vector<Group>{{.nodes = {"a", "soft.max", "soft.exp", "soft.sum", "soft.divide"},
                                         .order = Order::BreadthFirst},
                                        {.nodes = {"a.b"}}}));
}

}  // namespace
}  // namespace monet::plan
