#include "monet/verbs/training_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

#include "monet/base/config_section.h"
#include "monet/hardware/library.h"
#include "monet/models/catalogue.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/silicon_cases.h"

namespace monet {
namespace {

using config::Findings;
using config::Value;

std::string letters_of(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "Google TPU v2" is tpu_v2: the longest name of a chip that the device's contains.
std::optional<std::string> chip_named(const std::string& device) {
  const std::string letters = letters_of(device);
  std::string best;
  for (const std::string& name : hardware::library_names()) {
    const std::string wanted = letters_of(name);
    const std::size_t at = letters.find(wanted);
    if (at == std::string::npos || name.size() <= best.size()) continue;
    const std::size_t end = at + wanted.size();
    if (end < letters.size() && is_digit(wanted.back()) && is_digit(letters[end])) continue;
    best = name;
  }
  return best.empty() ? std::nullopt : std::optional(best);
}

// "ResNet-50 v1.5" is resnet50: the longest name of a model that the row's begins with, and no number goes on.
std::optional<std::string> model_named(const std::string& model) {
  const std::string letters = letters_of(model);
  std::string best;
  for (const ModelEntry& entry : model_catalogue()) {
    const std::string wanted = letters_of(entry.name);
    if (!letters.starts_with(wanted) || wanted.size() <= letters_of(best).size()) continue;
    if (letters.size() > wanted.size() && is_digit(wanted.back()) && is_digit(letters[wanted.size()])) continue;
    best = entry.name;
  }
  return best.empty() ? std::nullopt : std::optional(best);
}

// "3x224x224" is an image, "seq 128" a length.
std::string with_input(const std::string& model, const std::string& input) {
  const auto number_after = [&](std::size_t at) {
    std::string digits;
    for (; at < input.size() && is_digit(input[at]) && digits.size() < 6; ++at) digits += input[at];
    return digits;
  };
  const auto has_option = [&](const char* name) {
    for (const ModelEntry& entry : model_catalogue())
      if (entry.name == model)
        return std::any_of(entry.options.begin(), entry.options.end(), [&](const auto& o) { return o.name == name; });
    return false;
  };
  if (input.starts_with("3x") && has_option("image")) return fmt::format("{}:image={}", model, number_after(2));
  if (input.starts_with("seq ") && has_option("seq")) return fmt::format("{}:seq={}", model, number_after(4));
  return model;
}

bool contains(const std::string& letters, std::string_view word) { return letters.find(word) != std::string::npos; }

// LARS keeps what momentum keeps, and LAMB what Adam keeps; their norms are not counted.
std::string optimizer_named(const std::string& name) {
  const std::string letters = letters_of(name);
  if (contains(letters, "adamw")) return "adamw";
  if (contains(letters, "adam") || contains(letters, "lamb")) return "adam";
  if (contains(letters, "nomomentum")) return "sgd";
  return letters == "sgd" ? "sgd" : "momentum";
}

std::string precision_named(const std::string& name) {
  const std::string letters = letters_of(name);
  if (contains(letters, "bf16")) return "bf16";
  return contains(letters, "fp32") ? "fp32" : "fp16";
}

struct RateCase {
  std::string id{};
  EvaluateRequest request{};
  double rate = 0;  // samples a second and device
  std::string unit{};
};

struct ReadRate {
  std::optional<RateCase> rate{};
  std::string id{}, reason{};
};

ReadRate read_rate(const Value& row, Findings& findings) {
  config::Section s(row, "a row", config::Dialect::PyYaml, findings);
  const std::string device = s.require_text("device").value_or(""), model = s.require_text("model").value_or("");
  const auto value = s.number("value", {.least = 1e-9, .most = 1e18});
  const std::string unit = s.text("unit").value_or("");
  const std::string framework = s.text("framework").value_or("");
  const auto batch = s.number("batch_per_device", {.least = 1, .most = 1e7});
  ReadRate out{.id = fmt::format("{}, {}, batch {}{}{}", device, model, batch.value_or(1),
                                 framework.empty() ? "" : ", ", framework)};
  const std::string mode = s.text("mode").value_or("training");
  const auto chip = chip_named(device);
  const auto name = model_named(model);
  if (!chip) {
    out.reason = "no such chip in the library";
  } else if (!name) {
    out.reason = "no such model yet";
  } else if (mode != "training") {
    out.reason = fmt::format("not a whole iteration: {}", mode);
  } else if (!value || !unit.ends_with("/s")) {
    out.reason = "no rate in samples a second";
  } else {
    RateCase rate{.id = out.id, .rate = *value, .unit = unit};
    rate.request.hardware = *chip;
    rate.request.model.model = with_input(*name, s.text("input").value_or(""));
    rate.request.model.batch = static_cast<std::int64_t>(batch.value_or(1));
    rate.request.model.optimizer = optimizer_named(s.text("optimizer").value_or("momentum"));
    rate.request.model.precision = precision_named(s.text("precision").value_or("fp16"));
    out.rate = std::move(rate);
  }
  return out;
}

// What the iteration would take if only one kind of resource were there.
std::vector<ValidationEffect> roofs_of(const EvaluateRun& run, double samples) {
  const Evaluated& mode = run.modes.front();
  const schedule::Evaluation& e = mode.result();
  const schedule::Machine& machine = e.tiled.problem.machine;
  double lanes = 0, macs = 0, array = 0, vector = 0, channel = 0;
  for (std::size_t c = 0; c < run.chip.cores.size(); ++c) {
    const plan::CoreOnChip& core = run.chip.cores[c];
    double of_core = core.core.array ? 1 : 0;
    if (core.core.array)
      for (const hardware::ArrayDimension& d : core.core.array->dimensions) of_core *= static_cast<double>(d.size);
    lanes += of_core;
    macs += e.core_macs[c];
    if (core.array) array = std::max(array, e.units[core.array->index()].busy);
    if (core.vector && core.vector != core.array) vector = std::max(vector, e.units[core.vector->index()].busy);
  }
  for (std::size_t c = 0; c < machine.channels.size(); ++c)
    channel = std::max(channel, e.channel_bytes[c] / machine.channels[c].bytes_per_cycle);
  const auto rate = [&](double cycles) { return cycles > 0 ? samples * e.clock_hz / cycles : 0; };
  return {{"every lane of the arrays busy", rate(lanes > 0 ? macs / lanes : 0)},
          {"busiest array alone", rate(array)},
          {"busiest vector unit alone", rate(vector)},
          {"busiest link or off-chip port alone", rate(channel)},
          {"scheduled", rate(e.latency)}};
}

// What a row says is compared with, without the row's own figure.
struct Simulated {
  double rate = 0;
  std::string reason{};  // why there is none
  std::vector<ValidationEffect> effects{};
};

Simulated simulate(const EvaluateRequest& request, cost::Cache& cache) {
  const EvaluateRun run = evaluate(request, cache);
  const Evaluated& mode = run.modes.front();
  if (!mode.is_feasible()) return {.reason = std::get<schedule::Infeasible>(mode.outcome).reason};
  const schedule::Evaluation& e = mode.result();
  const auto samples = static_cast<double>(*request.model.batch);
  const auto rate = [&](const schedule::Evaluation& of) {
    return of.clock_hz > 0 ? samples * of.clock_hz / of.latency : 0;
  };
  Simulated ours{.rate = rate(e), .effects = roofs_of(run, samples)};
  // As frameworks without fusion have it: a layer that is a stack of its own leaves all others alone, too.
  EvaluateRequest unfused = request;
  unfused.stacks = "[0]";
  const EvaluateRun apart = evaluate(unfused, cache);
  if (apart.modes.front().is_feasible())
    ours.effects.push_back({"no operators fused", rate(apart.modes.front().result()), true});
  return ours;
}

ValidationRow row_of(const RateCase& c, const Simulated& ours) {
  ValidationRow row{.id = c.id, .figure = c.unit, .theirs = c.rate, .error = -1, .figures = 1};
  if (!ours.reason.empty()) {
    row.ours = ours.reason;
    return row;
  }
  row.ours = ours.rate;
  row.error = ours.rate / c.rate - 1;
  row.matches = std::abs(row.error) <= kRateTolerance;
  row.effects = ours.effects;
  return row;
}

}  // namespace

void run_training_rates(const Value& rows, cost::Cache& cache, ValidationSuite& suite) {
  Findings findings;
  if (!rows.is_sequence()) findings.error(rows, "'rows' is a list");
  std::vector<RateCase> cases;
  for (std::size_t i = 0; rows.is_sequence() && i < rows.size(); ++i) {
    ReadRate read = read_rate(rows[i], findings);
    if (read.rate)
      cases.push_back(std::move(*read.rate));
    else
      suite.skipped.push_back({read.id, read.reason, false});
  }
  findings.throw_if_failed();
  // Several rows may measure the same iteration.
  std::map<std::string, Simulated> known;
  for (const RateCase& c : cases) {
    const ModelRequest& m = c.request.model;
    const std::string key =
        fmt::format("{} {} {} {} {}", c.request.hardware, m.model, *m.batch, m.optimizer, m.precision);
    const auto [at, is_new] = known.try_emplace(key);
    if (is_new) at->second = simulate(c.request, cache);
    suite.rows.push_back(row_of(c, at->second));
  }
}

}  // namespace monet
