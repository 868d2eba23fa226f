#include "monet/schedule/port_time.h"

#include <algorithm>
#include <limits>

namespace monet::schedule {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kCycleRounding = 1e-9;  // of a cycle; times are whole cycles but for what callers make of them

}  // namespace

// The first stretch that is not over.
PortTime::Stretches::At PortTime::ends_after(double when) const {
  const Stretches::At at = stretches_.not_below(when);
  if (at == stretches_.begin()) return at;
  const Stretches::At before = stretches_.before(at);
  return stretches_[before].to > when ? before : at;
}

// A window slides from `earliest` on until no more of it is taken than may be: what it leaves behind is taken or free,
// and so is what it comes upon, from one end of a stretch to the next.
PortTime::Start PortTime::free_from(double cycles, double duration, double earliest) const {
  const double most = duration - cycles;
  Start start{earliest, 0};
  if (is_over(earliest)) return start;
  const Stretches::At end = stretches_.end();
  Stretches::At head = ends_after(earliest), tail = head;
  double taken = 0;
  for (; tail != end && stretches_[tail].from < earliest + duration; tail = stretches_.next(tail)) {
    taken += std::min(stretches_[tail].to, earliest + duration) - std::max(stretches_[tail].from, earliest);
    if (stretches_[tail].to > earliest + duration) break;
  }
  while (taken > most + kCycleRounding) {
    const double last = start.time + duration;
    const Stretch& first = stretches_[head];  // there is one, or nothing would be taken
    const bool leaves_taken = first.from <= start.time, comes_upon_taken = tail != end && stretches_[tail].from <= last;
    const double head_ends = (leaves_taken ? first.to : first.from) - start.time;
    const double tail_ends =
        tail == end ? kUnbounded : (comes_upon_taken ? stretches_[tail].to : stretches_[tail].from) - last;
    double step = std::max(0.0, std::min(head_ends, tail_ends));
    if (leaves_taken && !comes_upon_taken) step = std::min(step, taken - most);
    start.time += step;
    taken += (comes_upon_taken ? step : 0) - (leaves_taken ? step : 0);
    if (leaves_taken) start.freed_by = first.by;
    if (leaves_taken && step >= head_ends) head = stretches_.next(head);
    if (comes_upon_taken && step >= tail_ends) tail = stretches_.next(tail);
  }
  return start;
}

double PortTime::served(double start, double cycles) const {
  if (is_over(start)) return start + std::max(0.0, cycles);
  double at = start;
  for (Stretches::At next = ends_after(start); cycles > 0; next = stretches_.next(next)) {
    if (next == stretches_.end()) return at + cycles;
    const double free = std::max(0.0, stretches_[next].from - at);
    if (cycles <= free) return at + cycles;
    cycles -= free;
    at = stretches_[next].to;
  }
  return at;
}

void PortTime::take(double start, double cycles, std::uint32_t by) {
  if (!(cycles > 0)) return;
  // Most come last.
  if (stretches_.empty() || stretches_.last().from <= start) {
    if (stretches_.empty() || stretches_.last().to < start) {
      stretches_.insert(stretches_.end(), {start, start + cycles, by});
    } else {
      Stretch& last = stretches_.change(stretches_.at_last());
      last.to += cycles;
      last.by = by;
    }
    return;
  }
  Stretches::At at = stretches_.not_below(start);
  if (at != stretches_.begin() && stretches_[stretches_.before(at)].to >= start) {
    at = stretches_.before(at);
  } else if (at == stretches_.end() || stretches_[at].from > start) {
    at = stretches_.insert(at, {start, start, by});
  }
  Stretch& own = stretches_.change(at);
  own.to = std::max(own.to, start);
  for (;;) {
    const Stretches::At next = stretches_.next(at);
    const bool is_last = next == stretches_.end();
    const double free = is_last ? kUnbounded : stretches_[next].from - own.to;
    if (cycles < free) {
      own.to += cycles;
      own.by = by;
      return;
    }
    // Up to the next stretch, which becomes one with this one.
    cycles -= free;
    own.to = stretches_[next].to;
    own.by = stretches_[next].by;
    stretches_.erase(next);
    if (!(cycles > 0)) return;
  }
}

}  // namespace monet::schedule
