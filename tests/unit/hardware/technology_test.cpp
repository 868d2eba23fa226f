#include "monet/hardware/technology.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "monet/base/rng.h"

namespace monet::hardware {
namespace {

constexpr std::int64_t kKiB = 8192;  // bits
constexpr std::int64_t kMiB = 1024 * kKiB;

// Ours and theirs differ by at most this factor, either way.
void expect_within(double ours, double theirs, double factor, const std::string& what) {
  EXPECT_LE(ours, theirs * factor) << what;
  EXPECT_GE(ours, theirs / factor) << what;
}

// ---- Published points ----

struct Access {
  std::int64_t size_bits;
  double pj;
};

TEST(Sram, CostsWhatIssccPublishedFor45Nanometres) {  // "Computing's energy problem", ISSCC 2014, 64 bits
  for (const auto& [size, pj] : {Access{8 * kKiB, 10}, Access{32 * kKiB, 20}, Access{kMiB, 100}})
    expect_within(sram_read_energy_pj(size, 64, 1, 45).value, pj, 1.25, std::to_string(size));
}

TEST(Sram, CostsWhatWasPublishedForTpuV4iAt7Nanometres) {  // "Ten lessons …", ISCA 2021, table 2, 64 bits
  for (const auto& [size, pj] : {Access{8 * kKiB, 7.5}, Access{32 * kKiB, 8.5}, Access{kMiB, 14}})
    expect_within(sram_read_energy_pj(size, 64, 1, 7).value, pj, 1.25, std::to_string(size));
}

TEST(Sram, IsNearZigZagsExamples) {  // their node is not stated; 28 nm taken
  expect_within(sram_read_energy_pj(2 * kMiB, 2048, 2, 28).value, 416.16, 2.2, "2 MiB, 2048 bits");
  expect_within(sram_write_energy_pj(2 * kMiB, 2048, 2, 28).value, 378.4, 2.2, "2 MiB, 2048 bits, write");
  expect_within(sram_read_energy_pj(kMiB, 1024, 2, 28).value, 208.08, 2.2, "1 MiB, 1024 bits");
  expect_within(sram_read_energy_pj(kKiB, 256, 1, 28).value, 4.78, 2.2, "1 KiB, 256 bits");
}

struct Memory45 {
  std::int64_t kib;
  std::int64_t word;
  int ports;
  double read_pj, write_pj, area_mm2;
};

// Every 19th of the memories that tools/fit_technology.py fits to: CACTI 7, low-standby-power transistors, 45 nm.
constexpr Memory45 kCacti[] = {
    {1, 16, 4, 1.749, 2.135, 0.01954},     {2, 32, 1, 2.232, 2.635, 0.00722},    {4, 16, 2, 4.199, 3.175, 0.0292},
    {4, 1024, 4, 74.68, 83.35, 0.3242},    {8, 512, 1, 13.36, 27.93, 0.02879},   {16, 64, 2, 12.85, 11.74, 0.1043},
    {16, 4096, 4, 298.7, 333.4, 1.297},    {32, 512, 1, 35.71, 42.16, 0.1155},   {64, 16, 2, 22.26, 15.95, 0.4605},
    {64, 1024, 4, 111.9, 136.7, 1.25},     {128, 32, 1, 25.3, 16.88, 0.4166},    {128, 2048, 2, 171.3, 205.6, 0.9725},
    {256, 16, 4, 107.8, 71.67, 3.951},     {256, 2048, 1, 183.1, 238.9, 0.8436}, {512, 16, 2, 63.77, 50.08, 3.542},
    {512, 1024, 4, 495.6, 321.9, 8.284},   {1024, 16, 1, 46, 36.36, 3.163},      {1024, 1024, 2, 553.6, 428.4, 7.046},
    {2048, 8, 4, 342, 268.3, 28.98},       {2048, 1024, 1, 516.6, 417, 6.873},   {4096, 8, 2, 205.7, 179, 24.74},
    {4096, 8192, 1, 2457, 1660, 13.14},    {8192, 512, 2, 1383, 994.1, 51.94},   {16384, 64, 1, 326.5, 287.3, 49.16},
    {16384, 32768, 2, 11890, 7885, 106.9}, {32768, 4096, 1, 4214, 3125, 105.2},  {65536, 256, 2, 3263, 2879, 374.8},
};

TEST(Sram, IsAsFarFromCactiAsTheFitSays) {
  for (const Memory45& m : kCacti) {
    const std::string what = std::to_string(m.kib) + " KiB, " + std::to_string(m.word) + " bits";
    expect_within(sram_read_energy_pj(m.kib * kKiB, m.word, m.ports, 45).value, m.read_pj, 2.09, what);
    expect_within(sram_write_energy_pj(m.kib * kKiB, m.word, m.ports, 45).value, m.write_pj, 1.70, what);
    expect_within(sram_area_mm2(m.kib * kKiB, m.word, m.ports, 45).value, m.area_mm2, 1.33, what);
  }
}

struct Leak {
  std::int64_t kib;
  std::int64_t word;
  int ports;
  double node, mw;
};

TEST(Sram, LeaksAsCactiSaysWithinTheFit) {  // low-operating-power transistors, 300 K
  for (const Leak& l : {Leak{1, 16, 1, 45, 0.03788},
                        {16, 64, 4, 45, 0.4574},
                        {256, 64, 2, 45, 5.814},
                        {4096, 64, 1, 45, 87.58},
                        {65536, 16, 4, 45, 1535},
                        {1024, 64, 1, 22, 7.007},
                        {16, 512, 2, 32, 0.9044},
                        {65536, 512, 1, 32, 2626},
                        {4096, 64, 2, 65, 72.54},
                        {256, 64, 1, 90, 16.54}})
    expect_within(sram_leakage_mw(l.kib * kKiB, l.word, l.ports, l.node).value, l.mw, 2.95, std::to_string(l.kib));
}

TEST(Sram, HasTheAreaPhazeComputedAt22Nanometres) {  // Accelergy and CACTI; its areas are those of two ports
  const std::vector<std::pair<std::int64_t, double>> um2{
      {8, 22139.9},    {16, 38583.0},   {32, 63338.4},     {64, 115579.0},    {128, 204764.0},
      {256, 446565.0}, {512, 897890.1}, {1024, 1634130.2}, {16384, 23745200}, {65536, 88605700}};
  for (const auto& [kib, area] : um2)
    expect_within(sram_area_mm2(kib * kKiB, 64, 2, 22).value, area * 1e-6, 1.6, std::to_string(kib));
}

TEST(Arithmetic, IsWhatIssccPublishedFor45Nanometres) {
  EXPECT_DOUBLE_EQ(add_energy_pj(Element::I8, 45).value, 0.03);
  EXPECT_DOUBLE_EQ(add_energy_pj(Element::I16, 45).value, 0.05);
  EXPECT_DOUBLE_EQ(add_energy_pj(Element::I32, 45).value, 0.1);
  EXPECT_DOUBLE_EQ(add_energy_pj(Element::F16, 45).value, 0.4);
  EXPECT_DOUBLE_EQ(add_energy_pj(Element::F32, 45).value, 0.9);
  EXPECT_DOUBLE_EQ(multiply_energy_pj(Element::I8, 45).value, 0.2);
  EXPECT_DOUBLE_EQ(multiply_energy_pj(Element::I32, 45).value, 3.1);
  EXPECT_DOUBLE_EQ(multiply_energy_pj(Element::F16, 45).value, 1.1);
  EXPECT_DOUBLE_EQ(multiply_energy_pj(Element::F32, 45).value, 3.7);
}

TEST(Arithmetic, IsWhatWasPublishedForTpuV4iAt7Nanometres) {
  EXPECT_NEAR(add_energy_pj(Element::I8, 7).value, 0.007, 1e-12);
  EXPECT_NEAR(add_energy_pj(Element::I32, 7).value, 0.03, 1e-12);
  EXPECT_NEAR(add_energy_pj(Element::BF16, 7).value, 0.11, 1e-12);
  EXPECT_NEAR(add_energy_pj(Element::F16, 7).value, 0.16, 1e-12);
  EXPECT_NEAR(add_energy_pj(Element::F32, 7).value, 0.38, 1e-12);
  EXPECT_NEAR(multiply_energy_pj(Element::I8, 7).value, 0.07, 1e-12);
  EXPECT_NEAR(multiply_energy_pj(Element::I32, 7).value, 1.48, 1e-12);
  EXPECT_NEAR(multiply_energy_pj(Element::BF16, 7).value, 0.21, 1e-12);
  EXPECT_NEAR(multiply_energy_pj(Element::F16, 7).value, 0.34, 1e-12);
  EXPECT_NEAR(multiply_energy_pj(Element::F32, 7).value, 1.31, 1e-12);
}

TEST(Arithmetic, IsInterpolatedInLogarithmsBetweenTheNodes) {  // E16 = E45 (E7/E45)^0.5557, computed by hand
  EXPECT_NEAR(add_energy_pj(Element::I8, 16).value, 0.0134, 1e-4);
  EXPECT_NEAR(add_energy_pj(Element::F16, 16).value, 0.2403, 2e-4);
  EXPECT_NEAR(multiply_energy_pj(Element::I32, 16).value, 2.0551, 1e-3);
  EXPECT_NEAR(multiply_energy_pj(Element::F32, 16).value, 2.0772, 1e-3);
  EXPECT_NEAR(mac_energy_pj(Element::I8, Element::I32, 16).value, 0.1116 + 0.0512, 2e-4);
}

TEST(Arithmetic, HasPublishedAreas) {
  // Accelergy's 32-bit integer MAC, 3632 um², is the 45 nm multiplier and adder; Phaze scales it to 22 nm by 0.2092.
  EXPECT_NEAR(mac_area_mm2(Element::I32, Element::I32, 45).value, 3632e-6, 1e-12);
  EXPECT_NEAR(mac_area_mm2(Element::I32, Element::I32, 22).value / 3632e-6, 0.2092, 0.01);
  EXPECT_NEAR(mac_area_mm2(Element::F16, Element::F32, 45).value, (1640 + 4184) * 1e-6, 1e-12);
  EXPECT_NEAR(mac_area_mm2(Element::I8, Element::I16, 45).value, (282 + 67) * 1e-6, 1e-12);
}

TEST(Registers, AreNearPublishedOnes) {
  expect_within(register_read_energy_pj(16 * 16, 16, 45).value, 0.653, 2.5, "FuseMax, 16 entries of 16 bits");
  expect_within(register_read_energy_pj(32, 32, 45).value, 0.075, 1.3, "Accelergy, one entry of 32 bits");
  expect_within(register_read_energy_pj(16, 16, 28).value, 0.021, 1.3, "ZigZag, one entry of 16 bits");
}

TEST(Registers, GiveWayToAMemoryWhenThereAreMany) {
  EXPECT_EQ(register_read_energy_pj(64 * kKiB, 64, 45).value, sram_read_energy_pj(64 * kKiB, 64, 1, 45).value);
  EXPECT_LT(register_read_energy_pj(32, 32, 45).value, sram_read_energy_pj(32, 32, 1, 45).value);
}

TEST(Dram, LiesInPublishedRanges) {  // pJ for 64 bits: ISSCC 2014; TPUv4i, ISCA 2021
  const auto of_64_bits = [](DramKind kind) { return 64 * dram_energy_pj_per_bit(kind).value; };
  EXPECT_NEAR(of_64_bits(DramKind::Ddr4), 1300, 2);
  EXPECT_GE(of_64_bits(DramKind::Ddr3), 1300);
  EXPECT_LE(of_64_bits(DramKind::Ddr3), 2600);
  EXPECT_GE(of_64_bits(DramKind::Hbm2), 250);
  EXPECT_LE(of_64_bits(DramKind::Hbm2), 450);
  EXPECT_GE(64 * dram_io_energy_pj_per_bit(DramKind::Gddr6).value, 350);
  EXPECT_LE(64 * dram_io_energy_pj_per_bit(DramKind::Gddr6).value, 480);
}

TEST(Dram, GetsCheaperWithItsGenerations) {
  const auto pj = [](DramKind kind) { return dram_energy_pj_per_bit(kind).value; };
  for (const auto& [older, newer] : {std::pair{DramKind::Ddr3, DramKind::Ddr4},
                                     {DramKind::Ddr4, DramKind::Ddr5},
                                     {DramKind::Lpddr4, DramKind::Lpddr5},
                                     {DramKind::Gddr5, DramKind::Gddr6},
                                     {DramKind::Hbm2, DramKind::Hbm2e},
                                     {DramKind::Hbm2e, DramKind::Hbm3}})
    EXPECT_LT(pj(newer), pj(older)) << name(newer);
  for (const DramKind kind : kDramKinds) {
    EXPECT_LT(dram_io_energy_pj_per_bit(kind).value, pj(kind)) << name(kind);
    EXPECT_EQ(dram_kind_named(name(kind)), kind);
    EXPECT_FALSE(dram_energy_pj_per_bit(kind).source.empty());
  }
  EXPECT_EQ(dram_kind_named("ddr6"), std::nullopt);
}

// ---- Properties ----

using MemoryModel = std::function<Figure(std::int64_t, std::int64_t, int, double)>;

const std::vector<std::pair<std::string, MemoryModel>>& memory_models() {
  static const std::vector<std::pair<std::string, MemoryModel>> models{
      {"read", sram_read_energy_pj},
      {"write", sram_write_energy_pj},
      {"leakage", sram_leakage_mw},
      {"area", sram_area_mm2},
      {"register read", [](std::int64_t s, std::int64_t w, int, double n) { return register_read_energy_pj(s, w, n); }},
      {"register write",
       [](std::int64_t s, std::int64_t w, int, double n) { return register_write_energy_pj(s, w, n); }},
      {"register leakage", [](std::int64_t s, std::int64_t, int, double n) { return register_leakage_mw(s, n); }},
      {"register area", [](std::int64_t s, std::int64_t, int p, double n) { return register_area_mm2(s, p, n); }},
  };
  return models;
}

// Not less than before, but for the last bits of rounding.
void expect_no_less(double more, double less, const std::string& what) { EXPECT_GE(more, less * (1 - 1e-12)) << what; }

struct Draws {
  std::uint64_t seed;
  std::uint64_t counter = 0;
  double uniform() { return random_uniform(seed, 0, counter++); }
};

double drawn(Draws& draws, double from, double to) { return from * std::pow(to / from, draws.uniform()); }

TEST(Memory, NeverGetsCheaperByBeingLargerWiderOrOlder) {
  Draws draws{.seed = 20260301};
  for (int i = 0; i < 20'000; ++i) {
    const auto size = static_cast<std::int64_t>(drawn(draws, 1, 1e12));
    const auto word = static_cast<std::int64_t>(drawn(draws, 1, 1e5));
    const int ports = 1 + static_cast<int>(draws.uniform() * 6);
    const double node = drawn(draws, 1, 400);
    const double factor = drawn(draws, 1.0001, 8);
    const auto times = [&](std::int64_t x) { return static_cast<std::int64_t>(static_cast<double>(x) * factor) + 1; };
    for (const auto& [what, model] : memory_models()) {
      const double value = model(size, word, ports, node).value;
      expect_no_less(model(times(size), word, ports, node).value, value, what + " by size");
      expect_no_less(model(size, times(word), ports, node).value, value, what + " by width");
      expect_no_less(model(size, word, ports + 1, node).value, value, what + " by ports");
      expect_no_less(model(size, word, ports, node * factor).value, value, what + " by node");
    }
  }
}

TEST(Arithmetic, NeverGetsCheaperByBeingOlderOrWider) {
  Draws draws{.seed = 7};
  const std::vector<std::vector<Element>> widening{
      {Element::Bit, Element::I4, Element::I8, Element::I16, Element::I32, Element::I64},
      {Element::F8E5M2, Element::F8E4M3, Element::BF16, Element::F16, Element::F32, Element::F64}};
  for (int i = 0; i < 500; ++i) {
    const double node = drawn(draws, 1, 400), older = node * drawn(draws, 1.0001, 8);
    for (const auto& family : widening)
      for (std::size_t e = 0; e < family.size(); ++e) {
        const Element element = family[e];
        const std::string what(name(element));
        expect_no_less(multiply_energy_pj(element, older).value, multiply_energy_pj(element, node).value, what);
        expect_no_less(add_energy_pj(element, older).value, add_energy_pj(element, node).value, what);
        expect_no_less(mac_area_mm2(element, element, older).value, mac_area_mm2(element, element, node).value, what);
        if (e == 0) continue;
        const Element narrower = family[e - 1];
        expect_no_less(multiply_energy_pj(element, node).value, multiply_energy_pj(narrower, node).value, what);
        expect_no_less(add_energy_pj(element, node).value, add_energy_pj(narrower, node).value, what);
        expect_no_less(mac_area_mm2(element, Element::F32, node).value,
                       mac_area_mm2(narrower, Element::F32, node).value, what);
      }
  }
}

TEST(Technology, HasAFiniteAnswerForEveryArgument) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto sound = [](const Figure& figure) {
    return std::isfinite(figure.value) && figure.value > 0 && !figure.source.empty();
  };
  for (const double node : {-kInfinity, -1.0, 0.0, 1e-300, 1.0, 45.0, 1e300, kInfinity, std::nan("")}) {
    for (const std::int64_t size : {kLeast, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, kMost})
      for (const std::int64_t word : {kLeast, std::int64_t{0}, std::int64_t{1}, kMost})
        for (const int ports : {std::numeric_limits<int>::min(), 0, 1, std::numeric_limits<int>::max()})
          for (const auto& [what, model] : memory_models()) EXPECT_TRUE(sound(model(size, word, ports, node))) << what;
    for (int e = 0; e <= static_cast<int>(Element::Bit); ++e) {
      const auto element = static_cast<Element>(e);
      EXPECT_TRUE(sound(mac_energy_pj(element, Element::F32, node)));
      EXPECT_TRUE(sound(mac_area_mm2(Element::I8, element, node)));
      EXPECT_TRUE(sound(vector_lane_area_mm2(element, node)));
      for (int f = 0; f <= static_cast<int>(work::ElementFunction::Random); ++f)
        EXPECT_TRUE(sound(function_energy_pj(static_cast<work::ElementFunction>(f), element, node)));
    }
  }
}

// ---- Where figures come from ----

TEST(Technology, IsModelledInsideTheFittedRangeAndAssumedOutside) {
  const auto read = [](std::int64_t size, std::int64_t word, int ports, double node) {
    return sram_read_energy_pj(size, word, ports, node).provenance;
  };
  EXPECT_EQ(read(kKiB, 64, 1, 45), Provenance::Modelled);
  EXPECT_EQ(read(kKiB - 1, 64, 1, 45), Provenance::Assumed);
  EXPECT_EQ(read(64 * kMiB, 32768, 4, 7), Provenance::Modelled);
  EXPECT_EQ(read(64 * kMiB + 1, 32768, 4, 7), Provenance::Assumed);
  EXPECT_EQ(read(kMiB, 32769, 4, 7), Provenance::Assumed);
  EXPECT_EQ(read(kMiB, 7, 1, 7), Provenance::Assumed);
  EXPECT_EQ(read(kMiB, 64, 5, 7), Provenance::Assumed);
  EXPECT_EQ(read(kMiB, 64, 1, 6.9), Provenance::Assumed);
  EXPECT_EQ(read(kMiB, 64, 1, 91), Provenance::Assumed);
  EXPECT_EQ(sram_area_mm2(kMiB, 64, 1, 5).provenance, Provenance::Modelled);
  EXPECT_EQ(sram_leakage_mw(kMiB, 64, 1, 16).provenance, Provenance::Assumed);
  EXPECT_EQ(mac_energy_pj(Element::BF16, Element::F32, 16).provenance, Provenance::Modelled);
  EXPECT_EQ(mac_energy_pj(Element::F8E4M3, Element::F32, 16).provenance, Provenance::Assumed);
  EXPECT_EQ(mac_energy_pj(Element::I8, Element::I32, 5).provenance, Provenance::Assumed);
  EXPECT_EQ(function_energy_pj(work::ElementFunction::Multiply, Element::F32, 16).provenance, Provenance::Modelled);
  EXPECT_EQ(function_energy_pj(work::ElementFunction::Exp, Element::F32, 16).provenance, Provenance::Assumed);
}

// ---- Cycles and functions ----

TEST(Mac, TakesAsManyPassesAsPartialProducts) {
  EXPECT_EQ(mac_cycles(Element::I8, Element::I8), 1);
  EXPECT_EQ(mac_cycles(Element::I8, Element::I4), 1);
  EXPECT_EQ(mac_cycles(Element::I8, Element::I16), 4);
  EXPECT_EQ(mac_cycles(Element::I8, Element::I32), 16);
  EXPECT_EQ(mac_cycles(Element::BF16, Element::F16), 4);  // 11 bits over 8
  EXPECT_EQ(mac_cycles(Element::BF16, Element::F32), 9);
  EXPECT_EQ(mac_cycles(Element::F32, Element::BF16), 1);
}

TEST(Function, CostsItsStepsOfMultiplyAndAdd) {
  using work::ElementFunction;
  const double step = 3.7 + 0.9;  // f32 at 45 nm
  EXPECT_NEAR(function_energy_pj(ElementFunction::Divide, Element::F32, 45).value, 10 * step, 1e-9);
  EXPECT_NEAR(function_energy_pj(ElementFunction::Exp, Element::F32, 45).value, 6 * step, 1e-9);
  EXPECT_NEAR(function_energy_pj(ElementFunction::Compare, Element::F32, 45).value, 0.1, 1e-12);
  EXPECT_NEAR(function_energy_pj(ElementFunction::Random, Element::F32, 45).value, 0.3, 1e-12);
  EXPECT_EQ(function_cycles(ElementFunction::Add), 1);
  EXPECT_EQ(function_cycles(ElementFunction::Tanh), 27);
  for (int f = 0; f <= static_cast<int>(ElementFunction::Random); ++f)
    EXPECT_GE(function_cycles(static_cast<ElementFunction>(f)), 1);
}

}  // namespace
}  // namespace monet::hardware
