#pragma once
#include <string>
#include <vector>

#include "monet/schedule/timeline.h"

namespace monet::test {

// What is wrong with a timeline, found by following every value through it: an oracle that shares no code with the
// scheduler. Empty: every unit runs one tile at a time, every tile reads the value the order of tiles says, at a place
// that holds nothing else meanwhile, no channel carries more than it can, and what belongs home is there at the end.
std::vector<std::string> faults(const schedule::Problem& problem, const schedule::Timeline& timeline);

}  // namespace monet::test
