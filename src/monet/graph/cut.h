#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/graph/region.h"

// Tiles. A tile of a node is a smaller node: the same operator over a box of its loops, reading and writing a box of
// each operand. `lower` gives its work and the interpreter its numbers, as of any node; nothing else needs to know
// operators to deal with tiles.
//
// Loops of matrix products and convolutions carry the names that `lower` gives them, except that
//  - the batch axes which lower merges into one dimension are loops of their own, "B.0", "B.1", … by axis of the
//  output;
//  - a data gradient is cut by rows of its result (IY, IX) in place of OY, OX: each element is gathered by one tile.
// Group normalisations have G and im2col B, C, OY, … likewise. Other work has one loop A0, A1, … per output axis
// (Split: per input axis) and R0, R1, … per input axis that is reduced.

namespace monet {

enum class LoopKind {
  Parallel,   // every step makes other elements
  Reduction,  // steps contribute to the same elements: results of boxes that differ here are combined
  Fixed,      // may not be cut
};
struct Loop {
  std::string name;
  std::int64_t size = 1;
  LoopKind kind = LoopKind::Parallel;
  std::string within;  // may be cut only in boxes that hold one step of that loop ("K" of one group "G"); "" : always
  std::string why;     // Fixed: the reason
  bool operator==(const Loop&) const = default;
};

// How the results of boxes that differ in reduction loops become the whole result; see interpret/combine.h. Mean and
// Statistics weigh each part by the number of elements behind each of its results.
enum class CombineKind { None, Sum, Max, Min, Mean, Statistics };
struct Combine {
  CombineKind kind = CombineKind::None;  // None: the box holds all steps of every reduction
  std::int64_t count = 1;                // steps of the reduction loops in the box
  bool operator==(const Combine&) const = default;
};

struct Cut {
  Op op;
  // One for each operand of the node. None: the tile has no such operand. An operand that the node itself lacks
  // (kNoTensor) keeps its place in the tile's list; one that the box does not touch is left out of it, such as the
  // inputs of a Concat or the outputs of a Split beside the box, or the bias for all but the first part of a reduction.
  std::vector<std::optional<Region>> inputs, outputs;
  Combine combine;
  bool operator==(const Cut&) const = default;
};

// By which loops a node can be cut. The node must be a single work (lower.h), here and below.
std::vector<Loop> loops_of(const Graph& graph, const Node& node);

// The part of a node in a box of its loops: one range, not empty, per entry of loops_of.
//
// Regions are sufficient, and the smallest boxes that hold what is read. What is multiplied with padding counts as read
// (as lower counts it as work), and where nothing is read of an operand that must be there, its region holds one
// position along that axis. The labels of a mean loss are read whole: they are counted; dy of an LRN gradient has
// the region of x.
Cut cut(const Graph& graph, const Node& node, std::span<const Range> box);

// The tile as a graph of one node (forward, no barrier: only work and numbers are the node's), its inputs sources with
// the names, formats and categories of the node's.
Graph alone(const Graph& graph, const Node& node, const Cut& part);

}  // namespace monet
