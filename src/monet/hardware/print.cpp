// A chip as a file of MONET's own form.
#include <fmt/format.h>

#include <algorithm>

#include "monet/base/config_number.h"
#include "monet/base/json.h"
#include "monet/hardware/yaml.h"

namespace monet::hardware {
namespace {

class Printer {
 public:
  explicit Printer(const Hardware& hardware) : h_(hardware) {}

  std::string run() {
    line(0, "monet", "hardware");
    line(0, "name", quoted(h_.name));
    if (!h_.description.empty()) line(0, "description", quoted(h_.description));
    if (!h_.source.empty()) line(0, "source", quoted(h_.source));
    // Zero is what nobody has said.
    if (h_.node_nm.value > 0) figure(0, "node_nm", h_.node_nm);
    if (h_.clock_hz.value > 0) figure(0, "clock_hz", h_.clock_hz);
    figure(0, "supply_v", h_.supply_v);
    out_ += "\ncores:\n";
    for (const Core& core : h_.cores) print_core(core);
    if (h_.offchip) line(0, "\noffchip", quoted(h_[*h_.offchip].name));
    links();
    return std::move(out_);
  }

 private:
  static std::string key(std::string_view text) { return json_quoted(text); }
  // Of a value, in which ${ would begin an expression.
  static std::string quoted(std::string_view text) {
    std::string escaped;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text.substr(i).starts_with("${")) escaped += '$';
      escaped += text[i];
    }
    return json_quoted(escaped);
  }

  void line(int indent, std::string_view key, std::string_view value) {
    out_ += fmt::format("{:{}}{}: {}\n", "", indent, key, value);
  }
  // A figure that is given and has the chip's own source needs no more than its value.
  std::string text(const Figure& figure) const {
    const std::string value = config::shortest(figure.value);
    if (figure.provenance == Provenance::Given && figure.source == h_.source) return value;
    std::string out = "{value: " + value;
    if (figure.source != h_.source) out += ", source: " + quoted(figure.source);
    if (figure.provenance == Provenance::Assumed) out += ", assumed: true";
    if (figure.provenance == Provenance::Modelled) out += ", modelled: true";
    return out + "}";
  }
  void figure(int indent, std::string_view key, const Figure& value) { line(indent, key, text(value)); }

  std::string core_names(const std::vector<CoreId>& cores) const {
    std::vector<std::string> names;
    for (const CoreId id : cores) names.push_back(quoted(h_[id].name));
    return fmt::format("[{}]", fmt::join(names, ", "));
  }

  void print_core(const Core& core) {
    if (core == Core{.name = core.name}) {
      out_ += fmt::format("  {}: {{}}\n", key(core.name));
      return;
    }
    out_ += fmt::format("  {}:\n", key(core.name));
    if (core.array) print_array(*core.array);
    if (core.vector) print_vector(*core.vector);
    if (!core.memories.empty()) out_ += "    memories:\n";
    for (const Memory& memory : core.memories) print_memory(memory, core);
    if (!core.unrollings.empty()) {
      std::vector<std::string> dimensions;
      for (std::size_t d = 0; d < core.unrollings.size(); ++d) {
        std::vector<std::string> loops;
        for (const Unrolling& loop : core.unrollings[d])
          loops.push_back(fmt::format("{}: {}", key(loop.dimension), loop.factor));
        dimensions.push_back(fmt::format("{}: {{{}}}", key(core.array->dimensions[d].name), fmt::join(loops, ", ")));
      }
      line(4, "unrolling", fmt::format("{{{}}}", fmt::join(dimensions, ", ")));
    }
    if (core.dataflow != Dataflow::Reconfigurable) line(4, "dataflow", name(core.dataflow));
    if (!core.takes.empty()) {
      std::vector<std::string_view> classes;
      for (const WorkClass c : core.takes) classes.push_back(name(c));
      line(4, "takes", fmt::format("[{}]", fmt::join(classes, ", ")));
    }
    if (!core.operator_types.empty()) {
      std::vector<std::string> types;
      for (const std::string& type : core.operator_types) types.push_back(quoted(type));
      line(4, "operator_types", fmt::format("[{}]", fmt::join(types, ", ")));
    }
  }

  void print_array(const Array& array) {
    out_ += "    array:\n";
    std::vector<std::string> dimensions;
    for (const ArrayDimension& d : array.dimensions) dimensions.push_back(fmt::format("{}: {}", key(d.name), d.size));
    line(6, "dimensions", fmt::format("{{{}}}", fmt::join(dimensions, ", ")));
    figure(6, "mac_energy_pj", array.mac_energy_pj);
    figure(6, "mac_area_mm2", array.mac_area_mm2);
    if (!array.formats.empty()) out_ += "      formats:\n";
    for (const MacCost& cost : array.formats)
      out_ +=
          fmt::format("        - {{multiplicand: {}, accumulator: {}, cycles: {}, energy_pj: {}}}\n",
                      monet::name(cost.multiplicand), monet::name(cost.accumulator), cost.cycles, text(cost.energy_pj));
    if (array.imc)
      line(6, "in_memory_compute",
           fmt::format("{{kind: {}, activation_bits: {}, weight_bits: {}, serial_bits: {}, adc_bits: {}}}",
                       array.imc->analog ? "analog" : "digital", array.imc->activation_bits, array.imc->weight_bits,
                       array.imc->serial_bits, array.imc->adc_bits));
    if (array.skips_zeros) line(6, "skips_zeros", "true");
  }

  void print_vector(const VectorUnit& unit) {
    out_ += "    vector:\n";
    line(6, "lanes", fmt::format("{}", unit.lanes));
    figure(6, "lane_area_mm2", unit.lane_area_mm2);
    out_ += unit.functions.empty() ? "      functions: {}\n" : "      functions:\n";
    for (const FunctionCost& cost : unit.functions) {
      std::string function(work::name(cost.function));
      if (cost.element) function += fmt::format(" {}", monet::name(*cost.element));
      line(8, function,
           fmt::format("{{cycles: {}, energy_pj: {}}}", config::shortest(cost.cycles), text(cost.energy_pj)));
    }
  }

  void print_memory(const Memory& memory, const Core& core) {
    out_ += fmt::format("      {}:\n", key(memory.name));
    line(8, "kind", name(memory.kind));
    line(8, "size_bits", fmt::format("{}", memory.size_bits));
    std::vector<std::string_view> slots;
    for (const Slot slot : memory.slots) slots.push_back(name(slot));
    line(8, "holds", fmt::format("[{}]", fmt::join(slots, ", ")));
    std::vector<std::string> served;
    for (const std::size_t d : memory.served_dimensions) served.push_back(quoted(core.array->dimensions[d].name));
    line(8, "serves", fmt::format("[{}]", fmt::join(served, ", ")));
    out_ += "        ports:\n";
    for (const Port& port : memory.ports) {
      std::vector<std::string> uses;
      for (const PortUse& use : port.uses) uses.push_back(fmt::format("{} {}", name(use.slot), name(use.direction)));
      out_ += fmt::format("          - {{name: {}, kind: {}, bits_per_cycle: {}, min_bits_per_cycle: {}, for: [{}]}}\n",
                          quoted(port.name), name(port.kind), port.max_bits_per_cycle, port.min_bits_per_cycle,
                          fmt::join(uses, ", "));
    }
    figure(8, "read_energy_pj", memory.read_energy_pj);
    figure(8, "write_energy_pj", memory.write_energy_pj);
    figure(8, "leakage_mw", memory.leakage_mw);
    figure(8, "area_mm2", memory.area_mm2);
    line(8, "latency_cycles", fmt::format("{}", memory.latency_cycles));
    if (memory.buffering != Buffering::Auto) line(8, "buffering", name(memory.buffering));
    if (memory.ports_per_core) line(8, "ports_per_core", "true");
    if (memory.transposed_read != TransposedRead::Free) line(8, "transposed_read", name(memory.transposed_read));
    if (memory.transposed_slowdown != 1) line(8, "transposed_slowdown", config::shortest(memory.transposed_slowdown));
  }

  void links() {
    if (!h_.links.empty()) out_ += "\nlinks:\n";
    for (const Link& link : h_.links)
      out_ += fmt::format("  - {{{}: {}, bits_per_cycle: {}, energy_pj_per_bit: {}}}\n", link.is_bus ? "bus" : "link",
                          core_names(link.cores), link.bits_per_cycle, text(link.energy_pj_per_bit));
    if (!h_.shared_memories.empty()) out_ += "\nshared_memories:\n";
    for (const std::vector<CoreId>& group : h_.shared_memories) out_ += fmt::format("  - {}\n", core_names(group));
    if (!h_.offchip_efficiency.empty()) out_ += "\noffchip_efficiency:\n";
    for (const BurstEfficiency& e : h_.offchip_efficiency)
      out_ += fmt::format("  - {{burst_bytes: {}, stride_bytes: {}, efficiency: {}}}\n", e.burst_bytes, e.stride_bytes,
                          text(e.efficiency));
  }

  const Hardware& h_;
  std::string out_;
};

}  // namespace

std::string print(const Hardware& hardware) { return Printer(hardware).run(); }

}  // namespace monet::hardware
