#include "monet/cost/unrolling_search.h"

#include <algorithm>
#include <numeric>

namespace monet::cost {
namespace {

using Loops = std::vector<SpatialLoop>;

// More ways than these are not looked at, in the order of generation: a bound on time that no sensible array reaches.
constexpr std::size_t kMostWays = 200'000;
constexpr std::size_t kMostVisits = 20'000'000;
constexpr std::int64_t kLargestFactor = std::int64_t{1} << 40;

// One way to fill one array dimension.
struct Way {
  Loops loops{};
  double lanes = 1;
};

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t i = 1; i <= n / i; ++i)
    if (n % i == 0) {
      small.push_back(i);
      if (i != n / i) large.push_back(n / i);
    }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

// All ways to lay the dimensions `chosen` (positions in `open.dimensions`) over the array dimension, factors rising,
// the last dimension fastest.
void mix(const OpenDimension& open, const std::vector<std::vector<std::int64_t>>& factors,
         const std::vector<std::size_t>& chosen, const Way& way, std::vector<Way>& ways) {
  const std::size_t depth = way.loops.size();
  if (depth == chosen.size()) {
    ways.push_back(way);
    return;
  }
  for (const std::int64_t f : factors[chosen[depth]]) {
    Way longer = way;
    longer.lanes *= static_cast<double>(f);
    if (longer.lanes > static_cast<double>(open.size) || ways.size() >= kMostWays) return;
    longer.loops.push_back({.dimension = open.dimensions[chosen[depth]], .factor = f});
    mix(open, factors, chosen, longer, ways);
  }
}

// The next combination of `chosen.size()` out of `n`, in lexicographic order.
bool advance(std::vector<std::size_t>& chosen, std::size_t n) {
  const std::size_t k = chosen.size();
  for (std::size_t i = k; i-- > 0;) {
    if (chosen[i] == n - k + i) continue;
    ++chosen[i];
    for (std::size_t j = i + 1; j < k; ++j) chosen[j] = chosen[j - 1] + 1;
    return true;
  }
  return false;
}

std::vector<Way> ways_to_fill(const OpenDimension& open, bool mixed) {
  std::vector<Way> ways;
  std::vector<std::vector<std::int64_t>> factors;
  for (const std::size_t d : open.dimensions) {
    factors.push_back(divisors(std::min(open.limit[d], kLargestFactor)));
    for (auto f = factors.back().rbegin(); f != factors.back().rend(); ++f)
      ways.push_back({.loops = {{.dimension = d, .factor = *f}}, .lanes = static_cast<double>(*f)});
    std::erase(factors.back(), 1);
  }
  for (std::size_t k = 2; mixed && k <= open.dimensions.size(); ++k) {
    std::vector<std::size_t> chosen(k);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    do mix(open, factors, chosen, {}, ways);
    while (advance(chosen, open.dimensions.size()));
  }
  return ways;
}

struct Found {
  double merit = 0;
  std::vector<std::size_t> ways{};  // as generated: of equally good ones the first is taken
};

// Fullest first, depth first, leaving out what can no longer be among the best.
class Filler {
 public:
  Filler(const Layer& layer, const Spatial& given, const std::vector<OpenDimension>& open, std::size_t count,
         bool mixed, const Watch& watch)
      : layer_(layer),
        ticks_({.deadline = watch.deadline}, 4096),
        count_(std::max<std::size_t>(count, 1)),
        chosen_(open.size()),
        most_(open.size() + 1, 1) {
    totals_.resize(layer.dimensions.size(), 1);
    for (const Loops& loops : given)
      for (const SpatialLoop& loop : loops) {
        totals_[loop.dimension] *= static_cast<double>(loop.factor);
        lanes_ *= static_cast<double>(loop.factor);
      }
    for (const OpenDimension& each : open) {
      ways_.push_back(ways_to_fill(each, mixed));
      std::vector<std::size_t> order(ways_.back().size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t x, std::size_t y) { return ways_.back()[x].lanes > ways_.back()[y].lanes; });
      fullest_first_.push_back(std::move(order));
    }
    for (std::size_t k = open.size(); k-- > 0;)
      most_[k] = most_[k + 1] * (ways_[k].empty() ? 0 : ways_[k][fullest_first_[k][0]].lanes);
  }

  const std::vector<Found>& search() {
    visit(0, lanes_);
    return best_;
  }
  const Way& way(std::size_t k, std::size_t i) const { return ways_[k][i]; }

 private:
  double merit(double lanes) const { return lanes + (lanes / *std::max_element(totals_.begin(), totals_.end()) - 1); }
  bool is_hopeless(double lanes) const { return best_.size() == count_ && merit(lanes) < best_.back().merit; }

  void visit(std::size_t k, double lanes) {
    is_over_ = is_over_ || ++visits_ > kMostVisits || ticks_.is_over();
    if (is_over_) return;
    if (k == ways_.size()) {
      keep({.merit = merit(lanes), .ways = chosen_});
      return;
    }
    for (const std::size_t i : fullest_first_[k]) {
      const Way& way = ways_[k][i];
      const double more = lanes * way.lanes;
      if (is_hopeless(more * most_[k + 1])) return;
      bool fits = true;
      for (const SpatialLoop& loop : way.loops) {
        totals_[loop.dimension] *= static_cast<double>(loop.factor);
        fits = fits && totals_[loop.dimension] <= static_cast<double>(layer_.dimensions[loop.dimension].size);
      }
      chosen_[k] = i;
      if (fits && !is_hopeless(more * most_[k + 1])) visit(k + 1, more);
      for (const SpatialLoop& loop : way.loops) totals_[loop.dimension] /= static_cast<double>(loop.factor);
    }
  }

  void keep(Found found) {
    const auto is_before = [](const Found& x, const Found& y) {
      return x.merit != y.merit ? x.merit > y.merit : x.ways < y.ways;
    };
    best_.insert(std::upper_bound(best_.begin(), best_.end(), found, is_before), found);
    if (best_.size() > count_) best_.pop_back();
  }

  const Layer& layer_;
  Ticks ticks_;
  bool is_over_ = false;
  std::size_t count_ = 1, visits_ = 0;
  double lanes_ = 1;
  std::vector<double> totals_{};
  std::vector<std::vector<Way>> ways_{};
  std::vector<std::vector<std::size_t>> fullest_first_{};
  std::vector<std::size_t> chosen_{};
  std::vector<double> most_{};  // lanes that the open dimensions from the k-th on can add
  std::vector<Found> best_{};
};

}  // namespace

std::vector<Spatial> fill_open_dimensions(const Layer& layer, const Spatial& given,
                                          const std::vector<OpenDimension>& open, std::size_t count, bool mixed,
                                          const Watch& watch) {
  Filler filler(layer, given, open, count, mixed, watch);
  std::vector<Spatial> filled;
  for (const Found& found : filler.search()) {
    filled.push_back(given);
    for (std::size_t k = 0; k < open.size(); ++k)
      filled.back()[open[k].array_dimension] = filler.way(k, found.ways[k]).loops;
  }
  return filled;
}

}  // namespace monet::cost
