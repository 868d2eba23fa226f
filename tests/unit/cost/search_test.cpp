#include "monet/cost/search.h"

#include <gtest/gtest.h>

#include <atomic>

#include "monet/cost/loops.h"
#include "monet/cost/map.h"
#include "monet/cost/tabled.h"
#include "samples.h"

namespace monet::cost {
namespace {

using namespace samples;

const MappingRequest kTpu{.spatial = {{"D1", {{"K", 32}}}, {"D2", {{"C", 32}}}}};

MapOptions as_reference(Criterion criterion, std::size_t limit = 5, bool mixed = false) {
  return {.criterion = criterion, .quirks = kZigzagQuirks, .limit = limit, .spatial = {.mixed = mixed}};
}

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
    const MapResult found = map_layer(each.layer, tpu_like(), kTpu, as_reference(each.criterion));
    ASSERT_TRUE(found.mapped) << found.reason;
    EXPECT_EQ(found.mapped->evaluated, each.evaluated);
    EXPECT_EQ(found.mapped->evaluation.latency, each.latency);
  }
}

TEST(Search, InMemoryArraysWithGeneratedUnrollings) {  // golden: search/{aimc,dimc}/r18_conv2/energy/lpf5/mixSM
  const MappingRequest request{.spatial = {{"D1", {{"K", 128}}}}, .hints = {{"D2", {"C", "FX", "FY"}}}};
  const MapOptions options = as_reference(Criterion::Energy, 5, true);
  for (const bool analog : {true, false}) {
    const MapResult found = map_layer(resnet_conv2(), in_memory(analog), request, options);
    ASSERT_TRUE(found.mapped) << found.reason;
    EXPECT_EQ(found.mapped->evaluation.latency, analog ? 325320 : 424108);
    EXPECT_EQ(found.mapped->evaluated, 360u);
    ASSERT_EQ(found.mapped->spatial[1].size(), 3u);  // FX 3, C 8, FY 3
    EXPECT_EQ(found.mapped->spatial[1][1].factor, 8);
  }
}

// The crash of the reference on a plain matrix product is none of ours.
TEST(Search, InMemoryArraysTakeMatrixProducts) {  // golden: infeasible, search/aimc/r18_fc/energy/lpf5/mixSM
  EXPECT_TRUE(map_layer(gemm(1, 1000, 512), in_memory(true), {}, as_reference(Criterion::Energy, 5, true)).mapped);
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
  const Layer layer = gemm(4, 64, 128);  // left for time: B 2 2, K 2, C 2 2
  const Problem p =
      make_problem(layer, tpu_like(), {{{.dimension = 1, .factor = 32}}, {{.dimension = 2, .factor = 32}}}, Quirks{});
  const auto tried = [&](const std::vector<LoopPattern>& pattern) {
    return search_exhaustively(p, pattern, layer.dimensions, {}).tried;
  };
  EXPECT_EQ(tried({}), 30u);  // 5! / (2! 2!)
  EXPECT_EQ(tried({{"K", std::nullopt}}), 6u);
  EXPECT_EQ(tried({{"K", 2}, {std::nullopt, std::nullopt}, {"B", 2}, {"B", 2}}), 1u);
  const ExhaustiveResult complete = search_exhaustively(p, {{"K", 2}, {"B", 4}, {"C", 4}}, layer.dimensions, {});
  EXPECT_EQ(complete.tried, 1u);
  EXPECT_EQ(complete.best->order, order(layer, {{"K", 2}, {"B", 4}, {"C", 4}}));
  EXPECT_EQ(search_exhaustively(p, {{"K", 2}, {"K", std::nullopt}}, layer.dimensions, {}).reason,
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
  const Spatial spatial = spatial_mappings(layer, gemm_l1, request, {.quirks = kZigzagQuirks}).at(0);
  const ExhaustiveResult found =
      search_exhaustively(make_problem(layer, gemm_l1, spatial, kZigzagQuirks), request.ordering, layer.dimensions, {});
  EXPECT_FALSE(found.best);
  EXPECT_EQ(to_string(found.misfit, layer, gemm_l1),
            "memory 'l1' (4194304 bits) cannot hold the tiles of all its operands: at least 4587520 bits");
}

// Tables against the general functions, bit for bit, on every ordering.
TEST(Search, TablesEqualTheGeneralFunctions) {
  struct Case {
    Layer layer;
    Core core;
    Spatial spatial;
  };
  Core small = tpu_like();
  small.memories[2].size_bits = 40000;  // inputs and outputs must share
  Core tiny = small;
  tiny.memories[2].size_bits = 600;  // some orderings do not fit
  const Spatial on_tpu{{{.dimension = 1, .factor = 32}}, {{.dimension = 2, .factor = 32}}};
  const Spatial on_edge{{{1, 8}}, {{2, 8}}, {{4, 4}}, {{3, 4}}};
  const Spatial in_cells{{{1, 64}}, {{2, 8}, {5, 3}, {6, 3}}};
  std::size_t misfits = 0, compared = 0;
  for (const Case& each :
       {Case{resnet_conv2(), tpu_like(), on_tpu}, Case{resnet_conv2(), small, on_tpu},
        Case{resnet_conv2(), tiny, on_tpu}, Case{conv(128, 64, 28, 3, true), edge_tpu_like(), on_edge},
        Case{resnet_conv2(), in_memory(true), in_cells}, Case{resnet_conv2(), in_memory(false), in_cells},
        Case{gemm(128, 64, 96), tpu_like(), on_tpu}, Case{gemm(1, 32, 32), tpu_like(), on_tpu}}) {
    const Problem p = make_problem(each.layer, each.core, each.spatial, kZigzagQuirks);
    Orderings orderings(p, temporal_loops(p, 6));
    std::optional<TabledCosts> tables = TabledCosts::make(p, orderings.kinds(), orderings.counts());
    ASSERT_TRUE(tables);
    Evaluation e;
    Misfit misfit;
    while (orderings.next()) {
      Costs tabled;
      const bool fits = tables->cost(orderings.sequence(), orderings.changed(), tabled);
      ++compared;
      ASSERT_EQ(fits, allocate_greedily(p, orderings.current(), false, e.cuts, misfit));
      if (!fits) {
        ++misfits;
        continue;
      }
      const Costs general = evaluate(p, orderings.current(), e);
      ASSERT_EQ(tabled.latency, general.latency);
      ASSERT_EQ(tabled.energy_pj, general.energy_pj);
    }
  }
  EXPECT_GT(misfits, 0u);
  EXPECT_GT(compared, 4000u);
}

TEST(Search, TablesAreOnlyForWhatIsExact) {
  const Layer odd = gemm(57, 64, 64);  // 28.5 lanes
  const Problem p = make_problem(odd, tpu_like(), {{{.dimension = 0, .factor = 32}}, {}}, kZigzagQuirks);
  const Orderings orderings(p, temporal_loops(p, 6));
  EXPECT_FALSE(TabledCosts::make(p, orderings.kinds(), orderings.counts()));
  const Problem ours = make_problem(gemm(64, 64, 64), tpu_like(), {{}, {}}, Quirks{});
  EXPECT_FALSE(TabledCosts::make(ours, orderings.kinds(), orderings.counts()));
}

// A flag that is up from the start stops a search at its first look at it, after as many orderings as it says.
TEST(Search, StoppedGivesTheBestOfTheFirst) {
  const std::atomic<bool> asked = true;
  const Layer layer = resnet_conv2();
  const std::vector<Spatial> spatials = spatial_mappings(layer, tpu_like(), kTpu, {.quirks = kZigzagQuirks});
  const Problem p = make_problem(layer, tpu_like(), spatials[0], kZigzagQuirks);
  for (const Criterion criterion : {Criterion::Latency, Criterion::Energy}) {
    const ExhaustiveResult found = search_exhaustively(
        p, {}, layer.dimensions,
        {.criterion = criterion, .limit = 8, .watch = {.deadline = Deadline(std::nullopt, &asked)}});
    EXPECT_TRUE(found.is_stopped);
    const std::vector<TemporalLoop> loops = temporal_loops(p, 8);
    EXPECT_EQ(found.orderings, orderings_of(loops));
    ASSERT_GT(found.seen, 100u);
    ASSERT_LT(static_cast<double>(found.seen), found.orderings);
    Orderings orderings(p, loops);
    std::optional<Costs> best;
    for (std::uint64_t i = 0; i < found.seen; ++i) {
      ASSERT_TRUE(orderings.next());
      Evaluation e;
      Misfit misfit;
      if (!allocate_greedily(p, orderings.current(), false, e.cuts, misfit)) continue;
      const Costs costs = evaluate(p, orderings.current(), e);
      if (!best || is_better(criterion, costs, *best)) best = costs;
    }
    ASSERT_TRUE(best && found.best);
    EXPECT_EQ(found.best->costs.latency, best->latency);
    EXPECT_EQ(found.best->costs.energy_pj, best->energy_pj);
  }
}

TEST(Search, StoppedIsNeitherProvenNorInfeasible) {
  const std::atomic<bool> asked = true;
  const Watch watch{.deadline = Deadline(std::nullopt, &asked)};
  MapOptions all = as_reference(Criterion::Latency, 8);
  all.watch = watch;
  const MapResult cut = map_layer(resnet_conv2(), tpu_like(), kTpu, all);
  ASSERT_TRUE(cut.mapped);
  EXPECT_TRUE(cut.mapped->is_stopped);
  EXPECT_FALSE(cut.mapped->is_proven);
  EXPECT_LT(static_cast<double>(cut.mapped->evaluated), cut.mapped->orderings);
  // The proof has no time to make its tables: nothing is known.
  const MapResult none = map_layer(resnet_conv2(), tpu_like(), kTpu, {.watch = watch});
  EXPECT_FALSE(none.mapped);
  EXPECT_TRUE(none.is_stopped);
  // With a limit of labels instead there is a mapping and a bound on both sides of the best.
  const double best = map_layer(resnet_conv2(), tpu_like(), kTpu, {}).mapped->evaluation.latency;
  const MapResult some = map_layer(resnet_conv2(), tpu_like(), kTpu, {.most_labels = 100});
  ASSERT_TRUE(some.mapped);
  EXPECT_FALSE(some.mapped->is_proven);
  EXPECT_FALSE(some.mapped->is_stopped);
  EXPECT_LE(some.mapped->bound, best);
  EXPECT_GT(some.mapped->bound, 0);
  EXPECT_GE(some.mapped->evaluation.latency, best);
}

TEST(Search, OrderingsAreCountedBeforeTheyAreTried) {
  for (const std::size_t limit : {std::size_t{4}, std::size_t{6}, std::size_t{7}}) {
    const MapOptions options = as_reference(Criterion::Latency, limit);
    const MapResult found = map_layer(resnet_conv2(), tpu_like(), kTpu, options);
    ASSERT_TRUE(found.mapped);
    EXPECT_EQ(orderings_to_try(resnet_conv2(), tpu_like(), kTpu, options), found.mapped->orderings);
    EXPECT_EQ(static_cast<double>(found.mapped->evaluated), found.mapped->orderings);  // all fit
  }
  EXPECT_GT(orderings_to_try(gemm(1 << 12, 1 << 14, 1 << 14), tpu_like(), kTpu, as_reference(Criterion::Latency, 0)),
            1e9);
}

}  // namespace
}  // namespace monet::cost
