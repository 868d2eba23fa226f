#pragma once
#include <cstdint>
#include <string>

#include "support/nest_simulator.h"
#include "support/setting.h"

namespace monet::test {

// Small loop nests of every kind a training iteration has, on small cores of every shape, for the oracle to walk.
struct RandomNest {
  SimulatedNest nest{};
  bool scatters = false;  // the output is addressed by a sum of dimensions
};

struct NestLimits {
  std::int64_t iterations = 512;
  std::int64_t lanes = 24;
  bool replicates = true;    // memories with several instances
  std::int64_t wider = 1;    // times the width that ports would have
  bool deep_padding = true;  // windows that lie in the padding altogether; off: none does, as in real layers
};

// The same for the same seed and number.
RandomNest random_nest(std::uint64_t seed, std::uint64_t number, const NestLimits& limits);

// How many to draw: as usual, or a part of what MONET_NESTS says.
inline std::uint64_t nests(std::uint64_t usual, std::uint64_t part = 1) {
  return setting("MONET_NESTS", usual * part) / part;
}

std::string describe(const SimulatedNest& nest);

}  // namespace monet::test
