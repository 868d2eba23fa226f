// One core as ZigZag and Stream write it.
#include <fmt/format.h>

#include <algorithm>

#include "monet/base/config_section.h"
#include "monet/base/nearest.h"
#include "monet/hardware/stream_files.h"
#include "monet/hardware/stream_ports.h"

namespace monet::hardware {
namespace {

using config::Dialect;
using config::Findings;
using config::Section;
using config::Value;

constexpr double kAssumedNodeNm = 28;  // ZigZag's constants of in-memory arrays are of this node
constexpr config::NumberRange kCost{.least = 0, .most = kMostFigure};

// ---- Memories ----

// Files rarely say what a memory is made of; sizes and names do.
MemoryKind kind_of(const std::string& type, const std::string& name, std::int64_t size_bits) {
  const auto says = [](std::string_view text, std::string_view word) {
    return text.find(word) != std::string_view::npos;
  };
  for (const std::string_view word : {"dram", "hbm", "ddr", "offchip"})
    if (says(type, word) || says(name, word)) return MemoryKind::Dram;
  if (size_bits > std::int64_t{8} << 30) return MemoryKind::Dram;  // more than a gigabyte is on no chip
  if (says(type, "rf") || says(type, "reg") || name.starts_with("rf") || name.starts_with("reg"))
    return MemoryKind::Register;
  return says(name, "ram") || size_bits > 2048 ? MemoryKind::Sram : MemoryKind::Register;
}

// Sizes and addresses of energy: pJ by convention, given without a source.
Figure given(double value) { return {.value = value}; }

void read_costs(Section& s, Memory& memory, Findings& findings) {
  const bool extracted = s.boolean("auto_cost_extraction").value_or(false);
  const std::optional<double> read = s.number("r_cost", kCost), write = s.number("w_cost", kCost),
                              area = s.number("area", kCost);
  Missing missing{
      .read = extracted || !read, .write = extracted || !write, .leakage = false, .area = extracted || !area};
  if (!extracted && s.value().is_map())
    for (const std::string_view key : {"r_cost", "w_cost"})
      if (!s.has(key) || s.value().find(key)->is_null())
        findings.warning(s.value(), fmt::format("memory '{}' has no '{}'", memory.name, key), "it is modelled");
  memory.read_energy_pj = given(read.value_or(0));
  memory.write_energy_pj = given(write.value_or(0));
  memory.area_mm2 = {.value = area.value_or(0), .source = "as the file has it; it states no unit of area"};
  // ZigZag knows no leakage.
  memory.leakage_mw = {.value = 0, .provenance = Provenance::Assumed, .source = "not stated: no leakage"};
  complete(memory, missing, kAssumedNodeNm);
}

Memory read_memory(const Value& value, const std::string& name, std::size_t core, std::size_t index,
                   const std::vector<std::string>& dimensions, bool has_array, Places& places, Findings& findings) {
  Section s = stream_section(value, fmt::format("memory '{}'", name), findings);
  Memory memory{.name = name};
  memory.size_bits = s.require_integer("size", {.least = 1, .most = kMostBits}).value_or(1);
  memory.kind = kind_of(s.text("mem_type").value_or(""), name, memory.size_bits);
  memory.latency_cycles = s.integer("latency", {.least = 0, .most = 1'000'000'000}).value_or(1);
  s.require("operands");
  for (const Value& item : s.list("operands"))
    if (const std::optional<std::size_t> slot = config::read_choice(item, "operand", zigzag_operands(), findings))
      memory.slots.push_back(static_cast<Slot>(*slot));
  // An off-chip core's array has no lanes: nothing is left to serve.
  for (const Value& item : s.list("served_dimensions"))
    if (const std::optional<std::size_t> d = config::read_choice(item, "served dimension", dimensions, findings))
      if (has_array) memory.served_dimensions.push_back(*d);
  if (!s.has("served_dimensions") && value.is_map())
    findings.error(value, fmt::format("memory '{}' has no 'served_dimensions'", name));
  if (s.boolean("force_double_buffering").value_or(false)) memory.buffering = Buffering::Double;
  read_stream_ports(s, core, index, memory, places);
  read_costs(s, memory, findings);
  places.note_fields(memory_path(core, index), value,
                     {{"size_bits", "size"},
                      {"read_energy_pj", "r_cost"},
                      {"write_energy_pj", "w_cost"},
                      {"area_mm2", "area"},
                      {"latency_cycles", "latency"}});
  s.finish();
  return memory;
}

// A repeated name would lose a memory silently, so here it is an error.
void refuse_repeated(const Value& memories, Findings& findings) {
  std::vector<std::pair<std::string_view, std::size_t>> names;
  for (std::size_t i = 0; memories.is_map() && i < memories.size(); ++i) names.emplace_back(memories.key(i).text(), i);
  std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < names.size(); ++i)
    if (names[i].first == names[i - 1].first)
      findings.error(memories.key(names[i].second), fmt::format("a second memory is called '{}'", names[i].first),
                     "readers of YAML keep only the last one");
}

// ---- The array ----

struct ReadArray {
  std::optional<Array> array{};
  std::vector<std::string> dimensions{};
};

std::optional<InMemoryCompute> read_imc(Section& s, Findings& findings) {
  const bool is_imc = s.boolean("is_imc").value_or(false);
  const std::vector<std::string> kinds{"analog", "digital"};
  const std::optional<std::size_t> kind = s.choice("imc_type", kinds);
  const config::IntegerRange bits{.least = 0, .most = 64};
  const std::optional<std::int64_t> serial = s.integer("bit_serial_precision", bits),
                                    adc = s.integer("adc_resolution", bits);
  std::vector<std::int64_t> precision;
  const std::vector<Value> items = s.list("input_precision");
  for (const Value& item : items)
    precision.push_back(config::read_integer(item, "input_precision", bits, Dialect::PyYaml, findings).value_or(0));
  if (!items.empty() && items.size() != 2)
    findings.error(items[0], "'input_precision' must have two values: activation and weight bits");
  if (!is_imc) {
    if (kind || serial || adc.value_or(0) != 0)
      findings.warning(s.value(), "keys of an in-memory array are given, but 'is_imc' is not", "they are not used");
    return std::nullopt;
  }
  if (items.size() != 2) {
    if (items.empty())
      findings.error(s.value(), "an in-memory array needs 'input_precision'", "[activation bits, weight bits]");
    return std::nullopt;
  }
  if (!kind) findings.error(s.value(), "an in-memory array needs 'imc_type'", "analog or digital");
  if (!serial) findings.error(s.value(), "an in-memory array needs 'bit_serial_precision'");
  return InMemoryCompute{.analog = kind.value_or(0) == 0,
                         .activation_bits = precision[0],
                         .weight_bits = precision[1],
                         .serial_bits = serial.value_or(1),
                         .adc_bits = adc.value_or(0)};
}

ReadArray read_array(const Value& value, Findings& findings) {
  Section s = stream_section(value, "the operational array", findings);
  ReadArray result;
  s.require("dimensions");
  s.require("sizes");
  for (const Value& item : s.list("dimensions"))
    result.dimensions.push_back(config::read_text(item, "dimensions", findings).value_or(""));
  std::vector<std::int64_t> sizes;
  for (const Value& item : s.list("sizes"))
    sizes.push_back(
        config::read_integer(item, "sizes", {.least = 0, .most = kMostLanes}, Dialect::PyYaml, findings).value_or(1));
  if (sizes.size() != result.dimensions.size() && value.is_map())
    findings.error(value, fmt::format("{} array dimensions but {} sizes", result.dimensions.size(), sizes.size()));
  Array array;
  for (std::size_t i = 0; i < std::min(sizes.size(), result.dimensions.size()); ++i)
    array.dimensions.push_back({result.dimensions[i], sizes[i]});
  array.imc = read_imc(s, findings);
  // multiplier_… in files of 2024
  const std::optional<double> energy = s.number(s.has("unit_energy") ? "unit_energy" : "multiplier_energy", kCost);
  const std::optional<double> area = s.number(s.has("unit_area") ? "unit_area" : "multiplier_area", kCost);
  array.mac_energy_pj = given(energy.value_or(0));
  if (!energy)
    array.mac_energy_pj = {.value = 0,
                           .provenance = Provenance::Assumed,
                           .source = array.imc ? "computed by the model of in-memory arrays" : "not stated"};
  array.mac_area_mm2 = {.value = area.value_or(0), .source = "as the file has it; it states no unit of area"};
  s.knows("unit_energy");
  s.knows("unit_area");
  s.finish();
  // Sizes of nothing but zeros are how an off-chip core says that it computes nothing.
  const bool computes = std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size > 0; });
  if (computes) result.array = std::move(array);
  return result;
}

void note_stream_array(const std::string& path, const Value& map, Places& places) {
  places.note_fields(path, map,
                     {{"mac_energy_pj", "multiplier_energy"},
                      {"mac_energy_pj", "unit_energy"},
                      {"mac_area_mm2", "multiplier_area"},
                      {"mac_area_mm2", "unit_area"}});
  const std::optional<Value> sizes = map.is_map() ? map.find("sizes") : std::nullopt;
  for (std::size_t i = 0; sizes && sizes->is_sequence() && i < sizes->size(); ++i)
    places.note(fmt::format("{}.dimensions[{}]", path, i), (*sizes)[i]);
}

// ---- The rest ----

void read_dataflows(const Value& value, Core& core, const std::vector<std::string>& dimensions, Findings& findings) {
  // Also a list with one map in it.
  const Value map = value.is_sequence() && value.size() == 1 ? value[0] : value;
  if (!map.is_map()) {
    findings.error(
        map, fmt::format("'dataflows' must be a map from array dimensions to loops, not {}", describe(map.kind())));
    return;
  }
  core.unrollings.assign(core.array ? core.array->dimensions.size() : 0, {});
  for (std::size_t i = 0; i < map.size(); ++i) {
    const std::optional<std::size_t> d = config::read_choice(map.key(i), "array dimension", dimensions, findings);
    if (d && *d < core.unrollings.size()) core.unrollings[*d] = read_loops(map[i], "dataflows", findings);
  }
  core.dataflow = Dataflow::Fixed;  // Stream maps every layer of the core like this
}

// AIE tiles of Stream 2026 have one memory and say nothing of their array.
void read_tile_memory(const Value& value, std::size_t index, Core& core, Places& places, Findings& findings) {
  Section s = stream_section(value, "the memory of the tile", findings);
  Memory memory{.name = "memory", .slots = {Slot::Input, Slot::Weight, Slot::Output}};
  memory.size_bits = s.require_integer("capacity", {.least = 0, .most = kMostBits}).value_or(1);
  const std::int64_t least = s.integer("bandwidth_min", kPortWidth).value_or(1);
  const std::int64_t most = s.integer("bandwidth_max", kPortWidth).value_or(std::max<std::int64_t>(least, 32));
  s.finish();
  if (memory.size_bits == 0) return;  // a tile that only passes data on
  memory.kind = kind_of("", core.name, memory.size_bits);
  Port port{.name = "rw_port_1", .min_bits_per_cycle = least, .max_bits_per_cycle = most};
  for (const Slot slot : kSlots)
    for (const Direction direction : kDirections)
      if (slot == Slot::Output || direction == Direction::WriteFromHigh || direction == Direction::ReadToLow)
        port.uses.push_back({slot, direction});
  memory.ports.push_back(std::move(port));
  complete(memory, {.read = true, .write = true, .leakage = true, .area = true}, kAssumedNodeNm);
  places.note(memory_path(index, 0), value);
  places.note_fields(memory_path(index, 0), value, {{"size_bits", "capacity"}});
  places.note_fields(port_path(index, 0, 0), value,
                     {{"min_bits_per_cycle", "bandwidth_min"}, {"max_bits_per_cycle", "bandwidth_max"}});
  core.memories.push_back(std::move(memory));
}

std::string read_kind(Section& s, Findings& findings) {
  const std::optional<Value> at = s.find("type");
  if (!at) return "compute";
  const std::string type = config::read_text(*at, "type", findings).value_or("compute");
  const std::string kind = type.substr(type.find('.') == std::string::npos ? 0 : type.find('.') + 1);
  const std::vector<std::string> kinds{"compute", "memory", "shim", "offchip"};
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    findings.error(*at, fmt::format("unknown core type '{}'", type.substr(0, 40)),
                   did_you_mean(kind, kinds, "known: compute, memory, shim, offchip, after zigzag. or aie2."));
  return kind;
}

}  // namespace

std::vector<Unrolling> read_loops(const Value& list, std::string_view what, Findings& findings) {
  std::vector<Unrolling> loops;
  const auto one = [&](const Value& item) {
    const std::optional<std::string> text = config::read_text(item, what, findings);
    if (!text) return;
    const auto parts = split_pair(*text);
    const config::NumberReading factor = config::read_number(parts ? parts->second : "", Dialect::Strict);
    if (!parts || !factor.number || !factor.number->whole || *factor.number->whole < 1 ||
        *factor.number->whole > kMostLanes)
      findings.error(item, fmt::format("'{}' is no loop", text->substr(0, 40)),
                     "a dimension and a factor, as in 'K, 32'");
    else
      loops.push_back({parts->first, *factor.number->whole});
  };
  if (list.is_sequence())
    for (std::size_t i = 0; i < list.size(); ++i) one(list[i]);
  else if (!list.is_null())
    one(list);
  return loops;
}

StreamCore read_stream_core(const Value& value, std::size_t index, Places& places, Findings& findings) {
  Section s = stream_section(value, "the core", findings);
  places.note(core_path(index), value);
  StreamCore result;
  Core& core = result.core;
  core.name = s.require_text("name").value_or("");
  result.kind = read_kind(s, findings);
  if (const std::optional<Value> tile = s.find("memory")) {
    read_tile_memory(*tile, index, core, places, findings);
    if (result.kind == "compute")
      findings.warning(value, fmt::format("tile '{}' says nothing of its array", core.name),
                       "only its memory is understood");
    for (const std::string_view key :
         {"max_object_fifo_depth", "utilization", "dma", "operand_precision", "operator_types"})
      s.find(key);
    s.finish();
    return result;
  }
  std::optional<Value> array = s.find("operational_array");
  if (!array) array = s.find("multipliers");
  ReadArray read;
  if (array) {
    places.note(core_path(index) + ".array", *array);
    read = read_array(*array, findings);
    note_stream_array(core_path(index) + ".array", *array, places);
  } else if (value.is_map()) {
    findings.error(value, fmt::format("core '{}' has no 'operational_array'", core.name));
  }
  core.array = std::move(read.array);
  if (const std::optional<Value> memories = s.require("memories")) {
    if (!memories->is_map())
      findings.error(*memories, fmt::format("'memories' must be a map, not {}", describe(memories->kind())));
    refuse_repeated(*memories, findings);
    for (std::size_t i = 0; memories->is_map() && i < memories->size(); ++i) {
      places.note(memory_path(index, core.memories.size()), memories->key(i));
      core.memories.push_back(read_memory((*memories)[i], std::string(memories->key(i).text()), index,
                                          core.memories.size(), read.dimensions, core.array.has_value(), places,
                                          findings));
    }
  }
  if (const std::optional<Value> dataflows = s.find("dataflows")) {
    places.note(core_path(index) + ".unrollings", *dataflows);
    read_dataflows(*dataflows, core, read.dimensions, findings);
  }
  for (const Value& item : s.list("operator_types"))
    if (std::optional<std::string> type = config::read_text(item, "operator_types", findings))
      core.operator_types.push_back(std::move(*type));
  if (s.has("utilization"))
    findings.warning(*s.find("utilization"), "'utilization' is not used",
                     "the mapping says how much of the array is busy");
  for (const std::string_view key : {"max_object_fifo_depth", "operand_precision", "dma"}) s.find(key);
  s.finish();
  if (core.array && core.array->imc) {
    const bool cells = std::any_of(core.memories.begin(), core.memories.end(), [](const Memory& m) {
      return m.name == "cells" && m.slots == std::vector{Slot::Weight} && m.served_dimensions.empty();
    });
    if (!cells)
      findings.error(value, "an in-memory array needs a memory 'cells' for I2 alone that serves no dimension");
  }
  return result;
}

}  // namespace monet::hardware
