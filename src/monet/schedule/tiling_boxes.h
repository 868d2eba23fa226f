#pragma once
#include <cstdint>
#include <vector>

#include "monet/graph/region.h"
#include "monet/plan/decide.h"

namespace monet::schedule {

// One box of a node and who runs it.
struct Boxed {
  std::uint32_t core = 0;    // of Chip::cores
  std::uint32_t result = 0;  // the same for boxes that differ in reduced loops alone
  std::uint32_t sharer = 0;  // of the cores that sum up the same result
  std::uint32_t results = 1, sharers = 1;
  std::vector<Range> ranges{};  // by loop
  std::size_t place() const { return static_cast<std::size_t>(result) * sharers + sharer; }
};

// The boxes of a node in the order in which they are worked on: the first of every core, the second of every core, …
std::vector<Boxed> boxes_of(const plan::Facts& facts, const plan::NodeChoice& choice);

}  // namespace monet::schedule
