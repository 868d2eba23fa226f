#include "monet/verbs/hardware.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/base/config.h"
#include "monet/base/config_number.h"
#include "monet/base/file.h"
#include "monet/cost/zigzag_files.h"
#include "monet/hardware/budget.h"
#include "monet/hardware/library.h"
#include "monet/hardware/space.h"
#include "monet/plan/plan_file.h"
#include "monet/report/table.h"
#include "monet/search/fusion_rules.h"

namespace monet {
namespace {

using hardware::Core;
using hardware::CoreId;
using hardware::Figure;
using hardware::Hardware;
using hardware::Memory;
using hardware::PortKind;
using hardware::Provenance;
using hardware::Slot;

std::string bit_count(std::int64_t bits) {
  if (bits % 8 != 0 || bits < 8) return fmt::format("{} bit", bits);
  const auto bytes = static_cast<double>(bits / 8);
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

// Citations are long and often the same: texts name them by number.
class Citations {
 public:
  // "416.16 pJ [2]", "~12 pJ [1]" if modelled, "?5 pJ" if assumed.
  std::string figure(const Figure& f) {
    const char* mark = f.provenance == Provenance::Given ? "" : f.provenance == Provenance::Modelled ? "~" : "?";
    return fmt::format("{}{:.6g}{}", mark, f.value, reference(f.source));
  }
  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < sources_.size(); ++i) out += fmt::format("  [{}] {}\n", i + 1, sources_[i]);
    return out;
  }

 private:
  std::string reference(const std::string& source) {
    if (source.empty()) return "";
    const auto found = std::find(sources_.begin(), sources_.end(), source);
    const auto index = static_cast<std::size_t>(found - sources_.begin());
    if (found == sources_.end()) sources_.push_back(source);
    return fmt::format(" [{}]", index + 1);
  }
  std::vector<std::string> sources_;
};

std::string slot_list(const std::vector<Slot>& slots) {
  std::vector<std::string_view> names;
  for (const Slot slot : slots) names.push_back(name(slot));
  return fmt::format("{}", fmt::join(names, "+"));
}

std::string port_text(const Memory& memory) {
  std::vector<std::string> ports;
  for (const hardware::Port& port : memory.ports) {
    const char* kind = port.kind == PortKind::Read ? "r" : port.kind == PortKind::Write ? "w" : "rw";
    ports.push_back(port.min_bits_per_cycle == port.max_bits_per_cycle
                        ? fmt::format("{} {}", kind, port.max_bits_per_cycle)
                        : fmt::format("{} {}-{}", kind, port.min_bits_per_cycle, port.max_bits_per_cycle));
  }
  // Ports alike are counted.
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (std::find(ports.begin(), ports.begin() + static_cast<std::ptrdiff_t>(i), ports[i]) !=
        ports.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    const auto count = std::count(ports.begin(), ports.end(), ports[i]);
    shown.push_back(count > 1 ? fmt::format("{}x {}", count, ports[i]) : ports[i]);
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::string array_text(const hardware::Array& array, Citations& sources) {
  std::vector<std::string> sizes;
  std::int64_t lanes = 1;
  for (const hardware::ArrayDimension& d : array.dimensions) {
    sizes.push_back(fmt::format("{} {}", d.name, d.size));
    lanes *= d.size;
  }
  std::string out = fmt::format("  array   {} = {} lanes, {} pJ a MAC", fmt::join(sizes, " x "),
                                grouped(static_cast<std::uint64_t>(lanes)), sources.figure(array.mac_energy_pj));
  if (array.mac_area_mm2.value > 0) out += fmt::format(", {} mm2 each", sources.figure(array.mac_area_mm2));
  if (array.skips_zeros) out += ", skips zeros";
  out += "\n";
  if (array.imc)
    out += fmt::format("          {} in memory: {} bit activations, {} at a time, {} bit weights{}\n",
                       array.imc->analog ? "analog" : "digital", array.imc->activation_bits, array.imc->serial_bits,
                       array.imc->weight_bits,
                       array.imc->adc_bits > 0 ? fmt::format(", {} bit ADC", array.imc->adc_bits) : "");
  for (const hardware::MacCost& cost : array.formats)
    out += fmt::format("          {} into {}: {} cycle{}, {} pJ\n", monet::name(cost.multiplicand),
                       monet::name(cost.accumulator), cost.cycles, cost.cycles == 1 ? "" : "s",
                       sources.figure(cost.energy_pj));
  return out;
}

std::string vector_text(const hardware::VectorUnit& unit, Citations& sources) {
  std::string out = fmt::format("  vector  {} lanes", unit.lanes);
  if (unit.lane_area_mm2.value > 0) out += fmt::format(", {} mm2 each", sources.figure(unit.lane_area_mm2));
  out += "\n";
  Table table({"function", "cycles", "pJ"});
  std::vector<bool> shown(unit.functions.size());
  for (std::size_t i = 0; i < unit.functions.size(); ++i) {
    if (shown[i]) continue;
    const hardware::FunctionCost& cost = unit.functions[i];
    // Functions of one cost stand in one line.
    std::vector<std::string> names;
    for (std::size_t k = i; k < unit.functions.size(); ++k) {
      const hardware::FunctionCost& other = unit.functions[k];
      if (other.cycles != cost.cycles || other.energy_pj != cost.energy_pj) continue;
      shown[k] = true;
      names.push_back(other.element ? fmt::format("{} {}", work::name(other.function), monet::name(*other.element))
                                    : std::string(work::name(other.function)));
    }
    constexpr std::size_t kNamed = 4;
    std::string list = fmt::format(
        "{}",
        fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)), ", "));
    if (names.size() > kNamed) list += fmt::format(" and {} more", names.size() - kNamed);
    table.row({list, config::shortest(cost.cycles), sources.figure(cost.energy_pj)});
  }
  return out + table.text("          ");
}

std::string core_text(const Core& core, Citations& sources) {
  std::string out;
  if (core.array) out += array_text(*core.array, sources);
  if (core.vector) out += vector_text(*core.vector, sources);
  if (!core.memories.empty()) {
    Table table({"memory", "kind", "size", "instances", "holds", "bits a cycle", "read pJ", "write pJ", "leakage mW",
                 "area mm2"});
    for (const Memory& m : core.memories)
      table.row({m.name, std::string(name(m.kind)), bit_count(m.size_bits),
                 grouped(static_cast<std::uint64_t>(instances(m, core))), slot_list(m.slots), port_text(m),
                 sources.figure(m.read_energy_pj), sources.figure(m.write_energy_pj), sources.figure(m.leakage_mw),
                 sources.figure(m.area_mm2)});
    out += table.text("  ");
    for (const Memory& m : core.memories) {
      if (m.buffering == hardware::Buffering::Double) out += fmt::format("  {} always holds two tiles\n", m.name);
      if (m.transposed_read != hardware::TransposedRead::Free)
        out += fmt::format("  {}: a transposed read {}\n", m.name,
                           m.transposed_read == hardware::TransposedRead::Pass
                               ? "needs a pass"
                               : fmt::format("is {} times slower", config::shortest(m.transposed_slowdown)));
    }
    for (const Slot slot : hardware::kSlots)
      if (const auto path = levels(core, slot); !path.empty() && (core.array || core.vector))
        out += fmt::format("  {:<7} {}\n", name(slot), fmt::join(path, " -> "));
  }
  if (!core.unrollings.empty()) {
    std::vector<std::string> dimensions;
    for (std::size_t d = 0; d < core.unrollings.size(); ++d) {
      std::vector<std::string> loops;
      for (const hardware::Unrolling& loop : core.unrollings[d])
        loops.push_back(fmt::format("{}{}", loop.dimension, loop.factor));
      dimensions.push_back(fmt::format("{}={}", core.array->dimensions[d].name,
                                       loops.empty() ? "-" : fmt::format("{}", fmt::join(loops, "*"))));
    }
    out += fmt::format("  mapped  {}, {}\n", fmt::join(dimensions, " "), name(core.dataflow));
  }
  if (!core.takes.empty()) {
    std::vector<std::string_view> classes;
    for (const hardware::WorkClass c : core.takes) classes.push_back(name(c));
    out += fmt::format("  takes   {}\n", fmt::join(classes, ", "));
  }
  if (!core.operator_types.empty()) out += fmt::format("  for     {}\n", fmt::join(core.operator_types, ", "));
  return out;
}

std::string names_of(const Hardware& h, const std::vector<CoreId>& cores) {
  std::vector<std::string> names;
  for (const CoreId id : cores) names.push_back(h[id].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string links_text(const Hardware& h, Citations& sources) {
  if (h.links.empty()) return "";
  Table table({"links", "bits a cycle", "pJ/bit"});
  for (const hardware::Link& link : h.links)
    table.row({fmt::format("{} {}", link.is_bus ? "bus" : "link", names_of(h, link.cores)),
               grouped(static_cast<std::uint64_t>(link.bits_per_cycle)), sources.figure(link.energy_pj_per_bit)});
  return "\n" + table.text();
}

// As far as it can be without a graph and a chip.
CheckedFile check_plan(const std::string& bytes, const std::string& path) {
  const plan::ParsedPlan parsed = plan::parse_plan(bytes, path);
  return {fmt::format("plan, {} groups, {} entries for nodes", parsed.plan.groups.size(), parsed.plan.nodes.size()),
          parsed.warnings};
}

// Areas and powers of which some part is modelled or assumed are no better than that.
std::string budget_text(const Hardware& h) {
  const hardware::ChipBudget budget = hardware::budget_of(h);
  const hardware::Budget& all = budget.total;
  std::string out =
      fmt::format("\non the chip  {} of memory, {:.4g} mm2 = {:.4g} arrays + {:.4g} vector units + {:.4g} memories\n",
                  byte_count(all.bytes), all.area_mm2(), all.array_area_mm2, all.vector_area_mm2, all.memory_area_mm2);
  if (budget.has_power)
    out += fmt::format(
        "at peak      {:.4g} W = {:.4g} arrays + {:.4g} vector units + {:.4g} ports of memories + {:.4g} links + "
        "{:.4g} leakage\n",
        all.tdp_w(), all.array_w, all.vector_w, all.memory_w, all.link_w, all.leakage_w);
  return out;
}

}  // namespace

hardware::Loaded describe_hardware(const HardwareRequest& request) {
  hardware::LoadOptions options;
  for (const auto& setting : request.parameters)
    (hardware::is_field(setting.first) ? options.fields : options.parameters).push_back(setting);
  return hardware::find_hardware(request.hardware, options);
}

std::string text(const hardware::Loaded& loaded) {
  const Hardware& h = loaded.hardware;
  Citations sources;
  std::string out =
      fmt::format("{}: {}, {} core{}\n", h.name, loaded.form, h.cores.size(), h.cores.size() == 1 ? "" : "s");
  if (!h.description.empty()) out += h.description + "\n";
  std::vector<std::string> basics;
  if (h.node_nm.value > 0) basics.push_back(fmt::format("{} nm", sources.figure(h.node_nm)));
  if (h.clock_hz.value > 0) {
    Figure mhz = h.clock_hz;
    mhz.value /= 1e6;
    basics.push_back(fmt::format("{} MHz", sources.figure(mhz)));
  }
  if (h.supply_v.value > 0) basics.push_back(fmt::format("{} V", sources.figure(h.supply_v)));
  if (!basics.empty()) out += fmt::format("{}\n", fmt::join(basics, ", "));
  // Cores that differ in nothing but their names are shown once.
  std::vector<bool> shown(h.cores.size());
  for (std::size_t i = 0; i < h.cores.size(); ++i) {
    if (shown[i]) continue;
    std::vector<std::string> same{h.cores[i].name};
    for (std::size_t k = i + 1; k < h.cores.size(); ++k) {
      Core other = h.cores[k];
      other.name = h.cores[i].name;
      if (other != h.cores[i]) continue;
      shown[k] = true;
      same.push_back(h.cores[k].name);
    }
    const bool offchip = h.offchip && h.offchip->index() == i;
    out += fmt::format("\ncore {}{}\n{}", fmt::join(same, ", "), offchip ? " (off the chip)" : "",
                       core_text(h.cores[i], sources));
  }
  out += links_text(h, sources);
  for (const std::vector<CoreId>& group : h.shared_memories)
    out += fmt::format("one highest memory for {}\n", names_of(h, group));
  for (const hardware::BurstEfficiency& e : h.offchip_efficiency)
    out += fmt::format("off-chip bursts of {} B, stride {} B: {} of the peak\n", e.burst_bytes, e.stride_bytes,
                       sources.figure(e.efficiency));
  out += budget_text(h);
  const std::string list = sources.text();
  return out + (list.empty() ? "" : "\nsources\n" + list) + "~ modelled, ? assumed, the others given by the file\n";
}

std::vector<DocumentInput> document_inputs(const hardware::Loaded& loaded) {
  std::vector<DocumentInput> inputs;
  for (std::size_t i = 0; i < loaded.files.size(); ++i)
    inputs.push_back(
        {i == 0 ? "hardware" : fmt::format("hardware_{}", i), loaded.files[i].path, loaded.files[i].sha256});
  return inputs;
}

std::string list_hardware_text() {
  std::string out;
  std::size_t width = 0;
  for (const std::string& name : hardware::library_names()) width = std::max(width, name.size());
  for (const std::string& name : hardware::library_names())
    out += fmt::format("{:<{}}  {}\n", name, width, hardware::find_hardware(name).hardware.description);
  return out +
         "\nmonet hardware NAME shows a chip; a YAML file (MONET's own, ZigZag's or Stream's) can stand wherever a "
         "name can.\n";
}

Json list_hardware_json() {
  Json chips = Json::array();
  for (const std::string& name : hardware::library_names()) {
    const Hardware h = hardware::find_hardware(name).hardware;
    chips.push(Json::object()
                   .set("name", name)
                   .set("description", h.description)
                   .set("source", h.source)
                   .set("cores", h.cores.size()));
  }
  return Json::object().set("chips", std::move(chips));
}

CheckedFile check_configuration(const std::string& path) {
  const std::string bytes = read_file(path);
  // A plan may be longer than any other file.
  if (bytes.find("monet: plan") != std::string::npos && plan::looks_like_plan(bytes, path))
    return check_plan(bytes, path);
  const config::Tree tree = config::parse(bytes, path);
  if (plan::looks_like_plan(tree.root())) return check_plan(bytes, path);
  if (search::looks_like_rules(tree.root())) {
    const search::FusionRules rules = search::parse_rules(bytes, path);
    return {fmt::format("fusion rules, at most {} nodes a group, {} limits of kinds", rules.limit, rules.kinds.size()),
            {}};
  }
  if (hardware::looks_like_space(tree.root())) {
    const hardware::Family family(hardware::parse_space(bytes, path));
    return {fmt::format("space of chips, {} variables, {} points, {} constraints", family.free().size(),
                        point_count(family.size()), family.space().constraints.size()),
            {}};
  }
  if (hardware::looks_like_hardware(tree.root())) {
    const hardware::Loaded loaded = hardware::load_hardware(path);
    return {
        fmt::format("{}, {} cores, {} links", loaded.form, loaded.hardware.cores.size(), loaded.hardware.links.size()),
        loaded.warnings};
  }
  if (cost::looks_like_workload(tree.root())) {
    const cost::WorkloadFile file = cost::parse_workload(bytes, path);
    return {fmt::format("ZigZag workload, {} layers", file.layers.size()), file.warnings};
  }
  if (cost::looks_like_mapping(tree.root())) {
    const cost::ParsedMapping mapping = cost::parse_mapping(bytes, path);
    return {
        fmt::format("mapping, {} entries, {} fused groups", mapping.file.requests.size(), mapping.file.groups.size()),
        mapping.warnings};
  }
  config::Findings findings;
  findings.error(
      tree.root(), "not a kind of configuration MONET reads",
      "hardware (MONET's own begins with 'monet: hardware'; ZigZag; Stream), a plan ('monet: plan'), fusion rules "
      "('monet: fusion_rules'), a space of chips ('monet: space'), a ZigZag workload or a mapping");
  findings.throw_if_failed();
  return {};
}

}  // namespace monet
