#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "monet/report/nest.h"
#include "monet/report/table.h"
#include "monet/verbs/fuse.h"

namespace monet {
namespace {

constexpr std::size_t kGroupsShown = 8, kBrokenShown = 8;

std::string cycles_text(const FuseRun& run, double cycles) {
  return run.chip.clock_hz > 0 ? seconds_text(cycles / run.chip.clock_hz) : quantity(cycles) + " cycles";
}

std::string objective_text(search::FusionObjective measure, double value) {
  switch (measure) {
    case search::FusionObjective::Groups: return quantity(value);
    case search::FusionObjective::Traffic: return byte_count(static_cast<std::uint64_t>(value));
    case search::FusionObjective::Latency: return quantity(value) + " cycles";
    case search::FusionObjective::Energy: return energy_text(value);
  }
  return "";
}

std::string proof_text(const FuseRun& run, const FuseRequest& request) {
  const search::Fusion& f = run.fusion;
  if (request.rules == "stream")
    return fmt::format("Stream's rule makes {} groups; nothing is searched\n", grouped(f.groups.size()));
  std::string out =
      fmt::format("{} nodes, {} groups allowed by the rules; {} chosen: {}\n", grouped(f.nodes), grouped(f.candidates),
                  grouped(f.groups.size()), objective_text(run.measure, f.objective));
  if (f.limit < run.rules.limit)
    out += fmt::format("of {} nodes there are too many groups to choose from: at most {} nodes a group\n",
                       run.rules.limit, f.limit);
  out += f.is_proven ? fmt::format("proven: no division into allowed groups is better ({} round{}, {} cycle{} cut)\n",
                                   f.rounds, f.rounds == 1 ? "" : "s", f.cuts, f.cuts == 1 ? "" : "s")
                     : fmt::format("not proven: none is below {}\n", objective_text(run.measure, f.bound));
  return out;
}

// A measure of groups does not know who waits for whom: the scheduler may judge otherwise.
std::string worse_text(const FuseRun& run, const FuseRequest& request) {
  const auto usual = std::find_if(run.variants.begin(), run.variants.end(),
                                  [](const FuseVariant& v) { return v.name == "by default"; });
  const FuseVariant& best = run.variants[run.best];
  if (usual == run.variants.end() || !usual->figures.is_possible || !best.figures.is_possible) return "";
  const bool is_energy = request.objective == "energy", is_traffic = request.objective == "traffic";
  const auto value = [&](const search::Figures& f) {
    return is_energy ? f.energy_pj : is_traffic ? f.offchip_bytes : f.latency_cycles;
  };
  if (!(value(best.figures) > value(usual->figures))) return "";
  return fmt::format("{} is {} than by default, by the scheduler: --refine goes on from the better one\n", best.name,
                     is_energy    ? "more energy"
                     : is_traffic ? "more off-chip traffic"
                                  : "slower");
}

std::size_t moved(const FusePlacement& placed) {
  return static_cast<std::size_t>(std::count_if(placed.found.decision.begin(), placed.found.decision.end(),
                                                [](std::uint16_t allocation) { return allocation != 0; }));
}

std::string placed_text(const FusePlacement& placed) {
  return fmt::format("placed for {} ({}): {} of {} layers elsewhere than by default, {} evaluations{}\n",
                     placed.objective, name(placed.method), moved(placed), placed.layers,
                     grouped(placed.found.evaluations),
                     placed.found.is_exact           ? ": no placement is better"
                     : placed.found.is_local_optimum ? ": no single step is better"
                                                     : "");
}

Json json(const FusePlacement& placed) {
  return Json::object()
      .set("method", std::string(name(placed.method)))
      .set("objective", placed.objective)
      .set("layers", placed.layers)
      .set("moved", moved(placed))
      .set("steps", placed.found.steps)
      .set("evaluations", placed.found.evaluations)
      .set("exact", placed.found.is_exact)
      .set("local_optimum", placed.found.is_local_optimum);
}

Json json(const search::Figures& f) {
  Json out = Json::object().set("feasible", f.is_possible).set("groups", f.groups);
  if (!f.is_possible) return out.set("reason", f.reason);
  return out.set("latency_cycles", f.latency_cycles)
      .set("energy_pj", f.energy_pj)
      .set("peak_total_bytes", f.peak_total_bytes)
      .set("peak_offchip_bytes", f.peak_offchip_bytes)
      .set("offchip_bytes", f.offchip_bytes)
      .set("tiles", f.tiles);
}

}  // namespace

std::string text(const FuseRun& run, const FuseRequest& request) {
  std::string out =
      fmt::format("{}, {} on {}: fusion by the rules '{}', at most {} nodes a group{}, best in {}\n",
                  request.evaluate.model.model, run.mode, run.loaded.hardware.name, request.rules, run.rules.limit,
                  run.rules.updates_are_one && run.mode == "training" && !request.evaluate.fused_updates
                      ? " (a weight's update counts as one)"
                      : "",
                  name(run.measure));
  out += proof_text(run, request) + "\n";
  Table table({"fused", "groups", "by the measure", "latency", "energy", "off-chip", "peak memory"});
  for (const FuseVariant& v : run.variants) {
    const search::Figures& f = v.figures;
    std::vector<std::string> row{v.name, grouped(f.groups), objective_text(run.measure, v.objective)};
    if (f.is_possible)
      row.insert(row.end(), {cycles_text(run, f.latency_cycles), energy_text(f.energy_pj),
                             byte_count(static_cast<std::uint64_t>(f.offchip_bytes)),
                             byte_count(static_cast<std::uint64_t>(f.peak_total_bytes))});
    else
      row.insert(row.end(), {"not possible", "", "", ""});
    table.row(std::move(row));
  }
  out += table.text("  ") + "\n";
  for (const FuseVariant& v : run.variants)
    if (!v.figures.is_possible) out += fmt::format("{}: {}\n", v.name, v.figures.reason);
  if (run.refined)
    out += fmt::format("refined by {} steps, {} evaluations{}\n", run.refined->steps, run.refined->evaluations,
                       run.refined->is_local_optimum ? ": no single step is better" : "");
  if (run.placed) out += placed_text(*run.placed);
  if (!run.refined && !run.placed) out += worse_text(run, request);
  std::map<std::string, std::size_t> broken;  // by variant
  for (const auto& [variant, words] : run.broken)
    if (++broken[variant] <= kBrokenShown) out += fmt::format("{}, against the rules: {}\n", variant, words);
  for (const auto& [variant, count] : broken)
    if (count > kBrokenShown) out += fmt::format("{}, against the rules: {} more\n", variant, count - kBrokenShown);
  std::vector<std::size_t> order(run.groups.size());
  for (std::size_t g = 0; g < order.size(); ++g) order[g] = g;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return run.groups[a].size() > run.groups[b].size(); });
  out += fmt::format("largest groups, {}:\n", run.variants[run.best].name);
  for (std::size_t i = 0; i < order.size() && i < kGroupsShown && run.groups[order[i]].size() > 1; ++i) {
    const std::vector<std::string>& nodes = run.groups[order[i]];
    out += fmt::format("  {:3} nodes: {} … {}\n", nodes.size(), nodes.front(), nodes.back());
  }
  return out;
}

Json options_json(const FuseRequest& request) {
  return options_json(request.evaluate)
      .set("rules", request.rules)
      .set("limit", request.limit ? Json(*request.limit) : Json())
      .set("objective", request.objective)
      .set("refine", request.refine)
      .set("place", request.place.empty() ? "none" : request.place)
      .set("place_objective", request.place_objective.empty() ? Json() : Json(request.place_objective))
      .set("seed", request.seed)
      .set("evaluations", request.evaluations);
}

Json json(const FuseRun& run) {
  Json groups = Json::array(), variants = Json::array(), broken = Json::array();
  for (const std::vector<std::string>& nodes : run.groups) groups.push(Json(nodes));
  for (const FuseVariant& v : run.variants)
    variants.push(json(v.figures).set("name", v.name).set("objective", v.objective));
  const auto figures = [&](std::string_view name) {
    for (const FuseVariant& v : run.variants)
      if (v.name == name) return json(v.figures);
    return Json();
  };
  for (const auto& [variant, words] : run.broken)
    broken.push(Json::object().set("variant", variant).set("rule", words));
  const FuseVariant& best = run.variants[run.best];
  Json out = Json::object()
                 .set("groups", std::move(groups))
                 .set("measure", std::string(name(run.measure)))
                 .set("objective", best.is_solved ? run.fusion.objective : best.objective)
                 .set("bound", run.fusion.bound)
                 .set("proven_optimal", best.is_solved && run.fusion.is_proven)
                 .set("against_rules", std::move(broken))
                 .set("nodes", run.fusion.nodes)
                 .set("candidates", run.fusion.candidates)
                 .set("rounds", run.fusion.rounds)
                 .set("cuts", run.fusion.cuts)
                 .set("limit", run.fusion.limit)
                 .set("before", figures("by default"))
                 .set("unfused", figures("one by one"))
                 .set("after", json(run.variants[run.best].figures))
                 .set("variants", std::move(variants));
  if (run.refined)
    out.set("refined", Json::object()
                           .set("steps", run.refined->steps)
                           .set("evaluations", run.refined->evaluations)
                           .set("local_optimum", run.refined->is_local_optimum));
  if (run.placed) out.set("placed", json(*run.placed));
  return out;
}

}  // namespace monet
