#pragma once
#include <cstdint>

#include "monet/base/rng.h"

namespace monet::solve {

// Numbers drawn one after the other from a stream of its own: who draws from (seed, generation, candidate) gets the
// same numbers on any thread, in any order.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t generation, std::uint64_t candidate)
      : seed_(mix(mix(seed) ^ generation)), stream_(candidate) {}

  double uniform() { return random_uniform(seed_, stream_, counter_++); }  // [0, 1)
  bool chance(double probability) { return uniform() < probability; }
  std::uint64_t below(std::uint64_t count) {  // 0 … count - 1; far fewer than 2^53
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(count));
  }

 private:
  std::uint64_t seed_, stream_, counter_ = 0;
};

}  // namespace monet::solve
