// Cores, arrays and vector units of MONET's own form.
#include <fmt/format.h>

#include <algorithm>

#include "monet/base/nearest.h"
#include "monet/hardware/technology.h"
#include "monet/hardware/yaml_fields.h"

namespace monet::hardware {
namespace {

using config::Dialect;
using config::Section;
using config::Value;

constexpr config::IntegerRange kLanes{.least = 1, .most = kMostLanes};

std::optional<Element> read_element(const Value& at, std::string_view what, config::Findings& findings) {
  const std::optional<std::string> text = config::read_text(at, what, findings);
  if (!text) return std::nullopt;
  const std::optional<Element> element = element_named(*text);
  if (!element)
    findings.error(at, fmt::format("unknown number format '{}'", text->substr(0, 40)),
                   "such as f32, f16, bf16, f8e4m3, i8, i32");
  return element;
}

// ---- Array ----

MacCost read_mac(const Value& value, const Block& outer, const Context& context) {
  Section s(value, "a format of the array", Dialect::Strict, *context.findings);
  const Block block = block_of(s, outer);
  MacCost cost;
  if (const std::optional<Value> at = s.require("multiplicand"))
    cost.multiplicand = read_element(*at, "multiplicand", *context.findings).value_or(Element::I8);
  if (const std::optional<Value> at = s.require("accumulator"))
    cost.accumulator = read_element(*at, "accumulator", *context.findings).value_or(Element::I32);
  cost.cycles = s.integer("cycles", {.least = 1, .most = 1'000'000}).value_or(1);
  cost.energy_pj = read_figure(s, "energy", kEnergy, block)
                       .value_or(mac_energy_pj(cost.multiplicand, cost.accumulator, context.node_nm));
  s.finish();
  return cost;
}

InMemoryCompute read_imc(const Value& value, const Context& context) {
  Section s(value, "'in_memory_compute'", Dialect::Strict, *context.findings);
  const config::IntegerRange bits{.least = 0, .most = 64};
  InMemoryCompute imc;
  const std::vector<std::string> kinds{"analog", "digital"};
  s.require("kind");
  imc.analog = s.choice("kind", kinds).value_or(1) == 0;
  imc.activation_bits = s.integer("activation_bits", bits).value_or(imc.activation_bits);
  imc.weight_bits = s.integer("weight_bits", bits).value_or(imc.weight_bits);
  imc.serial_bits = s.integer("serial_bits", bits).value_or(imc.serial_bits);
  imc.adc_bits = s.integer("adc_bits", bits).value_or(0);
  s.finish();
  return imc;
}

Array read_array(const Value& value, const Block& outer, const Context& context) {
  Section s(value, "the array", Dialect::Strict, *context.findings);
  const Block block = block_of(s, outer);
  Array array;
  if (const std::optional<Value> dimensions = s.require("dimensions")) {
    Section repeated(*dimensions, "'dimensions'", Dialect::Strict, *context.findings);
    for (std::size_t i = 0; dimensions->is_map() && i < dimensions->size(); ++i) {
      const std::string name(dimensions->key(i).text());
      const std::optional<std::int64_t> size =
          config::read_integer((*dimensions)[i], name, kLanes, Dialect::Strict, *context.findings);
      array.dimensions.push_back({name, size.value_or(1)});
    }
  }
  if (const std::optional<Value> formats = s.find("formats")) {
    if (!formats->is_sequence()) context.findings->error(*formats, "'formats' must be a list");
    for (std::size_t i = 0; formats->is_sequence() && i < formats->size(); ++i)
      array.formats.push_back(read_mac((*formats)[i], block, context));
  }
  if (const std::optional<Value> imc = s.find("in_memory_compute")) array.imc = read_imc(*imc, context);
  array.skips_zeros = s.boolean("skips_zeros").value_or(false);
  const Element multiplicand = array.formats.empty() ? Element::I8 : array.formats[0].multiplicand;
  const Element accumulator = array.formats.empty() ? Element::I32 : array.formats[0].accumulator;
  const Figure by_model{
      .value = 0, .provenance = Provenance::Modelled, .source = "computed by the model of in-memory arrays"};
  array.mac_energy_pj = read_figure(s, "mac_energy", kEnergy, block)
                            .value_or(array.imc ? by_model : mac_energy_pj(multiplicand, accumulator, context.node_nm));
  array.mac_area_mm2 = read_figure(s, "mac_area", kArea, block)
                           .value_or(array.imc ? by_model : mac_area_mm2(multiplicand, accumulator, context.node_nm));
  s.finish();
  return array;
}

void note_array(const std::string& path, const Value& map, Places& places) {
  if (!map.is_map()) return;
  places.note_fields(path, map, {{"mac_energy_pj", "mac_energy"}, {"mac_area_mm2", "mac_area"}});
  if (const std::optional<Value> dimensions = map.find("dimensions"); dimensions && dimensions->is_map())
    for (std::size_t i = 0; i < dimensions->size(); ++i)
      places.note(fmt::format("{}.dimensions[{}]", path, i), (*dimensions)[i]);
  if (const std::optional<Value> formats = map.find("formats"); formats && formats->is_sequence())
    for (std::size_t i = 0; i < formats->size(); ++i)
      places.note_fields(fmt::format("{}.formats[{}]", path, i), (*formats)[i],
                         {{"energy_pj", "energy"}, {"cycles", "cycles"}});
}

// ---- Vector unit ----

const std::vector<std::string>& function_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (int i = 0; i <= static_cast<int>(work::ElementFunction::Random); ++i)
      list.emplace_back(work::name(static_cast<work::ElementFunction>(i)));
    return list;
  }();
  return names;
}

FunctionCost read_cost(const Value& value, FunctionCost cost, const Block& outer, const Context& context) {
  Section s(value, "a function", Dialect::Strict, *context.findings);
  const Block block = block_of(s, outer);
  cost.cycles = s.number("cycles", {.least = 1e-6, .most = 1e9}).value_or(function_cycles(cost.function));
  cost.energy_pj =
      read_figure(s, "energy", kEnergy, block)
          .value_or(function_energy_pj(cost.function, cost.element.value_or(Element::F32), context.node_nm));
  s.finish();
  return cost;
}

VectorUnit read_vector(const Value& value, const Block& outer, const Context& context) {
  Section s(value, "the vector unit", Dialect::Strict, *context.findings);
  const Block block = block_of(s, outer);
  VectorUnit unit;
  unit.lanes = s.require_integer("lanes", kLanes).value_or(1);
  unit.lane_area_mm2 =
      read_figure(s, "lane_area", kArea, block).value_or(vector_lane_area_mm2(Element::F32, context.node_nm));
  std::optional<Value> any;
  if (const std::optional<Value> functions = s.require("functions")) {
    Section repeated(*functions, "'functions'", Dialect::Strict, *context.findings);
    for (std::size_t i = 0; functions->is_map() && i < functions->size(); ++i) {
      const Value key = functions->key(i);
      const std::string text(key.text());
      if (text == "any") {
        any = (*functions)[i];
        continue;
      }
      const std::size_t space = text.find(' ');
      const std::string word = text.substr(0, space);
      const auto found = std::find(function_names().begin(), function_names().end(), word);
      FunctionCost cost;
      if (found == function_names().end())
        context.findings->error(
            key, fmt::format("unknown function '{}'", word.substr(0, 40)),
            did_you_mean(word, function_names(), fmt::format("known: any, {}", fmt::join(function_names(), ", "))));
      else
        cost.function = static_cast<work::ElementFunction>(found - function_names().begin());
      if (space != std::string::npos) {
        cost.element = element_named(text.substr(space + 1));
        if (!cost.element)
          context.findings->error(key, fmt::format("unknown number format '{}'", text.substr(space + 1, 40)),
                                  "such as f32, f16, bf16, i8");
      }
      unit.functions.push_back(read_cost((*functions)[i], cost, block, context));
    }
  }
  for (std::size_t f = 0; any && f < function_names().size(); ++f) {
    const auto function = static_cast<work::ElementFunction>(f);
    const bool named = std::any_of(unit.functions.begin(), unit.functions.end(),
                                   [&](const FunctionCost& c) { return c.function == function && !c.element; });
    if (!named) unit.functions.push_back(read_cost(*any, {.function = function}, block, context));
  }
  s.finish();
  return unit;
}

// ---- Core ----

void read_unrolling(const Value& value, Core& core, config::Findings& findings) {
  std::vector<std::string> dimensions;
  if (core.array)
    for (const ArrayDimension& d : core.array->dimensions) dimensions.push_back(d.name);
  Section repeated(value, "'unrolling'", Dialect::Strict, findings);
  core.unrollings.assign(dimensions.size(), {});
  for (std::size_t i = 0; value.is_map() && i < value.size(); ++i) {
    const std::optional<std::size_t> d = config::read_choice(value.key(i), "array dimension", dimensions, findings);
    const Value loops = value[i];
    Section inner(loops, "the loops of an array dimension", Dialect::Strict, findings);
    for (std::size_t k = 0; d && loops.is_map() && k < loops.size(); ++k) {
      const std::string name(loops.key(k).text());
      if (const std::optional<std::int64_t> factor =
              config::read_integer(loops[k], name, kLanes, Dialect::Strict, findings))
        core.unrollings[*d].push_back({name, *factor});
    }
  }
}

}  // namespace

Core read_monet_core(const Value& value, const std::string& name, std::size_t index, const Block& outer,
                     const Context& context, std::optional<std::int64_t>& count) {
  Section s(value, fmt::format("core '{}'", name), Dialect::Strict, *context.findings);
  const Block block = block_of(s, outer);
  Core core{.name = name};
  if (const std::optional<Value> array = s.find("array")) {
    const std::string path = core_path(index) + ".array";
    context.places->note(path, *array);
    core.array = read_array(*array, block, context);
    note_array(path, *array, *context.places);
  }
  if (const std::optional<Value> vector = s.find("vector")) {
    context.places->note(core_path(index) + ".vector", *vector);
    core.vector = read_vector(*vector, block, context);
  }
  if (const std::optional<Value> memories = s.find("memories"))
    core.memories = read_monet_memories(*memories, core, index, block, context);
  const std::vector<std::string> dataflows{"reconfigurable", "fixed"};
  core.dataflow = static_cast<Dataflow>(s.choice("dataflow", dataflows).value_or(0));
  if (const std::optional<Value> unrolling = s.find("unrolling")) {
    context.places->note(core_path(index) + ".unrollings", *unrolling);
    read_unrolling(*unrolling, core, *context.findings);
  }
  if (core.dataflow == Dataflow::Fixed && core.unrollings.empty() && value.is_map())
    context.findings->error(value,
                            fmt::format("the dataflow of core '{}' is fixed, but no 'unrolling' says to what", name));
  std::vector<std::string> classes;
  for (int i = 0; i <= static_cast<int>(WorkClass::Movement); ++i)
    classes.emplace_back(hardware::name(static_cast<WorkClass>(i)));
  for (const Value& item : s.list("takes"))
    if (const std::optional<std::size_t> c = config::read_choice(item, "class of work", classes, *context.findings))
      core.takes.push_back(static_cast<WorkClass>(*c));
  for (const Value& item : s.list("operator_types"))
    if (std::optional<std::string> type = config::read_text(item, "operator_types", *context.findings))
      core.operator_types.push_back(std::move(*type));
  count = s.integer("count", {.least = 0, .most = static_cast<std::int64_t>(kMostCores)});
  s.finish();
  return core;
}

}  // namespace monet::hardware
