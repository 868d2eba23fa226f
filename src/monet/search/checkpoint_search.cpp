#include "monet/search/checkpoint_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "monet/base/assert.h"
#include "monet/solve/surrogate.h"

namespace monet::search {
namespace {

using solve::Choices;
using solve::Objectives;
using solve::Score;

constexpr std::size_t kPool = std::size_t{1} << 16;  // decisions that the surrogate looks at
constexpr double kProposed = 0.75;                   // of a generation, at the most
constexpr double kDoubt = 0.005;                     // of the range: guesses that far behind the front are not followed

// Figures in the order of the decisions; what is known is looked up, the rest computed together.
class Evaluator {
 public:
  Evaluator(const Checkpointing& problem, const CheckpointSearchOptions& options, CheckpointFront& out)
      : problem_(problem), options_(options), out_(out) {}

  std::vector<Score> operator()(std::span<const Choices> batch) {
    std::vector<std::optional<Figures>> figures(batch.size());
    std::vector<Choices> open;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (options_.known) figures[i] = options_.known(batch[i]);
      if (!figures[i]) open.push_back(batch[i]);
    }
    std::vector<Figures> computed = problem_.figures(open);
    std::vector<Score> scores;
    for (std::size_t i = 0, next = 0; i < batch.size(); ++i) {
      const bool is_new = !figures[i];
      if (is_new) figures[i] = std::move(computed[next++]);
      out_.points.push_back({batch[i], *figures[i]});
      if (is_new && options_.keep) options_.keep(out_.points.back());
      scores.push_back(score_of(*figures[i]));
    }
    return scores;
  }

 private:
  const Checkpointing& problem_;
  const CheckpointSearchOptions& options_;
  CheckpointFront& out_;
};

// Decisions whose guessed figures lie farthest before the front, each in view of those proposed before it.
class Proposals {
 public:
  explicit Proposals(std::vector<std::uint16_t> choices) : choices_(std::move(choices)) {}

  std::vector<Choices> operator()(const solve::Archive<Choices>& archive, std::size_t wanted,
                                  solve::Random& random) const {
    std::vector<Choices> known;
    std::vector<Objectives> points;
    for (std::size_t i = 0; i < archive.genomes.size(); ++i)
      if (archive.scores[i].violation == 0) {
        known.push_back(archive.genomes[i]);
        points.push_back(archive.scores[i].objectives);
      }
    if (known.empty()) return {};
    const std::size_t objectives = points.front().size();
    std::vector<solve::Surrogate> guesses(objectives, solve::Surrogate(choices_));
    for (std::size_t k = 0; k < objectives; ++k) {
      std::vector<double> values;
      for (const Objectives& p : points) values.push_back(p[k]);
      guesses[k].fit(known, values);
    }
    std::vector<Objectives> front;
    for (const std::uint32_t i : archive.front) front.push_back(archive.scores[i].objectives);
    Objectives ranges(objectives, 0);
    for (std::size_t k = 0; k < objectives; ++k) {
      const auto [low, high] = std::minmax_element(
          points.begin(), points.end(), [&](const Objectives& a, const Objectives& b) { return a[k] < b[k]; });
      ranges[k] = std::max((*high)[k] - (*low)[k], 1e-12 * std::abs((*high)[k]) + 1e-300);
    }
    const std::set<Choices> tried(archive.genomes.begin(), archive.genomes.end());
    std::vector<Choices> pool = candidates(archive, random);
    std::erase_if(pool, [&](const Choices& c) { return tried.count(c) != 0; });
    std::vector<Objectives> guessed(pool.size(), Objectives(objectives));
    for (std::size_t i = 0; i < pool.size(); ++i)
      for (std::size_t k = 0; k < objectives; ++k) guessed[i][k] = guesses[k].guess(pool[i]);
    // By how much of its range a point would have to be worse in every objective to be no better than `other`.
    const auto lead = [&](const Objectives& p, const Objectives& other) {
      double most = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < objectives; ++k) most = std::max(most, (other[k] - p[k]) / ranges[k]);
      return most;
    };
    std::vector<double> merit(pool.size(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < pool.size(); ++i)
      for (const Objectives& f : front) merit[i] = std::min(merit[i], lead(guessed[i], f));
    std::vector<Choices> out;
    const auto most = static_cast<std::size_t>(std::ceil(kProposed * static_cast<double>(wanted)));
    while (out.size() < most && out.size() < pool.size()) {
      const auto best = static_cast<std::size_t>(std::max_element(merit.begin(), merit.end()) - merit.begin());
      if (merit[best] < -kDoubt) break;
      out.push_back(pool[best]);
      const Objectives taken = guessed[best];
      merit[best] = -std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < pool.size(); ++i) merit[i] = std::min(merit[i], lead(guessed[i], taken));
    }
    return out;
  }

 private:
  // All decisions where they are few; else those that differ from one on the front in one choice, and some in two or
  // three.
  std::vector<Choices> candidates(const solve::Archive<Choices>& archive, solve::Random& random) const {
    double count = 1;
    for (const std::uint16_t c : choices_) count *= c;
    std::vector<Choices> pool;
    if (count <= static_cast<double>(kPool)) {
      Choices at(choices_.size(), 0);
      while (true) {
        pool.push_back(at);
        std::size_t d = 0;
        while (d < at.size() && ++at[d] >= choices_[d]) at[d++] = 0;
        if (d == at.size()) return pool;
      }
    }
    std::set<Choices> seen;
    const auto change = [&](Choices& c, std::size_t d) {
      c[d] = static_cast<std::uint16_t>((c[d] + 1 + random.below(choices_[d] - 1u)) % choices_[d]);
    };
    for (const std::uint32_t i : archive.front)
      for (std::size_t d = 0; d < choices_.size() && seen.size() < kPool / 2; ++d) {
        if (choices_[d] < 2) continue;
        Choices one = archive.genomes[i];
        change(one, d);
        seen.insert(one);
        for (int more = 0; more < 2; ++more) {
          change(one, random.below(choices_.size()));
          seen.insert(one);
        }
      }
    return {seen.begin(), seen.end()};
  }

  std::vector<std::uint16_t> choices_;
};

std::vector<std::uint16_t> choices_of(const Checkpointing& problem) {
  return std::vector<std::uint16_t>(problem.activations().size(), kSavings);
}

}  // namespace

std::vector<Objectives> objectives_of(const CheckpointFront& found) {
  std::vector<Score> scores;
  for (const CheckpointPoint& p : found.points) scores.push_back(score_of(p.figures));
  return solve::points_of(scores);
}

CheckpointFront all_decisions(const Checkpointing& problem, const CheckpointSearchOptions& options) {
  constexpr std::size_t kBatch = 64;
  const std::size_t count = problem.activations().size();
  MONET_ASSERT(count <= 24, "too many decisions for all of them");
  CheckpointFront out;
  Evaluator evaluate(problem, options, out);
  for (std::size_t at = 0; at < std::size_t{1} << count; at += kBatch) {
    if (options.deadline.is_over()) {
      out.end = solve::Nsga2End::Stopped;
      break;
    }
    std::vector<Choices> batch;
    for (std::size_t i = at; i < std::min(at + kBatch, std::size_t{1} << count); ++i) {
      batch.emplace_back(count, 0);
      for (std::size_t d = 0; d < count; ++d) batch.back()[d] = static_cast<std::uint16_t>(i >> d & 1);
    }
    evaluate(batch);
    if (options.observe) options.observe(out);
  }
  out.front = solve::front_of(objectives_of(out));
  return out;
}

CheckpointFront search_decisions(const Checkpointing& problem, const CheckpointSearchOptions& options) {
  const std::vector<std::uint16_t> choices = choices_of(problem);
  CheckpointFront out;
  Evaluator evaluate(problem, options, out);
  solve::Nsga2Problem<Choices> nsga2{.variation = solve::choice_variation(choices)};
  nsga2.evaluate = [&](std::span<const Choices> batch) { return evaluate(batch); };
  nsga2.seeds = {Choices(choices.size(), 0), Choices(choices.size(), 1)};
  nsga2.seeds.insert(nsga2.seeds.end(), options.seeds.begin(), options.seeds.end());
  if (options.has_proposals) nsga2.propose = Proposals(choices);
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
