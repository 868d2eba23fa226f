// Is what `monet map` and `monet explain` say of a layer what was asked, and do parts make totals?
#include "monet/verbs/map.h"

#include <gtest/gtest.h>

#include "monet/base/diagnostic.h"
#include "monet/graph/lower.h"
#include "monet/report/nest.h"
#include "monet/rewrite/decompose.h"
#include "monet/verbs/explain.h"
#include "monet/verbs/mapping_options.h"

namespace monet {
namespace {

constexpr const char* kConv = "conv:k=16,c=8,oy=14,ox=14,fy=3,fx=3,pad=1";

MapRun run(const std::string& layer, const std::string& chip, const std::string& phase = "forward",
           const std::string& quirks = "") {
  MapRequest request{.layer = {.layer = layer, .phase = phase}, .hardware = chip, .quirks = quirks};
  return map_layers(request);
}

TEST(Map, PartsMakeTotalsOnEveryChip) {
  int feasible = 0;
  for (const std::string chip :
       {"tpu_like", "edge_tpu_like", "eyeriss_like", "meta_prototype", "tesla_npu_like", "tpu_v2"})
    for (const std::string phase : {"forward", "dgrad", "wgrad"})
      for (const std::string quirks : {"", "zigzag"}) {
        SCOPED_TRACE(chip + " " + phase + " " + quirks);
        const MapRun r = run(kConv, chip, phase, quirks);
        if (!r.layers[0].mapped) continue;
        ++feasible;
        const cost::Evaluation& e = r.layers[0].mapped->evaluation;
        EXPECT_DOUBLE_EQ(e.latency, e.temporal_cycles + e.stall + e.onload + e.offload);
        EXPECT_GE(e.temporal_cycles, e.ideal_cycles);
        double memories = 0;
        for (std::size_t o = 0; o < r.layers[0].layer.operands.size(); ++o)
          for (const cost::MemoryLevel& level : e.levels[o]) memories += level.energy_pj;
        EXPECT_NEAR(e.energy_pj, e.mac_energy_pj + memories + e.static_energy_pj, 1e-9 * e.energy_pj);
      }
  EXPECT_GE(feasible, 30);  // of 36
}

TEST(Map, ABareConvolutionIsTheNestOfTheTrainingGraph) {
  // layer1.0.conv1 of this network has 16 channels of 8 x 8 and a 3 x 3 kernel with padding 1.
  const std::string model = "resnet18:image=32,classes=10,width=16";
  for (const auto& [node, phase] :
       std::vector<std::pair<std::string, std::string>>{{"layer1.0.conv1", "forward"},
                                                        {"layer1.0.conv1.data_gradient", "dgrad"},
                                                        {"layer1.0.conv1.weight_gradient", "wgrad"}}) {
    const FoundLayers of_model = find_layers({.layer = model + "/" + node});
    const FoundLayers bare = find_layers({.layer = "conv:k=16,c=16,oy=8,ox=8,fy=3,fx=3,pad=1", .phase = phase});
    ASSERT_EQ(of_model.layers.size(), 1u) << node;
    EXPECT_EQ(of_model.nests, bare.nests) << node;
  }
}

TEST(Map, FormatsAreWhatTheCoreHolds) {
  const MapRun narrow = run("gemm:d=8,k=8,c=8", "tpu_like");  // registers for sums of 16 bits
  EXPECT_EQ(narrow.layers[0].layer.operands[0].bits, 8);
  EXPECT_EQ(narrow.layers[0].layer.operands[0].partial_bits, 16);
  EXPECT_FALSE(narrow.layers[0].notes.empty());
  const MapRun wide = run("gemm:d=8,k=8,c=8", "eyeriss_like");
  EXPECT_EQ(wide.layers[0].layer.operands[0].bits, 16);
  EXPECT_EQ(wide.layers[0].layer.operands[0].partial_bits, 32);
  MapRequest insisting{.layer = {.layer = "gemm:d=8,k=8,c=8", .bits = "4/24"}, .hardware = "eyeriss_like"};
  const MapRun given = map_layers(insisting);
  EXPECT_EQ(given.layers[0].layer.operands[0].partial_bits, 24);
  EXPECT_TRUE(given.layers[0].notes.empty());
}

TEST(Map, OptionsAreWrittenSoThatTheRunCanBeRepeated) {
  MapRequest request{.layer = {.layer = "gemm:d=8,k=8,c=8", .phase = "wgrad", .bits = "8/16"},
                     .hardware = "tpu_like/array",
                     .parameters = {{"a", "1"}},
                     .order = "K2 *",
                     .criterion = "edp",
                     .quirks = "zigzag",
                     .lpf = "7",
                     .even = true,
                     .spatials = 5,
                     .mixed = true};
  request.layer.model.batch = 4;
  request.layer.model.dims = {{"sequence", 128}};
  const std::string written = dump(Document{"map", {}, options_json(request), Json::object(), 0});
  EXPECT_EQ(options_json(request_of(written, "result.json")), options_json(request));
  EXPECT_THROW(request_of("{\"monet\": {\"command\": \"graph\"}, \"options\": {}}", "result.json"), InputError);
}

TEST(Map, QuirksCanBeTakenAway) {
  cost::Quirks expected = cost::kZigzagQuirks;
  expected.worst_port = false;
  EXPECT_EQ(parse_quirks("zigzag,-worst-port"), expected);
  EXPECT_EQ(parse_quirks("worst_port"), (cost::Quirks{.worst_port = true}));
  EXPECT_EQ(parse_quirks(""), cost::Quirks{});
  EXPECT_THROW(parse_quirks("worst_prot"), InputError);
}

TEST(Map, LoopsAreReadByTheLongestNameThatLeavesAFactor) {
  cost::Layer layer{.dimensions = {{"D", 4}, {"D0", 4}, {"FX", 3}}};
  layer.operands.resize(2);
  const std::vector<cost::LoopPattern> expected{
      {.dimension = "D0", .factor = 2}, {.dimension = "D", .factor = 4}, {}, {.dimension = "FX"}};
  EXPECT_EQ(parse_order("D02 D=4 * FX*", layer), expected);
  EXPECT_THROW(parse_order("FX0", layer), InputError);
  EXPECT_THROW(parse_order("FY3", layer), InputError);
}

TEST(Map, InfeasibleSaysWhichInequalityIsBroken) {
  const MapRun r = run("gemm:d=100000,k=100000,c=100000", "tpu_like");
  ASSERT_FALSE(r.is_feasible());
  // 3 matrices of 10^10 elements of 8 bits
  EXPECT_NE(r.layers[0].reason.find("dram: needs 240000000000 bits"), std::string::npos) << r.layers[0].reason;
  EXPECT_NE(text(r).find("> has 10000000000 bits"), std::string::npos);
}

TEST(Map, TheNestDrawnHasEveryLoop) {
  const MapRun r = run(kConv, "tpu_like");
  const cost::Mapped& m = *r.layers[0].mapped;
  const std::string drawn = draw_nest(m, r.chosen_core());
  double product = 1;
  for (std::size_t at = drawn.find("for "); at != std::string::npos; at = drawn.find("for ", at + 1))
    product *= std::stod(drawn.substr(drawn.find(' ', at + 4)));
  EXPECT_EQ(product, m.evaluation.temporal_cycles);
}

TEST(Map, QuantitiesAreReadable) {
  EXPECT_EQ(quantity(1234567), "1,234,567");
  EXPECT_EQ(quantity(-1234), "-1,234");
  EXPECT_EQ(quantity(1234.56), "1,234.6");
  EXPECT_EQ(energy_text(68294568.736), "68.29 uJ");
  EXPECT_EQ(size_text(16), "16 bits");
  EXPECT_EQ(size_text(8.0 * 2048), "2 KiB");
}

TEST(Explain, EndsInTheFigureOfMap) {
  ExplainRequest request{.run = kConv, .what = "latency", .map = {.hardware = "tpu_like"}};
  const MapRun r = run(kConv, "tpu_like");
  const Explanation latency = explain(request);
  EXPECT_EQ(latency.lines.back().name, "latency_cycles");
  EXPECT_EQ(latency.lines.back().value, r.layers[0].mapped->evaluation.latency);
  request.what = "energy";
  EXPECT_EQ(explain(request).lines.back().value, r.layers[0].mapped->evaluation.energy_pj);
}

TEST(Explain, WordsOfAllOperandsAreExplained) {
  const MapRun r = run(kConv, "tpu_like");
  const Explanation all = explain({.run = kConv, .what = "accesses", .map = {.hardware = "tpu_like"}});
  double explained = 0, counted = 0;
  for (const ExplainedLine& line : all.lines) explained += line.value;
  for (const auto& levels : r.layers[0].mapped->evaluation.levels)
    for (const cost::MemoryLevel& level : levels)
      for (const cost::Flow& flow : level.flows) counted += flow.words;
  EXPECT_DOUBLE_EQ(explained, counted);
}

TEST(Explain, UnknownWordsAreRefused) {
  for (const std::string what : {"latancy", "W@", "@dram", "W@nothing", ""})
    EXPECT_THROW(explain({.run = kConv, .what = what, .map = {.hardware = "tpu_like"}}), InputError) << what;
}

}  // namespace
}  // namespace monet
