// Ports as ZigZag writes them: each with what goes through it, or per operand the port of each direction.
#include "monet/hardware/stream_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "monet/base/nearest.h"
#include "monet/hardware/stream_files.h"

namespace monet::hardware {
namespace {

using config::Findings;
using config::Section;
using config::Value;

const std::vector<std::string> kStreamDirections{"fh", "tl", "fl", "th"};  // in the order of kDirections
const std::vector<std::string> kPortKinds{"read", "write", "read_write"};

// Only outputs come from below or go back up. ZigZag does not mind it said of an input, and makes nothing of it.
bool is_real(PortUse use, const Value& at, Findings& findings) {
  const bool upwards = use.direction == Direction::WriteFromLow || use.direction == Direction::ReadToHigh;
  if (!upwards || use.slot == Slot::Output) return true;
  findings.warning(at, fmt::format("the {} neither comes from below nor goes back up", name(use.slot)),
                   "this is not used");
  return false;
}

std::optional<PortUse> read_use(const Value& value, Findings& findings) {
  const std::optional<std::string> text = config::read_text(value, "allocation", findings);
  if (!text) return std::nullopt;
  const auto parts = split_pair(*text);
  if (!parts) {
    findings.error(value, fmt::format("'{}' is no allocation", text->substr(0, 40)),
                   "an operand and a direction, as in 'I1, tl'");
    return std::nullopt;
  }
  const std::optional<Slot> slot = zigzag_slot(parts->first);
  const auto direction = std::find(kStreamDirections.begin(), kStreamDirections.end(), parts->second);
  if (!slot)
    findings.error(value, fmt::format("unknown operand '{}'", parts->first.substr(0, 40)),
                   did_you_mean(parts->first, zigzag_operands(), "known: I1, I2, O"));
  if (direction == kStreamDirections.end())
    findings.error(value, fmt::format("unknown direction '{}'", parts->second.substr(0, 40)),
                   "known: fh (from high), tl (to low), fl (from low), th (to high)");
  if (!slot || direction == kStreamDirections.end()) return std::nullopt;
  return PortUse{*slot, kDirections[static_cast<std::size_t>(direction - kStreamDirections.begin())]};
}

void read_new_port(const Value& value, Memory& memory, Findings& findings) {
  Section s = stream_section(value, fmt::format("a port of memory '{}'", memory.name), findings);
  Port port{.name = s.require_text("name").value_or("")};
  if (const std::optional<Value> type = s.require("type"))
    if (const std::optional<std::size_t> kind = config::read_choice(*type, "type", kPortKinds, findings))
      port.kind = static_cast<PortKind>(*kind);
  port.min_bits_per_cycle = s.require_integer("bandwidth_min", kPortWidth).value_or(1);
  port.max_bits_per_cycle = s.require_integer("bandwidth_max", kPortWidth).value_or(port.min_bits_per_cycle);
  s.require("allocation");
  for (const Value& item : s.list("allocation"))
    if (const std::optional<PortUse> use = read_use(item, findings); use && is_real(*use, item, findings))
      port.uses.push_back(*use);
  s.finish();
  memory.ports.push_back(std::move(port));
}

// The older spelling: widths and numbers of ports in the memory, and per operand the port of each direction.
struct OldPorts {
  std::int64_t read_bits = 0, write_bits = 0, least_read = 0, least_write = 0;
  std::array<std::optional<std::int64_t>, 3> counts{};  // read, write, read_write
};

OldPorts read_old_widths(Section& s) {
  OldPorts old;
  old.read_bits = s.integer("r_bw", kPortWidth).value_or(0);
  old.write_bits = s.integer("w_bw", kPortWidth).value_or(0);
  old.least_read = s.integer("min_r_granularity", kPortWidth).value_or(old.read_bits);
  old.least_write = s.integer("min_w_granularity", kPortWidth).value_or(old.write_bits);
  const config::IntegerRange count{.least = 0, .most = 1000};
  old.counts = {s.integer("r_port", count), s.integer("w_port", count), s.integer("rw_port", count)};
  return old;
}

void read_old_use(const Value& at, const std::string& name, PortUse use, const OldPorts& old, Memory& memory,
                  Findings& findings) {
  const std::array<std::string_view, 3> prefixes{"r_port_", "w_port_", "rw_port_"};
  std::size_t kind = 3;
  for (std::size_t k = 0; k < 3; ++k)
    if (name.starts_with(prefixes[k])) kind = k;
  std::int64_t number = 0;
  if (kind < 3) {
    const char* begin = name.data() + prefixes[kind].size();
    const auto [end, error] = std::from_chars(begin, name.data() + name.size(), number);
    if (error != std::errc{} || end != name.data() + name.size() || number < 1) kind = 3;
  }
  if (kind == 3) {
    findings.error(at, fmt::format("'{}' is no port", name.substr(0, 40)), "such as r_port_1, w_port_1 or rw_port_1");
    return;
  }
  if (old.counts[kind] && number > *old.counts[kind])
    findings.error(at, fmt::format("'{}' is named, but the memory has {} of its kind", name, *old.counts[kind]));
  auto found = std::find_if(memory.ports.begin(), memory.ports.end(), [&](const Port& p) { return p.name == name; });
  if (found == memory.ports.end()) {
    const bool writes = kind == 1;
    const std::int64_t width = writes ? old.write_bits : old.read_bits;
    if (width == 0) {
      findings.error(at, fmt::format("memory '{}' says no width for port '{}'", memory.name, name),
                     "r_bw and w_bw say it");
      return;
    }
    if (kind == 2 && old.write_bits != old.read_bits)
      findings.warning(
          at, fmt::format("port '{}' reads {} bits a cycle and writes {}", name, old.read_bits, old.write_bits),
          "the width for reading is used for both");
    memory.ports.push_back({.name = name,
                            .kind = static_cast<PortKind>(kind),
                            .min_bits_per_cycle = writes ? old.least_write : old.least_read,
                            .max_bits_per_cycle = width});
    found = memory.ports.end() - 1;
  }
  found->uses.push_back(use);
}

void read_old_ports(const std::vector<Value>& ports, const OldPorts& old, Memory& memory, Findings& findings) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (i >= memory.slots.size()) {
      findings.error(ports[i],
                     fmt::format("memory '{}' has {} operands but ports for more", memory.name, memory.slots.size()));
      return;
    }
    Section s = stream_section(ports[i], fmt::format("the ports of memory '{}'", memory.name), findings);
    for (std::size_t d = 0; d < kDirections.size(); ++d)
      if (const std::optional<Value> at = s.find(kStreamDirections[d]))
        if (const std::optional<std::string> name = config::read_text(*at, kStreamDirections[d], findings))
          if (const PortUse use{memory.slots[i], kDirections[d]}; is_real(use, *at, findings))
            read_old_use(*at, *name, use, old, memory, findings);
    s.finish();
  }
}

bool is_old_port(const Value& port) {
  return port.is_map() && std::any_of(kStreamDirections.begin(), kStreamDirections.end(),
                                      [&](const std::string& name) { return port.find(name).has_value(); });
}

}  // namespace

Section stream_section(const Value& value, std::string what, Findings& findings) {
  return Section(value, std::move(what), config::Dialect::PyYaml, findings);
}

const std::vector<std::string>& zigzag_operands() {
  static const std::vector<std::string> names{"I1", "I2", "O"};
  return names;
}

std::optional<Slot> zigzag_slot(std::string_view name) {
  for (std::size_t i = 0; i < zigzag_operands().size(); ++i)
    if (zigzag_operands()[i] == name) return static_cast<Slot>(i);
  return std::nullopt;
}

void read_stream_ports(Section& s, std::size_t core, std::size_t index, Memory& memory, Places& places) {
  Findings& findings = s.findings();
  const OldPorts old = read_old_widths(s);
  s.require("ports");
  const std::vector<Value> ports = s.list("ports");
  if (!ports.empty() && is_old_port(ports[0])) {
    read_old_ports(ports, old, memory, findings);
    for (std::size_t i = 0; i < memory.ports.size(); ++i) {
      const bool writes = memory.ports[i].kind == PortKind::Write;
      places.note_fields(port_path(core, index, i), s.value(),
                         {{"max_bits_per_cycle", writes ? "w_bw" : "r_bw"},
                          {"min_bits_per_cycle", writes ? "min_w_granularity" : "min_r_granularity"}});
    }
    return;
  }
  for (const Value& port : ports) {
    const std::string path = port_path(core, index, memory.ports.size());
    places.note(path, port);
    places.note_fields(path, port, {{"min_bits_per_cycle", "bandwidth_min"}, {"max_bits_per_cycle", "bandwidth_max"}});
    read_new_port(port, memory, findings);
  }
}

}  // namespace monet::hardware
