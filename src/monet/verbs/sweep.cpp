#include "monet/verbs/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "monet/base/nearest.h"
#include "monet/models/catalogue.h"
#include "monet/report/nest.h"
#include "monet/report/table.h"
#include "monet/verbs/cost_cache.h"
#include "monet/verbs/hardware.h"
#include "monet/verbs/refuse.h"

namespace monet {
namespace {

constexpr std::size_t kMostPoints = 100'000;
constexpr double kMostFactor = 1e6;
constexpr std::array<const char*, 8> kNames{"batch",     "microbatches",      "iterations",     "optimizer",
                                            "precision", "offchip_bandwidth", "link_bandwidth", "onchip_memory"};

SweepAxis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    refuse("--vary", fmt::format("'{}' is not name=value,value,…", text.substr(0, 60)), "such as batch=1,2,4");
  SweepAxis axis{.name = text.substr(0, equals)};
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma == at) refuse("--vary", fmt::format("an empty value in '{}'", text.substr(0, 60)));
    axis.values.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return axis;
}

std::int64_t whole(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1)
    refuse("--vary", fmt::format("{} of '{}' is not a whole number above zero", name, text.substr(0, 40)));
  return value;
}

double factor(const std::string& name, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0))
    refuse("--vary", fmt::format("{} of '{}' is not a factor above zero", name, text.substr(0, 40)));
  if (value > kMostFactor)
    refuse("--vary", fmt::format("{} of '{}' is above {:.0f}", name, text.substr(0, 40), kMostFactor),
           "factors are at most that");
  return value;
}

// "resnet18:image=32" with image=64.
std::string with_option(const std::string& model, const std::string& name, const std::string& value) {
  const std::size_t colon = model.find(':');
  std::string out = model.substr(0, colon);
  char mark = ':';
  if (colon != std::string::npos)
    for (std::size_t at = colon + 1; at < model.size();) {
      const std::size_t comma = std::min(model.find(',', at), model.size());
      const std::string item = model.substr(at, comma - at);
      if (!item.starts_with(name + "=")) {
        out += mark + item;
        mark = ',';
      }
      at = comma + 1;
    }
  return out + mark + name + "=" + value;
}

// Sizes of an ONNX file are its own business; for any other model, what a name may be is known here.
void check_name(const std::string& name, const EvaluateRequest& base, const std::vector<std::string>& chip_parameters) {
  const bool is_builtin = is_builtin_model(base.model.model);
  if (!is_builtin && !base.model.model.ends_with(".monet")) return;
  std::vector<std::string> known(kNames.begin(), kNames.end()), options;
  const std::string model = base.model.model.substr(0, base.model.model.find(':'));
  for (const ModelEntry& entry : model_catalogue())
    if (is_builtin && entry.name == model)
      for (const ModelOption& option : entry.options) options.push_back(option.name);
  std::string list = fmt::format("{}", fmt::join(known, ", "));
  const auto add = [&](const std::string& whose, const std::vector<std::string>& names) {
    if (names.empty()) return;
    list += fmt::format("; of {}: {}", whose, fmt::join(names, ", "));
    known.insert(known.end(), names.begin(), names.end());
  };
  add(model, options);
  add(base.hardware, chip_parameters);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::string close = did_you_mean(name, known);
  refuse("--vary", fmt::format("'{}' cannot be varied", name.substr(0, 40)),
         fmt::format("{}{}known: {}", close, close.empty() ? "" : " ", list));
}

void apply(const std::string& name, const std::string& value, const std::vector<std::string>& chip_parameters,
           EvaluateRequest& r) {
  if (name == "batch") {
    r.model.batch = whole(name, value);
  } else if (name == "microbatches") {
    r.model.microbatches = whole(name, value);
  } else if (name == "iterations") {
    r.iterations = whole(name, value);
  } else if (name == "optimizer") {
    r.model.optimizer = value;
  } else if (name == "precision") {
    r.model.precision = value;
  } else if (name == "offchip_bandwidth") {
    r.scale.offchip_bandwidth = factor(name, value);
  } else if (name == "link_bandwidth") {
    r.scale.link_bandwidth = factor(name, value);
  } else if (name == "onchip_memory") {
    r.scale.onchip_memory = factor(name, value);
  } else if (std::find(chip_parameters.begin(), chip_parameters.end(), name) != chip_parameters.end()) {
    std::erase_if(r.parameters, [&](const auto& p) { return p.first == name; });
    r.parameters.emplace_back(name, value);
  } else if (is_builtin_model(r.model.model)) {
    r.model.model = with_option(r.model.model, name, value);
  } else {
    r.model.dims[name] = whole(name, value);
  }
}

SweepPoint point_of(const EvaluateRun& run, const Evaluated& mode) {
  SweepPoint p{.is_feasible = mode.is_feasible(), .mode = mode.mode};
  if (!mode.is_feasible()) {
    p.reason = std::get<schedule::Infeasible>(mode.outcome).reason;
    return p;
  }
  const schedule::Evaluation& e = mode.result();
  p.latency_cycles = e.latency;
  p.latency_s = e.clock_hz > 0 ? e.latency / e.clock_hz : 0;
  p.energy_pj = e.energy.total();
  p.peak_total_bytes = e.peak_total_bytes;
  const schedule::StoreUse& home = e.stores[run.chip.machine.home.index()];
  p.peak_offchip_bytes = home.peak_bytes;
  p.offchip_bytes = home.bytes_in + home.bytes_out;
  p.tiles = e.tiled.tiles.size();
  double could = 0;
  plan::Facts nest;
  nest.is_nest = true;
  for (std::size_t c = 0; c < run.chip.cores.size(); ++c)
    if (run.chip.cores[c].core.array && e.core_macs[c] > 0) could += lanes(run.chip.cores[c], nest) * e.latency;
  for (const double macs : e.macs) p.macs += macs;
  p.utilisation = could > 0 ? p.macs / could : 0;
  const std::vector<TimeSpent> spent = time_spent(run.chip, e);
  if (!spent.empty()) p.bound = spent.front().resource;
  return p;
}

}  // namespace

Sweep sweep(const SweepRequest& request) {
  Sweep out;
  std::size_t count = 1;
  for (const std::string& text : request.vary) {
    SweepAxis axis = parse_axis(text);
    for (const SweepAxis& other : out.axes)
      if (other.name == axis.name)
        refuse("--vary", fmt::format("'{}' is given twice", axis.name.substr(0, 40)),
               fmt::format("all its values stand in one: --vary {}=…,…", axis.name.substr(0, 40)));
    out.axes.push_back(std::move(axis));
    count *= out.axes.back().values.size();
    if (count > kMostPoints) refuse("--vary", fmt::format("more than {} points", kMostPoints));
  }
  if (out.axes.empty()) refuse("--vary", "says nothing", "such as --vary batch=1,2,4");
  cost::Cache cache;
  if (!request.base.cache.empty()) read_cache(request.base.cache, cache, out.warnings);
  const std::vector<std::string> parameters =
      describe_hardware({.hardware = request.base.hardware, .parameters = request.base.parameters}).parameters;
  for (const SweepAxis& axis : out.axes) check_name(axis.name, request.base, parameters);
  out.size = count;
  Progress* progress = request.watch.progress;
  if (progress != nullptr) {
    progress->parts = "points";
    progress->total = count;
  }
  for (std::size_t i = 0; i < count && !request.watch.deadline.is_over(); ++i) {
    EvaluateRequest r = request.base;
    std::vector<std::string> values;
    std::size_t rest = i, product = count;
    for (const SweepAxis& axis : out.axes) {
      product /= axis.values.size();
      values.push_back(axis.values[rest / product]);
      rest %= product;
      apply(axis.name, values.back(), parameters, r);
    }
    const EvaluateRun run = evaluate(r, cache);
    for (const Evaluated& mode : run.modes) {
      out.points.push_back(point_of(run, mode));
      out.points.back().values = values;
    }
    for (const Diagnostic& warning : run.warnings)
      if (std::find(out.warnings.begin(), out.warnings.end(), warning) == out.warnings.end())
        out.warnings.push_back(warning);
    if (i == 0) out.inputs = run.inputs;
    ++out.done;
    if (progress != nullptr) progress->done = out.done;
  }
  if (!request.base.cache.empty() && cache.searched() > 0) write_cache(request.base.cache, cache, out.warnings);
  return out;
}

std::string text(const Sweep& s, const SweepRequest& request) {
  const bool has_clock =
      std::any_of(s.points.begin(), s.points.end(), [](const SweepPoint& p) { return p.latency_s > 0; });
  const bool has_modes = std::any_of(s.points.begin(), s.points.end(),
                                     [&](const SweepPoint& p) { return p.mode != s.points.front().mode; });
  std::vector<std::string> header;
  for (const SweepAxis& axis : s.axes) header.push_back(axis.name);
  if (has_modes) header.push_back("mode");
  for (const char* column : {"latency", "energy", "peak in all", "off-chip moved", "of peak MACs", "mostly spent on"})
    header.push_back(column);
  Table table(header);
  std::string reasons;
  for (const SweepPoint& p : s.points) {
    std::vector<std::string> row = p.values;
    if (has_modes) row.push_back(p.mode);
    if (!p.is_feasible) {
      row.push_back("not possible");
      std::string point;
      for (std::size_t a = 0; a < s.axes.size(); ++a) point += fmt::format("{}={}, ", s.axes[a].name, p.values[a]);
      reasons += fmt::format("{}{}: {}\n", point, p.mode, p.reason);
    } else {
      row.push_back(has_clock ? fmt::format("{:.4g} ms", p.latency_s * 1e3) : quantity(p.latency_cycles) + " cycles");
      row.push_back(energy_text(p.energy_pj));
      row.push_back(byte_count(static_cast<std::uint64_t>(p.peak_total_bytes)));
      row.push_back(byte_count(static_cast<std::uint64_t>(p.offchip_bytes)));
      row.push_back(fmt::format("{:.1f} %", 100 * p.utilisation));
      row.push_back(p.bound);
    }
    table.row(std::move(row));
  }
  const std::string stopped = s.done < s.size ? fmt::format(", stopped after {} of {} points", s.done, s.size) : "";
  return fmt::format("{}, {} on {}{}\n\n{}{}{}", request.base.model.model, request.base.mode, request.base.hardware,
                     stopped, table.text("  "), reasons.empty() ? "" : "\n", reasons);
}

Json json(const Sweep& s) {
  Json axes = Json::array(), points = Json::array();
  for (const SweepAxis& axis : s.axes)
    axes.push(Json::object().set("name", axis.name).set("values", Json(axis.values)));
  for (const SweepPoint& p : s.points) {
    Json decision = Json::object();
    for (std::size_t a = 0; a < s.axes.size(); ++a) decision.set(s.axes[a].name, p.values[a]);
    Json point = Json::object();
    point.set("decision", std::move(decision)).set("mode", p.mode).set("feasible", p.is_feasible);
    if (!p.is_feasible) {
      points.push(std::move(point.set("reason", p.reason)));
      continue;
    }
    point.set("latency_cycles", p.latency_cycles).set("latency_s", p.latency_s > 0 ? Json(p.latency_s) : Json());
    point.set("energy_pj", p.energy_pj).set("peak_total_bytes", p.peak_total_bytes);
    point.set("peak_offchip_bytes", p.peak_offchip_bytes).set("offchip_bytes", p.offchip_bytes);
    point.set("macs", p.macs).set("utilisation", p.utilisation).set("tiles", p.tiles).set("bound", p.bound);
    points.push(std::move(point));
  }
  return Json::object().set("axes", std::move(axes)).set("complete", s.done == s.size).set("points", std::move(points));
}

std::string csv(const Sweep& s) {
  std::string out;
  for (const SweepAxis& axis : s.axes) out += csv_cell(axis.name) + ",";
  out +=
      "mode,feasible,latency_cycles,latency_s,energy_pj,peak_total_bytes,peak_offchip_bytes,offchip_bytes,macs,"
      "utilisation,tiles,bound,reason\n";
  for (const SweepPoint& p : s.points) {
    for (const std::string& value : p.values) out += csv_cell(value) + ",";
    if (!p.is_feasible) {
      out += fmt::format("{},0,,,,,,,,,,,{}\n", p.mode, csv_cell(p.reason));
      continue;
    }
    out += fmt::format("{},1,{},{},{},{},{},{},{},{},{},{},\n", p.mode, p.latency_cycles, p.latency_s, p.energy_pj,
                       p.peak_total_bytes, p.peak_offchip_bytes, p.offchip_bytes, p.macs, p.utilisation, p.tiles,
                       csv_cell(p.bound));
  }
  return out;
}

}  // namespace monet
