#include "monet/cost/clock.h"

#include <algorithm>

namespace monet::cost {

double wait_for(std::span<const Arrival> arrivals, double time, std::span<double> busy, std::uint32_t& cause) {
  double late = 0;
  const auto wait = [&](double cycles, std::uint32_t port) {
    if (cycles <= late) return;
    late = cycles;
    cause = port;
  };
  for (const Arrival& a : arrivals)
    wait(a.busy - std::max(0.0, time - busy[a.port]) * std::min(1.0, 2 / a.passes), a.port);
  for (const Arrival& a : arrivals) busy[a.port] += a.busy;
  for (const Arrival& a : arrivals) wait(busy[a.port] - time, a.port);
  return late;
}

}  // namespace monet::cost
