#include "monet/hardware/offchip.h"

#include <gtest/gtest.h>

namespace monet::hardware {
namespace {

// Two cores in a row before a DRAM of 128 bits a cycle: near has 64 bits to it, far has 32 bits to near.
Hardware chain() {
  Memory buffer{.name = "buffer", .size_bits = 1024, .slots = {Slot::Input, Slot::Weight, Slot::Output}};
  Memory dram{.name = "dram", .kind = MemoryKind::Dram, .size_bits = 1 << 20};
  dram.slots = buffer.slots;
  dram.read_energy_pj.value = 100;
  dram.write_energy_pj.value = 200;
  Port port{.name = "rw", .min_bits_per_cycle = 64, .max_bits_per_cycle = 128};
  for (const Slot slot : kSlots)
    for (const Direction direction : kDirections) port.uses.push_back({slot, direction});
  buffer.ports = dram.ports = {port};
  Core near{.name = "near"}, far{.name = "far"}, memory{.name = "memory"};
  near.array = far.array = Array{.dimensions = {{"D1", 4}, {"D2", 2}}};
  near.memories = far.memories = {buffer};
  memory.memories = {dram};
  Hardware chip{.name = "chain"};
  chip.cores = {near, far, memory};
  chip.offchip = CoreId{2};
  chip.links = {{.cores = {CoreId{0}, CoreId{2}}, .bits_per_cycle = 64},
                {.cores = {CoreId{1}, CoreId{0}}, .bits_per_cycle = 32}};
  return chip;
}

TEST(Offchip, IsAsWideAsTheNarrowestLinkOnTheWay) {
  const Hardware chip = chain();
  for (const auto& [core, width] : {std::pair{CoreId{0}, 64}, std::pair{CoreId{1}, 32}}) {
    const Core seen = with_offchip(chip, core);
    ASSERT_EQ(seen.memories.size(), 2u);
    const Memory& top = seen.memories.back();
    EXPECT_EQ(top.name, "dram");
    EXPECT_EQ(top.ports[0].max_bits_per_cycle, width);
    EXPECT_LE(top.ports[0].min_bits_per_cycle, width);
    // The energy of a bit is the same.
    EXPECT_DOUBLE_EQ(top.read_energy_pj.value / width, 100.0 / 128);
    EXPECT_DOUBLE_EQ(top.write_energy_pj.value / width, 200.0 / 128);
    EXPECT_EQ(top.served_dimensions, (std::vector<std::size_t>{0, 1}));
  }
}

TEST(Offchip, LeavesAloneWhoHasItOrNeedsNone) {
  Hardware chip = chain();
  EXPECT_EQ(with_offchip(chip, CoreId{2}), chip.cores[2]);
  chip.offchip.reset();
  EXPECT_EQ(with_offchip(chip, CoreId{0}), chip.cores[0]);
}

TEST(Offchip, NamesStayDifferentAndSlotsAreThoseOfTheCore) {
  Hardware chip = chain();
  chip.cores[0].memories[0].name = "dram";
  chip.cores[0].memories[0].slots = {Slot::Input, Slot::Output};
  const Core seen = with_offchip(chip, CoreId{0});
  EXPECT_EQ(seen.memories.back().name, "memory.dram");
  EXPECT_EQ(seen.memories.back().slots, (std::vector<Slot>{Slot::Input, Slot::Output}));
}

}  // namespace
}  // namespace monet::hardware
