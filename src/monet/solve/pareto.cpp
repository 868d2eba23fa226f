#include "monet/solve/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "monet/base/assert.h"

namespace monet::solve {
namespace {

bool is_finite(std::span<const double> point) {
  return std::all_of(point.begin(), point.end(), [](double value) { return std::isfinite(value); });
}

// Of points in two objectives, sorted by the first one: the area of the stairs.
double area(const std::vector<std::span<const double>>& points, std::span<const double> reference) {
  double sum = 0, height = reference[1];
  for (const std::span<const double>& p : points) {
    if (p[1] >= height) continue;
    sum += (reference[0] - p[0]) * (height - p[1]);
    height = p[1];
  }
  return sum;
}

// The volume of points, one exclusive part after the other (While, Bradstreet and Barone 2012): those worst in the last
// objective first, so that what a point shares with all after it has its own extent in that objective.
class Volume {
 public:
  explicit Volume(std::span<const double> reference) : reference_(reference) {}

  double of(std::vector<std::span<const double>> points, std::size_t objectives) {
    if (objectives == 1) {
      double least = reference_[0];
      for (const std::span<const double>& p : points) least = std::min(least, p[0]);
      return reference_[0] - least;
    }
    if (objectives == 2) {
      std::sort(points.begin(), points.end(),
                [](const auto& a, const auto& b) { return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1]; });
      return area(points, reference_);
    }
    const std::size_t last = objectives - 1;
    std::stable_sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return a[last] > b[last]; });
    double sum = 0;
    std::vector<double> shared;  // of a point and each after it: the worse of both
    for (std::size_t i = 0; i < points.size() && !is_too_long(); ++i) {
      double box = 1;
      for (std::size_t k = 0; k < last; ++k) box *= reference_[k] - points[i][k];
      shared.clear();
      for (std::size_t j = i + 1; j < points.size(); ++j)
        for (std::size_t k = 0; k < last; ++k) shared.push_back(std::max(points[i][k], points[j][k]));
      steps_ += points.size() - i;
      std::vector<std::span<const double>> front;  // that no other of them covers
      for (std::size_t j = 0; j * last < shared.size(); ++j) add(std::span(shared).subspan(j * last, last), front);
      sum += (reference_[last] - points[i][last]) * (box - (front.empty() ? 0 : of(std::move(front), last)));
    }
    return sum;
  }

  bool is_too_long() const { return steps_ > kMostSteps; }

 private:
  void add(std::span<const double> point, std::vector<std::span<const double>>& front) {
    const auto covers = [](std::span<const double> a, std::span<const double> b) {
      for (std::size_t k = 0; k < a.size(); ++k)
        if (a[k] > b[k]) return false;
      return true;
    };
    if (point.size() > 2) {  // else the stairs see to it
      steps_ += front.size();
      if (std::any_of(front.begin(), front.end(), [&](const auto& f) { return covers(f, point); })) return;
      std::erase_if(front, [&](const auto& f) { return covers(point, f); });
    }
    front.push_back(point);
  }

  static constexpr std::uint64_t kMostSteps = 50'000'000;  // about a second
  std::span<const double> reference_;
  std::uint64_t steps_ = 0;
};

}  // namespace

bool dominates(std::span<const double> a, std::span<const double> b) {
  MONET_ASSERT(a.size() == b.size(), "points of one space");
  const bool a_counts = is_finite(a);
  if (!a_counts || !is_finite(b)) return a_counts && !is_finite(b);
  bool is_better = false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k] > b[k]) return false;
    is_better |= a[k] < b[k];
  }
  return is_better;
}

std::vector<std::uint32_t> front_of(std::span<const Objectives> points) {
  std::vector<std::uint32_t> order(points.size());
  std::iota(order.begin(), order.end(), 0u);
  std::erase_if(order, [&](std::uint32_t i) { return !is_finite(points[i]); });
  // In this order nobody is dominated by one that comes later.
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return points[a] != points[b] ? points[a] < points[b] : a < b; });
  std::vector<std::uint32_t> front;
  for (const std::uint32_t i : order)
    if (std::none_of(front.begin(), front.end(),
                     [&](std::uint32_t f) { return points[f] == points[i] || dominates(points[f], points[i]); }))
      front.push_back(i);
  std::sort(front.begin(), front.end());
  return front;
}

std::vector<std::vector<std::uint32_t>> sorted_fronts(std::span<const Objectives> points) {
  const std::size_t n = points.size();
  std::vector<std::vector<std::uint32_t>> dominated(n);
  std::vector<std::uint32_t> dominators(n, 0);
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t j = i + 1; j < n; ++j) {
      if (dominates(points[i], points[j])) {
        dominated[i].push_back(j);
        ++dominators[j];
      } else if (dominates(points[j], points[i])) {
        dominated[j].push_back(i);
        ++dominators[i];
      }
    }
  std::vector<std::vector<std::uint32_t>> fronts;
  std::vector<std::uint32_t> current;
  for (std::uint32_t i = 0; i < n; ++i)
    if (dominators[i] == 0) current.push_back(i);
  while (!current.empty()) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t i : current)
      for (const std::uint32_t j : dominated[i])
        if (--dominators[j] == 0) next.push_back(j);
    std::sort(next.begin(), next.end());
    fronts.push_back(std::move(current));
    current = std::move(next);
  }
  return fronts;
}

std::vector<double> crowding_distances(std::span<const Objectives> points, std::span<const std::uint32_t> front) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  std::vector<double> distances(front.size(), 0);
  if (front.empty()) return distances;
  std::vector<std::uint32_t> order(front.size());
  for (std::size_t k = 0; k < points[front[0]].size(); ++k) {
    const auto value = [&](std::uint32_t i) { return points[front[i]][k]; };
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return value(a) < value(b); });
    distances[order.front()] = distances[order.back()] = kInfinite;
    const double span = value(order.back()) - value(order.front());
    if (!(span > 0) || !std::isfinite(span)) continue;
    for (std::size_t i = 1; i + 1 < order.size(); ++i)
      distances[order[i]] += (value(order[i + 1]) - value(order[i - 1])) / span;
  }
  return distances;
}

Objectives nadir_of(std::span<const Objectives> points) {
  Objectives nadir;
  for (const std::uint32_t i : front_of(points)) {
    if (nadir.empty()) nadir = points[i];
    for (std::size_t k = 0; k < nadir.size(); ++k) nadir[k] = std::max(nadir[k], points[i][k]);
  }
  return nadir;
}

double hypervolume(std::span<const Objectives> points, std::span<const double> reference) {
  std::vector<std::span<const double>> inside;
  for (const Objectives& p : points) {
    MONET_ASSERT(p.size() == reference.size(), "points of one space");
    bool is_inside = is_finite(p);
    for (std::size_t k = 0; k < p.size() && is_inside; ++k) is_inside = p[k] < reference[k];
    if (is_inside) inside.push_back(p);
  }
  if (inside.empty()) return 0;
  Volume volume(reference);
  const double sum = volume.of(std::move(inside), reference.size());
  return volume.is_too_long() ? std::numeric_limits<double>::quiet_NaN() : sum;
}

FrontVolume volume_of(std::span<const Objectives> front) {
  if (front.empty()) return {};
  FrontVolume out{.reference = nadir_of(front)};
  double box = 1;
  for (std::size_t k = 0; k < out.reference.size(); ++k) {
    out.reference[k] *= 1.1;
    double least = out.reference[k];
    for (const Objectives& p : front) least = std::min(least, p[k]);
    box *= out.reference[k] - least;
  }
  out.volume = hypervolume(front, out.reference);
  out.share = box > 0 ? out.volume / box : 0;
  return out;
}

}  // namespace monet::solve
