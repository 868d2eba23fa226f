#include <fmt/format.h>

#include "monet/hardware/library.h"
#include "monet/hardware/load.h"
#include "monet/hardware/verify.h"
#include "support/random_case.h"

namespace monet::test {
namespace {

const char* const kChips[] = {"tpu_like_quad_core",       "hetero_quad_core", "edge_tpu_hda", "fusemax",
                              "eyeriss_like_quad_core",   "tpu_like",         "eyeriss_like", "edge_tpu_like",
                              "meta_prototype_dual_core", "nvdla_like",       "tpu_v2"};

bool is_valid(const hardware::Hardware& chip) {
  for (const hardware::Fault& fault : hardware::examine(chip))
    if (fault.severity == Severity::Error) return false;
  return true;
}

// A power of two times 1 to 3, in bits.
std::int64_t memory_bits(std::int64_t least_bytes_log, std::int64_t most_bytes_log, Draw& draw) {
  return (std::int64_t{8} << draw.between(least_bytes_log, most_bytes_log)) * draw.between(2, 3) / 2;
}

// The highest memories smaller, so that not everything fits.
RandomChip shrunk(Draw& draw) {
  RandomChip chip{.words = kChips[draw.below(std::ssize(kChips))]};
  chip.hardware = hardware::find_hardware(chip.words).hardware;
  hardware::Hardware small = chip.hardware;
  const std::int64_t bits = memory_bits(11, 16, draw);
  for (std::uint32_t c = 0; c < small.cores.size(); ++c) {
    if (small.offchip == hardware::CoreId{c} || small.cores[c].memories.empty()) continue;
    hardware::Memory& top = small.cores[c].memories.back();
    top.size_bits = std::min(top.size_bits, bits);
  }
  if (draw.below(4) != 0 && is_valid(small)) {
    chip.hardware = std::move(small);
    chip.words += fmt::format(" with memories of {} B", bits / 8);
  }
  return chip;
}

std::string buffer(const char* name, const char* holds, Draw& draw) {
  return fmt::format(
      "      {}: {{kind: sram, size_bits: {}, holds: {}, bits_per_cycle: {}, read_energy: 1.5 pJ, write_energy: 2 "
      "pJ}}\n",
      name, memory_bits(10, 14, draw), holds, 8 << draw.between(0, 4));
}

// One to four cores; arrays with registers; one buffer or two; a vector unit in each or in a core of its own; a bus or
// links to a neighbour besides; some cores share their buffer.
std::string made_up(Draw& draw) {
  const std::int64_t cores = draw.between(1, 4);
  const bool own_vector_core = draw.below(3) == 0, one_buffer = draw.coin(), alike = draw.coin();
  const Draw same = draw;
  const std::string vector = "    vector: {lanes: 4, functions: {any: {cycles: 1, energy: 0.3 pJ}}}\n";
  std::string text = "monet: hardware\nname: made_up\nclock: 100 MHz\nnode: 28 nm\ncores:\n";
  for (std::int64_t c = 0; c < cores; ++c) {
    Draw own = alike ? same : draw;
    text += fmt::format("  core{}:\n", c);
    text += fmt::format("    array: {{dimensions: {{D1: {}, D2: {}}}, mac_energy: 0.5 pJ}}\n", 1 << own.below(4),
                        1 << own.below(4));
    if (!own_vector_core) text += vector;
    text += "    memories:\n";
    text +=
        "      registers: {kind: register, size_bits: 32, holds: [weight], serves: [], bits_per_cycle: 32, "
        "read_energy: "
        "0.1 pJ, write_energy: 0.1 pJ}\n";
    if (one_buffer) {
      text += buffer("buffer", "all", own);
    } else {
      text += buffer("weights", "[weight]", own);
      text += buffer("activations", "[input, output]", own);
    }
    draw = own;
  }
  if (own_vector_core) text += "  vectors:\n" + vector + "    memories:\n" + buffer("buffer", "all", draw);
  text += fmt::format(
      "  dram:\n    memories:\n      dram: {{kind: dram, size: 16 MiB, holds: all, bits_per_cycle: {}, {}"
      "read_energy: 50 pJ, write_energy: 60 pJ}}\n",
      8 << draw.between(0, 4), draw.coin() ? "port: shared, " : "");
  text += "offchip: dram\nlinks:\n";
  if (cores > 1 && draw.coin())
    for (std::int64_t c = 0; c + 1 < cores; ++c)
      text += fmt::format("  - {{link: [core{}, core{}], bits_per_cycle: {}, energy: 0.2 pJ/bit}}\n", c, c + 1,
                          8 << draw.between(0, 3));
  text += fmt::format("  - {{bus: all, bits_per_cycle: {}, energy: 0.1 pJ/bit}}\n", 8 << draw.between(1, 5));
  if (alike && one_buffer && cores > 1 && draw.coin()) text += "shared_memories:\n  - [core0, core1]\n";
  return text;
}

}  // namespace

RandomChip random_chip(Draw& draw) {
  if (draw.coin()) return shrunk(draw);
  const std::string text = made_up(draw);
  return {.hardware = hardware::parse_hardware(text, "made_up.yaml").hardware, .words = text};
}

}  // namespace monet::test
