#include "monet/verbs/silicon_chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "monet/base/config_section.h"
#include "monet/hardware/stream_files.h"
#include "monet/hardware/stream_ports.h"
#include "monet/hardware/verify.h"

namespace monet {
namespace {

using config::Dialect;
using config::Findings;
using config::IntegerRange;
using config::Section;
using config::Value;
using hardware::Memory;
using hardware::Port;

constexpr IntegerRange kMemoryBits{.least = 1, .most = hardware::kMostBits};
constexpr IntegerRange kLanes{.least = 1, .most = 1'000'000};
constexpr config::NumberRange kCosts{.least = 0, .most = hardware::kMostFigure};
constexpr std::array kDirectionKeys{"fh", "tl", "fl", "th"};  // in the order of hardware::kDirections

struct ReadMemory {
  Memory memory{};
  std::int64_t instance = 0;  // of all memories of the chip
};

class Reader {
 public:
  explicit Reader(Findings& findings) : findings_(findings) {}

  SiliconChip read(const Value& value) {
    Section s = section(value, "the hardware");
    out_.hardware.name = "chip";
    for (const Value& core : s.list("cores")) read_core(core);
    if (out_.hardware.cores.empty() && value.is_map()) findings_.error(value, "the hardware has no 'cores'");
    if (const auto id = s.require_integer("offchip_core", kSiliconIds)) set_offchip(value, *id);
    for (const Value& link : s.list("links")) read_link(link);
    if (findings_.failed()) return {};
    join_memories();
    add_links();
    check(value);
    return std::move(out_);
  }

 private:
  struct FileLink {
    std::uint32_t from = 0, to = 0;
    std::int64_t medium = 0, bits = 0;
    double energy = 0;  // of one cycle at full width
  };

  Section section(const Value& value, std::string what) {
    return Section(value, std::move(what), Dialect::PyYaml, findings_);
  }

  void read_core(const Value& value) {
    Section s = section(value, "a core");
    const std::int64_t id = s.require_integer("id", kSiliconIds).value_or(0);
    hardware::Core core{.name = fmt::format("core_{}", id)};
    const bool computes = s.find("dataflows").has_value();
    if (const auto array = s.require("array"); array && computes) read_array(*array, s, core);
    std::vector<ReadMemory> memories;
    for (const Value& memory : s.list("memories")) memories.push_back(read_memory(memory, core));
    // The levels of an operand, lowest first.
    std::stable_sort(memories.begin(), memories.end(),
                     [](const auto& a, const auto& b) { return a.memory.size_bits < b.memory.size_bits; });
    for (ReadMemory& each : memories) {
      const auto same = [&](const Memory& m) { return m.name == each.memory.name; };
      if (std::any_of(core.memories.begin(), core.memories.end(), same))
        each.memory.name += fmt::format("_{}", each.instance);
      core.memories.push_back(std::move(each.memory));
    }
    const auto index = static_cast<std::uint32_t>(out_.hardware.cores.size());
    if (!out_.cores.emplace(id, index).second) findings_.error(value, fmt::format("a second core has the id {}", id));
    if (!memories.empty()) top_instances_[memories.back().instance].push_back(hardware::CoreId{index});
    out_.hardware.cores.push_back(std::move(core));
  }

  void read_array(const Value& value, Section& s, hardware::Core& core) {
    hardware::Array array;
    for (std::size_t i = 0; value.is_map() && i < value.size(); ++i)
      array.dimensions.push_back(
          {std::string(value.key(i).text()),
           config::read_integer(value[i], "an array dimension", kLanes, Dialect::PyYaml, findings_).value_or(1)});
    array.mac_energy_pj.value = s.number("unit_energy", kCosts).value_or(0);
    core.unrollings.resize(array.dimensions.size());
    core.dataflow = hardware::Dataflow::Fixed;
    const std::vector<Value> flows = s.list("dataflows");
    for (std::size_t i = 0; !flows.empty() && flows[0].is_map() && i < flows[0].size(); ++i)
      for (std::size_t d = 0; d < array.dimensions.size(); ++d)
        if (array.dimensions[d].name == flows[0].key(i).text())
          read_unrolling(flows[0][i], array.dimensions[d].size, core.unrollings[d]);
    core.array = std::move(array);
  }

  // ["K", 16]; what is wider than the array is as wide.
  void read_unrolling(const Value& value, std::int64_t lanes, std::vector<hardware::Unrolling>& out) {
    if (!value.is_sequence() || value.size() != 2 || !value[0].is_scalar()) {
      findings_.error(value, "a dataflow is a loop and a number", "[\"K\", 16]");
      return;
    }
    const auto factor = config::read_integer(value[1], "a dataflow", kLanes, Dialect::PyYaml, findings_);
    out.push_back({std::string(value[0].text()), std::min(factor.value_or(1), lanes)});
  }

  ReadMemory read_memory(const Value& value, const hardware::Core& core) {
    Section s = section(value, "a memory");
    Memory memory{.name = s.require_text("name").value_or("memory")};
    memory.kind = memory.name.starts_with("rf") ? hardware::MemoryKind::Register : hardware::MemoryKind::Sram;
    memory.size_bits = s.require_integer("size_bits", kMemoryBits).value_or(1);
    memory.read_energy_pj.value = s.number("r_cost", kCosts).value_or(0);
    memory.write_energy_pj.value = s.number("w_cost", kCosts).value_or(0);
    for (const Value& item : s.list("served_dimensions"))
      for (std::size_t d = 0; core.array && item.is_scalar() && d < core.array->dimensions.size(); ++d)
        if (core.array->dimensions[d].name == item.text()) memory.served_dimensions.push_back(d);
    const std::vector<Value> ports = s.list("port_alloc"), operands = s.list("operands");
    if (ports.size() != operands.size()) findings_.error(value, "'operands' and 'port_alloc' differ in length");
    for (std::size_t i = 0; i < std::min(ports.size(), operands.size()); ++i)
      if (const auto slot = config::read_choice(operands[i], "operand", hardware::zigzag_operands(), findings_)) {
        memory.slots.push_back(static_cast<hardware::Slot>(*slot));
        read_ports(ports[i], memory.slots.back(), s, memory);
      }
    return {std::move(memory), s.require_integer("instance", kSiliconIds).value_or(0)};
  }

  // Per direction the name of a port: r_port_1, w_port_1, rw_port_1.
  void read_ports(const Value& value, hardware::Slot slot, Section& s, Memory& memory) {
    for (std::size_t d = 0; value.is_map() && d < kDirectionKeys.size(); ++d) {
      const auto entry = value.find(kDirectionKeys[d]);
      if (!entry || !entry->is_scalar() || !entry->is_quoted()) continue;
      const std::string name(entry->text());
      const bool reads = name.starts_with("r_"), writes = name.starts_with("w_");
      auto port = std::find_if(memory.ports.begin(), memory.ports.end(), [&](const Port& p) { return p.name == name; });
      if (port == memory.ports.end()) {
        const auto bits = s.require_integer(writes ? "w_bw" : "r_bw", hardware::kPortWidth).value_or(1);
        const auto least = s.integer(writes ? "min_w_granularity" : "min_r_granularity", hardware::kPortWidth);
        memory.ports.push_back({.name = name,
                                .kind = reads    ? hardware::PortKind::Read
                                        : writes ? hardware::PortKind::Write
                                                 : hardware::PortKind::ReadWrite,
                                .min_bits_per_cycle = least.value_or(bits),
                                .max_bits_per_cycle = bits});
        port = std::prev(memory.ports.end());
      }
      port->uses.push_back({slot, hardware::kDirections[d]});
    }
  }

  void set_offchip(const Value& value, std::int64_t id) {
    const auto at = out_.cores.find(id);
    if (at == out_.cores.end()) return findings_.error(value, fmt::format("'offchip_core' names no core: {}", id));
    out_.hardware.offchip = hardware::CoreId{at->second};
    for (Memory& memory : out_.hardware.cores[at->second].memories) memory.kind = hardware::MemoryKind::Dram;
  }

  void read_link(const Value& value) {
    Section s = section(value, "a link");
    const auto end = [&](const char* key) {
      const auto id = s.require_integer(key, kSiliconIds);
      const auto at = out_.cores.find(id.value_or(-1));
      if (id && at == out_.cores.end()) findings_.error(value, fmt::format("a link to core {}, which is none", *id));
      return at == out_.cores.end() ? 0 : at->second;
    };
    const std::uint32_t from = end("src"), to = end("dst");
    const auto bits = s.require_integer("bandwidth", hardware::kPortWidth);
    const auto medium = s.require_integer("physical", kSiliconIds);
    links_.push_back({from, to, medium.value_or(0), bits.value_or(1), s.number("unit_energy", kCosts).value_or(0)});
  }

  // Highest memories of one instance number are one and the same.
  void join_memories() {
    for (auto& [instance, cores] : top_instances_)
      if (cores.size() > 1) out_.hardware.shared_memories.push_back(std::move(cores));
  }

  // A medium that two cores use both ways is a bus of the two. Otherwise each pair has a link each way; cores that
  // share a medium to or from the off-chip memory share its port, which is as wide as all media that end there: the
  // description knows no other limit.
  void add_links() {
    std::set<std::pair<std::uint32_t, std::uint32_t>> done;
    std::map<std::int64_t, std::set<std::uint32_t>> users;
    for (const FileLink& link : links_) users[link.medium].insert({link.from, link.to});
    for (const FileLink& link : links_) {
      if (!done.insert(std::minmax(link.from, link.to)).second) continue;
      const bool is_back = std::any_of(links_.begin(), links_.end(), [&](const FileLink& other) {
        return other.from == link.to && other.to == link.from && other.medium == link.medium;
      });
      out_.hardware.links.push_back({.cores = {hardware::CoreId{link.from}, hardware::CoreId{link.to}},
                                     .is_bus = is_back && users[link.medium].size() == 2,
                                     .bits_per_cycle = link.bits,
                                     .energy_pj_per_bit = {.value = link.energy / static_cast<double>(link.bits)}});
    }
    if (!out_.hardware.offchip || out_.hardware[*out_.hardware.offchip].memories.empty()) return;
    const std::uint32_t home = out_.hardware.offchip->value;
    std::map<std::int64_t, std::int64_t> away, back;
    for (const FileLink& link : links_) {
      if (link.from == home) away[link.medium] = link.bits;
      if (link.to == home) back[link.medium] = link.bits;
    }
    Memory& memory = out_.hardware.cores[home].memories.back();
    for (Port& port : memory.ports) {
      std::int64_t bits = 0;
      for (const auto& [medium, width] : port.kind == hardware::PortKind::Write ? back : away) bits += width;
      if (bits <= port.max_bits_per_cycle) continue;
      // Energy is of a whole word.
      const double wider = static_cast<double>(bits) / static_cast<double>(port.max_bits_per_cycle);
      (port.kind == hardware::PortKind::Write ? memory.write_energy_pj : memory.read_energy_pj).value *= wider;
      port.max_bits_per_cycle = bits;
    }
  }

  void check(const Value& value) {
    for (const hardware::Fault& fault : hardware::examine(out_.hardware))
      if (fault.severity == Severity::Error)
        findings_.error(value, fmt::format("{}: {}", fault.path, fault.message), fault.hint);
  }

  Findings& findings_;
  SiliconChip out_;
  std::vector<FileLink> links_;
  std::map<std::int64_t, std::vector<hardware::CoreId>> top_instances_;
};

}  // namespace

SiliconChip read_silicon_chip(const Value& value, Findings& findings) { return Reader(findings).read(value); }

}  // namespace monet
