#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/checkpoint.h"
#include "monet/search/linear_problem.h"
#include "monet/search/proposals.h"

namespace monet::search {

// Decisions of others, to judge a search by and to begin it with. Most of them solve a linear model of the iteration
// (linear_problem.h), whose steps take the cycles and energy that the nodes take where everything is kept.
struct Baseline {
  std::string name{};   // of the rule: one may give several decisions
  std::string words{};  // which of them this is
  solve::Choices decision{};
  bool is_proven = true;  // best of its kind in its own model
  double gap = 0;         // else: so much of its cost may be too much there
};

struct BaselineOptions {
  Deadline deadline{};
  std::size_t budgets = 8;   // of rules that are given one
  double seconds_each = 20;  // of a rule that is solved, for each budget
  // To begin a search with: the rules take as much work as is worth it, whatever the clock says.
  bool is_seed = false;
  std::function<void(const std::string&)> give_up{};  // told of a budget for which the time was not enough
  // Figures of decisions, for the rule that measures each activation alone.
  std::function<std::vector<Figures>(std::span<const solve::Choices>)> price{};
};

// keep_all, recompute_all, chen, greedy, rotor, additive, checkmate, moccasin, poet. `quick`: those that take no time
// to speak of.
std::vector<std::string> baseline_names(bool quick = false);

// Not a rule, but a question: everything kept, every activation forgotten alone, and every two of them.
std::vector<Baseline> singles_and_pairs(const Checkpointing& problem);

std::vector<Baseline> baseline(const Checkpointing& problem, std::string_view name, const BaselineOptions& options);

// The linear model of an iteration on its chip; and what it says to a search. The problem must stay alive.
LinearProblem linear_model(const Checkpointing& problem);
Guide guide_of(const Checkpointing& problem, std::size_t threads);

}  // namespace monet::search
