#include "monet/hardware/yaml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "monet/hardware/load.h"
#include "unit/hardware/chips.h"

namespace monet::hardware {
namespace {

using test::faults;
using test::kEverything;
using test::load;
using test::replaced;

TEST(OwnForm, SaysEverything) {
  const Hardware h = load(kEverything).hardware;
  EXPECT_EQ(h.name, "everything");
  EXPECT_EQ(h.description, "a \"made up\" chip");
  EXPECT_EQ(h.node_nm, (Figure{28, Provenance::Given, "made up"}));
  EXPECT_EQ(h.clock_hz, (Figure{5e8, Provenance::Given, "a data sheet"}));
  EXPECT_EQ(h.supply_v, (Figure{0.9, Provenance::Assumed, ""}));
  ASSERT_EQ(h.cores.size(), 5u);
  const Core& matrix = h.cores[0];
  EXPECT_EQ(matrix.array->dimensions, (std::vector<ArrayDimension>{{"D1", 8}, {"D2", 4}}));
  EXPECT_DOUBLE_EQ(matrix.array->mac_energy_pj.value, 0.04);
  EXPECT_DOUBLE_EQ(matrix.array->mac_area_mm2.value, 250e-6);
  EXPECT_EQ(matrix.array->formats[0], (MacCost{Element::F16, Element::F32, 2, {1.1, Provenance::Given, "made up"}}));
  EXPECT_EQ(matrix.array->formats[1].energy_pj, (Figure{0.2, Provenance::Modelled, "a model"}));
  EXPECT_TRUE(matrix.array->skips_zeros);
  EXPECT_EQ(matrix.dataflow, Dataflow::Fixed);
  EXPECT_EQ(matrix.unrollings, (std::vector<std::vector<Unrolling>>{{{"K", 8}}, {{"C", 2}, {"FX", 2}}}));
  EXPECT_EQ(matrix.takes, (std::vector{WorkClass::Contraction, WorkClass::DepthwiseContraction}));
  EXPECT_EQ(matrix.operator_types, (std::vector<std::string>{"Conv", "Gemm"}));
  EXPECT_EQ(h.cores[1].array->imc, (InMemoryCompute{true, 8, 4, 2, 6}));
  EXPECT_EQ(h.cores[2].name, "simd_0");
  EXPECT_EQ(h.cores[3].name, "simd_1");
  EXPECT_EQ(h.offchip, CoreId{4});
  EXPECT_EQ(h.links[0].cores, (std::vector{CoreId{0}, CoreId{2}}));
  EXPECT_FALSE(h.links[0].is_bus);
  EXPECT_EQ(h.links[1].cores.size(), 5u);
  EXPECT_EQ(h.links[1].bits_per_cycle, 64);  // 4 GB/s at 500 MHz are 8 B a cycle
  EXPECT_EQ(h.shared_memories, (std::vector<std::vector<CoreId>>{{CoreId{2}, CoreId{3}}}));
  EXPECT_EQ(h.offchip_efficiency[1].stride_bytes, 4096);
  EXPECT_DOUBLE_EQ(h.offchip_efficiency[1].efficiency.value, 0.3);
}

TEST(OwnForm, Memories) {
  const Core matrix = load(kEverything).hardware.cores[0];
  const Memory& registers = matrix.memories[0];
  EXPECT_EQ(registers.kind, MemoryKind::Register);
  EXPECT_EQ(registers.size_bits, 128);
  EXPECT_TRUE(registers.served_dimensions.empty());
  ASSERT_EQ(registers.ports.size(), 2u);
  EXPECT_EQ(registers.ports[0].uses, (std::vector<PortUse>{{Slot::Weight, Direction::ReadToLow}}));
  EXPECT_EQ(registers.ports[1].uses, (std::vector<PortUse>{{Slot::Weight, Direction::WriteFromHigh}}));
  EXPECT_DOUBLE_EQ(registers.leakage_mw.value, 1e-3);
  EXPECT_EQ(matrix.memories[1].served_dimensions, (std::vector<std::size_t>{1}));
  EXPECT_EQ(matrix.memories[1].ports[0].kind, PortKind::ReadWrite);
  EXPECT_EQ(matrix.memories[1].ports[1].min_bits_per_cycle, 8);
  const Memory& buffer = matrix.memories[2];
  EXPECT_EQ(buffer.kind, MemoryKind::Sram);
  EXPECT_EQ(buffer.size_bits, 64 * 1024 * 8);
  EXPECT_EQ(buffer.slots, (std::vector{Slot::Input, Slot::Output, Slot::Weight}));
  EXPECT_EQ(buffer.served_dimensions, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(buffer.ports[0].max_bits_per_cycle, 512);
  EXPECT_EQ(buffer.ports[0].min_bits_per_cycle, 64);
  EXPECT_EQ(buffer.ports[1].max_bits_per_cycle, 512);  // 32 GB/s at 500 MHz
  EXPECT_EQ(buffer.ports[1].min_bits_per_cycle, 512);
  EXPECT_EQ(buffer.ports[0].uses.size(), 4u);  // two of the output
  EXPECT_EQ(buffer.read_energy_pj, (Figure{20, Provenance::Given, "a paper"}));
  EXPECT_EQ(buffer.write_energy_pj, (Figure{21, Provenance::Assumed, ""}));
  EXPECT_EQ(buffer.latency_cycles, 2);
  EXPECT_EQ(buffer.buffering, Buffering::Double);
  EXPECT_TRUE(buffer.ports_per_core);
  EXPECT_FALSE(registers.ports_per_core);
  EXPECT_EQ(buffer.transposed_read, TransposedRead::Conflicts);
  EXPECT_EQ(buffer.transposed_slowdown, 8);
}

TEST(OwnForm, WhatIsNotSaidIsModelledAndSaysSo) {
  const Hardware h = load(kEverything).hardware;
  const Memory& local = h.cores[2].memories[0];
  for (const Figure* figure : {&local.read_energy_pj, &local.write_energy_pj, &local.leakage_mw, &local.area_mm2}) {
    EXPECT_NE(figure->provenance, Provenance::Given);
    EXPECT_NE(figure->source, "");
    EXPECT_GT(figure->value, 0);
  }
  const std::string text = replaced(kEverything, "read_energy: 20 pJ", "read_energy: modelled");
  EXPECT_NE(load(text).hardware.cores[0].memories[2].read_energy_pj.provenance, Provenance::Given);
}

TEST(OwnForm, AnyStandsForEveryFunctionNotNamed) {
  const VectorUnit unit = *load(kEverything).hardware.cores[2].vector;
  EXPECT_EQ(unit.functions.size(), 18u);  // seventeen, and exp in f16
  for (const FunctionCost& cost : unit.functions) {
    const bool is_exp = cost.function == work::ElementFunction::Exp;
    EXPECT_EQ(cost.cycles, !is_exp ? 1 : cost.element ? 2 : 4) << work::name(cost.function);
  }
}

TEST(OwnForm, PrintsWhatItReads) {
  const Hardware h = load(kEverything).hardware;
  const std::string text = print(h);
  const Hardware again = parse_hardware(text, "printed.yaml").hardware;
  EXPECT_EQ(again, h);
  EXPECT_EQ(print(again), text);
}

// Names and sources may be any text; some of it means something in YAML or in our files.
TEST(OwnForm, PrintsAnyText) {
  const std::vector<std::string> texts{"",
                                       " ",
                                       "~",
                                       "null",
                                       "true",
                                       "1e3",
                                       "016",
                                       "a: b",
                                       "- a",
                                       "#",
                                       "'",
                                       "\"",
                                       "\\",
                                       "a\nb",
                                       "\t",
                                       "${rows}",
                                       "$${x}",
                                       "$$",
                                       "{",
                                       "[a]",
                                       "&a",
                                       "*a",
                                       "<<",
                                       "!t",
                                       "%",
                                       "@",
                                       "`",
                                       "include",
                                       "parameters",
                                       "\x01\x7f",
                                       "\u00e9\u2028\U0001F600",
                                       "all",
                                       "value"};
  for (const std::string& text : texts) {
    Hardware h = load(kEverything).hardware;
    h.name = h.description = text;
    h.source = text;
    h.cores[0].array->mac_energy_pj.source = text + "x";
    h.cores[0].memories[2].ports[0].name = text;
    h.cores[0].operator_types = {text};
    h.cores[0].name = text;
    h.cores[0].memories[0].name = text;
    h.cores[0].array->dimensions[0].name = text;
    h.cores[0].unrollings[0][0].dimension = text;
    const std::string printed = print(h);
    try {
      EXPECT_EQ(parse_hardware(printed, "p.yaml").hardware, h) << "'" << text << "'\n" << printed;
    } catch (const InputError& error) {
      ADD_FAILURE() << "'" << text << "': " << error.what();
    }
  }
}

TEST(OwnForm, PrintsACoreWithNothingInIt) {
  const Hardware h = load("monet: hardware\nname: a\ncores: {c: {}}\n").hardware;
  EXPECT_EQ(parse_hardware(print(h), "p.yaml").hardware, h);
}

TEST(OwnForm, ParametersIncludesAndOverrides) {
  const std::map<std::string, std::string> files{
      {"chips/a.yaml",
       "monet: hardware\nname: a\nparameters: {rows: 4}\ncores:\n  c: {include: core.yaml, count: 2}\n"},
      {"chips/core.yaml",
       "array: {dimensions: {D1: '${rows * 2}'}}\nmemories:\n  m: {size: '${rows} KiB', holds: all, bits_per_cycle: "
       "64}\n"}};
  const LoadOptions options{.read = [&](const std::string& path) {
    if (!files.contains(path)) throw InputError(Diagnostic{.file = path, .message = "no such file"});
    return files.at(path);
  }};
  const Loaded loaded = load_hardware("chips/a.yaml", options);
  EXPECT_EQ(loaded.hardware.cores[1].array->dimensions[0].size, 8);
  EXPECT_EQ(loaded.hardware.cores[1].memories[0].size_bits, 4 * 1024 * 8);
  ASSERT_EQ(loaded.files.size(), 2u);
  EXPECT_EQ(loaded.files[1].path, "chips/core.yaml");
  LoadOptions more = options;
  more.parameters = {{"rows", "16"}};
  EXPECT_EQ(load_hardware("chips/a.yaml", more).hardware.cores[0].array->dimensions[0].size, 32);
}

TEST(OwnForm, FaultsOfAFragmentAreLocatedInIt) {
  const LoadOptions options{
      .read = [](const std::string&) { return std::string("size: 4 KiB\nholds: all\nbits_per_cylce: 64\n"); }};
  try {
    load("monet: hardware\nname: a\ncores:\n  c:\n    memories:\n      m: {include: part.yaml}\n", options);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(
        std::string(error.what())
            .find("part.yaml:3:1: error: unknown key 'bits_per_cylce' in memory 'm' (did you mean 'bits_per_cycle'?)"),
        std::string::npos)
        << error.what();
  }
}

TEST(OwnForm, BandwidthPerSecondNeedsTheClock) {
  const std::string text = replaced(kEverything, "clock: {value: 500 MHz, source: a data sheet}\n", "");
  EXPECT_NE(faults(text).find("a bandwidth per second needs the chip's 'clock'"), std::string::npos);
  const std::string odd = replaced(kEverything, "bandwidth: 4 GB/s", "bandwidth: 0.8 GB/s");
  EXPECT_NE(faults(odd).find("comes to 12.8 bits a cycle, taken as 12"), std::string::npos);
}

TEST(OwnForm, IsToldFromOthersByContent) {
  EXPECT_NE(faults("a: 1").find("not a hardware description"), std::string::npos);
  EXPECT_NE(faults("[1, 2]").find("not a hardware description"), std::string::npos);
  EXPECT_NE(faults("monet: software\nname: x\ncores: {}").find("'software' is no kind of file there is"),
            std::string::npos);
}

TEST(OwnForm, TheTextOfTheDocumentationLoads) {
  // tests/structure runs documented commands; that the example on the page is a chip is checked by its own text.
  const std::string minimal =
      "monet: hardware\nname: m\ncores:\n  c:\n    memories: {m: {size: 1 KiB, holds: all, bits_per_cycle: 8}}\n";
  const Hardware h = load(minimal).hardware;
  EXPECT_EQ(h.node_nm.provenance, Provenance::Assumed);
  EXPECT_EQ(h.clock_hz.value, 0);
}

TEST(OwnForm, LinksOfCopiesAndMeshes) {
  const std::string chip = R"(monet: hardware
name: mesh
cores:
  pe: {array: {dimensions: {D1: 2}}, memories: {buffer: {size: 1 KiB, holds: all, bits_per_cycle: 8}}, count: 5}
  io: {memories: {dram: {kind: dram, size: 1 MiB, holds: all, bits_per_cycle: 8}}}
offchip: io
links:
  - {mesh: pe, columns: 2, bits_per_cycle: 8}
  - {link: [pe, io], bits_per_cycle: 16}
  - {bus: [pe, io], bits_per_cycle: 32}
)";
  const Hardware h = load(chip).hardware;
  std::vector<std::vector<std::uint32_t>> pairs;
  for (const Link& link : h.links) {
    pairs.emplace_back();
    for (const CoreId id : link.cores) pairs.back().push_back(id.value);
  }
  // Rows of two, the last one shorter: 0 1 / 2 3 / 4.
  EXPECT_EQ(pairs,
            (std::vector<std::vector<std::uint32_t>>{
                {0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 4}, {0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 5}, {0, 1, 2, 3, 4, 5}}));
  EXPECT_TRUE(h.links.back().is_bus);
  EXPECT_EQ(h.links[4].bits_per_cycle, 8);
  EXPECT_EQ(h.links[5].bits_per_cycle, 16);
  EXPECT_NE(faults(replaced(chip, "mesh: pe", "mesh: io")).find("a mesh is of cores made by 'count'"),
            std::string::npos);
  EXPECT_NE(faults(replaced(chip, "mesh: pe, columns: 2", "mesh: pe")).find("columns"), std::string::npos);
  EXPECT_NE(faults(replaced(chip, "mesh: pe", "mesh: pe, bus: all")).find("one of 'link', 'bus' and 'mesh'"),
            std::string::npos);
}

TEST(OwnForm, AMeshAndItsMirrorImageAreOneChip) {
  const auto mesh = [](int count, int columns) {
    return load(fmt::format(R"(monet: hardware
name: mesh
cores:
  pe: {{array: {{dimensions: {{D1: 2}}}}, memories: {{buffer: {{size: 1 KiB, holds: all, bits_per_cycle: 8}}}}, count: {}}}
  io: {{memories: {{dram: {{kind: dram, size: 1 MiB, holds: all, bits_per_cycle: 8}}}}}}
offchip: io
links: [{{mesh: pe, columns: {}, bits_per_cycle: 8}}, {{bus: all, bits_per_cycle: 8}}]
)",
                            count, columns))
        .hardware;
  };
  EXPECT_EQ(mesh(6, 2), mesh(6, 3));
  EXPECT_EQ(mesh(4, 1), mesh(4, 4));
  EXPECT_NE(mesh(4, 1), mesh(4, 2));
  // 0 1 / 2 3 / 4 5: seven links and the bus.
  EXPECT_EQ(mesh(6, 3).links.size(), 8u);
  EXPECT_EQ(mesh(6, 3).links[1].cores, (std::vector<CoreId>{CoreId{0}, CoreId{2}}));
  // One with a shorter last row has no mirror image of the same kind: 0 1 2 / 3 4.
  EXPECT_EQ(mesh(5, 3).links.size(), 6u);
  EXPECT_NE(mesh(5, 3), mesh(5, 2));
}

}  // namespace
}  // namespace monet::hardware
