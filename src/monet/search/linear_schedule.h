#pragma once
#include <cstdint>
#include <vector>

#include "monet/search/linear_problem.h"

namespace monet::search {

// A schedule of a linear problem: what happens, one after the other. A step runs when all it reads is in memory; its
// value stays there until it is freed. Paging copies a value out of memory (and leaves it) or back in.
struct LinearEvent {
  enum class Kind : std::uint8_t { Compute, Free, PageOut, PageIn };
  Kind kind = Kind::Compute;
  std::uint32_t step = 0;
  bool operator==(const LinearEvent&) const = default;
};

// Where an activation is when the first backward step runs: in memory; nowhere, to be rebuilt if it is read; or paged
// out only. Where a schedule also keeps a tensor that nobody decides on, or rebuilds an activation twice, that is not
// part of the decision.
enum class Fate : std::uint8_t { Keep, Rebuild, Spill };

struct LinearFigures {
  double cycles = 0, energy_pj = 0, peak_bytes = 0;  // the peak includes fixed_bytes
  std::vector<Fate> decision{};                      // for every activation of step_of
};
// Of a schedule that is legal.
LinearFigures figures_of(const LinearProblem& problem, const std::vector<LinearEvent>& events);

// What every baseline gives.
struct LinearResult {
  bool is_possible = false;           // there is a schedule
  bool is_proven = false;             // best of its kind, or proven not to exist
  double objective = 0, bound = 0;    // what is made small; no schedule of its kind is below the bound
  LinearFigures figures{};            // of the schedule
  std::vector<LinearEvent> events{};  // the schedule
  double gap() const;                 // (objective - bound) / objective
};

// Frees every value after its last reader (or copy out of memory) before it is made again (or copied in). `work` frees
// nothing itself.
std::vector<LinearEvent> freeing_early(const LinearProblem& problem, const std::vector<LinearEvent>& work);
std::vector<LinearEvent> freeing_early(const LinearProblem& problem, const std::vector<std::uint32_t>& computes);

// What rewrite/recompute.h makes of a decision, in this model: the forward pass, then each backward step when what it
// reads is there. A value that was not kept is rebuilt at its first reader, from the nearest values that are there,
// and stays until its last. `is_kept` by step; values without bytes are always kept.
std::vector<std::uint32_t> rebuilding(const LinearProblem& problem, const std::vector<bool>& is_kept);
LinearResult rebuilding_result(const LinearProblem& problem, const std::vector<bool>& is_kept);

}  // namespace monet::search
