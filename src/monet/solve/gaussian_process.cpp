#include "monet/solve/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "monet/base/assert.h"

namespace monet::solve {
namespace {

constexpr double kNoise = 1e-4;  // in likenesses, so that equal figures of different genomes are no fault

double dot(const double* a, const double* b, std::size_t n) { return std::inner_product(a, a + n, b, 0.0); }

// A symmetric, positive definite matrix of n rows as the product of a triangle and its transpose (Cholesky), in place;
// what is above the diagonal is left as it was.
void factorise(std::vector<double>& matrix, std::size_t n) {
  for (std::size_t r = 0; r < n; ++r) {
    double* row = &matrix[r * n];
    for (std::size_t c = 0; c < r; ++c) row[c] = (row[c] - dot(row, &matrix[c * n], c)) / matrix[c * n + c];
    row[r] = std::sqrt(std::max(row[r] - dot(row, row, r), 1e-12));
  }
}

// Solves triangle × x = vector, in place.
void solve_lower(const std::vector<double>& factor, std::vector<double>& vector) {
  const std::size_t n = vector.size();
  for (std::size_t r = 0; r < n; ++r)
    vector[r] = (vector[r] - dot(&factor[r * n], vector.data(), r)) / factor[r * n + r];
}

// Solves transposed triangle × x = vector, in place.
void solve_upper(const std::vector<double>& factor, std::vector<double>& vector) {
  const std::size_t n = vector.size();
  for (std::size_t r = n; r-- > 0;) {
    vector[r] /= factor[r * n + r];
    for (std::size_t c = 0; c < r; ++c) vector[c] -= factor[r * n + c] * vector[r];
  }
}

}  // namespace

Likeness::Likeness(std::vector<std::vector<std::uint32_t>> related, std::size_t axes)
    : related_(std::move(related)), axes_(axes) {
  for (std::size_t d = 0; d < related_.size(); ++d)
    for (const std::uint32_t other : related_[d]) MONET_ASSERT(other < d, "related to earlier decisions");
  if (!related_.empty()) whole_ = chains([](std::size_t) { return true; });
}

template <class Agree>
double Likeness::chains(const Agree& agree) const {
  thread_local std::vector<double> ending;  // asked for by millions
  ending.assign(related_.size(), 0);
  double sum = 0;
  for (std::size_t d = 0; d < related_.size(); ++d) {
    if (!agree(d)) continue;
    double before = 0;
    for (const std::uint32_t other : related_[d]) before += ending[other];
    ending[d] = kFade * (1 + before / std::max<double>(1, static_cast<double>(related_[d].size())));
    sum += ending[d];
  }
  return sum;
}

double Likeness::operator()(const Choices& a, const Choices& b) const {
  MONET_ASSERT(a.size() == related_.size() + axes_ && b.size() == a.size(), "genomes of these decisions");
  double share = 1;
  for (std::size_t d = related_.size(); d < a.size(); ++d) share *= a[d] == b[d] ? 1 : 0.5;
  return share * chains([&](std::size_t d) { return a[d] == b[d]; }) / whole_;
}

GaussianProcess::GaussianProcess(const Likeness& likeness, std::vector<Choices> known)
    : likeness_(likeness), known_(std::move(known)), factor_(known_.size() * known_.size(), 0) {
  const std::size_t n = known_.size();
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < r; ++c) factor_[r * n + c] = likeness_(known_[r], known_[c]);
    factor_[r * n + r] = 1 + kNoise;
  }
  factorise(factor_, n);
}

GaussianProcess::Fit GaussianProcess::fit(std::vector<double> values) const {
  MONET_ASSERT(values.size() == known_.size() && !values.empty(), "a value for every genome");
  Fit out{.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size())};
  for (double& v : values) v -= out.mean;
  out.weights = std::move(values);
  solve_lower(factor_, out.weights);
  const auto n = out.weights.size();
  out.size = std::sqrt(dot(out.weights.data(), out.weights.data(), n) / static_cast<double>(n));
  solve_upper(factor_, out.weights);
  return out;
}

double GaussianProcess::Fit::guess(std::span<const double> likenesses) const {
  return mean + dot(likenesses.data(), weights.data(), weights.size());
}

std::vector<double> GaussianProcess::likenesses(const Choices& genome) const {
  std::vector<double> out;
  out.reserve(known_.size());
  for (const Choices& other : known_) out.push_back(likeness_(genome, other));
  return out;
}

double GaussianProcess::doubt(std::span<const double> likenesses) const {
  std::vector<double> known(likenesses.begin(), likenesses.end());
  solve_lower(factor_, known);
  return std::sqrt(std::clamp(1 - dot(known.data(), known.data(), known.size()), 0.0, 1.0));
}

double GaussianProcess::most_doubt(std::span<const double> likenesses) {
  const double most = likenesses.empty() ? 0 : *std::max_element(likenesses.begin(), likenesses.end());
  return std::sqrt(std::clamp(1 - most * most, 0.0, 1.0));
}

}  // namespace monet::solve
