#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "monet/report/nest.h"
#include "monet/report/table.h"
#include "monet/verbs/checkpoint.h"

namespace monet {
namespace {

using search::CheckpointPoint;
using search::Figures;

constexpr std::size_t kRowsShown = 12;

std::string time_text(const CheckpointRun& run, double cycles) {
  return run.chip->clock_hz > 0 ? seconds_text(cycles / run.chip->clock_hz) : quantity(cycles) + " cycles";
}

std::string change_text(double value, double from) { return fmt::format("{:+.1f} %", 100 * (value / from - 1)); }

// Of a sample where iterations of several sizes are compared, else of the iteration.
double latency_of(const Figures& f) { return f.latency_cycles / f.samples; }
double energy_of(const Figures& f) { return f.energy_pj / f.samples; }

// Everything kept, if it was tried and is possible.
const Figures* kept_all(const CheckpointRun& run) {
  for (const CheckpointPoint& p : run.found.points)
    if (std::all_of(p.decision.begin(), p.decision.end(), [](std::uint16_t c) { return c == 0; }))
      return p.figures.is_possible ? &p.figures : nullptr;
  return nullptr;
}

// "12 of 40 recompute, 3 spill", and what of the saved bytes is kept.
std::string decision_text(const CheckpointRun& run, const solve::Choices& decision) {
  std::map<std::string, std::size_t> counts;
  for (const plan::SavedPlan& s : run.problem->savings(decision)) ++counts[plan::name(s.saving, s.narrow)];
  std::string out;
  for (const auto& [word, count] : counts) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, word);
  if (out.empty()) out = "all kept";
  const std::vector<std::string> ways = run.problem->ways(decision);
  for (std::size_t a = 0; a < ways.size(); ++a)
    if (run.problem->axes()[a].name == "batch" || ways[a] != "default")
      out += fmt::format("; {} {}", run.problem->axes()[a].name, ways[a]);
  return out;
}

std::vector<std::string> row_of(const CheckpointRun& run, const CheckpointRequest& request, std::string name,
                                const CheckpointPoint& p) {
  const Figures& f = p.figures;
  std::vector<std::string> row{std::move(name)};
  if (!f.is_possible) {
    row.insert(row.end(), {"not possible", "", "", "", "", "", ""});
    return row;
  }
  const Figures* all = kept_all(run);
  const auto change = [&](double value, double from) { return all != nullptr ? change_text(value, from) : ""; };
  row.insert(row.end(), {byte_count(peak_of(run, request, f)),
                         all != nullptr ? change(peak_of(run, request, f), peak_of(run, request, *all)) : "",
                         time_text(run, latency_of(f)), all != nullptr ? change(latency_of(f), latency_of(*all)) : "",
                         energy_text(energy_of(f)), all != nullptr ? change(energy_of(f), energy_of(*all)) : "",
                         decision_text(run, p.decision)});
  return row;
}

Table table_of(const CheckpointRun& run, const CheckpointRequest& request) {
  const std::vector<search::Axis>& axes = run.problem->axes();
  const bool by_sample = !axes.empty() && axes.front().name == "batch";
  return Table({"point", request.memory == "total" ? "peak" : "peak in " + request.memory, "",
                by_sample ? "latency a sample" : "latency", "", by_sample ? "energy a sample" : "energy", "",
                axes.empty() ? "saved activations" : "saved activations; ways"});
}

std::string end_text(const CheckpointRun& run, const CheckpointRequest& request) {
  const std::size_t impossible =
      static_cast<std::size_t>(std::count_if(run.found.points.begin(), run.found.points.end(),
                                             [](const CheckpointPoint& p) { return !p.figures.is_possible; }));
  std::string out = fmt::format("{} evaluations", grouped(run.found.points.size()));
  if (run.looked_up > 0) out += fmt::format(" ({} of them looked up)", grouped(run.looked_up));
  if (impossible > 0) out += fmt::format(", {} not possible", grouped(impossible));
  if (run.found.end == solve::Nsga2End::Stopped) out += ", stopped early";
  if (run.found.end == solve::Nsga2End::Stagnation) out += ", ended as the front did not change any more";
  if (run.found.end == solve::Nsga2End::Exhausted && !run.is_proven && request.strategy == "nsga2" &&
      run.found.points.size() < request.evaluations)
    out += ", ended as nothing new was drawn";
  out += run.is_proven ? ": all decisions there are, the front is exact"
                       : fmt::format(" of {:.3g} decisions", search::decisions_of(*run.problem));
  if (!run.reference.empty())
    out += fmt::format("\nfront of {} points, hypervolume {} of the box before 1.1 × its worst {}",
                       grouped(run.found.front.size()),
                       std::isnan(run.hypervolume) ? "an unknown part" : fmt::format("{:.4f}", run.hypervolume_share),
                       request.fit_bytes ? "latency and energy" : "latency, energy and peak");
  if (run.others > 0)
    out += fmt::format("\n{} more evaluations are in the store, of other searches: they are not part of this front",
                       grouped(run.others));
  return out + "\n";
}

std::string fit_text(const CheckpointRun& run, const CheckpointRequest& request) {
  const std::string limit =
      fmt::format("{} of {} B", request.memory, grouped(static_cast<std::uint64_t>(*request.fit_bytes)));
  if (run.best) {
    const Figures &f = run.found.points[*run.best].figures, *all = kept_all(run);
    return fmt::format("fits {}: {} B at {}{}{}\n", limit,
                       grouped(static_cast<std::uint64_t>(peak_of(run, request, f))), time_text(run, latency_of(f)),
                       all != nullptr ? ", " + change_text(latency_of(f), latency_of(*all)) + " of all kept" : "",
                       run.is_proven ? ": no decision is faster" : "");
  }
  const CheckpointPoint* least = nullptr;
  for (const CheckpointPoint& p : run.found.points)
    if (p.figures.is_possible &&
        (least == nullptr || peak_of(run, request, p.figures) < peak_of(run, request, least->figures)))
      least = &p;
  if (run.found.points.empty())
    return fmt::format("nothing was evaluated: whether anything fits {} is not known\n", limit);
  if (least == nullptr) return fmt::format("nothing fits {}: no decision is possible on this chip\n", limit);
  return fmt::format(
      "nothing fits {}: the least peak found is {} B > {} B\nwhat would help: more ways to decide (--decide "
      "recompute,recompute_each,f8e4m3), a smaller batch or --microbatches, a leaner optimizer, more evaluations\n",
      limit, grouped(static_cast<std::uint64_t>(peak_of(run, request, least->figures))),
      grouped(static_cast<std::uint64_t>(*request.fit_bytes)));
}

}  // namespace

std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& points, std::size_t most) {
  if (points.size() <= most) return points;
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < most; ++i) out.push_back(points[i * (points.size() - 1) / (most - 1)]);
  return out;
}

std::string table_text(const CheckpointRun& run, const CheckpointRequest& request,
                       const std::vector<std::uint32_t>& points) {
  Table table = table_of(run, request);
  for (const std::uint32_t i : points) table.row(row_of(run, request, std::to_string(i), run.found.points[i]));
  return table.text("  ");
}

std::string text(const CheckpointRun& run, const CheckpointRequest& request) {
  double decided = 0;
  for (const search::SavedActivation& a : run.problem->activations()) decided += a.bytes;
  std::string out =
      fmt::format("{} on {}: {} saved activations to decide on, {} of {} saved\n", request.evaluate.model.model,
                  run.loaded->hardware.name, run.problem->activations().size(), byte_count(decided),
                  byte_count(run.problem->saved_bytes()));
  out += end_text(run, request) + "\n";
  Table table = table_of(run, request);
  const bool by_name = request.strategy != "nsga2" && request.strategy != "exhaustive";
  const auto index_of = [&](const solve::Choices& decision) {
    for (std::uint32_t i = 0; i < run.found.points.size(); ++i)
      if (run.found.points[i].decision == decision) return std::optional(i);
    return std::optional<std::uint32_t>();
  };
  if (request.strategy == "baselines") {
    Table rules({"rule", "decisions", "on the front", "hypervolume", "proven in its model", "largest gap"});
    for (const RuleResult& r : rule_results(run, request))
      rules.row({r.name, grouped(r.decisions), grouped(r.on_front), fmt::format("{:.1f} %", 100 * r.hypervolume),
                 fmt::format("{} of {}", r.proven, r.decisions), fmt::format("{:.2f} %", 100 * r.largest_gap)});
    return out + rules.text("  ") + (request.fit_bytes ? "\n" + fit_text(run, request) : "");
  }
  if (by_name) {
    for (const search::Baseline& b : run.baselines)
      if (const auto i = index_of(b.decision))
        table.row(row_of(run, request, b.words.empty() ? b.name : b.name + " " + b.words, run.found.points[*i]));
  } else {
    for (const std::uint32_t i : spread(run.found.front, kRowsShown))
      table.row(row_of(run, request, std::to_string(i), run.found.points[i]));
  }
  const bool is_none = std::none_of(run.found.points.begin(), run.found.points.end(),
                                    [](const CheckpointPoint& p) { return p.figures.is_possible; });
  if (is_none && !run.found.points.empty())
    return out + fmt::format("nothing is possible on this chip. With everything kept: {}\n",
                             run.found.points.front().figures.reason);
  out += table.text("  ");
  if (!by_name && run.found.front.size() > kRowsShown)
    out += fmt::format("  … {} points in all (--json and --out have them)\n", grouped(run.found.front.size()));
  if (request.fit_bytes) out += "\n" + fit_text(run, request);
  return out;
}

std::string csv(const CheckpointRun& run) {
  std::string out =
      "point,on_front,feasible,latency_cycles,energy_pj,peak_total_bytes,peak_offchip_bytes,offchip_bytes";
  for (const search::Axis& a : run.problem->axes()) out += "," + a.name;
  for (const search::SavedActivation& a : run.problem->activations()) out += "," + json_quoted(a.name);
  out += '\n';
  std::vector<bool> on_front(run.found.points.size(), false);
  for (const std::uint32_t i : run.found.front) on_front[i] = true;
  for (std::size_t i = 0; i < run.found.points.size(); ++i) {
    const Figures& f = run.found.points[i].figures;
    out += fmt::format("{},{:d},{:d}", i, bool(on_front[i]), f.is_possible);
    out += f.is_possible ? fmt::format(",{},{},{},{},{}", f.latency_cycles, f.energy_pj, f.peak_total_bytes,
                                       f.peak_offchip_bytes, f.offchip_bytes)
                         : ",,,,,";
    for (const std::string& way : run.problem->ways(run.found.points[i].decision)) out += "," + way;
    std::map<std::string, std::string> words;
    for (const plan::SavedPlan& s : run.problem->savings(run.found.points[i].decision))
      words[s.tensor] = plan::name(s.saving, s.narrow);
    for (const search::SavedActivation& a : run.problem->activations()) {
      const auto at = words.find(a.name);
      out += "," + (at == words.end() ? "keep" : at->second);
    }
    out += '\n';
  }
  return out;
}

std::vector<RuleResult> rule_results(const CheckpointRun& run, const CheckpointRequest& request) {
  std::vector<RuleResult> out;
  std::vector<std::vector<solve::Objectives>> points;
  for (const search::Baseline& b : run.baselines) {
    if (out.empty() || out.back().name != b.name) {
      out.push_back({.name = b.name});
      points.emplace_back();
    }
    for (std::uint32_t i = 0; i < run.found.points.size(); ++i) {
      const Figures& f = run.found.points[i].figures;
      if (run.found.points[i].decision != b.decision || !f.is_possible) continue;
      out.back().on_front +=
          std::find(run.found.front.begin(), run.found.front.end(), i) != run.found.front.end() ? 1 : 0;
      const double peak = peak_of(run, request, f);
      if (request.fit_bytes && peak > *request.fit_bytes) continue;
      points.back().push_back({latency_of(f), energy_of(f)});
      if (!request.fit_bytes) points.back().back().push_back(peak);
    }
    ++out.back().decisions;
    out.back().proven += b.is_proven ? 1 : 0;
    out.back().largest_gap = std::max(out.back().largest_gap, b.gap);
  }
  for (std::size_t r = 0; r < out.size() && run.hypervolume != 0; ++r)
    out[r].hypervolume = solve::hypervolume(points[r], run.reference) / run.hypervolume;
  return out;
}

Json options_json(const CheckpointRequest& request) {
  return options_json(request.evaluate)
      .set("strategy", request.strategy)
      .set("decide", request.decide)
      .set("least_share", request.least_share)
      .set("also", Json(request.also))
      .set("memory", request.memory)
      .set("fit_bytes", request.fit_bytes ? Json(*request.fit_bytes) : Json())
      .set("evaluations", request.evaluations)
      .set("stagnation", request.stagnation)
      .set("seed", request.seed);
}

Json json(const CheckpointRun& run, const CheckpointRequest& request) {
  Json activations = Json::array(), points = Json::array(), baselines = Json::array(), rules = Json::array();
  for (const search::SavedActivation& a : run.problem->activations())
    activations.push(Json::object().set("name", a.name).set("bytes", a.bytes));
  Json axes = Json::array();
  for (const search::Axis& a : run.problem->axes())
    axes.push(Json::object().set("name", a.name).set("alternatives", Json(a.alternatives)));
  for (const CheckpointPoint& p : run.found.points) {
    Json decision = Json::object();
    for (const plan::SavedPlan& s : run.problem->savings(p.decision))
      decision.set(s.tensor, plan::name(s.saving, s.narrow));
    const Figures& f = p.figures;
    Json point = Json::object().set("decision", std::move(decision));
    if (!run.problem->axes().empty()) {
      Json ways = Json::object();
      const std::vector<std::string> words = run.problem->ways(p.decision);
      for (std::size_t a = 0; a < words.size(); ++a) ways.set(run.problem->axes()[a].name, words[a]);
      point.set("ways", std::move(ways));
    }
    point.set("feasible", f.is_possible);
    if (f.is_possible) {
      Json peaks = Json::object();
      for (std::size_t s = 0; s < f.peak_bytes.size(); ++s)
        peaks.set(run.chip->machine.stores[s].name, f.peak_bytes[s]);
      point.set("latency_cycles", f.latency_cycles)
          .set("energy_pj", f.energy_pj)
          .set("peak_total_bytes", f.peak_total_bytes)
          .set("peak_memory_bytes", std::move(peaks))
          .set("offchip_bytes", f.offchip_bytes)
          .set("groups", f.groups)
          .set("tiles", f.tiles);
    } else {
      point.set("reason", f.reason);
    }
    points.push(std::move(point));
  }
  for (const search::Baseline& b : run.baselines) {
    Json one = Json::object().set("name", b.name).set("words", b.words).set("proven", b.is_proven).set("gap", b.gap);
    for (std::uint32_t i = 0; i < run.found.points.size(); ++i)
      if (run.found.points[i].decision == b.decision) {
        one.set("point", i);
        break;
      }
    baselines.push(std::move(one));
  }
  for (const RuleResult& r : rule_results(run, request))
    rules.push(Json::object()
                   .set("name", r.name)
                   .set("decisions", r.decisions)
                   .set("on_front", r.on_front)
                   .set("hypervolume_share", r.hypervolume)
                   .set("proven", r.proven)
                   .set("largest_gap", r.largest_gap));
  Json reference = Json::object();
  for (std::size_t k = 0; k < run.reference.size(); ++k) reference.set(run.objectives[k], run.reference[k]);
  Json out = Json::object()
                 .set("activations", std::move(activations))
                 .set("saved_bytes", run.problem->saved_bytes())
                 .set("axes", std::move(axes))
                 .set("points", std::move(points))
                 .set("front", Json(run.found.front))
                 .set("hypervolume", run.hypervolume)
                 .set("hypervolume_share", run.hypervolume_share)
                 .set("reference", std::move(reference))
                 .set("evaluations", run.found.points.size())
                 .set("exact", run.is_proven)
                 .set("stopped", run.found.end == solve::Nsga2End::Stopped)
                 .set("baselines", std::move(baselines))
                 .set("rules", std::move(rules));
  if (request.fit_bytes) {
    Json fit = Json::object().set("bytes", *request.fit_bytes).set("feasible", run.best.has_value());
    if (run.best) {
      const Figures &f = run.found.points[*run.best].figures, *all = kept_all(run);
      fit.set("point", *run.best).set("peak_bytes", peak_of(run, request, f));
      if (all != nullptr) fit.set("slowdown", latency_of(f) / latency_of(*all));
    }
    out.set("fit", std::move(fit));
  }
  return out;
}

}  // namespace monet
