#include "monet/verbs/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <numeric>

#include "monet/base/config.h"
#include "monet/base/file.h"
#include "monet/base/gzip.h"
#include "monet/base/nearest.h"
#include "monet/base/sha256.h"
#include "monet/report/table.h"
#include "monet/verbs/case_values.h"
#include "monet/verbs/fusemax_cases.h"
#include "monet/verbs/silicon_cases.h"
#include "monet/verbs/stream_cases.h"
#include "monet/verbs/stream_runs.h"
#include "monet/verbs/validation_data.h"
#include "monet/verbs/zigzag_cases.h"
#include "monet/verbs/zigzag_networks.h"

namespace monet {
namespace {

using config::Value;

constexpr std::size_t kFailuresShown = 20, kRefusalsShown = 8;

struct CaseFile {
  std::string path{}, name{};
  Value root;
};

// The name up to its first point: a.schedule.json.gz is a.
std::string name_of_cases(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find('.', 1));
}

// Where a file that names others is likely to have them: beside it, and in the folders around.
std::vector<std::string> folders_around(const std::string& path) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(path, error).parent_path();
  std::vector<std::string> out;
  for (int up = 0; up < 3 && folder.has_relative_path(); ++up, folder = folder.parent_path())
    out.push_back(folder.generic_string());
  return out;
}

CaseFile read_cases_file(const ValidateRequest& request, std::size_t i, std::deque<config::Tree>& trees,
                         ValidateResult& result) {
  const std::string& path = request.cases[i];
  std::string bytes = read_file(path);
  result.inputs.push_back({fmt::format("cases_{}", i), path, sha256_hex(bytes)});
  bytes = unpacked(std::move(bytes), path);
  return {path, name_of_cases(path), trees.emplace_back(config::parse(bytes, path)).root()};
}

[[noreturn]] void not_a_case(const Value& root, std::string hint) {
  config::Findings findings;
  findings.error(root, "not a file of cases", std::move(hint));
  findings.throw_if_failed();
  throw InputError(Diagnostic{.message = "not a file of cases"});
}

void run_file(const CaseFile& file, const ValidateRequest& request, Accelerators& accelerators,
              std::vector<ValidationSuite>& suites) {
  config::Findings findings;
  std::array<ValidationSuite, 3> by_kind;
  ValidationSuite networks{.name = file.name + " networks"};
  std::vector<ZigzagCase> cases;
  if (has(file.root, "cases")) cases = read_cases(*file.root.find("cases"), findings);
  findings.throw_if_failed();
  for (const ZigzagCase& c : cases) by_kind[static_cast<std::size_t>(c.kind)].rows.push_back(run_case(c, accelerators));
  if (has(file.root, "measured") || has(file.root, "expectations")) {
    const FileFinder files(request.folders.empty() ? folders_around(file.path) : request.folders);
    run_networks(file.root, accelerators, files, networks);
  }
  const auto kinds = std::count_if(by_kind.begin(), by_kind.end(), [](const auto& s) { return !s.rows.empty(); });
  for (const CaseKind kind : {CaseKind::Fixed, CaseKind::Searched, CaseKind::Infeasible}) {
    ValidationSuite& suite = by_kind[static_cast<std::size_t>(kind)];
    if (suite.rows.empty()) continue;
    suite.name = kinds > 1 ? fmt::format("{} {}", file.name, name(kind)) : file.name;
    suites.push_back(std::move(suite));
  }
  if (kinds == 0) networks.name = file.name;
  if (!networks.rows.empty() || !networks.skipped.empty()) suites.push_back(std::move(networks));
}

// Accelerators stand in files of their own, beside the cases, or in any file that has both.
void add_accelerators(const std::string& path, const std::string& bytes, std::deque<config::Tree>& trees,
                      Accelerators& accelerators) {
  const config::Tree& tree = trees.emplace_back(config::parse(bytes, path));
  if (has(tree.root(), "accelerators"))
    accelerators.add_json(*tree.root().find("accelerators"));
  else
    accelerators.add_file(path);
}

double absolute_sum(const std::vector<ValidationRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const ValidationRow& row) { return sum + std::abs(row.error); });
}

std::string shown(const std::variant<double, std::string>& value) {
  if (const std::string* text = std::get_if<std::string>(&value)) return text->substr(0, 120);
  return fmt::format("{:.12g}", std::get<double>(value));
}

Json to_json(const std::variant<double, std::string>& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

std::string failures_text(const ValidationSuite& suite) {
  Table table({"case", "figure", "ours", "theirs", "error"});
  std::size_t failing = 0;
  for (const ValidationRow& row : suite.rows) {
    if (row.matches || !row.comparable || ++failing > kFailuresShown) continue;
    table.row({row.id, row.figure, shown(row.ours), shown(row.theirs), fmt::format("{:+.1e}", row.error)});
  }
  if (failing == 0) return "";
  std::string out = fmt::format("\n{}: {} of {} cases differ, each with the figure that is furthest off\n", suite.name,
                                failing, suite.rows.size()) +
                    table.text("  ");
  if (failing > kFailuresShown) out += fmt::format("  … {} more (--json lists all)\n", failing - kFailuresShown);
  return out;
}

// Why we refuse a case beside why they do.
std::string refusals_text(const ValidationSuite& suite) {
  std::string out;
  std::size_t count = 0;
  for (const ValidationRow& row : suite.rows) {
    if (row.figure != "feasible" || (row.comparable && !row.matches) || ++count > kRefusalsShown) continue;
    const bool is_refused = std::holds_alternative<std::string>(row.ours);
    out += fmt::format("  {}\n    ours    {}\n    theirs  {}\n", row.id,
                       is_refused ? shown(row.ours) : shown(row.ours) + " cycles: nothing is wrong with it",
                       shown(row.theirs));
  }
  if (count == 0) return "";
  if (count > kRefusalsShown) out += fmt::format("  … {} more (--json lists all)\n", count - kRefusalsShown);
  return fmt::format("\n{}: {} without a figure of theirs\n", suite.name, count) + out;
}

ValidateResult validate_zigzag(const ValidateRequest& request) {
  ValidateResult result{.heading = "MONET under --quirks zigzag against what ZigZag computed",
                        .agreement = "accesses, buffers and cycles exactly, energies to 1e-9 (networks: 1e-6)"};
  std::deque<config::Tree> trees;  // values point into them
  Accelerators accelerators;
  const config::Tree& own = trees.emplace_back(config::parse_json(zigzag_validation_data(), "zigzag.json"));
  accelerators.add_json(*own.root().find("accelerators"));
  for (std::size_t i = 0; i < request.accelerators.size(); ++i) {
    const std::string bytes = read_file(request.accelerators[i]);
    result.inputs.push_back({fmt::format("accelerators_{}", i), request.accelerators[i], sha256_hex(bytes)});
    add_accelerators(request.accelerators[i], bytes, trees, accelerators);
  }
  std::vector<CaseFile> files;
  for (std::size_t i = 0; i < request.cases.size(); ++i) {
    files.push_back(read_cases_file(request, i, trees, result));
    const Value root = files.back().root;
    if (has(root, "accelerators")) accelerators.add_json(*root.find("accelerators"));
    if (!has(root, "cases") && !has(root, "measured") && !has(root, "expectations") && !has(root, "accelerators"))
      not_a_case(root, "it has 'cases', or 'measured' and 'expectations'");
  }
  if (files.empty()) files.push_back({"", "zigzag", own.root()});
  for (const CaseFile& file : files) run_file(file, request, accelerators, result.suites);
  return result;
}

ValidateResult validate_stream(const ValidateRequest& request) {
  ValidateResult result{.heading = "MONET under --quirks stream against the schedules that Stream made",
                        .agreement = "every tile, every link event and every peak exactly, energies to 1e-9"};
  std::deque<config::Tree> trees;
  std::vector<CaseFile> files, summaries;
  StreamPeaks peaks;
  for (std::size_t i = 0; i < request.cases.size(); ++i) {
    CaseFile file = read_cases_file(request, i, trees, result);
    const bool is_schedule = has(file.root, "scheduling_order");
    if (!is_schedule && !has(file.root, "runs"))
      not_a_case(file.root, "it has 'scheduling_order' (a schedule) or 'runs' (a summary)");
    config::Findings findings;
    if (!is_schedule) peaks.merge(read_stream_peaks(*file.root.find("runs"), findings));
    findings.throw_if_failed();
    (is_schedule ? files : summaries).push_back(std::move(file));
  }
  if (request.cases.empty())
    for (const auto& [name, bytes] :
         {std::pair{"r18_layer_by_layer", stream_layer_by_layer_data()}, std::pair{"r18_fused", stream_fused_data()}})
      files.push_back(
          {"", name, trees.emplace_back(config::parse_json(unpacked(std::string(bytes), name), name)).root()});
  for (const CaseFile& file : files) result.suites.push_back(run_stream_schedule(file.name, file.root, peaks));
  for (const CaseFile& file : summaries) {
    ValidationSuite suite{.name = file.name + " from ONNX"};
    run_stream_summary(file.root, FileFinder(request.folders.empty() ? folders_around(file.path) : request.folders),
                       suite);
    if (!suite.rows.empty() || !suite.skipped.empty()) result.suites.push_back(std::move(suite));
  }
  return result;
}

ValidateResult validate_silicon(const ValidateRequest& request) {
  ValidateResult result{.heading = "MONET in default mode against what was measured",
                        .agreement = fmt::format("chips within {:.0f} %, training rates within {:.0f} %",
                                                 100 * kChipTolerance, 100 * kRateTolerance),
                        .is_measured = true};
  std::deque<config::Tree> trees;
  std::vector<CaseFile> files;
  for (std::size_t i = 0; i < request.cases.size(); ++i) {
    files.push_back(read_cases_file(request, i, trees, result));
    if (!is_silicon_file(files.back().root))
      not_a_case(files.back().root, "it has 'measured_latency_cycles' (a chip), 'chips', or 'rows' (training rates)");
  }
  if (files.empty())
    for (const auto& [name, bytes] :
         {std::pair{"measured", silicon_chips_data()}, std::pair{"measured", silicon_training_data()}})
      files.push_back({"", name, trees.emplace_back(config::parse_json(bytes, name)).root()});
  for (const CaseFile& file : files) run_silicon_file(file.name, file.root, result.suites);
  return result;
}

// Energies are dynamic and without registers: the artifact counts one register file of each array, and no leakage.
ValidateResult validate_fusemax(const ValidateRequest& request) {
  ValidateResult result{.heading = "MONET's evaluation against the tables of FuseMax's artifact (docs/fusemax.md)",
                        .agreement = "every figure within 5 %"};
  const config::Tree own = config::parse_json(fusemax_validation_data(), "fusemax.json");
  config::Findings findings;
  const FusemaxData data = read_fusemax(own.root(), findings);
  findings.throw_if_failed();
  std::vector<FusemaxTable> tables;
  for (std::size_t i = 0; i < request.cases.size(); ++i) {
    const std::string bytes = read_file(request.cases[i]);
    result.inputs.push_back({fmt::format("cases_{}", i), request.cases[i], sha256_hex(bytes)});
    tables.push_back(read_fusemax_csv(bytes, request.cases[i]));
  }
  cost::Cache cache;
  for (const FusemaxTable& table : tables.empty() ? data.tables : tables)
    for (ValidationSuite& suite : run_fusemax(table, data, cache)) result.suites.push_back(std::move(suite));
  return result;
}

}  // namespace

std::size_t ValidationSuite::exact() const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const ValidationRow& row) { return row.matches; }));
}

std::size_t ValidationSuite::uncomparable() const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const ValidationRow& row) { return !row.comparable; }));
}

double ValidationSuite::mean_abs_error() const {
  return rows.empty() ? 0 : absolute_sum(rows) / static_cast<double>(rows.size());
}

double ValidationSuite::median_abs_error() const {
  if (rows.empty()) return 0;
  std::vector<double> errors;
  for (const ValidationRow& row : rows) errors.push_back(std::abs(row.error));
  std::sort(errors.begin(), errors.end());
  const std::size_t half = errors.size() / 2;
  return errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
}

double ValidationSuite::worst_abs_error() const {
  double worst = 0;
  for (const ValidationRow& row : rows) worst = std::max(worst, std::abs(row.error));
  return worst;
}

ValidateResult validate(const ValidateRequest& request) {
  const std::vector<std::string> known{"zigzag", "stream", "silicon", "fusemax"};
  if (std::find(known.begin(), known.end(), request.suite) == known.end())
    throw InputError(Diagnostic{.where = "monet validate",
                                .message = fmt::format("unknown suite '{}'", request.suite),
                                .hint = did_you_mean(request.suite, known, "known: zigzag, stream, silicon, fusemax")});
  ValidateResult result = request.suite == "stream"    ? validate_stream(request)
                          : request.suite == "silicon" ? validate_silicon(request)
                          : request.suite == "fusemax" ? validate_fusemax(request)
                                                       : validate_zigzag(request);
  result.matches = std::any_of(result.suites.begin(), result.suites.end(),
                               [](const ValidationSuite& suite) { return !suite.rows.empty(); });
  for (const ValidationSuite& suite : result.suites)
    result.matches =
        result.matches && suite.exact() + suite.uncomparable() == suite.rows.size() &&
        std::none_of(suite.skipped.begin(), suite.skipped.end(), [](const auto& skipped) { return skipped.matters; });
  return result;
}

std::string text(const ValidateResult& result) {
  if (result.is_measured) return measured_text(result);
  std::string out = result.heading + "\n\n", failures;
  Table table({"suite", "cases", "exact", "they crash", "mean error", "median", "worst"});
  for (const ValidationSuite& s : result.suites) {
    table.row({s.name, grouped(s.rows.size()), grouped(s.exact()), grouped(s.uncomparable()),
               scientific(s.mean_abs_error()), scientific(s.median_abs_error()), scientific(s.worst_abs_error())});
    failures += failures_text(s);
    for (const ValidationSuite::Skipped& skipped : s.skipped)
      failures += fmt::format("not run: {}: {}{}\n", skipped.id, skipped.reason,
                              skipped.reason.starts_with("no file") ? " (--files DIR says where it is)" : "");
    failures += refusals_text(s);
  }
  out += table.text("  ") + failures;
  return out + (result.matches ? "\nall agree: " + result.agreement + "\n" : "\nnot all agree\n");
}

Json json(const ValidateResult& result) {
  Json suites = Json::array();
  for (const ValidationSuite& s : result.suites) {
    Json rows = Json::array(), skipped = Json::array();
    for (const ValidationRow& row : s.rows) {
      Json effects = Json::array();
      for (const ValidationEffect& effect : row.effects)
        effects.push(Json::object()
                         .set("name", effect.name)
                         .set("value", effect.value)
                         .set("is_alternative", effect.is_alternative));
      Json shown_row = Json::object()
                           .set("id", row.id)
                           .set("figure", row.figure)
                           .set("ours", to_json(row.ours))
                           .set("theirs", to_json(row.theirs))
                           .set("error", row.error)
                           .set("figures", row.figures)
                           .set("exact", row.matches)
                           .set("comparable", row.comparable);
      if (!row.effects.empty()) shown_row.set("effects", std::move(effects));
      rows.push(std::move(shown_row));
    }
    for (const ValidationSuite::Skipped& each : s.skipped)
      skipped.push(Json::object().set("id", each.id).set("reason", each.reason));
    suites.push(Json::object()
                    .set("name", s.name)
                    .set("cases", s.rows.size())
                    .set("exact", s.exact())
                    .set("uncomparable", s.uncomparable())
                    .set("mean_abs_error", s.mean_abs_error())
                    .set("median_abs_error", s.median_abs_error())
                    .set("worst_abs_error", s.worst_abs_error())
                    .set("rows", std::move(rows))
                    .set("skipped", std::move(skipped)));
  }
  return Json::object().set("suites", std::move(suites)).set("matches", result.matches);
}

}  // namespace monet
