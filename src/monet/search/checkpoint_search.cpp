#include "monet/search/checkpoint_search.h"

#include <algorithm>
#include <set>

#include "monet/base/assert.h"
#include "monet/search/proposals.h"

namespace monet::search {
namespace {

using solve::Choices;
using solve::Score;

// Figures in the order of the decisions; what is known is looked up, the rest computed together.
class Evaluator {
 public:
  Evaluator(const Checkpointing& problem, const CheckpointSearchOptions& options, CheckpointFront& out)
      : problem_(problem), options_(options), out_(out) {}

  // Fewer than asked for where the time is over, but one at least.
  std::vector<Score> operator()(std::span<const Choices> batch) {
    std::vector<Score> scores;
    if (out_.points.empty() && !batch.empty() && options_.deadline.state() == Stop::Time) step(batch.first(1), scores);
    for (std::size_t at = 0; at < batch.size() && !options_.deadline.is_over(); at += kStep)
      step(batch.subspan(at, std::min(kStep, batch.size() - at)), scores);
    return scores;
  }

 private:
  static constexpr std::size_t kStep = 16;  // evaluated together, and then told of

  void step(std::span<const Choices> batch, std::vector<Score>& scores) {
    std::vector<std::optional<Figures>> figures(batch.size());
    std::vector<Choices> open;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (options_.known) figures[i] = options_.known(batch[i]);
      if (!figures[i]) open.push_back(batch[i]);
    }
    std::vector<Figures> computed = problem_.figures(open);
    std::vector<CheckpointPoint> fresh;
    for (std::size_t i = 0, next = 0; i < batch.size(); ++i) {
      if (!figures[i]) {
        figures[i] = std::move(computed[next++]);
        fresh.push_back({batch[i], *figures[i]});
      }
      out_.points.push_back({batch[i], *figures[i]});
      scores.push_back(options_.goal.score(*figures[i]));
    }
    if (options_.keep && !fresh.empty()) options_.keep(fresh);
  }

  const Checkpointing& problem_;
  const CheckpointSearchOptions& options_;
  CheckpointFront& out_;
};

// Batch by batch, as long as there is time.
void evaluate_all(const std::function<bool(Choices&)>& next, const CheckpointSearchOptions& options,
                  Evaluator& evaluate, CheckpointFront& out) {
  constexpr std::size_t kBatch = 64;
  std::vector<Score> scores;
  for (bool has_more = true; has_more;) {
    std::vector<Choices> batch;
    Choices one;
    while (batch.size() < kBatch && (has_more = next(one))) batch.push_back(one);
    const std::vector<Score> more = evaluate(batch);
    const std::size_t before = scores.size();
    scores.insert(scores.end(), more.begin(), more.end());
    out.front = solve::front_with(out.front, scores, before);
    if (options.observe) options.observe(out);
    if (more.size() == batch.size()) continue;
    out.end = solve::Nsga2End::Stopped;
    break;
  }
}

}  // namespace

std::vector<solve::Objectives> objectives_of(const CheckpointFront& found, const CheckpointSearchOptions& options) {
  std::vector<Score> scores;
  for (const CheckpointPoint& p : found.points) scores.push_back(options.goal.score(p.figures));
  return solve::points_of(scores);
}

double decisions_of(const Checkpointing& problem) {
  double count = 1;
  for (const std::uint16_t c : problem.choices()) count *= c;
  return count;
}

CheckpointFront all_decisions(const Checkpointing& problem, const CheckpointSearchOptions& options) {
  MONET_ASSERT(decisions_of(problem) <= kMostDecisions, "too many decisions for all of them");
  CheckpointFront out;
  Evaluator evaluate(problem, options, out);
  const std::vector<std::uint16_t> choices = problem.choices();
  Choices at(choices.size(), 0);
  bool has_more = true;
  evaluate_all(
      [&](Choices& one) {
        if (!has_more) return false;
        one = at;
        has_more = solve::advance(at, choices);
        return true;
      },
      options, evaluate, out);
  return out;
}

CheckpointFront given_decisions(const Checkpointing& problem, const CheckpointSearchOptions& options) {
  CheckpointFront out;
  Evaluator evaluate(problem, options, out);
  std::set<Choices> seen;
  std::size_t at = 0;
  evaluate_all(
      [&](Choices& one) {
        while (at < options.seeds.size() && !seen.insert(options.seeds[at]).second) ++at;
        if (at == options.seeds.size()) return false;
        one = options.seeds[at++];
        return true;
      },
      options, evaluate, out);
  return out;
}

CheckpointFront search_decisions(const Checkpointing& problem, const CheckpointSearchOptions& options) {
  const std::vector<std::uint16_t> choices = problem.choices();
  CheckpointFront out;
  Evaluator evaluate(problem, options, out);
  solve::Nsga2Problem<Choices> nsga2{.variation = solve::choice_variation(choices)};
  nsga2.evaluate = [&](std::span<const Choices> batch) { return evaluate(batch); };
  nsga2.seeds = {Choices(choices.size(), 0)};
  nsga2.seeds.insert(nsga2.seeds.end(), options.seeds.begin(), options.seeds.end());
  if (options.guide)
    nsga2.propose = [&, proposals = Proposals(choices, *options.guide, options.goal)](
                        const solve::Archive<Choices>& archive, std::size_t wanted, solve::Random& random) {
      return proposals(out.points, archive, wanted, random);
    };
  nsga2.observe = [&](const solve::Archive<Choices>& archive) {
    out.front = archive.front;
    if (options.observe) options.observe(out);
  };
  solve::Nsga2<Choices> search(
      nsga2, {.population = options.population > 0 ? options.population
                                                   : std::clamp<std::size_t>(options.evaluations / 8, 8, 100),
              .evaluations = options.evaluations,
              .stagnation = options.stagnation,
              .seed = options.seed,
              .deadline = options.deadline});
  out.end = search.run();
  return out;
}

}  // namespace monet::search
