#include "monet/schedule/stream_steps.h"

#include <algorithm>
#include <cmath>

namespace monet::schedule {
namespace {

std::size_t first_not_before(const std::vector<double>& times, double when) {
  return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), when) - times.begin());
}

std::size_t first_after(const std::vector<double>& times, double when) {
  return static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), when) - times.begin());
}

template <class T>
void insert_at(std::vector<T>& values, std::size_t i, T value) {
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(i), value);
}

}  // namespace

void UsageSteps::change(double when, double bits) {
  const std::size_t i = first_not_before(times_, when);
  last_ += bits;
  if (i < times_.size() && times_[i] == when) {
    changes_[i] += bits;
    return;
  }
  insert_at(times_, i, std::trunc(when));
  if (i > 0) {
    insert_at(changes_, i, bits);
    return;
  }
  // Before everything known: the reference takes the level before the first entry from the last one.
  const double level = last_ + bits;
  changes_[0] += bits - level;
  insert_at(changes_, 0, level);
}

double UsageSteps::highest_from(double when) const {
  double highest = -std::numeric_limits<double>::infinity(), level = last_;
  const std::size_t first = first_not_before(times_, when);
  for (std::size_t j = times_.size(); j-- > first;) {
    highest = std::max(highest, level);
    level -= changes_[j];
  }
  return highest;
}

double UsageSteps::room_from(double bits, double when, double size) const {
  const std::size_t i = first_after(times_, when);
  if (i == times_.size()) return when;
  const std::size_t first = i > 0 ? i - 1 : times_.size() - 1;
  const double limit = size - bits;
  double level = last_;
  if (level > limit) return times_.back();
  for (std::size_t j = times_.size(); j-- > first;) {
    if (level > limit) return times_[j + 1];
    level -= changes_[j];
  }
  return when;
}

double UsageSteps::level_at(double when) const {
  const std::size_t i = first_after(times_, when), at = i > 0 ? i - 1 : 0;
  double level = last_;
  for (std::size_t j = times_.size() - 1; j > at; --j) level -= changes_[j];
  return level;
}

double UsageSteps::peak() const {
  double level = 0, highest = -std::numeric_limits<double>::infinity();
  for (const double change : changes_) {
    level += change;
    highest = std::max(highest, level);
  }
  return highest;
}

// Levels are whole: what a change adds to the change at its time is cut off after the point (rule 4).
LinkSteps::Shift LinkSteps::shift(double when, double amount) {
  const std::size_t i = first_not_before(times_, when);
  const double before = i > 0 ? levels_[i - 1] : 0;
  if (times_[i] == when) {
    const double old = levels_[i] - before;
    return {i, std::trunc(old + amount) - old};
  }
  insert_at(times_, i, when);
  insert_at(levels_, i, before);
  return {i, std::trunc(amount)};
}

void LinkSteps::occupy(double start, double end, double amount) {
  const Shift up = shift(start, amount), down = shift(end, -amount);
  for (std::size_t j = up.at; j < down.at; ++j) levels_[j] += up.moved;
  if (up.moved + down.moved != 0)
    for (std::size_t j = down.at; j < levels_.size(); ++j) levels_[j] += up.moved + down.moved;
}

double LinkSteps::free_from(double limit, double duration, double earliest) const {
  const std::size_t i = first_after(times_, earliest);
  double start = earliest;
  bool is_free = levels_[i > 0 ? i - 1 : levels_.size() - 1] <= limit;
  for (std::size_t j = i; j < times_.size(); ++j) {
    if (is_free && times_[j] - start >= duration) return start;
    if (levels_[j] > limit) {
      is_free = false;
    } else if (!is_free) {
      is_free = true;
      start = times_[j];
    }
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace monet::schedule
