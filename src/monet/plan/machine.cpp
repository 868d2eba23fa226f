#include "monet/plan/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>

#include "monet/base/diagnostic.h"
#include "monet/hardware/budget.h"
#include "monet/hardware/offchip.h"

namespace monet::plan {
namespace {

using hardware::Core;
using hardware::CoreId;
using hardware::Direction;
using hardware::Hardware;
using hardware::Memory;
using hardware::Port;
using hardware::PortKind;
using hardware::Slot;

double bytes_per_cycle(const Port& port) { return static_cast<double>(port.max_bits_per_cycle) / kBitsPerByte; }

bool computes(const Core& core) { return core.array.has_value() || core.vector.has_value(); }

Store store_of(const std::string& name, const Memory& memory) {
  double widest = 0;
  for (const Port& port : memory.ports) widest = std::max(widest, bytes_per_cycle(port));
  return {.name = name,
          .bytes = memory.size_bits / 8,
          .bytes_per_cycle = widest,
          .read_pj_per_byte = memory.read_energy_pj.value / widest,
          .write_pj_per_byte = memory.write_energy_pj.value / widest};
}

class Builder {
 public:
  explicit Builder(const Hardware& hardware) : hw_(hardware) {}

  Chip build() {
    find_home();
    for (std::uint32_t c = 0; c < hw_.cores.size(); ++c)
      if (computes(hw_.cores[c]) && CoreId{c} != hw_.offchip) add_core(CoreId{c});
    if (chip_.cores.empty()) fail("no core computes", "give one an array or a vector unit");
    add_channels();
    for (CoreOnChip& core : chip_.cores) add_ports(core);
    add_routes();
    chip_.home_is_offchip = hw_.offchip || home_->kind == hardware::MemoryKind::Dram;
    chip_.clock_hz = hw_.clock_hz.value;
    if (chip_.clock_hz > 0) chip_.leakage_pj_per_cycle = hardware::leakage_mw(hw_) * 1e9 / chip_.clock_hz;
    return std::move(chip_);
  }

 private:
  Machine& machine() { return chip_.machine; }
  [[noreturn]] void fail(std::string message, std::string hint) const {
    throw InputError(Diagnostic{.where = hw_.name, .message = std::move(message), .hint = std::move(hint)});
  }

  // The off-chip core's memory; else the one highest memory of the only core, or the one all cores share.
  void find_home() {
    const CoreId owner = hw_.offchip.value_or(CoreId{0});
    const Core& core = hw_[owner];
    if (core.memories.empty()) fail("there is no memory to keep tensors in", "give the chip an off-chip memory");
    home_ = &core.memories.back();
    machine().home = StoreId{0};
    machine().stores.push_back(store_of(home_->name, *home_));
  }

  bool is_home(CoreId id, const Memory& memory) const {
    return !hw_.offchip && (&memory == home_ || memory.name == home_->name) && id.index() < hw_.cores.size();
  }

  // A store keeps tensors: a memory of which a core has one. What lies in registers, or in parts beside the lanes, is
  // the array's working set.
  bool is_store(CoreId id, const Memory& memory) const {
    return memory.kind != hardware::MemoryKind::Register && instances(memory, hw_[id]) == 1 && !is_home(id, memory);
  }

  void add_core(CoreId id) {
    CoreOnChip out{.id = id, .core = hw_[id]};
    std::map<std::string, StoreId> made;
    std::vector<Slot> at_home;  // what flows between the home and the array
    for (const Slot slot : hardware::kSlots) {
      const Memory* top = nullptr;
      bool is_held = false;
      for (const Memory& memory : hw_[id].memories) {
        is_held = is_held || holds(memory, slot);
        if (holds(memory, slot) && is_store(id, memory)) top = &memory;
      }
      out.stores[static_cast<std::size_t>(slot)] = top == nullptr ? machine().home : add_store(id, *top, made);
      if (top == nullptr && is_held) at_home.push_back(slot);
    }
    const auto own = std::find_if(out.stores.begin(), out.stores.end(), [&](StoreId s) { return s != machine().home; });
    out.gate = own != out.stores.end() ? *own : add_gate(id);
    if (hw_.offchip && !at_home.empty()) out.core = hardware::with_offchip(hw_, id);
    keep_home_for(id, at_home, out.core);
    if (out.core.array) out.array = add_unit(hw_[id].name);
    if (out.core.vector) out.vector = add_unit(out.core.array ? hw_[id].name + ".vector" : hw_[id].name);
    if (!out.vector) out.vector = out.array;
    chip_.cores.push_back(std::move(out));
  }

  // The core as tiles see it: on top of its memories the home, for those slots alone.
  void keep_home_for(CoreId id, const std::vector<Slot>& slots, Core& core) const {
    const auto is_kept = [&](Slot slot) { return std::find(slots.begin(), slots.end(), slot) != slots.end(); };
    const std::size_t own = hw_.offchip ? hw_[id].memories.size() : 0;
    for (std::size_t m = core.memories.size(); m-- > own;) {
      Memory& memory = core.memories[m];
      if (!hw_.offchip && memory.name != home_->name) continue;
      std::erase_if(memory.slots, [&](Slot slot) { return !is_kept(slot); });
      for (Port& port : memory.ports)
        std::erase_if(port.uses, [&](const hardware::PortUse& use) { return !is_kept(use.slot); });
      if (memory.slots.empty()) core.memories.erase(core.memories.begin() + static_cast<std::ptrdiff_t>(m));
    }
  }

  UnitId add_unit(std::string name) {
    machine().units.push_back({std::move(name)});
    return UnitId{static_cast<std::uint32_t>(machine().units.size() - 1)};
  }

  // A core that keeps nothing still has a place on the links: a store of no bytes.
  StoreId add_gate(CoreId id) {
    const StoreId store{static_cast<std::uint32_t>(machine().stores.size())};
    machine().stores.push_back(
        {.name = hw_[id].name, .bytes_per_cycle = machine().stores[machine().home.index()].bytes_per_cycle});
    owners_[store.index()] = {id};
    return store;
  }

  // Cores that share their highest memories share the store.
  StoreId add_store(CoreId id, const Memory& memory, std::map<std::string, StoreId>& made) {
    if (const auto at = made.find(memory.name); at != made.end()) return at->second;
    for (const std::vector<CoreId>& group : hw_.shared_memories) {
      if (std::find(group.begin(), group.end(), id) == group.end()) continue;
      for (const CoreId other : group)
        if (const auto at = stores_.find({other.value, memory.name});
            at != stores_.end() && machine().stores[at->second.index()].bytes == memory.size_bits / 8) {
          Store& store = machine().stores[at->second.index()];
          const double widest = store_of("", memory).bytes_per_cycle;
          store.bytes_per_cycle =
              memory.ports_per_core ? store.bytes_per_cycle + widest : std::max(store.bytes_per_cycle, widest);
          stores_[{id.value, memory.name}] = at->second;
          owners_[at->second.index()].push_back(id);
          return made[memory.name] = at->second;
        }
    }
    const StoreId store{static_cast<std::uint32_t>(machine().stores.size())};
    machine().stores.push_back(store_of(hw_[id].name + "." + memory.name, memory));
    owners_[store.index()] = {id};
    stores_[{id.value, memory.name}] = store;
    return made[memory.name] = store;
  }

  ChannelId add_channel(std::string name, double bytes, double pj_per_byte) {
    machine().channels.push_back({std::move(name), bytes, pj_per_byte});
    return ChannelId{static_cast<std::uint32_t>(machine().channels.size() - 1)};
  }

  // "bus a-b-c"; of many cores the first ones and the last.
  std::string bus_name(const hardware::Link& link) const {
    constexpr std::size_t kMostNamed = 5;
    std::string name = "bus";
    for (std::size_t i = 0; i < link.cores.size(); ++i) {
      const bool is_named = link.cores.size() <= kMostNamed || i + 3 < kMostNamed || i + 1 == link.cores.size();
      if (is_named) name += (i == 0 ? " " : "-") + hw_[link.cores[i]].name;
      if (!is_named && i + 3 == kMostNamed) name += "-…";
    }
    const auto is_taken = [&](const std::string& n) {
      return std::any_of(chip_.machine.channels.begin(), chip_.machine.channels.end(),
                         [&](const Channel& channel) { return channel.name == n; });
    };
    std::string unique = name;
    for (int i = 2; is_taken(unique); ++i) unique = fmt::format("{} {}", name, i);
    return unique;
  }

  // A link is a channel each way, a bus is one; so is a port of the home that reads and writes.
  void add_channels() {
    for (const hardware::Link& link : hw_.links) {
      const double bytes = static_cast<double>(link.bits_per_cycle) / kBitsPerByte;
      const double energy = link.energy_pj_per_bit.value * kBitsPerByte;
      if (link.is_bus || link.cores.size() != 2) {
        const ChannelId channel = add_channel(bus_name(link), bytes, energy);
        // A bus that the off-chip memory is on carries to it and from it.
        const auto is_offchip = [&](CoreId c) { return hw_.offchip == c; };
        const bool is_memory_bus = std::any_of(link.cores.begin(), link.cores.end(), is_offchip);
        for (const CoreId a : link.cores)
          for (const CoreId b : link.cores)
            if (a != b && (!is_memory_bus || is_offchip(a) || is_offchip(b))) edges_.push_back({a, b, channel});
        continue;
      }
      const CoreId a = link.cores[0], b = link.cores[1];
      edges_.push_back({a, b, add_channel(hw_[a].name + ">" + hw_[b].name, bytes, energy)});
      edges_.push_back({b, a, add_channel(hw_[b].name + ">" + hw_[a].name, bytes, energy)});
    }
    for (const Port& port : home_->ports) {
      const ChannelId channel = add_channel(home_->name + "." + port.name, bytes_per_cycle(port), 0);
      machine().channels[channel.index()].is_home_port = true;
      if (port.kind != PortKind::Write) home_reads_.push_back(channel);
      if (port.kind != PortKind::Read) home_writes_.push_back(channel);
    }
  }

  // The ports of a store serve all cores that share it, unless each has ports of its own.
  void add_ports(CoreOnChip& core) {
    for (std::uint32_t m = 0; m < hw_[core.id].memories.size(); ++m) {
      const Memory& memory = hw_[core.id].memories[m];
      const auto found = stores_.find({core.id.value, memory.name});
      if (found == stores_.end()) continue;
      Store& store = machine().stores[found->second.index()];
      const std::string owner = memory.ports_per_core ? core.core.name + "." + memory.name : store.name;
      for (std::uint32_t p = 0; p < memory.ports.size(); ++p) {
        const std::string name = owner + "." + memory.ports[p].name;
        const auto at = std::find_if(machine().ports.begin(), machine().ports.end(), [&](const StorePort& port) {
          return port.store == found->second && port.name == name;
        });
        const auto index = static_cast<std::uint32_t>(at - machine().ports.begin());
        const double bytes = bytes_per_cycle(memory.ports[p]);
        if (at == machine().ports.end())
          machine().ports.push_back({name, found->second, bytes});
        else
          at->bytes_per_cycle = std::max(at->bytes_per_cycle, bytes);
        core.ports.push_back({m, p, PortId{index}});
        if (memory.ports_per_core) continue;  // transfers enter beside them
        choose_port(store.fill, PortId{index}, memory.ports[p], Direction::WriteFromHigh);
        choose_port(store.drain, PortId{index}, memory.ports[p], Direction::ReadToHigh);
      }
    }
  }

  // Transfers take the widest port that serves their direction, or if none does (weights are not read upwards), the
  // widest that reads or writes.
  void choose_port(std::optional<PortId>& chosen, PortId id, const Port& port, Direction direction) {
    if (port.kind == (is_read(direction) ? PortKind::Write : PortKind::Read)) return;
    const bool serves = std::any_of(port.uses.begin(), port.uses.end(),
                                    [&](const hardware::PortUse& use) { return use.direction == direction; });
    const std::pair rank{serves, bytes_per_cycle(port)};
    auto& best = ranks_[&chosen];
    if (chosen && rank <= best) return;
    chosen = id;
    best = rank;
  }

  // The widest of the ports that serve a direction.
  std::vector<ChannelId> home_port(const std::vector<ChannelId>& ports) const {
    if (ports.empty()) return {};
    return {*std::max_element(ports.begin(), ports.end(), [&](ChannelId a, ChannelId b) {
      return chip_.machine.channels[a.index()].bytes_per_cycle < chip_.machine.channels[b.index()].bytes_per_cycle;
    })};
  }

  // Fewest links; never through the off-chip memory, unless it is where the way ends.
  std::optional<std::vector<ChannelId>> way(CoreId from, CoreId to) const {
    std::vector<std::optional<std::size_t>> came(hw_.cores.size());
    std::deque<CoreId> waiting{from};
    std::vector<bool> seen(hw_.cores.size(), false);
    seen[from.index()] = true;
    while (!waiting.empty() && !seen[to.index()]) {
      const CoreId at = waiting.front();
      waiting.pop_front();
      if (at != from && hw_.offchip == at) continue;
      for (std::size_t e = 0; e < edges_.size(); ++e) {
        if (edges_[e].from != at || seen[edges_[e].to.index()]) continue;
        seen[edges_[e].to.index()] = true;
        came[edges_[e].to.index()] = e;
        waiting.push_back(edges_[e].to);
      }
    }
    if (!seen[to.index()]) return std::nullopt;
    std::vector<ChannelId> channels;
    for (CoreId at = to; at != from; at = edges_[*came[at.index()]].from)
      channels.push_back(edges_[*came[at.index()]].channel);
    std::reverse(channels.begin(), channels.end());
    return channels;
  }

  void add_routes() {
    const std::size_t n = machine().stores.size();
    machine().routes.assign(n * n, {});
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) {
        if (a == b) continue;
        Route& route = machine().routes[a * n + b];
        const bool from_home = a == 0, to_home = b == 0;
        std::optional<std::vector<ChannelId>> best;
        for (const CoreId from : from_home ? home_cores(b) : owners_[a])
          for (const CoreId to : to_home ? home_cores(a) : owners_[b]) {
            const auto found = from == to ? std::optional(std::vector<ChannelId>{}) : way(from, to);
            if (found && (!best || found->size() < best->size())) best = found;
          }
        if (!best) continue;
        const std::vector<ChannelId> port = home_port(from_home ? home_reads_
                                                      : to_home ? home_writes_
                                                                : std::vector<ChannelId>{});
        best->insert(from_home ? best->begin() : best->end(), port.begin(), port.end());
        route = {true, std::move(*best)};
      }
    for (const CoreOnChip& core : chip_.cores)
      for (const StoreId store : {core.stores[0], core.stores[1], core.stores[2], core.gate})
        if (store != machine().home &&
            (!machine().route(machine().home, store).exists || !machine().route(store, machine().home).exists))
          fail(fmt::format("there is no way from {} to {}", machine().stores[store.index()].name, home_->name),
               "add a link or a bus");
  }

  // Where the home stands; a home inside of the cores stands beside each of them.
  std::vector<CoreId> home_cores(std::size_t other) {
    if (hw_.offchip) return {*hw_.offchip};
    return owners_[other];
  }

  struct Edge {
    CoreId from{}, to{};
    ChannelId channel{};
  };
  const Hardware& hw_;
  const Memory* home_ = nullptr;
  Chip chip_;
  std::map<std::pair<std::uint32_t, std::string>, StoreId> stores_;
  std::map<std::size_t, std::vector<CoreId>> owners_;
  std::map<const std::optional<PortId>*, std::pair<bool, double>> ranks_;  // of the ports chosen for transfers
  std::vector<Edge> edges_;
  std::vector<ChannelId> home_reads_, home_writes_;
};

}  // namespace

Chip chip_of(const Hardware& hardware) { return Builder(hardware).build(); }

void scale(Chip& chip, const ChipScale& factors) {
  Machine& m = chip.machine;
  std::vector<bool> is_on_way(m.channels.size(), false);
  for (std::uint32_t s = 0; s < m.stores.size(); ++s)
    for (const Route* route : {&m.route(m.home, StoreId{s}), &m.route(StoreId{s}, m.home)})
      for (const ChannelId c : route->channels) is_on_way[c.index()] = true;
  for (std::size_t c = 0; c < m.channels.size(); ++c)
    m.channels[c].bytes_per_cycle *= is_on_way[c] ? factors.offchip_bandwidth : factors.link_bandwidth;
  for (std::uint32_t s = 0; s < m.stores.size(); ++s) {
    if (StoreId{s} == m.home) {
      m.stores[s].bytes_per_cycle *= factors.offchip_bandwidth;
    } else {
      m.stores[s].bytes = static_cast<std::int64_t>(static_cast<double>(m.stores[s].bytes) * factors.onchip_memory);
    }
  }
  // The cost model sees the same memories: the home, too, where a slot has no other.
  for (CoreOnChip& core : chip.cores) {
    const Memory* home = nullptr;
    for (const Slot slot : hardware::kSlots) {
      const StoreId store = core.stores[static_cast<std::size_t>(slot)];
      Memory* top = nullptr;
      for (Memory& memory : core.core.memories)
        if (holds(memory, slot)) top = &memory;
      if (top == nullptr) continue;
      if (store != m.home) {
        if (factors.onchip_memory != 1) top->size_bits = 8 * m.stores[store.index()].bytes;
        continue;
      }
      if (top == home) continue;
      home = top;
      for (Port& port : top->ports)
        for (std::int64_t* bits : {&port.min_bits_per_cycle, &port.max_bits_per_cycle})
          if (*bits > 0)
            *bits = std::max<std::int64_t>(1, std::llround(static_cast<double>(*bits) * factors.offchip_bandwidth));
    }
  }
}

double offchip_efficiency(const Hardware& hardware, std::int64_t burst_bytes, bool has_gaps) {
  // The entry with the longest burst that this one reaches; with gaps, of those that state a stride if any does.
  double best = 1;
  std::int64_t longest = -1;
  for (const hardware::BurstEfficiency& e : hardware.offchip_efficiency) {
    if ((e.stride_bytes > 0) != has_gaps || e.burst_bytes > burst_bytes || e.burst_bytes < longest) continue;
    longest = e.burst_bytes;
    best = e.efficiency.value;
  }
  // Shorter than every entry: the worst of them.
  if (longest < 0)
    for (const hardware::BurstEfficiency& e : hardware.offchip_efficiency)
      if ((e.stride_bytes > 0) == has_gaps) best = std::min(best, e.efficiency.value);
  return best;
}

}  // namespace monet::plan
