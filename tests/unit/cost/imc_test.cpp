#include "monet/cost/imc.h"

#include <gtest/gtest.h>

#include "monet/cost/allocate.h"
#include "monet/cost/problem.h"
#include "samples.h"

namespace monet::cost {
namespace {

using namespace samples;

void expect_close(double ours, double theirs) { EXPECT_NEAR(ours, theirs, 1e-9 * std::abs(theirs)); }

// Convolution conv5 of ResNet-18 with K on the columns and 14 · 3 · 3 rows, or C on the rows.
const Layer kConv5 = conv(512, 512, 7, 3);
const Spatial kWindows{{{.dimension = 1, .factor = 128}},
                       {{.dimension = 2, .factor = 14}, {.dimension = 6, .factor = 3}, {.dimension = 5, .factor = 3}}};
const Spatial kChannels{{{.dimension = 1, .factor = 128}}, {{.dimension = 2, .factor = 128}}};

TEST(Imc, AnalogEnergy) {  // golden: fixed/aimc/r18_conv5/0
  const ImcEnergy e = imc_energy(*in_memory(true).array, kConv5, kWindows);
  expect_close(e.converters_in, 292626.432);
  expect_close(e.converters_out, 20583920.676372483);
  expect_close(e.multipliers, 1048773.132288);
  expect_close(e.bit_lines, 1065420.324864);
  EXPECT_EQ(e.adder_trees, 0);
  expect_close(e.place_values, 948889.976832);
  expect_close(e.accumulators, 449474.199552);
  expect_close(total(e), 24389104.741908483);
}

TEST(Imc, DigitalEnergy) {  // golden: fixed/dimc/r18_conv5/0 and 1
  const hardware::Array array = *in_memory(false).array;
  const ImcEnergy windows = imc_energy(array, kConv5, kWindows);
  EXPECT_EQ(windows.converters_in, 0);
  EXPECT_EQ(windows.converters_out, 0);
  expect_close(windows.multipliers, 2130840.649728);
  expect_close(windows.adder_trees, 28054681.288704);  // two of 128 rows are idle
  expect_close(windows.accumulators, 861492.215808);
  expect_close(total(windows), 31047014.15424);
  expect_close(total(imc_energy(array, kConv5, kChannels)), 30869162.31168);
}

TEST(Imc, ClockAndArea) {  // golden: the same cases
  expect_close(imc_clock_ns(*in_memory(true).array), 14.07244);
  expect_close(imc_clock_ns(*in_memory(false).array), 3.75708);
  expect_close(imc_area_mm2(in_memory(true)), 2.2878123152749223);
  expect_close(imc_area_mm2(in_memory(false)), 0.8018113024);
}

TEST(Imc, CellsHaveTheirArea) {
  Core core = in_memory(true);
  const double before = imc_area_mm2(core);
  core.memories[0].area_mm2.value = 1e-6;  // the cells
  core.memories[1].area_mm2.value = 5;     // not part of the array
  EXPECT_NEAR(imc_area_mm2(core) - before, 128 * 128 * 1e-6, 1e-12);
}

TEST(Imc, BitsAreFedOneAfterTheOther) {  // golden: fixed/dimc/r18_conv5/1
  const Core core = in_memory(false);
  const Problem p = make_problem(kConv5, core, kChannels, kZigzagQuirks);
  EXPECT_EQ(p.cycles_per_mac, 8);
  expect_close(p.mac_pj * p.macs, 30869162.31168);
  EXPECT_EQ(make_problem(kConv5, in_memory(true), kChannels, kZigzagQuirks).cycles_per_mac, 4);
}

TEST(Imc, AGivenFigureWins) {
  Core core = in_memory(true);
  core.array->mac_energy_pj.value = 0.25;
  EXPECT_EQ(make_problem(kConv5, core, kChannels, Quirks{}).mac_pj, 0.25);
  EXPECT_NE(make_problem(kConv5, core, kChannels, kZigzagQuirks).mac_pj, 0.25);
}

// Outputs along the columns need the weights on a diagonal: 3 taps and 4 outputs take 6 rows.
TEST(Imc, WindowsAlongTheColumnsTakeMoreRows) {
  const hardware::Array array = *in_memory(true).array;
  const Spatial straight{{{.dimension = 1, .factor = 4}}, {{.dimension = 6, .factor = 3}}};
  const Spatial diagonal{{{.dimension = 4, .factor = 4}}, {{.dimension = 6, .factor = 3}}};
  expect_close(imc_energy(array, kConv5, diagonal).converters_in,
               2 * imc_energy(array, kConv5, straight).converters_in);
}

TEST(Imc, OddArraysHaveFigures) {
  for (const bool analog : {false, true})
    for (const std::int64_t rows : {1, 3, 100}) {
      Core core = in_memory(analog);
      core.array->dimensions = {{"D1", 5}, {"D2", rows}, {"D3", 2}};
      const Spatial spatial{{{.dimension = 1, .factor = 5}}, {{.dimension = 2, .factor = rows}}, {}};
      EXPECT_GT(imc_area_mm2(core), 0);
      EXPECT_GT(imc_clock_ns(*core.array), 0);
      EXPECT_GT(total(imc_energy(*core.array, kConv5, spatial)), 0);
    }
}

}  // namespace
}  // namespace monet::cost
