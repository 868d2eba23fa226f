#pragma once
#include <cmath>
#include <cstdint>
#include <span>

namespace monet::cost {

// Periods are averages; what they add up to is whole. Forgives what rounding leaves of a whole number.
inline double whole_cycles(double cycles) { return std::ceil(cycles - 1e-6); }

// A transfer that belongs to a period, on one port.
struct Arrival {
  std::uint32_t port = 0;
  double busy = 0;    // cycles on the port, in the mean of the periods in which it happens
  double share = 1;   // of the periods: sums come back on later visits only
  double passes = 1;  // how often its tile is read before it may be replaced: 1 with a second buffer
};

// The time one period of a growing loop nest takes, from the inside out: `time` so far and the cycles each port is busy
// in it. A port that has more to carry than fits makes the period longer; so does a single buffer, which is refilled
// only while its old tile is read for the last time and its new one for the first. Periods with the arrivals that do
// not always happen and periods without them are told apart. Returns by how much the arrivals make a period longer in
// the mean, and for the sake of which port; their mean cycles are added to `busy`.
double wait_for(std::span<const Arrival> arrivals, double time, std::span<double> busy, std::uint32_t& cause);

}  // namespace monet::cost
