#include "monet/verbs/explore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "monet/base/nearest.h"
#include "monet/base/parallel.h"
#include "monet/base/shell.h"
#include "monet/base/split.h"
#include "monet/hardware/yaml.h"
#include "monet/plan/plan_file.h"
#include "monet/rewrite/decompose.h"
#include "monet/solve/random.h"
#include "monet/store/run_store.h"
#include "monet/verbs/cost_cache.h"
#include "monet/verbs/explore_live.h"
#include "monet/verbs/explore_query.h"
#include "monet/verbs/refuse.h"

namespace monet {
namespace {

using search::Candidate;
using search::ChipFigures;
using search::Task;
using search::TaskResult;

constexpr std::size_t kMostWorkloads = 32;
constexpr double kMostPoints = 5e6;            // of a grid
constexpr std::size_t kMostCounted = 200'000;  // chips that --count makes, if they are all there are
constexpr std::size_t kDrawn = 20'000;         // of more it makes so many

// What --also asks for.
struct Decisions {
  std::vector<std::int64_t> batches{};
  std::vector<std::string> recompute{};
  std::vector<std::uint32_t> limits{};
};

std::int64_t whole_above_zero(const std::string& kind, const std::string& word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value < 1 || value > 1 << 20)
    refuse("--also", fmt::format("{}: '{}' is no whole number from 1 to {}", kind, word.substr(0, 60), 1 << 20));
  return value;
}

Decisions decisions_of(const std::vector<std::string>& also) {
  const std::vector<std::string> kinds{"batch", "recompute", "fusion"};
  Decisions out;
  for (const std::string& text : also) {
    const std::size_t equals = text.find('=');
    const std::string kind = text.substr(0, equals);
    if (equals == std::string::npos || std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      refuse("--also", fmt::format("unknown value '{}'", text.substr(0, 60)),
             did_you_mean(kind, kinds, "batch=8,32, recompute=all,REGEX or fusion=4,6"));
    for (const std::string& word : split(std::string_view(text).substr(equals + 1), ',')) {
      if (word.empty()) refuse("--also", fmt::format("{}: a value is missing", kind));
      const auto add = [&](auto& list, auto value) {
        if (std::find(list.begin(), list.end(), value) != list.end())
          refuse("--also", fmt::format("{}: {} is there twice", kind, word.substr(0, 60)));
        list.push_back(std::move(value));
      };
      if (kind == "batch") add(out.batches, whole_above_zero(kind, word));
      if (kind == "recompute") add(out.recompute, word);
      if (kind == "fusion") add(out.limits, static_cast<std::uint32_t>(whole_above_zero(kind, word)));
    }
  }
  return out;
}

std::vector<std::string> modes_of(const std::string& mode) {
  if (mode == "both") return {"training", "inference"};
  if (mode == "training" || mode == "inference") return {mode};
  const std::vector<std::string> known{"training", "inference", "both"};
  refuse("--mode", fmt::format("unknown value '{}'", mode.substr(0, 60)),
         did_you_mean(mode, known, "known: training, inference, both"));
}

search::ExplorationGoal goal_of(const std::string& text) {
  search::ExplorationGoal goal{.objectives = {}};
  for (const std::string& word : split(text, ',')) {
    const std::optional<search::ChipObjective> objective = search::chip_objective_named(word);
    if (!objective)
      refuse("--objectives", fmt::format("unknown value '{}'", word.substr(0, 60)),
             "known: latency, energy, area, tdp, peak, between commas");
    if (std::find(goal.objectives.begin(), goal.objectives.end(), *objective) != goal.objectives.end())
      refuse("--objectives", fmt::format("{} is there twice", word));
    goal.objectives.push_back(*objective);
  }
  return goal;
}

// Names are unique: "model", "model_1".
void add_input(DocumentInput input, std::vector<DocumentInput>& inputs) {
  const std::string name = input.name;
  for (std::size_t i = 1;
       std::any_of(inputs.begin(), inputs.end(), [&](const DocumentInput& other) { return other.name == input.name; });
       ++i)
    input.name = fmt::format("{}_{}", name, i);
  inputs.push_back(std::move(input));
}

// A model in a mode with every combination of samples and recomputation.
search::Workload workload_of(const ExploreRequest& request, const std::string& model, const std::string& mode,
                             const Decisions& decisions, ExploreProblem& problem) {
  EvaluateRequest asked = request.evaluate;
  asked.model.model = model;
  asked.model.dims_are_shared = request.models.size() > 1;
  search::Workload out{.name = request.models.size() > 1 ? model + " " + mode : mode};
  std::vector<std::optional<std::int64_t>> batches{asked.model.batch};
  batches.insert(batches.end(), decisions.batches.begin(), decisions.batches.end());
  std::vector<std::string> recompute{asked.model.recompute};
  recompute.insert(recompute.end(), decisions.recompute.begin(), decisions.recompute.end());
  for (const std::string& r : recompute)
    for (const std::optional<std::int64_t>& batch : batches) {
      ModelRequest one = model_for(asked, mode);
      one.batch = batch;
      if (mode != "inference") one.recompute = r;
      Prepared prepared = prepare(one);
      if (out.variants.empty()) problem.dims.push_back(prepared.dims);
      const double samples = static_cast<double>(samples_of(one, prepared));
      if (mode == "training" && !prepared.is_training) refuse("--mode", fmt::format("{} trains nothing", model));
      for (const Diagnostic& warning : prepared.warnings)
        if (std::find(problem.warnings.begin(), problem.warnings.end(), warning) == problem.warnings.end())
          problem.warnings.push_back(warning);
      for (const DocumentInput& input : prepared.inputs)
        if (std::none_of(problem.inputs.begin(), problem.inputs.end(),
                         [&](const DocumentInput& other) { return other.path == input.path; }))
          add_input(input, problem.inputs);
      out.variants.push_back(
          std::make_unique<search::Subject>(decompose(std::move(prepared.graph), single_works(asked))));
      out.samples.push_back(samples);
    }
  return out;
}

void add_limit(hardware::LoadedSpace& loaded, std::string_view name, std::optional<double> most) {
  if (!most) return;
  if (*most > 1e9) refuse(name == hardware::kAreaName ? "--area" : "--tdp", "no chip comes near it", "leave it out");
  loaded.space.constraints.push_back(*config::parse_condition(fmt::format("{} <= {}", name, *most)));
  loaded.constraints.emplace_back();
}

// Chips without a clock have no power.
void refuse_power(const ExploreRequest& request, const ExploreProblem& problem) {
  const bool is_goal = std::find(problem.goal.objectives.begin(), problem.goal.objectives.end(),
                                 search::ChipObjective::Tdp) != problem.goal.objectives.end();
  if ((!is_goal && !request.tdp_w) || problem.family->has_clock()) return;
  refuse(is_goal ? "--objectives" : "--tdp", fmt::format("{} has no clock, so no TDP", problem.family->space().chip),
         "give it one: a field 'clock', in its file or as a variable of the space");
}

// Tables have a column for each; an axis beside the chip may be named as a variable of it, or as a figure.
void check_names(const ExploreProblem& problem) {
  std::vector<std::string> taken{"point", "workload", "feasible", "on_front", "on_common_front", "reason"};
  for (const std::string& name : search::figure_names()) taken.push_back(name);
  for (const search::Axis& axis : problem.exploration->axes()) taken.push_back(axis.name);
  for (const std::size_t v : problem.family->free())
    if (const std::string& name = problem.family->space().variables[v].name;
        std::find(taken.begin(), taken.end(), name) != taken.end())
      throw InputError(Diagnostic{.file = problem.family->files().front().path,
                                  .message = fmt::format("a variable '{}': tables have a column of that name", name),
                                  .hint = "another name; the parameter of the chip can be computed from it: "
                                          "{is: \"${other}\"}"});
}

// Results as rows of a store, one for each task and workload.
class StoredResults {
 public:
  StoredResults(const std::string& path, const std::string& question, const std::string& about)
      : store_(path, question, search::figure_names(), about) {}

  store::RunStore& store() { return store_; }

  std::optional<ChipFigures> find(const Task& task, std::uint8_t workload) const {
    std::optional<store::RunStore::Row> row = store_.find(key_of(task, workload));
    if (!row) return std::nullopt;
    if (!row->reason.empty()) return ChipFigures{.reason = std::move(row->reason)};
    return search::figures_of("", row->values);
  }

  void add(const Task& task, const TaskResult& result) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      store::RunStore::Row row{.key = key_of(task, task.workloads[i]), .reason = result[i].reason};
      if (result[i].is_possible()) row.values = search::numbers_of(result[i]);
      store_.add(row);
    }
    store_.save();  // 40 us, beside a task of 5 ms and more
  }

 private:
  static std::string key_of(const Task& task, std::uint8_t workload) {  // explore_query.cpp reads it
    std::string key = fmt::format("{}/{}", fmt::join(task.candidate, "."), workload);
    if (!task.changed.name.empty()) key += fmt::format("/{}*{}", task.changed.name, task.changed.factor);
    return key;
  }

  store::RunStore store_;
};

class Explorer {
 public:
  Explorer(const ExploreRequest& request, ExploreProblem problem, const Workforce& workforce)
      : request_(request),
        workforce_(workforce),
        live_(*problem.exploration, problem.goal),
        alike_(*problem.exploration) {
    run_.problem = std::move(problem);
    if (!workforce_)
      workforce_ = [this](std::span<const Task> tasks, const search::Claim& claim, const auto& done) {
        exploration().run(tasks, request_.watch.deadline, done, claim);
      };
  }

  ExploreRun run() {
    open_store();
    search();
    conclude();
    if (!request_.evaluate.cache.empty() && run_.problem.cache->searched() > 0)
      write_cache(request_.evaluate.cache, *run_.problem.cache, run_.problem.warnings);
    return std::move(run_);
  }

 private:
  const search::Exploration& exploration() const { return *run_.problem.exploration; }

  void open_store() {
    if (request_.store.empty()) {
      if (request_.resume) refuse("--resume", "there is nothing to go on with", "name the folder: --out DIR");
      if (!request_.merge.empty()) refuse("--merge", "where to?", "name the folder: --out DIR");
      return;
    }
    stored_ = std::make_unique<StoredResults>(request_.store, question_of(request_, run_.problem),
                                              about_points(run_.problem));
    if (const std::size_t there = stored_->store().size(); there > 0 && !request_.resume)
      throw InputError(Diagnostic{.file = request_.store,
                                  .message = fmt::format("it holds {} results of this question", there),
                                  .hint = "--resume goes on with them; or choose another --out"});
    for (const std::string& folder : request_.merge) stored_->store().merge(folder + "/points.sqlite");
  }

  // A point more. What --sensitivity runs counts by its constants.
  void show(const Task& task, const TaskResult& result, bool is_known) {
    Progress* progress = request_.watch.progress;
    if (progress == nullptr || !task.changed.name.empty()) return;
    ++progress->done;
    if (is_known) ++progress->known;
    live_.add(result, *progress);
  }

  // Another version of MONET may have other figures: the first point that is looked up is evaluated, too.
  void check_known(const Task& task, const TaskResult& known) {
    if (std::exchange(is_checked_, true)) return;
    const TaskResult now = exploration().run(task);
    for (std::size_t i = 0; i < known.size(); ++i)
      if (known[i].reason != now[i].reason || search::numbers_of(known[i]) != search::numbers_of(now[i]))
        throw InputError(Diagnostic{.file = request_.store,
                                    .message =
                                        "it holds results of another version of monet: its first point has other "
                                        "figures today",
                                    .hint = "choose another --out"});
  }

  // What is known is looked up, the rest worked out.
  std::vector<TaskResult> results_of(std::span<const Task> tasks) {
    std::vector<TaskResult> out(tasks.size());
    std::vector<Task> open;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      for (const std::uint8_t w : tasks[i].workloads) {
        std::optional<ChipFigures> known = stored_ ? stored_->find(tasks[i], w) : std::nullopt;
        if (!known) break;
        out[i].push_back(std::move(*known));
      }
      if (out[i].size() == tasks[i].workloads.size()) {
        check_known(tasks[i], out[i]);
        run_.looked_up += out[i].size();
        show(tasks[i], out[i], true);
        continue;
      }
      out[i].clear();
      open.push_back(tasks[i]);
      places.push_back(i);
    }
    const auto note = [&](std::size_t i, const TaskResult& result) {
      if (stored_) stored_->add(open[i], result);
      show(open[i], result, false);
      out[places[i]] = result;
    };
    const std::size_t shared = alike_.run(open, workforce_, note);
    if (!open.empty() && open.front().changed.name.empty()) run_.shared += shared;  // else they are no points
    return out;
  }

  void search() {
    search::ExplorationSearchOptions options{.goal = run_.problem.goal,
                                             .evaluations = request_.evaluations,
                                             .seed = request_.seed,
                                             .deadline = request_.watch.deadline,
                                             .threads = request_.evaluate.threads};
    options.run = runner_;
    const std::string& how = request_.strategy;
    const bool is_all = how == "grid" || how == "prune";
    if (is_all && exploration().size() > kMostPoints)
      refuse("--strategy", fmt::format("{:.3g} points are too many to try all", exploration().size()),
             "random, quasi or nsga2 take as many as --evaluations says");
    if (Progress* progress = request_.watch.progress) {
      progress->parts = "points";
      const double most = std::min(exploration().size(), kMostPoints);
      progress->total = static_cast<std::size_t>(is_all ? most : std::min(most, double(request_.evaluations)));
      options.observe = [progress](const search::Explored& found) {
        progress->done = found.points.size() + found.pruned;
      };
    }
    run_.found = how == "random"  ? search::explore_random(exploration(), options)
                 : how == "quasi" ? search::explore_quasi(exploration(), options)
                 : how == "nsga2" ? search::explore_nsga2(exploration(), options)
                 : how == "prune" ? search::explore_pruned(exploration(), options)
                                  : search::explore_grid(exploration(), options);
  }

  // Fronts with the fastest first, their volumes, and what a chip chosen for one workload costs another.
  void conclude() {
    const search::ExplorationGoal& goal = run_.problem.goal;
    const std::size_t workloads = exploration().workloads().size();
    for (std::size_t w = 0; w < workloads; ++w) {
      std::vector<std::uint32_t>& front = run_.found.fronts[w];
      std::stable_sort(front.begin(), front.end(), [&](std::uint32_t a, std::uint32_t b) {
        return latency(run_.found.points[a].figures[w]) < latency(run_.found.points[b].figures[w]);
      });
      std::vector<solve::Objectives> points;
      for (const std::uint32_t i : front) points.push_back(goal.score(run_.found.points[i].figures[w]).objectives);
      run_.volumes.push_back(solve::volume_of(points));
    }
    std::vector<solve::Objectives> points;
    for (const std::uint32_t i : run_.found.common)
      points.push_back(goal.score(run_.found.points[i].figures).objectives);
    run_.common_volume = solve::volume_of(points);
    run_.regrets = search::regrets_of(run_.found, goal);
    if (request_.sensitivity)
      run_.sensitivity =
          search::sensitivity(exploration(), run_.found, goal, *request_.sensitivity, runner_, request_.watch);
  }

  double latency(const ChipFigures& f) const { return run_.problem.goal.value(search::ChipObjective::Latency, f); }
  const ExploreRequest& request_;
  Workforce workforce_;
  LiveView live_;
  std::unique_ptr<StoredResults> stored_;
  bool is_checked_ = false;
  search::TaskRunner runner_ = [this](std::span<const Task> tasks) { return results_of(tasks); };
  ExploreRun run_;
  search::AlikeTasks alike_;
};

}  // namespace

ExploreProblem explore_problem(const ExploreRequest& request) {
  const std::vector<std::string> strategies{"grid", "prune", "random", "quasi", "nsga2"};
  if (std::find(strategies.begin(), strategies.end(), request.strategy) == strategies.end())
    refuse("--strategy", fmt::format("unknown value '{}'", request.strategy.substr(0, 60)),
           did_you_mean(request.strategy, strategies, fmt::format("known: {}", fmt::join(strategies, ", "))));
  ExploreProblem out;
  out.goal = goal_of(request.objectives);
  const std::vector<std::string> modes = modes_of(request.evaluate.mode);
  if (request.sensitivity && request.strategy == "prune")
    refuse("--sensitivity", "what prune leaves out could be best with other constants", "--strategy grid tries all");
  for (std::size_t m = 0; m < request.models.size(); ++m)
    if (std::find(request.models.begin(), request.models.begin() + static_cast<std::ptrdiff_t>(m), request.models[m]) !=
        request.models.begin() + static_cast<std::ptrdiff_t>(m))
      refuse("MODEL", fmt::format("{} is there twice", request.models[m]));
  if (request.models.size() * modes.size() > kMostWorkloads)
    refuse("MODEL", fmt::format("more than {} workloads", kMostWorkloads));
  hardware::LoadedSpace loaded = hardware::find_space(request.space);
  add_limit(loaded, hardware::kAreaName, request.area_mm2);
  add_limit(loaded, hardware::kTdpName, request.tdp_w);
  out.family = std::make_unique<hardware::Family>(std::move(loaded));
  for (const hardware::SourceFile& file : out.family->files())
    out.inputs.push_back({out.inputs.empty()       ? "space"
                          : out.inputs.size() == 1 ? "hardware"
                                                   : fmt::format("hardware_{}", out.inputs.size() - 1),
                          file.path, file.sha256});
  refuse_power(request, out);
  out.cache = std::make_unique<cost::Cache>();
  if (!request.evaluate.cache.empty()) read_cache(request.evaluate.cache, *out.cache, out.warnings);
  const Decisions decisions = decisions_of(request.also);
  if (!decisions.recompute.empty() && modes.front() == "inference")
    refuse("--also", "recompute: an inference saves nothing that could be rebuilt", "leave it out");
  if (!decisions.batches.empty() && !request.evaluate.model.batch)
    refuse("--also", "batch: beside which one?", "say how many samples an iteration has otherwise: --batch N");
  for (const std::int64_t batch : decisions.batches)
    if (batch == request.evaluate.model.batch)
      refuse("--also", fmt::format("batch {} is there already", batch), "it is that of --batch");
  for (const std::string& r : decisions.recompute)
    if (r == request.evaluate.model.recompute)
      refuse("--also", fmt::format("recompute: {} is there already", r.substr(0, 60)), "it is that of --recompute");
  std::vector<search::Axis> axes;
  if (!decisions.batches.empty()) {
    axes.push_back({"batch", {fmt::format("{}", *request.evaluate.model.batch)}});
    for (const std::int64_t b : decisions.batches) axes.back().alternatives.push_back(fmt::format("{}", b));
  }
  if (!decisions.recompute.empty()) {
    axes.push_back(
        {"recompute", {request.evaluate.model.recompute.empty() ? "none" : request.evaluate.model.recompute}});
    for (const std::string& r : decisions.recompute) axes.back().alternatives.push_back(r);
  }
  std::vector<search::Workload> workloads;
  for (const std::string& model : request.models)
    for (const std::string& mode : modes) {
      try {
        workloads.push_back(workload_of(request, model, mode, decisions, out));
      } catch (const InputError& error) {
        if (request.models.size() == 1) throw;
        std::vector<Diagnostic> of_model = error.diagnostics();
        for (Diagnostic& d : of_model) d.message = fmt::format("{}, {}: {}", model, mode, d.message);
        throw InputError(std::move(of_model));
      }
    }
  for (const auto& [name, size] : request.evaluate.model.dims)
    if (std::none_of(out.dims.begin(), out.dims.end(), [&name = name](const std::vector<std::string>& dims) {
          return std::find(dims.begin(), dims.end(), name) != dims.end();
        }))
      refuse("--dim", fmt::format("no model has a symbolic dimension '{}'", name));
  out.exploration = std::make_unique<search::Exploration>(
      *out.family, std::move(workloads), std::move(axes), *out.cache,
      search::ExplorationOptions{
          .limits = decisions.limits, .map = default_costs(*out.cache, 1).map, .threads = request.evaluate.threads});
  check_names(out);
  return out;
}

std::string model_of(const ExploreRequest& request, std::size_t workload) {
  return request.models[workload / modes_of(request.evaluate.mode).size()];
}

std::string mode_of(const ExploreRequest& request, std::size_t workload) {
  const std::vector<std::string> modes = modes_of(request.evaluate.mode);
  return modes[workload % modes.size()];
}

std::string question_of(const ExploreRequest& request, const ExploreProblem& problem) {
  // Files count by what is in them, wherever they lie.
  EvaluateRequest plain = request.evaluate;
  plain.hardware.clear();
  plain.model.model.clear();
  Json inputs = Json::object(), models = Json::array();
  for (const DocumentInput& input : problem.inputs) inputs.set(input.name, input.sha256);
  for (const std::string& model : request.models) {
    const auto file = std::find_if(problem.inputs.begin(), problem.inputs.end(),
                                   [&](const DocumentInput& input) { return input.path == model; });
    models.push(file == problem.inputs.end() ? model : "sha256 " + file->sha256);
  }
  return Json::object()
      .set("monet", version())
      .set("inputs", std::move(inputs))
      .set("models", std::move(models))
      .set("options", options_json(plain))
      .set("also", Json(request.also))
      .set("area_mm2", request.area_mm2 ? Json(*request.area_mm2) : Json())
      .set("tdp_w", request.tdp_w ? Json(*request.tdp_w) : Json())
      .dump();
}

ExploreRun explore(const ExploreRequest& request, ExploreProblem problem, const Workforce& workforce) {
  return Explorer(request, std::move(problem), workforce).run();
}

SpaceCount count_space(const ExploreProblem& problem, const ExploreRequest& request) {
  const hardware::Family& family = *problem.family;
  SpaceCount out{.points = family.size()};
  const std::vector<std::uint16_t> choices = family.choices();
  // All of them; where there are too many, some drawn at random.
  const bool is_all = out.points <= static_cast<double>(kMostCounted);
  out.looked_at = is_all ? static_cast<std::size_t>(out.points) : kDrawn;
  const auto point_at = [&](std::size_t i) {
    solve::Random random(1, 0, i);
    hardware::Point point;
    for (const std::uint16_t c : choices) {
      point.push_back(static_cast<std::uint16_t>(is_all ? i % c : random.below(c)));
      i /= c;
    }
    return point;
  };
  std::vector<hardware::Member> members(out.looked_at);
  parallel_for(members.size(), request.evaluate.threads, [&](std::size_t i) {
    members[i] = family.member(point_at(i));
    if (members[i].hardware) members[i].hardware = hardware::Hardware{};  // that there is one is all that counts
  });
  const std::size_t constraints = family.space().constraints.size();
  for (std::size_t c = 0; c <= constraints; ++c)
    out.broken.push_back({c < constraints ? family.space().constraints[c].text : "the chip itself"});
  for (std::size_t i = 0; i < members.size(); ++i) {
    const hardware::Member& m = members[i];
    if (m.hardware) {
      const double area = m.budget.total.area_mm2(), tdp = m.budget.total.tdp_w();
      out.least_area = out.valid == 0 ? area : std::min(out.least_area, area);
      out.most_area = std::max(out.most_area, area);
      out.least_tdp = out.valid == 0 ? tdp : std::min(out.least_tdp, tdp);
      out.most_tdp = std::max(out.most_tdp, tdp);
      out.has_power = out.has_power || m.budget.has_power;
      ++out.valid;
      continue;
    }
    SpaceCount::Broken& broken = out.broken[m.broken];
    if (broken.count++ > 0) continue;
    const std::vector<std::string> values = family.values(point_at(i));
    for (std::size_t f = 0; f < values.size(); ++f)
      broken.example +=
          fmt::format("{}{}={}", f > 0 ? " " : "", family.space().variables[family.free()[f]].name, values[f]);
    broken.example += ": " + m.reason;
  }
  return out;
}

std::string flags_of(const ExploreRun& run, const Candidate& candidate, const std::string& mode) {
  const search::Exploration& exploration = *run.problem.exploration;
  const hardware::LoadOptions options = run.problem.family->options(exploration.point(candidate));
  std::string out;
  for (const auto* list : {&options.parameters, &options.fields})
    for (const auto& [name, value] : *list) out += " --set " + shell_word(fmt::format("{}={}", name, value));
  const std::vector<std::string> ways = exploration.ways(candidate);
  for (std::size_t a = 0; a < ways.size(); ++a) {
    const std::string& kind = exploration.axes()[a].name;
    if (kind == "batch") out += " --batch " + ways[a];
    if (kind == "recompute" && ways[a] != "none" && mode != "inference") out += " --recompute " + shell_word(ways[a]);
  }
  return out;
}

std::string plan_yaml(const ExploreRun& run, const Candidate& candidate, std::size_t workload) {
  const std::optional<plan::Plan> plan = run.problem.exploration->plan(candidate, workload);
  return plan ? plan::to_yaml(*plan) : "";
}

std::string plan_name(const ExploreRequest& request, std::uint32_t point, std::size_t workload) {
  const std::size_t model = workload / modes_of(request.evaluate.mode).size();
  return fmt::format("chips/{}.{}{}.plan.yaml", point, request.models.size() > 1 ? fmt::format("{}.", model + 1) : "",
                     mode_of(request, workload));
}

std::string chip_yaml(const ExploreRun& run, const Candidate& candidate) {
  const hardware::Member member = run.problem.family->member(run.problem.exploration->point(candidate));
  return member.hardware ? hardware::print(*member.hardware) : "";
}

}  // namespace monet
