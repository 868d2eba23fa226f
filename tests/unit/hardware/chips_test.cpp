// The chip library: every file loads without a complaint, says where its figures are from, and has the published peaks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/hardware/load.h"

namespace monet::hardware {
namespace {

namespace fs = std::filesystem;

fs::path library() { return fs::path(MONET_TEST_DATA).parent_path().parent_path() / "data" / "hardware"; }

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Hardware chip(const std::string& name, std::vector<std::pair<std::string, std::string>> parameters = {}) {
  return load_hardware((library() / (name + ".yaml")).string(), {.parameters = std::move(parameters)}).hardware;
}

const Core& core(const Hardware& hardware, const std::string& name) {
  const auto found = std::ranges::find(hardware.cores, name, &Core::name);
  if (found == hardware.cores.end()) throw std::runtime_error("no core " + name);
  return *found;
}

const Memory& memory(const Core& core, const std::string& name) {
  const auto found = std::ranges::find(core.memories, name, &Memory::name);
  if (found == core.memories.end()) throw std::runtime_error("no memory " + name);
  return *found;
}

// Operations a second: two for every lane of every array and cycle.
double peak(const Hardware& hardware) {
  double lanes = 0;
  for (const Core& c : hardware.cores) {
    double of_core = c.array ? 1 : 0;
    if (c.array)
      for (const ArrayDimension& d : c.array->dimensions) of_core *= static_cast<double>(d.size);
    lanes += of_core;
  }
  return 2 * lanes * hardware.clock_hz.value;
}

double offchip_bytes_per_second(const Hardware& hardware) {
  const Port& port = hardware[*hardware.offchip].memories[0].ports[0];
  return static_cast<double>(port.max_bits_per_cycle) / 8 * hardware.clock_hz.value;
}

std::vector<std::pair<std::string, Figure>> figures(const Hardware& hardware) {
  std::vector<std::pair<std::string, Figure>> list{{"node", hardware.node_nm}, {"clock", hardware.clock_hz}};
  for (const Core& c : hardware.cores) {
    if (c.array) {
      list.emplace_back(c.name + " MAC energy", c.array->mac_energy_pj);
      list.emplace_back(c.name + " MAC area", c.array->mac_area_mm2);
      for (const MacCost& cost : c.array->formats) list.emplace_back(c.name + " format", cost.energy_pj);
    }
    if (c.vector)
      for (const FunctionCost& cost : c.vector->functions) list.emplace_back(c.name + " function", cost.energy_pj);
    for (const Memory& m : c.memories)
      for (const Figure& figure : {m.read_energy_pj, m.write_energy_pj, m.leakage_mw, m.area_mm2})
        list.emplace_back(c.name + " " + m.name, figure);
  }
  for (const Link& link : hardware.links) list.emplace_back("a link", link.energy_pj_per_bit);
  for (const BurstEfficiency& e : hardware.offchip_efficiency) list.emplace_back("efficiency", e.efficiency);
  return list;
}

TEST(ChipLibrary, LoadsWithoutAComplaint) {
  const std::vector<fs::path> files = files_in(library());
  EXPECT_GE(files.size(), 23U);
  for (const fs::path& file : files) {
    const Loaded loaded = load_hardware(file.string());
    EXPECT_EQ(loaded.hardware.name, file.stem().string());
    EXPECT_FALSE(loaded.hardware.description.empty()) << file;
    // Three take over energies that are odd where they come from; being told so is right.
    const std::string name = file.stem().string();
    const bool odd = name == "diana" || name == "jia_4x4_aimc" || name == "snax_mx";
    EXPECT_EQ(odd, !loaded.warnings.empty()) << file;
    for (const Diagnostic& warning : loaded.warnings)
      EXPECT_NE(warning.message.find(" pJ"), std::string::npos) << file << ": " << warning.message;
  }
}

TEST(ChipLibrary, HasNoPartThatNoChipIsMadeOf) {
  std::set<std::string> used;
  for (const fs::path& file : files_in(library()))
    for (const SourceFile& source : load_hardware(file.string()).files)
      used.insert(fs::path(source.path).filename().string());
  for (const fs::path& part : files_in(library() / "parts"))
    EXPECT_TRUE(used.contains(part.filename().string())) << part;
}

TEST(ChipLibrary, SaysWhereEveryFigureIsFrom) {
  for (const fs::path& file : files_in(library())) {
    const Hardware hardware = load_hardware(file.string()).hardware;
    EXPECT_FALSE(hardware.source.empty()) << file;
    for (const auto& [what, figure] : figures(hardware))
      EXPECT_TRUE(!figure.source.empty() || figure.provenance == Provenance::Assumed) << file << ": " << what;
  }
}

TEST(ChipLibrary, HasChipsThatCanTrain) {  // a matrix unit and a vector unit behind one memory
  for (const std::string name : {"tpu_like_quad_core", "hetero_quad_core", "edge_tpu_hda", "fusemax", "fusemax_monet",
                                 "tpu_v2", "tpu_v3", "ascend_910", "a100", "h100"}) {
    const Hardware hardware = chip(name);
    EXPECT_TRUE(std::ranges::any_of(hardware.cores, [](const Core& c) { return c.array.has_value(); })) << name;
    EXPECT_TRUE(std::ranges::any_of(hardware.cores, [](const Core& c) {
      return c.vector && c.vector->functions.size() >= static_cast<std::size_t>(work::ElementFunction::Random) + 1;
    })) << name;
    ASSERT_TRUE(hardware.offchip.has_value()) << name;
    // Every core reaches the memory in one step.
    for (std::uint32_t i = 0; i < hardware.cores.size(); ++i)
      EXPECT_TRUE(std::ranges::any_of(hardware.links,
                                      [&](const Link& link) {
                                        return std::ranges::count(link.cores, CoreId{i}) &&
                                               std::ranges::count(link.cores, *hardware.offchip);
                                      }))
          << name << " " << hardware.cores[i].name;
  }
}

TEST(ChipLibrary, ReachesPublishedPeaks) {  // TFLOP/s as the makers state them
  EXPECT_NEAR(peak(chip("tpu_v2")) / 1e12, 46, 0.5);
  EXPECT_NEAR(peak(chip("tpu_v3")) / 1e12, 123, 1);
  EXPECT_NEAR(peak(chip("ascend_910")) / 1e12, 256, 7);  // 262 at exactly 1 GHz
  EXPECT_NEAR(peak(chip("a100")) / 1e12, 312, 1);
  EXPECT_NEAR(peak(chip("h100")) / 1e12, 989, 2);
  EXPECT_NEAR(peak(chip("depfin")) / 1e12, 3.8, 0.01);
  EXPECT_NEAR(peak(chip("edge_tpu_hda")) / 1e12, 6.67, 0.2);  // of 16 x 256 lanes; pooling adds its 72
}

TEST(ChipLibrary, HasPublishedBandwidths) {  // to 1 %: whole bits a cycle
  const std::vector<std::pair<std::string, double>> expected{{"tpu_v2", 700e9},
                                                             {"tpu_v3", 900e9},
                                                             {"a100", 2039e9},
                                                             {"h100", 3350e9},
                                                             {"dacapo", 204.8e9},
                                                             {"ascend_910", 1.2e12},
                                                             {"fusemax", 400 * 1073741824.0}};
  for (const auto& [name, rate] : expected) EXPECT_NEAR(offchip_bytes_per_second(chip(name)) / rate, 1, 0.01) << name;
}

// Values of ZigZag 3.8.5's inputs/hardware/tpu_like.yaml.
TEST(ChipLibrary, HasZigZagsTpuAsItIs) {
  const Hardware hardware = chip("tpu_like");
  ASSERT_EQ(hardware.cores.size(), 1U);
  const Core& array = hardware.cores[0];
  EXPECT_EQ(array.array->mac_energy_pj.value, 0.04);
  ASSERT_EQ(array.memories.size(), 4U);
  EXPECT_EQ(memory(array, "weights").size_bits, 1024);
  EXPECT_TRUE(memory(array, "weights").served_dimensions.empty());
  EXPECT_EQ(memory(array, "sums").ports.size(), 4U);
  const Memory& buffer = memory(array, "buffer");
  EXPECT_EQ(buffer.size_bits, 16777216);
  EXPECT_EQ(buffer.ports[0].min_bits_per_cycle, 64);
  EXPECT_EQ(buffer.ports[0].max_bits_per_cycle, 2048);
  EXPECT_EQ(buffer.read_energy_pj.value, 416.16);
  EXPECT_EQ(buffer.write_energy_pj.value, 378.4);
  EXPECT_EQ(buffer.slots, (std::vector{Slot::Input, Slot::Output}));
  const Memory& dram = memory(array, "dram");
  EXPECT_EQ(array.memories.back().name, "dram");
  EXPECT_EQ(dram.size_bits, 10'000'000'000);
  EXPECT_EQ(dram.read_energy_pj.value, 700);
  EXPECT_EQ(dram.ports.size(), 1U);
}

TEST(ChipLibrary, KeepsTheOrderOfIncludedMemories) {
  EXPECT_EQ(chip("meta_prototype").cores[0].memories.back().name, "dram");
}

TEST(ChipLibrary, WiresTheEdgeTpuAsAMesh) {
  const Hardware hardware = chip("edge_tpu_hda");
  EXPECT_EQ(hardware.cores.size(), 16U + 3U);
  std::size_t mesh = 0;
  for (const Link& link : hardware.links)
    mesh += !link.is_bus && link.cores[0].index() < 16 && link.cores[1].index() < 16 ? 1 : 0;
  EXPECT_EQ(mesh, 24U);  // 2 * 4 * 3
  for (std::size_t i = 0; i < 16; ++i) {
    const auto degree = std::ranges::count_if(hardware.links, [&](const Link& link) {
      return !link.is_bus && link.cores[0].index() < 16 && link.cores[1].index() < 16 &&
             (link.cores[0].index() == i || link.cores[1].index() == i);
    });
    const bool left_or_right = i % 4 == 0 || i % 4 == 3, top_or_bottom = i / 4 == 0 || i / 4 == 3;
    EXPECT_EQ(degree, 4 - left_or_right - top_or_bottom) << i;
  }
}

TEST(ChipLibrary, ExploresTheEdgeTpuByItsParameters) {
  const Hardware hardware =
      chip("edge_tpu_hda", {{"simd", "128"}, {"lanes", "8"}, {"local_kib", "4096"}, {"sum_bits", "32"}});
  const Core& pe = core(hardware, "pe_15");
  EXPECT_EQ(pe.array->dimensions[0].size, 128);
  EXPECT_EQ(pe.array->dimensions[1].size, 8);
  EXPECT_EQ(memory(pe, "weights").size_bits, 32 * 8192 / 1024);  // 32 KiB over the lanes
  EXPECT_EQ(memory(pe, "buffer").size_bits, 4096 * 8192);
  EXPECT_EQ(memory(pe, "sums").size_bits, 32);
  EXPECT_DOUBLE_EQ(memory(pe, "sums").read_energy_pj.value, 0.042);
  EXPECT_EQ(memory(core(chip("edge_tpu_hda"), "pe_0"), "weights").size_bits, 1024);
}

TEST(ChipLibrary, SharesMemoriesThatAreOne) {
  EXPECT_EQ(chip("diana").shared_memories[0].size(), 4U);
  EXPECT_EQ(chip("ascend_910").shared_memories[0].size(), 32U);
  EXPECT_EQ(chip("fusemax").shared_memories[0].size(), 2U);
}

// What a row of 4,096 bits costs in FuseMax's artifact, by its tables of products (docs/fusemax.md): read and write,
// pJ. Ours is modelled; the artifact's own reference table is that of words of 64 bits, a twenty-fifth and less.
TEST(ChipLibrary, PricesRowsOfFusemaxsBufferByTheModel) {
  const std::vector<std::tuple<std::string, double, double>> artifact{{"fusemax", 12519, 15751},
                                                                      {"flat", 23861, 27098}};
  for (const auto& [name, read, write] : artifact) {
    const Hardware hardware = chip(name);
    const Memory& buffer = memory(core(hardware, "array"), "buffer");
    EXPECT_EQ(buffer.read_energy_pj.provenance, Provenance::Modelled) << name;
    EXPECT_EQ(buffer.write_energy_pj.provenance, Provenance::Modelled) << name;
    EXPECT_LT(std::abs(std::log2(read / buffer.read_energy_pj.value)), 2) << name;
    EXPECT_LT(std::abs(std::log2(write / buffer.write_energy_pj.value)), 2) << name;
  }
}

// Peak rates of the precision-scalable array, ASP-DAC 2026: 64, 256 GOP/s in int8 and 8-bit floats at 500 MHz.
TEST(ChipLibrary, ScalesTheMicroscalingArrayByFormat) {
  const Hardware hardware = chip("snax_mx");
  for (const MacCost& cost : hardware.cores[0].array->formats) {
    const double gops = peak(hardware) / 1e9 / static_cast<double>(cost.cycles);
    EXPECT_DOUBLE_EQ(gops, cost.multiplicand == Element::I8 ? 64 : 256);
  }
  const Hardware dacapo = chip("dacapo");  // MACs a cycle: 4096 in MX4, 256 in MX9
  EXPECT_EQ(peak(dacapo) / 2 / dacapo.clock_hz.value, 4096);
  EXPECT_EQ(dacapo.cores[0].array->formats[1].cycles, 16);
}

}  // namespace
}  // namespace monet::hardware
