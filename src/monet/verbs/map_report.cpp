// What `monet map` prints: one screen a layer, and its document.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "monet/base/config.h"
#include "monet/base/config_section.h"
#include "monet/report/nest.h"
#include "monet/report/table.h"
#include "monet/verbs/explain_bound.h"
#include "monet/verbs/map.h"
#include "monet/verbs/map_vector.h"

namespace monet {
namespace {

using cost::Mapped;
using hardware::Core;
using hardware::Direction;

std::string bits_text(const cost::Layer& layer) {
  std::vector<std::string> parts;
  for (const cost::Operand& operand : layer.operands)
    parts.push_back(operand.partial_bits == operand.bits
                        ? fmt::format("{} {:g}", operand.name, operand.bits)
                        : fmt::format("{} {:g} (sums {:g})", operand.name, operand.bits, operand.partial_bits));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string accesses_text(const Mapped& m, const Core& core) {
  Table table({"accesses", "words", "pJ each", "energy"});
  std::size_t width = 0;
  for (const hardware::Memory& memory : core.memories) width = std::max(width, memory.name.size());
  for (std::size_t i = core.memories.size(); i-- > 0;) {
    const cost::MemoryProblem& memory = m.problem.memories[i];
    std::string name = core.memories[i].name;
    for (std::size_t k = 0; k < memory.operands.size(); ++k)
      for (const Direction d : hardware::kDirections) {
        const std::size_t o = memory.operands[k], l = memory.level[k];
        const double words = m.evaluation.levels[o][l].flows[static_cast<std::size_t>(d)].words;
        if (words == 0) continue;
        const double each = is_read(d) ? memory.read_pj : memory.write_pj;
        table.row({fmt::format("{:<{}}  {} {}", name, width, m.layer.operands[o].name, flow_text(m, core, o, l, d)),
                   quantity(words), fmt::format("{:.4g}", each), energy_text(words * each)});
        name.clear();
      }
  }
  return table.text("  ");
}

// By how much, as a part of what was found, a better mapping could be better.
double gap(cost::Criterion criterion, const Mapped& m) {
  const double found = cost::value_of(criterion, {m.evaluation.energy_pj, m.evaluation.latency});
  return found > 0 ? std::max(0.0, 1 - m.bound / found) : 0;
}

std::string bound_value_text(cost::Criterion criterion, double bound) {
  switch (criterion) {
    case cost::Criterion::Latency: return quantity(bound) + " cycles";
    case cost::Criterion::Energy: return energy_text(bound);
    case cost::Criterion::Edp: return fmt::format("{:.4g} pJ x cycles", bound);
  }
  return "";
}

std::string orderings_text(double count) { return count < 1e15 ? quantity(count) : fmt::format("{:.2e}", count); }

std::string proof_text(const MapRun& run, const Mapped& m) {
  const std::string spatials = m.spatials_left > 0
                                   ? fmt::format("over {} of {} unrollings", m.spatials, m.spatials + m.spatials_left)
                               : m.spatials == 1 ? "for this unrolling"
                                                 : fmt::format("over {} unrollings", m.spatials);
  const std::string stopped = run.stopped == Stop::Asked ? "interrupted" : "stopped by --time";
  if (run.options.quirks.greedy_allocation && m.is_stopped)
    return fmt::format("{}: the best of {} out of {} loop orderings {}", stopped,
                       quantity(static_cast<double>(m.evaluated)), orderings_text(m.orderings), spatials);
  if (run.options.quirks.greedy_allocation)
    return fmt::format("the best of {} loop orderings {}", quantity(static_cast<double>(m.evaluated)), spatials);
  if (m.is_proven)
    return fmt::format("proven: no ordering, allocation or buffering is better {} ({} partial mappings kept)", spatials,
                       quantity(static_cast<double>(m.evaluated)));
  return fmt::format("not proven: {} after {} partial mappings {}; none is below {}, {:.3g} % less",
                     m.is_stopped ? stopped : "stopped", quantity(static_cast<double>(m.evaluated)), spatials,
                     bound_value_text(run.options.criterion, m.bound), 100 * gap(run.options.criterion, m));
}

std::string costs_text(const MapRun& run, const Mapped& m, const Core& core) {
  const cost::Evaluation& e = m.evaluation;
  std::string out;
  out += fmt::format("latency  {} cycles = {} ideal + {} idle lanes + {} stalls + {} first loads + {} last stores\n",
                     quantity(e.latency), quantity(e.ideal_cycles), quantity(e.temporal_cycles - e.ideal_cycles),
                     quantity(e.stall), quantity(e.onload), quantity(e.offload));
  out += fmt::format("         {:.3g} % of what the array can do", 100 * e.ideal_cycles / e.latency);
  if (run.options.clock_hz > 0) out += fmt::format(", {:.4g} us", e.latency / run.options.clock_hz * 1e6);
  out += fmt::format("\nenergy   {} = {} arithmetic + {} memories + {} leakage\n", energy_text(e.energy_pj),
                     energy_text(e.mac_energy_pj), energy_text(e.memory_energy_pj), energy_text(e.static_energy_pj));
  out += fmt::format("bound    {}\n", find_bound(m, core).latency_by);
  return out + fmt::format("search   {}\n", proof_text(run, m));
}

std::string infeasible_text(const MappedLayer& m) {
  if (m.is_stopped) return fmt::format("not known: no mapping was found in time ({})\n", m.reason);
  std::string out = fmt::format("infeasible: {}\n", m.reason);
  for (const std::string& lever : m.levers) out += "  " + lever + "\n";
  return out;
}

std::string layer_text(const MapRun& run, const MappedLayer& m) {
  const Core& core = run.chosen_core();
  double macs = 1;
  std::vector<std::string> sizes;
  for (const work::Dimension& d : m.layer.dimensions) {
    macs *= static_cast<double>(d.size);
    if (d.size > 1) sizes.push_back(fmt::format("{} {}", d.name, d.size));
  }
  std::string out = fmt::format("{} on {}/{}\n", m.layer.name, run.chip.hardware.name, core.name);
  out += fmt::format("layer    {}\n         {}: {} multiply-accumulates\n         bits: {}\n", equation(m.layer),
                     fmt::join(sizes, ", "), quantity(macs), bits_text(m.layer));
  for (const std::string& note : m.notes) out += "         note: " + note + "\n";
  if (!m.mapped) return out + infeasible_text(m);
  out += "\n" + draw_nest(*m.mapped, core, "  ") + "\n" + draw_memories(*m.mapped, core, "  ") + "\n";
  out += accesses_text(*m.mapped, core) + "\n" + costs_text(run, *m.mapped, core);
  return out;
}

std::string list_text(const MapRun& run) {
  Table table({"layer", "cycles", "of the array", "energy", "proven"});
  double cycles = 0, ideal = 0, energy = 0;
  std::string infeasible;
  for (const MappedLayer& m : run.layers) {
    if (!m.mapped) {
      table.row({m.layer.name, m.is_stopped ? "not known" : "infeasible"});
      infeasible += m.layer.name + " is " + infeasible_text(m);
      continue;
    }
    const cost::Evaluation& e = m.mapped->evaluation;
    table.row({m.layer.name, quantity(e.latency), fmt::format("{:.3g} %", 100 * e.ideal_cycles / e.latency),
               energy_text(e.energy_pj), m.mapped->is_proven ? "yes" : "no"});
    cycles += e.latency;
    ideal += e.ideal_cycles;
    energy += e.energy_pj;
  }
  if (cycles > 0)
    table.row({"total", quantity(cycles), fmt::format("{:.3g} %", 100 * ideal / cycles), energy_text(energy)});
  return fmt::format("{} layers on {}/{}, each alone\n\n", run.layers.size(), run.chip.hardware.name,
                     run.chosen_core().name) +
         table.text("  ") + infeasible;
}

// ---- The document ----

Json loops_json(const Mapped& m, std::size_t from, std::size_t to) {
  Json out = Json::array();
  for (std::size_t i = from; i < to; ++i)
    out.push(Json::object()
                 .set("dimension", m.layer.dimensions[m.order[i].dimension].name)
                 .set("factor", m.order[i].factor));
  return out;
}

Json mapping_json(const Mapped& m, const Core& core) {
  Json spatial = Json::object(), levels = Json::object();
  for (std::size_t a = 0; a < m.spatial.size(); ++a) {
    Json loops = Json::array();
    for (const cost::SpatialLoop& loop : m.spatial[a])
      loops.push(Json::object().set("dimension", m.layer.dimensions[loop.dimension].name).set("factor", loop.factor));
    spatial.set(core.array->dimensions[a].name, std::move(loops));
  }
  for (std::size_t o = 0; o < m.layer.operands.size(); ++o) {
    Json list = Json::array();
    for (std::size_t l = 0; l < m.problem.operands[o].memories; ++l) {
      const cost::MemoryLevel& level = m.evaluation.levels[o][l];
      list.push(Json::object()
                    .set("memory", core.memories[m.problem.operands[o].memory[l]].name)
                    .set("loops", loops_json(m, l == 0 ? 0 : m.evaluation.cuts[o][l - 1], m.evaluation.cuts[o][l]))
                    .set("tile_bits", level.tile_bits)
                    .set("double_buffered", level.is_double_buffered));
    }
    levels.set(m.layer.operands[o].name, std::move(list));
  }
  return Json::object()
      .set("spatial", std::move(spatial))
      .set("temporal_inner_to_outer", loops_json(m, 0, m.order.size()))
      .set("levels", std::move(levels));
}

Json accesses_json(const Mapped& m, const Core& core) {
  Json out = Json::array();
  for (std::size_t o = 0; o < m.layer.operands.size(); ++o)
    for (std::size_t l = 0; l < m.problem.operands[o].memories; ++l)
      for (const Direction d : hardware::kDirections) {
        const cost::Flow& f = m.evaluation.levels[o][l].flows[static_cast<std::size_t>(d)];
        if (f.words == 0) continue;
        out.push(Json::object()
                     .set("operand", m.layer.operands[o].name)
                     .set("level", core.memories[m.problem.operands[o].memory[l]].name)
                     .set("direction", hardware::name(d))
                     .set("count_words", f.words)
                     .set("bits", moved_bits(m, o, l, d)));
      }
  return out;
}

Json layer_json(const MapRun& run, const MappedLayer& m) {
  const Core& core = run.chosen_core();
  Json out = Json::object();
  out.set("layer", m.layer.name).set("core", core.name);
  out.set("feasible", m.mapped ? Json(true) : m.is_stopped ? Json() : Json(false)).set("stopped", m.is_stopped);
  Json notes = Json::array();
  for (const std::string& note : m.notes) notes.push(note);
  out.set("notes", std::move(notes));
  if (!m.mapped) {
    Json levers = Json::array();
    for (const std::string& lever : m.levers) levers.push(lever);
    return out.set("reason", m.reason).set("levers", std::move(levers));
  }
  const Mapped& mapped = *m.mapped;
  const cost::Evaluation& e = mapped.evaluation;
  std::vector<double> by_memory(core.memories.size(), 0);
  for (std::size_t o = 0; o < mapped.layer.operands.size(); ++o)
    for (std::size_t l = 0; l < mapped.problem.operands[o].memories; ++l)
      by_memory[mapped.problem.operands[o].memory[l]] += e.levels[o][l].energy_pj;
  Json memories = Json::object();
  for (std::size_t i = 0; i < core.memories.size(); ++i) memories.set(core.memories[i].name, by_memory[i]);
  out.set("latency_cycles", e.latency).set("ideal_cycles", e.ideal_cycles);
  out.set("stall_cycles", Json::object()
                              .set("spatial", e.temporal_cycles - e.ideal_cycles)
                              .set("temporal", e.stall)
                              .set("onload", e.onload)
                              .set("offload", e.offload));
  out.set("energy_pj", e.energy_pj).set("mac_energy_pj", e.mac_energy_pj);
  out.set("memory_energy_pj", std::move(memories)).set("static_energy_pj", e.static_energy_pj);
  out.set("accesses", accesses_json(mapped, core)).set("mapping", mapping_json(mapped, core));
  out.set("mappings_evaluated", mapped.evaluated)
      .set("spatial_mappings", mapped.spatials)
      .set("proven_optimal", mapped.is_proven);
  const bool is_exhaustive = run.options.quirks.greedy_allocation;
  out.set("orderings", is_exhaustive ? Json(mapped.orderings) : Json());
  if (mapped.is_proven || is_exhaustive) return out.set("bound", Json());
  const char* key = run.options.criterion == cost::Criterion::Latency  ? "latency_cycles"
                    : run.options.criterion == cost::Criterion::Energy ? "energy_pj"
                                                                       : "edp_pj_cycles";
  return out.set("bound", Json::object().set(key, mapped.bound).set("gap", gap(run.options.criterion, mapped)));
}

Json feasible_json(const MapRun& run) {
  return run.is_feasible() ? Json(true) : run.is_infeasible() ? Json(false) : Json();
}

}  // namespace

std::string text(const MapRun& run) {
  const bool is_one = run.layers.size() + run.vectors.size() == 1;
  std::string out;
  if (is_one)
    out = run.layers.empty() ? vector_text(run, run.vectors[0]) : layer_text(run, run.layers[0]);
  else
    out = (run.layers.empty() ? "" : list_text(run)) + (run.vectors.empty() ? "" : "\n" + vector_list(run));
  for (const std::string& note : run.notes) out += "note: " + note + "\n";
  return out;
}

Json json(const MapRun& run) {
  Json notes = Json::array();
  for (const std::string& note : run.notes) notes.push(note);
  if (run.layers.size() + run.vectors.size() == 1)
    return (run.layers.empty() ? vector_json(run, run.vectors[0]) : layer_json(run, run.layers[0]))
        .set("remarks", std::move(notes));
  Json layers = Json::array(), vectors = Json::array();
  double cycles = 0, energy = 0;
  std::uint64_t evaluated = 0;
  for (const MappedLayer& m : run.layers) {
    layers.push(layer_json(run, m));
    if (!m.mapped) continue;
    cycles += m.mapped->evaluation.latency;
    energy += m.mapped->evaluation.energy_pj;
    evaluated += m.mapped->evaluated;
  }
  for (const MappedVector& v : run.vectors) {
    vectors.push(vector_json(run, v));
    cycles += v.cost.latency;
    energy += v.cost.energy_pj;
  }
  return Json::object()
      .set("layers", std::move(layers))
      .set("vectors", std::move(vectors))
      .set("feasible", feasible_json(run))
      .set("latency_cycles", cycles)
      .set("energy_pj", energy)
      .set("mappings_evaluated", evaluated)
      .set("remarks", std::move(notes));
}

Json options_json(const MapRequest& r) {
  Json parameters = Json::object(), dims = Json::object();
  for (const auto& [name, value] : r.parameters) parameters.set(name, value);
  for (const auto& [name, value] : r.layer.model.dims) dims.set(name, value);
  Json out = Json::object();
  out.set("layer", r.layer.layer).set("phase", r.layer.phase).set("bits", r.layer.bits).set("on", r.hardware);
  out.set("set", std::move(parameters)).set("mapping", r.mapping).set("order", r.order).set("spatial", r.spatial);
  out.set("placement", r.placement).set("criterion", r.criterion).set("quirks", r.quirks).set("lpf", r.lpf);
  out.set("even", r.even).set("spatials", r.spatials).set("mixed", r.mixed);
  out.set("time_s", r.time_s ? Json(*r.time_s) : Json());
  const ModelRequest& m = r.layer.model;
  return out.set("batch", m.batch ? Json(*m.batch) : Json())
      .set("dims", std::move(dims))
      .set("train", m.train)
      .set("precision", m.precision)
      .set("attention", m.attention);
}

MapRequest request_of(const std::string& result_json, const std::string& path) {
  const config::Tree tree = config::parse_json(result_json, path);
  config::Findings findings;
  MapRequest r;
  const config::Value options = document_part(tree, "map", "options");
  config::Section s(options, "'options'", config::Dialect::Strict, findings);
  const auto take = [&](std::string_view key, std::string& into) {
    if (std::optional<std::string> value = s.text(key)) into = std::move(*value);
  };
  take("layer", r.layer.layer);
  take("phase", r.layer.phase);
  take("bits", r.layer.bits);
  take("on", r.hardware);
  take("mapping", r.mapping);
  take("order", r.order);
  take("spatial", r.spatial);
  take("placement", r.placement);
  take("criterion", r.criterion);
  take("quirks", r.quirks);
  take("lpf", r.lpf);
  take("train", r.layer.model.train);
  take("precision", r.layer.model.precision);
  take("attention", r.layer.model.attention);
  r.even = s.boolean("even").value_or(false);
  r.mixed = s.boolean("mixed").value_or(false);
  r.time_s = s.number("time_s", {.least = 0, .most = 1e9});
  r.spatials = s.integer("spatials", {.least = 1, .most = 1'000'000}).value_or(r.spatials);
  r.layer.model.batch = s.integer("batch", {.least = 1});
  read_settings(s, findings, r.parameters, r.layer.model.dims);
  s.finish();
  findings.throw_if_failed();
  return r;
}

}  // namespace monet
