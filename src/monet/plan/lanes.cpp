#include "monet/plan/lanes.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/graph/storage.h"

namespace monet::plan {
namespace {

using hardware::Memory;
using hardware::Slot;

// The lowest memory of the results, if every lane has one.
const Memory* lane_registers(const hardware::Core& core) {
  if (!core.array) return nullptr;
  std::int64_t lanes = 1;
  for (const hardware::ArrayDimension& d : core.array->dimensions) lanes *= d.size;
  for (const Memory& memory : core.memories)
    if (holds(memory, Slot::Output)) return lanes > 1 && instances(memory, core) == lanes ? &memory : nullptr;
  return nullptr;
}

double port_bytes(const Memory& memory) {
  std::int64_t widest = 0;
  for (const hardware::Port& port : memory.ports) widest = std::max(widest, port.max_bits_per_cycle);
  return static_cast<double>(widest) / kBitsPerByte;
}

StoreId add_store(Chip& chip, const CoreOnChip& core) {
  Machine& m = chip.machine;
  const Memory& registers = *lane_registers(core.core);
  const double width = port_bytes(registers);
  const std::size_t old = m.stores.size(), count = old + 1;
  const StoreId store{static_cast<std::uint32_t>(old)}, above = core.stores[static_cast<std::size_t>(Slot::Output)];
  m.stores.push_back({.name = core.core.name + ".lanes",
                      .bytes = lane_bytes(core.core),
                      .bytes_per_cycle = width * static_cast<double>(instances(registers, core.core)),
                      .read_pj_per_byte = registers.read_energy_pj.value / width,
                      .write_pj_per_byte = registers.write_energy_pj.value / width,
                      .fill = m.stores[above.index()].drain,  // what comes to the lanes is read there
                      .drain = m.stores[above.index()].fill});
  // Over the memory above them, and from there as that one's blocks.
  std::vector<Route> routes(count * count);
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < count; ++b) {
      if (a == b) continue;
      const StoreId from = a == old ? above : StoreId{static_cast<std::uint32_t>(a)};
      const StoreId to = b == old ? above : StoreId{static_cast<std::uint32_t>(b)};
      routes[a * count + b] = from == to ? Route{.exists = true} : m.routes[from.index() * old + to.index()];
    }
  m.routes = std::move(routes);
  return store;
}

class Check {
 public:
  Check(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip, const Decided& decided)
      : graph_(graph), facts_(facts), chip_(chip), decided_(decided), storage_(graph), uses_(uses(graph)) {
    group_.resize(graph.nodes.size());
    for (std::size_t g = 0; g < decided.groups.size(); ++g)
      for (const NodeId n : decided.groups[g].nodes) group_[n.index()] = g;
  }

  std::vector<LaneFault> run() {
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
      if (decided_.nodes[n].at_lanes) check(NodeId{n});
    return std::move(faults_);
  }

 private:
  void fault(NodeId node, const std::string& why, std::string hint) {
    faults_.push_back(
        {node, fmt::format("what '{}' makes cannot stay at the lanes: {}", graph_[node].name, why), std::move(hint)});
  }

  void check(NodeId id) {
    const NodeChoice& choice = decided_.nodes[id.index()];
    if (choice.cores.size() != 1) return fault(id, "it runs on several cores", "give it one");
    const CoreOnChip& core = chip_.cores[choice.cores[0]];
    const std::int64_t room = lane_bytes(core.core);
    if (room == 0 || core.stores[static_cast<std::size_t>(Slot::Output)] == chip_.machine.home)
      return fault(
          id,
          fmt::format("the lanes of core '{}' have no registers for results, or no memory above them", core.core.name),
          "run it on an array that has");
    const Facts& facts = facts_[id.index()];
    std::vector<std::int64_t> parts(facts.loops.size(), 1);
    for (const auto* splits : {&choice.across, &choice.tiles})
      for (const LoopSplit& s : *splits) parts[s.loop] *= s.parts;
    const TileBytes bytes = tile_bytes(facts, cut(graph_, graph_[id], first_box(facts, parts)));
    double made = 0;
    for (const double b : bytes.outputs) made += b;
    if (made > static_cast<double>(room))
      return fault(id, fmt::format("a tile makes {:.0f} B > {} B of registers", made, room), "cut it into more tiles");
    for (const TensorId t : graph_[id].outputs)
      if (t != kNoTensor) check_readers(id, t, choice.cores[0]);
  }

  void check_readers(NodeId id, TensorId t, std::uint32_t core) {
    const bool leaves = std::find(graph_.outputs.begin(), graph_.outputs.end(), t) != graph_.outputs.end();
    if (leaves || storage_.root(t) != t)
      return fault(id, leaves ? "it is an output of the graph" : "it lies in the place of another tensor", "");
    for (const NodeId reader : uses_.consumers[t.index()]) {
      const NodeChoice& choice = decided_.nodes[reader.index()];
      if (choice.cores.size() == 1 && choice.cores[0] == core && group_[reader.index()] == group_[id.index()]) continue;
      fault(id, fmt::format("'{}', which reads it, is not on the same core and in the same group", graph_[reader].name),
            "");
    }
  }

  const Graph& graph_;
  const std::vector<Facts>& facts_;
  const Chip& chip_;
  const Decided& decided_;
  const Storage storage_;
  const Uses uses_;
  std::vector<std::size_t> group_;
  std::vector<LaneFault> faults_;
};

}  // namespace

std::int64_t lane_bytes(const hardware::Core& core) {
  const Memory* registers = lane_registers(core);
  return registers == nullptr ? 0 : registers->size_bits * instances(*registers, core) / kBitsPerByte;
}

std::vector<LaneFault> lane_faults(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip,
                                   const Decided& decided) {
  const bool any = std::any_of(decided.nodes.begin(), decided.nodes.end(), [](const auto& n) { return n.at_lanes; });
  return any ? Check(graph, facts, chip, decided).run() : std::vector<LaneFault>{};
}

void add_lane_stores(Chip& chip, const Decided& decided) {
  for (const NodeChoice& choice : decided.nodes)
    if (choice.at_lanes && !chip.cores[choice.cores[0]].lanes)
      chip.cores[choice.cores[0]].lanes = add_store(chip, chip.cores[choice.cores[0]]);
}

AtLanes at_lanes(const hardware::Core& core, const std::array<bool, 3>& slots) {
  AtLanes out{.core = core};
  out.core.memories.clear();
  std::array<bool, 3> seen{};
  for (std::uint32_t m = 0; m < core.memories.size(); ++m) {
    Memory memory = core.memories[m];
    const auto is_above = [&](Slot slot) {
      const auto s = static_cast<std::size_t>(slot);
      return slots[s] && seen[s];
    };
    std::erase_if(memory.slots, is_above);
    for (hardware::Port& port : memory.ports)
      std::erase_if(port.uses, [&](const hardware::PortUse& use) { return is_above(use.slot); });
    std::erase_if(memory.ports, [](const hardware::Port& port) { return port.uses.empty(); });
    for (const Slot slot : memory.slots) seen[static_cast<std::size_t>(slot)] = true;
    if (memory.slots.empty()) continue;
    out.core.memories.push_back(std::move(memory));
    out.memory.push_back(m);
  }
  return out;
}

}  // namespace monet::plan
