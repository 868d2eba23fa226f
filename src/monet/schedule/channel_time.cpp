#include "monet/schedule/channel_time.h"

#include <algorithm>

namespace monet::schedule {
namespace {

constexpr double kRateRounding = 1e-9;  // rates are quotients: a full channel stays full

}  // namespace

ChannelTime::ChannelTime() { steps_.insert(steps_.begin(), {}); }

// The step in force.
ChannelTime::Steps::At ChannelTime::step_at(double when) const {
  const Steps::At at = steps_.not_below(when);
  return at == steps_.begin() || (at != steps_.end() && steps_[at].time == when) ? at : steps_.before(at);
}

const ChannelTime::Range& ChannelTime::range(std::size_t i) const {
  const Steps::Chunk& chunk = steps_.chunk(i);
  if (!chunk.is_fresh) {
    chunk.summary = {chunk.items[0].used, chunk.items[0].used};
    for (const Step& step : chunk.items)
      chunk.summary = {std::min(chunk.summary.least, step.used), std::max(chunk.summary.most, step.used)};
    chunk.is_fresh = true;
  }
  return chunk.summary;
}

ChannelTime::Start ChannelTime::free_from(double rate, double most, double duration, double earliest) const {
  const double limit = most * (1 + kRateRounding) - rate;
  Start start{earliest, 0};
  if (const Step& last = steps_.last(); last.time <= earliest && last.used <= limit) return start;
  Steps::At at = step_at(earliest);
  for (bool is_first = true; at.chunk < steps_.size(); at = {at.chunk + 1, 0}, is_first = false) {
    const std::vector<Step>& items = steps_.chunk(at.chunk).items;
    const Step* after = at.chunk + 1 < steps_.size() ? &steps_.chunk(at.chunk + 1).items[0] : nullptr;
    // A chunk that is full, or free, from end to end.
    if (!is_first && after != nullptr) {
      const Range& used = range(at.chunk);
      if (used.least > limit) {
        start = {after->time, after->by};
        continue;
      }
      if (used.most <= limit) {
        if (after->time - start.time >= duration) return start;
        continue;
      }
    }
    for (std::size_t i = at.index; i < items.size(); ++i) {
      const Step* next = i + 1 < items.size() ? &items[i + 1] : after;
      if (items[i].used > limit)
        start = next != nullptr ? Start{next->time, next->by} : Start{items[i].time, items[i].by};
      else if (next != nullptr && next->time - start.time >= duration)
        return start;
    }
  }
  return start;
}

void ChannelTime::occupy(double start, double end, double rate, std::uint32_t by) {
  if (end <= start) return;
  // Most begin where nothing is known of yet, or go on where the last one ended.
  if (const Step last = steps_.last(); last.time <= start && last.used == 0 && rate >= kRateRounding) {
    if (last.time < start) steps_.insert(steps_.end(), {start, 0, 0});
    const Steps::At first = steps_.at_last();
    steps_.change(first).used = rate;
    if (first != steps_.begin() && steps_[steps_.before(first)].used == rate) steps_.erase(first);
    steps_.insert(steps_.end(), {end, 0, by});
    return;
  }
  // A step begins at each end; the first one of all begins before `start`.
  Steps::At first = steps_.not_below(start), last = first;
  while (last != steps_.end() && steps_[last].time < end) last = steps_.next(last);
  if (last != steps_.end() && steps_[last].time == end) {
    steps_.mark(last).by = by;
  } else {
    const std::size_t chunks = steps_.size();
    const Steps::At inserted = steps_.insert(last, {end, steps_[steps_.before(last)].used, by});
    if (first == last)
      first = inserted;
    else if (steps_.size() != chunks)
      first = steps_.not_below(start);
  }
  if (steps_[first].time != start) first = steps_.insert(first, {start, steps_[steps_.before(first)].used, 0});
  for (last = first; steps_[last].time < end; last = steps_.next(last)) {
    Step& step = steps_.change(last);
    step.used += rate;
    if (step.used < kRateRounding) step.used = 0;
  }
  // Steps of the same height are one.
  if (steps_[steps_.before(last)].used == steps_[last].used) steps_.erase(last);
  if (first != steps_.begin() && steps_[steps_.before(first)].used == steps_[first].used) steps_.erase(first);
}

}  // namespace monet::schedule
