#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "monet/schedule/problem.h"

namespace monet::schedule {

// What the scheduler makes of a problem: when every tile runs, when every block moves, and where it lies in between.

// Why something did not begin earlier; `index` is a tile or a transfer.
struct Cause {
  enum class Kind {
    Nothing,         // it began as early as anything can
    Unit,            // the tile before on the same unit
    Tile,            // the tile that made the data, was the last to use the place, or kept the channel busy with a flow
    Transfer,        // the transfer that brought the data, or took away what lay in the place
    Channel,         // another transfer over the same channel
    TileAtPort,      // the tile that took the cycles of a port
    TransferAtPort,  // the transfer that did
  };
  Kind kind = Kind::Nothing;
  std::uint32_t index = 0;
  PortId port{};  // of the last two
  bool operator==(const Cause&) const = default;
};

struct TileTime {
  double start = 0, end = 0;
  Cause cause{};
  bool operator==(const TileTime&) const = default;
};

enum class Purpose {
  Fetch,   // a tile needs it
  Spill,   // its place is needed, its value still is, too
  Return,  // its last value belongs home
};

struct Transfer {
  BlockId block{};
  StoreId from{}, to{};
  Purpose purpose = Purpose::Fetch;
  TileId tile{};  // for the sake of which
  std::uint32_t from_stay = 0, to_stay = 0;
  std::uint32_t carried_by = 0;  // another transfer of the same block whose channels it shares, or its own index
  double start = 0, end = 0;
  double passed = 0;  // the channels; it ends later if it waits for a port
  Cause cause{};
  bool operator==(const Transfer&) const = default;
};

// A block in a store, from the moment its place is taken.
struct Stay {
  BlockId block{};
  StoreId store{};
  std::int64_t address = 0;
  double from = 0, to = 0;
  bool operator==(const Stay&) const = default;
};

struct Timeline {
  std::vector<TileTime> tiles{};
  std::vector<Transfer> transfers{};
  std::vector<Stay> stays{};
  std::vector<std::uint32_t> use_stays{}, flow_stays{};  // where Problem::uses and flows find their blocks
  double cycles = 0;                                     // until the last tile and the last transfer have ended
  bool operator==(const Timeline&) const = default;
};

// A block that finds no place, however much is moved away.
struct NoRoom {
  TileId tile{};
  StoreId store{};
  BlockId block{};
  std::int64_t wanted_bytes = 0;  // by the block
  std::int64_t pinned_bytes = 0;  // of what the same tile needs, and is there
  std::int64_t store_bytes = 0;
  std::vector<BlockId> pinned{};
  bool operator==(const NoRoom&) const = default;
};

using Scheduled = std::variant<Timeline, NoRoom>;

// Decides tile by tile, in the order given: what it needs is fetched while the tile before on its unit runs, from the
// store where it can be had first; if there is no room, what is used last is moved away. Deterministic.
Scheduled schedule(const Problem& problem);

}  // namespace monet::schedule
