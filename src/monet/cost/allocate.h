#pragma once
#include <span>
#include <string>

#include "monet/cost/evaluate.h"
#include "monet/cost/problem.h"

namespace monet::cost {

// Why an ordering cannot be allocated: a memory too small for what must be in it.
struct Misfit {
  enum class Kind {
    Tile,     // one operand's tile of the loops below the memory does not fit
    Tiles,    // each operand's does, all together do not
    TopTile,  // an operand's highest memory does not hold all of its loops
  };
  Kind kind = Kind::Tile;
  std::size_t memory = 0;   // index into Core::memories
  std::size_t operand = 0;  // of the layer; Tiles: the last of them
  double needed_bits = 0;   // at least
  bool operator==(const Misfit&) const = default;
};

// "memory 'rf' (64 bits) cannot hold a tile of W: at least 128 bits"
std::string to_string(const Misfit& misfit, const Layer& layer, const hardware::Core& core);

// ZigZag's rule: from the lowest memory up, each takes for its operands the loops that leave the fewest accesses from
// above. `even`: operands sharing a memory hold the same loops in it. Fills `cuts`; false and `misfit` if some memory
// cannot hold even what lies below it.
bool allocate_greedily(const Problem& p, std::span<const TemporalLoop> order, bool even, Cuts& cuts, Misfit& misfit);

}  // namespace monet::cost
