#include "monet/cost/clock.h"

#include <algorithm>

namespace monet::cost {
namespace {

struct Late {
  double cycles = 0;
  std::uint32_t port = 0;
  void at_least(double c, std::uint32_t p) {
    if (c > cycles) *this = {c, p};
  }
};

// Of a period with, or without, the arrivals that happen in some periods only. Leaves `busy` as it was.
Late late_with(std::span<const Arrival> arrivals, bool all, double time, std::span<double> busy) {
  Late late;
  const auto happens = [&](const Arrival& a) { return all || a.share == 1; };
  for (const Arrival& a : arrivals)
    if (happens(a)) late.at_least(a.busy - std::max(0.0, time - busy[a.port]) * std::min(1.0, 2 / a.passes), a.port);
  for (const Arrival& a : arrivals)
    if (happens(a)) busy[a.port] += a.busy;
  for (const Arrival& a : arrivals)
    if (happens(a)) late.at_least(busy[a.port] - time, a.port);
  for (const Arrival& a : arrivals)
    if (happens(a)) busy[a.port] -= a.busy;
  return late;
}

}  // namespace

double wait_for(std::span<const Arrival> arrivals, double time, std::span<double> busy, std::uint32_t& cause) {
  double share = 1;
  for (const Arrival& a : arrivals) share = std::min(share, a.share);
  Late late = late_with(arrivals, true, time, busy);
  if (share < 1) {
    const Late without = late_with(arrivals, false, time, busy);
    late.cycles = share * late.cycles + (1 - share) * without.cycles;
    if (share == 0) late.port = without.port;
  }
  for (const Arrival& a : arrivals) busy[a.port] += a.busy * a.share;
  for (const Arrival& a : arrivals) late.at_least(busy[a.port] - time, a.port);
  if (late.cycles > 0) cause = late.port;
  return late.cycles;
}

}  // namespace monet::cost
