#include "monet/hardware/stream_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "monet/hardware/load.h"
#include "monet/hardware/yaml.h"
#include "unit/hardware/chips.h"

namespace monet::hardware {
namespace {

using test::faults;
using test::kZigzag;
using test::load;
using test::replaced;
namespace fs = std::filesystem;

TEST(ZigzagFile, IsAChipOfOneCore) {
  const Loaded loaded = load(kZigzag);
  EXPECT_EQ(loaded.form, "ZigZag accelerator");
  EXPECT_TRUE(loaded.warnings.empty()) << to_string(loaded.warnings[0]);
  ASSERT_EQ(loaded.hardware.cores.size(), 1u);
  const Core& core = loaded.hardware.cores[0];
  EXPECT_EQ(core.array->dimensions, (std::vector<ArrayDimension>{{"D1", 8}, {"D2", 4}}));
  EXPECT_EQ(core.array->mac_energy_pj, (Figure{0.04, Provenance::Given, ""}));
  const Memory& rf = core.memories[0];
  EXPECT_EQ(rf.name, "rf");
  EXPECT_EQ(rf.kind, MemoryKind::Register);
  EXPECT_EQ(rf.size_bits, 64);
  EXPECT_EQ(rf.slots, std::vector{Slot::Weight});
  EXPECT_EQ(rf.served_dimensions, std::vector<std::size_t>{1});
  EXPECT_EQ(rf.read_energy_pj.value, 0.1);
  EXPECT_EQ(rf.write_energy_pj.value, 0.2);
  EXPECT_EQ(rf.ports[0], (Port{"r_port_1", PortKind::Read, 8, 8, {{Slot::Weight, Direction::ReadToLow}}}));
  EXPECT_EQ(core.memories[1].slots, (std::vector{Slot::Input, Slot::Weight, Slot::Output}));
  EXPECT_EQ(core.memories[1].ports[0].min_bits_per_cycle, 64);
  EXPECT_EQ(core.memories[1].ports[0].uses.back(), (PortUse{Slot::Output, Direction::ReadToHigh}));
  EXPECT_EQ(core.unrollings, (std::vector<std::vector<Unrolling>>{{{"K", 8}}, {}}));
}

TEST(ZigzagFile, OlderSpellingsMeanTheSame) {
  const std::string ports =
      kZigzag.substr(kZigzag.find("    ports:\n      - name: r_port_1"),
                     kZigzag.find("    served_dimensions: [D2]") - kZigzag.find("    ports:\n      - name: r_port_1"));
  std::string old = replaced(kZigzag, ports,
                             "    r_bw: 8\n    w_bw: 8\n    r_port: 1\n    w_port: 1\n    rw_port: 0\n    ports:\n     "
                             " - fh: w_port_1\n        tl: r_port_1\n");
  old = replaced(old, "operational_array:", "multipliers:");
  Hardware a = load(kZigzag).hardware, b = load(old).hardware;
  // Ports come in the order they are named in.
  std::swap(b.cores[0].memories[0].ports[0], b.cores[0].memories[0].ports[1]);
  EXPECT_EQ(a, b);
}

TEST(ZigzagFile, OldPortsOfSeveralOperands) {
  const std::string text = R"(name: v
memories:
  sram:
    size: 16_777_216
    r_bw: 8192
    w_bw: 4096
    r_cost: 8192
    w_cost: 8192
    area: 0
    r_port: 1
    w_port: 1
    rw_port: 0
    latency: 1
    min_r_granularity: 256
    operands: [I1, I2, O]
    ports:
      - fh: w_port_1
        tl: r_port_1
      - {fh: w_port_1, tl: r_port_1, fl: null}
      - {fh: w_port_1, tl: r_port_1, fl: w_port_1, th: r_port_1}
    served_dimensions: [D1]
multipliers: {unit_energy: 0.1, unit_area: 0, dimensions: [D1], sizes: [256]}
)";
  const Memory memory = load(text).hardware.cores[0].memories[0];
  EXPECT_EQ(memory.size_bits, 16777216);
  ASSERT_EQ(memory.ports.size(), 2u);
  EXPECT_EQ(memory.ports[0].name, "w_port_1");
  EXPECT_EQ(memory.ports[0].max_bits_per_cycle, 4096);
  EXPECT_EQ(memory.ports[0].min_bits_per_cycle, 4096);
  EXPECT_EQ(memory.ports[1].max_bits_per_cycle, 8192);
  EXPECT_EQ(memory.ports[1].min_bits_per_cycle, 256);
  EXPECT_EQ(memory.ports[0].uses.size(), 4u);
  EXPECT_EQ(memory.ports[1].uses.size(), 4u);
  EXPECT_NE(faults(replaced(text, "tl: r_port_1\n", "tl: r_port_2\n"))
                .find("'r_port_2' is named, but the memory has 1 of its kind"),
            std::string::npos);
  EXPECT_NE(faults(replaced(text, "tl: r_port_1\n", "tl: x_port_1\n")).find("'x_port_1' is no port"),
            std::string::npos);
  EXPECT_NE(faults(replaced(text, "    r_bw: 8192\n", "")).find("says no width for port 'r_port_1'"),
            std::string::npos);
}

TEST(ZigzagFile, WhatZigzagMakesNothingOfIsSaid) {
  const std::string text = replaced(kZigzag, "          - I2, tl\n", "          - I2, tl\n          - I2, th\n");
  EXPECT_EQ(load(text).hardware, load(kZigzag).hardware);
  EXPECT_NE(faults(text).find("the weight neither comes from below nor goes back up"), std::string::npos);
}

TEST(ZigzagFile, NamesOf2024) {
  const std::string text =
      replaced(replaced(kZigzag, "unit_energy", "multiplier_energy"), "unit_area", "multiplier_area");
  EXPECT_EQ(load(text).hardware, load(kZigzag).hardware);
}

TEST(ZigzagFile, TheLastOfTwoEqualKeysCounts) {
  const std::string text = replaced(kZigzag, "    size: 64\n", "    size: 32\n    size: 64\n");
  EXPECT_EQ(load(text).hardware, load(kZigzag).hardware);
  EXPECT_NE(faults(text).find(
                "hw.yaml:5:5: warning: 'size' is given twice in memory 'rf', first in line 4 (the last one counts)"),
            std::string::npos);
}

TEST(ZigzagFile, ExtractedCostsAreModelled) {
  const std::string text =
      replaced(kZigzag, "    r_cost: 10\n    w_cost: 12\n    area: 0.5\n", "    auto_cost_extraction: True\n");
  const Memory sram = load(text).hardware.cores[0].memories[1];
  EXPECT_NE(sram.read_energy_pj.provenance, Provenance::Given);
  EXPECT_GT(sram.read_energy_pj.value, 0);
  EXPECT_GT(sram.area_mm2.value, 0);
  EXPECT_NE(faults(replaced(kZigzag, "    r_cost: 10\n", "    r_cost: null\n")).find("memory 'sram' has no 'r_cost'"),
            std::string::npos);
}

TEST(ZigzagFile, InMemoryArrays) {
  std::string text = replaced(kZigzag, "  unit_energy: 0.04\n  unit_area: 1\n",
                              "  is_imc: True\n  imc_type: analog\n  input_precision: [8, 4]\n  bit_serial_precision: "
                              "2\n  adc_resolution: 6\n");
  EXPECT_NE(faults(text).find("an in-memory array needs a memory 'cells'"), std::string::npos);
  text = replaced(replaced(text, "  rf:\n", "  cells:\n"), "served_dimensions: [D2]", "served_dimensions: []");
  EXPECT_EQ(load(text).hardware.cores[0].array->imc, (InMemoryCompute{true, 8, 4, 2, 6}));
  EXPECT_NE(faults(replaced(text, "analog", "anolog")).find("unknown imc_type 'anolog' (did you mean 'analog'?)"),
            std::string::npos);
  EXPECT_NE(faults(replaced(text, "precision: 2", "precision: 16"))
                .find("16 bits at a time are more than the 8 an activation has"),
            std::string::npos);
  EXPECT_NE(
      faults(replaced(text, "imc_type: analog", "imc_type: digital")).find("a digital in-memory array has no ADC"),
      std::string::npos);
}

TEST(ZigzagFile, JsonFactsReadTheSame) {
  const std::string json =
      R"({"name": "small", "memories": {"m": {"size": 4096, "r_cost": 1, "w_cost": 2.5, "area": 0, "latency": 1,
    "operands": ["I1", "I2", "O"], "ports": [{"name": "rw_port_1", "type": "read_write", "bandwidth_min": 8, "bandwidth_max": 64,
    "allocation": ["I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th"]}], "served_dimensions": ["D1"]}},
    "operational_array": {"unit_energy": 1e-1, "unit_area": 1, "dimensions": ["D1"], "sizes": [4]}})";
  const config::Tree tree = config::parse_json(json, "f.json");
  config::Findings findings;
  const Hardware h = read_zigzag(tree.root(), findings);
  EXPECT_TRUE(findings.list().empty()) << to_string(findings.list()[0]);
  EXPECT_EQ(h.cores[0].memories[0].write_energy_pj.value, 2.5);
  EXPECT_EQ(h.cores[0].array->mac_energy_pj.value, 0.1);
}

// ---- Stream, in a folder of its own ----

class StreamFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "monet_stream_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    write("cores/compute.yaml", kZigzag);
    write("cores/offchip.yaml", kOffchip);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  Loaded load_main(const std::string& text) {
    write("main.yaml", text);
    return load_hardware((folder_ / "main.yaml").string());
  }
  std::string faults_main(const std::string& text) {
    try {
      load_main(text);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  }

  static inline const std::string kOffchip = R"(name: offchip
memories:
  dram:
    size: 10000000000
    r_cost: 1000
    w_cost: 1000
    area: 0
    latency: 1
    operands: [I1, I2, O]
    ports:
      - name: rw_port_1
        type: read_write
        bandwidth_min: 64
        bandwidth_max: 64
        allocation: ["I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th"]
    served_dimensions: [D1, D2]
operational_array:
  unit_energy: 0
  unit_area: 0
  dimensions: [D1, D2]
  sizes: [0, 0]
)";
  static inline const std::string kOf2025 = R"(name: quad
cores:
  0: compute.yaml
  1: stream/inputs/examples/hardware/cores/compute.yaml
  2: compute.yaml
offchip_core: offchip.yaml
core_connectivity:
  - 0, 1
  - 0, 1, 2
core_memory_sharing:
  - 0, 1
bandwidth: 32
unit_energy_cost: 16
)";
  static inline const std::string kOf2026 = R"(name: quad
cores:
  0: ./cores/compute.yaml
  1: compute.yaml
  2: compute.yaml
  3: ./cores/offchip.yaml
core_coordinates:
  0: [0, 0]
offchip_core_id: 3
unit_energy_cost: 16
core_connectivity:
  - {type: link, cores: [0, 1], bandwidth: 32}
  - {type: bus, cores: [0, 1, 2], bandwidth: 32}
  - {type: bus, cores: [0, 1, 2, 3], bandwidth: 64}
core_memory_sharing:
  - 0, 1
)";
  fs::path folder_;
};

TEST_F(StreamFile, BothFormsDescribeTheSameChip) {
  const Loaded first = load_main(kOf2025);
  EXPECT_EQ(first.form, "Stream accelerator");
  const Loaded second = load_main(kOf2026);
  EXPECT_EQ(first.hardware, second.hardware);
  EXPECT_EQ(first.files.size(), 3u);
  const Hardware& h = first.hardware;
  ASSERT_EQ(h.cores.size(), 4u);
  EXPECT_EQ(h.cores[0].name, "small_0");
  EXPECT_EQ(h.cores[3].name, "offchip");
  EXPECT_EQ(h.offchip, CoreId{3});
  EXPECT_FALSE(h.cores[3].array);
  EXPECT_TRUE(h.cores[3].memories[0].served_dimensions.empty());
  EXPECT_EQ(h.cores[3].memories[0].kind, MemoryKind::Dram);
  ASSERT_EQ(h.links.size(), 3u);
  EXPECT_FALSE(h.links[0].is_bus);
  EXPECT_EQ(h.links[0].bits_per_cycle, 32);
  EXPECT_EQ(h.links[0].energy_pj_per_bit.value, 0.5);  // 16 pJ a cycle of 32 bits
  EXPECT_TRUE(h.links[1].is_bus);
  EXPECT_EQ(h.links[2].cores.size(), 4u);
  EXPECT_EQ(h.links[2].bits_per_cycle, 64);
  EXPECT_EQ(h.shared_memories, (std::vector<std::vector<CoreId>>{{CoreId{0}, CoreId{1}}}));
  EXPECT_EQ(parse_hardware(print(h), "p.yaml").hardware, h);
}

TEST_F(StreamFile, CoreTypesOperatorsAndTiles) {
  write("cores/typed.yaml", "type: zigzag.compute\noperator_types: [Conv, Gemm]\n" + kZigzag);
  write("cores/tile.yaml",
        "name: tile\ntype: aie2.memory\nmax_object_fifo_depth: 48\nmemory: {capacity: 4194304, bandwidth_min: 128, "
        "bandwidth_max: 768}\ndma: {mm2s: 6}\n");
  const Loaded loaded = load_main(
      "name: n\ncores: {0: typed.yaml, 1: tile.yaml}\ncore_connectivity:\n  - {type: link, cores: [0, 1], bandwidth: "
      "32}\n");
  EXPECT_EQ(loaded.hardware.cores[0].operator_types, (std::vector<std::string>{"Conv", "Gemm"}));
  EXPECT_EQ(loaded.hardware.cores[1].memories[0].size_bits, 4194304);
  EXPECT_EQ(loaded.hardware.cores[1].memories[0].ports[0].max_bits_per_cycle, 768);
}

TEST_F(StreamFile, NetworksOf2024) {
  const std::string cores =
      "name: n\ncores: [compute.yaml, compute.yaml, compute.yaml, compute.yaml, compute.yaml, offchip.yaml]\n";
  const Hardware mesh = load_main(cores +
                                  "graph: {type: 2d_mesh, nb_rows: 2, nb_cols: 2, bandwidth: 32, unit_energy_cost: 0, "
                                  "simd_core_id: 4, offchip_core_id: 5}\n")
                            .hardware;
  EXPECT_EQ(mesh.offchip, CoreId{5});
  ASSERT_EQ(mesh.links.size(), 4u + 4u + 1u);  // the sides of a square, the helper to each corner, the bus
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t i = 0; i < 8; ++i) pairs.emplace_back(mesh.links[i].cores[0].value, mesh.links[i].cores[1].value);
  std::sort(pairs.begin(), pairs.end());
  EXPECT_EQ(pairs, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{
                       {0, 1}, {0, 2}, {0, 4}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}}));
  EXPECT_EQ(mesh.links[8].bits_per_cycle, 64);
  EXPECT_EQ(mesh.links[8].cores.size(), 6u);
  const Hardware bus = load_main(cores + "bus: {bandwidth: 32, offchip_core_id: 5}\n").hardware;
  ASSERT_EQ(bus.links.size(), 2u);
  EXPECT_EQ(bus.links[0].cores.size(), 5u);
  EXPECT_TRUE(bus.links[0].is_bus);
  EXPECT_NE(faults_main(cores + "graph: {type: 2d_mesh, nb_rows: 0, nb_cols: 0, bandwidth: 32}\n")
                .find("0 rows and 0 columns are not the 6 cores there are"),
            std::string::npos);
}

TEST_F(StreamFile, CoresWrittenInPlace) {
  std::string inner;
  for (std::size_t start = 0; start < kZigzag.size();) {
    const std::size_t end = kZigzag.find('\n', start);
    inner += "    " + kZigzag.substr(start, end - start + 1);
    start = end + 1;
  }
  const Loaded loaded =
      load_main("name: n\ncores:\n  0:\n" + inner +
                "  1: compute.yaml\ncore_connectivity: [{type: link, cores: [0, 1], bandwidth: 8}]\n");
  Core copy = loaded.hardware.cores[0];
  copy.name = loaded.hardware.cores[1].name;
  EXPECT_EQ(copy, loaded.hardware.cores[1]);
}

TEST_F(StreamFile, SaysWhatIsWrongAndWhere) {
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(faults_main(replaced(kOf2025, "0: compute", "0: comptue")),
                  "main.yaml:3:6: error: no core file 'comptue.yaml'"));
  EXPECT_TRUE(has(faults_main(replaced(kOf2025, "- 0, 1\n", "- 0, 9\n")),
                  "main.yaml:8:5: error: there is no core 9 (cores are 0 to 3)"));
  EXPECT_TRUE(has(faults_main(replaced(kOf2025, "- 0, 1\n", "- 0, x\n")), "'x' in 'core_connectivity' is no core id"));
  EXPECT_TRUE(has(faults_main(replaced(kOf2025, "- 0, 1\n", "- 0, 0\n")), "the link joins a core with itself"));
  EXPECT_TRUE(has(faults_main(replaced(kOf2025, "bandwidth: 32\n", "")), "no 'bandwidth' says how wide this link is"));
  EXPECT_TRUE(has(faults_main(replaced(kOf2025, "bandwidth: 32\n", "bandwidth: 0\n")),
                  "'bandwidth' must be at least 1, not '0'"));
  EXPECT_TRUE(
      has(faults_main(replaced(kOf2025, "unit_energy_cost", "unit_enregy_cost")), "did you mean 'unit_energy_cost'?"));
  EXPECT_TRUE(has(faults_main(replaced(kOf2025, "  2: compute", "  5: compute")), "core ids must count 0, 1, 2"));
  EXPECT_TRUE(has(faults_main(replaced(kOf2026, "offchip_core_id: 3", "offchip_core_id: 7")), "there is no core 7"));
  EXPECT_TRUE(has(faults_main(replaced(kOf2026, "offchip_core_id: 3", "offchip_core_id: 0")),
                  "off-chip core 'small_0' must have memories only"));
  EXPECT_TRUE(
      has(faults_main(replaced(kOf2026, "type: link", "type: lnik")), "unknown type 'lnik' (did you mean 'link'?)"));
  write("cores/compute.yaml", replaced(kZigzag, "size: 64", "size: -64"));
  const std::string found = faults_main(kOf2025);
  EXPECT_TRUE(has(found, "compute.yaml:4:11: error: 'size' must be positive, not '-64'"));
  EXPECT_EQ(found.find("compute.yaml:4:11"), found.rfind("compute.yaml:4:11"));  // once for three cores
}

}  // namespace
}  // namespace monet::hardware
