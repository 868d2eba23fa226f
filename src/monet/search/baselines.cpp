#include "monet/search/baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "monet/base/assert.h"
#include "monet/search/chain_checkpoints.h"
#include "monet/search/remat_milp.h"

namespace monet::search {
namespace {

using solve::Choices;

constexpr double kSeedWork = 2e8, kAnyWork = std::numeric_limits<double>::infinity();

// The node of the iteration that a single work was made of: the one with the longest name that begins its own.
class Origins {
 public:
  explicit Origins(const Graph& training) {
    for (std::uint32_t n = 0; n < training.nodes.size(); ++n) by_name_.emplace(training.nodes[n].name, n);
  }
  std::optional<std::uint32_t> of(std::string_view name) const {
    while (true) {
      if (const auto at = by_name_.find(name); at != by_name_.end()) return at->second;
      const std::size_t dot = name.rfind('.');
      if (dot == std::string_view::npos) return std::nullopt;
      name = name.substr(0, dot);
    }
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
};

// As everything kept has it; where that is not possible, operations stand for cycles and energy.
NodeCosts node_costs(const Checkpointing& problem) {
  const Graph& training = problem.training();
  NodeCosts costs{std::vector<double>(training.nodes.size(), 0), std::vector<double>(training.nodes.size(), 0)};
  const Choices kept = problem.all_of(plan::Saving::Keep);
  const Subject subject = problem.subject(kept);
  const Evaluated evaluated = evaluate(problem.setting(), subject, problem.plan(subject, kept));
  const auto* e = std::get_if<schedule::Evaluation>(&evaluated.outcome);
  const Origins origins(training);
  for (std::size_t n = 0; n < subject.graph.nodes.size(); ++n) {
    const std::optional<std::uint32_t> origin = origins.of(subject.graph.nodes[n].name);
    if (!origin) continue;
    const auto cores = static_cast<double>(std::max<std::size_t>(1, evaluated.decided.nodes[n].cores.size()));
    costs.cycles[*origin] += e != nullptr ? e->nodes[n].busy / cores : subject.facts[n].operations;
    costs.energy_pj[*origin] += e != nullptr ? e->nodes[n].energy_pj : subject.facts[n].operations;
  }
  return costs;
}

// Every activation made again, in the first way that is allowed; all kept where none is.
Choices all_rebuilt(const Checkpointing& problem) {
  for (const plan::Saving s : {plan::Saving::Recompute, plan::Saving::RecomputeEach, plan::Saving::RecomputeTiles}) {
    Choices all = problem.all_of(s);
    if (std::any_of(all.begin(), all.end(), [](std::uint16_t c) { return c != 0; })) return all;
  }
  return problem.all_of(plan::Saving::Keep);
}

class Baselines {
 public:
  Baselines(const Checkpointing& problem, std::string_view name, const BaselineOptions& options)
      : problem_(problem), options_(options), name_(name), linear_(linear_model(problem)) {}

  std::vector<Baseline> run() {
    if (name_ == "chen") {
      add(chen_sqrt(linear_), "√n segments");
      for (const LinearResult& r : chen_family(linear_)) add(r, "");
    } else if (name_ == "greedy") {
      for (const LinearResult& r : greedy_family(linear_, options_.deadline)) add(r, "");
    } else if (name_ == "additive") {
      add_knapsacks();
    } else {
      for (const double budget : budgets()) {
        if (options_.deadline.is_over()) break;
        const Deadline deadline =
            options_.is_seed ? options_.deadline : options_.deadline.within(options_.seconds_each);
        const std::string words = fmt::format("{:.3g} MB", budget / 1e6);
        if (name_ == "rotor")
          add(rotor(linear_, budget, {.work = options_.is_seed ? kSeedWork : kAnyWork, .deadline = deadline}), words);
        if (name_ == "checkmate") add(checkmate(linear_, budget, deadline), words);
        if (name_ == "moccasin") add(moccasin(linear_, budget, deadline), words);
        if (name_ == "poet") add(poet(linear_, budget, deadline), words);
      }
    }
    return std::move(out_);
  }

 private:
  // From what the largest step needs to what keeping everything does.
  std::vector<double> budgets() const {
    double least = 0;
    for (const LinearStep& step : linear_.steps) {
      double bytes = linear_.fixed_bytes + step.bytes;
      for (const std::uint32_t in : step.inputs) bytes += linear_.steps[in].bytes;
      least = std::max(least, bytes);
    }
    const double most = rebuilding_result(linear_, std::vector<bool>(linear_.steps.size(), true)).figures.peak_bytes;
    std::vector<double> out;
    for (std::size_t k = 0; k < options_.budgets; ++k)
      out.push_back(least + (most - least) * static_cast<double>(k) / static_cast<double>(options_.budgets));
    return out;
  }

  void add(const LinearResult& result, std::string words) {
    if (!result.is_possible && !result.is_proven && options_.give_up)
      options_.give_up(fmt::format("{} at {}", name_, words));
    if (!result.is_possible) return;
    add(result.figures.decision, std::move(words), result.is_proven, result.gap());
  }

  void add(const std::vector<Fate>& fates, std::string words, bool is_proven, double gap) {
    const Choices rebuilt = all_rebuilt(problem_), spilled = problem_.all_of(plan::Saving::Spill);
    Choices decision = problem_.all_of(plan::Saving::Keep);
    for (std::size_t i = 0; i < fates.size(); ++i) {
      if (fates[i] == Fate::Rebuild) decision[i] = rebuilt[i];
      if (fates[i] == Fate::Spill) decision[i] = spilled[i];
    }
    const bool is_known =
        std::any_of(out_.begin(), out_.end(), [&](const Baseline& b) { return b.decision == decision; });
    if (is_known) return;
    if (words.empty()) words = fmt::format("{} forgotten", std::count(fates.begin(), fates.end(), Fate::Rebuild));
    out_.push_back({std::string(name_), std::move(words), std::move(decision), is_proven, is_proven ? 0 : gap});
  }

  // What each activation costs if it alone is forgotten, by the whole scheduler, as if such costs would add up.
  void add_knapsacks() {
    const std::size_t count = problem_.activations().size();
    std::vector<Choices> singles{problem_.all_of(plan::Saving::Keep)};
    const Choices rebuilt = all_rebuilt(problem_);
    for (std::size_t i = 0; i < count; ++i) {
      singles.push_back(singles[0]);
      singles.back()[i] = rebuilt[i];
    }
    const std::vector<Figures> figures = options_.price ? options_.price(singles) : problem_.figures(singles);
    if (figures.size() < singles.size() || !figures[0].is_possible) return;
    std::vector<double> costs, bytes;
    double all = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool can_go = figures[i + 1].is_possible && rebuilt[i] != 0;
      bytes.push_back(can_go ? problem_.activations()[i].bytes : 0);
      costs.push_back(can_go ? figures[i + 1].latency_cycles - figures[0].latency_cycles : 0);
      all += bytes.back();
    }
    for (std::size_t k = 1; k <= options_.budgets; ++k) {
      const double need = all * static_cast<double>(k) / static_cast<double>(options_.budgets);
      const KnapsackResult r =
          knapsack(costs, bytes, std::min(need, all * (1 - 1e-12)), options_.deadline.within(options_.seconds_each));
      if (!r.is_possible) continue;
      std::vector<Fate> fates = r.decision;
      for (std::size_t i = 0; i < count; ++i)
        if (bytes[i] == 0) fates[i] = Fate::Keep;
      add(fates, fmt::format("{:.3g} MB less", need / 1e6), r.is_proven, r.cost > 0 ? (r.cost - r.bound) / r.cost : 0);
    }
  }

  const Checkpointing& problem_;
  const BaselineOptions& options_;
  std::string_view name_;
  LinearProblem linear_;
  std::vector<Baseline> out_;
};

}  // namespace

std::vector<std::string> baseline_names(bool quick) {
  std::vector<std::string> names{"keep_all", "recompute_all", "chen", "greedy", "rotor"};
  if (!quick) names.insert(names.end(), {"additive", "checkmate", "moccasin", "poet"});
  return names;
}

std::vector<Baseline> singles_and_pairs(const Checkpointing& problem) {
  const Choices kept = problem.all_of(plan::Saving::Keep), rebuilt = all_rebuilt(problem);
  std::vector<Baseline> out{{"pairs", "none", kept}};
  const std::size_t count = problem.activations().size();
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i; j < count; ++j) {
      if (rebuilt[i] == 0 || rebuilt[j] == 0) continue;
      Choices decision = kept;
      decision[i] = rebuilt[i];
      decision[j] = rebuilt[j];
      const std::string &a = problem.activations()[i].name, &b = problem.activations()[j].name;
      out.push_back({"pairs", i == j ? a : fmt::format("{}, {}", a, b), std::move(decision)});
    }
  return out;
}

LinearProblem linear_model(const Checkpointing& problem) {
  std::vector<TensorId> activations;
  for (const SavedActivation& a : problem.activations()) activations.push_back(a.tensor);
  LinearProblem linear = linear_problem(problem.training(), activations, node_costs(problem));
  // Off the chip and back at the rate of the off-chip memory, if that may be decided.
  const plan::Machine& machine = problem.setting().chip.machine;
  const plan::Store& home = machine.stores[machine.home.index()];
  const Choices spilled = problem.all_of(plan::Saving::Spill);
  if (std::any_of(spilled.begin(), spilled.end(), [](std::uint16_t c) { return c != 0; })) {
    linear.spill_cycles_per_byte = 1 / home.bytes_per_cycle;
    linear.spill_energy_per_byte = std::max(home.read_pj_per_byte, home.write_pj_per_byte);
  }
  return linear;
}

Guide guide_of(const Checkpointing& problem, std::size_t threads) {
  const LinearProblem linear = linear_model(problem);
  Guide out{.related = related_activations(linear), .axes = problem.axes().size(), .threads = threads};
  out.expected = [&problem, linear](const Choices& decision) {
    std::vector<bool> is_kept(linear.steps.size(), true);
    std::size_t next = 0;
    const std::vector<plan::SavedPlan> savings = problem.savings(decision);
    for (std::size_t i = 0; i < linear.step_of.size(); ++i) {
      if (decision[i] == 0) continue;
      const plan::Saving saving = savings[next++].saving;
      if (saving != plan::Saving::Spill && saving != plan::Saving::Narrow) is_kept[linear.step_of[i]] = false;
    }
    const LinearFigures f = rebuilding_result(linear, is_kept).figures;
    return std::pair(f.cycles, f.energy_pj);
  };
  return out;
}

std::vector<Baseline> baseline(const Checkpointing& problem, std::string_view name, const BaselineOptions& options) {
  if (name == "keep_all") return {{"keep_all", "", problem.all_of(plan::Saving::Keep)}};
  if (name == "recompute_all") return {{"recompute_all", "", all_rebuilt(problem)}};
  return Baselines(problem, name, options).run();
}

}  // namespace monet::search
