#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "monet/cost/problem.h"

namespace monet::cost {

inline constexpr std::size_t kMaxPorts = 48;

// A transfer that happens once a period, on one port.
struct Arrival {
  std::uint32_t port = 0;
  double busy = 0;    // cycles on the port
  double passes = 1;  // how often its tile is read before it may be replaced: 1 with a second buffer
};

// The time one period of a growing loop nest takes, from the inside out. A port that has more to carry than fits in the
// period makes it longer; so does a single buffer, which is refilled only while its tile is read for the last time.
class Clock {
 public:
  explicit Clock(const Problem& p) : time_(p.cycles_per_mac) {}
  double time() const { return time_; }
  double busy(std::uint32_t port) const { return busy_[port]; }

  // The period becomes `factor` of what it was.
  void repeat(double factor) {
    time_ *= factor;
    for (double& b : busy_) b *= factor;
  }

  // The transfers that happen once in the period as it now is; returns by how much they make it longer, and for the
  // sake of which port.
  double arrive(std::span<const Arrival> arrivals, std::uint32_t& cause);

 private:
  double time_;
  std::array<double, kMaxPorts> busy_{};
};

}  // namespace monet::cost
