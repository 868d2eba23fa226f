#pragma once
#include <cstdint>
#include <vector>

#include "monet/base/id.h"
#include "monet/plan/machine.h"

namespace monet::schedule {

// What the scheduler is given: nothing of graphs is left. Tiles, in the order in which they are decided, read and
// write blocks of data; blocks lie in stores (the memories that tensors live in) and move over channels. Times are
// cycles, sizes bytes, rates bytes a cycle, energies pJ.

using plan::Channel;
using plan::ChannelId;
using plan::Machine;
using plan::PortId;
using plan::Route;
using plan::Store;
using plan::StoreId;
using plan::Unit;
using plan::UnitId;
using BlockId = Id<struct BlockTag>;
using TileId = Id<struct TileTag>;

// A part of a tensor: what moves and is kept as one. Written again (an update in place, a sum that grows), it is the
// same block with a new value.
struct Block {
  std::int64_t bytes = 0;
  double efficiency = 1;        // part of the home's bandwidth that its runs of consecutive addresses reach
  bool starts_at_home = false;  // it has a value before the first tile
  bool ends_at_home = false;    // its last value must be there after the last one
  bool operator==(const Block&) const = default;
};

enum class Access { Read, Write, Update };  // Update: reads the old value and writes the new one in its place

struct Use {
  BlockId block{};
  StoreId store{};  // where the tile wants it
  Access access = Access::Read;
  bool leaves = false;  // afterwards it goes home, and no place is kept for it on the chip
  bool operator==(const Use&) const = default;
};

// An operand too large for its store flows past it, from or to the home, all the time the tile runs.
struct Flow {
  BlockId block{};
  Access access = Access::Read;
  StoreId store{};         // at whose routes
  double in = 0, out = 0;  // bytes from the home and to it, in all
  bool operator==(const Flow&) const = default;
};

// The cycles of a port that a tile takes while it runs: one for every word.
struct PortDemand {
  PortId port{};
  double cycles = 0;
  bool operator==(const PortDemand&) const = default;
};

struct Tile {
  UnitId unit{};
  double cycles = 0;
  std::uint32_t first_use = 0, uses = 0;        // of Problem::uses
  std::uint32_t first_flow = 0, flows = 0;      // of Problem::flows
  std::uint32_t first_demand = 0, demands = 0;  // of Problem::demands, which tiles alike share
  bool operator==(const Tile&) const = default;
};

struct Problem {
  Machine machine{};
  std::vector<Block> blocks{};
  std::vector<Tile> tiles{};
  std::vector<Use> uses{};
  std::vector<Flow> flows{};
  std::vector<PortDemand> demands{};
  std::int64_t prefetch = 1;  // what a tile needs is fetched while this many before it, on its unit, run
  bool operator==(const Problem&) const = default;
};

}  // namespace monet::schedule
