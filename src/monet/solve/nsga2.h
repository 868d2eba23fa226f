#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "monet/base/watch.h"
#include "monet/solve/pareto.h"
#include "monet/solve/random.h"

namespace monet::solve {

// NSGA-II (Deb et al., IEEE TEC 6(2), 2002) with constraint domination, for any kind of genome. Beyond the paper: no
// genome is evaluated twice, everything evaluated is kept, and the search can be given genomes to begin with and
// proposals on the way. It is deterministic: given the same scores it asks for the same genomes, so a search that was
// cut off goes on where it was if the scores known by then are looked up instead of computed.

// What a genome is worth. A violation above zero says that it is not possible, and by how much; it has no objectives
// then.
struct Score {
  Objectives objectives{};
  double violation = 0;
  bool operator==(const Score&) const = default;
};

template <class Genome>
struct Variation {
  std::function<Genome(Random&)> sample{};
  std::function<Genome(const Genome&, const Genome&, Random&)> cross{};
  std::function<void(Genome&, Random&)> mutate{};
  std::function<void(Genome&)> repair{};  // to the nearest one that makes sense; none: all do
};

// Everything evaluated so far, in the order in which it was asked for.
template <class Genome>
struct Archive {
  std::vector<Genome> genomes{};
  std::vector<Score> scores{};
  std::vector<std::uint32_t> front{};  // possible ones that no other dominates
};

template <class Genome>
struct Nsga2Problem {
  Variation<Genome> variation{};
  // Scores of a batch; may compute them in parallel. Fewer than asked for: it was told to stop.
  std::function<std::vector<Score>(std::span<const Genome>)> evaluate{};
  std::vector<Genome> seeds{};  // evaluated first
  // Up to so many genomes worth a try, in view of what is known; may be empty.
  std::function<std::vector<Genome>(const Archive<Genome>&, std::size_t, Random&)> propose{};
  std::function<void(const Archive<Genome>&)> observe{};  // after every batch
};

struct Nsga2Options {
  std::size_t population = 100;
  std::size_t evaluations = 10'000;  // at the most
  std::size_t stagnation = 0;        // ends after so many generations without a change of the front; 0: never
  double crossover = 0.9;            // part of the children that have two parents
  std::uint64_t seed = 1;
  Deadline deadline{};
};

enum class Nsga2End { Evaluations, Stagnation, Exhausted, Stopped };

// Who of the scored survive, best first, `count` of them: by rank, then by room on the front.
struct Survivor {
  std::uint32_t index = 0, rank = 0;
  double crowding = 0;
};
std::vector<Survivor> survivors_of(std::span<const Score> scores, std::size_t count);

// The points of all that are possible; the others are infinitely bad.
std::vector<Objectives> points_of(std::span<const Score> scores);

// The front of all scores, if that of those before `first` is known.
std::vector<std::uint32_t> front_with(std::span<const std::uint32_t> front, std::span<const Score> scores,
                                      std::size_t first);

template <class Genome>
class Nsga2 {
 public:
  Nsga2(const Nsga2Problem<Genome>& problem, const Nsga2Options& options) : problem_(problem), options_(options) {}

  Nsga2End run() {
    std::vector<Genome> batch;
    for (const Genome& seed : problem_.seeds) add(batch, seed, options_.evaluations);
    const std::size_t first = std::min(options_.population, options_.evaluations);
    for (std::uint64_t i = 0; batch.size() < first && i < kTries * options_.population; ++i) {
      Random random(options_.seed, 0, i);
      add(batch, problem_.variation.sample(random), first);
    }
    if (!evaluate(batch)) return Nsga2End::Stopped;
    select();
    std::size_t idle = 0;
    for (std::uint64_t generation = 1;; ++generation) {
      if (archive_.genomes.size() >= options_.evaluations) return Nsga2End::Evaluations;
      if (options_.stagnation > 0 && idle >= options_.stagnation) return Nsga2End::Stagnation;
      batch = children(generation);
      if (batch.empty()) return Nsga2End::Exhausted;
      const std::vector<std::uint32_t> front = archive_.front;
      if (!evaluate(batch)) return Nsga2End::Stopped;
      select();
      idle = front == archive_.front ? idle + 1 : 0;
    }
  }

  const Archive<Genome>& archive() const { return archive_; }
  std::vector<Score> population_scores() const {  // of the last population, as it survived
    std::vector<Score> out;
    for (const std::uint32_t i : population_) out.push_back(archive_.scores[i]);
    return out;
  }

 private:
  static constexpr std::uint64_t kTries = 20;  // to find a genome that is not known yet
  // Streams of random numbers that no candidate has.
  static constexpr std::uint64_t kProposals = std::numeric_limits<std::uint32_t>::max(), kLines = kProposals - 1;

  // Unless it is known or there is no room for it.
  void add(std::vector<Genome>& batch, Genome genome, std::size_t most) {
    if (problem_.variation.repair) problem_.variation.repair(genome);
    if (batch.size() >= most || known_.count(genome) != 0) return;
    known_.emplace(genome, static_cast<std::uint32_t>(archive_.genomes.size() + batch.size()));
    batch.push_back(std::move(genome));
  }

  bool evaluate(std::vector<Genome>& batch) {
    // The first batch says by itself how far it comes: something may be better than nothing.
    if (!archive_.genomes.empty() && options_.deadline.is_over()) return false;
    const std::vector<Score> scores = problem_.evaluate(batch);
    const bool is_whole = scores.size() == batch.size();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      archive_.genomes.push_back(std::move(batch[i]));
      archive_.scores.push_back(scores[i]);
    }
    archive_.front = front_with(archive_.front, archive_.scores, archive_.scores.size() - scores.size());
    if (problem_.observe) problem_.observe(archive_);
    return is_whole;
  }

  // The next population out of the old one and its children: all that was evaluated since.
  void select() {
    for (std::uint32_t i = static_cast<std::uint32_t>(selected_); i < archive_.genomes.size(); ++i)
      population_.push_back(i);
    selected_ = archive_.genomes.size();
    std::vector<Score> scores;
    for (const std::uint32_t i : population_) scores.push_back(archive_.scores[i]);
    std::vector<std::uint32_t> next;
    standing_ = survivors_of(scores, options_.population);
    for (const Survivor& s : standing_) next.push_back(population_[s.index]);
    population_ = std::move(next);
  }

  // The next in a line of all, drawn anew whenever it is through: everybody is asked as often as everybody else.
  std::size_t next_in_line(std::uint64_t generation) {
    if (line_.empty()) {
      Random random(options_.seed, generation, kLines - lines_++);
      for (std::size_t i = 0; i < population_.size(); ++i) line_.push_back(i);
      for (std::size_t i = line_.size(); i > 1; --i) std::swap(line_[i - 1], line_[random.below(i)]);
    }
    const std::size_t next = line_.back();
    line_.pop_back();
    return next;
  }

  // The better of two, by rank, then by room.
  std::uint32_t winner(std::uint64_t generation) {
    const std::size_t a = next_in_line(generation), b = next_in_line(generation);
    const Survivor &x = standing_[a], &y = standing_[b];
    const bool is_first = x.rank != y.rank ? x.rank < y.rank : x.crowding >= y.crowding;
    return population_[is_first ? a : b];
  }

  std::vector<Genome> children(std::uint64_t generation) {
    const std::size_t most = std::min(options_.population, options_.evaluations - archive_.genomes.size());
    std::vector<Genome> batch;
    line_.clear();
    lines_ = 0;
    if (problem_.propose) {
      Random random(options_.seed, generation, kProposals);
      for (Genome& genome : problem_.propose(archive_, most, random)) add(batch, std::move(genome), most);
    }
    for (std::uint64_t i = 0; batch.size() < most && i < kTries * most; ++i) {
      Random random(options_.seed, generation, i);
      const Genome &mother = archive_.genomes[winner(generation)], &father = archive_.genomes[winner(generation)];
      Genome child = random.chance(options_.crossover) ? problem_.variation.cross(mother, father, random) : mother;
      problem_.variation.mutate(child, random);
      add(batch, std::move(child), most);
    }
    // Where all relatives are known, anyone.
    for (std::uint64_t i = 0; batch.empty() && i < kTries * most; ++i) {
      Random random(options_.seed, generation, kTries * most + i);
      add(batch, problem_.variation.sample(random), most);
    }
    return batch;
  }

  const Nsga2Problem<Genome>& problem_;
  Nsga2Options options_;
  Archive<Genome> archive_;
  std::map<Genome, std::uint32_t> known_;
  std::vector<std::uint32_t> population_;  // of the archive
  std::vector<Survivor> standing_;         // of the population
  std::size_t selected_ = 0;               // of the archive, so many have stood for selection
  std::vector<std::size_t> line_;          // of the population: who is asked next, the last first
  std::uint64_t lines_ = 0;                // drawn in this generation
};

}  // namespace monet::solve
