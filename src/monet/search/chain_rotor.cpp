// The dynamic program of chain_checkpoints.h's rotor(). The gradient of the last stage of a part is in memory when the
// part begins, its input is accounted for by whoever called for it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "monet/search/chain_checkpoints.h"

namespace monet::search {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

using Steps = std::vector<std::uint32_t>;  // ascending

// A run of a stage's forward steps: the first computes all of them, a later one what is wanted and not there.
struct Run {
  Steps steps{};
  double cycles = 0;
  double peak_leaving_output = 0, peak_leaving_all = 0;  // bytes, without the stage's input
};

struct Stage {
  Run first{}, light{}, full{};  // light: again, for its output only; full: again, for its backward
  double output_bytes = 0, all_bytes = 0;
  Steps backward{};
  double backward_cycles = 0, backward_peak = 0;  // bytes, without the stage's input
  double gradient_bytes = 0;                      // in memory when its backward begins
};

class Chain {
 public:
  explicit Chain(const LinearProblem& problem) : p_(problem), stage_of_(problem.steps.size(), 0) {
    while (forward_ < p_.steps.size() && !p_.steps[forward_].is_backward) ++forward_;
    Steps ends = cut_points(p_);
    if (forward_ > 0) ends.push_back(forward_ - 1);
    for (std::uint32_t f = 0, stage = 0; f < forward_; ++f) {
      stage_of_[f] = stage;
      if (f == ends[stage]) ++stage;
    }
    for (std::uint32_t s = forward_; s < p_.steps.size(); ++s) stage_of_[s] = stage_of_[p_.steps[s].forward_of];
    for (std::uint32_t e = 0; e < ends.size(); ++e) stages.push_back(stage(e, e == 0 ? 0 : ends[e - 1] + 1, ends[e]));
  }

  std::vector<Stage> stages{};

 private:
  Stage stage(std::uint32_t at, std::uint32_t begin, std::uint32_t end) const {
    Stage out{.output_bytes = p_.steps[end].bytes};
    std::set<std::uint32_t> all{end};
    for (std::uint32_t s = forward_; s < p_.steps.size(); ++s) {
      if (stage_of_[s] != at) continue;
      out.backward.push_back(s);
      out.backward_cycles += p_.steps[s].cycles;
      for (const std::uint32_t i : p_.steps[s].inputs)
        if (i >= begin && i <= end) all.insert(i);
    }
    for (const std::uint32_t s : all) out.all_bytes += p_.steps[s].bytes;
    Steps every(end - begin + 1);
    std::iota(every.begin(), every.end(), begin);
    out.first = run(every, end, all);
    out.light = run(needed({end}, begin), end, all);
    out.full = run(needed(all, begin), end, all);
    set_backward(out, at, all);
    return out;
  }

  // The wanted steps and what they need of the stage, without what is always there.
  Steps needed(const std::set<std::uint32_t>& wanted, std::uint32_t begin) const {
    std::set<std::uint32_t> taken = wanted;
    for (auto it = taken.rbegin(); it != taken.rend(); ++it)
      if (p_.steps[*it].bytes > 0)
        for (const std::uint32_t i : p_.steps[*it].inputs)
          if (i >= begin) taken.insert(i);
    Steps out;
    for (const std::uint32_t s : taken)
      if (p_.steps[s].bytes > 0) out.push_back(s);
    return out;
  }

  Run run(Steps steps, std::uint32_t output, const std::set<std::uint32_t>& all) const {
    Run out{.steps = std::move(steps)};
    for (const std::uint32_t s : out.steps) out.cycles += p_.steps[s].cycles;
    out.peak_leaving_output = peak(out.steps, {}, {output});
    out.peak_leaving_all = peak(out.steps, {}, all);
    return out;
  }

  void set_backward(Stage& out, std::uint32_t at, const std::set<std::uint32_t>& all) const {
    std::set<std::uint32_t> before = all, after;  // gradients on their way from later to earlier stages
    for (std::uint32_t s = forward_; s < p_.steps.size(); ++s)
      for (const std::uint32_t i : p_.steps[s].inputs) {
        if (i < forward_) continue;
        if (stage_of_[i] > at && stage_of_[s] <= at) before.insert(i);
        if (stage_of_[i] >= at && stage_of_[s] < at) after.insert(i);
      }
    for (const std::uint32_t s : before)
      if (s >= forward_) out.gradient_bytes += p_.steps[s].bytes;
    out.backward_peak = peak(out.backward, before, after);
  }

  // Of running the steps when `inside` is in memory, freeing after the last reader what is not among `left`.
  double peak(const Steps& steps, std::set<std::uint32_t> inside, const std::set<std::uint32_t>& left) const {
    double now = 0, most = 0;
    for (const std::uint32_t s : inside) now += p_.steps[s].bytes;
    most = now;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (inside.insert(steps[k]).second) now += p_.steps[steps[k]].bytes;
      most = std::max(most, now);
      std::erase_if(inside, [&](std::uint32_t value) {
        const bool is_freed = !left.contains(value) && !is_read(value, steps, k + 1);
        if (is_freed) now -= p_.steps[value].bytes;
        return is_freed;
      });
    }
    return most;
  }

  bool is_read(std::uint32_t value, const Steps& steps, std::size_t from) const {
    return std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(from), steps.end(), [&](std::uint32_t s) {
      return std::binary_search(p_.steps[s].inputs.begin(), p_.steps[s].inputs.end(), value);
    });
  }

  const LinearProblem& p_;
  std::uint32_t forward_ = 0;
  std::vector<std::uint32_t> stage_of_;
};

// The largest size all are whole multiples of; 0 if there is none.
double common_unit(const LinearProblem& p) {
  std::uint64_t unit = 0;
  for (const LinearStep& step : p.steps) {
    if (step.bytes != std::floor(step.bytes) || step.bytes > 9e15) return 0;
    unit = std::gcd(unit, static_cast<std::uint64_t>(step.bytes));
  }
  return static_cast<double>(unit);
}

class Program {
 public:
  Program(const std::vector<Stage>& stages, double memory, double unit)
      : stages_(stages), unit_(unit), slots_(static_cast<std::size_t>(memory / unit + 1e-9)) {
    for (auto& table : least_) table.assign(stages.size() * stages.size() * (slots_ + 1), kImpossible);
  }

  // False where time is over.
  bool fill(const Deadline& deadline) {
    for (std::size_t length = 1; length <= stages_.size(); ++length)
      for (std::size_t s = 0; s + length <= stages_.size(); ++s) {
        if (deadline.is_over()) return false;
        for (const bool is_first : {false, true})
          for (std::size_t m = 0; m <= slots_; ++m)
            at(is_first, s, s + length - 1, m) = best(is_first, s, s + length - 1, m).cycles;
      }
    return true;
  }

  double cycles() { return at(true, 0, stages_.size() - 1, slots_); }

  Steps computes() {
    Steps out;
    emit(true, 0, stages_.size() - 1, slots_, out);
    return out;
  }

 private:
  struct Choice {
    double cycles = kImpossible;
    std::size_t checkpoint = 0;  // the stage whose input is left for later; 0: the first stage leaves all
  };

  double& at(bool is_first, std::size_t s, std::size_t t, std::size_t m) {
    return least_[is_first][(s * stages_.size() + t) * (slots_ + 1) + m];
  }
  std::size_t slots(double bytes) const { return static_cast<std::size_t>(std::ceil(bytes / unit_ - 1e-9)); }

  Choice best(bool is_first, std::size_t s, std::size_t t, std::size_t m) {
    Choice out;
    const Stage& stage = stages_[s];
    const double gradient = stages_[t].gradient_bytes;
    // All that the first stage's backward needs stays.
    const Run& all = is_first ? stage.first : stage.full;
    if (slots(gradient + all.peak_leaving_all) <= m && slots(stage.backward_peak) <= m) {
      const std::size_t left = slots(stage.all_bytes);
      const double rest = s == t ? 0 : left <= m ? at(is_first, s + 1, t, m - left) : kImpossible;
      out.cycles = all.cycles + rest + stage.backward_cycles;
    }
    // Or the stages up to some other leave nothing but its input, and run again later.
    double cycles = 0, input = 0;
    for (std::size_t k = s; k < t; ++k) {
      const Run& passing = is_first ? stages_[k].first : stages_[k].light;
      if (slots(gradient + input + passing.peak_leaving_output) > m) break;
      cycles += passing.cycles;
      input = stages_[k].output_bytes;
      if (slots(input) > m) continue;
      const double total = cycles + at(is_first, k + 1, t, m - slots(input)) + at(false, s, k, m);
      if (total < out.cycles) out = {total, k + 1};
    }
    return out;
  }

  void emit(bool is_first, std::size_t s, std::size_t t, std::size_t m, Steps& out) {
    const auto append = [&](const Steps& steps) { out.insert(out.end(), steps.begin(), steps.end()); };
    const Choice choice = best(is_first, s, t, m);
    if (choice.checkpoint == 0) {
      append((is_first ? stages_[s].first : stages_[s].full).steps);
      if (s < t) emit(is_first, s + 1, t, m - slots(stages_[s].all_bytes), out);
      append(stages_[s].backward);
      return;
    }
    const std::size_t k = choice.checkpoint - 1;
    for (std::size_t i = s; i <= k; ++i) append((is_first ? stages_[i].first : stages_[i].light).steps);
    emit(is_first, k + 1, t, m - slots(stages_[k].output_bytes), out);
    emit(false, s, k, m, out);
  }

  const std::vector<Stage>& stages_;
  double unit_;
  std::size_t slots_;
  std::vector<double> least_[2];  // cycles: of stages that ran before, of stages that did not
};

}  // namespace

LinearResult rotor(const LinearProblem& problem, double budget_bytes, const RotorOptions& options) {
  LinearResult result;
  for (const LinearStep& step : problem.steps) result.bound += step.cycles;
  const double memory = budget_bytes - problem.fixed_bytes;
  if (memory < 0) return {.is_proven = true};
  const Chain chain(problem);
  if (chain.stages.empty()) return {.is_possible = true, .is_proven = true, .figures = figures_of(problem, {})};
  constexpr double kLeastSlots = 50;
  const double affordable = options.work / std::pow(static_cast<double>(chain.stages.size()), 3);
  const double slots = std::min(static_cast<double>(options.slots), std::max(1.0, std::floor(affordable)));
  if (affordable < std::min(kLeastSlots, static_cast<double>(options.slots))) return result;
  // Never more memory than would be used; then slots of a common size, if few enough, and even ones else.
  double most = 0;
  for (const LinearStep& step : problem.steps) most += step.bytes;
  const double unit = common_unit(problem), used = std::min(memory, most);
  const bool is_exact = unit > 0 && used / unit <= slots;
  Program program(chain.stages, used, is_exact ? unit : std::max(used, 1.0) / slots);
  if (!program.fill(options.deadline)) return result;
  result.is_possible = program.cycles() < kImpossible;
  result.is_proven = is_exact;
  if (!result.is_possible) return result;
  result.events = freeing_early(problem, program.computes());
  result.figures = figures_of(problem, result.events);
  result.objective = result.figures.cycles;
  if (is_exact) result.bound = result.objective;
  result.is_proven = is_exact || result.objective <= result.bound;
  return result;
}

}  // namespace monet::search
