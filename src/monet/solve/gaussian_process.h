#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "monet/solve/genomes.h"

namespace monet::solve {

// How alike genomes are, from 0 to 1: on how many chains of related decisions they agree. A chain counts for kFade
// times one that is shorter by a decision; where a decision is related to several, the chains over them share. So
// decisions that have nothing to do with each other add up, and related ones may do together what none does alone.
class Likeness {
 public:
  // By decision: the earlier ones that it is related to. `axes`: decisions that follow and change everything: genomes
  // that differ in one are half as alike.
  explicit Likeness(std::vector<std::vector<std::uint32_t>> related, std::size_t axes = 0);

  double operator()(const Choices& a, const Choices& b) const;

 private:
  static constexpr double kFade = 0.6;

  // What the chains that end with each decision weigh, where two genomes agree as told; their sum.
  template <class Agree>
  double chains(const Agree& agree) const;

  std::vector<std::vector<std::uint32_t>> related_;
  std::size_t axes_;
  double whole_ = 1;  // of equal genomes
};

// Guesses at numbers that genomes lead to, from the numbers that others led to, and how little is known of them: a
// Gaussian process (Rasmussen and Williams, 2006) whose covariance is a likeness.
class GaussianProcess {
 public:
  // Of few hundred genomes: the work grows with their cube. The likeness must stay alive.
  GaussianProcess(const Likeness& likeness, std::vector<Choices> known);

  struct Fit {
    double mean = 0;
    std::vector<double> weights{};  // by known genome
    double size = 0;                // what a genome that is like no other may differ by, usually
    double guess(std::span<const double> likenesses) const;
  };
  Fit fit(std::vector<double> values) const;  // by known genome

  // How much like each known genome it is.
  std::vector<double> likenesses(const Choices& genome) const;
  // What is not known of such a genome, of Fit::size: from 0 to 1. The second needs the most of its likenesses only,
  // and is not below the first.
  double doubt(std::span<const double> likenesses) const;
  static double most_doubt(std::span<const double> likenesses);

 private:
  const Likeness& likeness_;
  std::vector<Choices> known_;
  std::vector<double> factor_;  // of the matrix of likenesses: a triangle below its diagonal, by rows
};

}  // namespace monet::solve
