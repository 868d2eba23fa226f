#include "monet/solve/surrogate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "monet/base/assert.h"

namespace monet::solve {
namespace {

constexpr double kPenalty = 1e-3;
constexpr double kLikeness = 0.7;  // of two decisions that differ in one choice
constexpr double kNoise = 0.01;    // in likenesses, so that equal figures of different decisions are no fault

// A symmetric, positive definite matrix of n rows as the product of a triangle (below its diagonal) and its transpose.
void factorise(std::vector<double>& matrix, std::size_t n) {
  const auto at = [&](std::size_t r, std::size_t c) -> double& { return matrix[r * n + c]; };
  for (std::size_t c = 0; c < n; ++c) {
    for (std::size_t k = 0; k < c; ++k)
      for (std::size_t r = c; r < n; ++r) at(r, c) -= at(r, k) * at(c, k);
    const double root = std::sqrt(std::max(at(c, c), 1e-12));
    for (std::size_t r = c; r < n; ++r) at(r, c) /= root;
  }
}

// Solves a system with such a triangle, in place.
void solve_factored(const std::vector<double>& matrix, std::vector<double>& vector) {
  const std::size_t n = vector.size();
  const auto at = [&](std::size_t r, std::size_t c) { return matrix[r * n + c]; };
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t k = 0; k < r; ++k) vector[r] -= at(r, k) * vector[k];
    vector[r] /= at(r, r);
  }
  for (std::size_t r = n; r-- > 0;) {
    for (std::size_t k = r + 1; k < n; ++k) vector[r] -= at(k, r) * vector[k];
    vector[r] /= at(r, r);
  }
}

}  // namespace

Surrogate::Surrogate(std::vector<std::uint16_t> choices, std::size_t most_terms) {
  for (const std::uint16_t count : choices) {
    first_term_.push_back(singles_);
    singles_ += count > 0 ? count - 1u : 0u;
  }
  const std::size_t pairs = std::size_t{singles_} * (singles_ - 1) / 2;
  all_pairs_ = 1 + singles_ + pairs <= most_terms;
  terms_ = 1 + singles_ + (all_pairs_ ? pairs : singles_);
}

void Surrogate::active_terms(const Choices& genome, std::vector<std::uint32_t>& active) const {
  active.assign(1, 0);
  std::uint32_t last = 0, last_decision = 0;
  for (std::uint32_t d = 0; d < genome.size(); ++d) {
    if (genome[d] == 0) continue;
    const std::uint32_t single = first_term_[d] + genome[d] - 1u;
    if (all_pairs_) {
      // Pairs by their higher member: 0 of the first, 1 of the second, …
      const std::uint32_t base = 1 + singles_ + single * (single - 1) / 2;
      for (std::uint32_t other = 0; other < d; ++other)
        if (genome[other] != 0) active.push_back(base + first_term_[other] + genome[other] - 1u);
    } else if (last > 0 && last_decision + 1 == d) {
      active.push_back(1 + singles_ + single);
    }
    active.push_back(1 + single);
    last = 1 + single;
    last_decision = d;
  }
}

void Surrogate::fit(std::span<const Choices> genomes, std::span<const double> values) {
  MONET_ASSERT(genomes.size() == values.size() && !genomes.empty(), "a value for every genome");
  std::vector<double> matrix(terms_ * terms_, 0);
  weights_.assign(terms_, 0);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  std::vector<std::uint32_t> active;
  for (std::size_t i = 0; i < genomes.size(); ++i) {
    active_terms(genomes[i], active);
    for (const std::uint32_t a : active) {
      weights_[a] += values[i] - mean;
      for (const std::uint32_t b : active) matrix[a * terms_ + b] += 1;
    }
  }
  for (std::size_t t = 0; t < terms_; ++t) matrix[t * terms_ + t] += kPenalty * (t <= singles_ ? 1 : 100);
  factorise(matrix, terms_);
  solve_factored(matrix, weights_);
  weights_[0] += mean;
}

double Surrogate::guess(const Choices& genome) const {
  std::vector<std::uint32_t> active;
  active_terms(genome, active);
  double sum = 0;
  for (const std::uint32_t a : active) sum += weights_[a];
  return sum;
}

Nearby::Nearby(std::vector<Choices> known) : known_(std::move(known)) {
  const std::size_t n = known_.size();
  std::vector<double> row;
  for (const Choices& genome : known_) {
    likeness(genome, row);
    factor_.insert(factor_.end(), row.begin(), row.end());
  }
  for (std::size_t i = 0; i < n; ++i) factor_[i * n + i] += kNoise;
  factorise(factor_, n);
}

double Nearby::likeness(const Choices& genome, std::vector<double>& out) const {
  out.clear();
  double most = 0;
  for (const Choices& other : known_) {
    std::size_t differences = 0;
    for (std::size_t i = 0; i < genome.size(); ++i) differences += genome[i] != other[i] ? 1 : 0;
    out.push_back(std::pow(kLikeness, static_cast<double>(differences)));
    most = std::max(most, out.back());
  }
  return most;
}

Nearby::Residual Nearby::fit(std::vector<double> missed) const {
  Residual out;
  for (const double m : missed) out.size += m * m;
  out.size = missed.empty() ? 0 : std::sqrt(out.size / static_cast<double>(missed.size()));
  out.weights = std::move(missed);
  solve_factored(factor_, out.weights);
  return out;
}

}  // namespace monet::solve
