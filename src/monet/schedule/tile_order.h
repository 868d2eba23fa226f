#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "monet/plan/plan.h"

namespace monet::schedule {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();  // instead of an index

// What one tile of a group does to blocks.
struct TileAccess {
  std::uint32_t block = 0;
  bool reads = false, writes = false;
};
struct GroupTile {
  std::uint32_t node = 0;              // position in the group
  std::uint32_t first = 0, count = 0;  // of the accesses
  std::uint32_t unit = 0;              // that runs it
  double cycles = 0;
};

// An order of the tiles of a fused group, which are given as their nodes stand in the graph. Every tile comes after
// those whose values it reads, and those that read or wrote what it writes. Depth first: the tiles of the last nodes in
// their order, each right after what it needs; what nobody in the group waits for (statistics, saved values) follows
// its last input at once; units among one another by time. Interleaved: the first tiles of all nodes, then the second
// ones, each after what it needs. Pipelined: the same with nodes that read what another unit makes one tile behind
// those that make it. Overlapped: depth first, but while a tile of the longest node runs, other units go on with what
// the one after it needs.
std::vector<std::uint32_t> order_tiles(std::span<const GroupTile> tiles, std::span<const TileAccess> accesses,
                                       std::size_t nodes, plan::Order order);

}  // namespace monet::schedule
