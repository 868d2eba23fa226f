#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "monet/solve/genomes.h"

namespace monet::solve {

// A guess at a number that decisions lead to, from the numbers that others led to: one term for every choice that is
// not the first, and one for every pair of them (where there are many decisions, pairs of neighbours only), by least
// squares with a small penalty on large terms. It is exact for additive costs, and sees what two decisions do together.
class Surrogate {
 public:
  Surrogate(std::vector<std::uint16_t> choices, std::size_t most_terms = 200);

  void fit(std::span<const Choices> genomes, std::span<const double> values);
  double guess(const Choices& genome) const;
  std::size_t terms() const { return terms_; }

 private:
  // Terms that are 1 for a genome; the others are 0.
  void active_terms(const Choices& genome, std::vector<std::uint32_t>& active) const;

  std::vector<std::uint32_t> first_term_;  // by decision: of its second choice
  std::uint32_t singles_ = 0;              // terms of single choices, behind the constant
  bool all_pairs_ = true;
  std::size_t terms_ = 0;
  std::vector<double> weights_;
};

// What such guesses miss, as far as it is known nearby: a Gaussian process over decisions, in which two of them are the
// less alike the more choices they differ in.
class Nearby {
 public:
  // Of few hundred genomes: the work grows with their cube.
  explicit Nearby(std::vector<Choices> known);

  struct Residual {
    std::vector<double> weights{};  // by known genome
    double size = 0;                // root of the mean square
  };
  Residual fit(std::vector<double> missed) const;  // by known genome

  // How much like each known genome it is, from 0 to 1; the most of them.
  double likeness(const Choices& genome, std::vector<double>& out) const;

 private:
  std::vector<Choices> known_;
  std::vector<double> factor_;  // of the matrix of likenesses
};

}  // namespace monet::solve
