// A chip as the result of `monet hardware --json` (docs/schema/hardware.json).
#include <fmt/format.h>

#include "monet/hardware/budget.h"
#include "monet/hardware/plausible.h"
#include "monet/verbs/hardware.h"

namespace monet {
namespace {

using hardware::Core;
using hardware::CoreId;
using hardware::Figure;
using hardware::Hardware;
using hardware::Memory;
using hardware::Slot;

Json json(const Figure& f) {
  Json out = Json::object().set("value", f.value).set("provenance", name(f.provenance));
  return out.set("source", f.source);
}

Json json(const Memory& m, const Core& core) {
  Json ports = Json::array(), holds = Json::array(), serves = Json::array();
  for (const hardware::Port& port : m.ports) {
    Json uses = Json::array();
    for (const hardware::PortUse& use : port.uses) uses.push(fmt::format("{} {}", name(use.slot), name(use.direction)));
    ports.push(Json::object()
                   .set("name", port.name)
                   .set("kind", name(port.kind))
                   .set("min_bits_per_cycle", port.min_bits_per_cycle)
                   .set("bits_per_cycle", port.max_bits_per_cycle)
                   .set("for", std::move(uses)));
  }
  for (const Slot slot : m.slots) holds.push(name(slot));
  for (const std::size_t d : m.served_dimensions) serves.push(core.array->dimensions[d].name);
  Json out = Json::object();
  out.set("name", m.name).set("kind", name(m.kind)).set("size_bits", m.size_bits).set("instances", instances(m, core));
  out.set("holds", std::move(holds)).set("serves", std::move(serves)).set("ports", std::move(ports));
  out.set("read_energy_pj", json(m.read_energy_pj)).set("write_energy_pj", json(m.write_energy_pj));
  out.set("read_pj_per_bit", read_pj_per_bit(m)).set("write_pj_per_bit", write_pj_per_bit(m));
  out.set("leakage_mw", json(m.leakage_mw)).set("area_mm2", json(m.area_mm2)).set("latency_cycles", m.latency_cycles);
  out.set("buffering", name(m.buffering))
      .set("ports_per_core", m.ports_per_core)
      .set("transposed_read", name(m.transposed_read))
      .set("transposed_slowdown", m.transposed_slowdown);
  return out;
}

Json json(const hardware::Array& array) {
  Json dimensions = Json::array(), formats = Json::array();
  for (const hardware::ArrayDimension& d : array.dimensions)
    dimensions.push(Json::object().set("name", d.name).set("size", d.size));
  for (const hardware::MacCost& cost : array.formats)
    formats.push(Json::object()
                     .set("multiplicand", monet::name(cost.multiplicand))
                     .set("accumulator", monet::name(cost.accumulator))
                     .set("cycles", cost.cycles)
                     .set("energy_pj", json(cost.energy_pj)));
  Json out = Json::object();
  out.set("dimensions", std::move(dimensions))
      .set("mac_energy_pj", json(array.mac_energy_pj))
      .set("mac_area_mm2", json(array.mac_area_mm2));
  out.set("formats", std::move(formats)).set("skips_zeros", array.skips_zeros);
  if (array.imc)
    out.set("in_memory_compute", Json::object()
                                     .set("kind", array.imc->analog ? "analog" : "digital")
                                     .set("activation_bits", array.imc->activation_bits)
                                     .set("weight_bits", array.imc->weight_bits)
                                     .set("serial_bits", array.imc->serial_bits)
                                     .set("adc_bits", array.imc->adc_bits));
  return out;
}

Json json(const Core& core) {
  Json out = Json::object().set("name", core.name);
  if (core.array) out.set("array", json(*core.array));
  if (core.vector) {
    Json functions = Json::array();
    for (const hardware::FunctionCost& cost : core.vector->functions)
      functions.push(Json::object()
                         .set("function", work::name(cost.function))
                         .set("element", cost.element ? Json(monet::name(*cost.element)) : Json())
                         .set("cycles", cost.cycles)
                         .set("energy_pj", json(cost.energy_pj)));
    out.set("vector", Json::object()
                          .set("lanes", core.vector->lanes)
                          .set("lane_area_mm2", json(core.vector->lane_area_mm2))
                          .set("functions", std::move(functions)));
  }
  Json memories = Json::array(), paths = Json::object(), unrolling = Json::object(), takes = Json::array();
  for (const Memory& memory : core.memories) memories.push(json(memory, core));
  for (const Slot slot : hardware::kSlots) paths.set(std::string(name(slot)), Json(levels(core, slot)));
  for (std::size_t d = 0; d < core.unrollings.size(); ++d) {
    Json loops = Json::array();
    for (const hardware::Unrolling& loop : core.unrollings[d])
      loops.push(Json::object().set("dimension", loop.dimension).set("factor", loop.factor));
    unrolling.set(core.array->dimensions[d].name, std::move(loops));
  }
  for (const hardware::WorkClass c : core.takes) takes.push(name(c));
  out.set("memories", std::move(memories))
      .set("levels", std::move(paths))
      .set("unrolling", std::move(unrolling))
      .set("dataflow", name(core.dataflow));
  return out.set("takes", std::move(takes)).set("operator_types", Json(core.operator_types));
}

Json core_names(const Hardware& h, const std::vector<CoreId>& cores) {
  Json names = Json::array();
  for (const CoreId id : cores) names.push(h[id].name);
  return names;
}

}  // namespace

Json json(const hardware::Loaded& loaded) {
  const Hardware& h = loaded.hardware;
  Json cores = Json::array(), links = Json::array(), shared = Json::array(), efficiency = Json::array(),
       warnings = Json::array();
  for (const Core& core : h.cores) cores.push(json(core));
  for (const hardware::Link& link : h.links)
    links.push(Json::object()
                   .set("kind", link.is_bus ? "bus" : "link")
                   .set("cores", core_names(h, link.cores))
                   .set("bits_per_cycle", link.bits_per_cycle)
                   .set("energy_pj_per_bit", json(link.energy_pj_per_bit)));
  for (const std::vector<CoreId>& group : h.shared_memories) shared.push(core_names(h, group));
  for (const hardware::BurstEfficiency& e : h.offchip_efficiency)
    efficiency.push(Json::object()
                        .set("burst_bytes", e.burst_bytes)
                        .set("stride_bytes", e.stride_bytes)
                        .set("efficiency", json(e.efficiency)));
  for (const Diagnostic& d : loaded.warnings) warnings.push(to_string(d));
  Json out = Json::object();
  out.set("name", h.name).set("form", loaded.form).set("description", h.description).set("source", h.source);
  out.set("node_nm", json(h.node_nm)).set("clock_hz", json(h.clock_hz)).set("supply_v", json(h.supply_v));
  out.set("cores", std::move(cores))
      .set("offchip", h.offchip ? Json(h[*h.offchip].name) : Json())
      .set("links", std::move(links));
  const hardware::ChipBudget budget = hardware::budget_of(h);
  const hardware::Budget& all = budget.total;
  out.set("memory_bytes", all.bytes);
  out.set("area_mm2", all.area_mm2())
      .set("area_breakdown_mm2", Json::object()
                                     .set("arrays", all.array_area_mm2)
                                     .set("vector_units", all.vector_area_mm2)
                                     .set("memories", all.memory_area_mm2));
  out.set("tdp_w", budget.has_power ? Json(all.tdp_w()) : Json())
      .set("tdp_breakdown_w", Json::object()
                                  .set("arrays", all.array_w)
                                  .set("vector_units", all.vector_w)
                                  .set("memories", all.memory_w)
                                  .set("links", all.link_w)
                                  .set("leakage", all.leakage_w));
  return out.set("shared_memories", std::move(shared))
      .set("offchip_efficiency", std::move(efficiency))
      .set("warnings", std::move(warnings));
}

}  // namespace monet
