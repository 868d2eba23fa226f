#include "monet/verbs/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "monet/base/config.h"
#include "monet/base/file.h"
#include "monet/base/sha256.h"
#include "monet/report/nest.h"
#include "monet/report/table.h"

namespace monet {
namespace {

using config::Value;

constexpr std::size_t kPartsShown = 10;

config::Tree read_run(const std::string& folder, std::vector<DocumentInput>& inputs) {
  const std::string path = folder + "/result.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw InputError(Diagnostic{.where = "RUN",
                                .message = fmt::format("'{}' holds no result.json", folder.substr(0, 80)),
                                .hint = "monet evaluate … --out DIR writes one"});
  const std::string bytes = read_file(path);
  inputs.push_back({inputs.empty() ? "first" : "second", path, sha256_hex(bytes)});
  config::Tree tree = config::parse_json(bytes, path);
  document_part(tree, "evaluate", "result");
  return tree;
}

std::optional<double> figure_in(const std::optional<Value>& value) {
  if (!value || !value->is_scalar()) return std::nullopt;
  const std::string_view text = value->text();
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

[[noreturn]] void damaged(const Value& result, std::string_view key) {
  config::Findings findings;
  findings.error(result, fmt::format("the result has no '{}'", key), "the file is damaged: evaluate again");
  findings.throw_if_failed();
  throw InputError(Diagnostic{.where = "RUN", .message = "damaged"});  // not reached
}

// A value as a line shows it: "8", "stream", "name=value, …".
std::string words(const Value& value) {
  if (value.is_scalar()) return std::string(value.text());
  std::string out;
  for (std::size_t i = 0; (value.is_map() || value.is_sequence()) && i < value.size(); ++i)
    out += (i > 0 ? ", " : "") + (value.is_map() ? std::string(value.key(i).text()) + "=" : "") + words(value[i]);
  return out;
}

// Every figure_in below a map, by its keys with slashes between.
void flatten(const Value& value, const std::string& prefix, std::map<std::string, double>& out) {
  if (value.is_map()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string key(value.key(i).text());
      flatten(value[i], prefix.empty() ? key : prefix + "/" + key, out);
    }
  } else if (const auto n = figure_in(value)) {
    out[prefix] += *n;
  }
}

// The same for a list of named things: one figure of each.
std::map<std::string, double> by_name(const Value& result, std::string_view list, std::string_view figure) {
  std::map<std::string, double> out;
  const auto items = result.find(list);
  for (std::size_t i = 0; items && items->is_sequence() && i < items->size(); ++i) {
    const Value item = (*items)[i];
    const auto name = item.is_map() ? item.find("name") : std::nullopt;
    const auto value = item.is_map() ? figure_in(item.find(figure)) : std::nullopt;
    if (name && name->is_scalar() && value) out[std::string(name->text())] += *value;
  }
  return out;
}

std::vector<Difference> differences(const std::map<std::string, double>& a, const std::map<std::string, double>& b) {
  std::map<std::string, Difference> all;
  for (const auto& [name, value] : a) all[name].first = value;
  for (const auto& [name, value] : b) all[name].second = value;
  std::vector<Difference> out;
  for (auto& [name, d] : all) {
    d.name = name;
    if (d.first != d.second) out.push_back(d);
  }
  std::stable_sort(out.begin(), out.end(), [](const Difference& x, const Difference& y) {
    return std::abs(x.change()) > std::abs(y.change());
  });
  return out;
}

// The result of a mode: a run of one has it alone, one of both has each under its name.
struct ModeResult {
  std::string mode{};
  Value result;
};

std::vector<ModeResult> modes_of(const Value& result) {
  std::vector<ModeResult> out;
  for (const char* mode : {"training", "inference"})
    if (const auto found = result.find(mode); found && found->is_map()) out.push_back({mode, *found});
  if (!out.empty()) return out;
  const auto mode = result.find("mode");
  if (!mode || !mode->is_scalar()) damaged(result, "mode");
  return {{std::string(mode->text()), result}};
}

std::string words_of(const std::vector<ModeResult>& modes) {
  return modes.size() > 1 ? "both modes" : modes.front().mode;
}

// What every result of a possible run has, whoever scheduled it.
void check_figures(const Value& result) {
  const auto feasible = result.find("feasible");
  if (!feasible || !feasible->is_scalar()) damaged(result, "feasible");
  if (feasible->text() == "false") return;
  for (const char* key : {"latency_cycles", "energy_pj"})
    if (!figure_in(result.find(key))) damaged(result, key);
}

void add_figures(const std::string& prefix, const Value& a, const Value& b, RunComparison& out) {
  // Of schedules by other tools' rules not every figure is known, of impossible ones none: what one of them lacks is no
  // difference.
  const auto total = [&](std::string_view key) {
    const auto x = figure_in(a.find(key)), y = figure_in(b.find(key));
    return x && y ? Difference{std::string(key), *x, *y} : Difference();
  };
  const auto parts = [&](std::string_view key) {
    std::map<std::string, double> x, y;
    const auto v = a.find(key), w = b.find(key);
    if (!v || !w) return std::vector<Difference>();
    flatten(*v, "", x);
    flatten(*w, "", y);
    return differences(x, y);
  };
  const auto nodes = [&](std::string_view figure) {
    const std::map<std::string, double> x = by_name(a, "nodes", figure), y = by_name(b, "nodes", figure);
    return x.empty() || y.empty() ? std::vector<Difference>() : differences(x, y);
  };
  out.figures.push_back(
      {prefix + "latency, by phase", "cycles", total("latency_cycles"), parts("latency_by_phase_cycles")});
  out.figures.push_back({prefix + "busy cycles of the nodes", "cycles", Difference(), nodes("busy_cycles")});
  out.figures.push_back({prefix + "energy, by part", "pJ", total("energy_pj"), parts("energy_breakdown_pj")});
  out.figures.push_back({prefix + "energy, by bucket", "pJ", Difference(), parts("energy_by_bucket_pj")});
  out.figures.push_back({prefix + "energy, by phase", "pJ", total("energy_pj"), parts("energy_by_phase_pj")});
  out.figures.push_back({prefix + "energy of the nodes", "pJ", Difference(), nodes("energy_pj")});
  out.figures.push_back({prefix + "peak memory", "B", total("peak_total_bytes"), parts("peak_memory_bytes")});
  out.figures.push_back({prefix + "memory at its peak, by use", "B", Difference(), parts("memory_at_peak_bytes")});
  out.figures.push_back({prefix + "off-chip bytes of the nodes", "B", Difference(), nodes("offchip_bytes")});
}

std::string amount(double value, const std::string& unit) {
  if (unit == "pJ") return (value < 0 ? "-" : "") + energy_text(std::abs(value));
  if (unit == "B") return (value < 0 ? "-" : "") + byte_count(static_cast<std::uint64_t>(std::abs(value)));
  return quantity(value);
}

std::string percent(const Difference& d) {
  if (d.first == 0) return d.second == 0 ? "" : "new";
  return fmt::format("{:+.1f} %", 100 * d.change() / d.first);
}

}  // namespace

RunComparison compare_runs(const std::string& first, const std::string& second) {
  RunComparison out{.first = first, .second = second};
  const config::Tree a = read_run(first, out.inputs), b = read_run(second, out.inputs);
  const auto options = [](const config::Tree& tree) {
    std::map<std::string, std::string> values;
    const auto found = tree.root().find("options");
    for (std::size_t i = 0; found && found->is_map() && i < found->size(); ++i) {
      const std::string key(found->key(i).text());
      values[key] = words((*found)[i]);
    }
    return values;
  };
  const std::map<std::string, std::string> x = options(a), y = options(b);
  for (const auto& [key, value] : x)
    if (const auto at = y.find(key); at != y.end() && at->second != value)
      out.options.push_back(fmt::format("{}: {}, {}", key, value.empty() ? "default" : value,
                                        at->second.empty() ? "default" : at->second));
  const auto say_impossible = [&](const std::string& prefix, const Value& result, const std::string& run) {
    const auto feasible = result.find("feasible"), reason = result.find("reason");
    if (feasible && feasible->is_scalar() && feasible->text() == "false")
      out.options.push_back(fmt::format("{}{}: not possible: {}", prefix, run,
                                        reason && reason->is_scalar() ? reason->text() : "no reason given"));
  };
  const Value ra = document_part(a, "evaluate", "result"), rb = document_part(b, "evaluate", "result");
  const std::vector<ModeResult> of_first = modes_of(ra), of_second = modes_of(rb);
  // Two runs of one mode each are compared as they are: what training costs beside inference, say.
  const bool is_one_each = of_first.size() == 1 && of_second.size() == 1;
  for (const ModeResult& ma : of_first)
    for (const ModeResult& mb : of_second) {
      if (ma.mode != mb.mode && !is_one_each) continue;
      const std::string prefix = is_one_each ? "" : ma.mode + " ";
      check_figures(ma.result);
      check_figures(mb.result);
      say_impossible(prefix, ma.result, first);
      say_impossible(prefix, mb.result, second);
      add_figures(prefix, ma.result, mb.result, out);
    }
  if (out.figures.empty())
    throw InputError(Diagnostic{.where = "RUN",
                                .message = fmt::format("there is nothing to compare: {} is of {}, {} of {}", first,
                                                       words_of(of_first), second, words_of(of_second)),
                                .hint = "evaluate … --mode both --out DIR has both"});
  return out;
}

std::string text(const RunComparison& c) {
  std::string out = fmt::format("{} and {}\n", c.first, c.second);
  for (const std::string& option : c.options) out += fmt::format("  {}\n", option);
  for (const ComparedFigure& figure : c.figures) {
    if (figure.parts.empty() && figure.total.name.empty()) continue;
    Table table({figure.title, "first", "second", "change", ""});
    if (!figure.total.name.empty())
      table.row({"total", amount(figure.total.first, figure.unit), amount(figure.total.second, figure.unit),
                 amount(figure.total.change(), figure.unit), percent(figure.total)});
    for (std::size_t i = 0; i < figure.parts.size() && i < kPartsShown; ++i) {
      const Difference& d = figure.parts[i];
      table.row({"  " + d.name, amount(d.first, figure.unit), amount(d.second, figure.unit),
                 amount(d.change(), figure.unit), percent(d)});
    }
    if (figure.parts.size() > kPartsShown) table.row({fmt::format("  … {} more", figure.parts.size() - kPartsShown)});
    out += "\n" + table.text("");
  }
  return out;
}

Json json(const RunComparison& c) {
  Json figures = Json::array();
  for (const ComparedFigure& figure : c.figures) {
    Json parts = Json::array();
    for (const Difference& d : figure.parts)
      parts.push(
          Json::object().set("name", d.name).set("first", d.first).set("second", d.second).set("change", d.change()));
    Json entry = Json::object().set("title", figure.title).set("unit", figure.unit);
    if (!figure.total.name.empty())
      entry.set("first", figure.total.first).set("second", figure.total.second).set("change", figure.total.change());
    figures.push(entry.set("parts", std::move(parts)));
  }
  return Json::object()
      .set("first", c.first)
      .set("second", c.second)
      .set("options", Json(c.options))
      .set("figures", std::move(figures));
}

}  // namespace monet
