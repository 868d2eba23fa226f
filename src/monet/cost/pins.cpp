// A user's loop ordering with "*" in it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "monet/cost/loops.h"

namespace monet::cost {
namespace {

// The prime factors of one dimension and how many there are of each. The reference's counts can go wrong, even below
// zero; they are only used for the quirk.
struct PrimeFactors {
  std::uint32_t dimension = 0;
  std::vector<double> factor{};
  std::vector<long> count{};
  long sum = 0;
};

std::map<double, long> primes_of(double n) {
  std::map<double, long> primes;
  auto rest = static_cast<std::uint64_t>(n);
  for (std::uint64_t f = 2; f <= rest / f; ++f)
    for (; rest % f == 0; rest /= f) ++primes[static_cast<double>(f)];
  if (rest > 1) ++primes[static_cast<double>(rest)];
  return primes;
}

std::vector<PrimeFactors> factors_of(const Problem& p) {
  std::vector<PrimeFactors> all;
  for (std::uint32_t d = 0; d < p.dimensions; ++d) {
    if (p.temporal[d] <= 1) continue;
    PrimeFactors f{.dimension = d};
    for (const auto& [prime, count] : primes_of(p.temporal[d])) {
      f.factor.push_back(prime);
      f.count.push_back(count);
      f.sum += count;
    }
    all.push_back(std::move(f));
  }
  if (all.empty()) all.push_back({.dimension = 0, .factor = {1}, .count = {1}, .sum = 1});
  return all;
}

// Takes a pinned factor out of the primes and puts it in as a whole. As the reference does it: of a factor with two
// primes the second is given back. False if a prime is not there.
bool pin_factor(PrimeFactors& f, double pinned) {
  for (const auto& [prime, multiplicity] : primes_of(pinned)) {
    const auto found = std::find(f.factor.begin(), f.factor.end(), prime);
    if (found == f.factor.end()) return false;
    const auto i = static_cast<std::size_t>(found - f.factor.begin());
    if (f.count[i] < multiplicity) continue;
    f.count[i] -= multiplicity;
    if (std::find(f.factor.begin(), f.factor.end(), pinned) != f.factor.end()) {
      f.count[i] += 1;
    } else {
      f.factor.push_back(pinned);
      f.count.push_back(1);
    }
    f.sum -= multiplicity - 1;
  }
  return true;
}

// The two factors to multiply: the first that are not pinned.
std::pair<std::size_t, std::size_t> two_free(const PrimeFactors& f, std::span<const PinnedLoop> pins) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < f.factor.size(); ++i) {
    const auto pinned = static_cast<long>(std::count_if(pins.begin(), pins.end(), [&](const PinnedLoop& pin) {
      return pin.dimension == f.dimension && pin.factor == f.factor[i];
    }));
    if (pinned > 0 && f.count[i] <= pinned) continue;
    if (first) return {*first, i};
    if (f.count[i] > pinned + 1) return {i, i};
    first = i;
  }
  return {first.value_or(0), f.factor.size() - 1};
}

void merge_two(PrimeFactors& f, std::span<const PinnedLoop> pins) {
  const auto [x, y] = two_free(f, pins);
  const double product = f.factor[x] * f.factor[y];
  --f.count[x];
  --f.count[y];
  const auto same = std::find(f.factor.begin(), f.factor.end(), product);
  if (same != f.factor.end()) {
    ++f.count[static_cast<std::size_t>(same - f.factor.begin())];
  } else {
    const auto at = std::count_if(f.factor.begin(), f.factor.end(), [&](double each) { return each < product; });
    f.factor.insert(f.factor.begin() + at, product);
    f.count.insert(f.count.begin() + at, 1);
  }
  for (std::size_t i = f.factor.size(); i-- > 0;)
    if (f.count[i] == 0) {
      f.factor.erase(f.factor.begin() + static_cast<std::ptrdiff_t>(i));
      f.count.erase(f.count.begin() + static_cast<std::ptrdiff_t>(i));
    }
  --f.sum;
}

std::string cannot_pin(const work::Dimension& dimension, double factor, double extent) {
  return fmt::format("the ordering pins {} {}, of which {} iterations are left for time", dimension.name, factor,
                     extent);
}

// The reference's way to take pinned factors out.
void list_loops_as_reference(const Problem& p, const std::vector<work::Dimension>& dimensions, std::size_t limit,
                             PinnedLoops& result) {
  std::vector<PrimeFactors> all = factors_of(p);
  for (const PinnedLoop& pin : result.pins) {
    if (!pin.factor) continue;
    const auto f =
        std::find_if(all.begin(), all.end(), [&](const PrimeFactors& x) { return x.dimension == pin.dimension; });
    if (f == all.end() || !pin_factor(*f, *pin.factor)) {
      result.reason = cannot_pin(dimensions[pin.dimension], *pin.factor, p.temporal[pin.dimension]);
      return;
    }
  }
  long total = 0;
  std::size_t temporal = 0;
  for (std::uint32_t d = 0; d < p.dimensions; ++d) temporal += p.temporal[d] > 1 ? 1 : 0;
  for (const PrimeFactors& f : all) total += f.sum;
  const auto most = limit > 0 ? static_cast<long>(std::max(limit, temporal)) : total;
  for (; total > most; --total)
    merge_two(*std::max_element(all.begin(), all.end(),
                                [](const PrimeFactors& x, const PrimeFactors& y) { return x.sum < y.sum; }),
              result.pins);
  for (const PrimeFactors& f : all)
    for (std::size_t i = 0; i < f.factor.size(); ++i) {
      if (f.count[i] < 0) {
        result.reason = "the pinned factors use more of a dimension than there is";
        return;
      }
      result.loops.insert(result.loops.end(), static_cast<std::size_t>(f.count[i]), {f.dimension, f.factor[i]});
    }
  if (total < 0) result.reason = "the pinned factors use more of a dimension than there is";
}

// Pinned factors are whole loops; the rest of each dimension is split as without pins.
void list_loops(const Problem& p, const std::vector<work::Dimension>& dimensions, std::size_t limit,
                PinnedLoops& result) {
  Problem rest = p;
  std::vector<TemporalLoop> pinned;
  for (const PinnedLoop& pin : result.pins) {
    if (!pin.factor) continue;
    double& left = rest.temporal[pin.dimension];
    if (*pin.factor < 1 || std::fmod(left, *pin.factor) != 0) {
      result.reason = cannot_pin(dimensions[pin.dimension], *pin.factor, left);
      return;
    }
    left /= *pin.factor;
    pinned.push_back({pin.dimension, *pin.factor});
  }
  const bool any_left =
      std::any_of(rest.temporal.begin(), rest.temporal.begin() + static_cast<std::ptrdiff_t>(p.dimensions),
                  [](double t) { return t > 1; });
  if (any_left || pinned.empty())
    result.loops = temporal_loops(rest, limit == 0 ? 0 : limit - std::min(limit - 1, pinned.size()));
  result.loops.insert(result.loops.end(), pinned.begin(), pinned.end());
}

// Every factor is given and together they are the temporal extents.
bool is_complete(const Problem& p, std::span<const PinnedLoop> pins) {
  std::array<double, kMaxDimensions> product;
  product.fill(1);
  for (const PinnedLoop& pin : pins) {
    if (!pin.factor) return false;
    product[pin.dimension] *= *pin.factor;
  }
  for (std::size_t d = 0; d < p.dimensions; ++d)
    if (product[d] != std::max(p.temporal[d], 1.0)) return false;
  return true;
}

}  // namespace

PinnedLoops pinned_loops(const Problem& p, const std::vector<LoopPattern>& pattern,
                         const std::vector<work::Dimension>& dimensions, std::size_t limit) {
  PinnedLoops result;
  std::vector<PinnedLoop>& pins = result.pins;
  std::optional<std::size_t> gap;  // pins before it are inner ones
  for (const LoopPattern& entry : pattern) {
    if (!entry.dimension) {
      if (!p.quirks.inner_pins && !gap) gap = pins.size();
      continue;
    }
    const auto d = std::find_if(dimensions.begin(), dimensions.end(),
                                [&](const work::Dimension& each) { return each.name == *entry.dimension; });
    if (d == dimensions.end()) continue;
    PinnedLoop pin{.position = static_cast<std::ptrdiff_t>(pins.size()),
                   .dimension = static_cast<std::uint32_t>(d - dimensions.begin())};
    if (entry.factor) pin.factor = static_cast<double>(*entry.factor);
    pins.push_back(pin);
  }
  for (std::size_t i = gap.value_or(pins.size()); i < pins.size(); ++i)
    pins[i].position -= static_cast<std::ptrdiff_t>(pins.size());
  if (!pins.empty() && is_complete(p, pins)) {
    for (const PinnedLoop& pin : pins) result.complete.push_back({pin.dimension, *pin.factor});
  } else if (p.quirks.inner_pins) {
    list_loops_as_reference(p, dimensions, limit, result);
  } else {
    list_loops(p, dimensions, limit, result);
  }
  return result;
}

bool meets(std::span<const TemporalLoop> order, std::span<const PinnedLoop> pins) {
  const auto size = static_cast<std::ptrdiff_t>(order.size());
  return std::all_of(pins.begin(), pins.end(), [&](const PinnedLoop& pin) {
    const std::ptrdiff_t at = pin.position < 0 ? size + pin.position : pin.position;
    if (at < 0 || at >= size) return false;
    const TemporalLoop& loop = order[static_cast<std::size_t>(at)];
    return loop.dimension == pin.dimension && (!pin.factor || loop.factor == *pin.factor);
  });
}

}  // namespace monet::cost
