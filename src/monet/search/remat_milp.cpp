#include "monet/search/remat_milp.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "monet/base/assert.h"
#include "monet/search/chain_checkpoints.h"

namespace monet::search {
namespace {

using solve::Milp;
using solve::MilpEnd;
using solve::MilpResult;

constexpr double kSlack = 1e-6;  // what solvers take for nothing, relative

double cost_of(const LinearFigures& figures, const RematOptions& options) {
  return options.is_energy ? figures.energy_pj : figures.cycles;
}

bool is_within(const LinearFigures& figures, const RematOptions& options) {
  return figures.peak_bytes <= options.budget_bytes * (1 + kSlack) &&
         figures.cycles <= options.most_cycles * (1 + kSlack);
}

MilpResult relaxation(const RematProgram& program, const Deadline& deadline) {
  Milp relaxed = program.milp();
  for (Milp::Column& column : relaxed.columns) column.is_whole = false;
  return solve::solve(relaxed, {.seconds = deadline.seconds_left()});
}

struct Start {
  LinearResult result{};
  RematStages stages{};
};

// Takes a schedule if it is one and better than the best.
void offer(const LinearProblem& problem, const RematOptions& options, RematStages stages, Start& best) {
  std::vector<std::uint32_t> computes, times(problem.steps.size(), 0);
  for (const auto& stage : stages)
    for (const std::uint32_t s : stage) computes.push_back(s), ++times[s];
  const std::uint32_t most = *std::max_element(times.begin(), times.end());
  if (options.most_computations > 0 && most > options.most_computations) return;
  LinearResult result{.is_possible = true, .bound = best.result.bound, .events = freeing_early(problem, computes)};
  result.figures = figures_of(problem, result.events);
  result.objective = cost_of(result.figures, options);
  if (!is_within(result.figures, options)) return;
  if (!best.result.is_possible || result.objective < best.result.objective)
    best = {std::move(result), std::move(stages)};
}

void offer_rounded(const LinearProblem& problem, const RematOptions& options, const RematProgram& program,
                   const std::vector<double>& values, Start& best) {
  for (const double threshold : {0.1, 0.3, 0.5, 0.7, 0.9, 0.999})
    offer(problem, options, program.rounded(values, threshold), best);
}

// A schedule of a simpler baseline: its stages end where steps first run, and what is in one of them is put in order.
void offer_simple(const LinearProblem& problem, const RematOptions& options, const LinearResult& simple, Start& best) {
  RematStages stages(1);
  for (const LinearEvent& event : simple.events) {
    if (event.kind != LinearEvent::Kind::Compute) continue;
    stages.back().push_back(event.step);
    if (event.step + 1 == stages.size()) stages.emplace_back();
  }
  stages.pop_back();
  if (stages.size() != problem.steps.size()) return;
  for (auto& stage : stages) {
    std::sort(stage.begin(), stage.end());
    if (std::adjacent_find(stage.begin(), stage.end()) != stage.end()) return;
  }
  offer(problem, options, std::move(stages), best);
}

Start rounding(const LinearProblem& problem, const RematOptions& options, const RematProgram& program,
               const Deadline& deadline) {
  Start best;
  const MilpResult whole = relaxation(program, deadline);
  best.result.is_proven = whole.end == MilpEnd::Infeasible;
  if (whole.end != MilpEnd::Optimal) return best;
  best.result.bound = whole.objective * program.cost_unit();
  offer_rounded(problem, options, program, whole.values, best);
  for (const double share : {0.9, 0.8, 0.7, 0.6, 0.5}) {
    if (best.result.is_possible || deadline.is_over()) break;
    RematOptions less = options;
    less.budget_bytes = problem.fixed_bytes + share * (options.budget_bytes - problem.fixed_bytes);
    const RematProgram smaller(problem, less);
    if (smaller.is_hopeless()) break;
    const MilpResult part = relaxation(smaller, deadline);
    if (part.end != MilpEnd::Optimal) break;
    offer_rounded(problem, options, smaller, part.values, best);
  }
  best.result.is_proven = best.result.is_possible && best.result.gap() <= kSlack;
  return best;
}

LinearResult empty_result(const LinearProblem& problem, bool is_hopeless) {
  LinearResult result{.is_possible = !is_hopeless, .is_proven = true};
  if (!is_hopeless) result.figures = figures_of(problem, {});
  return result;
}

}  // namespace

LinearResult round_remat(const LinearProblem& problem, const RematOptions& options, const Deadline& deadline) {
  const RematProgram program(problem, options);
  if (program.is_hopeless() || problem.steps.empty()) return empty_result(problem, program.is_hopeless());
  return rounding(problem, options, program, deadline).result;
}

LinearResult solve_remat(const LinearProblem& problem, const RematOptions& options, const Deadline& deadline) {
  const RematProgram program(problem, options);
  if (program.is_hopeless() || problem.steps.empty()) return empty_result(problem, program.is_hopeless());
  Start start = rounding(problem, options, program, deadline);
  if (start.result.is_proven || deadline.is_over()) return start.result;
  for (const LinearResult& simple : chen_family(problem)) offer_simple(problem, options, simple, start);
  for (const LinearResult& simple : greedy_family(problem, deadline)) offer_simple(problem, options, simple, start);
  offer_simple(problem, options, rotor(problem, options.budget_bytes, {.deadline = deadline}), start);
  const MilpResult solved = solve::solve(
      program.milp(), {.seconds = deadline.seconds_left(),
                       .start = start.result.is_possible ? program.values(start.stages) : std::vector<double>{}});
  LinearResult result = start.result;
  if (!solved.values.empty()) {
    LinearResult found{.is_possible = true, .events = program.schedule(solved.values)};
    found.figures = figures_of(problem, found.events);
    found.objective = cost_of(found.figures, options);
    if (is_within(found.figures, options) && (!result.is_possible || found.objective <= result.objective)) {
      found.bound = result.bound;
      result = std::move(found);
    }
  }
  result.is_proven = solved.end == MilpEnd::Infeasible || (solved.end == MilpEnd::Optimal && result.is_possible);
  if (std::isfinite(solved.bound)) result.bound = std::max(result.bound, solved.bound * program.cost_unit());
  if (solved.end == MilpEnd::Optimal && result.is_possible) result.bound = result.objective;
  return result;
}

LinearResult checkmate(const LinearProblem& problem, double budget_bytes, const Deadline& deadline) {
  return solve_remat(problem, {.budget_bytes = budget_bytes}, deadline);
}

LinearResult moccasin(const LinearProblem& problem, double budget_bytes, const Deadline& deadline,
                      std::uint32_t most_computations) {
  return solve_remat(problem, {.budget_bytes = budget_bytes, .most_computations = most_computations}, deadline);
}

LinearResult poet(const LinearProblem& problem, double budget_bytes, const Deadline& deadline, double most_cycles) {
  return solve_remat(problem,
                     {.budget_bytes = budget_bytes, .is_energy = true, .may_spill = true, .most_cycles = most_cycles},
                     deadline);
}

KnapsackResult knapsack(std::span<const double> costs, std::span<const double> bytes, double need_bytes,
                        const Deadline& deadline) {
  MONET_ASSERT(costs.size() == bytes.size(), "a cost and a size for every activation");
  double cost_unit = 0;
  const double all = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  for (const double cost : costs) cost_unit = std::max(cost_unit, std::abs(cost) / 1000);
  if (cost_unit == 0) cost_unit = 1;
  const double byte_unit = all > 0 ? all / 1000 : 1;
  Milp milp{.rows = {{.lower = need_bytes / byte_unit}}};
  for (std::uint32_t a = 0; a < costs.size(); ++a) {
    milp.columns.push_back({.cost = costs[a] / cost_unit});
    if (bytes[a] > 0) milp.rows[0].terms.emplace_back(a, bytes[a] / byte_unit);
  }
  KnapsackResult result;
  const MilpResult solved = solve::solve(milp, {.seconds = deadline.seconds_left()});
  result.is_proven = solved.end == MilpEnd::Optimal || solved.end == MilpEnd::Infeasible;
  result.is_possible = solved.end == MilpEnd::Optimal || solved.end == MilpEnd::Feasible;
  if (!result.is_possible) return result;
  for (std::size_t a = 0; a < costs.size(); ++a) {
    const bool is_dropped = solved.values.size() > a && solved.values[a] > 0.5;
    result.decision.push_back(is_dropped ? Fate::Rebuild : Fate::Keep);
    if (is_dropped) result.cost += costs[a], result.bytes += bytes[a];
  }
  result.bound = solved.end == MilpEnd::Optimal ? result.cost : solved.bound * cost_unit;
  return result;
}

}  // namespace monet::search
