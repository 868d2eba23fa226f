#include "monet/verbs/explain_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "monet/base/config.h"
#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/base/sha256.h"
#include "monet/report/nest.h"
#include "monet/report/table.h"
#include "monet/verbs/explain_run_parts.h"

namespace monet {
namespace {

// ---- Which run ----

std::string result_path(const std::string& run) { return run + "/result.json"; }

// Files must be those that were evaluated.
void check_inputs(const std::string& result_json, const std::string& path, const EvaluateRun& run) {
  const config::Tree tree = config::parse_json(result_json, path);
  const auto inputs = tree.root().find("inputs");
  if (!inputs || !inputs->is_map()) return;
  for (const DocumentInput& input : run.inputs) {
    const auto entry = inputs->find(input.name);
    const auto digest = entry && entry->is_map() ? entry->find("sha256") : std::nullopt;
    if (digest && digest->is_scalar() && digest->text() != input.sha256)
      throw InputError(Diagnostic{.file = input.path,
                                  .message = fmt::format("has changed since {} was written", path),
                                  .hint = "evaluate it again"});
  }
}

// ---- What is asked ----

enum class RunSubject { Latency, Energy, PeakMemory, Levers, Node, Tensor, Core };

struct AskedOfRun {
  RunSubject subject = RunSubject::Latency;
  std::size_t index = 0;
};

AskedOfRun asked_of(const RunExplanation& x, const std::string& what) {
  const Evaluated& mode = x.run.modes[x.mode];
  std::vector<std::string> words{"latency", "energy", "peak-memory", "levers"};
  constexpr std::array kSubjects{RunSubject::Latency, RunSubject::Energy, RunSubject::PeakMemory, RunSubject::Levers};
  for (std::size_t i = 0; i < kSubjects.size(); ++i)
    if (what == words[i]) return {kSubjects[i], 0};
  for (std::size_t n = 0; n < mode.graph.nodes.size(); ++n) {
    if (mode.graph.nodes[n].name == what) return {RunSubject::Node, n};
    words.push_back(mode.graph.nodes[n].name);
  }
  for (std::size_t t = 0; t < mode.graph.tensors.size(); ++t) {
    if (mode.graph.tensors[t].name == what) return {RunSubject::Tensor, t};
    words.push_back(mode.graph.tensors[t].name);
  }
  for (std::size_t c = 0; c < x.run.chip.cores.size(); ++c) {
    if (x.run.chip.cores[c].core.name == what) return {RunSubject::Core, c};
    words.push_back(x.run.chip.cores[c].core.name);
  }
  throw InputError(Diagnostic{
      .where = "WHAT",
      .message = fmt::format("nothing is called '{}'", what.substr(0, 60)),
      .hint = did_you_mean(what, words, "latency, energy, peak-memory, levers, a node, a tensor or a core")});
}

}  // namespace

bool is_evaluation(const std::string& run) {
  std::error_code error;
  const std::string path = result_path(run);
  if (!std::filesystem::is_regular_file(path, error)) return false;
  return verb_of(config::parse_json(read_file(path), path).root()) == "evaluate";
}

RunExplanation explain_run(const ExplainRunRequest& request) {
  const std::string path = result_path(request.run);
  const std::string document = read_file(path);
  RunExplanation x{.request = evaluate_request_of(document, path), .what = request.what};
  x.request.threads = request.threads;
  x.run = evaluate(x.request);
  check_inputs(document, path, x.run);
  for (std::size_t m = 0; m < x.run.modes.size(); ++m)
    if (x.what.starts_with(x.run.modes[m].mode + "/")) {
      x.mode = m;
      x.what.erase(0, x.run.modes[m].mode.size() + 1);
      break;
    }
  const Evaluated& mode = x.run.modes[x.mode];
  if (!mode.is_feasible()) {
    const auto& infeasible = std::get<schedule::Infeasible>(mode.outcome);
    x.sections.push_back({.title = "not possible", .sentences = {infeasible.reason}});
    for (const std::string& lever : infeasible.levers) x.sections.back().sentences.push_back("would help: " + lever);
    return x;
  }
  const AskedOfRun asked = asked_of(x, x.what);
  switch (asked.subject) {
    case RunSubject::Latency:
      x.sections = latency_sections(x.run, mode);
      x.sections.push_back(lever_section(x.run, mode, request.threads));
      break;
    case RunSubject::Energy: x.sections = energy_sections(x.run, mode); break;
    case RunSubject::PeakMemory: x.sections = memory_sections(x.run, mode); break;
    case RunSubject::Levers: x.sections = {lever_section(x.run, mode, request.threads)}; break;
    case RunSubject::Node: x.sections = node_sections(x.run, mode, asked.index); break;
    case RunSubject::Tensor: x.sections = tensor_sections(x.run, mode, asked.index); break;
    case RunSubject::Core: x.sections = core_sections(x.run, mode, asked.index); break;
  }
  return x;
}

std::string text(const RunExplanation& x) {
  std::string out = fmt::format("{} of {}, {} on {}\n", x.what, x.request.model.model, x.run.modes[x.mode].mode,
                                x.run.loaded.hardware.name);
  for (const ExplainedSection& section : x.sections) {
    out += "\n" + section.title + "\n";
    for (const std::string& sentence : section.sentences) out += "  " + sentence + "\n";
    if (section.rows.empty()) continue;
    Table table(section.header);
    for (const std::vector<ExplainedCell>& row : section.rows) {
      std::vector<std::string> cells;
      for (const ExplainedCell& cell : row) cells.push_back(cell.text);
      table.row(std::move(cells));
    }
    out += table.text("  ");
  }
  return out;
}

Json json(const RunExplanation& x) {
  Json sections = Json::array();
  for (const ExplainedSection& section : x.sections) {
    Json rows = Json::array();
    for (const std::vector<ExplainedCell>& row : section.rows) {
      Json cells = Json::object();
      for (std::size_t c = 0; c < row.size() && c < section.header.size(); ++c)
        cells.set(section.header[c].empty() ? "what" : section.header[c], row[c].value);
      rows.push(std::move(cells));
    }
    sections.push(Json::object()
                      .set("title", section.title)
                      .set("sentences", Json(section.sentences))
                      .set("rows", std::move(rows)));
  }
  return Json::object()
      .set("what", x.what)
      .set("mode", x.run.modes[x.mode].mode)
      .set("feasible", x.run.modes[x.mode].is_feasible())
      .set("sections", std::move(sections));
}

}  // namespace monet
