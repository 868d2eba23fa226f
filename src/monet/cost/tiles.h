#pragma once
#include <array>
#include <cstddef>

#include "monet/cost/problem.h"

namespace monet::cost {

using Extents = std::array<double, kMaxDimensions>;

// What an operand's tiles hold, exactly: those at the edges are smaller, and padding is not stored.
struct TileCount {
  double largest = 0;   // elements
  double elements = 0;  // of all tiles together
  double granules = 0;  // Σ ceil(elements · bits / granule_bits) over all tiles
};

// All tiles of an operand: `temporal` are the extents of the loops inside, spatial loops below `level` come on top; one
// tile for each position of the relevant loops outside.
TileCount count_tiles(const Problem& p, const OperandProblem& o, const Extents& temporal, std::size_t level,
                      double bits, double granule_bits);

}  // namespace monet::cost
