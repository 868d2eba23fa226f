// Memories and ports of MONET's own form.
#include <fmt/format.h>

#include <algorithm>

#include "monet/base/nearest.h"
#include "monet/hardware/technology.h"
#include "monet/hardware/yaml_fields.h"

namespace monet::hardware {
namespace {

using config::Dialect;
using config::Findings;
using config::Section;
using config::Value;

const std::vector<std::string> kSlotNames{"input", "weight", "output"};
const std::vector<std::string> kDirectionNames{"write_from_high", "read_to_low", "write_from_low", "read_to_high"};
const std::vector<std::string> kPortKindNames{"read", "write", "read_write"};

bool is_all(const Value& value) { return value.is_scalar() && value.text() == "all"; }

bool can_use(PortKind kind, PortUse use) {
  if (use.slot != Slot::Output && (use.direction == Direction::WriteFromLow || use.direction == Direction::ReadToHigh))
    return false;
  return is_read(use.direction) ? kind != PortKind::Write : kind != PortKind::Read;
}

void add_uses(Port& port, Slot slot) {
  for (const Direction direction : kDirections)
    if (can_use(port.kind, {slot, direction})) port.uses.push_back({slot, direction});
}

// `all`, an operand, or an operand and a direction.
void read_use(const Value& item, const Memory& memory, Port& port, Findings& findings) {
  const std::optional<std::string> text = config::read_text(item, "for", findings);
  if (!text) return;
  if (*text == "all") {
    for (const Slot slot : memory.slots) add_uses(port, slot);
    return;
  }
  const std::size_t space = text->find(' ');
  const std::string operand = text->substr(0, space);
  const auto slot = std::find(kSlotNames.begin(), kSlotNames.end(), operand);
  if (slot == kSlotNames.end()) {
    findings.error(item, fmt::format("unknown operand '{}'", operand.substr(0, 40)),
                   did_you_mean(operand, kSlotNames, "known: input, weight, output, all"));
    return;
  }
  const Slot found = static_cast<Slot>(slot - kSlotNames.begin());
  if (space == std::string::npos) {
    add_uses(port, found);
    return;
  }
  const std::string word = text->substr(
      text->find_first_not_of(' ', space) == std::string::npos ? text->size() : text->find_first_not_of(' ', space));
  const auto direction = std::find(kDirectionNames.begin(), kDirectionNames.end(), word);
  if (direction == kDirectionNames.end())
    findings.error(item, fmt::format("unknown direction '{}'", word.substr(0, 40)),
                   did_you_mean(word, kDirectionNames, fmt::format("known: {}", fmt::join(kDirectionNames, ", "))));
  else
    port.uses.push_back({found, kDirections[static_cast<std::size_t>(direction - kDirectionNames.begin())]});
}

Port read_port(const Value& value, const Memory& memory, const Context& context) {
  Section s(value, fmt::format("a port of memory '{}'", memory.name), Dialect::Strict, *context.findings);
  Port port{.name = s.require_text("name").value_or("")};
  port.kind = static_cast<PortKind>(s.choice("kind", kPortKindNames).value_or(2));
  const std::optional<std::int64_t> most = read_bandwidth(s, "bandwidth", kBandwidth, context.clock_hz);
  if (!most && value.is_map() && !s.has("bandwidth") && !s.has("bits_per_cycle") && !s.has("bytes_per_cycle"))
    context.findings->error(value, fmt::format("port '{}' has no 'bits_per_cycle'", port.name));
  port.max_bits_per_cycle = most.value_or(1);
  port.min_bits_per_cycle =
      read_bandwidth(s, "min_bandwidth", kMinBandwidth, context.clock_hz).value_or(port.max_bits_per_cycle);
  s.require("for");
  for (const Value& item : s.list("for")) read_use(item, memory, port, *context.findings);
  s.finish();
  return port;
}

// Without a list: one port to read and one to write, or one for both, for everything.
void make_ports(Section& s, Memory& memory, const Context& context) {
  const std::optional<std::int64_t> most = read_bandwidth(s, "bandwidth", kBandwidth, context.clock_hz);
  const std::int64_t least =
      read_bandwidth(s, "min_bandwidth", kMinBandwidth, context.clock_hz).value_or(most.value_or(1));
  const std::vector<std::string> forms{"separate", "shared"};
  const bool shared = s.choice("port", forms).value_or(0) == 1;
  if (!most) {
    if (s.value().is_map() && !s.has("bandwidth") && !s.has("bits_per_cycle") && !s.has("bytes_per_cycle"))
      s.findings().error(s.value(), fmt::format("memory '{}' has neither 'ports' nor 'bits_per_cycle'", memory.name));
    return;
  }
  const auto add = [&](std::string name, PortKind kind) {
    Port port{.name = std::move(name), .kind = kind, .min_bits_per_cycle = least, .max_bits_per_cycle = *most};
    for (const Slot slot : memory.slots) add_uses(port, slot);
    memory.ports.push_back(std::move(port));
  };
  if (shared) {
    add("read_write", PortKind::ReadWrite);
  } else {
    add("read", PortKind::Read);
    add("write", PortKind::Write);
  }
}

void note_width(const std::string& path, const Value& map, const Context& context) {
  context.places->note_fields(path, map,
                              {{"max_bits_per_cycle", "bandwidth"},
                               {"max_bits_per_cycle", "bits_per_cycle"},
                               {"max_bits_per_cycle", "bytes_per_cycle"},
                               {"min_bits_per_cycle", "min_bandwidth"},
                               {"min_bits_per_cycle", "min_bits_per_cycle"},
                               {"min_bits_per_cycle", "min_bytes_per_cycle"}});
}

void read_ports(Section& s, std::size_t core, std::size_t index, Memory& memory, const Context& context) {
  const std::optional<Value> ports = s.find("ports");
  if (!ports) {
    make_ports(s, memory, context);
    for (std::size_t i = 0; i < memory.ports.size(); ++i) note_width(port_path(core, index, i), s.value(), context);
    return;
  }
  for (const std::string_view key : {"port", "bandwidth", "bits_per_cycle", "bytes_per_cycle", "min_bandwidth",
                                     "min_bits_per_cycle", "min_bytes_per_cycle"})
    if (const std::optional<Value> at = s.find(key))
      context.findings->error(*at, fmt::format("memory '{}' has both 'ports' and '{}'", memory.name, key),
                              "keep one of them");
  for (const Value& item : s.list("ports")) {
    context.places->note(port_path(core, index, memory.ports.size()), item);
    note_width(port_path(core, index, memory.ports.size()), item, context);
    memory.ports.push_back(read_port(item, memory, context));
  }
}

void read_slots(Section& s, Memory& memory, Findings& findings) {
  const std::optional<Value> holds = s.require("holds");
  if (!holds) return;
  if (is_all(*holds)) {
    memory.slots.assign(kSlots.begin(), kSlots.end());
    return;
  }
  for (const Value& item : s.list("holds"))
    if (const std::optional<std::size_t> slot = config::read_choice(item, "operand", kSlotNames, findings))
      memory.slots.push_back(static_cast<Slot>(*slot));
}

void read_served(Section& s, Memory& memory, const Core& core, Findings& findings) {
  std::vector<std::string> dimensions;
  if (core.array)
    for (const ArrayDimension& d : core.array->dimensions) dimensions.push_back(d.name);
  const std::optional<Value> serves = s.find("serves");
  if (!serves || is_all(*serves)) {
    for (std::size_t d = 0; d < dimensions.size(); ++d) memory.served_dimensions.push_back(d);
    return;
  }
  for (const Value& item : s.list("serves"))
    if (const std::optional<std::size_t> d = config::read_choice(item, "array dimension", dimensions, findings))
      memory.served_dimensions.push_back(*d);
}

void read_figures(Section& s, Memory& memory, const Block& block, const Context& context) {
  const std::optional<std::string> type = s.text("dram_type");
  if (type && !dram_kind_named(*type)) {
    std::vector<std::string> names;
    for (const DramKind kind : kDramKinds) names.emplace_back(name(kind));
    context.findings->error(*s.find("dram_type"), fmt::format("unknown type of DRAM '{}'", type->substr(0, 40)),
                            did_you_mean(*type, names, fmt::format("known: {}", fmt::join(names, ", "))));
  }
  if (type && memory.kind != MemoryKind::Dram)
    context.findings->error(*s.find("dram_type"), fmt::format("memory '{}' is no DRAM", memory.name),
                            "kind: dram says so");
  Missing missing;
  const auto take = [&](std::string_view key, const config::Quantity& quantity, Figure& figure) {
    std::optional<Figure> read = read_figure(s, key, quantity, block);
    if (read) figure = std::move(*read);
    return !read;
  };
  missing.read = take("read_energy", kEnergy, memory.read_energy_pj);
  missing.write = take("write_energy", kEnergy, memory.write_energy_pj);
  missing.leakage = take("leakage", kPower, memory.leakage_mw);
  missing.area = take("area", kArea, memory.area_mm2);
  complete(memory, missing, context.node_nm, type.value_or(""));
}

Memory read_memory(const Value& value, const std::string& name, const Core& core, std::size_t core_index,
                   std::size_t index, const Block& outer, const Context& context) {
  Section s(value, fmt::format("memory '{}'", name), Dialect::Strict, *context.findings);
  const Block block = block_of(s, outer);
  Memory memory{.name = name};
  const std::vector<std::string> kinds{"register", "sram", "dram"};
  memory.kind = static_cast<MemoryKind>(s.choice("kind", kinds).value_or(1));
  const std::optional<std::int64_t> size = read_bits(s, "size");
  if (!size && value.is_map() && !s.has("size") && !s.has("size_bits") && !s.has("size_bytes") && !s.has("size_kib") &&
      !s.has("size_mib"))
    context.findings->error(value, fmt::format("memory '{}' has no 'size'", name));
  memory.size_bits = size.value_or(1);
  read_slots(s, memory, *context.findings);
  read_served(s, memory, core, *context.findings);
  read_ports(s, core_index, index, memory, context);
  memory.ports_per_core = s.boolean("ports_per_core").value_or(false);
  if (const std::optional<Section::Measured> latency = s.amount("latency", kCycles)) {
    const std::optional<std::int64_t> cycles = latency->amount.number.whole;
    if (!cycles || *cycles < 0 || *cycles > 1'000'000'000)
      context.findings->error(latency->where, "'latency' must be a whole number of cycles, not negative");
    memory.latency_cycles = cycles.value_or(0);
  }
  const std::vector<std::string> bufferings{"auto", "double"}, transposed{"free", "conflicts", "pass"};
  memory.buffering = static_cast<Buffering>(s.choice("buffering", bufferings).value_or(0));
  memory.transposed_read = static_cast<TransposedRead>(s.choice("transposed_read", transposed).value_or(0));
  memory.transposed_slowdown = s.number("transposed_slowdown", {.least = 1, .most = 1e6}).value_or(1);
  read_figures(s, memory, block, context);
  context.places->note_fields(memory_path(core_index, index), value,
                              {{"size_bits", "size"},
                               {"read_energy_pj", "read_energy"},
                               {"write_energy_pj", "write_energy"},
                               {"leakage_mw", "leakage"},
                               {"area_mm2", "area"},
                               {"latency_cycles", "latency"}});
  s.finish();
  return memory;
}

}  // namespace

std::vector<Memory> read_monet_memories(const Value& value, const Core& core, std::size_t index, const Block& block,
                                        const Context& context) {
  std::vector<Memory> memories;
  // Only for its repeated keys: memories have no names anyone could ask for.
  Section s(value, "the list of memories", Dialect::Strict, *context.findings);
  for (std::size_t i = 0; value.is_map() && i < value.size(); ++i) {
    context.places->note(memory_path(index, memories.size()), value.key(i));
    memories.push_back(
        read_memory(value[i], std::string(value.key(i).text()), core, index, memories.size(), block, context));
  }
  return memories;
}

}  // namespace monet::hardware
