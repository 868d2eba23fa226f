#include <fmt/format.h>

#include "monet/base/config.h"
#include "monet/base/config_section.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/graph.h"

namespace monet {
namespace {

Json by_phase(const schedule::ByPhase& values) {
  Json out = Json::object();
  for (std::size_t p = 0; p < kPhases; ++p) out.set(std::string(name(static_cast<Phase>(p))), values[p]);
  return out;
}

Json by_use(const schedule::ByUse& values) {
  Json out = Json::object();
  for (std::size_t u = 0; u < schedule::kMemoryUses; ++u)
    out.set(std::string(name(static_cast<schedule::MemoryUse>(u))), values[u]);
  return out;
}

Json energy_json(const schedule::Energy& energy) {
  Json memory = Json::object();
  for (const auto& [level, pj] : energy.memory) memory.set(level, pj);
  return Json::object()
      .set("compute", energy.compute)
      .set("memory", std::move(memory))
      .set("link", energy.link)
      .set("offchip", energy.offchip)
      .set("static", energy.leakage);
}

Json nodes_json(const EvaluateRun& run, const Evaluated& mode) {
  const schedule::Evaluation& e = mode.result();
  Json out = Json::array();
  for (std::size_t n = 0; n < mode.graph.nodes.size(); ++n) {
    const schedule::NodeResult& r = e.nodes[n];
    if (r.tiles == 0) continue;  // a view
    Json cores = Json::array();
    for (const std::uint32_t c : mode.decided.nodes[n].cores) cores.push(run.chip.cores[c].core.name);
    out.push(Json::object()
                 .set("name", mode.graph.nodes[n].name)
                 .set("phase", name(mode.graph.nodes[n].phase))
                 .set("core", run.chip.cores[mode.decided.nodes[n].cores[0]].core.name)
                 .set("cores", std::move(cores))
                 .set("group", static_cast<std::uint64_t>(e.tiled.group[n]))
                 .set("tiles", static_cast<std::uint64_t>(r.tiles))
                 .set("start_cycle", r.start)
                 .set("end_cycle", r.end)
                 .set("busy_cycles", r.busy)
                 .set("energy_pj", r.energy_pj)
                 .set("macs", r.macs)
                 .set("vector_ops", r.vector_ops)
                 .set("offchip_bytes", r.offchip_bytes));
  }
  return out;
}

Json tensors_json(const EvaluateRun& run, const Evaluated& mode) {
  const schedule::Evaluation& e = mode.result();
  Json out = Json::array();
  for (std::size_t t = 0; t < mode.graph.tensors.size(); ++t) {
    const schedule::TensorResult& r = e.tensors[t];
    if (!r.is_there) continue;
    out.push(Json::object()
                 .set("name", mode.graph.tensors[t].name)
                 .set("category", name(schedule::memory_use(mode.graph.tensors[t].category)))
                 .set("bytes", r.bytes)
                 .set("born_cycle", r.born)
                 .set("died_cycle", r.died)
                 .set("memory", run.chip.machine.stores[r.store.index()].name)
                 .set("offchip_read_bytes", r.offchip_read_bytes)
                 .set("offchip_written_bytes", r.offchip_written_bytes));
  }
  return out;
}

Json feasible_json(const EvaluateRun& run, const Evaluated& mode) {
  const schedule::Evaluation& e = mode.result();
  const plan::Machine& machine = run.chip.machine;
  Json peaks = Json::object(), at_peak = Json::object(), utilisation = Json::object(), busy = Json::object();
  Json links = Json::object(), ports = Json::object(), by_core = Json::object(), by_slot = Json::object();
  for (std::size_t s = 0; s < machine.stores.size(); ++s) {
    peaks.set(machine.stores[s].name, e.stores[s].peak_bytes);
    at_peak.set(machine.stores[s].name, by_use(e.stores[s].at_peak));
  }
  for (std::size_t c = 0; c < run.chip.cores.size(); ++c) {
    utilisation.set(run.chip.cores[c].core.name, core_utilisation(run.chip, e, c));
    by_core.set(run.chip.cores[c].core.name, e.energy_by_core[c]);
  }
  for (std::size_t u = 0; u < machine.units.size(); ++u)
    busy.set(machine.units[u].name, e.latency > 0 ? e.units[u].busy / e.latency : 0);
  for (std::size_t p = 0; p < machine.ports.size(); ++p)
    ports.set(machine.ports[p].name, e.latency > 0 ? e.port_cycles[p] / e.latency : 0);
  for (std::size_t c = 0; c < machine.channels.size(); ++c)
    links.set(machine.channels[c].name,
              e.latency > 0 ? e.channel_bytes[c] / machine.channels[c].bytes_per_cycle / e.latency : 0);
  for (const hardware::Slot slot : hardware::kSlots)
    by_slot.set(std::string(name(slot)), e.memory_energy_by_slot[static_cast<std::size_t>(slot)]);
  const schedule::StoreUse& home = e.stores[machine.home.index()];
  Json out = Json::object();
  out.set("feasible", true).set("latency_cycles", e.latency);
  out.set("latency_s", e.clock_hz > 0 ? Json(e.latency / e.clock_hz) : Json());
  out.set("iterations", e.iteration_ends.size()).set("iteration_cycles", steady_cycles(e));
  out.set("energy_pj", e.energy.total()).set("energy_breakdown_pj", energy_json(e.energy));
  out.set("energy_by_phase_pj", by_phase(e.energy_by_phase)).set("energy_by_core_pj", std::move(by_core));
  out.set("memory_energy_by_operand_pj", std::move(by_slot)).set("data_energy_by_category_pj", by_use(e.energy_by_use));
  out.set("latency_by_phase_cycles", by_phase(e.latency_by_phase));
  out.set("busy_cycles_by_phase", by_phase(e.busy_by_phase));
  out.set("peak_memory_bytes", std::move(peaks)).set("peak_total_bytes", e.peak_total_bytes);
  out.set("memory_at_peak_bytes", std::move(at_peak));
  out.set("offchip_read_bytes", home.bytes_out).set("offchip_written_bytes", home.bytes_in);
  out.set("macs", by_phase(e.macs)).set("vector_ops", by_phase(e.vector_ops));
  out.set("utilisation", std::move(utilisation)).set("busy", std::move(busy)).set("links", std::move(links));
  out.set("ports", std::move(ports));
  out.set("tiles", e.tiled.tiles.size()).set("transfers", e.timeline.transfers.size());
  out.set("nodes", nodes_json(run, mode)).set("tensors", tensors_json(run, mode));
  return out;
}

Json mode_json(const EvaluateRun& run, const Evaluated& mode) {
  Json out;
  if (mode.is_feasible()) {
    out = feasible_json(run, mode);
  } else {
    const auto& infeasible = std::get<schedule::Infeasible>(mode.outcome);
    out = Json::object().set("feasible", false).set("reason", infeasible.reason).set("levers", Json(infeasible.levers));
  }
  return out.set("mode", mode.mode).set("notes", Json(mode.notes));
}

}  // namespace

double steady_cycles(const schedule::Evaluation& e) {
  const std::vector<double>& ends = e.iteration_ends;
  if (ends.size() < 2) return e.latency;
  return (ends.back() - ends.front()) / static_cast<double>(ends.size() - 1);
}

double core_utilisation(const plan::Chip& chip, const schedule::Evaluation& e, std::size_t core) {
  if (!(e.latency > 0)) return 0;
  plan::Facts nest, vector;
  nest.is_nest = true;
  const double macs = e.core_macs[core], ops = e.core_vector_ops[core];
  return macs > 0 ? macs / lanes(chip.cores[core], nest) / e.latency
                  : ops / lanes(chip.cores[core], vector) / e.latency;
}

Json json(const EvaluateRun& run) {
  if (run.modes.size() == 1) return mode_json(run, run.modes[0]);
  Json out = Json::object();
  for (const Evaluated& mode : run.modes) out.set(mode.mode, mode_json(run, mode));
  return out;
}

Json options_json(const EvaluateRequest& r) {
  Json out = options_json(r.model, Prepared());
  Json parameters = Json::object();
  for (const auto& [name, value] : r.parameters) parameters.set(name, value);
  // What the user asked for: the default hangs on the mode.
  out.set("precision", r.model.precision);
  return out.set("on", r.hardware)
      .set("set", std::move(parameters))
      .set("mode", r.mode)
      .set("plan", r.plan)
      .set("stacks", r.stacks)
      .set("wgrad", r.im2col_weight_gradient ? "im2col" : "direct")
      .set("updates", r.fused_updates ? "fused" : "steps")
      .set("iterations", r.iterations)
      .set("quirks", Json::array());
}

EvaluateRequest evaluate_request_of(const std::string& result_json, const std::string& path) {
  const config::Tree tree = config::parse_json(result_json, path);
  config::Findings findings;
  EvaluateRequest r;
  const config::Value options = document_part(tree, "evaluate", "options");
  if (const auto quirks = options.find("quirks"); quirks && quirks->is_sequence() && quirks->size() > 0) {
    findings.error(*quirks, "a schedule by Stream's rules, which keep no reasons",
                   "evaluate without --quirks stream to have it explained");
    findings.throw_if_failed();
  }
  config::Section s(options, "'options'", config::Dialect::Strict, findings);
  const auto take = [&](std::string_view key, std::string& into) {
    if (std::optional<std::string> value = s.text(key)) into = std::move(*value);
  };
  ModelRequest& m = r.model;
  take("model", m.model);
  take("optimizer", m.optimizer);
  take("loss", m.loss);
  take("train", m.train);
  take("precision", m.precision);
  take("save", m.save);
  take("attention", m.attention);
  take("recompute", m.recompute);
  take("on", r.hardware);
  take("mode", r.mode);
  take("plan", r.plan);
  take("stacks", r.stacks);
  std::string wgrad, updates;
  take("wgrad", wgrad);
  take("updates", updates);
  r.im2col_weight_gradient = wgrad == "im2col";
  r.fused_updates = updates == "fused";
  m.batch = s.integer("batch", {.least = 1});
  m.microbatches = s.integer("microbatches", {.least = 1}).value_or(1);
  m.recompute_per_consumer = s.boolean("recompute_per_consumer").value_or(false);
  m.fold_batch_norm = s.boolean("fold_batch_norm").value_or(false);
  m.loss_scaling = s.boolean("loss_scaling").value_or(false);
  m.strict = s.boolean("strict").value_or(false);
  m.clip_norm = s.number("clip", {.least = 0});
  r.iterations = s.integer("iterations", {.least = 1}).value_or(1);
  s.find("quirks");
  read_settings(s, findings, r.parameters, m.dims);
  s.finish();
  findings.throw_if_failed();
  return r;
}

}  // namespace monet
