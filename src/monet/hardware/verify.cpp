#include "monet/hardware/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace monet::hardware {

std::string core_path(std::size_t core) { return fmt::format("cores[{}]", core); }
std::string memory_path(std::size_t core, std::size_t memory) {
  return fmt::format("cores[{}].memories[{}]", core, memory);
}
std::string port_path(std::size_t core, std::size_t memory, std::size_t port) {
  return fmt::format("cores[{}].memories[{}].ports[{}]", core, memory, port);
}
std::string link_path(std::size_t link) { return fmt::format("links[{}]", link); }

namespace {

class Examiner {
 public:
  explicit Examiner(const Hardware& hardware) : hardware_(hardware) {}

  std::vector<Fault> run() {
    figure(hardware_.node_nm, "", "node");
    figure(hardware_.clock_hz, "", "clock");
    figure(hardware_.supply_v, "", "supply");
    if (hardware_.cores.empty()) error("", "a chip has no cores");
    if (hardware_.cores.size() > kMostCores) error("", fmt::format("more than {} cores", kMostCores));
    for (std::size_t c = 0; c < hardware_.cores.size(); ++c) core(c);
    links();
    groups();
    return std::move(faults_);
  }

 private:
  void error(std::string path, std::string message, std::string hint = "") {
    faults_.push_back({std::move(path), std::move(message), std::move(hint), Severity::Error});
  }
  void warn(std::string path, std::string message, std::string hint = "") {
    faults_.push_back({std::move(path), std::move(message), std::move(hint), Severity::Warning});
  }
  void figure(const Figure& figure, const std::string& path, std::string_view what) {
    if (!std::isfinite(figure.value) || figure.value < 0 || figure.value > kMostFigure)
      error(path, fmt::format("{} must be between 0 and {:g}", what, kMostFigure));
  }
  bool is_core(CoreId id) const { return id.index() < hardware_.cores.size(); }

  void core(std::size_t c) {
    const Core& core = hardware_.cores[c];
    for (std::size_t other = 0; other < c; ++other)
      if (hardware_.cores[other].name == core.name)
        error(core_path(c), fmt::format("a second core is called '{}'", core.name));
    if (!core.array && !core.vector && core.memories.empty())
      warn(core_path(c), fmt::format("core '{}' has neither an array, a vector unit nor a memory", core.name));
    if (core.array) array(c);
    if (core.vector) vector(c);
    for (std::size_t m = 0; m < core.memories.size(); ++m) memory(c, m);
    if (core.array || core.vector) {
      for (const Slot slot : kSlots)
        if (std::none_of(core.memories.begin(), core.memories.end(), [&](const Memory& m) { return holds(m, slot); }))
          warn(core_path(c), fmt::format("no memory of core '{}' holds the {}", core.name, name(slot)),
               "work that has one cannot be run there");
      for (const Slot slot : kSlots) order(c, slot);
    }
    unrollings(c);
  }

  void array(std::size_t c) {
    const Core& core = hardware_.cores[c];
    const std::string path = core_path(c) + ".array";
    if (core.array->dimensions.empty()) error(path, fmt::format("the array of '{}' has no dimensions", core.name));
    if (core.array->dimensions.size() > 16) error(path, "an array has at most 16 dimensions");
    double lanes = 1;
    for (std::size_t d = 0; d < core.array->dimensions.size(); ++d) {
      const ArrayDimension& dimension = core.array->dimensions[d];
      if (dimension.size < 1) error(path, fmt::format("array dimension '{}' must be positive", dimension.name));
      lanes *= static_cast<double>(dimension.size);
      for (std::size_t e = 0; e < d; ++e)
        if (core.array->dimensions[e].name == dimension.name)
          error(path, fmt::format("array dimension '{}' is given twice", dimension.name));
    }
    if (lanes > static_cast<double>(kMostLanes)) error(path, fmt::format("an array has at most {} lanes", kMostLanes));
    figure(core.array->mac_energy_pj, path, "the energy of a multiply-accumulate");
    figure(core.array->mac_area_mm2, path, "the area of a multiply-accumulate");
    for (const MacCost& cost : core.array->formats) {
      figure(cost.energy_pj, path, "the energy of a multiply-accumulate");
      if (cost.cycles < 1) error(path, "a multiply-accumulate takes at least one cycle");
    }
    if (core.array->imc) in_memory_compute(*core.array->imc, path);
  }

  void in_memory_compute(const InMemoryCompute& imc, const std::string& path) {
    const auto within = [&](std::int64_t value, std::int64_t least, std::string_view what) {
      if (value < least || value > 64) error(path, fmt::format("{} must be {} to 64", what, least));
    };
    within(imc.activation_bits, 1, "activation bits");
    within(imc.weight_bits, 1, "weight bits");
    within(imc.serial_bits, 1, "serial bits");
    within(imc.adc_bits, imc.analog ? 1 : 0, "ADC bits");
    if (imc.serial_bits > imc.activation_bits)
      error(path, fmt::format("{} bits at a time are more than the {} an activation has", imc.serial_bits,
                              imc.activation_bits));
    if (!imc.analog && imc.adc_bits != 0) error(path, "a digital in-memory array has no ADC");
  }

  void vector(std::size_t c) {
    const VectorUnit& unit = *hardware_.cores[c].vector;
    const std::string path = core_path(c) + ".vector";
    if (unit.lanes < 1 || unit.lanes > kMostLanes) error(path, "a vector unit has at least one lane");
    figure(unit.lane_area_mm2, path, "the area of a lane");
    for (const FunctionCost& cost : unit.functions) {
      figure(cost.energy_pj, path, "the energy of a function");
      if (!(cost.cycles > 0) || cost.cycles > 1e9) error(path, "a function takes more than no cycles");
    }
  }

  void memory(std::size_t c, std::size_t m) {
    const Core& core = hardware_.cores[c];
    const Memory& memory = core.memories[m];
    const std::string path = memory_path(c, m);
    for (std::size_t other = 0; other < m; ++other)
      if (core.memories[other].name == memory.name)
        error(path, fmt::format("a second memory of core '{}' is called '{}'", core.name, memory.name));
    if (memory.size_bits < 1 || memory.size_bits > kMostBits)
      error(path, fmt::format("the size of '{}' must be 1 to {} bits", memory.name, kMostBits));
    if (memory.slots.empty()) error(path, fmt::format("memory '{}' holds nothing", memory.name));
    for (std::size_t i = 0; i < memory.slots.size(); ++i)
      if (std::count(memory.slots.begin(), memory.slots.end(), memory.slots[i]) > 1) {
        error(path, fmt::format("memory '{}' names the {} twice", memory.name, name(memory.slots[i])));
        break;
      }
    const std::size_t dimensions = core.array ? core.array->dimensions.size() : 0;
    for (const std::size_t d : memory.served_dimensions)
      if (d >= dimensions || std::count(memory.served_dimensions.begin(), memory.served_dimensions.end(), d) > 1)
        error(path, fmt::format("memory '{}' serves a dimension twice, or one the array does not have", memory.name));
    figure(memory.read_energy_pj, path, "the energy of a read");
    figure(memory.write_energy_pj, path, "the energy of a write");
    figure(memory.leakage_mw, path, "leakage");
    figure(memory.area_mm2, path, "area");
    if (memory.latency_cycles < 0) error(path, "latency must not be negative");
    if (!(memory.transposed_slowdown >= 1)) error(path, "a transposed read is no faster than a straight one");
    if (memory.ports.empty()) error(path, fmt::format("memory '{}' has no ports", memory.name));
    for (std::size_t p = 0; p < memory.ports.size(); ++p) port(c, m, p);
    for (const Slot slot : memory.slots) directions(c, m, slot);
  }

  void port(std::size_t c, std::size_t m, std::size_t p) {
    const Memory& memory = hardware_.cores[c].memories[m];
    const Port& port = memory.ports[p];
    const std::string path = port_path(c, m, p);
    if (port.min_bits_per_cycle < 1 || port.max_bits_per_cycle > kMostBitsPerCycle)
      error(path, fmt::format("the width of port '{}' must be 1 to {} bits", port.name, kMostBitsPerCycle));
    else if (port.min_bits_per_cycle > port.max_bits_per_cycle)
      error(path, fmt::format("port '{}' has a smallest access of {} bits, more than its width of {}", port.name,
                              port.min_bits_per_cycle, port.max_bits_per_cycle));
    if (port.uses.empty())
      error(path, fmt::format("port '{}' of memory '{}' serves nothing", port.name, memory.name),
            "say what goes through it, or leave it out");
    for (std::size_t other = 0; other < p; ++other)
      if (memory.ports[other].name == port.name)
        error(path, fmt::format("a second port of memory '{}' is called '{}'", memory.name, port.name));
    for (const PortUse& use : port.uses) {
      const std::string what = fmt::format("{} {}", name(use.slot), name(use.direction));
      if (!holds(memory, use.slot))
        error(path, fmt::format("port '{}' serves the {}, which memory '{}' does not hold", port.name, name(use.slot),
                                memory.name));
      if (use.slot != Slot::Output &&
          (use.direction == Direction::WriteFromLow || use.direction == Direction::ReadToHigh))
        error(path, fmt::format("'{}': only outputs come from below or go back up", what));
      if (is_read(use.direction) ? port.kind == PortKind::Write : port.kind == PortKind::Read)
        error(path, fmt::format("'{}' is a {}, and port '{}' a {} port", what,
                                is_read(use.direction) ? "read" : "write", port.name, name(port.kind)));
    }
  }

  // Every operand goes through one port in each direction it needs; a top memory has nothing above it.
  void directions(std::size_t c, std::size_t m, Slot slot) {
    const Core& core = hardware_.cores[c];
    const Memory& memory = core.memories[m];
    const bool top = std::none_of(core.memories.begin() + static_cast<std::ptrdiff_t>(m) + 1, core.memories.end(),
                                  [&](const Memory& above) { return holds(above, slot); });
    for (const Direction direction : kDirections) {
      if (slot != Slot::Output && (direction == Direction::WriteFromLow || direction == Direction::ReadToHigh))
        continue;
      const PortUse use{slot, direction};
      std::size_t count = 0;
      for (const Port& port : memory.ports)
        count += static_cast<std::size_t>(std::count(port.uses.begin(), port.uses.end(), use));
      const bool needed = !top || direction == Direction::ReadToLow || direction == Direction::WriteFromLow;
      if (count > 1)
        error(memory_path(c, m),
              fmt::format("memory '{}' has more than one port for '{} {}'", memory.name, name(slot), name(direction)));
      if (count == 0 && needed)
        error(memory_path(c, m),
              fmt::format("memory '{}' has no port for '{} {}'", memory.name, name(slot), name(direction)));
    }
  }

  // Memories are listed from the array outwards: above a memory is a larger one, shared at least as widely.
  void order(std::size_t c, Slot slot) {
    const Core& core = hardware_.cores[c];
    std::optional<std::size_t> below;
    for (std::size_t m = 0; m < core.memories.size(); ++m) {
      const Memory& memory = core.memories[m];
      if (!holds(memory, slot)) continue;
      if (below) {
        const Memory& lower = core.memories[*below];
        const std::string message =
            fmt::format("memory '{}' is above '{}' for the {}", memory.name, lower.name, name(slot));
        const bool lost =
            std::any_of(lower.served_dimensions.begin(), lower.served_dimensions.end(), [&](std::size_t d) {
              return std::find(memory.served_dimensions.begin(), memory.served_dimensions.end(), d) ==
                     memory.served_dimensions.end();
            });
        if (memory.size_bits < lower.size_bits)
          warn(memory_path(c, m), message + " but smaller", "memories are listed from lowest to highest");
        else if (lost)
          warn(memory_path(c, m), message + " but shared along fewer array dimensions",
               "memories are listed from lowest to highest");
        else if (lower.kind == MemoryKind::Dram && memory.kind != MemoryKind::Dram)
          warn(memory_path(c, m), message + ", which is off the chip", "memories are listed from lowest to highest");
      }
      below = m;
    }
  }

  void unrollings(std::size_t c) {
    const Core& core = hardware_.cores[c];
    if (core.unrollings.empty()) return;
    const std::string path = core_path(c) + ".unrollings";
    const std::size_t dimensions = core.array ? core.array->dimensions.size() : 0;
    if (core.unrollings.size() != dimensions) {
      error(path, fmt::format("core '{}' has {} array dimensions and loops for {}", core.name, dimensions,
                              core.unrollings.size()));
      return;
    }
    for (std::size_t d = 0; d < dimensions; ++d) {
      double product = 1;
      for (const Unrolling& loop : core.unrollings[d]) {
        if (loop.factor < 1) error(path, fmt::format("the factor of '{}' must be positive", loop.dimension));
        product *= static_cast<double>(loop.factor);
      }
      const ArrayDimension& dimension = core.array->dimensions[d];
      if (product > static_cast<double>(dimension.size))
        warn(path,
             fmt::format("{:g} lanes are asked of array dimension '{}', which has {}", product, dimension.name,
                         dimension.size),
             "the loops will be cut to what there is");
    }
  }

  void links() {
    for (std::size_t l = 0; l < hardware_.links.size(); ++l) {
      const Link& link = hardware_.links[l];
      const std::string path = link_path(l);
      if (!std::all_of(link.cores.begin(), link.cores.end(), [&](CoreId id) { return is_core(id); }))
        error(path, "the link names a core there is none of");
      if (link.cores.size() < 2 || (!link.is_bus && link.cores.size() != 2))
        error(path, "a link joins two cores, a bus two or more");
      std::vector<CoreId> sorted = link.cores;
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        error(path, "the link joins a core with itself");
      if (link.bits_per_cycle < 1 || link.bits_per_cycle > kMostBitsPerCycle)
        error(path, fmt::format("the bandwidth of a link must be 1 to {} bits a cycle", kMostBitsPerCycle));
      figure(link.energy_pj_per_bit, path, "the energy of a link");
    }
  }

  void groups() {
    if (hardware_.offchip) {
      if (!is_core(*hardware_.offchip)) {
        error("offchip", "the off-chip core is none of the chip's");
      } else {
        const Core& core = hardware_[*hardware_.offchip];
        if (core.array || core.vector)
          error("offchip", fmt::format("off-chip core '{}' must have memories only", core.name));
        if (core.memories.empty()) error("offchip", fmt::format("off-chip core '{}' has no memory", core.name));
      }
    }
    for (std::size_t g = 0; g < hardware_.shared_memories.size(); ++g) shared(g);
    for (const BurstEfficiency& e : hardware_.offchip_efficiency)
      if (!(e.efficiency.value > 0 && e.efficiency.value <= 1) || e.burst_bytes < 0 || e.stride_bytes < 0)
        error("offchip_efficiency", "an efficiency is above 0 and at most 1, lengths are not negative");
  }

  void shared(std::size_t g) {
    const std::vector<CoreId>& group = hardware_.shared_memories[g];
    const std::string path = fmt::format("shared_memories[{}]", g);
    if (group.size() < 2) error(path, "at least two cores share a memory");
    const Memory* first = nullptr;
    for (const CoreId id : group) {
      if (!is_core(id) || hardware_[id].memories.empty()) {
        error(path, "a core named here does not exist or has no memory");
        return;
      }
      const Memory& top = hardware_[id].memories.back();
      if (first && first->size_bits != top.size_bits)
        error(path, fmt::format("'{}' and '{}' cannot be one memory: their sizes differ", first->name, top.name));
      first = first ? first : &top;
    }
  }

  const Hardware& hardware_;
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> examine(const Hardware& hardware) { return Examiner(hardware).run(); }

}  // namespace monet::hardware
