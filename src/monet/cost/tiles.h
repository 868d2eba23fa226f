#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "monet/cost/problem.h"

namespace monet::cost {

using Extents = std::array<double, kMaxDimensions>;

// What an operand's tiles hold, exactly: those at the edges are smaller, and padding is not stored.
struct TileCount {
  double largest = 0;   // elements
  double elements = 0;  // of all tiles together
  double granules = 0;  // Σ ceil(elements · bits / granule_bits) over all tiles
};

// How many tiles of an operand have how many elements: `temporal` are the extents of the loops inside, spatial loops
// below a level come on top; one tile for each position of the relevant loops outside. Each level is gone through once,
// whoever asks for it.
class TileSizes {
 public:
  struct Size {
    double elements = 0, times = 0;
  };
  TileSizes(const Problem& p, const OperandProblem& o, const Extents& temporal) : p_(p), o_(o), temporal_(temporal) {}

  const std::vector<Size>& all(std::size_t level) { return sizes(level, false); }
  // The fullest of those that the instances of a memory take at the same time.
  const std::vector<Size>& side_by_side(std::size_t level) { return sizes(level, true); }
  TileCount count(std::size_t level, double bits, double granule_bits);

 private:
  const std::vector<Size>& sizes(std::size_t level, bool side_by_side);

  const Problem& p_;
  const OperandProblem& o_;
  const Extents& temporal_;
  std::array<std::array<std::vector<Size>, 2>, kMaxLevels + 1> known_{};  // empty: nobody has asked
};

// Of one level, asked once.
TileCount count_tiles(const Problem& p, const OperandProblem& o, const Extents& temporal, std::size_t level,
                      double bits, double granule_bits);

// What one flow moves in all.
struct FlowCount {
  double largest = 0;  // elements of one transfer
  double moved = 0;    // elements in all
  double words = 0;    // accesses of whole words in all
  double busy = 0;     // cycles of one transfer, the largest
  double cycles = 0;   // on the port of one instance, in all
  double share = 1;    // of the tiles, those that are moved: sums are not read back before they were written
};

// The tiles of `inside` that memory `m` gives or takes in one direction, each as often as the irrelevant loops outside
// come back to it (`returns`). Sums are not read back the first time, unless they start from stored values; where
// windows overlap, first times are told apart by element (`all` are the extents of all loops).
class FlowTiles {
 public:
  FlowTiles(const Problem& p, const OperandProblem& o, std::size_t m, hardware::Direction direction, TileSizes& inside,
            double bits, TileSizes& all);
  FlowCount count(double returns) const;

 private:
  TileCount tiles_;
  double first_ = 0;  // elements that are not read the first time
  double copies_, min_bits_ = 0, max_bits_ = 0;
  double busy_ = 0, cycles_ = 0;  // of the largest tile, and of all, on the port of one instance
};

}  // namespace monet::cost
