#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/subject.h"

namespace monet::search {

// Local search with a dear judge: steps are tried in rounds of a fixed size, and the best of a round is taken if it is
// better than what there is; where steps can be made together, so are those that are better. So it is the same on any
// number of threads.

struct DescentOptions {
  std::function<double(const Figures&)> value{};  // to be made small
  std::size_t evaluations = 200;                  // at the most
  std::size_t threads = 0;                        // do not change the result
  Deadline deadline{};
  std::function<void(std::size_t, const Figures&)> observe{};  // evaluations so far, the best
};

// What is not possible is worse than anything else.
inline double value_of(const DescentOptions& options, const Figures& f) {
  return f.is_possible ? options.value(f) : std::numeric_limits<double>::infinity();
}

template <class State>
struct Descent {
  State state{};
  Figures figures{};
  std::size_t evaluations = 0, steps = 0;
  bool is_local_optimum = false;  // no single step is better
};

template <class State>
struct DescentProblem {
  std::function<std::vector<Figures>(std::span<const State>)> price{};  // may work in parallel
  std::function<std::vector<State>(const State&)> steps_from{};         // the most promising first
  // Several steps from a state at once, of which each is better than the state; none: they cannot be.
  std::function<State(const State&, std::span<const State>)> together{};
};

// From a state whose figures are known.
template <class State>
void descend(Descent<State>& best, const DescentProblem<State>& problem, const DescentOptions& options) {
  constexpr std::size_t kRound = 16;  // steps tried before the best of them is taken
  const auto is_over = [&] { return best.evaluations >= options.evaluations || options.deadline.is_over(); };
  const auto value = [&](const Figures& f) { return value_of(options, f); };
  // Those that are better, the best one first; it is taken.
  const auto attempt = [&](std::span<const State> states) {
    const double before = value(best.figures);
    const std::vector<Figures> tried = problem.price(states);
    best.evaluations += states.size();
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < tried.size(); ++i)
      if (value(tried[i]) < before) order.emplace_back(value(tried[i]), i);
    std::sort(order.begin(), order.end());
    std::vector<State> better;
    for (const auto& [v, i] : order) better.push_back(states[i]);
    if (!better.empty()) {
      best.state = better.front();
      best.figures = tried[order.front().second];
    }
    return better;
  };
  for (bool is_better = true; is_better && !is_over();) {
    const State from = best.state;
    const std::vector<State> steps = problem.steps_from(from);
    is_better = false;
    std::size_t at = 0;
    while (at < steps.size() && !is_better && !is_over()) {
      const std::size_t count = std::min({kRound, steps.size() - at, options.evaluations - best.evaluations});
      const std::vector<State> better = attempt(std::span(steps).subspan(at, count));
      is_better = !better.empty();
      at += count;
      std::vector<State> several;  // of the best two, four, …, all
      for (std::size_t n = 2; problem.together && n < 2 * better.size(); n *= 2)
        several.push_back(problem.together(from, std::span(better).first(std::min(n, better.size()))));
      several.resize(std::min(several.size(), options.evaluations - best.evaluations));
      attempt(several);
      if (options.observe) options.observe(best.evaluations, best.figures);
    }
    if (is_better) ++best.steps;
    best.is_local_optimum = !is_better && at == steps.size();
  }
}

}  // namespace monet::search
