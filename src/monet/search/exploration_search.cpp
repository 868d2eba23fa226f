#include "monet/search/exploration_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "monet/base/parallel.h"

namespace monet::search {
namespace {

using solve::Choices;
using solve::Score;

// Candidates that are decided on together, whatever the number of threads: few where the next ones hang on them.
constexpr std::size_t kBatch = 64, kMany = 4096;

constexpr std::array kObjectives{ChipObjective::Latency, ChipObjective::Energy, ChipObjective::Area, ChipObjective::Tdp,
                                 ChipObjective::Peak};

// Keeps what is found, and the fronts of it.
class Collector {
 public:
  Collector(const Exploration& exploration, const ExplorationSearchOptions& options)
      : options_(options), scores_(exploration.workloads().size()) {
    out.fronts.resize(exploration.workloads().size());
    for (std::uint8_t w = 0; w < exploration.workloads().size(); ++w) all_.push_back(w);
  }

  // How many of the batch were done, from its beginning on.
  std::size_t run(std::span<const Candidate> batch) {
    std::vector<Task> tasks;
    for (const Candidate& c : batch) tasks.push_back({c, all_});
    std::vector<TaskResult> results = options_.run(tasks);
    std::size_t done = 0;
    while (done < results.size() && !results[done].empty()) ++done;
    for (std::size_t i = 0; i < done; ++i) out.points.push_back({batch[i], std::move(results[i])});
    const std::size_t first = common_.size();
    for (std::size_t i = first; i < out.points.size(); ++i) {
      for (std::size_t w = 0; w < scores_.size(); ++w)
        scores_[w].push_back(options_.goal.score(out.points[i].figures[w]));
      common_.push_back(options_.goal.score(out.points[i].figures));
    }
    for (std::size_t w = 0; w < scores_.size(); ++w)
      out.fronts[w] = solve::front_with(out.fronts[w], scores_[w], first);
    out.common = solve::front_with(out.common, common_, first);
    if (options_.observe) options_.observe(out);
    if (done < batch.size()) out.end = solve::Nsga2End::Stopped;
    return done;
  }
  const Score& score(std::size_t point) const { return common_[point]; }

  // Whether figures that are no lower than these may be on the front of any workload, or on the common one.
  bool can_be_on_a_front(const TaskResult& least) const {
    const auto is_dominated = [](const std::vector<std::uint32_t>& front, const std::vector<Score>& scores,
                                 const Score& bound) {
      return bound.violation > 0 || std::any_of(front.begin(), front.end(), [&](std::uint32_t i) {
               return solve::dominates(scores[i].objectives, bound.objectives);
             });
    };
    for (std::size_t w = 0; w < scores_.size(); ++w)
      if (!is_dominated(out.fronts[w], scores_[w], options_.goal.score(least[w]))) return true;
    return !is_dominated(out.common, common_, options_.goal.score(least));
  }

  Explored out;

 private:
  const ExplorationSearchOptions& options_;
  std::vector<std::uint8_t> all_;
  std::vector<std::vector<Score>> scores_;  // by workload
  std::vector<Score> common_;
};

// Batch by batch, as long as there are more and there is time.
Explored run_all(const Exploration& exploration, const ExplorationSearchOptions& options,
                 const std::function<bool(Candidate&)>& next) {
  Collector collector(exploration, options);
  for (bool has_more = true; has_more && !options.deadline.is_over();) {
    std::vector<Candidate> batch;
    Candidate one;
    while (batch.size() < kMany && (has_more = next(one))) batch.push_back(one);
    if (collector.run(batch) < batch.size()) break;
  }
  if (options.deadline.is_over()) collector.out.end = solve::Nsga2End::Stopped;
  return std::move(collector.out);
}

// Draws candidates until one is new; false where that is in vain.
std::function<bool(Candidate&)> none_twice(const Exploration& exploration, std::size_t most,
                                           std::function<Candidate(std::uint64_t)> draw) {
  constexpr std::uint64_t kTries = 100'000;
  return [&exploration, most, draw = std::move(draw), seen = std::set<Candidate>(),
          at = std::uint64_t{0}](Candidate& one) mutable {
    if (seen.size() >= most || static_cast<double>(seen.size()) >= exploration.size()) return false;
    for (std::uint64_t tries = 0; tries < kTries; ++tries)
      if (one = draw(at++); seen.insert(one).second) return true;
    return false;
  };
}

// The points in the order of their numbers, and fronts that hold the first of equal ones.
Explored in_order(Explored found, const std::vector<std::uint32_t>& numbers, const ExplorationGoal& goal) {
  std::vector<std::uint32_t> order(found.points.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return numbers[a] < numbers[b]; });
  std::vector<ExploredPoint> points;
  for (const std::uint32_t i : order) points.push_back(std::move(found.points[i]));
  found.points = std::move(points);
  for (std::size_t w = 0; w < found.fronts.size(); ++w) {
    found.fronts[w] = solve::front_of(objectives_of(found, goal, w));
    std::erase_if(found.fronts[w], [&](std::uint32_t i) { return !found.points[i].figures[w].is_possible(); });
  }
  found.common = solve::front_of(common_objectives_of(found, goal));
  std::erase_if(found.common, [&](std::uint32_t i) { return goal.score(found.points[i].figures).violation > 0; });
  return found;
}

std::uint64_t prime_after(std::uint64_t n) {
  for (++n;; ++n) {
    bool is_prime = n > 1;
    for (std::uint64_t d = 2; d * d <= n && is_prime; ++d) is_prime = n % d != 0;
    if (is_prime) return n;
  }
}

// Van der Corput's sequence in a base, its digits exchanged for others; 0 stays.
double radical_inverse(std::uint64_t index, const std::vector<std::uint64_t>& digits) {
  const std::uint64_t base = digits.size();
  double value = 0, weight = 1.0 / static_cast<double>(base);
  for (; index > 0; index /= base, weight /= static_cast<double>(base))
    value += weight * static_cast<double>(digits[index % base]);
  return value;
}

}  // namespace

std::string_view name(ChipObjective objective) {
  switch (objective) {
    case ChipObjective::Latency: return "latency";
    case ChipObjective::Energy: return "energy";
    case ChipObjective::Area: return "area";
    case ChipObjective::Tdp: return "tdp";
    case ChipObjective::Peak: return "peak";
  }
  return "";
}
std::string_view key_name(ChipObjective objective) {
  switch (objective) {
    case ChipObjective::Latency: return "latency";
    case ChipObjective::Energy: return "energy_pj";
    case ChipObjective::Area: return "area_mm2";
    case ChipObjective::Tdp: return "tdp_w";
    case ChipObjective::Peak: return "peak_total_bytes";
  }
  return "";
}
std::optional<ChipObjective> chip_objective_named(std::string_view text) {
  for (const ChipObjective objective : kObjectives)
    if (name(objective) == text) return objective;
  return std::nullopt;
}

double ExplorationGoal::value(ChipObjective objective, const ChipFigures& f) const {
  switch (objective) {
    case ChipObjective::Latency: return (f.latency_s > 0 ? f.latency_s : f.latency_cycles) / f.samples;
    case ChipObjective::Energy: return f.energy_pj / f.samples;
    case ChipObjective::Area: return f.area_mm2;
    case ChipObjective::Tdp: return f.tdp_w;
    case ChipObjective::Peak: return f.peak_total_bytes;
  }
  return 0;
}

Score ExplorationGoal::score(const ChipFigures& figures) const {
  if (!figures.is_possible()) return {.violation = 1};
  Score out;
  for (const ChipObjective o : objectives) out.objectives.push_back(value(o, figures));
  return out;
}

Score ExplorationGoal::score(const TaskResult& figures) const {
  Score out;
  for (const ChipFigures& f : figures) out.violation += f.is_possible() ? 0 : 1;
  if (out.violation > 0 || figures.empty()) return out;
  for (const ChipObjective o : objectives) {
    const bool is_of_each = o == ChipObjective::Latency || o == ChipObjective::Energy;
    double most = 0;
    for (const ChipFigures& f : figures) {
      if (is_of_each) out.objectives.push_back(value(o, f));
      most = std::max(most, value(o, f));
    }
    if (!is_of_each) out.objectives.push_back(most);
  }
  return out;
}

std::vector<solve::Objectives> objectives_of(const Explored& found, const ExplorationGoal& goal, std::size_t workload) {
  std::vector<Score> scores;
  for (const ExploredPoint& p : found.points) scores.push_back(goal.score(p.figures[workload]));
  return solve::points_of(scores);
}

std::vector<solve::Objectives> common_objectives_of(const Explored& found, const ExplorationGoal& goal) {
  std::vector<Score> scores;
  for (const ExploredPoint& p : found.points) scores.push_back(goal.score(p.figures));
  return solve::points_of(scores);
}

Explored explore_grid(const Exploration& exploration, const ExplorationSearchOptions& options) {
  const std::vector<std::uint16_t> choices = exploration.choices();
  bool has_more = true;
  return run_all(exploration, options, [&, at = Candidate(choices.size(), 0)](Candidate& one) mutable {
    if (!has_more) return false;
    one = at;
    has_more = solve::advance(at, choices);
    return true;
  });
}

Explored explore_random(const Exploration& exploration, const ExplorationSearchOptions& options) {
  const std::vector<std::uint16_t> choices = exploration.choices();
  return run_all(exploration, options, none_twice(exploration, options.evaluations, [&](std::uint64_t i) {
                   solve::Random random(options.seed, 0, i);
                   Candidate one;
                   for (const std::uint16_t c : choices) one.push_back(static_cast<std::uint16_t>(random.below(c)));
                   return one;
                 }));
}

Explored explore_quasi(const Exploration& exploration, const ExplorationSearchOptions& options) {
  const std::vector<std::uint16_t> choices = exploration.choices();
  std::vector<std::vector<std::uint64_t>> digits;
  std::uint64_t base = 1;
  for (std::size_t g = 0; g < choices.size(); ++g) {
    base = prime_after(base);
    digits.emplace_back();
    for (std::uint64_t d = 0; d < base; ++d) digits.back().push_back(d);
    solve::Random random(options.seed, 1, g);
    for (std::uint64_t d = base; d > 2; --d) std::swap(digits.back()[d - 1], digits.back()[1 + random.below(d - 1)]);
  }
  return run_all(exploration, options, none_twice(exploration, options.evaluations, [&](std::uint64_t i) {
                   Candidate one;
                   for (std::size_t g = 0; g < choices.size(); ++g) {
                     const double at = radical_inverse(i + 1, digits[g]) * choices[g];
                     one.push_back(std::min<std::uint16_t>(static_cast<std::uint16_t>(at), choices[g] - 1));
                   }
                   return one;
                 }));
}

Explored explore_pruned(const Exploration& exploration, const ExplorationSearchOptions& options) {
  const std::vector<std::uint16_t> choices = exploration.choices();
  std::vector<Candidate> candidates;
  Candidate at(choices.size(), 0);
  do candidates.push_back(at);
  while (solve::advance(at, choices));
  std::vector<TaskResult> bounds(candidates.size());
  parallel_for(candidates.size(), options.threads, [&](std::size_t i) {
    if (!options.deadline.is_over()) bounds[i] = exploration.bounds(candidates[i]);
  });
  Collector collector(exploration, options);
  if (options.deadline.is_over()) {
    collector.out.end = solve::Nsga2End::Stopped;
    return std::move(collector.out);
  }
  // By the product of what bounds there are, in units of the least of each.
  std::vector<std::uint32_t> order;
  std::vector<double> rank(candidates.size(), 0);
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    order.push_back(i);
    const Score score = options.goal.score(bounds[i]);
    for (const double o : score.objectives) rank[i] += std::log(std::max(o, 1e-300));
    if (score.violation > 0) rank[i] = std::numeric_limits<double>::infinity();
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
  std::vector<std::uint32_t> done;  // by point
  for (std::size_t next = 0; next < order.size() && !options.deadline.is_over();) {
    std::vector<Candidate> batch;
    for (; next < order.size() && batch.size() < kBatch; ++next) {
      const bool is_valid = options.goal.score(bounds[order[next]]).violation == 0;  // else it is told with its reason
      if (!is_valid || collector.can_be_on_a_front(bounds[order[next]])) {
        batch.push_back(candidates[order[next]]);
        done.push_back(order[next]);
      } else {
        ++collector.out.pruned;
      }
    }
    if (collector.run(batch) < batch.size()) break;
  }
  if (options.deadline.is_over()) collector.out.end = solve::Nsga2End::Stopped;
  done.resize(collector.out.points.size());
  return in_order(std::move(collector.out), done, options.goal);
}

Explored explore_nsga2(const Exploration& exploration, const ExplorationSearchOptions& options) {
  Collector collector(exploration, options);
  solve::Nsga2Problem<Choices> problem{.variation = solve::choice_variation(exploration.choices())};
  problem.evaluate = [&](std::span<const Choices> batch) {
    const std::size_t first = collector.out.points.size(), done = collector.run(batch);
    std::vector<Score> scores;
    for (std::size_t i = 0; i < done; ++i) scores.push_back(collector.score(first + i));
    return scores;
  };
  solve::Nsga2<Choices> search(problem, {.population = std::clamp<std::size_t>(options.evaluations / 10, 8, 100),
                                         .evaluations = options.evaluations,
                                         .seed = options.seed,
                                         .deadline = options.deadline});
  collector.out.end = search.run();
  return std::move(collector.out);
}

std::string_view name(ChosenBy by) {
  switch (by) {
    case ChosenBy::Latency: return "latency";
    case ChosenBy::Energy: return "energy";
    case ChosenBy::Edp: return "edp";
  }
  return "";
}

namespace {

double measure(const ExplorationGoal& goal, ChosenBy by, const ChipFigures& f) {
  const double latency = goal.value(ChipObjective::Latency, f), energy = goal.value(ChipObjective::Energy, f);
  return by == ChosenBy::Latency ? latency : by == ChosenBy::Energy ? energy : latency * energy;
}

}  // namespace

std::vector<std::uint32_t> best_of(const Explored& found, const ExplorationGoal& goal, std::size_t workload,
                                   ChosenBy by) {
  std::vector<std::uint32_t> out;
  std::vector<double> least;
  for (std::uint32_t i = 0; i < found.points.size(); ++i) {
    const ChipFigures& f = found.points[i].figures[workload];
    if (!f.is_possible()) continue;
    std::vector<double> figures{measure(goal, by, f)};
    for (const double o : goal.score(f).objectives) figures.push_back(o);
    if (out.empty() || figures < least) {
      out.clear();
      least = figures;
    }
    if (figures == least) out.push_back(i);
  }
  return out;
}

std::vector<Regret> regrets_of(const Explored& found, const ExplorationGoal& goal) {
  std::vector<Regret> out;
  const std::size_t workloads = found.fronts.size();
  const auto is_goal = [&](ChipObjective o) {
    return std::find(goal.objectives.begin(), goal.objectives.end(), o) != goal.objectives.end();
  };
  const bool by_latency = is_goal(ChipObjective::Latency), by_energy = is_goal(ChipObjective::Energy);
  for (const ChosenBy by : {ChosenBy::Latency, ChosenBy::Energy, ChosenBy::Edp}) {
    // Of what is no goal, nobody has looked for the best.
    if ((by != ChosenBy::Energy && !by_latency) || (by != ChosenBy::Latency && !by_energy)) continue;
    std::vector<std::vector<std::uint32_t>> best;
    for (std::size_t w = 0; w < workloads; ++w) best.push_back(best_of(found, goal, w, by));
    for (std::size_t a = 0; a < workloads; ++a)
      for (std::size_t b = 0; b < workloads; ++b) {
        if (a == b) continue;
        Regret regret{a, b, by};
        if (!best[b].empty()) regret.best = best[b].front();
        double least = std::numeric_limits<double>::infinity();
        for (const std::uint32_t i : best[a]) {
          const ChipFigures& f = found.points[i].figures[b];
          const double used = f.is_possible() ? measure(goal, by, f) : std::numeric_limits<double>::infinity();
          if (regret.point && used >= least) continue;
          regret.point = i;
          least = used;
        }
        if (std::isfinite(least)) regret.ratio = least / measure(goal, by, found.points[*regret.best].figures[b]);
        out.push_back(regret);
      }
  }
  return out;
}

}  // namespace monet::search
