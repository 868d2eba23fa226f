#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/remat_program.h"

namespace monet::search {

// Baselines that solve a linear problem as an integer program (remat_program.h) with CBC. All of them first solve the
// relaxation, whose value is a bound, and round it in two phases (Jain et al., Checkmate, 2020, section 5.1): at
// several thresholds and, where nothing fits, with less memory promised to the relaxation. The best of that and of
// chain_checkpoints.h is where the search for the optimum starts, and the result if time is over before it finds a
// better one. The same every time unless time ends it. Budgets include fixed_bytes; a schedule may be above one by a
// millionth, which is what solvers take for nothing.
LinearResult solve_remat(const LinearProblem& problem, const RematOptions& options, const Deadline& deadline = {});

// The relaxation and its rounding, without the search.
LinearResult round_remat(const LinearProblem& problem, const RematOptions& options, const Deadline& deadline = {});

// The fewest cycles in so much memory, any step as often as needed (Jain et al., 2020).
LinearResult checkmate(const LinearProblem& problem, double budget_bytes, const Deadline& deadline = {});

// The same with each step computed at most twice, or as often as said (Bartan et al., Moccasin, 2023).
LinearResult moccasin(const LinearProblem& problem, double budget_bytes, const Deadline& deadline = {},
                      std::uint32_t most_computations = 2);

// The least energy in so much memory, by rebuilding and paging, within so many cycles (Patil et al., POET, 2022).
// Paging takes its time beside nothing else.
LinearResult poet(const LinearProblem& problem, double budget_bytes, const Deadline& deadline = {},
                  double most_cycles = LinearProblem::kNever);

// The additive model: every activation dropped costs what it costs alone (less than nothing, too), and so many bytes
// must go. Whether costs add up is what this baseline assumes and the scheduler refutes.
struct KnapsackResult {
  bool is_possible = false, is_proven = false;
  double cost = 0, bound = 0, bytes = 0;  // of what is dropped
  std::vector<Fate> decision{};           // for every activation
};
KnapsackResult knapsack(std::span<const double> costs, std::span<const double> bytes, double need_bytes,
                        const Deadline& deadline = {});

}  // namespace monet::search
