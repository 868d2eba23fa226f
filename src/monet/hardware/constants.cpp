#include "monet/hardware/constants.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/hardware/budget.h"

namespace monet::hardware {
namespace {

// "pe" of "pe_12": copies are numbered.
std::string stem_of(const std::string& name) {
  const std::size_t mark = name.find_last_not_of("0123456789");
  const bool is_copy = mark != std::string::npos && mark + 1 < name.size() && name[mark] == '_' && mark > 0;
  return is_copy ? name.substr(0, mark) : name;
}

// Of whose description a memory is: the first core that has it, if it is shared.
std::string owner_of(const Hardware& hardware, std::uint32_t core, std::size_t memory) {
  const Memory& own = hardware.cores[core].memories[memory];
  if (is_counted_before(hardware, CoreId{core}, memory))
    for (const std::vector<CoreId>& group : hardware.shared_memories)
      if (std::find(group.begin(), group.end(), CoreId{core}) != group.end())
        for (std::uint32_t other = 0; other < core; ++other)
          if (std::find(group.begin(), group.end(), CoreId{other}) != group.end())
            for (const Memory& m : hardware.cores[other].memories)
              if (m.name == own.name && m.size_bits == own.size_bits) return stem_of(hardware.cores[other].name);
  return stem_of(hardware.cores[core].name);
}

}  // namespace

void for_each_constant(Hardware& hardware, const std::function<void(const Constant&, Figure&)>& visit) {
  const auto say = [&](std::string name, ConstantKind kind, Figure& figure) {
    visit({std::move(name), kind, figure.provenance}, figure);
  };
  for (std::uint32_t c = 0; c < hardware.cores.size(); ++c) {
    Core& core = hardware.cores[c];
    const std::string stem = stem_of(core.name);
    const bool is_offchip = hardware.offchip == CoreId{c};
    if (core.array) {
      say(stem + ".mac_energy", ConstantKind::Compute, core.array->mac_energy_pj);
      say(stem + ".mac_area", ConstantKind::Area, core.array->mac_area_mm2);
      for (MacCost& mac : core.array->formats)
        say(fmt::format("{}.mac_energy {}", stem, name(mac.multiplicand)), ConstantKind::Compute, mac.energy_pj);
    }
    if (core.vector) {
      for (FunctionCost& f : core.vector->functions)
        say(fmt::format("{}.{}", stem, work::name(f.function)), ConstantKind::Compute, f.energy_pj);
      say(stem + ".lane_area", ConstantKind::Area, core.vector->lane_area_mm2);
    }
    for (std::size_t m = 0; m < core.memories.size(); ++m) {
      Memory& memory = core.memories[m];
      const std::string prefix = fmt::format("{}.{}.", owner_of(hardware, c, m), memory.name);
      const ConstantKind kind = is_offchip ? ConstantKind::Offchip : ConstantKind::Memory;
      say(prefix + "read_energy", kind, memory.read_energy_pj);
      say(prefix + "write_energy", kind, memory.write_energy_pj);
      say(prefix + "leakage", ConstantKind::Leakage, memory.leakage_mw);
      if (!is_offchip) say(prefix + "area", ConstantKind::Area, memory.area_mm2);
    }
  }
  for (Link& link : hardware.links)
    say(fmt::format("{} energy", link.is_bus ? "bus" : "link"), ConstantKind::Link, link.energy_pj_per_bit);
  for (BurstEfficiency& e : hardware.offchip_efficiency)
    say(fmt::format("off-chip efficiency of {} B bursts", e.burst_bytes), ConstantKind::Time, e.efficiency);
}

std::vector<Constant> uncertain_constants(const Hardware& hardware) {
  std::vector<Constant> out;
  Hardware copy = hardware;
  for_each_constant(copy, [&](const Constant& constant, const Figure& figure) {
    if (figure.provenance == Provenance::Given || figure.value == 0) return;
    if (std::none_of(out.begin(), out.end(), [&](const Constant& other) { return other.name == constant.name; }))
      out.push_back(constant);
  });
  return out;
}

void scale_constant(Hardware& hardware, const std::string& name, double factor) {
  for_each_constant(hardware, [&](const Constant& constant, Figure& figure) {
    if (constant.name == name && figure.provenance != Provenance::Given) figure.value *= factor;
  });
  for (BurstEfficiency& e : hardware.offchip_efficiency) e.efficiency.value = std::min(e.efficiency.value, 1.0);
}

std::vector<ConstantPart> parts_of(const Hardware& hardware, const std::vector<Constant>& constants) {
  std::vector<ConstantPart> out(constants.size());
  const ChipBudget all = budget_of(hardware);
  for (std::size_t k = 0; k < constants.size(); ++k) {
    if (constants[k].kind != ConstantKind::Area && constants[k].kind != ConstantKind::Leakage) continue;
    Hardware without = hardware;
    scale_constant(without, constants[k].name, 0);
    const ChipBudget rest = budget_of(without);
    out[k] = {.area_mm2 = all.total.area_mm2() - rest.total.area_mm2(),
              .tdp_w = all.total.tdp_w() - rest.total.tdp_w(),
              .leakage_w = (leakage_mw(hardware) - leakage_mw(without)) * 1e-3};
  }
  return out;
}

}  // namespace monet::hardware
