#include "monet/verbs/explain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "monet/base/diagnostic.h"

namespace monet {
namespace {

constexpr const char* kUnpaddedConv = "conv:k=32,c=32,oy=14,ox=14,fy=3,fx=3";

Explanation of(const std::string& layer, const std::string& what, const MapRequest& map) {
  return explain({.run = layer, .what = what, .map = map});
}

double sum(const std::vector<BoundPart>& parts) {
  double out = 0;
  for (const BoundPart& part : parts) out += part.value;
  return out;
}

TEST(Explain, PartsSumToTheTotals) {
  for (const char* chip : {"tpu_like", "edge_tpu_like", "eyeriss_like", "tpu_v3", "h100"})
    for (const char* quirks : {"", "zigzag"})
      for (const char* phase : {"forward", "wgrad"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", chip, quirks, phase));
        MapRequest map{.hardware = chip, .quirks = quirks};
        map.lpf = "4";
        map.layer.phase = phase;
        const Explanation x = of(kUnpaddedConv, "stall", map);
        const cost::Evaluation& e = x.map.layers[0].mapped.value().evaluation;
        EXPECT_NEAR(e.latency, sum(x.bound.latency), 1e-9 * e.latency);
        EXPECT_NEAR(e.energy_pj, sum(x.bound.energy), 1e-9 * e.energy_pj);
        for (std::size_t i = 1; i < x.bound.energy.size(); ++i)
          EXPECT_GE(x.bound.energy[i - 1].value, x.bound.energy[i].value);
      }
}

// ---- Levers, against a chip whose file says the changed figure ----

struct Chip {
  int d1 = 4, read = 64, size = 4096;
  double read_pj = 2, mac_pj = 0.5;
};

class ExplainLevers : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              fmt::format("explain_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The energy of a read is of 64 bits, whatever the port's width; so are parts of a word.
  MapRequest on(const Chip& chip) {
    const std::string path = (folder_ / "chip.yaml").string();
    std::ofstream(path) << fmt::format(R"(monet: hardware
name: chip
clock_mhz: 500
cores:
  pe:
    array: {{dimensions: {{D1: {}, D2: 4}}, mac_energy_pj: {}}}
    memories:
      near: {{kind: register, size_bits: 64, holds: all, serves: [], bits_per_cycle: 16, read_energy_pj: 0.05, write_energy_pj: 0.05, leakage_mw: 0}}
      mid: {{size_bits: {}, holds: all, bits_per_cycle: 256, min_bits_per_cycle: 16, read_energy_pj: 1, write_energy_pj: 1, leakage_mw: 0}}
      far:
        kind: dram
        size: 16 MiB
        holds: all
        ports:
          - {{name: out, kind: read, bits_per_cycle: {}, min_bits_per_cycle: 64, for: [all]}}
          - {{name: in, kind: write, bits_per_cycle: 64, for: [all]}}
        read_energy_pj: {}
        write_energy_pj: 130
        leakage_mw: 0
)",
                                       chip.d1, chip.mac_pj, chip.size, chip.read, chip.read_pj * chip.read);
    return {.hardware = path};
  }
  static constexpr const char* kLayer = "gemm:d=8,k=64,c=64";

  cost::Costs costs(const Chip& chip, const std::string& criterion) {
    MapRequest map = on(chip);
    map.layer.layer = kLayer;
    map.layer.bits = "8/16";
    map.criterion = criterion;
    const MapRun run = map_layers(map);
    const cost::Evaluation& e = run.layers[0].mapped.value().evaluation;
    return {e.energy_pj, e.latency};
  }

  void expect_lever(const std::string& resource, const std::string& criterion, const Chip& changed) {
    MapRequest map = on({});
    map.layer.bits = "8/16";
    map.criterion = criterion;
    const Explanation x = of(kLayer, "levers", map);
    const auto lever =
        std::find_if(x.levers.begin(), x.levers.end(), [&](const Lever& l) { return l.resource == resource; });
    ASSERT_NE(x.levers.end(), lever) << resource;
    const cost::Costs there = costs(changed, criterion);
    EXPECT_EQ(there.latency, lever->anew.latency);
    EXPECT_NEAR(there.energy_pj, lever->anew.energy_pj, 1e-9 * there.energy_pj);
    const cost::Evaluation& now = x.map.layers[0].mapped->evaluation;
    EXPECT_TRUE(lever->anew.latency < now.latency || lever->anew.energy_pj < now.energy_pj);
  }

  std::filesystem::path folder_;
};

TEST_F(ExplainLevers, WiderPort) { expect_lever("far.out", "latency", {.read = 128}); }
TEST_F(ExplainLevers, LargerMemory) { expect_lever("mid.size", "energy", {.size = 8192}); }
TEST_F(ExplainLevers, LargerArray) { expect_lever("array.D1", "latency", {.d1 = 8}); }
TEST_F(ExplainLevers, CheaperRead) { expect_lever("far.read_energy", "energy", {.read_pj = 1.8}); }
TEST_F(ExplainLevers, CheaperArithmetic) { expect_lever("array.mac_energy", "energy", {.mac_pj = 0.45}); }

TEST_F(ExplainLevers, AreSortedAndGain) {
  MapRequest map = on({});
  for (const char* what : {"latency", "energy"}) {
    const Explanation x = of(kLayer, what, map);
    const cost::Evaluation& now = x.map.layers[0].mapped->evaluation;
    const bool energy = std::string(what) == "energy";
    ASSERT_FALSE(x.levers.empty());
    double before = 1;
    for (const Lever& lever : x.levers) {
      const double gain = energy ? 1 - std::min(lever.kept.energy_pj, lever.anew.energy_pj) / now.energy_pj
                                 : 1 - std::min(lever.kept.latency, lever.anew.latency) / now.latency;
      EXPECT_GE(gain, 1e-4);
      EXPECT_LE(gain, before + 1e-12);
      before = gain;
    }
  }
}

TEST_F(ExplainLevers, OfAMemoryAreItsOwn) {
  const Explanation x = of(kLayer, "far", on({}));
  ASSERT_FALSE(x.levers.empty());
  for (const Lever& lever : x.levers) EXPECT_TRUE(lever.resource.starts_with("far.")) << lever.resource;
}

TEST_F(ExplainLevers, NothingHelpsWhereOneLaneDoesAllThereIsToDo) {
  const Explanation x = of("gemm:d=1,k=1,c=1", "latency", {.hardware = "tpu_like"});
  EXPECT_TRUE(x.levers.empty());
  EXPECT_NE(std::string::npos, text(x).find("nothing helps the latency"));
}

TEST_F(ExplainLevers, InputsStandWhereTheFileSaysThem) {
  const Explanation x = of(kLayer, "energy", on({}));
  std::size_t seen = 0;
  for (const ExplainedLine& line : x.lines)
    for (const ExplainedInput& input : line.inputs) {
      if (input.name == "far.write_energy") {
        EXPECT_EQ(18u, input.origin.value().line);
        EXPECT_EQ(130, input.value);
        ++seen;
      }
      if (input.name == "mid.read_energy") {
        EXPECT_EQ(9u, input.origin.value().line);
        ++seen;
      }
    }
  EXPECT_EQ(2u, seen);
}

TEST_F(ExplainLevers, WhatIsOffTheChipIsSeenThroughItsLink) {
  const std::string path = (folder_ / "linked.yaml").string();
  std::ofstream(path) << R"(monet: hardware
name: linked
cores:
  pe:
    array: {dimensions: {D1: 4}, mac_energy_pj: 1}
    memories:
      near: {kind: register, size_bits: 64, holds: all, serves: [], bits_per_cycle: 16, read_energy_pj: 1, write_energy_pj: 1}
  ddr:
    memories:
      far:
        kind: dram
        size: 1 MiB
        holds: all
        bits_per_cycle: 64
        port: shared
        read_energy_pj: 400
        write_energy_pj: 400
offchip: ddr
links:
  - {link: [pe, ddr], bits_per_cycle: 16}
)";
  MapRequest map{.hardware = path};
  map.layer.bits = "8/8";
  const Explanation x = of("gemm:d=16,k=16,c=16", "stall", map);
  bool seen = false;
  for (const ExplainedLine& line : x.lines)
    for (const ExplainedInput& input : line.inputs)
      if (input.name == "far.read_write") {
        EXPECT_EQ(16, input.value);
        EXPECT_EQ(14u, input.origin.value().line);
        EXPECT_NE(std::string::npos, input.source.find("64 bits/cycle, but no more than the link"));
        seen = true;
      }
  EXPECT_TRUE(seen);
  const auto named = [&](const std::string& resource) {
    return std::count_if(x.levers.begin(), x.levers.end(), [&](const Lever& l) { return l.resource == resource; });
  };
  EXPECT_EQ(1, named("the link to far"));
  EXPECT_EQ(0, named("far.read_write"));
  const Explanation energy = of("gemm:d=16,k=16,c=16", "far", map);
  for (const ExplainedLine& line : energy.lines)
    if (line.equation == 6) {
      ASSERT_EQ(1u, line.inputs.size());
      EXPECT_EQ(100, line.inputs[0].value);
      EXPECT_TRUE(line.inputs[0].source.starts_with("400 pJ")) << line.inputs[0].source;
    }
}

// The inputs' and the sums' registers are equally slow there: to widen one of them leaves the others.
TEST(ExplainTogether, PortsThatAreEquallyBusyAreWidenedTogether) {
  const Explanation x = of("conv:k=64,c=64,oy=28,ox=28,fy=3,fx=3", "latency", {.hardware = "eyeriss_like"});
  const double now = x.map.layers[0].mapped.value().evaluation.latency;
  ASSERT_GE(x.bound.ports.size(), 2u);
  double together = now, alone = now;
  for (const Lever& lever : x.levers) {
    if (lever.unit == "factor") together = lever.kept.latency;
    if (lever.unit == "bit/cycle") alone = std::min(alone, lever.kept.latency);
  }
  EXPECT_LT(together, alone);
  EXPECT_LT(together, 0.9 * now);
}

// ---- Several layers ----

TEST(ExplainLayers, SumsAreThoseOfMapAndTheLargestIsExplained) {
  MapRequest map{.hardware = "tpu_v3"};
  const std::string layers = "resnet18:image=32/layer2.0";
  const Explanation x = of(layers, "energy", map);
  map.layer.layer = layers;
  const MapRun run = map_layers(map);
  ASSERT_EQ(run.layers.size() + run.vectors.size(), x.layers.size());
  ASSERT_GT(run.layers.size(), 2u);
  double energy = 0, most = 0;
  for (const MappedLayer& layer : run.layers) {
    energy += layer.mapped.value().evaluation.energy_pj;
    most = std::max(most, layer.mapped->evaluation.energy_pj);
  }
  for (const MappedVector& v : run.vectors) energy += v.cost.energy_pj;
  double shares = 0;
  for (const LayerShare& share : x.layers) shares += share.energy_pj;
  EXPECT_NEAR(energy, shares, 1e-9 * energy);
  EXPECT_EQ(most, x.lines.back().value);
}

TEST(ExplainLayers, ANameBeforeChoosesOne) {
  const MapRequest map{.hardware = "tpu_v3"};
  const std::string layers = "resnet18:image=32/layer2.0";
  const Explanation x = of(layers, "layer2.0.conv1/latency", map);
  EXPECT_EQ("layer2.0.conv1", x.map.layers[x.layer].layer.name);
  EXPECT_EQ("latency", x.what);
  EXPECT_EQ(x.map.layers[x.layer].mapped.value().evaluation.latency, x.lines.back().value);
  try {
    of(layers, "layer2.0.conv9/latency", map);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string::npos, std::string(error.what()).find("no layer is called 'layer2.0.conv9'"));
  }
}

}  // namespace
}  // namespace monet
