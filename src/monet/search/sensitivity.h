#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "monet/hardware/constants.h"
#include "monet/search/exploration_search.h"

namespace monet::search {

// Whether what an exploration found holds if a figure that nobody states is another one. One constant at a time is made
// smaller and larger; leakage, area and power by what each chip has of them, exactly, for every point; other energies
// by running again every point that could then be on a front, or best. Where constraints limit area or power, points
// that break one then are out, and those that break none any more are run.

// Best points, by what a workload is judged by; none: nothing is possible.
struct BestPoints {
  std::optional<std::uint32_t> latency{}, energy{}, edp{};
  bool operator==(const BestPoints&) const = default;
};

struct SensitivityCase {
  hardware::Constant constant{};
  double factor = 1;
  struct Outcome {
    BestPoints best{};
    std::size_t kept = 0;     // of the front as it was, still on it
    std::size_t entered = 0;  // new on it
    // Hypervolume of the front as it was, under the new figures, over that of the new one: what is lost by keeping it.
    // None: nothing is possible any more; NaN: it would take too long.
    std::optional<double> hold = 1;
  };
  std::vector<Outcome> outcomes{};     // by workload
  std::vector<Regret> regrets{};       // of the same pairs as without the change
  std::size_t run_again = 0;           // points
  std::size_t opened = 0, closed = 0;  // points that become valid, and that do so no longer
};

struct Sensitivity {
  double share = 0.3;
  std::vector<BestPoints> as_it_is{};    // by workload
  std::size_t constants = 0;             // in all
  std::vector<SensitivityCase> cases{};  // two for each of them; fewer where the time was over
  bool is_complete() const { return cases.size() == 2 * constants; }
};

BestPoints best_points(const Explored& found, const ExplorationGoal& goal, std::size_t workload);

Sensitivity sensitivity(const Exploration& exploration, const Explored& found, const ExplorationGoal& goal,
                        double share, const TaskRunner& run, const Watch& watch);

}  // namespace monet::search
