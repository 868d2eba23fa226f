#include "monet/schedule/stream_steps.h"

#include <algorithm>
#include <cmath>

namespace monet::schedule {
namespace {

// The first step for which it does not hold any more, if it holds up to some step. Looked for from the end, in ever
// larger strides: that is where it nearly always is.
template <class Step, class Holds>
std::size_t first_not(const std::vector<Step>& steps, const Holds& holds) {
  std::size_t end = steps.size();  // it does not hold from here on
  for (std::size_t stride = 1; end > 0; stride *= 2) {
    const std::size_t at = end > stride ? end - stride : 0;
    if (holds(steps[at])) {
      const auto begin = steps.begin();
      return static_cast<std::size_t>(std::partition_point(begin + static_cast<std::ptrdiff_t>(at) + 1,
                                                           begin + static_cast<std::ptrdiff_t>(end), holds) -
                                      begin);
    }
    end = at;
  }
  return 0;
}

template <class Step>
std::size_t first_not_before(const std::vector<Step>& steps, double when) {
  return first_not(steps, [&](const Step& step) { return step.time < when; });
}

template <class Step>
std::size_t first_after(const std::vector<Step>& steps, double when) {
  return first_not(steps, [&](const Step& step) { return step.time <= when; });
}

template <class T>
void insert_at(std::vector<T>& values, std::size_t i, T value) {
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(i), value);
}

}  // namespace

void UsageSteps::change(double when, double bits) {
  const std::size_t i = first_not_before(steps_, when);
  last_ += bits;
  if (i < steps_.size() && steps_[i].time == when) {
    steps_[i].change += bits;
    return;
  }
  if (i > 0) {
    insert_at(steps_, i, {std::trunc(when), bits});
    return;
  }
  // Before everything known: the reference takes the level before the first entry from the last one.
  const double level = last_ + bits;
  steps_[0].change += bits - level;
  insert_at(steps_, 0, {std::trunc(when), level});
}

double UsageSteps::highest_from(double when) const {
  double highest = -std::numeric_limits<double>::infinity(), level = last_;
  for (std::size_t j = steps_.size(); j-- > 0 && steps_[j].time >= when;) {
    highest = std::max(highest, level);
    level -= steps_[j].change;
  }
  return highest;
}

double UsageSteps::room_from(double bits, double when, double size) const {
  if (steps_.back().time <= when) return when;
  const std::size_t i = first_after(steps_, when);
  const std::size_t first = i > 0 ? i - 1 : steps_.size() - 1;
  const double limit = size - bits;
  double level = last_;
  if (level > limit) return steps_.back().time;
  for (std::size_t j = steps_.size(); j-- > first;) {
    if (level > limit) return steps_[j + 1].time;
    level -= steps_[j].change;
  }
  return when;
}

double UsageSteps::level_at(double when) const {
  double level = last_;
  for (std::size_t j = steps_.size() - 1; j > 0 && steps_[j].time > when; --j) level -= steps_[j].change;
  return level;
}

double UsageSteps::peak() const {
  double level = 0, highest = -std::numeric_limits<double>::infinity();
  for (const Step& step : steps_) {
    level += step.change;
    highest = std::max(highest, level);
  }
  return highest;
}

// Levels are whole: what a change adds to the change at its time is cut off after the point (rule 4). Gives by how
// much the levels from the step on move; `at` is the first step not before `when`, and the one at `when` afterwards.
double LinkSteps::shift(std::size_t at, double when, double amount) {
  const double before = at > 0 ? steps_[at - 1].level : 0;
  if (steps_[at].time == when) {
    const double old = steps_[at].level - before;
    return std::trunc(old + amount) - old;
  }
  insert_at(steps_, at, {.time = when, .level = before});
  return std::trunc(amount);
}

void LinkSteps::occupy_at(std::size_t at, double start, double end, double amount) {
  const double up = shift(at, start, amount);
  const std::size_t last = first_not_before(steps_, end);
  const double down = shift(last, end, -amount);
  for (std::size_t j = at; j < last; ++j) steps_[j].level += up;
  if (up + down != 0)
    for (std::size_t j = last; j < steps_.size(); ++j) steps_[j].level += up + down;
}

void LinkSteps::occupy(double start, double end, double amount) {
  occupy_at(first_not_before(steps_, start), start, end, amount);
}

bool LinkSteps::book(std::uint32_t tensor, double start, double end, double amount) {
  const std::size_t at = first_not_before(steps_, start);
  if (steps_[at].time == start)
    for (std::uint32_t b = steps_[at].begins; b != kNobody; b = beginners_[b].next)
      if (beginners_[b].tensor == tensor) return false;
  occupy_at(at, start, end, amount);
  beginners_.push_back({tensor, steps_[at].begins});
  steps_[at].begins = static_cast<std::uint32_t>(beginners_.size() - 1);
  return true;
}

double LinkSteps::free_from(double limit, double duration, double earliest) const {
  const std::size_t i = first_after(steps_, earliest);
  double start = earliest;
  bool is_free = steps_[i > 0 ? i - 1 : steps_.size() - 1].level <= limit;
  for (std::size_t j = i; j < steps_.size(); ++j) {
    if (is_free && steps_[j].time - start >= duration) return start;
    if (steps_[j].level > limit) {
      is_free = false;
    } else if (!is_free) {
      is_free = true;
      start = steps_[j].time;
    }
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace monet::schedule
