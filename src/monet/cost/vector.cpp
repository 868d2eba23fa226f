#include "monet/cost/vector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/base/diagnostic.h"

namespace monet::cost {
namespace {

using hardware::Core;
using hardware::Direction;
using hardware::Memory;
using hardware::Slot;
using work::ElementFunction;

[[noreturn]] void refuse(const Core& core, std::string message) {
  throw InputError(Diagnostic{.where = "core " + core.name, .message = std::move(message)});
}

// Multiply-adds that stand in for a function where a core has no figure for it. Assumed: a polynomial of six terms for
// the transcendental ones (FuseMax computes exp so), a Newton step or two more for quotients and roots.
double stand_in_operations(ElementFunction function) {
  switch (function) {
    case ElementFunction::Add:
    case ElementFunction::Multiply:
    case ElementFunction::Compare:
    case ElementFunction::Logic:
    case ElementFunction::Select:
    case ElementFunction::Convert:
    case ElementFunction::Negate:
    case ElementFunction::Round: return 1;
    case ElementFunction::Exp:
    case ElementFunction::Log:
    case ElementFunction::Tanh:
    case ElementFunction::Sine: return 6;
    case ElementFunction::Divide:
    case ElementFunction::Sqrt:
    case ElementFunction::Erf: return 8;
    case ElementFunction::Power: return 13;
    case ElementFunction::Random: return 4;
  }
  return 1;
}

bool needs_stand_in(ElementFunction function) { return stand_in_operations(function) > 1; }

// The line of the table for this format, else the one for any.
const hardware::FunctionCost* find_function(const hardware::VectorUnit& unit, ElementFunction function,
                                            Element element) {
  const hardware::FunctionCost* any = nullptr;
  for (const hardware::FunctionCost& line : unit.functions) {
    if (line.function != function) continue;
    if (line.element == element) return &line;
    if (!line.element) any = &line;
  }
  return any;
}

Element working_element(const work::VectorWork& work) {
  if (!work.writes.empty()) return work.writes[0].format.element;
  return work.reads.empty() ? Element::F32 : work.reads[0].format.element;
}

void add_compute(const work::VectorWork& work, const Core& core, VectorCost& cost) {
  double lanes = core.vector ? static_cast<double>(core.vector->lanes) : 1;
  if (!core.vector)
    for (const hardware::ArrayDimension& d : core.array->dimensions) lanes *= static_cast<double>(d.size);
  double cycles = 0;
  for (const work::FunctionCount& f : work.functions) {
    const auto count = static_cast<double>(f.count);
    const hardware::FunctionCost* line =
        core.vector ? find_function(*core.vector, f.function, working_element(work)) : nullptr;
    if (line) {
      cycles += count * line->cycles;
      cost.compute_energy_pj += count * line->energy_pj.value;
      continue;
    }
    const double operations = stand_in_operations(f.function);
    double pj = 0;
    if (core.vector) {
      const hardware::FunctionCost* multiply =
          find_function(*core.vector, ElementFunction::Multiply, working_element(work));
      pj = multiply ? multiply->energy_pj.value : 0;
    } else {
      pj = core.array->mac_energy_pj.value;
    }
    cycles += count * operations;
    cost.compute_energy_pj += count * operations * pj;
    if (core.vector || needs_stand_in(f.function)) cost.stand_ins.push_back({f.function, operations});
  }
  cost.compute_cycles = std::ceil(cycles / lanes);
}

// One stream of elements through all memories of a slot.
struct Stream {
  Slot slot;
  double elements, bits;
  bool scattered;   // element by element, not word by word
  bool transposed;  // against the order of storage
};

class Traffic {
 public:
  Traffic(const Core& core, VectorCost& cost, const std::array<bool, 3>& at_lanes)
      : core_(core), cost_(cost), at_lanes_(at_lanes) {
    for (const Memory& memory : core.memories) busy_.emplace_back(memory.ports.size(), 0);
  }

  // Inputs: read at each level, written at each but the highest. Outputs the other way.
  void add(const Stream& stream) {
    std::vector<std::size_t> levels;
    for (std::size_t m = 0; m < core_.memories.size(); ++m)
      if (std::find(core_.memories[m].slots.begin(), core_.memories[m].slots.end(), stream.slot) !=
          core_.memories[m].slots.end())
        levels.push_back(m);
    if (levels.empty()) refuse(core_, fmt::format("has no memory for the {} of element-wise work", name(stream.slot)));
    if (at_lanes_[static_cast<std::size_t>(stream.slot)]) levels.erase(levels.begin() + 1, levels.end());
    const bool output = stream.slot == Slot::Output;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const bool top = i + 1 == levels.size();
      access(stream, levels[i], output ? Direction::WriteFromLow : Direction::ReadToLow, top);
      if (!top) access(stream, levels[i], output ? Direction::ReadToHigh : Direction::WriteFromHigh, false);
    }
  }

  double longest(std::string& port) const {
    double most = 0;
    for (std::size_t m = 0; m < busy_.size(); ++m)
      for (std::size_t i = 0; i < busy_[m].size(); ++i)
        if (busy_[m][i] > most) {
          most = busy_[m][i];
          port = core_.memories[m].name + "." + core_.memories[m].ports[i].name;
        }
    return most;
  }

 private:
  void note_port(std::size_t m, std::size_t i, double words) {
    for (VectorPort& port : cost_.ports)
      if (port.memory == m && port.port == i) {
        port.words += words;
        return;
      }
    cost_.ports.push_back({m, i, words});
  }

  void access(const Stream& stream, std::size_t m, Direction direction, bool top) {
    const Memory& memory = core_.memories[m];
    for (std::size_t i = 0; i < memory.ports.size(); ++i) {
      const hardware::Port& port = memory.ports[i];
      const auto serves = [&](const hardware::PortUse& use) {
        return use.slot == stream.slot && use.direction == direction;
      };
      if (std::none_of(port.uses.begin(), port.uses.end(), serves)) continue;
      const auto min = static_cast<double>(port.min_bits_per_cycle), max = static_cast<double>(port.max_bits_per_cycle);
      const double bits = stream.elements * stream.bits;
      const double granules =
          stream.scattered && top ? stream.elements * std::ceil(stream.bits / min) : std::ceil(bits / min);
      const double words = granules * min / max;
      const bool read = is_read(direction);
      // Memories that are replicated share the stream between their instances.
      double cycles = words / static_cast<double>(instances(memory, core_));
      if (stream.transposed && top && read && memory.transposed_read == hardware::TransposedRead::Conflicts)
        cycles *= memory.transposed_slowdown;
      const double pj = words * (read ? memory.read_energy_pj.value : memory.write_energy_pj.value);
      busy_[m][i] += std::ceil(cycles);
      note_port(m, i, cycles);
      cost_.memory_energy_pj += pj;
      cost_.accesses.push_back({stream.slot, m, direction, words, bits, pj});
      cost_.fill_cycles = std::max(cost_.fill_cycles, static_cast<double>(memory.latency_cycles));
      return;
    }
    refuse(core_, fmt::format("memory '{}' has no port for {} {}", memory.name, name(stream.slot), name(direction)));
  }

  const Core& core_;
  VectorCost& cost_;
  const std::array<bool, 3>& at_lanes_;
  std::vector<std::vector<double>> busy_;
};

bool needs_pass(const Core& core) {
  return std::any_of(core.memories.begin(), core.memories.end(),
                     [](const Memory& m) { return m.transposed_read == hardware::TransposedRead::Pass; });
}

}  // namespace

Slot read_slot(const Core& core, std::size_t operand) {
  const std::vector<std::string> inputs = levels(core, Slot::Input), weights = levels(core, Slot::Weight);
  const bool has_two_ways = !inputs.empty() && !weights.empty() && inputs.back() == weights.back();
  return operand % 2 == 1 && has_two_ways ? Slot::Weight : Slot::Input;
}

VectorCost vector_cost(const work::VectorWork& work, const Core& core, double clock_hz,
                       const std::array<bool, 3>& at_lanes) {
  VectorCost cost;
  if (work.is_view) return cost;
  if (!core.vector && !core.array) refuse(core, "has neither lanes nor an array");
  add_compute(work, core, cost);
  Traffic traffic(core, cost, at_lanes);
  const bool twice = work.permutes && needs_pass(core);
  for (std::size_t i = 0; i < work.reads.size(); ++i) {
    const work::Transfer& read = work.reads[i];
    traffic.add({read_slot(core, i), static_cast<double>(read.elements) * (twice ? 2 : 1),
                 bits_per_element(read.format), work.indirect, work.permutes});
  }
  for (const work::Transfer& write : work.writes)
    traffic.add({Slot::Output, static_cast<double>(write.elements) * (twice ? 2 : 1), bits_per_element(write.format),
                 work.indirect && work.reads.size() > 1, false});
  std::string port;
  const double moved = traffic.longest(port);
  cost.bound_by = cost.compute_cycles >= moved ? "lanes" : port;
  cost.latency = std::max(cost.compute_cycles, moved) + cost.fill_cycles;
  if (clock_hz > 0) cost.static_energy_pj = leakage_mw(core) * 1e9 / clock_hz * cost.latency;
  cost.energy_pj = cost.compute_energy_pj + cost.memory_energy_pj + cost.static_energy_pj;
  return cost;
}

}  // namespace monet::cost
