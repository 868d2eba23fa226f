#include "monet/verbs/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/base/sha256.h"
#include "monet/verbs/cost_cache.h"
#include "monet/verbs/hardware.h"
#include "monet/verbs/plan_input.h"

namespace monet {
namespace {

using search::Figures;
using search::FusionObjective;
using Groups = std::vector<std::vector<NodeId>>;

FusionObjective objective_named(const std::string& text) {
  const std::vector<FusionObjective> all{FusionObjective::Groups, FusionObjective::Traffic, FusionObjective::Latency,
                                         FusionObjective::Energy};
  std::vector<std::string> names;
  for (const FusionObjective o : all) {
    if (name(o) == text) return o;
    names.emplace_back(name(o));
  }
  throw InputError(Diagnostic{.where = "--objective",
                              .message = fmt::format("unknown value '{}'", text.substr(0, 60)),
                              .hint = did_you_mean(text, names, "known: groups, traffic, latency, energy")});
}

search::FusionRules rules_named(const std::string& text, std::vector<DocumentInput>& inputs) {
  if (text == "default" || text == "stream") return search::default_rules();
  if (text == "monet") return search::monet_rules();
  if (!text.ends_with(".yaml") && !text.ends_with(".yml")) {
    const std::vector<std::string> known{"default", "monet", "stream"};
    throw InputError(
        Diagnostic{.where = "--rules",
                   .message = fmt::format("unknown value '{}'", text.substr(0, 60)),
                   .hint = did_you_mean(text, known, "known: default, monet, stream, or a file that ends in .yaml")});
  }
  const std::string bytes = read_file(text);
  inputs.push_back({"rules", text, sha256_hex(bytes)});
  return search::parse_rules(bytes, text);
}

search::PlaceMethod method_named(const std::string& text) {
  std::vector<std::string> names;
  for (const auto m : {search::PlaceMethod::Local, search::PlaceMethod::Genetic, search::PlaceMethod::Exact}) {
    if (name(m) == text) return m;
    names.emplace_back(name(m));
  }
  throw InputError(Diagnostic{.where = "--place",
                              .message = fmt::format("unknown value '{}'", text.substr(0, 60)),
                              .hint = did_you_mean(text, names, "known: local, ga, exact")});
}

// What a placement is judged by, and the name of it.
std::pair<std::string, std::function<double(const Figures&)>> place_objective_of(const FuseRequest& request) {
  const std::string usual = request.objective == "energy" ? "energy" : "latency";
  const std::string text = request.place_objective.empty() ? usual : request.place_objective;
  if (text == "latency") return {text, [](const Figures& f) { return f.latency_cycles; }};
  if (text == "energy") return {text, [](const Figures& f) { return f.energy_pj; }};
  if (text == "edp") return {text, [](const Figures& f) { return f.latency_cycles * f.energy_pj; }};
  const std::vector<std::string> known{"latency", "energy", "edp"};
  throw InputError(Diagnostic{.where = "--place-objective",
                              .message = fmt::format("unknown value '{}'", text.substr(0, 60)),
                              .hint = did_you_mean(text, known, "known: latency, energy, edp")});
}

double value_of(FusionObjective objective, const Figures& f) {
  switch (objective) {
    case FusionObjective::Groups:
    case FusionObjective::Latency: return f.latency_cycles;
    case FusionObjective::Traffic: return f.offchip_bytes;
    case FusionObjective::Energy: return f.energy_pj;
  }
  return 0;
}

class Fusing {
 public:
  Fusing(const FuseRequest& request, cost::Cache& cache)
      : request_(request), objective_(objective_named(request.objective)) {
    if (request.evaluate.mode == "both")
      throw InputError(Diagnostic{.where = "--mode", .message = "one at a time", .hint = "training or inference"});
    if (request.evaluate.iterations != 1)
      throw InputError(Diagnostic{.where = "--iterations",
                                  .message = "ways to fuse are compared by one iteration",
                                  .hint = "evaluate takes it, with the plan"});
    run_.rules = rules_named(request.rules, run_.inputs);
    if (request.limit) run_.rules.limit = *request.limit;
    run_.loaded = describe_hardware({.hardware = request.evaluate.hardware, .parameters = request.evaluate.parameters});
    run_.chip = plan::chip_of(run_.loaded.hardware);
    if (run_.chip.cores.size() > 64)
      throw InputError(Diagnostic{.where = "--on", .message = "more than 64 cores", .hint = "fuse on a part of them"});
    plan::scale(run_.chip, request.evaluate.scale);
    run_.warnings = run_.loaded.warnings;
    if (!request.place.empty())
      run_.placed = {.method = method_named(request.place), .objective = place_objective_of(request).first};
    costs_ = default_costs(cache, request.evaluate.threads);
  }

  FuseRun run() {
    const ModelRequest model = model_for(request_.evaluate, request_.evaluate.mode);
    Prepared prepared = prepare(model);
    run_.mode = prepared.is_training ? "training" : "inference";
    run_.warnings.insert(run_.warnings.end(), prepared.warnings.begin(), prepared.warnings.end());
    run_.inputs.insert(run_.inputs.end(), prepared.inputs.begin(), prepared.inputs.end());
    for (const DocumentInput& input : document_inputs(run_.loaded)) run_.inputs.push_back(input);
    std::vector<std::string> layers;
    for (const Node& node : prepared.graph.nodes)
      if (node.phase == Phase::Forward) layers.push_back(node.name);
    const search::Subject subject(decompose(std::move(prepared.graph), single_works(request_.evaluate)), model.saved);
    const search::Setting setting{run_.chip, run_.loaded.hardware, costs_};

    const search::Evaluated alone = price(setting, subject, "one by one", one_by_one(subject));
    const search::Evaluated by_default = price(setting, subject, "by default", plan_of(subject, {}));
    const bool has_costs = is_possible(by_default) || is_possible(alone);
    run_.measure = measured(has_costs);
    input_.emplace(search::FusionInput{.graph = subject.graph,
                                       .facts = subject.facts,
                                       .chip = run_.chip,
                                       .rules = run_.rules,
                                       .objective = run_.measure,
                                       .costs = {},
                                       .deadline = request_.watch.deadline});
    if (has_costs) input_->costs = search::fusion_costs(run_.chip, is_possible(by_default) ? by_default : alone);
    if (!request_.evaluate.plan.empty() || !request_.evaluate.stacks.empty()) price_by_hand(setting, subject, layers);

    run_.fusion = request_.rules == "stream" ? stream_fusion(subject) : search::fuse(*input_);
    search::Evaluated best = price(setting, subject, request_.rules == "stream" ? "by Stream's rule" : "solved",
                                   plan_of(subject, run_.fusion.groups));
    run_.best = run_.variants.size() - 1;
    if (request_.refine) best = refine(setting, subject, std::move(best));
    if (run_.placed) best = place(setting, subject);
    for (FuseVariant& v : run_.variants) {
      v.objective = search::objective_of(*input_, groups_.at(v.name));
      v.is_solved = request_.rules != "stream" && groups_.at(v.name) == groups_.at("solved");
      if (v.name != "by hand" && v.name != "refined" && v.name != "placed") continue;
      for (std::string& words : broken_rules(subject, groups_.at(v.name)))
        run_.broken.push_back({v.name, std::move(words)});
    }
    for (const std::vector<NodeId>& nodes : groups_.at(run_.variants[run_.best].name)) {
      run_.groups.emplace_back();
      for (const NodeId n : nodes) run_.groups.back().push_back(subject.graph[n].name);
    }
    run_.plan_yaml = plan::to_yaml(plan::in_words(subject.graph, subject.facts, run_.chip, best.decided));
    return std::move(run_);
  }

 private:
  static bool is_possible(const search::Evaluated& e) {
    return std::holds_alternative<schedule::Evaluation>(e.outcome);
  }

  static plan::Plan one_by_one(const search::Subject& subject) {
    Groups groups;
    for (std::uint32_t n = 0; n < subject.graph.nodes.size(); ++n) groups.push_back({NodeId{n}});
    return plan_of(subject, groups);
  }

  search::Evaluated price(const search::Setting& setting, const search::Subject& subject, const std::string& name,
                          const plan::Plan& plan) {
    search::Evaluated e = search::evaluate(setting, subject, plan);
    run_.variants.push_back({.name = name, .figures = search::figures_of(run_.chip, e.decided, e.outcome)});
    groups_[name] = search::groups_of(e.decided);
    return e;
  }

  void price_by_hand(const search::Setting& setting, const search::Subject& subject,
                     const std::vector<std::string>& layers) {
    const plan::ParsedPlan parsed = read_plan({.plan = request_.evaluate.plan, .stacks = request_.evaluate.stacks},
                                              run_.loaded.hardware, subject.graph, layers, run_.inputs, run_.warnings);
    search::Evaluated e{.decided =
                            plan::decide(subject.graph, subject.facts, run_.chip, parsed.plan,
                                         [&](const std::string& path, Diagnostic& d) { locate(parsed, path, d); })};
    price(setting, subject, "by hand", plan::in_words(subject.graph, subject.facts, run_.chip, e.decided));
  }

  // In words, of the groups that break one: who, and which.
  std::vector<std::string> broken_rules(const search::Subject& subject, const Groups& groups) const {
    const search::FusionGraph graph = search::fusion_graph(subject.graph, subject.facts, run_.chip, run_.rules);
    const search::GroupJudge broken_rule = search::group_judge(graph, run_.chip, run_.rules);
    std::vector<std::string> out;
    for (const std::vector<NodeId>& nodes : groups) {
      const std::vector<std::uint32_t> group = search::fusion_group(graph, nodes);
      if (group.size() < 2) continue;
      if (const auto rule = broken_rule(group))
        out.push_back(fmt::format("{} and {} more: {}", subject.graph[graph.nodes[group.front()].nodes.front()].name,
                                  group.size() - 1, *rule));
    }
    return out;
  }

  // Where nothing can be scheduled, nobody knows what a node takes.
  FusionObjective measured(bool has_costs) {
    if (has_costs || objective_ == FusionObjective::Groups || objective_ == FusionObjective::Traffic) return objective_;
    run_.warnings.push_back({.where = "--objective",
                             .message = fmt::format("the iteration cannot be scheduled, neither fused by default nor "
                                                    "one by one: groups are chosen by traffic, not by {}",
                                                    name(objective_)),
                             .hint = "the reasons stand below",
                             .severity = Severity::Warning});
    return FusionObjective::Traffic;
  }

  search::Fusion stream_fusion(const search::Subject& subject) const {
    search::Fusion out{.groups = search::stream_groups(subject, run_.chip), .limit = run_.rules.limit};
    out.objective = search::objective_of(*input_, out.groups);
    return out;
  }

  // Of what was solved and what there was before, that which is best.
  const Groups& best_groups(const std::function<double(const Figures&)>& objective) const {
    std::size_t best = run_.best;
    const auto value = [&](std::size_t v) {
      const Figures& f = run_.variants[v].figures;
      return f.is_possible ? objective(f) : std::numeric_limits<double>::infinity();
    };
    for (std::size_t v = 0; v < run_.variants.size(); ++v)
      if (value(v) < value(best)) best = v;
    return groups_.at(run_.variants[best].name);
  }

  search::Evaluated refine(const search::Setting& setting, const search::Subject& subject, search::Evaluated solved) {
    const auto objective = [&](const Figures& f) { return value_of(objective_, f); };
    run_.refined = search::refine(setting, subject, run_.rules, best_groups(objective),
                                  options_for(objective, request_.evaluations));
    search::Evaluated best = price(setting, subject, "refined", plan_of(subject, run_.refined->groups));
    if (!is_possible(best)) return solved;
    run_.best = run_.variants.size() - 1;
    return best;
  }

  search::Evaluated place(const search::Setting& setting, const search::Subject& subject) {
    const auto objective = place_objective_of(request_).second;
    const search::Placement placement(setting, subject, plan_of(subject, best_groups(objective)));
    FusePlacement& out = *run_.placed;
    const bool is_exact = out.method == search::PlaceMethod::Exact;
    if (is_exact && placement.decisions() > search::kMostPlacements)
      throw InputError(
          Diagnostic{.where = "--place",
                     .message = fmt::format("{:.4g} placements of {} layers are too many to try all of them",
                                            placement.decisions(), placement.layers().size()),
                     .hint = fmt::format("at most {}; or --place local", search::kMostPlacements)});
    for (const std::uint16_t count : placement.choices()) out.layers += count > 1 ? 1 : 0;
    const std::size_t most = is_exact ? static_cast<std::size_t>(placement.decisions()) : request_.evaluations;
    out.found =
        search::place(placement, {.method = out.method, .search = options_for(objective, most), .seed = request_.seed});
    search::Evaluated best = price(setting, subject, "placed", placement.plan(out.found.decision));
    run_.best = run_.variants.size() - 1;
    return best;
  }

  search::DescentOptions options_for(std::function<double(const Figures&)> value, std::size_t evaluations) const {
    search::DescentOptions options{.value = std::move(value),
                                   .evaluations = evaluations,
                                   .threads = request_.evaluate.threads,
                                   .deadline = request_.watch.deadline};
    if (Progress* progress = request_.watch.progress; progress != nullptr) {
      progress->parts = "evaluations";
      progress->done = 0;
      progress->total = evaluations;
      options.observe = [progress](std::size_t done, const Figures&) { progress->done = done; };
    }
    return options;
  }

  const FuseRequest& request_;
  FusionObjective objective_;
  schedule::CostOptions costs_;
  std::optional<search::FusionInput> input_;
  std::map<std::string, Groups> groups_;  // by name of the variant
  FuseRun run_;
};

}  // namespace

FuseRun fuse(const FuseRequest& request) {
  cost::Cache cache;
  std::vector<Diagnostic> warnings;
  if (!request.evaluate.cache.empty()) read_cache(request.evaluate.cache, cache, warnings);
  FuseRun run = Fusing(request, cache).run();
  if (!request.evaluate.cache.empty() && cache.searched() > 0) write_cache(request.evaluate.cache, cache, warnings);
  run.warnings.insert(run.warnings.end(), warnings.begin(), warnings.end());
  return run;
}

}  // namespace monet
