#include "monet/cost/loops.h"

#include <algorithm>
#include <cmath>

namespace monet::cost {
namespace {

constexpr std::uint32_t kEnd = ~std::uint32_t{0};

std::vector<double> prime_factors(double n) {
  std::vector<double> factors;
  auto rest = static_cast<std::uint64_t>(n);
  for (std::uint64_t f = 2; f <= rest / f; ++f)
    for (; rest % f == 0; rest /= f) factors.push_back(static_cast<double>(f));
  if (rest > 1) factors.push_back(static_cast<double>(rest));
  return factors;
}

}  // namespace

std::vector<TemporalLoop> temporal_loops(const Problem& p, std::size_t limit) {
  std::vector<std::vector<double>> factors;
  std::vector<std::uint32_t> dimensions;
  std::size_t total = 0;
  for (std::uint32_t d = 0; d < p.dimensions; ++d) {
    if (p.temporal[d] <= 1) continue;
    factors.push_back(prime_factors(p.temporal[d]));
    dimensions.push_back(d);
    total += factors.back().size();
  }
  if (limit > 0)
    for (limit = std::max(limit, factors.size()); total > limit; --total) {
      auto most = std::max_element(factors.begin(), factors.end(),
                                   [](const auto& x, const auto& y) { return x.size() < y.size(); });
      const double product = (*most)[0] * (*most)[1];
      most->erase(most->begin(), most->begin() + 2);
      most->insert(std::upper_bound(most->begin(), most->end(), product), product);
    }
  std::vector<TemporalLoop> loops;
  for (std::size_t i = 0; i < factors.size(); ++i)
    for (const double f : factors[i]) loops.push_back({dimensions[i], f});
  if (loops.empty()) loops.push_back({0, 1});
  return loops;
}

Orderings::Orderings(const Problem& p, std::span<const TemporalLoop> loops) : kinds_(loops.begin(), loops.end()) {
  std::sort(kinds_.begin(), kinds_.end(), [&](const TemporalLoop& x, const TemporalLoop& y) {
    return std::pair(p.rank[x.dimension], x.factor) < std::pair(p.rank[y.dimension], y.factor);
  });
  kinds_.erase(std::unique(kinds_.begin(), kinds_.end()), kinds_.end());
  for (const TemporalLoop& loop : loops)
    value_.push_back(static_cast<std::uint32_t>(std::find(kinds_.begin(), kinds_.end(), loop) - kinds_.begin()));
  std::sort(value_.begin(), value_.end(), std::greater<>());
  for (std::uint32_t k = 0; k < value_.size(); ++k) next_.push_back(k + 1 < value_.size() ? k + 1 : kEnd);
  current_.resize(value_.size());
  sequence_.resize(value_.size());
  const auto size = static_cast<std::uint32_t>(value_.size());
  i_ = size >= 2 ? size - 2 : 0;
  j_ = size - 1;
}

bool Orderings::next() {
  std::uint32_t last = kEnd;  // up to which the order changes
  if (!started_) {
    started_ = true;
  } else {
    if (next_[j_] == kEnd && value_[j_] >= value_[head_]) return false;
    const std::uint32_t s = next_[j_] != kEnd && value_[i_] >= value_[next_[j_]] ? j_ : i_;
    const std::uint32_t t = next_[s];
    next_[s] = next_[t];
    next_[t] = head_;
    if (value_[t] < value_[head_]) i_ = t;
    j_ = next_[i_];
    head_ = t;
    last = s;
  }
  changed_ = 0;
  for (std::uint32_t k = head_; k != kEnd; k = next_[k]) {
    sequence_[changed_++] = value_[k];
    if (k == last) break;
  }
  return true;
}

std::span<const TemporalLoop> Orderings::current() {
  for (std::size_t i = 0; i < sequence_.size(); ++i) current_[i] = kinds_[sequence_[i]];
  return current_;
}

std::vector<std::uint32_t> Orderings::counts() const {
  std::vector<std::uint32_t> counts(kinds_.size(), 0);
  for (const std::uint32_t value : value_) ++counts[value];
  return counts;
}

double orderings_of(std::span<const TemporalLoop> loops) {
  double count = std::tgamma(static_cast<double>(loops.size()) + 1);
  std::vector<TemporalLoop> seen;
  for (const TemporalLoop& loop : loops) {
    if (std::find(seen.begin(), seen.end(), loop) != seen.end()) continue;
    seen.push_back(loop);
    count /= std::tgamma(static_cast<double>(std::count(loops.begin(), loops.end(), loop)) + 1);
  }
  return std::round(count);
}

}  // namespace monet::cost
