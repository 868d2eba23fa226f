#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "monet/cost/problem.h"

namespace monet::cost {

// The temporal loops of a problem: prime factors of what is left of each dimension, in the order of the dimensions.
// With a limit, the two smallest factors of the dimension that has the most are multiplied until there are no more than
// `limit` loops (never fewer than one a dimension). No loop left: one of size 1.
std::vector<TemporalLoop> temporal_loops(const Problem& p, std::size_t limit = 0);

// All distinct orderings of a list of loops, one after the other, by prefix shifts: the order of ZigZag's search, which
// decides between equally good orderings.
class Orderings {
 public:
  Orderings(const Problem& p, std::span<const TemporalLoop> loops);
  bool next();  // false when all were given
  std::span<const TemporalLoop> current() const { return current_; }

 private:
  std::vector<std::uint32_t> value_, next_;  // a linked list of kinds of loops, largest first
  std::vector<TemporalLoop> kinds_, current_;
  std::uint32_t head_ = 0, i_ = 0, j_ = 0;
  bool started_ = false;
};

// How many there are; infinity where a double cannot say.
double orderings_of(std::span<const TemporalLoop> loops);

}  // namespace monet::cost
