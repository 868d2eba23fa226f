#include "monet/hardware/offchip.h"

#include <algorithm>
#include <deque>
#include <limits>

namespace monet::hardware {
namespace {

// Bits a cycle of the widest way from one core to another: the narrowest link of the way with the fewest links.
std::int64_t width_between(const Hardware& hardware, CoreId from, CoreId to) {
  std::vector<std::int64_t> width(hardware.cores.size(), 0);
  width[from.index()] = std::numeric_limits<std::int64_t>::max();
  std::deque<CoreId> waiting{from};
  std::vector<bool> seen(hardware.cores.size(), false);
  seen[from.index()] = true;
  while (!waiting.empty() && !seen[to.index()]) {
    const CoreId at = waiting.front();
    waiting.pop_front();
    for (const Link& link : hardware.links) {
      if (std::find(link.cores.begin(), link.cores.end(), at) == link.cores.end()) continue;
      for (const CoreId next : link.cores) {
        const std::int64_t through = std::min(width[at.index()], link.bits_per_cycle);
        if (seen[next.index()]) continue;
        seen[next.index()] = true;
        width[next.index()] = through;
        waiting.push_back(next);
      }
    }
  }
  return width[to.index()];
}

}  // namespace

Core with_offchip(const Hardware& hardware, CoreId id) {
  Core core = hardware[id];
  if (!hardware.offchip || *hardware.offchip == id) return core;
  const Core& offchip = hardware[*hardware.offchip];
  const std::int64_t width = width_between(hardware, id, *hardware.offchip);
  for (Memory memory : offchip.memories) {
    // Only what the core keeps somewhere can be on top of it.
    std::erase_if(memory.slots, [&](Slot slot) {
      return std::none_of(core.memories.begin(), core.memories.end(), [&](const Memory& m) {
        return std::find(m.slots.begin(), m.slots.end(), slot) != m.slots.end();
      });
    });
    memory.served_dimensions.clear();
    for (std::size_t a = 0; core.array && a < core.array->dimensions.size(); ++a) memory.served_dimensions.push_back(a);
    std::int64_t word = 0;
    for (const Port& port : memory.ports) word = std::max(word, port.max_bits_per_cycle);
    if (width > 0 && width < word) {
      // Less of a word at once takes less energy each time.
      const double part = static_cast<double>(width) / static_cast<double>(word);
      memory.read_energy_pj.value *= part;
      memory.write_energy_pj.value *= part;
      for (Port& port : memory.ports) {
        port.max_bits_per_cycle = std::min(port.max_bits_per_cycle, width);
        port.min_bits_per_cycle = std::min(port.min_bits_per_cycle, port.max_bits_per_cycle);
      }
    }
    const bool taken =
        std::any_of(core.memories.begin(), core.memories.end(), [&](const Memory& m) { return m.name == memory.name; });
    if (taken) memory.name = offchip.name + "." + memory.name;
    core.memories.push_back(std::move(memory));
  }
  return core;
}

}  // namespace monet::hardware
