#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "monet/hardware/hardware.h"
#include "monet/work/work.h"

namespace monet::cost {

// The cost of element-wise work, reductions and data movement on a core: every element that is read comes down from the
// operand's highest memory to the lanes once, every one that is written goes up once, all of it streaming, so the
// slowest of the lanes and the ports decides. Equations in docs/cost.md.

struct VectorAccess {
  hardware::Slot slot = hardware::Slot::Input;
  std::size_t memory = 0;  // of Core::memories
  hardware::Direction direction = hardware::Direction::ReadToLow;
  double words = 0;
  double bits = 0;
  double energy_pj = 0;
};

// What passes through a port.
struct VectorPort {
  std::size_t memory = 0, port = 0;  // Core::memories[memory].ports[port]
  double words = 0;                  // of one instance; those of a transposed read by how much slower it is
};

// A function the core has no figure for, done by its multipliers.
struct StandIn {
  work::ElementFunction function = work::ElementFunction::Exp;
  double operations = 1;  // multiply-adds an evaluation, assumed
};

struct VectorCost {
  double latency = 0;         // cycles
  double compute_cycles = 0;  // of the lanes
  double fill_cycles = 0;     // of the first word down and the last one up
  double compute_energy_pj = 0, memory_energy_pj = 0, static_energy_pj = 0, energy_pj = 0;
  std::vector<VectorAccess> accesses{};
  std::vector<VectorPort> ports{};   // that anything passes through
  std::string bound_by{};            // "lanes", or "memory.port"
  std::vector<StandIn> stand_ins{};  // empty: every figure is the core's
};

// A core without a vector unit uses the lanes of its array. InputError if it has neither, or no memory for an operand.
// `at_lanes`, by hardware::Slot: operands that lie in the lowest memory of the slot and pass through none above it.
VectorCost vector_cost(const work::VectorWork& work, const hardware::Core& core, double clock_hz = 0,
                       const std::array<bool, 3>& at_lanes = {});

// The slot through which an operand is read, by its position: two come in beside each other where one memory has a way
// for each.
hardware::Slot read_slot(const hardware::Core& core, std::size_t operand);

}  // namespace monet::cost
