#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

namespace monet {

// Counter-based random numbers: the value depends on (seed, stream, counter) only, so any element can be
// drawn, or drawn again, in any order and on any thread. The mixer is the finaliser of SplitMix64.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  return mix(mix(mix(seed) ^ stream) ^ counter);
}

// In [0, 1), 53 random bits.
constexpr double random_uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  return static_cast<double>(random_bits(seed, stream, counter) >> 11) * 0x1.0p-53;
}

// Standard normal by Box-Muller on two draws of the same counter.
inline double random_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter) {
  const double u = 1.0 - random_uniform(seed, stream, 2 * counter);
  const double v = random_uniform(seed, stream, 2 * counter + 1);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace monet
