#include "monet/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/report/document.h"
#include "monet/report/page_parts.h"

namespace monet {
namespace {

std::string figure(const std::string& name, const std::string& value, const std::string& more) {
  return fmt::format("<div class=\"figure\"><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", html(name), html(value),
                     html(more));
}

double array_lanes(const plan::Chip& chip) {
  double total = 0;
  for (const plan::CoreOnChip& core : chip.cores) {
    if (!core.core.array) continue;
    double lanes = 1;
    for (const hardware::ArrayDimension& d : core.core.array->dimensions) lanes *= static_cast<double>(d.size);
    total += lanes;
  }
  return total;
}

std::string heading(const PageInput& in) {
  const PageOptions& o = in.options;
  std::string details;
  for (const auto& [key, value] : o.details) details += fmt::format("<li>{} <b>{}</b></li>", html(key), html(value));
  const std::string model = o.model.empty() ? in.graph.name : o.model;
  return fmt::format("<header><h1>{}{}{}</h1>\n<p class=\"mode\">{}</p>\n<ul class=\"details\">{}</ul></header>\n",
                     html(model), o.chip.empty() ? "" : " <span>on</span> ", html(o.chip), html(o.mode), details);
}

std::string footer(const PageInput& in) {
  std::string notes;
  for (const std::string& note : in.e.tiled.notes) notes += fmt::format("<li>{}</li>", html(note));
  return fmt::format("<footer>{}<p>monet {}{}</p></footer>\n", notes.empty() ? "" : "<ul>" + notes + "</ul>",
                     html(version()),
                     in.options.command.empty() ? "" : " · <code>" + html(in.options.command) + "</code>");
}

std::string document(const PageInput& in) {
  ScriptData data;
  const std::string body = heading(in) + figures_section(in) + energy_section(in) + gantt_section(in, data) +
                           memory_section(in, data) + path_section(in) + nodes_section(in) + tensors_section(in) +
                           footer(in);
  const std::string title = in.options.model.empty() ? in.graph.name : in.options.model;
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
  out += fmt::format("<title>{}{}{}</title>\n<style>{}</style></head>\n<body><main>\n", html(title),
                     in.options.chip.empty() ? "" : " on ", html(in.options.chip), page_style());
  out += body;
  out += "</main>\n<div id=\"tip\" role=\"status\" hidden=\"hidden\"></div>\n";
  out += "<script type=\"application/json\" id=\"data\">" + data.json(in) + "</script>\n";
  out += fmt::format("<script>{}</script>\n</body></html>\n", page_script());
  return out;
}

}  // namespace

std::string figures_section(const PageInput& in) {
  const schedule::Evaluation& e = in.e;
  const double pj = e.energy.total(), macs = schedule::sum(e.macs),
               seconds = e.clock_hz > 0 ? e.latency / e.clock_hz : 0;
  std::string out = "<dl class=\"figures\">\n";
  out += seconds > 0 ? figure("latency", in.time.text(e.latency), cycles_text(e.latency))
                     : figure("latency", in.time.text(e.latency), "the clock is not known");
  out += figure("energy", pj_text(pj), seconds > 0 ? watt_text(pj * 1e-12 / seconds) + " on average" : "");
  double on_chip = 0;
  for (std::size_t s = 0; s < e.stores.size(); ++s)
    if (s != in.chip.machine.home.index()) on_chip += e.stores[s].peak_bytes;
  const double home = e.stores.empty() ? 0 : e.stores[in.chip.machine.home.index()].peak_bytes;
  out += figure(
      "peak memory", bytes_text(e.peak_total_bytes),
      fmt::format("{} {}, others {}", in.store_name(in.chip.machine.home), bytes_text(home), bytes_text(on_chip)));
  out += figure("multiply-adds", count_text(macs), count_text(schedule::sum(e.vector_ops)) + " vector operations");
  const double possible = array_lanes(in.chip) * e.latency;
  double busy = 0;
  for (const schedule::UnitUse& unit : e.units) busy += unit.busy;
  const double units = static_cast<double>(e.units.size()) * e.latency;
  out += figure("array utilisation", percent_text(possible > 0 ? macs / possible : 0),
                fmt::format("units busy {} of the time", percent_text(units > 0 ? busy / units : 0)));
  return out + "</dl>\n";
}

std::string energy_section(const PageInput& in) {
  const schedule::Energy& energy = in.e.energy;
  std::vector<BarPart> parts{{"compute", "e0", pj_text(energy.compute), energy.compute}};
  // Levels of memory share one colour in several depths.
  std::size_t level = 0;
  for (const auto& [name, pj] : energy.memory)
    parts.push_back({name, fmt::format("m{}", level++ % 6), pj_text(pj), pj});
  parts.push_back({"links", "e1", pj_text(energy.link), energy.link});
  parts.push_back({"off-chip", "e2", pj_text(energy.offchip), energy.offchip});
  parts.push_back({"leakage", "e3", pj_text(energy.leakage), energy.leakage});
  const auto by_phase = [&](const schedule::ByPhase& values, const auto& text) {
    std::vector<BarPart> out;
    for (std::size_t p = 0; p < kPhases; ++p)
      out.push_back({std::string(name(static_cast<Phase>(p))), fmt::format("p{}", p), text(values[p]), values[p]});
    return out;
  };
  const std::string total = pj_text(energy.total());
  return "<section class=\"bars\"><h2>Energy and time</h2>\n" + bar("Energy by part", total, parts) +
         bar("Energy by phase", total, by_phase(in.e.energy_by_phase, [](double pj) { return pj_text(pj); })) +
         bar("Latency by phase", in.time.text(in.e.latency),
             by_phase(in.e.latency_by_phase, [&](double cycles) { return in.time.own_text(cycles); })) +
         "</section>\n";
}

std::size_t ScriptData::name(const std::string& text) {
  const auto [at, is_new] = index_.try_emplace(text, names_.size());
  if (is_new) names_.push_back(text);
  return at->second;
}

std::string ScriptData::json(const PageInput& in) const {
  const auto joined = [](const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) out += (out.empty() ? "" : ",\n") + part;
    return out;
  };
  std::vector<std::string> names;
  for (const std::string& text : names_) names.push_back(script_string(text));
  std::vector<std::string> phases, uses;
  for (std::size_t p = 0; p < kPhases; ++p) phases.push_back(script_string(monet::name(static_cast<Phase>(p))));
  for (std::size_t u = 0; u < schedule::kMemoryUses; ++u)
    uses.push_back(script_string(schedule::name(static_cast<schedule::MemoryUse>(u))));
  return fmt::format(
      "{{\"width\":{},\"left\":{},\"plot\":{},\"latency\":{},\"perCycle\":{},\"unit\":{},\n\"phases\":[{}],\n\"uses\":["
      "{}],\n"
      "\"names\":[{}],\n\"rows\":[{}],\n\"stores\":[{}]}}",
      kDrawingWidth, kPlotLeft, kPlotWidth, in.e.latency, in.time.per_cycle(), script_string(in.time.unit()),
      joined(phases), joined(uses), joined(names), joined(rows_), joined(stores_));
}

std::string page_html(const Graph& graph, const plan::Chip& chip, const schedule::Evaluation& evaluation,
                      const PageOptions& options) {
  PageInput in{.graph = graph,
               .chip = chip,
               .e = evaluation,
               .options = options,
               .time = TimeScale(evaluation.clock_hz, evaluation.latency),
               .moves = moves_of(evaluation)};
  std::string page = document(in);
  for (; page.size() > options.most_bytes && in.coarseness < 32; page = document(in)) in.coarseness *= 2;
  return page;
}

}  // namespace monet
