#pragma once
#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "monet/search/linear_schedule.h"
#include "monet/solve/random.h"

// What a schedule of a linear problem comes to, worked out anew after every event; and problems to try.
namespace monet::search {

struct Judged {
  std::string fault{};  // the first, or none
  double cycles = 0, energy_pj = 0, peak_bytes = 0;
  std::vector<Fate> decision{};
  std::vector<int> times{};  // each step was computed
};

inline Judged judge(const LinearProblem& p, const std::vector<LinearEvent>& events) {
  Judged out;
  out.times.assign(p.steps.size(), 0);
  std::set<std::uint32_t> inside, outside;
  bool has_turned = false;
  const auto weigh = [&] {
    double sum = p.fixed_bytes;
    for (const std::uint32_t s : inside) sum += p.steps[s].bytes;
    out.peak_bytes = std::max(out.peak_bytes, sum);
  };
  weigh();
  for (const LinearEvent& e : events) {
    const LinearStep& step = p.steps.at(e.step);
    const bool is_in = inside.contains(e.step);
    switch (e.kind) {
      case LinearEvent::Kind::Compute:
        if (step.is_backward && !has_turned) {
          has_turned = true;
          for (const std::uint32_t s : p.step_of)
            out.decision.push_back(inside.contains(s) ? Fate::Keep : outside.contains(s) ? Fate::Spill : Fate::Rebuild);
        }
        for (const std::uint32_t i : step.inputs)
          if (!inside.contains(i)) out.fault = step.name + " lacks " + p.steps[i].name;
        ++out.times[e.step];
        out.cycles += step.cycles, out.energy_pj += step.energy_pj;
        inside.insert(e.step);
        break;
      case LinearEvent::Kind::Free:
        if (!is_in) out.fault = "frees what is not there";
        inside.erase(e.step);
        break;
      case LinearEvent::Kind::PageOut:
      case LinearEvent::Kind::PageIn:
        if (e.kind == LinearEvent::Kind::PageOut ? !is_in : !outside.contains(e.step)) out.fault = "pages nothing";
        outside.insert(e.step), inside.insert(e.step);
        out.cycles += step.bytes * p.spill_cycles_per_byte, out.energy_pj += step.bytes * p.spill_energy_per_byte;
        break;
    }
    weigh();
  }
  for (std::size_t s = 0; s < p.steps.size(); ++s)
    if (out.times[s] == 0) out.fault = p.steps[s].name + " never runs";
  return out;
}

// A chain of `forward` stages and their gradients; with skips, steps also read earlier ones.
inline LinearProblem random_problem(std::uint64_t seed, std::uint32_t forward, bool has_skips) {
  solve::Random random(7, seed, forward);
  const auto whole = [&](int from, int to) {
    return static_cast<double>(from + static_cast<int>(random.below(static_cast<std::uint64_t>(to - from + 1))));
  };
  LinearProblem p{.fixed_bytes = whole(0, 5)};
  for (std::uint32_t f = 0; f < forward; ++f) {
    LinearStep step{"f" + std::to_string(f), whole(1, 9), whole(1, 9), whole(1, 9)};
    if (f > 0) step.inputs.push_back(f - 1);
    for (std::uint32_t i = 0; has_skips && i + 1 < f; ++i)
      if (random.chance(0.3)) step.inputs.push_back(i);
    std::sort(step.inputs.begin(), step.inputs.end());
    p.steps.push_back(step);
    p.step_of.push_back(f);
  }
  for (std::uint32_t f = forward; f-- > 0;) {
    LinearStep step{"b" + std::to_string(f), whole(1, 9), whole(1, 9), whole(1, 9), p.steps[f].inputs, true, f};
    step.inputs.push_back(f);
    // The gradients of all that reads its value.
    for (std::uint32_t b = forward; b < p.steps.size(); ++b) {
      const auto& reads = p.steps[p.steps[b].forward_of].inputs;
      if (std::find(reads.begin(), reads.end(), f) != reads.end()) step.inputs.push_back(b);
    }
    p.steps.push_back(step);
  }
  return p;
}

inline double largest_working_set(const LinearProblem& p) {
  double most = 0;
  for (const LinearStep& step : p.steps) {
    double sum = step.bytes;
    for (const std::uint32_t i : step.inputs) sum += p.steps[i].bytes;
    most = std::max(most, sum);
  }
  return most + p.fixed_bytes;
}

// The peak if every value is there exactly while somebody will still read it.
inline double least_peak(const LinearProblem& p, const std::vector<std::uint32_t>& computes) {
  double most = 0;
  std::vector<bool> is_wanted(p.steps.size(), false);
  for (std::size_t c = computes.size(); c-- > 0;) {
    is_wanted[computes[c]] = true;
    for (const std::uint32_t i : p.steps[computes[c]].inputs) is_wanted[i] = true;
    double sum = p.fixed_bytes;
    for (std::size_t s = 0; s < is_wanted.size(); ++s) sum += is_wanted[s] ? p.steps[s].bytes : 0;
    most = std::max(most, sum);
    is_wanted[computes[c]] = false;
  }
  return most;
}

inline double all_kept_peak(const LinearProblem& p) {
  return rebuilding_result(p, std::vector<bool>(p.steps.size(), true)).figures.peak_bytes;
}

}  // namespace monet::search
