#include "monet/verbs/error_bands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "monet/base/config_section.h"
#include "monet/verbs/validation_data.h"

namespace monet {
namespace {

// Wide enough for any chip, and above -1: a figure of ours that is nothing is no figure.
constexpr config::NumberRange kErrors{.least = -0.999999, .most = 1e6};
constexpr std::size_t kNamed = 6;  // names of a line

std::vector<double> sorted_errors(const ErrorBand& band) {
  std::vector<double> errors;
  for (const BandRow& row : band.rows) errors.push_back(row.error);
  std::sort(errors.begin(), errors.end());
  return errors;
}

std::vector<std::string> each_once(const std::vector<BandRow>& rows, std::string BandRow::*member) {
  std::vector<std::string> out;
  for (const BandRow& row : rows)
    if (std::find(out.begin(), out.end(), row.*member) == out.end()) out.push_back(row.*member);
  return out;
}

ErrorBand read_band(const config::Value& value, config::Findings& findings) {
  config::Section s(value, "a band", config::Dialect::Strict, findings);
  ErrorBand band{.figure = s.require_text("figure").value_or(""), .mode = s.require_text("mode").value_or("")};
  const std::string against = s.require_text("against").value_or("");
  if (against != "measurement" && against != "model")
    findings.error(value, "'against' is neither measurement nor model");
  band.is_measured = against == "measurement";
  band.of = s.require_text("of").value_or("");
  band.command = s.require_text("command").value_or("");
  const auto rows = s.require("rows");
  for (std::size_t i = 0; rows && rows->is_sequence() && i < rows->size(); ++i) {
    config::Section r((*rows)[i], "a row", config::Dialect::Strict, findings);
    r.require("error");
    band.rows.push_back({r.require_text("chip").value_or(""), r.require_text("workload").value_or(""),
                         r.number("error", kErrors).value_or(0)});
    r.finish();
  }
  if (band.rows.empty()) findings.error(value, "a band needs rows");
  s.finish();
  return band;
}

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() <= kNamed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kNamed, ", "), names.size() - kNamed);
}

}  // namespace

double ErrorBand::low() const { return sorted_errors(*this).front(); }
double ErrorBand::high() const { return sorted_errors(*this).back(); }
double ErrorBand::median() const {
  const std::vector<double> errors = sorted_errors(*this);
  const std::size_t half = errors.size() / 2;
  return errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
}
double ErrorBand::span() const { return (1 + high()) / (1 + low()); }
std::vector<std::string> ErrorBand::chips() const { return each_once(rows, &BandRow::chip); }
std::vector<std::string> ErrorBand::workloads() const { return each_once(rows, &BandRow::workload); }

std::optional<ErrorBand::SameWorkload> ErrorBand::same_workload() const {
  std::optional<SameWorkload> out;
  for (const std::string& workload : workloads()) {
    ErrorBand part;
    for (const BandRow& row : rows)
      if (row.workload == workload) part.rows.push_back(row);
    if (part.chips().size() > 1 && (!out || part.span() > out->span)) out = {workload, part.chips(), part.span()};
  }
  return out;
}

std::vector<ErrorBand> read_error_bands(std::string_view json, const std::string& path) {
  const config::Tree tree = config::parse_json(json, path);
  config::Findings findings;
  config::Section s(tree.root(), "the file", config::Dialect::Strict, findings);
  s.text("made_by");
  std::vector<ErrorBand> out;
  const auto bands = s.require("bands");
  for (std::size_t i = 0; bands && bands->is_sequence() && i < bands->size(); ++i)
    out.push_back(read_band((*bands)[i], findings));
  s.finish();
  findings.throw_if_failed();
  return out;
}

std::vector<ErrorBand> error_bands() { return read_error_bands(error_bands_data(), "bands.json"); }

const ErrorBand* measured_band(const std::vector<ErrorBand>& bands, std::string_view figure, std::string_view mode) {
  for (const ErrorBand& band : bands)
    if (band.is_measured && band.figure == figure && band.mode == mode) return &band;
  return nullptr;
}

std::string text(const ErrorBand& band) {
  const std::vector<std::string> chips = band.chips(), workloads = band.workloads();
  return fmt::format("{}, {}: {}{:+.1f} to {:+.1f} %, median {:+.1f} % ({} rows, {}: {}; {})", band.figure, band.mode,
                     band.is_measured ? "" : "nothing measured; beside another model ", 100 * band.low(),
                     100 * band.high(), 100 * band.median(), band.rows.size(), band.of, names_text(chips),
                     names_text(workloads));
}

Json json(const ErrorBand& band) {
  Json same;
  if (const auto one = band.same_workload())
    same = Json::object().set("workload", one->workload).set("chips", Json(one->chips)).set("span", one->span);
  return Json::object()
      .set("figure", band.figure)
      .set("mode", band.mode)
      .set("against", band.is_measured ? "measurement" : "model")
      .set("of", band.of)
      .set("rows", band.rows.size())
      .set("low", band.low())
      .set("high", band.high())
      .set("median", band.median())
      .set("span", band.span())
      .set("chips", Json(band.chips()))
      .set("workloads", Json(band.workloads()))
      .set("same_workload", std::move(same))
      .set("command", band.command);
}

}  // namespace monet
