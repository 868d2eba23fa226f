#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/exploration.h"
#include "monet/solve/nsga2.h"

namespace monet::search {

// Which candidates of an exploration to run, and what is best of them: for each workload, and for all together.

enum class ChipObjective { Latency, Energy, Area, Tdp, Peak };
std::optional<ChipObjective> chip_objective_named(std::string_view name);
std::string_view name(ChipObjective objective);      // latency, energy, area, tdp, peak
std::string_view key_name(ChipObjective objective);  // latency_s, energy_pj, area_mm2, …

// What makes a chip good. Latency (s, or cycles without a clock) and energy count by sample.
struct ExplorationGoal {
  std::vector<ChipObjective> objectives{ChipObjective::Latency, ChipObjective::Energy};

  double value(ChipObjective objective, const ChipFigures& figures) const;
  solve::Score score(const ChipFigures& figures) const;  // of one workload
  // Of all: latency and energy of each workload, the largest peak, area and power once.
  solve::Score score(const TaskResult& figures) const;
};

struct ExploredPoint {
  Candidate candidate{};
  TaskResult figures{};  // by workload; none that is left out (prune)
  bool operator==(const ExploredPoint&) const = default;
};

struct Explored {
  std::vector<ExploredPoint> points{};               // in the order in which they were asked for
  std::vector<std::vector<std::uint32_t>> fronts{};  // by workload
  std::vector<std::uint32_t> common{};               // of all workloads together
  std::size_t pruned = 0;                            // candidates left out because no front could have them
  solve::Nsga2End end = solve::Nsga2End::Exhausted;
};

// Runs tasks: on threads here, or on other machines. Results in the order of the tasks; where it was told to stop, some
// are empty.
using TaskRunner = std::function<std::vector<TaskResult>(std::span<const Task>)>;

struct ExplorationSearchOptions {
  ExplorationGoal goal{};
  std::size_t evaluations = 1000;  // candidates, at the most; not for the grid
  std::uint64_t seed = 1;
  Deadline deadline{};
  TaskRunner run{};
  std::size_t threads = 0;                         // for bounds; do not change the result
  std::function<void(const Explored&)> observe{};  // after every batch
};

// All candidates there are.
Explored explore_grid(const Exploration& exploration, const ExplorationSearchOptions& options);
// Drawn one by one, none twice.
Explored explore_random(const Exploration& exploration, const ExplorationSearchOptions& options);
// Spread evenly: Halton's sequence with digits permuted by the seed.
Explored explore_quasi(const Exploration& exploration, const ExplorationSearchOptions& options);
// All that could be on a front: those whose lower bounds are dominated by what was found in earlier batches are left
// out, so the fronts are those of the grid. Those with the lowest bounds first; in the end the points stand in the
// order of the grid.
Explored explore_pruned(const Exploration& exploration, const ExplorationSearchOptions& options);
Explored explore_nsga2(const Exploration& exploration, const ExplorationSearchOptions& options);

// Points by workload, those that are not possible infinitely bad; and for all workloads together.
std::vector<solve::Objectives> objectives_of(const Explored& found, const ExplorationGoal& goal, std::size_t workload);
std::vector<solve::Objectives> common_objectives_of(const Explored& found, const ExplorationGoal& goal);

// What a chip is chosen by for a workload; of chips that are equally good in it, those are the best that are better in
// the objectives of the goal, in their order. All of them where several have the same figures; none where nothing is
// possible. In ascending order.
enum class ChosenBy { Latency, Energy, Edp };
std::string_view name(ChosenBy by);  // latency, energy, edp
std::vector<std::uint32_t> best_of(const Explored& found, const ExplorationGoal& goal, std::size_t workload,
                                   ChosenBy by);

// Using the chip that is best for one workload for another one: of several, the one that is best for that.
struct Regret {
  std::size_t chosen_for = 0, used_for = 0;  // workloads
  ChosenBy by = ChosenBy::Latency;           // what the chip was chosen by and is measured by
  std::optional<std::uint32_t> point{};      // the chip chosen; none: nothing is possible
  std::optional<std::uint32_t> best{};       // the best one for the use
  std::optional<double> ratio{};  // of the measure, the chosen one over the best one; none: not possible on the former
};
// Of all pairs, by what are objectives (edp: if both are).
std::vector<Regret> regrets_of(const Explored& found, const ExplorationGoal& goal);

}  // namespace monet::search
