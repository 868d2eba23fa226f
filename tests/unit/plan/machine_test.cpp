// Is a chip understood as its file means it?
#include "monet/plan/machine.h"

#include <gtest/gtest.h>

#include "monet/base/diagnostic.h"
#include "monet/hardware/library.h"

namespace monet::plan {
namespace {

using hardware::Slot;

hardware::Hardware named(const std::string& name) { return hardware::find_hardware(name).hardware; }

TEST(Machine, EveryChipOfTheLibraryHasAHomeThatAllReach) {
  for (const std::string& name : hardware::library_names()) {
    const Chip chip = chip_of(named(name));
    const Machine& m = chip.machine;
    if (name == "snax_mx") continue;  // arrays and one memory each: that one is the home
    ASSERT_EQ(m.routes.size(), m.stores.size() * m.stores.size()) << name;
    for (std::size_t c = 0; c < chip.cores.size(); ++c) {
      EXPECT_TRUE(chip.cores[c].vector) << name;
      for (const Slot slot : hardware::kSlots) {
        const StoreId store = chip.store(c, slot);
        if (store == m.home) {  // nothing but registers for it on the chip
          EXPECT_TRUE(name == "tpu_like" || name == "diana") << name;
          continue;
        }
        EXPECT_TRUE(m.route(m.home, store).exists && m.route(store, m.home).exists) << name;
        EXPECT_FALSE(m.route(m.home, store).channels.empty()) << name;
        EXPECT_GT(m.stores[store.index()].bytes_per_cycle, 0) << name;
      }
      for (const hardware::Memory& memory : chip.cores[c].core.memories)
        for (const hardware::Slot slot : memory.slots)
          if (memory.kind == hardware::MemoryKind::Dram) {
            EXPECT_EQ(chip.store(c, slot), chip.machine.home) << name;
          }
    }
  }
}

TEST(Machine, WhatFlowsToACorePassesTheLinksThoughItKeepsNothing) {
  for (const std::string& name : hardware::library_names()) {
    const Chip chip = chip_of(named(name));
    for (const CoreOnChip& core : chip.cores) {
      ASSERT_NE(core.gate, chip.machine.home) << name;
      EXPECT_FALSE(chip.machine.route(chip.machine.home, core.gate).channels.empty()) << name;
    }
  }
  const Chip chip = chip_of(named("snax_mx"));
  EXPECT_EQ(chip.machine.stores[chip.cores[0].gate.index()].bytes, 0);
}

TEST(Machine, OffchipBandwidthIsAlsoThatOfOperandsWithoutABuffer) {
  Chip chip = chip_of(named("tpu_like"));
  const auto widths = [&] {
    std::vector<std::int64_t> bits;
    for (const hardware::Memory& memory : chip.cores[0].core.memories)
      for (const hardware::Port& port : memory.ports) bits.push_back(port.max_bits_per_cycle);
    return bits;
  };
  const std::vector<std::int64_t> before = widths();
  scale(chip, {.offchip_bandwidth = 4});
  const std::vector<std::int64_t> after = widths();
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (after[i] == before[i]) continue;
    ++changed;
    EXPECT_EQ(after[i], 4 * before[i]);
  }
  EXPECT_GT(changed, 0u);
  EXPECT_LT(changed, before.size());
}

TEST(Machine, SharedMemoriesAreOneStore) {
  const Chip chip = chip_of(named("fusemax"));
  ASSERT_EQ(chip.cores.size(), 2u);
  EXPECT_EQ(chip.store(0, Slot::Input), chip.store(1, Slot::Output));
  EXPECT_EQ(chip.machine.stores.size(), 2u);
  EXPECT_EQ(chip.machine.stores[1].bytes, 16 << 20);
  EXPECT_NE(chip.cores[0].array, chip.cores[1].vector);
}

// DIANA: two ports of 64 B for four cores. The Ascend: two of 125 B for each of 32. A TPU: one to read, one to write.
TEST(Machine, PortsOfASharedMemoryAreOneForAllOrOneForEachCore) {
  const auto names = [](const Chip& chip, const CoreOnChip& core, StoreId store) {
    std::vector<std::string> out;
    for (const CorePort& port : core.ports)
      if (const StorePort& p = chip.machine.ports[port.id.index()]; p.store == store) out.push_back(p.name);
    return out;
  };
  const Chip diana = chip_of(named("diana"));
  const StoreId activations = diana.store(0, Slot::Input);
  const std::vector<std::string> both{"digital.activations.first", "digital.activations.second"};
  for (const CoreOnChip& core : diana.cores) EXPECT_EQ(names(diana, core, activations), both) << core.core.name;
  const Store& store = diana.machine.stores[activations.index()];
  EXPECT_EQ(store.bytes_per_cycle, 64);
  EXPECT_EQ(diana.machine.ports[store.fill.value().index()].name, both[0]);
  EXPECT_EQ(diana.machine.ports[store.drain.value().index()].name, both[1]);
  const Chip ascend = chip_of(named("ascend_910"));
  EXPECT_EQ(ascend.machine.ports.size(), 64u);
  const Store& cache = ascend.machine.stores[ascend.store(0, Slot::Input).index()];
  EXPECT_EQ(cache.bytes_per_cycle, 32 * 125);
  EXPECT_FALSE(cache.fill || cache.drain);
  const Chip tpu = chip_of(named("tpu_v2"));
  EXPECT_EQ(tpu.machine.ports.size(), 4u);
  const Store& vmem = tpu.machine.stores[tpu.store(1, Slot::Output).index()];
  EXPECT_EQ(tpu.machine.ports[vmem.fill.value().index()].name, "core_1.vmem.write");
  EXPECT_EQ(tpu.machine.ports[vmem.drain.value().index()].name, "core_1.vmem.read");
}

// Stream's quad core: a ring of links of 32 bits, a pooling and a vector core linked to all, DRAM of 64 bits.
TEST(Machine, LinksHaveAChannelEachWayAndWaysTakeTheFewest) {
  const Chip chip = chip_of(named("tpu_like_quad_core"));
  const Machine& m = chip.machine;
  ASSERT_EQ(chip.cores.size(), 6u);
  const StoreId a = chip.store(0, Slot::Input), b = chip.store(1, Slot::Input), opposite = chip.store(2, Slot::Input);
  ASSERT_EQ(m.route(a, b).channels.size(), 1u);
  ASSERT_EQ(m.route(b, a).channels.size(), 1u);
  EXPECT_NE(m.route(a, b).channels, m.route(b, a).channels);
  EXPECT_EQ(m.route(a, opposite).channels.size(), 2u);
  EXPECT_EQ(m.channels[m.route(a, b).channels[0].index()].bytes_per_cycle, 4);
  EXPECT_EQ(m.channels[m.route(m.home, a).channels.front().index()].bytes_per_cycle, 8);
}

TEST(Machine, AMemoryInsideTheCoreCanBeTheHome) {
  const Chip chip = chip_of(named("tpu_like"));
  EXPECT_EQ(chip.machine.stores[0].name, "dram");
  ASSERT_EQ(chip.cores.size(), 1u);
  EXPECT_EQ(chip.machine.stores[chip.store(0, Slot::Input).index()].bytes, 2 << 20);
}

TEST(Machine, SaysThatACoreIsCutOff) {
  hardware::Hardware h = named("tpu_like_quad_core");
  h.links.clear();
  EXPECT_THROW(chip_of(h), InputError);
  hardware::Hardware none = named("tpu_like");
  none.cores[0].array.reset();
  none.cores[0].vector.reset();
  EXPECT_THROW(chip_of(none), InputError);
}

TEST(Machine, ShortBurstsReachLessOfTheBandwidth) {
  hardware::Hardware h;
  h.offchip_efficiency = {{.burst_bytes = 64, .efficiency = {.value = 0.6}},
                          {.burst_bytes = 256, .efficiency = {.value = 0.9}},
                          {.burst_bytes = 64, .stride_bytes = 4096, .efficiency = {.value = 0.3}}};
  EXPECT_EQ(offchip_efficiency(h, 1000, false), 0.9);
  EXPECT_EQ(offchip_efficiency(h, 255, false), 0.6);
  EXPECT_EQ(offchip_efficiency(h, 8, false), 0.6);
  EXPECT_EQ(offchip_efficiency(h, 100, true), 0.3);
  EXPECT_EQ(offchip_efficiency({}, 1, true), 1);
}

}  // namespace
}  // namespace monet::plan
