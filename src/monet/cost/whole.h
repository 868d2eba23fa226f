#pragma once
#include <cstdint>

namespace monet::cost {

// Whole numbers of magnitude below 2^63 only: std::floor is a library call without SSE 4.1.
inline double floor_of(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
inline double ceil_of(double x) {
  const double down = floor_of(x);
  return down < x ? down + 1 : down;
}

}  // namespace monet::cost
