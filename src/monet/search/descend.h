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
// better than what there is. So it is the same on any number of threads.

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

// From a state whose figures are known. `price` may work in parallel; `steps_from`: the most promising first.
template <class State>
void descend(Descent<State>& best, const std::function<std::vector<Figures>(std::span<const State>)>& price,
             const std::function<std::vector<State>(const State&)>& steps_from, const DescentOptions& options) {
  constexpr std::size_t kRound = 16;  // steps tried before the best of them is taken
  const auto is_over = [&] { return best.evaluations >= options.evaluations || options.deadline.is_over(); };
  for (bool is_better = true; is_better && !is_over();) {
    const std::vector<State> steps = steps_from(best.state);
    is_better = false;
    std::size_t at = 0;
    while (at < steps.size() && !is_better && !is_over()) {
      const std::size_t count = std::min({kRound, steps.size() - at, options.evaluations - best.evaluations});
      const std::vector<Figures> tried = price(std::span(steps).subspan(at, count));
      best.evaluations += count;
      for (std::size_t i = 0; i < count; ++i)
        if (value_of(options, tried[i]) < value_of(options, best.figures)) {
          best.state = steps[at + i];
          best.figures = tried[i];
          is_better = true;
        }
      at += count;
      if (options.observe) options.observe(best.evaluations, best.figures);
    }
    if (is_better) ++best.steps;
    best.is_local_optimum = !is_better && at == steps.size();
  }
}

}  // namespace monet::search
