#include "monet/search/checkpoint_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
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
constexpr std::size_t kLookedAt = 2048;              // of them, more closely
constexpr std::size_t kNear = 256;                   // known ones that say what guesses miss
constexpr double kHope = 1;                          // a guess may be too high by so many times what is missed usually
constexpr double kDoubt = 0.005;                     // of the range: guesses that far behind the front are not followed

// Figures in the order of the decisions; what is known is looked up, the rest computed together.
class Evaluator {
 public:
  Evaluator(const Checkpointing& problem, const CheckpointSearchOptions& options, CheckpointFront& out)
      : problem_(problem), options_(options), out_(out) {}

  // Fewer than asked for where the time is over.
  std::vector<Score> operator()(std::span<const Choices> batch) {
    std::vector<Score> scores;
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
      scores.push_back(options_.score(*figures[i]));
    }
    if (options_.keep && !fresh.empty()) options_.keep(fresh);
  }

  const Checkpointing& problem_;
  const CheckpointSearchOptions& options_;
  CheckpointFront& out_;
};

// A guess at each objective: what a simpler model expects, stretched and shifted to what is known, and what it misses
// by decisions and pairs of them.
class Guesses {
 public:
  using Expected = std::function<Objectives(const Choices&)>;

  Guesses(const std::vector<std::uint16_t>& choices, const Expected& expected, const std::vector<Choices>& known,
          const std::vector<Objectives>& points)
      : expected_(expected), lines_(points.front().size()), rest_(lines_.size(), solve::Surrogate(choices)) {
    std::vector<Objectives> said;
    for (const Choices& c : known) said.push_back(expected ? expected(c) : Objectives(lines_.size(), 0));
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      lines_[k] = line_through(said, points, k);
      std::vector<double> missed;
      for (std::size_t i = 0; i < known.size(); ++i) missed.push_back(points[i][k] - lines_[k].at(said[i][k]));
      rest_[k].fit(known, missed);
    }
  }

  Objectives operator()(const Choices& decision) const {
    Objectives out = expected_ ? expected_(decision) : Objectives(lines_.size(), 0);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = lines_[k].at(out[k]) + rest_[k].guess(decision);
    return out;
  }

 private:
  struct Line {
    double slope = 0, offset = 0;
    double at(double x) const { return slope * x + offset; }
  };
  // Least squares.
  static Line line_through(const std::vector<Objectives>& x, const std::vector<Objectives>& y, std::size_t k) {
    double mean_x = 0, mean_y = 0, above = 0, below = 0;
    const auto n = static_cast<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      mean_x += x[i][k] / n;
      mean_y += y[i][k] / n;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      above += (x[i][k] - mean_x) * (y[i][k] - mean_y);
      below += (x[i][k] - mean_x) * (x[i][k] - mean_x);
    }
    const double slope = below > 0 ? above / below : 0;
    return {slope, mean_y - slope * mean_x};
  }

  const Expected& expected_;
  std::vector<Line> lines_;
  std::vector<solve::Surrogate> rest_;
};

// Decisions whose guessed figures lie farthest before the front, each in view of those proposed before it.
class Proposals {
 public:
  Proposals(std::vector<std::uint16_t> choices, const Guesses::Expected& expected) : choices_(std::move(choices)) {
    // Asked again in every generation.
    if (expected)
      expected_ = [expected, said = std::make_shared<std::map<Choices, Objectives>>()](const Choices& c) {
        const auto at = said->find(c);
        return at != said->end() ? at->second : said->emplace(c, expected(c)).first->second;
      };
  }

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
    const Guesses guess(choices_, expected_, known, points);
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
    std::vector<Objectives> guessed;
    for (const Choices& c : pool) guessed.push_back(guess(c));
    // By how much of its range a point would have to be worse in every objective to be no better than `other`.
    const auto lead = [&](const Objectives& p, const Objectives& other) {
      double most = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < objectives; ++k) most = std::max(most, (other[k] - p[k]) / ranges[k]);
      return most;
    };
    const auto merits = [&] {
      std::vector<double> merit(pool.size(), std::numeric_limits<double>::infinity());
      for (std::size_t i = 0; i < pool.size(); ++i)
        for (const Objectives& f : front) merit[i] = std::min(merit[i], lead(guessed[i], f));
      return merit;
    };
    std::vector<double> merit = merits();
    keep_best(pool, guessed, merit);
    correct(archive, guess, pool, guessed);
    merit = merits();
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
  // Those of most merit, in their order.
  static void keep_best(std::vector<Choices>& pool, std::vector<Objectives>& guessed,
                        const std::vector<double>& merit) {
    if (pool.size() <= kLookedAt) return;
    std::vector<double> sorted = merit;
    std::nth_element(sorted.begin(), sorted.begin() + kLookedAt, sorted.end(), std::greater<>());
    const double least = sorted[kLookedAt];
    std::size_t to = 0;
    for (std::size_t i = 0; i < pool.size(); ++i)
      if (merit[i] > least) {
        std::swap(pool[to], pool[i]);
        std::swap(guessed[to++], guessed[i]);
      }
    pool.resize(to);
    guessed.resize(to);
  }

  // Guesses by what they miss nearby; where nothing is near, as good as they may be.
  static void correct(const solve::Archive<Choices>& archive, const Guesses& guess, const std::vector<Choices>& pool,
                      std::vector<Objectives>& guessed) {
    std::vector<Choices> known;
    std::vector<std::vector<double>> missed;
    for (const solve::Survivor& s : solve::survivors_of(archive.scores, kNear)) {
      if (archive.scores[s.index].violation > 0) continue;
      known.push_back(archive.genomes[s.index]);
      const Objectives &is = archive.scores[s.index].objectives, said = guess(known.back());
      missed.resize(is.size());
      for (std::size_t k = 0; k < is.size(); ++k) missed[k].push_back(is[k] - said[k]);
    }
    const solve::Nearby nearby(std::move(known));
    std::vector<solve::Nearby::Residual> residuals;
    for (std::vector<double>& m : missed) residuals.push_back(nearby.fit(std::move(m)));
    std::vector<double> likeness;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      const double most = nearby.likeness(pool[i], likeness), doubt = std::sqrt(1 - most * most);
      for (std::size_t k = 0; k < residuals.size(); ++k)
        guessed[i][k] += std::inner_product(likeness.begin(), likeness.end(), residuals[k].weights.begin(), 0.0) -
                         kHope * doubt * residuals[k].size;
    }
  }

  // All decisions where they are few; else those that differ from one on the front in one choice, and some in two or
  // three.
  std::vector<Choices> candidates(const solve::Archive<Choices>& archive, solve::Random& random) const {
    double count = 1;
    for (const std::uint16_t c : choices_) count *= c;
    std::vector<Choices> pool;
    if (count <= static_cast<double>(kPool)) {
      Choices at(choices_.size(), 0);
      do pool.push_back(at);
      while (solve::advance(at, choices_));
      return pool;
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
  Guesses::Expected expected_;
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

std::vector<Objectives> objectives_of(const CheckpointFront& found, const CheckpointSearchOptions& options) {
  std::vector<Score> scores;
  for (const CheckpointPoint& p : found.points) scores.push_back(options.score(p.figures));
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
  if (options.has_proposals) nsga2.propose = Proposals(choices, options.expected);
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
