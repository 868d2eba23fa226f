#include "monet/schedule/channel_time.h"

#include <algorithm>
#include <cstddef>

namespace monet::schedule {
namespace {

constexpr double kRounding = 1e-9;  // rates are quotients: a full channel stays full

std::size_t step_at(const std::vector<double>& times, double when) {
  const auto after = std::upper_bound(times.begin(), times.end(), when);
  return after == times.begin() ? 0 : static_cast<std::size_t>(after - times.begin()) - 1;
}

}  // namespace

double ChannelTime::free_from(double rate, double most, double duration, double earliest) const {
  const double limit = most * (1 + kRounding) - rate;
  double start = earliest;
  for (std::size_t i = step_at(times_, earliest); i < times_.size(); ++i) {
    if (used_[i] > limit)
      start = i + 1 < times_.size() ? times_[i + 1] : times_[i];
    else if (i + 1 < times_.size() && times_[i + 1] - start >= duration)
      return start;
  }
  return start;
}

void ChannelTime::occupy(double start, double end, double rate) {
  if (end <= start) return;
  const auto split = [&](double when) {
    const std::size_t i = step_at(times_, when);
    if (times_[i] == when) return i;
    times_.insert(times_.begin() + static_cast<std::ptrdiff_t>(i) + 1, when);
    used_.insert(used_.begin() + static_cast<std::ptrdiff_t>(i) + 1, used_[i]);
    return i + 1;
  };
  const std::size_t first = split(start), last = split(end);
  for (std::size_t i = first; i < last; ++i) used_[i] += rate;
  // What is free again is free: no dust of rounding.
  for (std::size_t i = first; i <= last; ++i)
    if (used_[i] < kRounding) used_[i] = 0;
}

void ChannelTime::forget_before(double horizon) {
  const std::size_t keep = step_at(times_, horizon);
  times_.erase(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(keep));
  used_.erase(used_.begin(), used_.begin() + static_cast<std::ptrdiff_t>(keep));
}

}  // namespace monet::schedule
