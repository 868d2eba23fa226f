#include "monet/cost/problem.h"

#include <gtest/gtest.h>

#include "monet/base/diagnostic.h"
#include "monet/cost/allocate.h"
#include "samples.h"

namespace monet::cost {
namespace {

using namespace samples;

// Golden figures: zigzag-dse 3.8.5 on cores drawn at random; words are {from high, to low, from low, to high}.
struct Figures {
  double energy_pj, stall, onload, offload, latency;
  std::vector<std::vector<std::array<double, 4>>> words;  // per operand and memory
  std::vector<std::vector<int>> cuts;
};

void expect_figures(const Layer& layer, const Core& core, const Spatial& spatial,
                    const std::vector<std::pair<std::string, double>>& loops, const Figures& figures) {
  const Problem p = make_problem(layer, core, spatial, kZigzagQuirks);
  const std::vector<TemporalLoop> given = order(layer, loops);
  Evaluation e;
  Misfit misfit;
  ASSERT_TRUE(allocate_greedily(p, given, false, e.cuts, misfit));
  evaluate(p, given, e);
  EXPECT_NEAR(e.energy_pj, figures.energy_pj, 1e-9 * figures.energy_pj);
  EXPECT_EQ(e.stall, figures.stall);
  EXPECT_EQ(e.onload, figures.onload);
  EXPECT_EQ(e.offload, figures.offload);
  EXPECT_EQ(e.latency, figures.latency);
  for (std::size_t o = 0; o < layer.operands.size(); ++o) {
    ASSERT_EQ(p.operands[o].memories, figures.words[o].size());
    for (std::size_t m = 0; m < p.operands[o].memories; ++m) {
      EXPECT_EQ(e.cuts[o][m], figures.cuts[o][m]) << layer.operands[o].name << m;
      for (std::size_t d = 0; d < 4; ++d)
        EXPECT_EQ(e.levels[o][m].flows[d].words, figures.words[o][m][d]) << layer.operands[o].name << m << d;
    }
  }
}

TEST(Problem, ResNetConvolutionOnTpuLike) {  // golden: fixed/tpu_like/r18_conv2/1
  const Layer layer = resnet_conv2();
  expect_figures(layer, tpu_like(), {{{.dimension = 1, .factor = 32}}, {{.dimension = 2, .factor = 32}}},
                 {{"OX", 2},
                  {"OX", 2},
                  {"OY", 2},
                  {"C", 2},
                  {"OX", 2},
                  {"FX", 3},
                  {"OX", 7},
                  {"K", 2},
                  {"FY", 3},
                  {"OY", 7},
                  {"OY", 2},
                  {"OY", 2}},
                 {.energy_pj = 85534415.136,
                  .stall = 112894,
                  .onload = 841,
                  .offload = 2,
                  .latency = 226633,
                  .words = {{{115605504, 115605504, 115605504, 115605504}, {0, 28224, 28224, 784}, {0, 0, 25088, 0}},
                            {{36864, 14450688, 0, 0}, {0, 4608, 0, 0}},
                            {{841, 14112, 0, 0}, {0, 26912, 0, 0}}},
                  .cuts = {{0, 12, 12}, {12, 12}, {12, 12}}});
}

// The request names D2 first: its factor 2 of B is spread to 1.5 before N on D1 is looked at, and halves round to even.
TEST(Problem, HalvesRoundAsTheReferenceMultiplies) {
  const Core core = samples::core(
      {{"D1", 6}, {"D2", 3}}, 0.979,
      {{"rf_0", 64, 0.0219, 0.0135, "O", "D2", {{64, 4096, "O.th"}, {8, 16, "O.tl"}, {24, 32, "O.fh O.fl"}}},
       {"rf_1", 64, 0.0289, 0.0067, "I2", "D2", {{32, 32, "I2.tl"}, {8, 8, "I2.fh"}}},
       {"buffer_0", 1024, 0.4621, 0.5126, "I2", "D1 D2", {{24, 1024, "I2.fh I2.tl"}}},
       {"sram_0", 1048576, 20.8289, 27.2251, "I1", "D1 D2", {{32, 32, "I1.tl"}, {512, 512, "I1.fh"}}},
       {"sram_1", 65536, 5.6027, 28.2946, "I2", "D1 D2", {{256, 1024, "I2.tl"}, {64, 256, "I2.fh"}}},
       {"dram_0",
        17179869184,
        1225.2502,
        511.1099,
        "I2 I1 O",
        "D1 D2",
        {{8, 32, "I2.tl I1.tl O.tl O.th"}, {32, 32, "I2.fh I1.fh O.fh O.fl"}}}});
  const Layer layer =
      samples::layer({{"B", 3}, {"M", 2}, {"N", 56}, {"K", 4}},
                     {{"O", "O", 8, 16, "B M N"}, {"I", "I1", 8, 8, "B M K"}, {"W", "I2", 8, 8, "B K N"}});
  expect_figures(layer, core, {{{.dimension = 2, .factor = 6, .turn = 1}}, {{.dimension = 0, .factor = 2}}},
                 {{"K", 4}, {"M", 2}, {"B", 2}, {"N", 5}, {"N", 2}},
                 {.energy_pj = 268484.8072,
                  .stall = 0,
                  .onload = 15,
                  .offload = 3,
                  .latency = 178,
                  .words = {{{0, 960, 720, 1}, {0, 0, 100, 0}},
                            {{1, 160, 0, 0}, {0, 6, 0, 0}},
                            {{720, 960, 0, 0}, {5, 5, 0, 0}, {22, 7, 0, 0}, {0, 167, 0, 0}}},
                  .cuts = {{2, 5}, {5, 5}, {2, 3, 3, 5}}});
}

// 1.75 lanes of C leave partial sums above the array, the one lane that latency knows leaves none.
TEST(Problem, IntegerLanesMayLeaveNoPartialSums) {
  const Core core = samples::core(
      {{"D1", 16}, {"D2", 5}}, 0.616,
      {{"rf_0", 512, 0.0077, 0.0181, "I1", "D2", {{16, 16, "I1.tl"}, {512, 512, "I1.fh"}}},
       {"rf_1", 1024, 0.0098, 0.0156, "I2", "", {{128, 128, "I2.tl"}, {128, 128, "I2.fh"}}},
       {"rf_2", 1024, 0.0058, 0.024, "O", "", {{64, 64, "O.th"}, {24, 128, "O.tl"}, {16, 16, "O.fh O.fl"}}},
       {"buffer_0", 1024, 0.1253, 0.1478, "O I2", "", {{8, 32, "O.fh O.tl O.fl O.th I2.fh I2.tl"}}},
       {"sram_0", 1048576, 15.9259, 28.0564, "I2", "D1 D2", {{32, 32, "I2.tl"}, {128, 128, "I2.fh"}}},
       {"dram_0",
        4194304,
        808.3789,
        660.9985,
        "O I2 I1",
        "D1 D2",
        {{4096, 4096, "O.tl O.th I2.tl I1.tl"}, {64, 256, "O.fh O.fl I2.fh I1.fh"}}}});
  const Layer layer = samples::layer({{"B", 1}, {"K", 2}, {"C", 7}},
                                     {{"O", "O", 8, 32, "B K"}, {"W", "I1", 8, 8, "K C"}, {"I", "I2", 16, 16, "B C"}});
  expect_figures(layer, core, {{{.dimension = 0, .factor = 1}}, {{.dimension = 2, .factor = 2, .turn = 1}}},
                 {{"K", 2}, {"C", 4}},
                 {.energy_pj = 1720.6476,
                  .stall = 7,
                  .onload = 5,
                  .offload = 2,
                  .latency = 22,
                  .words = {{{8, 6, 32, 2}, {0, 4, 4, 1}, {0, 0, 0, 0}},
                            {{1, 8, 0, 0}, {0, 1, 0, 0}},
                            {{2, 8, 0, 0}, {4, 4, 0, 0}, {1, 4, 0, 0}, {0, 1, 0, 0}}},
                  .cuts = {{2, 2, 2}, {2, 2}, {2, 2, 2, 2}}});
}

TEST(Problem, UnrollingsAreSpreadEvenly) {
  const Layer layer = gemm(56, 64, 64);
  const Spatial on_32{{{.dimension = 0, .factor = 32}}, {}};
  const Problem fractional = make_problem(layer, tpu_like(), on_32, kZigzagQuirks);
  EXPECT_EQ(fractional.temporal[0], 2);
  EXPECT_EQ(fractional.operands[0].fractional.steps.back().factor, 28);
  const Layer odd = gemm(57, 64, 64);
  EXPECT_EQ(make_problem(odd, tpu_like(), on_32, kZigzagQuirks).operands[0].fractional.steps.back().factor, 28.5);
  EXPECT_EQ(make_problem(odd, tpu_like(), on_32, kZigzagQuirks).operands[0].integer.steps.back().factor, 28);
  EXPECT_EQ(make_problem(odd, tpu_like(), on_32, Quirks{}).operands[0].fractional.steps.back().factor, 29);
}

// Of two equal factors of one dimension the one the request names first is adjusted.
TEST(Problem, TheFirstInTheRequestIsAdjusted) {
  const Core core = edge_tpu_like();
  const Layer layer = gemm(1, 30, 64);
  Spatial spatial{{{.dimension = 1, .factor = 4, .turn = 1}}, {{.dimension = 1, .factor = 4, .turn = 0}}, {}, {}};
  const auto factor_below_rf = [&](const Problem& p) { return p.operands[0].fractional.steps[0].factor; };  // on D2
  EXPECT_DOUBLE_EQ(factor_below_rf(make_problem(layer, core, spatial, kZigzagQuirks)), 30.0 / 8);
  std::swap(spatial[0][0].turn, spatial[1][0].turn);
  EXPECT_EQ(factor_below_rf(make_problem(layer, core, spatial, kZigzagQuirks)), 4);
}

TEST(Problem, InstancesAndWhatTheyShare) {
  const Problem p = make_problem(resnet_conv2(), tpu_like(),
                                 {{{.dimension = 1, .factor = 32}}, {{.dimension = 2, .factor = 32}}}, {});
  const SpatialLevels& weights = p.operands[1].integer;
  EXPECT_EQ(weights.instances[1], 1024);  // registers, one a lane
  EXPECT_EQ(weights.copies[1], 1);
  const SpatialLevels& inputs = p.operands[2].integer;
  EXPECT_EQ(inputs.instances[1], 1);
  EXPECT_EQ(inputs.boost[0], 32);  // 32 channels at once, each for 32 lanes of K
  const SpatialLevels& outputs = p.operands[0].integer;
  EXPECT_EQ(outputs.instances[1], 1024);
  EXPECT_EQ(outputs.copies[1], 32);  // partial sums of the same 32 outputs
  EXPECT_TRUE(outputs.reduces_from[1]);
  EXPECT_FALSE(outputs.reduces_from[2]);
}

TEST(Problem, RefusesWhatCannotBeModelled) {
  Core no_weights = tpu_like();
  for (hardware::Memory& memory : no_weights.memories) std::erase(memory.slots, Slot::Weight);
  EXPECT_THROW(make_problem(gemm(2, 2, 2), no_weights, {{}, {}}, {}), InputError);
  EXPECT_THROW(make_problem(gemm(1 << 20, 1 << 20, 1 << 20), tpu_like(), {{}, {}}, {}), InputError);
  EXPECT_NO_THROW(make_problem(gemm(1 << 20, 1 << 16, 1 << 20), tpu_like(), {{}, {}}, {}));
  EXPECT_THROW(make_problem(gemm(1, 0, 1), tpu_like(), {{}, {}}, {}), InputError);
  Core no_lanes = tpu_like();
  no_lanes.array->dimensions[1].size = 0;
  EXPECT_THROW(make_problem(gemm(2, 2, 2), no_lanes, {{}, {}}, {}), InputError);
  Layer all_padding = conv(4, 4, 1, 2);
  for (work::Axis& axis : all_padding.operands[2].axes)
    if (axis.terms.size() == 2) axis.extent = 0;
  EXPECT_THROW(make_problem(all_padding, tpu_like(), {{}, {}}, {}), InputError);
  EXPECT_THROW(make_problem(all_padding, tpu_like(), {{}, {}}, kZigzagQuirks), InputError);
}

}  // namespace
}  // namespace monet::cost
