#include "monet/verbs/explore_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "monet/base/config_query.h"
#include "monet/base/config_section.h"
#include "monet/report/table.h"
#include "monet/store/run_store.h"

namespace monet {
namespace {

using config::Cell;

// A gene of the keys: what it chooses from.
struct StoredVariable {
  std::string name{};
  std::vector<std::string> values{};
  std::vector<Cell> cells{};  // numbers, if all of them are, with the same unit or none
  bool is_text = false;
};

struct StoredAxes {
  std::vector<StoredVariable> variables{};
  std::vector<std::string> workloads{};
};

std::vector<std::string> texts_of(const std::optional<config::Value>& list) {
  std::vector<std::string> out;
  for (std::size_t i = 0; list && list->is_sequence() && i < list->size(); ++i) out.emplace_back((*list)[i].text());
  return out;
}

// "64 KiB" and "128 KiB" are 64 and 128.
void read_cells(StoredVariable& v) {
  std::string unit;
  for (std::size_t i = 0; i < v.values.size(); ++i) {
    const std::string& text = v.values[i];
    const std::size_t end = text.find(' ');
    const std::string own = end == std::string::npos ? "" : text.substr(end);
    std::optional<Cell> number = config::number_cell(std::string_view(text).substr(0, end));
    if (!number || (i > 0 && own != unit)) {
      v.is_text = true;
      v.cells.assign(v.values.begin(), v.values.end());
      return;
    }
    unit = own;
    v.cells.push_back(std::move(*number));
  }
}

StoredAxes read_about(const std::string& about, const std::string& path) {
  if (about.empty())
    refuse_file(path, "it does not say what its points are", "only runs of monet explore of this version can be asked");
  const config::Tree tree = config::parse_json(about, path);
  config::Findings findings;
  config::Section s(tree.root(), "what the store says of its points", config::Dialect::Strict, findings);
  StoredAxes out;
  out.workloads = texts_of(s.require("workloads"));
  const auto variables = s.require("variables");
  for (std::size_t i = 0; variables && variables->is_sequence() && i < variables->size(); ++i) {
    config::Section one((*variables)[i], "a variable", config::Dialect::Strict, findings);
    StoredVariable v{.name = one.require_text("name").value_or(""), .values = texts_of(one.require("values"))};
    read_cells(v);
    out.variables.push_back(std::move(v));
  }
  findings.throw_if_failed();
  return out;
}

// "3.0.1/2": the choices of a point, and a workload; "3.0.1/2/pe.buffer.read*1.3": with a constant changed.
struct StoredKey {
  search::Candidate candidate{};
  std::size_t workload = 0;
  bool is_changed = false;
};
std::optional<StoredKey> key_from(std::string_view text, const StoredAxes& axes) {
  StoredKey out;
  const char *at = text.data(), *const end = text.data() + text.size();
  while (out.candidate.size() < axes.variables.size()) {
    std::uint16_t choice = 0;
    const auto [next, error] = std::from_chars(at, end, choice);
    const bool is_last = out.candidate.size() + 1 == axes.variables.size();
    if (error != std::errc{} || next == end || *next != (is_last ? '/' : '.')) return std::nullopt;
    if (choice >= axes.variables[out.candidate.size()].values.size()) return std::nullopt;
    out.candidate.push_back(choice);
    at = is_last ? next : next + 1;
  }
  if (at == end || *at != '/') return std::nullopt;
  const auto [stop, fault] = std::from_chars(at + 1, end, out.workload);
  out.is_changed = fault == std::errc{} && stop != end && *stop == '/';
  if (fault != std::errc{} || (stop != end && !out.is_changed) || out.workload >= axes.workloads.size())
    return std::nullopt;
  return out;
}

// Area and power belong to the chip: once for all workloads.
bool is_of_chip(std::string_view figure) { return figure == hardware::kAreaName || figure == hardware::kTdpName; }

// The columns of the answer, which are the names of the expression.
struct Columns {
  std::vector<config::QueryColumn> all{};
  std::size_t chip = 0;      // where area and power begin
  std::size_t workload = 0;  // where those of the first workload begin: feasible, figures, reason
  std::size_t each = 0;      // of a workload
  std::vector<std::size_t> chip_figures{}, figures{};  // of the store's columns
  std::optional<std::size_t> seconds{};                // where the store has the latency in them: none without a clock
};

Columns columns_of(const StoredAxes& axes, const std::vector<std::string>& stored) {
  Columns out;
  for (const StoredVariable& v : axes.variables) out.all.push_back({v.name, v.is_text});
  out.chip = out.all.size();
  for (std::size_t c = 0; c < stored.size(); ++c) {
    (is_of_chip(stored[c]) ? out.chip_figures : out.figures).push_back(c);
    if (is_of_chip(stored[c])) out.all.push_back({stored[c]});
    if (stored[c] == "latency_s") out.seconds = c;
  }
  out.workload = out.all.size();
  out.each = out.figures.size() + 2;
  for (const std::string& w : axes.workloads) {
    out.all.push_back({w + ".feasible"});
    for (const std::size_t c : out.figures) out.all.push_back({w + "." + stored[c]});
    out.all.push_back({w + ".reason", true});
  }
  return out;
}

class Answer {
 public:
  Answer(const std::string& path, const std::string& expression)
      : reader_(path),
        axes_(read_about(reader_.about(), path)),
        columns_(columns_of(axes_, reader_.columns())),
        query_(expression, columns_.all, "--query"),
        path_(path) {}

  std::string run() {
    reader_.for_each([this](const store::RunStore::Row& row) { take(row); });
    finish_point();
    // As the grid has them: the first variable fastest.
    std::sort(rows_.begin(), rows_.end(), [](const Found& a, const Found& b) {
      return std::lexicographical_compare(a.candidate.rbegin(), a.candidate.rend(), b.candidate.rbegin(),
                                          b.candidate.rend());
    });
    std::string out;
    for (const config::QueryColumn& c : columns_.all) out += (out.empty() ? "" : ",") + csv_cell(c.name);
    out += "\n";
    for (const Found& row : rows_) out += row.line;
    return out;
  }

 private:
  struct Found {
    search::Candidate candidate{};
    std::string line{};
  };

  // Rows of a point stand one after the other: their keys begin alike.
  void take(const store::RunStore::Row& row) {
    const std::optional<StoredKey> key = key_from(row.key, axes_);
    if (!key) refuse_file(path_, fmt::format("'{}' is no point of it", row.key), "the run store is damaged");
    if (key->is_changed) return;
    if (cells_.empty() || key->candidate != candidate_) {
      finish_point();
      candidate_ = key->candidate;
      cells_.assign(columns_.all.size(), std::monostate{});
      for (std::size_t v = 0; v < axes_.variables.size(); ++v) cells_[v] = axes_.variables[v].cells[candidate_[v]];
    }
    const bool is_possible = row.reason.empty();
    std::size_t at = columns_.workload + key->workload * columns_.each;
    cells_[at++] = config::Ratio{is_possible ? 1 : 0, 1};
    if (is_possible) {
      const bool has_clock = !columns_.seconds || row.values[*columns_.seconds] > 0;
      const auto cell = [&](std::size_t c) {
        return has_clock || !search::needs_clock(reader_.columns()[c]) ? Cell(row.values[c]) : Cell();
      };
      for (std::size_t c = 0; c < columns_.chip_figures.size(); ++c)
        cells_[columns_.chip + c] = cell(columns_.chip_figures[c]);
      for (const std::size_t c : columns_.figures) cells_[at++] = cell(c);
      cells_[at] = std::string();
    } else {
      cells_[at + columns_.figures.size()] = row.reason;
    }
  }

  void finish_point() {
    if (cells_.empty()) return;
    if (query_.holds(cells_) == true) rows_.push_back({candidate_, line()});
    cells_.clear();
  }

  std::string line() const {
    std::string out;
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      if (c > 0) out += ',';
      if (c < columns_.chip)
        out += csv_cell(axes_.variables[c].values[candidate_[c]]);
      else if (const double* number = std::get_if<double>(&cells_[c]))
        out += fmt::format("{}", *number);
      else if (const config::Ratio* whole = std::get_if<config::Ratio>(&cells_[c]))
        out += config::to_string(*whole);
      else if (const std::string* text = std::get_if<std::string>(&cells_[c]))
        out += csv_cell(*text);
    }
    return out + "\n";
  }

  store::StoreReader reader_;
  StoredAxes axes_;
  Columns columns_;
  config::Query query_;
  std::string path_;
  search::Candidate candidate_;
  std::vector<Cell> cells_;  // of the point at hand; empty: there is none
  std::vector<Found> rows_;
};

}  // namespace

std::string about_points(const ExploreProblem& problem) {
  Json variables = Json::array(), workloads = Json::array();
  for (const std::size_t v : problem.family->free()) {
    const hardware::Variable& variable = problem.family->space().variables[v];
    variables.push(Json::object().set("name", variable.name).set("values", Json(variable.values)));
  }
  for (const search::Axis& axis : problem.exploration->axes())
    variables.push(Json::object().set("name", axis.name).set("values", Json(axis.alternatives)));
  for (const search::Workload& w : problem.exploration->workloads()) workloads.push(w.name);
  return Json::object().set("variables", std::move(variables)).set("workloads", std::move(workloads)).dump();
}

std::string query_csv(const std::string& folder, const std::string& expression) {
  return Answer(folder + "/points.sqlite", expression).run();
}

}  // namespace monet
