// What `monet explain` prints, and its document.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "monet/report/nest.h"
#include "monet/report/table.h"
#include "monet/verbs/explain.h"
#include "monet/verbs/explain_flow.h"
#include "monet/verbs/explain_inputs.h"
#include "monet/verbs/explain_levers.h"

namespace monet {
namespace {

using hardware::Provenance;

constexpr std::size_t kShownLayers = 20;

std::string share_of_all(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : std::string("-");
}

// ---- All layers ----

std::string layers_text(const Explanation& x) {
  if (x.layers.empty() || x.is_named) return "";
  double latency = 0, energy = 0;
  for (const LayerShare& l : x.layers) latency += l.latency, energy += l.energy_pj;
  std::vector<std::size_t> order(x.layers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const bool by_energy = x.what == "energy";
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return by_energy ? x.layers[a].energy_pj > x.layers[b].energy_pj : x.layers[a].latency > x.layers[b].latency;
  });
  Table table({by_energy ? "layers, most energy first" : "layers, longest first", "cycles", "of all", "energy",
               "of all", "bound by"});
  for (std::size_t k = 0; k < order.size() && k < kShownLayers; ++k) {
    const LayerShare& l = x.layers[order[k]];
    table.row({l.name, quantity(l.latency), share_of_all(l.latency, latency), energy_text(l.energy_pj),
               share_of_all(l.energy_pj, energy), l.bound});
  }
  if (order.size() > kShownLayers)
    table.row({fmt::format("… {} more (--json lists all)", order.size() - kShownLayers)});
  table.row({fmt::format("all {}, one after the other", x.layers.size()), quantity(latency),
             share_of_all(latency, latency), energy_text(energy), share_of_all(energy, energy)});
  return table.text("  ") + fmt::format("\nexplained below: {}, which has the most {}; LAYER/{} explains another\n\n",
                                        x.map.layers[x.layer].layer.name,
                                        x.what == "energy" || x.what == "stall" ? x.what : "latency", x.what);
}

// ---- Where it comes from ----

std::string lines_text(const Explanation& x) {
  std::string out;
  for (const ExplainedLine& line : x.lines) {
    if (line.equation == 0) {
      out += fmt::format("\n{}\n", line.name);
      continue;
    }
    const std::string terms = line.terms.empty() ? "" : fmt::format(" = {}", line.terms);
    out += fmt::format("  ({}) {}{} = {}\n", line.equation, line.name, terms, exact_number(line.value));
    if (!line.remark.empty()) out += fmt::format("       {}\n", line.remark);
    const char* from = "from";
    for (const ExplainedInput& input : line.inputs) {
      out += fmt::format("       {:4} {}\n", from, text(input));
      from = "";
    }
  }
  return out;
}

// Each publication, model or assumption once, with the figures that rest on it.
std::string sources_text(const Explanation& x) {
  std::vector<std::pair<std::string, std::vector<std::string>>> sources;
  for (const ExplainedLine& line : x.lines)
    for (const ExplainedInput& input : line.inputs) {
      if (input.source.empty()) continue;
      const bool is_model = input.provenance == Provenance::Modelled;
      const std::string key = fmt::format(
          "{}: {}{}",
          input.origin || input.provenance != Provenance::Given ? hardware::name(input.provenance) : "default",
          input.source, is_model && input.source.find("docs/") == std::string::npos ? " (docs/technology.md)" : "");
      auto found = std::find_if(sources.begin(), sources.end(), [&](const auto& s) { return s.first == key; });
      if (found == sources.end()) found = sources.insert(sources.end(), {key, {}});
      if (std::find(found->second.begin(), found->second.end(), input.name) == found->second.end())
        found->second.push_back(input.name);
    }
  std::string out;
  for (const auto& [source, names] : sources)
    out += fmt::format("  {}\n       for {}\n", source, fmt::join(names, ", "));
  return out.empty() ? "" : "\nsources of the inputs\n" + out;
}

// ---- What bounds it ----

std::string parts_text(const std::vector<BoundPart>& parts, const std::string& title, const std::string& unit,
                       const std::string& all, double total, const auto& shows, const auto& amount) {
  Table table({title, unit, "of all"});
  double shown = 0;
  bool is_complete = true;
  for (const BoundPart& part : parts) {
    is_complete = is_complete && shows(part);
    if (!shows(part)) continue;
    shown += part.value;
    table.row({part.name, amount(part.value), share_of_all(part.value, total)});
  }
  table.row({is_complete ? all : "together", amount(is_complete ? total : shown),
             share_of_all(is_complete ? total : shown, total)});
  return "\n" + table.text("  ");
}

std::string bound_text(const Explanation& x) {
  const cost::Evaluation& e = x.map.layers[x.layer].mapped->evaluation;
  const auto is_shown = [&](const BoundPart& part) {
    return (!x.operand || part.operand == x.operand) && (!x.memory || part.memory == x.memory);
  };
  std::string out;
  const bool is_part = x.operand || x.memory;
  if (x.what == "latency" || x.what == "stall")
    out += parts_text(
        x.bound.latency, "where the time goes", "cycles", "latency", e.latency, [](const BoundPart&) { return true; },
        quantity);
  if (x.what == "energy" || x.what == "accesses" || is_part)
    out += parts_text(x.bound.energy, "where the energy goes", "energy", "energy", e.energy_pj, is_shown, energy_text);
  out += "\n";
  if (x.what == "energy" || x.what == "accesses")
    out += fmt::format("largest     {}\n", x.bound.energy_by);
  else
    out += fmt::format("bound by    {}\n", x.bound.latency_by);
  return out;
}

// ---- What would help ----

std::string change_of(double now, double then) {
  if (now <= 0 || std::abs(then - now) < 0.5 * kLeastGain * now) return "-";
  return fmt::format("{:+.{}f} %", 100 * (then - now) / now, std::abs(then - now) < 0.001 * now ? 2 : 1);
}

std::string per_unit(const Lever& lever, double now, double then, std::string_view what) {
  double gain = (now - then) / std::abs(lever.to - lever.from);
  if (!(now - then >= 0.5 * kLeastGain * now) || lever.unit == "factor") return "-";
  const bool is_kib = lever.unit == "bit" && lever.to >= 8192;
  if (is_kib) gain *= 8192;
  return fmt::format("{} {} a {}", quantity(gain < 1000 ? gain : std::round(gain)), what, is_kib ? "KiB" : lever.unit);
}

std::string levers_text(const Explanation& x) {
  const cost::Evaluation& e = x.map.layers[x.layer].mapped->evaluation;
  if (x.levers.empty())
    return fmt::format(
        "\nnothing helps {}: no resource that is twice as much, and no energy a tenth less. Bound by {}\n",
        x.operand || x.memory ? "here" : "the " + (x.what == "levers" ? "layer" : x.what),
        x.by_energy ? x.bound.energy_by : x.bound.latency_by);
  Table table({"what would help, each alone", "latency", "remapped", "energy", "remapped", "saves per unit"});
  for (const Lever& lever : x.levers) {
    const bool searched = lever.is_searched;
    const std::string cycles = per_unit(lever, e.latency, std::min(lever.kept.latency, lever.anew.latency), "cycles");
    const std::string pj = per_unit(lever, e.energy_pj, std::min(lever.kept.energy_pj, lever.anew.energy_pj), "pJ");
    const std::string saves = (x.by_energy && pj != "-") || cycles == "-" ? pj : cycles;
    table.row({change_text(lever), change_of(e.latency, lever.kept.latency),
               searched ? change_of(e.latency, lever.anew.latency) : "", change_of(e.energy_pj, lever.kept.energy_pj),
               searched ? change_of(e.energy_pj, lever.anew.energy_pj) : "", saves});
  }
  return "\n" + table.text("  ") +
         "  first under the mapping as it is, then remapped: under the best one for the changed chip\n"
         "  kept as they are: energy per bit of a wider port, energy per access and leakage of a larger memory\n";
}

// ---- The document ----

Json input_json(const ExplainedInput& input) {
  return Json::object()
      .set("figure", input.name)
      .set("value", input.value)
      .set("unit", input.unit)
      .set("provenance", hardware::name(input.provenance))
      .set("file", input.origin ? Json(input.origin->file) : Json())
      .set("line", input.origin ? Json(static_cast<std::int64_t>(input.origin->line)) : Json())
      .set("source", input.source);
}

Json parts_json(const std::vector<BoundPart>& parts, const char* unit, double total) {
  Json out = Json::array();
  for (const BoundPart& part : parts)
    out.push(
        Json::object().set("name", part.name).set(unit, part.value).set("share", total > 0 ? part.value / total : 0));
  return out;
}

Json costs_json(const cost::Costs& costs) {
  return Json::object().set("latency_cycles", costs.latency).set("energy_pj", costs.energy_pj);
}

Json lever_json(const Lever& lever, const cost::Evaluation& now) {
  const double step = std::abs(lever.to - lever.from);
  return Json::object()
      .set("resource", lever.resource)
      .set("from", lever.from)
      .set("to", lever.to)
      .set("unit", lever.unit)
      .set("text", change_text(lever))
      .set("same_mapping", costs_json(lever.kept))
      .set("new_mapping", lever.is_searched ? costs_json(lever.anew) : Json())
      .set("gain_per_unit",
           costs_json({(now.energy_pj - lever.anew.energy_pj) / step, (now.latency - lever.anew.latency) / step}));
}

Json layers_json(const Explanation& x) {
  double latency = 0, energy = 0;
  for (const LayerShare& l : x.layers) latency += l.latency, energy += l.energy_pj;
  Json out = Json::array();
  for (const LayerShare& l : x.layers)
    out.push(Json::object()
                 .set("layer", l.name)
                 .set("feasible", l.is_feasible)
                 .set("latency_cycles", l.latency)
                 .set("latency_share", latency > 0 ? l.latency / latency : 0)
                 .set("energy_pj", l.energy_pj)
                 .set("energy_share", energy > 0 ? l.energy_pj / energy : 0)
                 .set("bound_by", l.bound));
  return out;
}

}  // namespace

std::string text(const Explanation& x) {
  const MapRun& run = x.map;
  const MappedLayer& layer = run.layers[x.layer];
  std::string out = layers_text(x) + fmt::format("{} of {} on {}/{}\n", x.what, layer.layer.name,
                                                 run.chip.hardware.name, run.chosen_core().name);
  if (!layer.mapped) {
    out += (layer.is_stopped ? "not known: " : "infeasible: ") + layer.reason + "\n";
    for (const std::string& lever : layer.levers) out += "  " + lever + "\n";
    return out;
  }
  if (!x.lines.empty()) out += "\n" + draw_nest(*layer.mapped, run.chosen_core(), "  ");
  if (!x.lines.empty() && x.lines[0].equation != 0) out += "\n";
  out += lines_text(x) + bound_text(x) + levers_text(x) + sources_text(x);
  return x.lines.empty() ? out : out + "\n(n) is equation n of docs/cost.md\n";
}

Json json(const Explanation& x) {
  const MappedLayer& layer = x.map.layers[x.layer];
  Json lines = Json::array(), levers = Json::array(), bound;
  for (const ExplainedLine& line : x.lines) {
    if (line.equation == 0) continue;
    Json where = Json::array();
    for (const ExplainedInput& input : line.inputs) where.push(input_json(input));
    lines.push(Json::object()
                   .set("equation", line.equation)
                   .set("name", line.name)
                   .set("terms", line.terms)
                   .set("value", line.value)
                   .set("remark", line.remark)
                   .set("where", std::move(where)));
  }
  if (layer.mapped) {
    const cost::Evaluation& e = layer.mapped->evaluation;
    for (const Lever& lever : x.levers) levers.push(lever_json(lever, e));
    bound = Json::object()
                .set("resource", x.bound.resource)
                .set("latency_by", x.bound.latency_by)
                .set("energy_by", x.bound.energy_by)
                .set("latency", parts_json(x.bound.latency, "cycles", e.latency))
                .set("energy", parts_json(x.bound.energy, "pj", e.energy_pj));
  }
  return Json::object()
      .set("layer", layer.layer.name)
      .set("what", x.what)
      .set("feasible", layer.mapped.has_value())
      .set("layers", layers_json(x))
      .set("lines", std::move(lines))
      .set("bound", std::move(bound))
      .set("levers", std::move(levers));
}

}  // namespace monet
