#include "monet/verbs/evaluate.h"

#include <fmt/format.h>

#include <filesystem>

#include "monet/base/nearest.h"
#include "monet/plan/lanes.h"
#include "monet/plan/plan_file.h"
#include "monet/verbs/cost_cache.h"
#include "monet/verbs/hardware.h"
#include "monet/verbs/plan_input.h"

namespace monet {
namespace {

// Of a core's lanes; a core whose usual unrolling fills less of them, and that can do otherwise, does.
constexpr double kLeastFilled = 0.5;

void evaluate_mode(const EvaluateRequest& request, const std::string& mode, cost::Cache& cache, EvaluateRun& run) {
  Evaluated out{.mode = mode, .prepared = prepare(model_for(request, mode))};
  if (!out.prepared.is_training) out.mode = "inference";
  std::vector<std::string> layers;
  for (const Node& node : out.prepared.graph.nodes)
    if (node.phase == Phase::Forward) layers.push_back(node.name);
  out.graph = decompose(std::move(out.prepared.graph), single_works(request));
  out.storage = std::make_unique<Storage>(out.graph);
  out.facts = plan::facts_of(out.graph);
  const hardware::Hardware& hardware = run.loaded.hardware;
  const plan::ParsedPlan parsed = read_plan({.plan = request.plan, .stacks = request.stacks}, hardware, out.graph,
                                            layers, run.inputs, run.warnings);
  out.decided = plan::decide(out.graph, out.facts, run.chip, parsed.plan,
                             [&](const std::string& path, Diagnostic& d) { locate(parsed, path, d); });
  plan::add_lane_stores(run.chip, out.decided);
  out.notes = out.decided.notes;
  for (const Diagnostic& warning : out.prepared.warnings)
    if (std::find(run.warnings.begin(), run.warnings.end(), warning) == run.warnings.end())
      run.warnings.push_back(warning);
  for (const DocumentInput& input : out.prepared.inputs)
    if (std::none_of(run.inputs.begin(), run.inputs.end(),
                     [&](const DocumentInput& other) { return other.path == input.path; }))
      run.inputs.push_back(input);
  out.outcome = schedule::evaluate({.graph = out.graph,
                                    .storage = *out.storage,
                                    .facts = out.facts,
                                    .chip = run.chip,
                                    .hardware = hardware,
                                    .decided = out.decided,
                                    .costs = default_costs(cache, request.threads),
                                    .iterations = request.iterations});
  if (out.is_feasible())
    out.notes.insert(out.notes.end(), out.result().tiled.notes.begin(), out.result().tiled.notes.end());
  run.modes.push_back(std::move(out));
}

}  // namespace

DecomposeOptions single_works(const EvaluateRequest& request) {
  return {.im2col_weight_gradient = request.im2col_weight_gradient, .fused_updates = request.fused_updates};
}

ModelRequest model_for(const EvaluateRequest& request, const std::string& mode) {
  ModelRequest asked = request.model;
  if (mode == "inference") {
    asked.train = "none";
    asked.is_inference = true;
    if (request.mode == "both") asked.recompute.clear();  // it is the training's
  } else {
    read_savings(request.plan, asked);
  }
  return asked;
}

schedule::CostOptions default_costs(cost::Cache& cache, std::size_t threads) {
  schedule::CostOptions costs{.threads = threads, .cache = &cache};
  costs.map.most_labels = kTileLabels;
  costs.map.spatial.least_filled = kLeastFilled;
  return costs;
}

bool EvaluateRun::is_feasible() const {
  return std::all_of(modes.begin(), modes.end(), [](const Evaluated& m) { return m.is_feasible(); });
}

EvaluateRun evaluate(const EvaluateRequest& request, cost::Cache& cache) {
  const std::vector<std::string> modes{"training", "inference", "both"};
  if (std::find(modes.begin(), modes.end(), request.mode) == modes.end())
    throw InputError(Diagnostic{.where = "--mode",
                                .message = fmt::format("unknown value '{}'", request.mode),
                                .hint = did_you_mean(request.mode, modes, "known: training, inference, both")});
  EvaluateRun run;
  run.loaded = describe_hardware({.hardware = request.hardware, .parameters = request.parameters});
  run.chip = plan::chip_of(run.loaded.hardware);
  plan::scale(run.chip, request.scale);
  run.inputs = document_inputs(run.loaded);
  run.warnings = run.loaded.warnings;
  if (request.mode != "inference") evaluate_mode(request, "training", cache, run);
  if (request.mode == "training") return run;
  try {
    evaluate_mode(request, "inference", cache, run);
  } catch (const InputError& error) {
    if (request.mode != "both" || request.plan.empty()) throw;
    std::vector<Diagnostic> found = error.diagnostics();
    found.push_back({.where = "--plan",
                     .message = "what the training takes does not fit the inference: one plan cannot serve both modes",
                     .hint = "--mode training and --mode inference, each with a plan of its own"});
    throw InputError(std::move(found));
  }
  return run;
}

EvaluateRun evaluate(const EvaluateRequest& request) {
  cost::Cache cache;
  std::vector<Diagnostic> warnings;
  if (!request.cache.empty()) read_cache(request.cache, cache, warnings);
  EvaluateRun run = evaluate(request, cache);
  if (!request.cache.empty() && cache.searched() > 0) write_cache(request.cache, cache, warnings);
  run.warnings.insert(run.warnings.end(), warnings.begin(), warnings.end());
  return run;
}

std::string plan_yaml(const EvaluateRun& run, const Evaluated& mode) {
  return plan::to_yaml(plan::in_words(mode.graph, mode.facts, run.chip, mode.decided));
}

}  // namespace monet
