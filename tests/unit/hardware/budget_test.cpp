#include "monet/hardware/budget.h"

#include <gtest/gtest.h>

#include "monet/hardware/library.h"
#include "monet/hardware/load.h"

namespace monet::hardware {
namespace {

constexpr const char* kTwoCores = R"(monet: hardware
name: two
node: 28 nm
clock: 1 GHz
cores:
  matrix:
    array:
      dimensions: {D1: 4, D2: 2}
      mac_energy: 0.5 pJ
      mac_area: 100 um2
    memories:
      registers: {kind: register, size: 4 B, holds: [weight], serves: [], bits_per_cycle: 8, read_energy: 0.1 pJ, write_energy: 0.2 pJ, leakage: 1 mW, area: 10 um2}
      buffer: {size: 1 KiB, holds: all, bits_per_cycle: 64, port: shared, read_energy: 3 pJ, write_energy: 4 pJ, leakage: 5 mW, area: 2000 um2}
  vector:
    vector: {lanes: 3, lane_area: 50 um2, functions: {any: {cycles: 1, energy: 1 pJ}, exp: {cycles: 4, energy: 8 pJ}}}
    memories:
      buffer: {size: 1 KiB, holds: all, bits_per_cycle: 64, port: shared, read_energy: 3 pJ, write_energy: 4 pJ, leakage: 5 mW, area: 2000 um2}
  dram:
    memories:
      dram: {kind: dram, size: 1 GiB, holds: all, bits_per_cycle: 64, port: shared, read_energy: 1000 pJ, write_energy: 1000 pJ}
offchip: dram
links:
  - {bus: all, bits_per_cycle: 64, energy: 0.5 pJ/bit}
)";

Hardware parsed(const std::string& text) { return parse_hardware(text, "two.yaml").hardware; }

TEST(Budget, IsTheSumOfWhatIsOnTheChip) {
  const Hardware h = parsed(kTwoCores);
  const ChipBudget b = budget_of(h);
  EXPECT_DOUBLE_EQ(b.total.array_area_mm2, 8 * 100e-6);
  EXPECT_DOUBLE_EQ(b.total.vector_area_mm2, 3 * 50e-6);
  EXPECT_DOUBLE_EQ(b.total.memory_area_mm2, 8 * 10e-6 + 2 * 2000e-6);
  EXPECT_DOUBLE_EQ(b.total.area_mm2(), b.cores[0].area_mm2() + b.cores[1].area_mm2());
  // pJ at 1 GHz are mW: 8 lanes; an exponential is 2 pJ a cycle; each port its dearer direction.
  EXPECT_DOUBLE_EQ(b.total.array_w, 8 * 0.5e-3);
  EXPECT_DOUBLE_EQ(b.total.vector_w, 3 * 2e-3);
  EXPECT_DOUBLE_EQ(b.total.memory_w, 8 * (0.1e-3 + 0.2e-3) + 2 * 4e-3);
  EXPECT_DOUBLE_EQ(b.total.link_w, 64 * 0.5e-3);
  EXPECT_DOUBLE_EQ(b.total.leakage_w, (8 * 1 + 2 * 5) * 1e-3);
  EXPECT_DOUBLE_EQ(b.total.bytes, 8 * 4 + 2 * 1024);
  EXPECT_DOUBLE_EQ(b.total.lanes, 8);
  EXPECT_EQ(b.cores[2].area_mm2(), 0) << "the off-chip memory is no part of the chip";
  EXPECT_DOUBLE_EQ(leakage_mw(h), 18);
}

TEST(Budget, SharedMemoryCountsOnce) {
  const Hardware h = parsed(std::string(kTwoCores) + "shared_memories: [[matrix, vector]]\n");
  const ChipBudget b = budget_of(h);
  EXPECT_DOUBLE_EQ(b.total.memory_area_mm2, 8 * 10e-6 + 2000e-6);
  EXPECT_DOUBLE_EQ(b.total.leakage_w, (8 * 1 + 5) * 1e-3);
  EXPECT_DOUBLE_EQ(b.total.bytes, 8 * 4 + 1024);
  EXPECT_DOUBLE_EQ(leakage_mw(h), 13);
  EXPECT_FALSE(is_counted_before(h, CoreId{0}, 1));
  EXPECT_TRUE(is_counted_before(h, CoreId{1}, 0));
}

TEST(Budget, HasNoPowerWithoutAClock) {
  std::string text = kTwoCores;
  text.replace(text.find("clock: 1 GHz\n"), 13, "");
  const ChipBudget b = budget_of(parsed(text));
  EXPECT_FALSE(b.has_power);
  EXPECT_GT(b.total.area_mm2(), 0);
}

TEST(Budget, EveryChipOfTheLibraryHasAnArea) {
  for (const std::string& name : library_names())
    EXPECT_GT(budget_of(find_hardware(name).hardware).total.area_mm2(), 0) << name;
}

}  // namespace
}  // namespace monet::hardware
