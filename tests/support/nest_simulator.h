#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "monet/cost/evaluate.h"
#include "monet/cost/layer.h"
#include "monet/cost/spatial.h"
#include "monet/hardware/hardware.h"

namespace monet::test {

// The oracle of the cost model's default mode: walks a loop nest iteration by iteration and lane by lane through the
// memories of a core, with real sets of elements, and uses nothing of the model but the values that describe the nest.
// The machine is described in docs/simulator.md.

struct SimulatedNest {
  cost::Layer layer{};
  hardware::Core core{};
  cost::Spatial spatial{};                  // the lanes that are used; what does not divide is idle at the edge
  std::vector<cost::TemporalLoop> order{};  // inner to outer
  cost::Cuts cuts{};
  std::array<std::array<bool, cost::kMaxMemories>, cost::kMaxOperands> doubled{};
};

// What one operand does, worked out once: everything both simulations walk over.
struct Trace {
  bool is_output = false;
  std::size_t lanes = 0, iterations = 0;
  std::vector<std::size_t> memory{};                   // lowest to highest: index into Core::memories
  std::vector<std::int64_t> element{};                 // [iteration · lanes + lane]; -1: idle, or padding
  std::vector<std::vector<std::uint32_t>> instance{};  // [memory][lane]: the instance above the lane
  std::vector<std::size_t> instances{};                // of each memory
  // stays[0]: iterations that a lane works on the same element, stays[1 + m]: that memory m keeps a tile
  std::vector<std::size_t> stays{};
};

std::vector<Trace> trace(const SimulatedNest& nest);

struct Traffic {
  double moved = 0;  // elements
  double words = 0;  // accesses of whole words
};

// By operand, its memories from lowest to highest, and direction.
using Counts = std::vector<std::vector<std::array<Traffic, 4>>>;
Counts count_traffic(const SimulatedNest& nest);

// From the first load to the last output element in its top memory.
std::size_t count_cycles(const SimulatedNest& nest);

// The port of a memory that serves one direction of one operand.
const hardware::Port& port_of(const hardware::Memory& memory, hardware::Slot slot, hardware::Direction direction);

}  // namespace monet::test
