#include "monet/verbs/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/base/split.h"
#include "monet/store/run_store.h"
#include "monet/verbs/cost_cache.h"
#include "monet/verbs/hardware.h"
#include "monet/verbs/plan_input.h"
#include "monet/verbs/refuse.h"

namespace monet {
namespace {

using search::CheckpointPoint;
using search::Figures;

std::vector<plan::SavedPlan> allowed_by(const std::string& decide) {
  std::vector<plan::SavedPlan> allowed{{.saving = plan::Saving::Keep}};
  for (const std::string& word : split(decide, ',')) {
    const std::optional<plan::SavedPlan> saved = plan::saving_named(word);
    if (!saved)
      refuse("--decide", fmt::format("unknown value '{}'", word.substr(0, 60)),
             "known: recompute, recompute_each, recompute_tiles, spill, or a format such as f8e4m3, between commas");
    if (std::find(allowed.begin(), allowed.end(), *saved) == allowed.end()) allowed.push_back(*saved);
  }
  if (allowed.size() == 1)
    refuse("--decide", "there is nothing to decide: keeping is always allowed",
           "name what else may be done: recompute, spill, …");
  if (allowed.size() > 10) refuse("--decide", "more than nine ways");
  return allowed;
}

bool rebuilds(const std::vector<plan::SavedPlan>& allowed) {
  return std::any_of(allowed.begin(), allowed.end(), [](const plan::SavedPlan& s) {
    return s.saving == plan::Saving::Recompute || s.saving == plan::Saving::RecomputeEach ||
           s.saving == plan::Saving::RecomputeTiles;
  });
}

std::vector<std::string> strategies() {
  std::vector<std::string> names{"nsga2", "exhaustive", "baselines", "pairs"};
  for (std::string& name : search::baseline_names()) names.push_back(std::move(name));
  return names;
}

// A search begins with rules of others for at most this part of its evaluations.
constexpr std::size_t kSeedShare = 4;

// So many of a list, its first two and its last among them.
void thin_out(std::vector<search::Baseline>& list, std::size_t count) {
  if (list.size() <= count) return;
  std::vector<search::Baseline> kept(list.begin(), list.begin() + 2);
  const std::size_t rest = list.size() - 2;
  for (std::size_t i = 2; i < count; ++i)
    kept.push_back(list[2 + (i - 2) * (rest - 1) / std::max<std::size_t>(1, count - 3)]);
  list = std::move(kept);
}

// Decisions and figures as rows of a store.
class Stored {
 public:
  Stored(const std::string& path, const std::string& question, const plan::Chip& chip, std::size_t stretches)
      : stores_(chip.machine.stores.size()), store_(path, question, columns(chip, stretches)) {}

  store::RunStore& store() { return store_; }

  std::optional<Figures> find(const solve::Choices& decision) const {
    const std::optional<store::RunStore::Row> row = store_.find(key_of(decision));
    if (!row) return std::nullopt;
    if (!row->reason.empty()) return Figures{.reason = row->reason};
    const std::vector<double>& v = row->values;
    Figures f{.is_possible = true,
              .latency_cycles = v[0],
              .energy_pj = v[1],
              .peak_total_bytes = v[2],
              .peak_offchip_bytes = v[3],
              .offchip_bytes = v[4]};
    f.groups = static_cast<std::size_t>(v[5]);
    f.tiles = static_cast<std::size_t>(v[6]);
    f.samples = v[7];
    const auto stretches = v.begin() + kOwn + static_cast<std::ptrdiff_t>(stores_);
    f.peak_bytes.assign(v.begin() + kOwn, stretches);
    f.stretch_bytes.assign(stretches, v.end());
    return f;
  }

  void add(std::span<const CheckpointPoint> points) {
    for (const CheckpointPoint& p : points) {
      const Figures& f = p.figures;
      store::RunStore::Row row{.key = key_of(p.decision)};
      if (f.is_possible) {
        row.values = {f.latency_cycles, f.energy_pj,      f.peak_total_bytes, f.peak_offchip_bytes,
                      f.offchip_bytes,  double(f.groups), double(f.tiles),    f.samples};
        row.values.insert(row.values.end(), f.peak_bytes.begin(), f.peak_bytes.end());
        row.values.insert(row.values.end(), f.stretch_bytes.begin(), f.stretch_bytes.end());
      } else {
        row.reason = f.reason.empty() ? "not possible" : f.reason;
      }
      store_.add(row);
    }
    store_.save();
  }

 private:
  static constexpr std::ptrdiff_t kOwn = 8;

  static std::vector<std::string> columns(const plan::Chip& chip, std::size_t stretches) {
    std::vector<std::string> out{
        "latency_cycles", "energy_pj", "peak_total_bytes", "peak_offchip_bytes", "offchip_bytes",
        "groups",         "tiles",     "samples"};
    for (const plan::Store& s : chip.machine.stores) out.push_back("peak_bytes:" + s.name);
    for (std::size_t k = 0; k < stretches; ++k) out.push_back(fmt::format("stretch_bytes:{}", k));
    return out;
  }
  static std::string key_of(const solve::Choices& decision) {
    std::string key;
    for (const std::uint16_t c : decision) key += static_cast<char>('0' + c);
    return key;
  }

  std::size_t stores_;
  store::RunStore store_;
};

// What --also asks for.
struct Also {
  std::vector<std::uint32_t> limits{};
  std::vector<double> tiles{};
  std::vector<std::string> cores{};
  std::vector<std::int64_t> batches{};
};
Also also_by(const std::vector<std::string>& texts) {
  const std::vector<std::string> kinds{"fusion", "tiles", "cores", "batch"};
  Also out;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string kind = text.substr(0, equals);
    if (equals == std::string::npos || std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      refuse("--also", fmt::format("unknown value '{}'", text.substr(0, 60)),
             did_you_mean(kind, kinds, "fusion=6,8, tiles=0.5,2, cores=latency,energy or batch=16,32"));
    for (std::size_t at = equals; at < text.size();) {
      const std::size_t end = std::min(text.find(',', at + 1), text.size());
      const std::string word = text.substr(at + 1, end - at - 1);
      at = end;
      const auto number = [&](double least, double most) {
        double value = 0;
        const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc{} || last != word.data() + word.size() || !(value >= least && value <= most))
          refuse("--also", fmt::format("{}: '{}' is no number from {} to {}", kind, word.substr(0, 60), least, most));
        return value;
      };
      const auto whole = [&](double most) {
        const double value = number(1, most);
        if (value != std::floor(value)) refuse("--also", fmt::format("{}: {} is no whole number", kind, word));
        return static_cast<std::int64_t>(value);
      };
      const auto add = [&](auto& list, auto value) {
        if (std::find(list.begin(), list.end(), value) != list.end())
          refuse("--also", fmt::format("{}: {} is there twice", kind, word));
        list.push_back(std::move(value));
      };
      if (kind == "fusion") add(out.limits, static_cast<std::uint32_t>(whole(1000)));
      if (kind == "tiles") add(out.tiles, number(1.0 / 64, 64));
      if (kind == "tiles" && out.tiles.back() == 1) refuse("--also", "tiles: 1 is what is tried anyway");
      if (kind == "batch") add(out.batches, whole(1 << 20));
      if (kind == "cores") {
        if (word != "latency" && word != "energy")
          refuse("--also", fmt::format("cores: unknown value '{}'", word.substr(0, 60)),
                 "latency or energy: what they are best by");
        add(out.cores, word);
      }
    }
  }
  return out;
}

class Checkpointer {
 public:
  explicit Checkpointer(const CheckpointRequest& request) : request_(request) {
    const std::vector<std::string> known = strategies();
    if (std::find(known.begin(), known.end(), request.strategy) == known.end())
      refuse("--strategy", fmt::format("unknown value '{}'", request.strategy.substr(0, 60)),
             did_you_mean(request.strategy, known, fmt::format("known: {}", fmt::join(known, ", "))));
    if (request.strategy != "nsga2" && request.strategy != "exhaustive" && request.strategy != "baselines" &&
        request.strategy != "keep_all" && request.strategy != "poet" && !rebuilds(allowed_by(request.decide)))
      refuse("--strategy", fmt::format("{} rebuilds activations, which --decide does not allow", request.strategy),
             "add recompute, recompute_each or recompute_tiles to it");
    if (request.evaluate.mode != "training") refuse("--mode", "an inference saves nothing", "leave it out");
    if (request.evaluate.iterations != 1)
      refuse("--iterations", "decisions are compared by one iteration", "evaluate takes it, with the plan of one");
    run_.loaded = std::make_unique<hardware::Loaded>(
        describe_hardware({.hardware = request.evaluate.hardware, .parameters = request.evaluate.parameters}));
    run_.chip = std::make_unique<plan::Chip>(plan::chip_of(run_.loaded->hardware));
    plan::scale(*run_.chip, request.evaluate.scale);
    run_.warnings = run_.loaded->warnings;
    run_.cache = std::make_unique<cost::Cache>();
    if (!request.evaluate.cache.empty()) read_cache(request.evaluate.cache, *run_.cache, run_.warnings);
    check_memory();
  }

  CheckpointRun run() {
    make_problem();
    make_options();
    open_store();
    search();
    conclude();
    if (!request_.evaluate.cache.empty() && run_.cache->searched() > 0)
      write_cache(request_.evaluate.cache, *run_.cache, run_.warnings);
    return std::move(run_);
  }

 private:
  void check_memory() const {
    if (request_.memory == "total") return;
    std::vector<std::string> names{"total"};
    for (const plan::Store& s : run_.chip->machine.stores) names.push_back(s.name);
    if (std::find(names.begin(), names.end(), request_.memory) == names.end())
      refuse("--memory", fmt::format("the chip has no memory '{}' that tensors lie in", request_.memory.substr(0, 60)),
             did_you_mean(request_.memory, names, fmt::format("known: {}", fmt::join(names, ", "))));
  }

  void make_problem() {
    const ModelRequest model = model_for(request_.evaluate, "training");
    if (!model.saved.empty())
      refuse("--plan", "the plan says already what becomes of saved activations", "it may hold groups and nodes only");
    Prepared prepared = prepare(model);
    if (!prepared.is_training) refuse("--train", "nothing is trained, so nothing is saved");
    run_.warnings.insert(run_.warnings.end(), prepared.warnings.begin(), prepared.warnings.end());
    run_.inputs = prepared.inputs;
    for (const DocumentInput& input : document_inputs(*run_.loaded)) run_.inputs.push_back(input);
    const search::CheckpointOptions options{.decompose = single_works(request_.evaluate),
                                            .allowed = allowed_by(request_.decide),
                                            .least_share = request_.least_share,
                                            .threads = request_.evaluate.threads};
    also_ = also_by(request_.also);
    if (!also_.limits.empty() && run_.chip->cores.size() > 64)
      refuse("--also", "fusion: the chip has more than 64 cores", "groups by hand: --plan");
    search::WayOptions ways{.limits = also_.limits,
                            .tiles = also_.tiles,
                            .cores = also_.cores,
                            .threads = request_.evaluate.threads,
                            .deadline = request_.watch.deadline};
    if (!request_.evaluate.plan.empty() || !request_.evaluate.stacks.empty()) {
      std::vector<std::string> layers;
      for (const Node& node : prepared.graph.nodes)
        if (node.phase == Phase::Forward) layers.push_back(node.name);
      const Graph single = decompose(prepared.graph, options.decompose);
      const plan::ParsedPlan parsed = read_plan({.plan = request_.evaluate.plan, .stacks = request_.evaluate.stacks},
                                                run_.loaded->hardware, single, layers, run_.inputs, run_.warnings);
      const std::vector<plan::Facts> facts = plan::facts_of(single);
      // Says where the plan is wrong, if it is.
      plan::decide(single, facts, *run_.chip, parsed.plan,
                   [&](const std::string& path, Diagnostic& d) { locate(parsed, path, d); });
      ways.plan = parsed.plan;
    }
    const search::Setting setting{*run_.chip, run_.loaded->hardware, default_costs(*run_.cache, 1)};
    std::vector<search::Iteration> iterations;
    const auto add = [&](Graph training, std::int64_t samples) {
      search::Ways of_it(setting, decompose(training, options.decompose), ways);
      iterations.push_back({std::move(training), std::move(of_it), static_cast<double>(samples)});
    };
    if (!also_.batches.empty() && !model.batch)
      refuse("--also", "batch: beside which one?", "say how many samples an iteration has otherwise: --batch N");
    const std::int64_t samples = samples_of(model, prepared);
    add(std::move(prepared.graph), samples);
    for (const std::int64_t batch : also_.batches) {
      if (batch == model.batch)
        refuse("--also", fmt::format("batch {} is there already", batch), "it is that of --batch");
      ModelRequest other = model;
      other.batch = batch;
      Prepared of_it = prepare(other);
      const std::int64_t count = samples_of(other, of_it);
      add(std::move(of_it.graph), count);
    }
    run_.problem = std::make_unique<search::Checkpointing>(std::move(iterations), setting, options);
    if (run_.problem->activations().empty() && !request_.evaluate.model.recompute.empty())
      refuse("--recompute", "everything that is saved is rebuilt already: nothing is left to decide on",
             "leave it away: checkpoint decides what is rebuilt");
    if (run_.problem->activations().empty())
      refuse("--least-share", "no saved activation is left to decide on", "lower it, or allow more with --decide");
  }

  void make_options() {
    options_.evaluations = request_.evaluations;
    options_.stagnation = request_.stagnation;
    options_.seed = request_.seed;
    options_.deadline = request_.watch.deadline;
    options_.goal.fit_bytes = request_.fit_bytes;
    for (std::size_t s = 0; s < run_.chip->machine.stores.size(); ++s)
      if (run_.chip->machine.stores[s].name == request_.memory) options_.goal.store = s;
    const std::string each = also_.batches.empty() ? "" : "_per_sample";
    run_.objectives = {"latency_cycles" + each, "energy_pj" + each};
    if (!request_.fit_bytes) run_.objectives.push_back("peak_bytes");
    if (Progress* progress = request_.watch.progress) {
      progress->parts = "evaluations";
      progress->total = request_.strategy == "exhaustive"
                            ? static_cast<std::size_t>(std::min(search::decisions_of(*run_.problem), 1e18))
                            : request_.evaluations;
      options_.observe = [this, progress](const search::CheckpointFront& found) {
        progress->done = found.points.size();
        progress->say(fmt::format("front {}, hypervolume {:.4f}", found.front.size(), measured(found).share));
      };
    }
  }

  // Everything that the figures of a decision depend on.
  std::string question() const {
    Json inputs = Json::object();
    for (const DocumentInput& input : run_.inputs) inputs.set(input.name, input.sha256);
    return Json::object()
        .set("monet", version())
        .set("inputs", std::move(inputs))
        .set("options", options_json(request_.evaluate))
        .set("decide", request_.decide)
        .set("least_share", request_.least_share)
        .set("also", Json(request_.also))
        .dump();
  }

  void open_store() {
    if (request_.store.empty()) {
      if (request_.resume) refuse("--resume", "there is nothing to go on with", "name the folder: --out DIR");
      return;
    }
    stored_.emplace(request_.store, question(), *run_.chip, run_.problem->stretches().size());
    if (const std::size_t there = stored_->store().size(); there > 0 && !request_.resume)
      throw InputError(Diagnostic{.file = request_.store,
                                  .message = fmt::format("it holds {} evaluations of this question", there),
                                  .hint = "--resume goes on with them; or choose another --out"});
    options_.known = [this](const solve::Choices& decision) {
      std::optional<Figures> f = stored_->find(decision);
      run_.looked_up += f ? 1 : 0;
      if (f && request_.watch.progress != nullptr) ++request_.watch.progress->known;
      return f;
    };
    options_.keep = [this](std::span<const CheckpointPoint> points) { stored_->add(points); };
  }

  void search() {
    const bool is_search = request_.strategy == "nsga2" || request_.strategy == "exhaustive";
    if (request_.strategy == "exhaustive") {
      if (search::decisions_of(*run_.problem) > search::kMostDecisions)
        refuse("--strategy",
               fmt::format("{} activations are {:.3g} decisions: too many to try all",
                           run_.problem->activations().size(), search::decisions_of(*run_.problem)),
               "raise --least-share, or let --strategy nsga2 choose");
      run_.found = search::all_decisions(*run_.problem, options_);
      run_.is_proven = run_.found.end != solve::Nsga2End::Stopped;
      return;
    }
    if (is_search) options_.guide = search::guide_of(*run_.problem, request_.evaluate.threads);
    search::BaselineOptions how{.deadline = options_.deadline, .is_seed = is_search};
    if (!is_search)
      how.give_up = [&](const std::string& what) {
        run_.warnings.push_back({.where = "--strategy",
                                 .message = fmt::format("{}: nothing was found within {:g} s", what, how.seconds_each),
                                 .hint = "it is left out; a faster machine may find it",
                                 .severity = Severity::Warning});
      };
    for (const std::string& name : search::baseline_names(is_search))
      if (is_search || request_.strategy == "baselines" || request_.strategy == name)
        for (search::Baseline& b : search::baseline(*run_.problem, name, how)) run_.baselines.push_back(std::move(b));
    if (request_.strategy == "pairs") run_.baselines = search::singles_and_pairs(*run_.problem);
    if (is_search) thin_out(run_.baselines, std::max<std::size_t>(2, request_.evaluations / kSeedShare));
    for (const search::Baseline& b : run_.baselines) options_.seeds.push_back(b.decision);
    if (is_search)
      for (std::size_t a = 0; a < run_.problem->axes().size(); ++a)
        for (std::uint16_t c = 1; c < run_.problem->axes()[a].alternatives.size(); ++c) {
          options_.seeds.push_back(run_.problem->all_of(plan::Saving::Keep));
          options_.seeds.back()[run_.problem->activations().size() + a] = c;
        }
    run_.found = is_search ? search::search_decisions(*run_.problem, options_)
                           : search::given_decisions(*run_.problem, options_);
    run_.is_proven = run_.found.end == solve::Nsga2End::Exhausted && is_search &&
                     static_cast<double>(run_.found.points.size()) >= search::decisions_of(*run_.problem);
  }

  // From 1.1 times the worst of each objective on the front.
  solve::FrontVolume measured(const search::CheckpointFront& found) const {
    std::vector<solve::Objectives> points;
    for (const std::uint32_t i : found.front) points.push_back(options_.goal.score(found.points[i].figures).objectives);
    return solve::volume_of(points);
  }

  void conclude() {
    const solve::FrontVolume m = measured(run_.found);
    if (stored_) run_.others = stored_->store().size() - run_.found.points.size();
    run_.reference = m.reference;
    run_.hypervolume = m.volume;
    run_.hypervolume_share = m.share;
    // By what is given up for it: the fastest first.
    std::stable_sort(run_.found.front.begin(), run_.found.front.end(), [&](std::uint32_t a, std::uint32_t b) {
      const Figures &x = run_.found.points[a].figures, &y = run_.found.points[b].figures;
      return x.latency_cycles / x.samples < y.latency_cycles / y.samples;
    });
    if (request_.fit_bytes && !run_.found.front.empty()) run_.best = run_.found.front.front();
  }

  const CheckpointRequest& request_;
  Also also_;
  search::CheckpointSearchOptions options_;
  std::optional<Stored> stored_;
  CheckpointRun run_;
};

}  // namespace

double peak_of(const CheckpointRun& run, const CheckpointRequest& request, const Figures& figures) {
  for (std::size_t s = 0; s < run.chip->machine.stores.size(); ++s)
    if (run.chip->machine.stores[s].name == request.memory) return figures.peak_bytes[s];
  return figures.peak_total_bytes;
}

CheckpointRun checkpoint(const CheckpointRequest& request) { return Checkpointer(request).run(); }

std::string batch_flag(const CheckpointRun& run, const CheckpointRequest& request, std::uint32_t point) {
  const std::vector<search::Axis>& axes = run.problem->axes();
  if (!axes.empty() && axes.front().name == "batch")
    return " --batch " + run.problem->ways(run.found.points[point].decision).front();
  return request.evaluate.model.batch ? fmt::format(" --batch {}", *request.evaluate.model.batch) : "";
}

std::string plan_yaml(const CheckpointRun& run, std::uint32_t point) {
  const solve::Choices& decision = run.found.points[point].decision;
  const search::Subject subject = run.problem->subject(decision);
  const plan::Decided decided =
      plan::decide(subject.graph, subject.facts, *run.chip, run.problem->plan(subject, decision));
  return plan::to_yaml(plan::in_words(subject.graph, subject.facts, *run.chip, decided));
}

}  // namespace monet
