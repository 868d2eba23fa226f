#include "monet/search/chain_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace monet::search {
namespace {

std::uint32_t forward_steps(const LinearProblem& p) {
  std::uint32_t count = 0;
  while (count < p.steps.size() && !p.steps[count].is_backward) ++count;
  return count;
}

double cycles_once(const LinearProblem& p) {
  double sum = 0;
  for (const LinearStep& step : p.steps) sum += step.cycles;
  return sum;
}

LinearResult keep(const LinearProblem& p, const std::vector<bool>& is_kept) {
  LinearResult result = rebuilding_result(p, is_kept);
  result.bound = cycles_once(p);
  result.is_proven = result.objective <= result.bound;
  return result;
}

// The cut points that a decision can keep.
std::vector<std::uint32_t> checkpoints(const LinearProblem& p) {
  const std::set<std::uint32_t> decided(p.step_of.begin(), p.step_of.end());
  std::vector<std::uint32_t> cuts = cut_points(p);
  std::erase_if(cuts, [&](std::uint32_t s) { return p.steps[s].bytes > 0 && !decided.contains(s); });
  return cuts;
}

// Keeps the given cut points and all after the last of them.
LinearResult keep_cuts(const LinearProblem& p, const std::vector<std::uint32_t>& kept) {
  std::vector<bool> is_kept(p.steps.size(), false);
  for (const std::uint32_t s : kept) is_kept[s] = true;
  for (std::size_t s = kept.empty() ? 0 : kept.back(); s < is_kept.size(); ++s) is_kept[s] = true;
  return keep(p, is_kept);
}

double rebuilding_cycles(const LinearProblem& p, const std::vector<bool>& is_kept) {
  double sum = 0;
  for (const std::uint32_t s : rebuilding(p, is_kept)) sum += p.steps[s].cycles;
  return sum;
}

}  // namespace

std::vector<std::uint32_t> cut_points(const LinearProblem& p) {
  const std::uint32_t forward = forward_steps(p);
  // A cut has no value before it that is read behind it, and none behind it that is read before it in the backward
  // pass.
  std::vector<std::uint32_t> reaches(forward, 0);  // the last place that reads the value
  std::vector<std::uint32_t> reached_from(forward, 0);
  for (std::uint32_t f = 0; f < forward; ++f) reaches[f] = reached_from[f] = f;
  for (std::uint32_t s = 0; s < p.steps.size(); ++s) {
    const std::uint32_t place = p.steps[s].is_backward ? p.steps[s].forward_of : s;
    for (const std::uint32_t i : p.steps[s].inputs)
      if (i < forward && p.steps[i].bytes > 0) {
        reaches[i] = std::max(reaches[i], place);
        reached_from[i] = std::min(reached_from[i], place);
      }
  }
  std::vector<std::uint32_t> cuts;
  std::uint32_t reach = 0;  // of the values before
  std::vector<std::uint32_t> first_place(forward + 1, forward);
  for (std::uint32_t f = forward; f-- > 0;) first_place[f] = std::min(first_place[f + 1], reached_from[f]);
  for (std::uint32_t f = 0; f + 1 < forward; ++f) {
    if (reach <= f && first_place[f + 1] > f) cuts.push_back(f);
    reach = std::max(reach, reaches[f]);
  }
  return cuts;
}

LinearResult chen_segments(const LinearProblem& problem, std::size_t segments) {
  const std::vector<std::uint32_t> cuts = checkpoints(problem);
  segments = std::clamp<std::size_t>(segments, 1, cuts.size() + 1);
  std::vector<std::uint32_t> kept;
  for (std::size_t k = 1; k < segments; ++k) kept.push_back(cuts[k * (cuts.size() + 1) / segments - 1]);
  return keep_cuts(problem, kept);
}

LinearResult chen_sqrt(const LinearProblem& problem) {
  return chen_segments(problem, static_cast<std::size_t>(std::sqrt(static_cast<double>(checkpoints(problem).size()))));
}

LinearResult chen_budget(const LinearProblem& problem, double segment_bytes) {
  std::vector<std::uint32_t> kept;
  double bytes = 0;
  std::uint32_t next = 0;
  for (const std::uint32_t cut : checkpoints(problem)) {
    while (next <= cut) bytes += problem.steps[next++].bytes;
    if (bytes <= segment_bytes) continue;
    kept.push_back(cut);
    bytes = 0;
  }
  return keep_cuts(problem, kept);
}

std::vector<LinearResult> chen_family(const LinearProblem& problem) {
  const std::size_t most = checkpoints(problem).size() + 1;
  double bytes = 0;
  for (std::uint32_t f = 0; f < forward_steps(problem); ++f) bytes += problem.steps[f].bytes;
  std::vector<LinearResult> family;
  for (std::size_t k = 1; k <= most; ++k) {
    family.push_back(chen_segments(problem, k));
    family.push_back(chen_budget(problem, bytes / static_cast<double>(k)));
  }
  std::stable_sort(family.begin(), family.end(), [](const LinearResult& a, const LinearResult& b) {
    return std::pair(a.objective, a.figures.peak_bytes) < std::pair(b.objective, b.figures.peak_bytes);
  });
  std::set<std::vector<Fate>> seen;
  std::erase_if(family, [&](const LinearResult& r) { return !seen.insert(r.figures.decision).second; });
  return family;
}

std::vector<LinearResult> greedy_family(const LinearProblem& problem, const Deadline& deadline) {
  std::vector<bool> is_kept(problem.steps.size(), false);
  std::set<std::uint32_t> left(problem.step_of.begin(), problem.step_of.end());
  for (const std::uint32_t s : left) is_kept[s] = true;
  std::vector<LinearResult> family{keep(problem, is_kept)};
  while (!left.empty() && !deadline.is_over()) {
    std::uint32_t best = *left.begin();
    double best_rate = -1;
    for (const std::uint32_t s : left) {
      is_kept[s] = false;
      const double more = rebuilding_cycles(problem, is_kept) - family.back().objective;
      is_kept[s] = true;
      const double rate = more > 0 ? problem.steps[s].bytes / more : std::numeric_limits<double>::infinity();
      if (rate > best_rate) best = s, best_rate = rate;
    }
    is_kept[best] = false;
    left.erase(best);
    family.push_back(keep(problem, is_kept));
  }
  return family;
}

}  // namespace monet::search
