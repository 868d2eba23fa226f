#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monet/numeric/format.h"

namespace monet::plan {

// The decisions for one graph on one chip, in words: which nodes are fused, how each is cut, and who runs the parts. It
// names nodes, loops and cores, so that it can be read, written and carried from run to run. What it leaves out is
// decided by default (decide.h); docs/plan.md has the form of its files.

// A loop of a node (graph/cut.h) in so many parts, as equal as they can be: `part_of` (facts.h) says where each begins.
struct Split {
  std::string loop{};
  std::int64_t parts = 1;
  bool operator==(const Split&) const = default;
};

// How one node is run, or every node whose name matches: '*' stands for any letters.
struct NodePlan {
  std::string node{};
  std::vector<std::string> cores{};  // empty: by default. The parts of `across` are dealt out to them in turn
  std::vector<Split> across{};       // parts on different cores
  std::vector<Split> tiles{};        // parts of these one after the other, the outermost loop first
  bool at_lanes = false;             // what it makes stays in the registers of its array
  bool operator==(const NodePlan&) const = default;
};

enum class Order {
  DepthFirst,    // a tile as soon as what it needs has been made: the least is kept
  BreadthFirst,  // all tiles of a node before those of the next
  Interleaved,   // the first tile of every node, then the second ones
  Pipelined,     // the same, but who waits for another unit is a tile behind it: none waits for one tile
  Overlapped,    // depth first, but while a tile of the longest node runs, other units prepare the next
};

// Nodes whose tiles run interleaved, so that what lies between them can stay on the chip. Groups run in the order of
// the plan, and each begins where the units it needs are free.
struct Group {
  std::vector<std::string> nodes{};
  Order order = Order::DepthFirst;
  bool operator==(const Group&) const = default;
};

// What becomes of an activation between its last use in the forward pass and the backward pass.
enum class Saving {
  Keep,            // where there is room: on the chip until its place is needed, off the chip then
  Recompute,       // forgotten, and rebuilt once for all that read it then
  RecomputeEach,   // rebuilt for each of them
  RecomputeTiles,  // the same, tile by tile in the group of its reader
  Spill,           // off the chip from its last use on
  Narrow,          // in a narrower format
};

// Of the activations that the backward pass needs, those whose name matches: '*' stands for any letters.
struct SavedPlan {
  std::string tensor{};
  Saving saving = Saving::Keep;
  Element narrow = Element::F8E4M3;  // of Narrow
  bool operator==(const SavedPlan&) const = default;
};

// keep, recompute, recompute_each, recompute_tiles, spill, or the name of a format.
std::string name(Saving saving, Element narrow);
std::optional<SavedPlan> saving_named(std::string_view text);

struct Plan {
  std::vector<SavedPlan> saved{};  // of several that match an activation, the last one counts; others are kept
  std::vector<Group> groups{};     // nodes that none names are put between them as the graph has them
  std::vector<NodePlan> nodes{};   // of several that match a node, the last one counts
  std::int64_t prefetch = 4;       // operands are fetched while this many tiles before, on the same unit, run
  bool operator==(const Plan&) const = default;
};

// '*' in the pattern stands for any letters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace monet::plan
