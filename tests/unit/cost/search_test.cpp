#include "monet/cost/search.h"

#include <gtest/gtest.h>

#include "monet/cost/loops.h"
#include "samples.h"

namespace monet::cost {
namespace {

using namespace samples;

const MappingRequest kTpu{.spatial = {{"D1", {{"K", 32}}}, {"D2", {{"C", 32}}}}};
const SpatialOptions kQuirk{.quirks = kZigzagQuirks};

TEST(Search, ResNetConvolutions) {  // golden: search/tpu_like/…
  struct Case {
    Layer layer;
    Criterion criterion;
    std::uint64_t evaluated;
    double latency;
  };
  for (const Case& each :
       {Case{resnet_conv2(), Criterion::Latency, 720, 113739},
        Case{conv(64, 3, 112, 7, true), Criterion::Energy, 120, 1247817},
        Case{conv(128, 64, 28, 3, true), Criterion::Edp, 720, 60692},
        Case{conv(512, 512, 7, 3), Criterion::Latency, 720, 300401},
        Case{gemm(1, 1000, 512), Criterion::Edp, 60, 63645}, Case{gemm(128, 768, 768), Criterion::Edp, 120, 98305}}) {
    const LayerSearchResult found =
        search_layer(each.layer, tpu_like(), kTpu, kQuirk, {.criterion = each.criterion, .limit = 5});
    ASSERT_TRUE(found.best);
    EXPECT_EQ(found.evaluated, each.evaluated);
    EXPECT_EQ(found.best->costs.latency, each.latency);
  }
}

TEST(Search, InMemoryArraysWithGeneratedUnrollings) {  // golden: search/{aimc,dimc}/r18_conv2/energy/lpf5/mixSM
  const MappingRequest request{.spatial = {{"D1", {{"K", 128}}}}, .hints = {{"D2", {"C", "FX", "FY"}}}};
  SpatialOptions mixed = kQuirk;
  mixed.mixed = true;
  const ExhaustiveOptions energy{.criterion = Criterion::Energy, .limit = 5};
  EXPECT_EQ(search_layer(resnet_conv2(), in_memory(true), request, mixed, energy).best->costs.latency, 325320);
  EXPECT_EQ(search_layer(resnet_conv2(), in_memory(false), request, mixed, energy).best->costs.latency, 424108);
}

TEST(Search, TheBestIsTheFirstOfTheBest) {
  const Layer layer = gemm(4, 64, 64);
  const Problem p = make_problem(layer, tpu_like(), {{{.dimension = 1, .factor = 32}}, {}}, kZigzagQuirks);
  for (const Criterion criterion : {Criterion::Latency, Criterion::Energy, Criterion::Edp}) {
    const ExhaustiveResult found = search_exhaustively(p, {}, layer.dimensions, {.criterion = criterion, .limit = 5});
    ASSERT_TRUE(found.best);
    // By hand over the same orderings.
    Orderings orderings(p, temporal_loops(p, 5));
    std::optional<Costs> best;
    Evaluation e;
    Misfit misfit;
    std::uint64_t count = 0;
    while (orderings.next()) {
      if (!allocate_greedily(p, orderings.current(), false, e.cuts, misfit)) continue;
      ++count;
      const Costs costs = evaluate(p, orderings.current(), e);
      if (!best || is_better(criterion, costs, *best)) best = costs;
    }
    EXPECT_EQ(found.evaluated, count);
    EXPECT_EQ(found.best->costs.latency, best->latency);
    EXPECT_EQ(found.best->costs.energy_pj, best->energy_pj);
    ASSERT_TRUE(allocate_greedily(p, found.best->order, false, e.cuts, misfit));
    EXPECT_EQ(evaluate(p, found.best->order, e).latency, best->latency);
  }
}

TEST(Search, PatternsRestrictIt) {
  MappingRequest request = kTpu;
  const Layer layer = gemm(4, 64, 128);                                    // left for time: B 2 2, K 2, C 2 2
  EXPECT_EQ(search_layer(layer, tpu_like(), request, {}, {}).tried, 30u);  // 5! / (2! 2!)
  request.ordering = {{"K", std::nullopt}};
  EXPECT_EQ(search_layer(layer, tpu_like(), request, {}, {}).tried, 6u);
  request.ordering = {{"K", 2}, {std::nullopt, std::nullopt}, {"B", 2}, {"B", 2}};
  EXPECT_EQ(search_layer(layer, tpu_like(), request, {}, {}).tried, 1u);
  request.ordering = {{"K", 2}, {"B", 4}, {"C", 4}};
  const LayerSearchResult complete = search_layer(layer, tpu_like(), request, {}, {});
  EXPECT_EQ(complete.tried, 1u);
  EXPECT_EQ(complete.best->order, order(layer, {{"K", 2}, {"B", 4}, {"C", 4}}));
  request.ordering = {{"K", 2}, {"K", std::nullopt}};
  EXPECT_EQ(search_layer(layer, tpu_like(), request, {}, {}).reason,
            "no ordering of the loops has the pinned ones in their places");
}

// golden: infeasible, fixed/gemm_l1/gemm_256_512_64/0
TEST(Search, SaysWhyThereIsNone) {
  const Core gemm_l1 = core(
      {{"D1", 8}, {"D2", 8}, {"D3", 8}}, 0.04,
      {{"reg_O", 32, 0.02, 0.02, "O", "D2", {{32, 32, "O.fh"}, {32, 32, "O.tl"}, {32, 32, "O.fl"}, {32, 32, "O.th"}}},
       {"l1",
        4194304,
        22.9,
        52.01,
        "I1 I2 O",
        "D1 D2 D3",
        {{64, 512, "I1.tl"}, {64, 512, "I2.tl"}, {64, 2048, "O.tl O.fl"}}}});
  const Layer layer =
      samples::layer({{"D0", 256}, {"D1", 512}, {"D2", 64}},
                     {{"O", "O", 8, 32, "D0 D1"}, {"I", "I1", 8, 8, "D0 D2"}, {"W", "I2", 8, 8, "D2 D1"}});
  const MappingRequest request{.spatial = {{"D1", {{"D0", 8}}}, {"D2", {{"D2", 8}}}, {"D3", {{"D1", 8}}}},
                               .ordering = {{"D0", 4}, {"D0", 8}, {"D1", 4}, {"D1", 16}, {"D2", 2}, {"D2", 4}}};
  EXPECT_EQ(search_layer(layer, gemm_l1, request, kQuirk, {}).reason,
            "memory 'l1' (4194304 bits) cannot hold the tiles of all its operands: at least 4587520 bits");
}

}  // namespace
}  // namespace monet::cost
