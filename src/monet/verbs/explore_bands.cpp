#include "monet/verbs/explore_bands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "monet/report/table.h"

namespace monet {
namespace {

// Of the modes that were asked for, in their order; the measured ones before those of other models.
std::vector<std::string> band_lines(const std::vector<ErrorBand>& bands, const ExploreRequest& request) {
  std::vector<std::string> out;
  for (const std::string mode : {"training", "inference"}) {
    if (request.evaluate.mode != "both" && request.evaluate.mode != mode) continue;
    for (const std::string figure : {"latency", "energy"}) {
      const std::size_t before = out.size();
      for (const bool is_measured : {true, false})
        for (const ErrorBand& band : bands)
          if (band.figure == figure && band.mode == mode && band.is_measured == is_measured) out.push_back(text(band));
      if (out.size() == before) out.push_back(fmt::format("{}, {}: nothing measured to compare with", figure, mode));
    }
  }
  return out;
}

std::string lead_text(const LatencyLead& lead, const std::string& workload) {
  std::string out = lead.ratio > 1 ? fmt::format("{}: point {} has the least latency, point {} {:.2g} % more", workload,
                                                 lead.best, lead.next, 100 * (lead.ratio - 1))
                                   : fmt::format("{}: {} points share the least latency, point {} among them", workload,
                                                 grouped(lead.shared), lead.best);
  if (lead.within == 0)
    return out + fmt::format("; the band spans a factor of {:.2f}, which is less than that", lead.span);
  return out + fmt::format("; {} of the {} other points are within the factor of {:.2f} that the band spans",
                           grouped(lead.within), grouped(lead.others), lead.span);
}

}  // namespace

std::vector<const ErrorBand*> latency_bands(const std::vector<ErrorBand>& bands, const ExploreRequest& request,
                                            std::size_t workloads) {
  std::vector<const ErrorBand*> out;
  for (std::size_t w = 0; w < workloads; ++w) out.push_back(measured_band(bands, "latency", mode_of(request, w)));
  return out;
}

std::vector<LatencyLead> latency_leads(const search::Explored& found, const search::ExplorationGoal& goal,
                                       const std::vector<const ErrorBand*>& bands) {
  std::vector<LatencyLead> out;
  for (std::size_t w = 0; w < bands.size(); ++w) {
    if (bands[w] == nullptr) continue;
    std::vector<std::pair<double, std::uint32_t>> latencies;
    for (std::uint32_t i = 0; i < found.points.size(); ++i)
      if (const search::ChipFigures& f = found.points[i].figures[w]; f.is_possible())
        latencies.emplace_back(goal.value(search::ChipObjective::Latency, f), i);
    if (latencies.size() < 2) continue;
    std::partial_sort(latencies.begin(), latencies.begin() + 2, latencies.end());
    const double best = latencies[0].first, span = bands[w]->span();
    const auto within = std::count_if(latencies.begin() + 1, latencies.end(),
                                      [&](const auto& other) { return other.first < span * best; });
    out.push_back({.workload = w,
                   .best = latencies[0].second,
                   .next = latencies[1].second,
                   .ratio = latencies[1].first / best,
                   .shared = static_cast<std::size_t>(std::count_if(
                       latencies.begin(), latencies.end(), [&](const auto& other) { return other.first == best; })),
                   .others = latencies.size() - 1,
                   .within = static_cast<std::size_t>(within),
                   .span = span});
  }
  return out;
}

std::string bands_text(const ExploreRun& run, const ExploreRequest& request) {
  const std::vector<search::Workload>& workloads = run.problem.exploration->workloads();
  const std::vector<ErrorBand> bands = error_bands();
  const std::vector<const ErrorBand*> by_workload = latency_bands(bands, request, workloads.size());
  std::string out = "\nhow far the model was from measurements (monet validate; all rows that could be compared)\n";
  for (const std::string& line : band_lines(bands, request)) out += "  " + line + "\n";
  const std::vector<LatencyLead> leads = latency_leads(run.found, run.problem.goal, by_workload);
  bool is_open = false;
  for (const LatencyLead& lead : leads) {
    out += "  " + lead_text(lead, workloads[lead.workload].name) + "\n";
    is_open = is_open || lead.within > 0;
  }
  std::size_t regrets = 0, below = 0;
  for (const search::Regret& r : run.regrets) {
    if (r.by != search::ChosenBy::Latency || !r.ratio || by_workload[r.used_for] == nullptr) continue;
    ++regrets;
    below += *r.ratio < by_workload[r.used_for]->span() ? 1u : 0u;
  }
  if (regrets > 0) out += fmt::format("  of {} regrets by latency, {} are below that factor\n", regrets, below);
  if (!is_open && below == 0) return out;
  out +=
      "  within it, an order of chips holds as far as they share the model's error, which cancels then; how much chips "
      "of one space share was not measured\n";
  for (const ErrorBand& band : bands)
    if (const auto same = band.same_workload();
        same && std::find(by_workload.begin(), by_workload.end(), &band) != by_workload.end())
      out += fmt::format("  {}: on one workload ({}) the errors of {} differ by a factor of {:.2f}\n", band.mode,
                         same->workload, fmt::join(same->chips, ", "), same->span);
  return out;
}

Json bands_json(const ExploreRun& run, const ExploreRequest& request) {
  const std::vector<search::Workload>& workloads = run.problem.exploration->workloads();
  const std::vector<ErrorBand> bands = error_bands();
  Json all = Json::array(), leads = Json::array();
  for (const ErrorBand& band : bands)
    if (request.evaluate.mode == "both" || request.evaluate.mode == band.mode) all.push(json(band));
  for (const LatencyLead& lead :
       latency_leads(run.found, run.problem.goal, latency_bands(bands, request, workloads.size())))
    leads.push(Json::object()
                   .set("workload", workloads[lead.workload].name)
                   .set("best", lead.best * workloads.size() + lead.workload)
                   .set("next", lead.next * workloads.size() + lead.workload)
                   .set("ratio", lead.ratio)
                   .set("span", lead.span)
                   .set("others", lead.others)
                   .set("within", lead.within));
  return Json::object().set("bands", std::move(all)).set("latency_leads", std::move(leads));
}

}  // namespace monet
