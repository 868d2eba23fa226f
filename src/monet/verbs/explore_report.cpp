#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "monet/report/nest.h"
#include "monet/report/table.h"
#include "monet/verbs/explore_bands.h"

namespace monet {
namespace {

using search::ChipFigures;
using search::ChipObjective;
using search::ExploredPoint;

constexpr std::size_t kFrontShown = 12;

std::vector<std::string> variable_names(const ExploreProblem& problem) {
  std::vector<std::string> names;
  for (const std::size_t v : problem.family->free()) names.push_back(problem.family->space().variables[v].name);
  for (const search::Axis& axis : problem.exploration->axes()) names.push_back(axis.name);
  return names;
}
std::vector<std::string> decision_of(const ExploreProblem& problem, const search::Candidate& candidate) {
  std::vector<std::string> out = problem.exploration->values(candidate);
  for (std::string& way : problem.exploration->ways(candidate)) out.push_back(std::move(way));
  return out;
}
std::string latency_text(const ChipFigures& f) {
  return f.latency_s > 0 ? seconds_text(f.latency_s / f.samples) : quantity(f.latency_cycles / f.samples) + " cycles";
}

// `band`: of measured latencies; null: there is none.
Table front_table(const ExploreRun& run, std::size_t workload, const std::vector<std::uint32_t>& front,
                  const ErrorBand* band) {
  std::vector<std::string> header{"point"};
  for (std::string& name : variable_names(run.problem)) header.push_back(std::move(name));
  const bool is_by_sample = std::any_of(
      front.begin(), front.end(), [&](std::uint32_t i) { return run.found.points[i].figures[workload].samples != 1; });
  const std::string each = is_by_sample ? " a sample" : "";
  header.push_back(band == nullptr
                       ? "latency" + each
                       : fmt::format("latency{} ({:+.0f} to {:+.0f} %)", each, 100 * band->low(), 100 * band->high()));
  header.insert(header.end(), {"energy" + each, "area mm2", "TDP W", "of peak MACs", "off-chip" + each});
  const std::vector<ChipObjective>& objectives = run.problem.goal.objectives;
  const bool has_peak = std::find(objectives.begin(), objectives.end(), ChipObjective::Peak) != objectives.end();
  if (has_peak) header.emplace_back("peak memory");
  Table table(header);
  const std::size_t shown = std::min(front.size(), kFrontShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::uint32_t at = shown == front.size() ? front[i] : front[i * (front.size() - 1) / (shown - 1)];
    const ExploredPoint& p = run.found.points[at];
    const ChipFigures& f = p.figures[workload];
    std::vector<std::string> row{std::to_string(at)};
    for (std::string& value : decision_of(run.problem, p.candidate)) row.push_back(std::move(value));
    row.insert(row.end(), {latency_text(f), energy_text(f.energy_pj / f.samples), fmt::format("{:.4g}", f.area_mm2),
                           f.latency_s > 0 ? fmt::format("{:.4g}", f.tdp_w) : "-",
                           fmt::format("{:.1f} %", 100 * f.utilisation), byte_count(f.offchip_bytes / f.samples)});
    if (has_peak) row.push_back(byte_count(f.peak_total_bytes));
    table.row(std::move(row));
  }
  return table;
}

// "64, 128, 256"; of many those at the ends.
std::string values_text(const std::vector<std::string>& values) {
  constexpr std::size_t kShown = 16, kAtEachEnd = 3;
  if (values.size() <= kShown) return fmt::format("{}", fmt::join(values, ", "));
  return fmt::format("{}, …, {} ({} values)", fmt::join(values.begin(), values.begin() + kAtEachEnd, ", "),
                     fmt::join(values.end() - kAtEachEnd, values.end(), ", "), grouped(values.size()));
}

// Reasons with figures in them are many: those that differ in their digits alone are one.
std::string without_digits(const std::string& reason) {
  std::string out;
  for (const char c : reason)
    if (c < '0' || c > '9') out += c;
  return out;
}

std::string reasons_text(const ExploreRun& run) {
  struct Reason {
    std::size_t count = 0;
    std::string workloads{}, example{};
  };
  const std::vector<search::Workload>& workloads = run.problem.exploration->workloads();
  std::map<std::string, Reason> reasons;  // of a point: for all workloads alike, or for each its own
  const auto add = [&](const std::string& where, const std::string& reason) {
    Reason& r = reasons[where + "\n" + without_digits(reason)];
    if (r.count++ == 0) r = {1, where, reason};
  };
  for (const ExploredPoint& p : run.found.points) {
    const bool is_chip = std::all_of(p.figures.begin(), p.figures.end(), [&](const ChipFigures& f) {
      return !f.is_possible() && without_digits(f.reason) == without_digits(p.figures[0].reason);
    });
    if (is_chip && !p.figures.empty()) add("", p.figures[0].reason);
    for (std::size_t w = 0; w < p.figures.size() && !is_chip; ++w)
      if (!p.figures[w].is_possible()) add(" for " + workloads[w].name, p.figures[w].reason);
  }
  std::vector<Reason> sorted;
  for (const auto& [key, r] : reasons) sorted.push_back(r);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Reason& a, const Reason& b) { return a.count > b.count; });
  std::string out;
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(kShown, sorted.size()); ++i)
    out += fmt::format("  {} not possible{}, such as: {}\n", grouped(sorted[i].count), sorted[i].workloads,
                       sorted[i].example);
  if (sorted.size() > kShown) out += fmt::format("  and {} other reasons\n", sorted.size() - kShown);
  return out;
}

std::string end_words(const ExploreRun& run, const ExploreRequest& request) {
  const search::Exploration& e = *run.problem.exploration;
  std::string out = fmt::format("{} of {} points", grouped(run.found.points.size()), point_count(e.size()));
  if (run.looked_up > 0) out += fmt::format(" ({} results looked up)", grouped(run.looked_up));
  if (run.shared > 0) out += fmt::format(", {} chips that others are, too", grouped(run.shared));
  if (run.found.pruned > 0) out += fmt::format(", {} left out", grouped(run.found.pruned));
  if (run.found.end == solve::Nsga2End::Stopped)
    out += request.store.empty() ? ", stopped early" : ", stopped early: --resume goes on";
  else if (static_cast<double>(run.found.points.size()) >= e.size())
    out += ": all there are, the fronts are exact";
  else if (request.strategy == "prune")
    out += " that bounds keep off every front: the fronts are exact";
  else
    out += fmt::format(" by {}", request.strategy);
  return out + "\n";
}

std::string change_text(const search::SensitivityCase& c) {
  return fmt::format("{} x {:.3g}", c.constant.name, c.factor);
}
void add_change(const search::SensitivityCase& c, std::string& list) {
  list += (list.empty() ? "" : ", ") + change_text(c);
}

// "33, or 12 (pe.buffer.leakage x 0.7)": whether the best point stays the best.
std::string winner_text(const search::Sensitivity& s, std::size_t workload,
                        std::optional<std::uint32_t> search::BestPoints::*by) {
  using Best = std::optional<std::uint32_t>;  // none: nothing is possible
  const Best best = s.as_it_is[workload].*by;
  std::map<Best, std::string> others;
  for (const search::SensitivityCase& c : s.cases)
    if (const Best now = c.outcomes[workload].best.*by; now != best) add_change(c, others[now]);
  std::string out = best ? fmt::format("point {}", *best) : "none";
  if (others.empty()) return out + (s.is_complete() ? " always" : " so far");
  for (const auto& [point, why] : others)
    out += fmt::format(", or {} ({})", point ? std::to_string(*point) : "none", why);
  return out;
}

// Where constraints on area or power hang on a constant.
std::string constraints_text(const search::Sensitivity& s) {
  const auto most = [&](std::size_t search::SensitivityCase::*member, const char* what) -> std::string {
    const auto c = std::max_element(s.cases.begin(), s.cases.end(),
                                    [&](const auto& a, const auto& b) { return a.*member < b.*member; });
    if (c == s.cases.end() || (*c).*member == 0) return "";
    return fmt::format("  up to {} points {} ({})\n", grouped((*c).*member), what, change_text(*c));
  };
  return most(&search::SensitivityCase::opened, "become valid, and are evaluated") +
         most(&search::SensitivityCase::closed, "break a constraint, and are out");
}

std::string sensitivity_text(const ExploreRun& run) {
  const search::Sensitivity& s = *run.sensitivity;
  const std::vector<search::Workload>& workloads = run.problem.exploration->workloads();
  std::string out =
      fmt::format("\nwhat holds if one of {} constants that are modelled or assumed is {:.3g} % smaller or larger\n",
                  s.constants, 100 * s.share);
  if (static_cast<double>(run.found.points.size()) < run.problem.exploration->size())
    out +=
        fmt::format("  among the {} points that were evaluated, which are not all\n", grouped(run.found.points.size()));
  if (!s.is_complete())
    out +=
        fmt::format("  stopped after {} of {} cases: nothing is said of the others\n", s.cases.size(), 2 * s.constants);
  if (s.cases.empty() && s.constants > 0) return out;
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    out += fmt::format("  {}: best in latency {}; in energy {}; in their product {}\n", workloads[w].name,
                       winner_text(s, w, &search::BestPoints::latency), winner_text(s, w, &search::BestPoints::energy),
                       winner_text(s, w, &search::BestPoints::edp));
    std::size_t least_kept = run.found.fronts[w].size(), most_entered = 0;
    double least_hold = 1;
    bool has_unknown = false;
    std::string worst, nothing;
    for (const search::SensitivityCase& c : s.cases) {
      least_kept = std::min(least_kept, c.outcomes[w].kept);
      most_entered = std::max(most_entered, c.outcomes[w].entered);
      if (!c.outcomes[w].hold && !run.found.fronts[w].empty()) add_change(c, nothing);
      has_unknown |= std::isnan(c.outcomes[w].hold.value_or(1));
      if (c.outcomes[w].hold.value_or(1) < least_hold) {
        least_hold = *c.outcomes[w].hold;
        worst = fmt::format(" ({})", change_text(c));
      }
    }
    out += fmt::format(
        "    its front of {}: at least {} stay on it, at most {} come in; the old one has {} of the new one's "
        "hypervolume{}{}{}\n",
        run.found.fronts[w].size(), least_kept, most_entered,
        has_unknown ? "an unknown part" : fmt::format("{:.2f} %", 100 * least_hold), has_unknown ? "" : " or more",
        has_unknown ? " (too many objectives for so many points)" : worst,
        nothing.empty() ? "" : fmt::format("; nothing is possible with {}", nothing));
  }
  out += constraints_text(s);
  for (std::size_t r = 0; r < run.regrets.size(); ++r) {
    const search::Regret& now = run.regrets[r];
    double least = std::numeric_limits<double>::infinity(), most = 0;
    std::string without;
    const auto add = [&](double ratio) {
      least = std::min(least, ratio);
      most = std::max(most, ratio);
    };
    if (now.ratio) add(*now.ratio);
    for (const search::SensitivityCase& c : s.cases) {
      if (c.regrets[r].ratio)
        add(*c.regrets[r].ratio);
      else if (now.ratio)
        add_change(c, without);
    }
    if (most == 0) continue;  // never possible
    out += fmt::format("  regret of the chip for {} in {}, by {}: {} ({:+.1f} to {:+.1f}{})\n",
                       workloads[now.chosen_for].name, workloads[now.used_for].name, name(now.by),
                       now.ratio ? fmt::format("{:+.1f} %", 100 * (*now.ratio - 1)) : "not possible", 100 * (least - 1),
                       100 * (most - 1), without.empty() ? "" : fmt::format("; not possible with {}", without));
  }
  out += "  latency hangs on none of them but efficiencies of bursts: its own error is the band below\n";
  return out;
}

Json ratio_json(const search::Regret& r) { return r.ratio ? Json(*r.ratio) : Json(); }

Json sensitivity_json(const ExploreRun& run) {
  const search::Sensitivity& s = *run.sensitivity;
  const std::vector<search::Workload>& workloads = run.problem.exploration->workloads();
  const auto best_json = [](const search::BestPoints& b) {
    const auto index = [](std::optional<std::uint32_t> i) { return i ? Json(*i) : Json(); };
    return Json::object().set("latency", index(b.latency)).set("energy", index(b.energy)).set("edp", index(b.edp));
  };
  Json as_it_is = Json::array(), cases = Json::array();
  for (std::size_t w = 0; w < workloads.size(); ++w)
    as_it_is.push(Json::object().set("workload", workloads[w].name).set("best", best_json(s.as_it_is[w])));
  for (const search::SensitivityCase& c : s.cases) {
    Json outcomes = Json::array(), regrets = Json::array();
    for (std::size_t w = 0; w < workloads.size(); ++w)
      outcomes.push(Json::object()
                        .set("workload", workloads[w].name)
                        .set("best", best_json(c.outcomes[w].best))
                        .set("front_kept", c.outcomes[w].kept)
                        .set("front_entered", c.outcomes[w].entered)
                        .set("hypervolume_held", c.outcomes[w].hold ? Json(*c.outcomes[w].hold) : Json()));
    for (const search::Regret& r : c.regrets) regrets.push(ratio_json(r));
    cases.push(Json::object()
                   .set("constant", c.constant.name)
                   .set("provenance", hardware::name(c.constant.provenance))
                   .set("factor", c.factor)
                   .set("run_again", c.run_again)
                   .set("became_valid", c.opened)
                   .set("became_invalid", c.closed)
                   .set("outcomes", std::move(outcomes))
                   .set("regret_ratios", std::move(regrets)));
  }
  return Json::object()
      .set("share", s.share)
      .set("constants", s.constants)
      .set("complete", s.is_complete())
      .set("as_it_is", std::move(as_it_is))
      .set("cases", std::move(cases));
}

Json volume_json(const solve::FrontVolume& v) {
  return Json::object()
      .set("hypervolume", v.volume)
      .set("hypervolume_share", v.share)
      .set("reference", Json(v.reference));
}

}  // namespace

std::string text(const ExploreRun& run, const ExploreRequest& request) {
  const search::Exploration& e = *run.problem.exploration;
  std::string out =
      fmt::format("{} on the space {} ({}{})\n", fmt::join(request.models, ", "), run.problem.family->space().name,
                  request.evaluate.mode == "both" ? "training and inference" : request.evaluate.mode,
                  request.evaluate.model.batch ? fmt::format(", batch {}", *request.evaluate.model.batch) : "");
  out += end_words(run, request);
  out += reasons_text(run);
  const std::vector<ErrorBand> bands = error_bands();
  for (std::size_t w = 0; w < e.workloads().size(); ++w) {
    const std::vector<std::uint32_t>& front = run.found.fronts[w];
    out += fmt::format("\n{}: front of {} points in {}, {}\n", e.workloads()[w].name, grouped(front.size()),
                       request.objectives,
                       std::isnan(run.volumes[w].volume)
                           ? "hypervolume unknown (too many objectives for so many points)"
                           : fmt::format("hypervolume {:.4f} of the box before 1.1 × its worst", run.volumes[w].share));
    if (!front.empty())
      out += front_table(run, w, front, measured_band(bands, "latency", mode_of(request, w))).text("  ");
  }
  if (e.workloads().size() > 1) {
    out += fmt::format("\nall together: {} points on the common front\n", grouped(run.found.common.size()));
    Table table({"the chip best for", "by", "point", "used for", "costs", "instead of point"});
    bool is_any = false;
    for (const search::Regret& r : run.regrets) {
      if (!r.point) continue;
      is_any = true;
      const std::string& used_for = e.workloads()[r.used_for].name;
      table.row({e.workloads()[r.chosen_for].name, std::string(name(r.by)), std::to_string(*r.point), used_for,
                 r.ratio ? fmt::format("{:+.1f} % {}", 100 * (*r.ratio - 1), name(r.by))
                         : used_for + " is not possible on it",
                 r.best ? std::to_string(*r.best) : "none"});
    }
    if (is_any) out += table.text("  ");
  }
  if (run.sensitivity) out += sensitivity_text(run);
  const bool is_any = std::any_of(run.found.fronts.begin(), run.found.fronts.end(),
                                  [](const std::vector<std::uint32_t>& front) { return !front.empty(); });
  return is_any ? out + bands_text(run, request) : out;
}

std::string csv(const ExploreRun& run) {
  std::string out = "point";
  for (const std::string& name : variable_names(run.problem)) out += "," + csv_cell(name);
  out += ",workload,feasible,on_front,on_common_front";
  const std::vector<std::string> figures = search::figure_names();
  for (const std::string& name : figures) out += "," + name;
  out += ",reason\n";
  const std::vector<search::Workload>& workloads = run.problem.exploration->workloads();
  std::vector<std::vector<bool>> on_front(workloads.size(), std::vector<bool>(run.found.points.size(), false));
  std::vector<bool> on_common(run.found.points.size(), false);
  for (std::size_t w = 0; w < workloads.size(); ++w)
    for (const std::uint32_t i : run.found.fronts[w]) on_front[w][i] = true;
  for (const std::uint32_t i : run.found.common) on_common[i] = true;
  for (std::size_t i = 0; i < run.found.points.size(); ++i) {
    const ExploredPoint& p = run.found.points[i];
    std::string decision;
    for (const std::string& value : decision_of(run.problem, p.candidate)) decision += "," + csv_cell(value);
    for (std::size_t w = 0; w < p.figures.size(); ++w) {
      const ChipFigures& f = p.figures[w];
      out += fmt::format("{}{},{},{:d},{:d},{:d}", i, decision, csv_cell(workloads[w].name), f.is_possible(),
                         bool(on_front[w][i]), bool(on_common[i]));
      const std::vector<double> numbers = search::numbers_of(f);
      for (std::size_t k = 0; k < numbers.size(); ++k)
        out += f.is_possible() && (f.latency_s > 0 || !search::needs_clock(figures[k])) ? fmt::format(",{}", numbers[k])
                                                                                        : ",";
      out += "," + csv_cell(f.reason) + "\n";
    }
  }
  return out;
}

Json json(const ExploreRun& run, const ExploreRequest& request) {
  const search::Exploration& e = *run.problem.exploration;
  const std::vector<std::string> names = variable_names(run.problem);
  const std::vector<std::string> figures = search::figure_names();
  Json points = Json::array(), fronts = Json::array(), common = Json::array(), regrets = Json::array();
  const std::size_t workloads = e.workloads().size();
  for (const ExploredPoint& p : run.found.points) {
    const std::vector<std::string> values = decision_of(run.problem, p.candidate);
    for (std::size_t w = 0; w < p.figures.size(); ++w) {
      const ChipFigures& f = p.figures[w];
      Json decision = Json::object();
      for (std::size_t i = 0; i < names.size(); ++i) decision.set(names[i], values[i]);
      Json point = Json::object();
      point.set("decision", std::move(decision))
          .set("workload", e.workloads()[w].name)
          .set("feasible", f.is_possible());
      if (!f.is_possible()) {
        points.push(std::move(point.set("reason", f.reason)));
        continue;
      }
      const std::vector<double> numbers = search::numbers_of(f);
      for (std::size_t i = 0; i < figures.size(); ++i)
        point.set(figures[i], search::needs_clock(figures[i]) && f.latency_s == 0 ? Json() : Json(numbers[i]));
      points.push(std::move(point));
    }
  }
  // A point of JSON is a candidate with a workload.
  const auto row = [&](std::uint32_t point, std::size_t workload) { return point * workloads + workload; };
  Json front = Json::array();
  for (std::size_t w = 0; w < workloads; ++w) {
    Json rows = Json::array();
    for (const std::uint32_t i : run.found.fronts[w]) {
      rows.push(row(i, w));
      front.push(row(i, w));
    }
    fronts.push(volume_json(run.volumes[w]).set("workload", e.workloads()[w].name).set("front", std::move(rows)));
  }
  for (const std::uint32_t i : run.found.common) common.push(row(i, 0));
  for (const search::Regret& r : run.regrets)
    regrets.push(Json::object()
                     .set("chosen_for", e.workloads()[r.chosen_for].name)
                     .set("used_for", e.workloads()[r.used_for].name)
                     .set("by", name(r.by))
                     .set("chosen", r.point ? Json(row(*r.point, r.used_for)) : Json())
                     .set("best", r.best ? Json(row(*r.best, r.used_for)) : Json())
                     .set("ratio", ratio_json(r)));
  Json objectives = Json::array();
  for (const ChipObjective o : run.problem.goal.objectives) objectives.push(std::string(search::key_name(o)));
  return Json::object()
      .set("space", run.problem.family->space().name)
      .set("size", e.size())
      .set("strategy", request.strategy)
      .set("objectives", std::move(objectives))
      .set("evaluations", run.found.points.size())
      .set("pruned", run.found.pruned)
      .set("complete",
           run.found.end != solve::Nsga2End::Stopped && (!run.sensitivity || run.sensitivity->is_complete()))
      .set("points", std::move(points))
      .set("front", std::move(front))
      .set("hypervolume", workloads == 1 ? Json(run.volumes[0].volume) : Json(run.common_volume.volume))
      .set("reference", Json(workloads == 1 ? run.volumes[0].reference : run.common_volume.reference))
      .set("fronts", std::move(fronts))
      .set("common_front", std::move(common))
      .set("regret", std::move(regrets))
      .set("sensitivity", run.sensitivity ? sensitivity_json(run) : Json())
      .set("validation", bands_json(run, request));
}

std::string text(const SpaceCount& count, const ExploreProblem& problem) {
  const hardware::Space& space = problem.family->space();
  std::string out =
      space.description.empty() ? space.name + "\n" : fmt::format("{}: {}\n", space.name, space.description);
  Table table({"variable", "values"});
  for (const hardware::Variable& v : space.variables)
    table.row({v.name, v.is_free() ? values_text(v.values) : "= " + v.computed});
  out += table.text("  ");
  const bool is_all = static_cast<double>(count.looked_at) >= count.points;
  out += fmt::format(
      "{} points{}, {} valid{}\n", point_count(count.points),
      is_all ? "" : fmt::format(", {} of them drawn at random", grouped(count.looked_at)), grouped(count.valid),
      is_all
          ? ""
          : fmt::format(" ({:.2f} %)", 100 * static_cast<double>(count.valid) / static_cast<double>(count.looked_at)));
  for (const SpaceCount::Broken& b : count.broken)
    if (b.count > 0) out += fmt::format("  {} not, by {}; {}\n", grouped(b.count), b.what, b.example);
  if (const double all = problem.exploration->size(); all > count.points)
    out += fmt::format("with what is decided together with the chip (--also): {} points\n", point_count(all));
  if (count.valid > 0)
    out += fmt::format("area {:.4g} to {:.4g} mm2, {}\n", count.least_area, count.most_area,
                       count.has_power ? fmt::format("TDP {:.4g} to {:.4g} W", count.least_tdp, count.most_tdp)
                                       : "no clock, so no TDP");
  return out;
}

Json json(const SpaceCount& count) {
  Json broken = Json::array();
  for (const SpaceCount::Broken& b : count.broken)
    if (b.count > 0) broken.push(Json::object().set("by", b.what).set("count", b.count).set("example", b.example));
  return Json::object()
      .set("size", count.points)
      .set("looked_at", count.looked_at)
      .set("valid", count.valid)
      .set("invalid", std::move(broken))
      .set("area_mm2", Json::array().push(count.least_area).push(count.most_area))
      .set("tdp_w", count.has_power ? Json::array().push(count.least_tdp).push(count.most_tdp) : Json());
}

Json options_json(const ExploreRequest& r) {
  Json out = options_json(r.evaluate);
  out.set("models", Json(r.models)).set("space", r.space).set("strategy", r.strategy).set("objectives", r.objectives);
  out.set("also", Json(r.also));
  out.set("area_mm2", r.area_mm2 ? Json(*r.area_mm2) : Json()).set("tdp_w", r.tdp_w ? Json(*r.tdp_w) : Json());
  out.set("sensitivity", r.sensitivity ? Json(*r.sensitivity) : Json());
  if (r.strategy != "grid" && r.strategy != "prune") out.set("evaluations", r.evaluations).set("seed", r.seed);
  return out;
}

std::vector<std::pair<std::string, Json>> effort_json(const ExploreRun& run) {
  if (run.efforts.empty()) return {{"mappings_searched", run.problem.cache->searched()}, {"shared_points", run.shared}};
  std::uint64_t searched = 0;
  Json by_rank = Json::array();
  for (const RankEffort& e : run.efforts) {
    searched += e.mappings_searched;
    by_rank.push(Json::object()
                     .set("host", e.host)
                     .set("threads", e.threads)
                     .set("tasks", e.tasks)
                     .set("mappings_searched", e.mappings_searched)
                     .set("busy_s", e.busy_s)
                     .set("idle_s", e.idle_s));
  }
  return {{"mappings_searched", searched}, {"shared_points", run.shared}, {"by_rank", std::move(by_rank)}};
}

}  // namespace monet
