#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/graph/region.h"
#include "monet/graph/storage.h"
#include "monet/plan/decide.h"
#include "monet/schedule/grid.h"
#include "monet/schedule/problem.h"
#include "monet/schedule/tile_costs.h"

namespace monet::schedule {

// A graph on a chip under a plan, as the tiles and blocks that the scheduler is given, and what each of them is. Rules
// in docs/schedule.md.

// What a tile does: a box of a node, or the combination of sums that several cores have made.
struct TileInfo {
  NodeId node{};
  std::uint32_t core = 0;                // of Chip::cores
  std::uint32_t kind = 0;                // of Tiled::kinds
  std::uint32_t first_range = 0;         // of Tiled::ranges: its box, one range per loop
  std::uint32_t result = 0;              // boxes of one node that differ in reduced loops alone share it
  std::uint32_t part = 0;                // of the cores that sum up the same result, which one
  bool is_first = true, is_last = true;  // of those that add to one place
  bool is_combination = false;
  bool operator==(const TileInfo&) const = default;
};

// What a block is: a cell of a tensor's storage, or a place where a part of a node's output is summed up.
struct BlockInfo {
  TensorId tensor{};       // the root of the storage, or the output that is summed up
  std::uint32_t cell = 0;  // of its grid
  bool is_sum = false;
  std::uint32_t first_range = 0;  // of Tiled::ranges: the box of a sum
  bool operator==(const BlockInfo&) const = default;
};

struct Tiled {
  Problem problem{};
  std::vector<TileInfo> tiles{};
  std::vector<BlockInfo> blocks{};
  std::vector<Range> ranges{};
  std::vector<TileKind> kinds{};
  std::vector<Grid> grids{};                 // by tensor; of roots only
  std::vector<std::uint32_t> first_block{};  // by tensor: of the cells of its grid; roots only
  std::vector<std::uint32_t> group{};        // by node
  // Of each flow, in and out: whether the home's energy is not in the tile's own cost.
  struct Extra {
    bool in = false, out = false;
    bool is_through = false;  // the words that come are written to the store, those that go read from it
  };
  std::vector<Extra> flow_is_extra{};
  std::uint32_t tiles_of_iteration = 0;   // as many in each, one iteration after the other
  std::uint32_t blocks_of_iteration = 0;  // of the first one; others have some of their own
  std::vector<std::string> notes{};
};

// Why there is no schedule: the inequality that does not hold, and what would mend it.
struct Infeasible {
  std::string reason{};
  std::vector<std::string> levers{};
};

struct TilingInput {
  const Graph& graph;  // every node a single work
  const Storage& storage;
  const std::vector<plan::Facts>& facts;
  const plan::Chip& chip;
  const hardware::Hardware& hardware;  // of the chip
  const plan::Decided& decided;
  CostOptions costs{};
  std::int64_t iterations = 1;
  bool exact_reads = false;  // slivers are not read with their neighbours
};

std::variant<Tiled, Infeasible> tile(const TilingInput& input);

}  // namespace monet::schedule
