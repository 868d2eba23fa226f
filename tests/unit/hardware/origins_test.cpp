#include "monet/hardware/origins.h"

#include <gtest/gtest.h>

#include <sstream>

#include "monet/hardware/library.h"
#include "monet/hardware/load.h"

namespace monet::hardware {
namespace {

std::string line_of(std::string_view text, std::uint32_t line) {
  std::istringstream in{std::string(text)};
  std::string out;
  for (std::uint32_t i = 0; i < line; ++i) std::getline(in, out);
  return out;
}

std::uint32_t line_at(const Loaded& loaded, const std::string& path) {
  const std::optional<Origin> origin = loaded.origins.find(path);
  return origin ? origin->line : 0;
}

constexpr const char* kChip = R"(monet: hardware
name: little
clock_mhz: 500
cores:
  pe:
    count: 2
    array:
      dimensions:
        D1: 4
        D2: 8
      mac_energy: 1 pJ
    memories:
      near:
        kind: register
        size_bits: 64
        holds: all
        serves: []
        ports:
          - {name: a, kind: read, bits_per_cycle: 16, for: [all]}
          - {name: b, kind: write, bandwidth: 2 B/cycle, for: [all]}
        read_energy:
          value: 0.5 pJ
          source: somewhere
      far:
        size: 1 KiB
        holds: all
        bytes_per_cycle: 4
        write_energy_pj: 3
        latency: 2 cycles
)";

TEST(Origins, EveryFigureOfOurOwnFormHasItsLine) {
  const Loaded loaded = parse_hardware(kChip, "little.yaml");
  EXPECT_EQ("little.yaml", loaded.origins.find("clock_hz").value().file);
  EXPECT_EQ(3u, line_at(loaded, "clock_hz"));
  EXPECT_EQ(10u, line_at(loaded, "cores[0].array.dimensions[1]"));
  EXPECT_EQ(11u, line_at(loaded, "cores[0].array.mac_energy_pj"));
  EXPECT_EQ(15u, line_at(loaded, "cores[0].memories[0].size_bits"));
  EXPECT_EQ(19u, line_at(loaded, "cores[0].memories[0].ports[0].max_bits_per_cycle"));
  EXPECT_EQ(20u, line_at(loaded, "cores[0].memories[0].ports[1].max_bits_per_cycle"));
  EXPECT_EQ(22u, line_at(loaded, "cores[0].memories[0].read_energy_pj"));
  EXPECT_EQ(25u, line_at(loaded, "cores[0].memories[1].size_bits"));
  EXPECT_EQ(27u, line_at(loaded, "cores[0].memories[1].ports[0].max_bits_per_cycle"));
  EXPECT_EQ(28u, line_at(loaded, "cores[0].memories[1].write_energy_pj"));
  EXPECT_EQ(29u, line_at(loaded, "cores[0].memories[1].latency_cycles"));
}

TEST(Origins, WhatIsModelledHasNoLine) {
  const Loaded loaded = parse_hardware(kChip, "little.yaml");
  EXPECT_EQ(Provenance::Modelled, loaded.hardware.cores[0].memories[1].read_energy_pj.provenance);
  EXPECT_FALSE(loaded.origins.find("cores[0].memories[1].read_energy_pj"));
  EXPECT_FALSE(loaded.origins.find("cores[0].memories[0].latency_cycles"));
}

TEST(Origins, CopiesOfACoreStandWhereTheFirstDoes) {
  const Loaded loaded = parse_hardware(kChip, "little.yaml");
  ASSERT_EQ(2u, loaded.hardware.cores.size());
  EXPECT_EQ(15u, line_at(loaded, "cores[1].memories[0].size_bits"));
  EXPECT_FALSE(loaded.origins.find("cores[2].memories[0].size_bits"));
}

constexpr const char* kOld = R"(name: old
memories:
  regs:
    size: 16
    r_bw: 8
    w_bw: 4
    r_cost: 0.1
    w_cost: 0.2
    area: 0
    r_port: 1
    w_port: 1
    rw_port: 0
    latency: 1
    operands: [I1, I2, O]
    ports:
      - {fh: w_port_1, tl: r_port_1}
      - {fh: w_port_1, tl: r_port_1}
      - {fh: w_port_1, tl: r_port_1, fl: w_port_1, th: r_port_1}
    served_dimensions: []
multipliers:
  input_precision: [8, 8]
  multiplier_energy: 0.5
  multiplier_area: 1
  dimensions: [D1, D2]
  sizes: [
    2,
    3]
)";

TEST(Origins, SoDoThoseOfZigzagsFiles) {
  const Loaded loaded = parse_hardware(kOld, "old.yaml");
  ASSERT_EQ("ZigZag accelerator", loaded.form);
  const std::string memory = "cores[0].memories[0]";
  EXPECT_EQ(4u, line_at(loaded, memory + ".size_bits"));
  EXPECT_EQ(7u, line_at(loaded, memory + ".read_energy_pj"));
  EXPECT_EQ(8u, line_at(loaded, memory + ".write_energy_pj"));
  for (std::size_t p = 0; p < 2; ++p)
    EXPECT_EQ(loaded.hardware.cores[0].memories[0].ports[p].kind == PortKind::Write ? 6u : 5u,
              line_at(loaded, memory + ".ports[" + std::to_string(p) + "].max_bits_per_cycle"));
  EXPECT_EQ(22u, line_at(loaded, "cores[0].array.mac_energy_pj"));
  EXPECT_EQ(27u, line_at(loaded, "cores[0].array.dimensions[1]"));
}

// Every figure that a chip of the library gives stands on a line that has its key.
TEST(Origins, LinesOfTheLibrarySayWhatTheyAreSaidToSay) {
  const auto key_of = [](const std::string& path) -> std::vector<std::string> {
    const std::string member = path.substr(path.rfind('.') + 1);
    if (member == "size_bits") return {"size"};
    if (member == "read_energy_pj") return {"read_energy"};
    if (member == "write_energy_pj") return {"write_energy"};
    if (member == "max_bits_per_cycle") return {"bits_per_cycle", "bytes_per_cycle", "bandwidth"};
    if (member == "mac_energy_pj") return {"mac_energy"};
    if (member == "leakage_mw") return {"leakage"};
    return {};
  };
  std::size_t checked = 0;
  for (const std::string& name : library_names()) {
    const Loaded loaded = find_hardware(name);
    for (const auto& [path, origin] : loaded.origins.places) {
      std::string_view text;
      for (const LibraryFile& file : library_files())
        if (origin.file.ends_with(file.path) && file.path.size() > text.size()) text = file.text;
      ASSERT_FALSE(text.empty()) << origin.file;
      const std::vector<std::string> keys = key_of(path);
      if (keys.empty()) continue;
      // A value in a map of its own stands at most a line below its key.
      const std::string lines = line_of(text, origin.line) + (origin.line > 1 ? line_of(text, origin.line - 1) : "");
      EXPECT_TRUE(std::any_of(keys.begin(), keys.end(),
                              [&](const std::string& key) { return lines.find(key) != std::string::npos; }))
          << name << ' ' << path << ' ' << origin.file << ':' << origin.line;
      ++checked;
    }
  }
  EXPECT_GT(checked, 500u);
}

}  // namespace
}  // namespace monet::hardware
