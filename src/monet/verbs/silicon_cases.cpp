#include "monet/verbs/silicon_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/base/config_section.h"
#include "monet/hardware/library.h"
#include "monet/plan/decide.h"
#include "monet/report/table.h"
#include "monet/verbs/case_values.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/silicon_chip.h"
#include "monet/verbs/silicon_effects.h"
#include "monet/verbs/silicon_network.h"
#include "monet/verbs/training_cases.h"

namespace monet {
namespace {

using config::Findings;
using config::Value;

struct ChipCase {
  std::string id{};
  double measured = 0;
  hardware::Hardware hardware{};
  SiliconNetwork network{};
  SiliconCuts cuts{};
  plan::Plan plan{};
};

// A chip in the file itself, or the name of one of the library, whose cores are numbered in their order.
SiliconChip chip_of_case(const Value& value, Findings& findings) {
  if (!value.is_scalar()) return read_silicon_chip(value, findings);
  SiliconChip chip{.hardware = hardware::find_hardware(std::string(value.text())).hardware};
  for (std::uint32_t c = 0; c < chip.hardware.cores.size(); ++c) chip.cores[c] = c;
  return chip;
}

ChipCase read_case(const std::string& name, const Value& root) {
  Findings findings;
  config::Section s(root, "a measured chip", config::Dialect::PyYaml, findings);
  ChipCase out{.id = s.text("chip").value_or(name)};
  out.id = out.id.substr(0, out.id.find(" ("));
  out.measured = s.number("measured_latency_cycles", {.least = 1, .most = 1e18}).value_or(0);
  const auto hardware = s.require("hardware"), workload = s.require("workload"), mapping = s.require("mapping"),
             scheduling = s.require("scheduling");
  if (out.measured == 0) s.require("measured_latency_cycles");
  findings.throw_if_failed();
  SiliconChip chip = chip_of_case(*hardware, findings);
  out.network = read_silicon_network(*workload, findings);
  out.cuts = read_silicon_cuts(*scheduling, findings);
  findings.throw_if_failed();
  std::map<std::int64_t, std::string> cores;
  for (const auto& [id, core] : chip.cores) cores[id] = chip.hardware.cores[core].name;
  out.plan = silicon_plan(out.network, *mapping, cores, out.cuts, findings);
  findings.throw_if_failed();
  out.hardware = std::move(chip.hardware);
  return out;
}

// All that an evaluation is made of, kept together: its parts refer to one another.
struct Evaluator {
  const ChipCase& c;
  cost::Cache& cache;
  plan::Chip chip = plan::chip_of(c.hardware);
  Storage storage{c.network.graph};
  std::vector<plan::Facts> facts = plan::facts_of(c.network.graph);
  plan::Decided decided{};

  schedule::TilingInput input(const plan::Plan& plan) {
    decided = plan::decide(c.network.graph, facts, chip, plan);
    return {.graph = c.network.graph,
            .storage = storage,
            .facts = facts,
            .chip = chip,
            .hardware = c.hardware,
            .decided = decided,
            .costs = default_costs(cache, 0)};
  }
};

ValidationRow run_case(const ChipCase& c, cost::Cache& cache) {
  ValidationRow row{.id = c.id, .figure = "cycles", .theirs = c.measured, .figures = 1};
  Evaluator evaluator{.c = c, .cache = cache};
  const schedule::TilingInput input = evaluator.input(c.plan);
  const auto outcome = schedule::evaluate(input);
  if (const auto* infeasible = std::get_if<schedule::Infeasible>(&outcome)) {
    row.ours = infeasible->reason;
    row.error = 1;
    return row;
  }
  const auto& result = std::get<schedule::Evaluation>(outcome);
  row.ours = result.latency;
  row.error = (result.latency - c.measured) / c.measured;
  row.matches = std::abs(row.error) <= kChipTolerance;
  for (const Effect& effect : effects_of(input, result)) row.effects.push_back({effect.name, effect.cycles});
  row.effects.push_back({"weights enter the arrays at no cost", cycles_with_free_weights(input), true});
  row.effects.push_back({"off-chip transfers and compute take turns", cycles_in_turns(result), true});
  if (c.cuts.is_stated) return row;
  for (const std::int64_t height : {2, 4, 8}) {
    const auto other = schedule::evaluate(evaluator.input(with_tile_height(c.plan, c.network.graph, height)));
    if (const auto* found = std::get_if<schedule::Evaluation>(&other))
      row.effects.push_back({fmt::format("tiles of {} rows", height), found->latency, true});
  }
  return row;
}

std::string figure_text(const std::variant<double, std::string>& value) {
  if (std::holds_alternative<std::string>(value)) return "no schedule";
  const double v = std::get<double>(value);
  return v >= 10000 ? grouped(static_cast<std::uint64_t>(std::llround(v))) : fmt::format("{:.1f}", v);
}

std::string percent(double error) { return fmt::format("{:+.1f} %", 100 * error); }

std::string effects_text(const ValidationRow& row) {
  if (row.effects.empty()) return "";
  const double theirs = std::get<double>(row.theirs);
  Table table({row.id, row.figure, "off by"});
  bool in_alternatives = false;
  for (const ValidationEffect& effect : row.effects) {
    if (effect.is_alternative && !in_alternatives) {
      in_alternatives = true;
      table.row({"not the model, for comparison:", "", ""});
    }
    table.row(
        {(in_alternatives ? "  " : "") + effect.name, figure_text(effect.value), percent(effect.value / theirs - 1)});
  }
  return "\n" + table.text("  ");
}

}  // namespace

bool is_silicon_file(const Value& root) {
  return has(root, "measured_latency_cycles") || has(root, "chips") || has(root, "rows");
}

void run_silicon_file(const std::string& name, const Value& root, std::vector<ValidationSuite>& suites) {
  std::vector<Value> chips;
  if (has(root, "measured_latency_cycles")) chips.push_back(root);
  if (const auto list = root.find("chips"); list && list->is_sequence())
    for (std::size_t i = 0; i < list->size(); ++i) chips.push_back((*list)[i]);
  cost::Cache cache;
  if (!chips.empty()) {
    ValidationSuite suite{.name = name + " chips"};
    std::vector<ChipCase> cases;
    for (const Value& chip : chips) cases.push_back(read_case(name, chip));
    for (const ChipCase& c : cases) suite.rows.push_back(run_case(c, cache));
    suites.push_back(std::move(suite));
  }
  if (const auto rows = root.find("rows")) {
    ValidationSuite suite{.name = name + " training"};
    run_training_rates(*rows, cache, suite);
    suites.push_back(std::move(suite));
  }
}

std::string measured_text(const ValidateResult& result) {
  std::string out = result.heading + "\n";
  for (const ValidationSuite& suite : result.suites) {
    Table table({suite.name, "figure", "ours", "measured", "error"});
    std::string effects, skipped;
    for (const ValidationRow& row : suite.rows) {
      const std::string* reason = std::get_if<std::string>(&row.ours);
      table.row({row.id, row.figure, figure_text(row.ours), figure_text(row.theirs),
                 (reason != nullptr ? "" : percent(row.error)) + (row.matches ? "" : " *")});
      if (reason != nullptr) skipped += fmt::format("  no schedule: {}: {}\n", row.id, *reason);
      effects += effects_text(row);
    }
    for (const ValidationSuite::Skipped& each : suite.skipped)
      skipped += fmt::format("  not run: {}: {}\n", each.id, each.reason);
    out += "\n" + table.text("  ") + skipped + effects;
  }
  return out + (result.matches ? "\nall agree: " : "\n* misses the aim: ") + result.agreement + "\n";
}

}  // namespace monet
