#include "monet/cost/clock.h"

#include <algorithm>
#include <cmath>

namespace monet::cost {

double Clock::arrive(std::span<const Arrival> arrivals, std::uint32_t& cause) {
  double late = 0;
  const auto wait = [&](double cycles, std::uint32_t port) {
    if (cycles <= late) return;
    late = cycles;
    cause = port;
  };
  for (const Arrival& a : arrivals) wait(a.busy - std::max(0.0, time_ - busy_[a.port]) / a.passes, a.port);
  for (const Arrival& a : arrivals) busy_[a.port] += a.busy;
  for (const Arrival& a : arrivals) wait(busy_[a.port] - time_, a.port);
  late = std::ceil(late);
  time_ += late;
  return late;
}

}  // namespace monet::cost
