#include "monet/search/linear_schedule.h"

#include <algorithm>
#include <cmath>

#include "monet/base/assert.h"

namespace monet::search {
namespace {

// What is in memory, and outside of it, while events go by.
class Memory {
 public:
  explicit Memory(const LinearProblem& problem)
      : p_(problem), is_in_(problem.steps.size(), false), is_out_(problem.steps.size(), false) {
    now_ = figures_.peak_bytes = problem.fixed_bytes;
  }

  void apply(const LinearEvent& event) {
    const LinearStep& step = p_.steps[event.step];
    switch (event.kind) {
      case LinearEvent::Kind::Compute:
        for (const std::uint32_t i : step.inputs) MONET_ASSERT(is_in_[i], "a step reads what is in memory");
        if (step.is_backward && figures_.decision.empty()) note_decision();
        figures_.cycles += step.cycles;
        figures_.energy_pj += step.energy_pj;
        take_in(event.step);
        break;
      case LinearEvent::Kind::Free:
        MONET_ASSERT(is_in_[event.step], "only what is in memory is freed");
        is_in_[event.step] = false;
        now_ -= step.bytes;
        break;
      case LinearEvent::Kind::PageOut:
        MONET_ASSERT(is_in_[event.step], "only what is in memory is paged out");
        is_out_[event.step] = true;
        pay_for_paging(step);
        break;
      case LinearEvent::Kind::PageIn:
        MONET_ASSERT(is_out_[event.step], "only what was paged out comes back");
        take_in(event.step);
        pay_for_paging(step);
        break;
    }
  }

  LinearFigures finish() {
    if (figures_.decision.empty()) note_decision();
    return std::move(figures_);
  }

 private:
  void take_in(std::uint32_t step) {
    if (!is_in_[step]) now_ += p_.steps[step].bytes;
    is_in_[step] = true;
    figures_.peak_bytes = std::max(figures_.peak_bytes, now_);
  }
  void pay_for_paging(const LinearStep& step) {
    figures_.cycles += step.bytes * p_.spill_cycles_per_byte;
    figures_.energy_pj += step.bytes * p_.spill_energy_per_byte;
  }
  void note_decision() {
    for (const std::uint32_t s : p_.step_of)
      figures_.decision.push_back(is_in_[s] ? Fate::Keep : is_out_[s] ? Fate::Spill : Fate::Rebuild);
  }

  const LinearProblem& p_;
  std::vector<bool> is_in_, is_out_;
  double now_ = 0;
  LinearFigures figures_;
};

}  // namespace

LinearFigures figures_of(const LinearProblem& problem, const std::vector<LinearEvent>& events) {
  Memory memory(problem);
  for (const LinearEvent& event : events) memory.apply(event);
  return memory.finish();
}

double LinearResult::gap() const {
  return !is_possible || objective <= bound ? 0 : (objective - bound) / std::abs(objective);
}

std::vector<LinearEvent> freeing_early(const LinearProblem& problem, const std::vector<LinearEvent>& work) {
  // Backwards: the first reader met is the last; where a value is made, the readers of an earlier copy begin.
  std::vector<std::vector<std::uint32_t>> freed(work.size());
  std::vector<bool> is_read(problem.steps.size(), false);
  for (std::size_t w = work.size(); w-- > 0;) {
    const auto [kind, step] = work[w];
    MONET_ASSERT(kind != LinearEvent::Kind::Free, "what is freed is not known yet");
    const auto read = [&, at = w](std::uint32_t value) {
      if (!is_read[value]) freed[at].push_back(value);
      is_read[value] = true;
    };
    if (kind == LinearEvent::Kind::PageOut) {
      read(step);
      continue;
    }
    if (!is_read[step]) freed[w].push_back(step);
    is_read[step] = false;
    if (kind == LinearEvent::Kind::Compute)
      for (const std::uint32_t i : problem.steps[step].inputs) read(i);
  }
  std::vector<LinearEvent> events;
  for (std::size_t w = 0; w < work.size(); ++w) {
    events.push_back(work[w]);
    for (const std::uint32_t step : freed[w]) events.push_back({LinearEvent::Kind::Free, step});
  }
  return events;
}

std::vector<LinearEvent> freeing_early(const LinearProblem& problem, const std::vector<std::uint32_t>& computes) {
  std::vector<LinearEvent> work;
  for (const std::uint32_t step : computes) work.push_back({LinearEvent::Kind::Compute, step});
  return freeing_early(problem, work);
}

std::vector<std::uint32_t> rebuilding(const LinearProblem& problem, const std::vector<bool>& is_kept) {
  MONET_ASSERT(is_kept.size() == problem.steps.size(), "a decision for every step");
  std::vector<std::uint32_t> computes, stack;
  std::vector<bool> is_there(problem.steps.size(), false);
  for (std::uint32_t s = 0; s < problem.steps.size(); ++s) {
    const LinearStep& step = problem.steps[s];
    if (step.is_backward) {
      stack = {s};
      while (!stack.empty()) {
        const std::uint32_t next = stack.back();
        const std::size_t before = stack.size();
        for (const std::uint32_t i : problem.steps[next].inputs)
          if (!is_there[i]) stack.push_back(i);
        if (stack.size() > before) continue;
        stack.pop_back();
        if (is_there[next]) continue;
        computes.push_back(next);
        is_there[next] = true;
      }
    } else {
      computes.push_back(s);
      is_there[s] = is_kept[s] || step.bytes == 0;
    }
  }
  return computes;
}

LinearResult rebuilding_result(const LinearProblem& problem, const std::vector<bool>& is_kept) {
  LinearResult result{.is_possible = true, .events = freeing_early(problem, rebuilding(problem, is_kept))};
  result.figures = figures_of(problem, result.events);
  result.objective = result.figures.cycles;
  return result;
}

}  // namespace monet::search
