#pragma once
#include <vector>

#include "monet/schedule/problem.h"

namespace monet::schedule {

// What flows through a store while a tile runs (`streamed`: in and out, all together) takes cycles of the store's ports
// as a transfer does. The tile's demands, which others may share, become its own, at the end of them all.
void add_stream(const Machine& machine, const Flow& streamed, std::vector<PortDemand>& demands, Tile& tile);

}  // namespace monet::schedule
