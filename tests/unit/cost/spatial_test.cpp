#include "monet/cost/spatial.h"

#include <gtest/gtest.h>

#include "monet/cost/map.h"
#include "monet/cost/unrolling_search.h"
#include "samples.h"

namespace monet::cost {
namespace {

using namespace samples;

std::string text(const Layer& layer, const Spatial& spatial) {
  std::string made;
  for (const auto& loops : spatial) {
    for (const SpatialLoop& loop : loops)
      made += layer.dimensions[loop.dimension].name + std::to_string(loop.factor) + " ";
    made += "| ";
  }
  return made;
}

std::string first(const Layer& layer, const Core& core, const MappingRequest& request, const SpatialOptions& options) {
  std::string reason;
  const std::vector<Spatial> all = spatial_mappings(layer, core, request, options, &reason);
  return all.empty() ? reason : text(layer, all[0]);
}

const SpatialOptions kQuirk{.quirks = kZigzagQuirks};

TEST(Spatial, GivenUnrollingsAreCut) {  // golden: edge_tpu_like/gpt2_proj, r18_conv1 on tpu_like
  const MappingRequest request{.spatial = {{"D1", {{"K", 32}}}, {"D2", {{"C", 32}, {"Q", 2}}}}};
  for (const SpatialOptions& options : {SpatialOptions{}, kQuirk}) {
    EXPECT_EQ(first(conv(64, 3, 112, 7), tpu_like(), request, options), "K32 | C3 | ");
    EXPECT_EQ(first(gemm(1, 1000, 512), tpu_like(), request, options), "K32 | C32 | ");
  }
}

TEST(Spatial, TooManyOnOneArrayDimension) {
  const MappingRequest request{.spatial = {{"D1", {{"C", 8}, {"FX", 3}, {"FY", 3}}}, {"D2", {}}}};
  const Layer layer = conv(64, 64, 56, 3);
  EXPECT_EQ(first(layer, tpu_like(), request, {}), "C8 FX3 | | ");      // 32 lanes: what is given first stays
  EXPECT_EQ(first(layer, tpu_like(), request, kQuirk), "C8 FY3 | | ");  // FX comes first out of the set
}

TEST(Spatial, TooManyOfOneLayerDimension) {
  const MappingRequest request{.spatial = {{"D1", {{"K", 8}}}, {"D2", {{"K", 4}}}}};
  const Layer layer = gemm(4, 16, 4);
  EXPECT_EQ(first(layer, tpu_like(), request, {}), "K8 | K2 | ");
  EXPECT_EQ(first(layer, tpu_like(), request, kQuirk), "| K4 | ");  // D1 comes first out of the set
}

// golden: search/edge_tpu_like/r18_conv2/energy/lpf5/autoSM, search/aimc/r18_conv2/energy/lpf5/mixSM
TEST(Spatial, GeneratedAsTheReferenceDoes) {
  const Layer layer = resnet_conv2();
  const MappingRequest hints{
      .hints = {{"D1", {"K"}}, {"D2", {"C", "FX", "FY"}}, {"D3", {"OX", "OY"}}, {"D4", {"OX", "OY"}}}};
  SpatialOptions mixed = kQuirk;
  mixed.mixed = true;
  const std::vector<Spatial> generated = spatial_mappings(layer, in_memory(true), hints, mixed);
  ASSERT_EQ(generated.size(), 3u);
  EXPECT_TRUE(std::any_of(generated.begin(), generated.end(),
                          [&](const Spatial& each) { return text(layer, each) == "K64 | FX3 C8 FY3 | "; }));
  EXPECT_EQ(spatial_mappings(layer, edge_tpu_like(), {}, kQuirk).size(), 3u);
}

// A naive list of all candidates, sorted: what the bounded search must equal.
TEST(Spatial, BoundedSearchEqualsSortingAll) {
  const Layer layer = samples::layer({{"B", 6}, {"K", 12}, {"C", 10}}, {});
  const std::vector<OpenDimension> open{
      {.array_dimension = 0, .size = 12, .dimensions = {1, 0, 2}, .limit = {6, 12, 10}},
      {.array_dimension = 1, .size = 6, .dimensions = {0, 1, 2}, .limit = {6, 6, 5}},
      {.array_dimension = 2, .size = 4, .dimensions = {2, 1}, .limit = {4, 4, 2}}};
  const auto ways = [&](const OpenDimension& each) {
    std::vector<std::vector<SpatialLoop>> found;
    for (const std::size_t d : each.dimensions)
      for (std::int64_t f = each.limit[d]; f > 0; --f)
        if (each.limit[d] % f == 0) found.push_back({{.dimension = d, .factor = f}});
    return found;
  };
  struct Candidate {
    double merit;
    Spatial spatial;
  };
  std::vector<Candidate> all;
  for (const auto& x : ways(open[0]))
    for (const auto& y : ways(open[1]))
      for (const auto& z : ways(open[2])) {
        std::vector<double> totals(3, 1);
        double lanes = 1;
        for (const auto& loops : {x, y, z}) {
          totals[loops[0].dimension] *= static_cast<double>(loops[0].factor);
          lanes *= static_cast<double>(loops[0].factor);
        }
        if (totals[0] > 6 || totals[1] > 12 || totals[2] > 10) continue;
        all.push_back({lanes + lanes / *std::max_element(totals.begin(), totals.end()) - 1, {x, y, z}});
      }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.merit > b.merit; });
  ASSERT_GT(all.size(), 100u);
  const std::vector<Spatial> best = fill_open_dimensions(layer, Spatial(3), open, 40, false);
  ASSERT_EQ(best.size(), 40u);
  for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(text(layer, best[i]), text(layer, all[i].spatial)) << i;
}

TEST(Spatial, MixedWaysFillTheArray) {
  const Layer layer = samples::layer({{"K", 5}, {"C", 6}}, {});
  const OpenDimension open{.array_dimension = 0, .size = 16, .dimensions = {0, 1}, .limit = {5, 6}};
  EXPECT_EQ(text(layer, fill_open_dimensions(layer, Spatial(1), {open}, 1, false)[0]), "C6 | ");
  EXPECT_EQ(text(layer, fill_open_dimensions(layer, Spatial(1), {open}, 1, true)[0]), "K5 C3 | ");
}

TEST(Spatial, BandwidthLimitsTheInnermostMemory) {
  Core core = edge_tpu_like();  // rf_1B serves D3 and D4 with 8 bits of weights
  const MappingRequest request{.spatial = {{"D1", {{"K", 8}}}, {"D2", {{"C", 8}}}, {"D3", {{"C", 4}}}, {"D4", {}}}};
  EXPECT_EQ(first(gemm(4, 64, 64), core, request, kQuirk), "K8 | C8 | C1 | | ");
  EXPECT_EQ(first(gemm(4, 64, 64), core, request, {}), "K8 | C8 | | | ");
  core.memories[0].ports[0].max_bits_per_cycle = 4;
  EXPECT_EQ(first(gemm(4, 64, 64), core, request, kQuirk),
            "memory 'rf_1B' has 4 bits a cycle for W, less than one element: 8 bits");
  EXPECT_EQ(first(gemm(4, 64, 64), core, request, {}), "K8 | C8 | | | ");  // slowly, but it works
}

// A buffer of 16 outputs serves both array dimensions: 4 · 4 sums fit, 5 · 4 do not.
Core with_buffer(std::int64_t bits) {
  return core({{"D1", 8}, {"D2", 8}}, 1,
              {{"buffer", bits, 1, 1, "O", "D1 D2", {{16, 4096, "O.fl O.tl O.fh O.th"}}},
               {"dram", 1 << 30, 1, 1, "I1 I2 O", "D1 D2", {{8, 4096, "I1.tl I2.tl O.tl O.fl"}}}});
}

TEST(Spatial, CapacityLowersTheLargest) {
  const MappingRequest request{.spatial = {{"D1", {{"K", 8}}}, {"D2", {{"B", 5}}}}};
  for (const SpatialOptions& options : {SpatialOptions{}, kQuirk}) {
    EXPECT_EQ(first(gemm(64, 64, 4), with_buffer(16 * 40), request, options), "K8 | B5 | ");
    EXPECT_EQ(first(gemm(64, 64, 4), with_buffer(16 * 39), request, options), "K7 | B5 | ");
    EXPECT_EQ(first(gemm(64, 64, 4), with_buffer(16 * 16), request, options), "K4 | B4 | ");
  }
  EXPECT_EQ(first(gemm(64, 64, 4), with_buffer(15), {.spatial = {{"D1", {{"K", 8}}}, {"D2", {}}}}, kQuirk),
            "memory 'buffer' (15 bits) cannot hold one element of O: 16 bits");
  EXPECT_EQ(first(gemm(64, 64, 4), with_buffer(15), request, {}), "K1 | B1 | ");
}

// Both are 8 and are lowered to 4 and 5 or 5 and 4; both take what became of the last.
TEST(Spatial, QuirkEqualFactorsShareTheirFate) {
  const MappingRequest request{.spatial = {{"D1", {{"K", 8}}}, {"D2", {{"B", 8}}}}};
  EXPECT_EQ(first(gemm(64, 64, 4), with_buffer(16 * 20), request, {}), "K4 | B5 | ");
  EXPECT_EQ(first(gemm(64, 64, 4), with_buffer(16 * 20), request, kQuirk), "K5 | B5 | ");
  EXPECT_EQ(first(gemm(64, 64, 4), with_buffer(15), request, kQuirk), "K1 | B1 | ");  // 0 and 1: both are 1
}

TEST(Spatial, HugeFactorsEndSoon) {
  Core core = with_buffer(16 * 1000);
  core.array->dimensions = {{"D1", std::int64_t{1} << 40}, {"D2", std::int64_t{1} << 40}};
  const std::int64_t huge = std::int64_t{1} << 40;
  core.memories[0].ports[0].max_bits_per_cycle = std::int64_t{1} << 60;
  const MappingRequest request{.spatial = {{"D1", {{"K", huge}}}, {"D2", {{"B", huge}}}}};
  EXPECT_EQ(first(gemm(huge, huge, 4), core, request, {}), "K31 | B32 | ");
}

TEST(Spatial, RequestOrderIsKept) {
  const MappingRequest request{.spatial = {{"D2", {{"C", 4}}}}};
  const std::vector<Spatial> all = spatial_mappings(gemm(4, 64, 64), tpu_like(), request, kQuirk);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0][1][0].turn, 0u);
  EXPECT_EQ(all[0][0][0].turn, 1u);
}

// Sums are one element for a column of four lanes: what runs along D2 must be added up.
Core weight_stationary() {
  Core made = core({{"D1", 4}, {"D2", 4}}, 1,
                   {{"sums", 16, 0, 0, "O", "D2", {{16, 16, "O.fl O.tl O.fh O.th"}}},
                    {"memory", 1 << 20, 1, 1, "I1 I2 O", "D1 D2", {{8, 4096, "I1.tl I2.tl O.tl O.fl"}}}});
  made.unrollings = {{{"K", 4}}, {{"C", 4}}};
  return made;
}

double steps(const Layer& layer, const Core& core, const MapOptions& options = {}) {
  const MapResult found = map_layer(layer, core, {}, options);
  return found.mapped ? found.mapped->evaluation.temporal_cycles : 0;
}

TEST(Spatial, WhereSumsHinderTheUsualUnrollingOthersAreTried) {
  Core core = weight_stationary();
  const Layer forward = gemm(8, 8, 8);
  // O[K, C] += I[B, C] · W[B, K]: C makes other outputs, B is added up.
  const Layer gradient = layer({{"B", 8}, {"K", 8}, {"C", 8}},
                               {{"O", "O", 16, 16, "K C"}, {"I", "I1", 8, 8, "B C"}, {"W", "I2", 8, 8, "B K"}});
  EXPECT_FALSE(is_hindered(forward, core, 1, "C"));
  EXPECT_TRUE(is_hindered(gradient, core, 1, "C"));
  EXPECT_FALSE(is_hindered(gradient, core, 1, "B"));
  EXPECT_EQ(steps(forward, core), 8 * 8 * 8 / 16);
  EXPECT_EQ(steps(gradient, core), 8 * 8 * 8 / 16);
  EXPECT_EQ(unrollings_of(forward, core, {}, {}).size(), 1u);
  core.dataflow = hardware::Dataflow::Fixed;
  EXPECT_EQ(steps(gradient, core), 8 * 8 * 8 / 4);
}

TEST(Spatial, AnArrayLeftIdleIsFilledOtherwise) {
  const Core core = weight_stationary();
  // Two channels leave half of D2 idle; a window laid there does not.
  EXPECT_EQ(steps(conv(4, 2, 4, 3), core, {.spatial = {.least_filled = 0.5}}), 4 * 4 * 9);
  EXPECT_LT(steps(conv(4, 2, 4, 3), core, {.spatial = {.least_filled = 0.75}}), 4 * 4 * 9);
}

}  // namespace
}  // namespace monet::cost
