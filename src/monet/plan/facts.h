#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "monet/graph/cut.h"
#include "monet/graph/graph.h"
#include "monet/hardware/hardware.h"
#include "monet/plan/machine.h"

namespace monet::plan {

// What plans need to know of a node: its loops, the kind of work it is, and how its operands follow its loops.

struct OperandFacts {
  bool is_there = false;
  bool is_read = true;                          // not only for its shape
  bool is_looked_up = false;                    // a table, of which indices say what little is read
  bool is_streamed = false;                     // a state that a fused update brings up to date, element by element
  hardware::Slot slot = hardware::Slot::Input;  // in which of its core's stores a tile has it
  double bits = 0;                              // of one element as stored
  double sum_bits = 0;                          // outputs: of one element while it is being summed up
  std::uint64_t moves_with = 0;                 // loops, as bits, along which its part is another one
  std::vector<std::int8_t> axes{};              // by loop: the one axis along which it then is, or -1
};

struct Facts {
  std::vector<Loop> loops{};  // at most 64
  bool is_nest = false, is_view = false;
  hardware::WorkClass kind = hardware::WorkClass::Elementwise;
  double operations = 0;  // multiply-adds, or element functions
  double moved_bits = 0;  // all operands whole
  std::vector<OperandFacts> inputs{}, outputs{};
  NodeId first_alike = kNoNode;  // of the same graph: its operator and operands are the same; kNoNode: not looked for
};

// A graph and the facts of its nodes, among which nodes of other graphs find theirs. Never changed once it is made.
class KnownFacts {
 public:
  KnownFacts() = default;
  explicit KnownFacts(Graph graph);
  // The first node that is like a node of another graph; kNoNode if none is.
  NodeId like(const Graph& graph, const Node& node) const;
  const Facts& operator[](NodeId node) const { return facts_[node.index()]; }
  std::size_t size() const { return facts_.size(); }

 private:
  Graph graph_;
  std::vector<Facts> facts_;                                   // by node
  std::unordered_map<std::uint64_t, std::vector<NodeId>> by_;  // by likeness: the first ones of their kinds
};

// The node must be a single work.
Facts facts_of(const Graph& graph, const Node& node);
// Of all nodes; those that are like known ones, or like another one before, are not looked at twice.
std::vector<Facts> facts_of(const Graph& graph, const KnownFacts& known = {});

// Part `index` of `parts` of a range, as equal as they can be, the first one as long as any. Six parts begin where
// every second one of twelve does, so that tensors cut by both lie in twelve blocks.
Range part_of(const Range& range, std::int64_t parts, std::int64_t index);

// The first box of a node whose loops are in so many parts: none is larger.
std::vector<Range> first_box(const Facts& facts, std::span<const std::int64_t> parts);

// Bytes each operand of a tile takes in its store; sums of a reduction in parts take both what they are and what they
// become.
struct TileBytes {
  std::vector<double> inputs{}, outputs{};
};
TileBytes tile_bytes(const Facts& facts, const Cut& part);

// Whether a core may run the node: it has a unit for it, and takes such work.
bool can_run(const CoreOnChip& core, const Facts& facts);
bool takes(const CoreOnChip& core, const Facts& facts);
// Lanes the core has for it.
double lanes(const CoreOnChip& core, const Facts& facts);

}  // namespace monet::plan
