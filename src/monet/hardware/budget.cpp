#include "monet/hardware/budget.h"

#include <algorithm>

namespace monet::hardware {
namespace {

constexpr double kPicojoule = 1e-12, kMilliwatt = 1e-3;

double lanes_of(const Array& array) {
  double lanes = 1;
  for (const ArrayDimension& d : array.dimensions) lanes *= static_cast<double>(d.size);
  return lanes;
}

// pJ a cycle of one lane, in its dearest format.
double dearest(const Array& array) {
  double most = array.formats.empty() ? array.mac_energy_pj.value : 0;
  for (const MacCost& mac : array.formats) most = std::max(most, mac.energy_pj.value / static_cast<double>(mac.cycles));
  return most;
}
double dearest(const VectorUnit& unit) {
  double most = 0;
  for (const FunctionCost& f : unit.functions) most = std::max(most, f.energy_pj.value / f.cycles);
  return most;
}

// pJ a cycle of one instance. Narrower ports pay by the bit.
double busy_ports(const Memory& memory) {
  std::int64_t word = 0;
  for (const Port& port : memory.ports) word = std::max(word, port.max_bits_per_cycle);
  double sum = 0;
  for (const Port& port : memory.ports) {
    const double read = port.kind == PortKind::Write ? 0 : memory.read_energy_pj.value;
    const double write = port.kind == PortKind::Read ? 0 : memory.write_energy_pj.value;
    sum += std::max(read, write) * static_cast<double>(port.max_bits_per_cycle) / static_cast<double>(word);
  }
  return sum;
}

bool is_highest(const Core& core, std::size_t memory) {
  return std::any_of(core.memories[memory].slots.begin(), core.memories[memory].slots.end(), [&](Slot slot) {
    return std::none_of(core.memories.begin() + static_cast<std::ptrdiff_t>(memory) + 1, core.memories.end(),
                        [&](const Memory& above) { return holds(above, slot); });
  });
}

Budget core_budget(const Hardware& hardware, CoreId id) {
  const Core& core = hardware[id];
  const double clock = hardware.clock_hz.value;
  Budget out;
  if (core.array) {
    out.lanes = lanes_of(*core.array);
    out.array_area_mm2 = out.lanes * core.array->mac_area_mm2.value;
    out.array_w = out.lanes * dearest(*core.array) * kPicojoule * clock;
  }
  if (core.vector) {
    const auto lanes = static_cast<double>(core.vector->lanes);
    out.vector_area_mm2 = lanes * core.vector->lane_area_mm2.value;
    out.vector_w = lanes * dearest(*core.vector) * kPicojoule * clock;
  }
  for (std::size_t m = 0; m < core.memories.size(); ++m) {
    if (is_counted_before(hardware, id, m)) continue;
    const Memory& memory = core.memories[m];
    const auto count = static_cast<double>(instances(memory, core));
    out.memory_area_mm2 += count * memory.area_mm2.value;
    out.memory_w += count * busy_ports(memory) * kPicojoule * clock;
    out.leakage_w += count * memory.leakage_mw.value * kMilliwatt;
    out.bytes += count * static_cast<double>(memory.size_bits) / kBitsPerByte;
  }
  return out;
}

void add(Budget& sum, const Budget& part) {
  sum.array_area_mm2 += part.array_area_mm2;
  sum.vector_area_mm2 += part.vector_area_mm2;
  sum.memory_area_mm2 += part.memory_area_mm2;
  sum.array_w += part.array_w;
  sum.vector_w += part.vector_w;
  sum.memory_w += part.memory_w;
  sum.leakage_w += part.leakage_w;
  sum.bytes += part.bytes;
  sum.lanes += part.lanes;
}

}  // namespace

bool is_counted_before(const Hardware& hardware, CoreId core, std::size_t memory) {
  const Memory& own = hardware[core].memories[memory];
  if (!is_highest(hardware[core], memory)) return false;
  for (const std::vector<CoreId>& group : hardware.shared_memories) {
    if (std::find(group.begin(), group.end(), core) == group.end()) continue;
    for (const CoreId other : group)
      for (std::size_t m = 0; other < core && m < hardware[other].memories.size(); ++m)
        if (hardware[other].memories[m].name == own.name && hardware[other].memories[m].size_bits == own.size_bits &&
            is_highest(hardware[other], m))
          return true;
  }
  return false;
}

ChipBudget budget_of(const Hardware& hardware) {
  ChipBudget out{.has_power = hardware.clock_hz.value > 0};
  for (std::uint32_t c = 0; c < hardware.cores.size(); ++c) {
    out.cores.push_back(CoreId{c} == hardware.offchip ? Budget{} : core_budget(hardware, CoreId{c}));
    add(out.total, out.cores.back());
  }
  for (const Link& link : hardware.links) {
    const double ways = link.is_bus ? 1 : 2;
    out.total.link_w += ways * static_cast<double>(link.bits_per_cycle) * link.energy_pj_per_bit.value * kPicojoule *
                        hardware.clock_hz.value;
  }
  return out;
}

double leakage_mw(const Hardware& hardware) {
  double sum = 0;
  for (std::uint32_t c = 0; c < hardware.cores.size(); ++c)
    for (std::size_t m = 0; m < hardware.cores[c].memories.size(); ++m) {
      const Memory& memory = hardware.cores[c].memories[m];
      if (!is_counted_before(hardware, CoreId{c}, m))
        sum += static_cast<double>(instances(memory, hardware.cores[c])) * memory.leakage_mw.value;
    }
  return sum;
}

}  // namespace monet::hardware
