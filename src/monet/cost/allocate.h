#pragma once
#include <span>

#include "monet/cost/evaluate.h"
#include "monet/cost/problem.h"

namespace monet::cost {

// Why an ordering cannot be allocated: a memory too small for what must be in it.
struct Misfit {
  std::size_t memory = 0;  // index into Core::memories
  double needed_bits = 0;  // at least
  bool operator==(const Misfit&) const = default;
};

// ZigZag's rule: from the lowest memory up, each takes for its operands the loops that leave the fewest accesses from
// above. `even`: operands sharing a memory hold the same loops in it. Fills `cuts`; false and `misfit` if some memory
// cannot hold even what lies below it.
bool allocate_greedily(const Problem& p, std::span<const TemporalLoop> order, bool even, Cuts& cuts, Misfit& misfit);

}  // namespace monet::cost
