#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "monet/hardware/hardware.h"
#include "monet/schedule/problem.h"

namespace monet::schedule {

// A chip as the scheduler sees it. Every core keeps its blocks in its highest memories on the chip, one for each slot;
// what lies below them is the cost model's. The off-chip memory, or the highest memory there is, is everyone's home.

struct CoreOnChip {
  hardware::CoreId id{};
  hardware::Core core{};                    // without off-chip memory: what the cost model prices tiles on
  std::array<StoreId, 3> stores{};          // by hardware::Slot
  std::optional<UnitId> array{}, vector{};  // a core without a vector unit does such work on its array, if it has one
};

struct Chip {
  Machine machine{};
  std::vector<CoreOnChip> cores{};  // that compute
  double clock_hz = 0;              // 0: not given
  double leakage_pj_per_cycle = 0;  // of all memories; 0 without a clock

  StoreId store(std::size_t core, hardware::Slot slot) const {
    return cores[core].stores[static_cast<std::size_t>(slot)];
  }
};

// Throws InputError if nothing computes, or a core has no way to the home.
Chip chip_of(const hardware::Hardware& hardware);

// Part of the home's bandwidth that runs of so many bytes reach, one after the other or with gaps.
double offchip_efficiency(const hardware::Hardware& hardware, std::int64_t burst_bytes, bool has_gaps);

}  // namespace monet::schedule
