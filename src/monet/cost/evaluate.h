#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "monet/cost/problem.h"

namespace monet::cost {

// The cost of one mapping: where each operand's loops are cut between its memories, what moves between those memories,
// how long it takes and what it uses. Equation numbers are those of docs/cost.md.

// cut[o][m]: how many loops of the ordering (from the inside) operand o has in its memories 0..m together.
using Cuts = std::array<std::array<std::uint8_t, kMaxMemories>, kMaxOperands>;

// What crosses one side of one memory in one direction. All zero where nothing does.
struct Flow {
  double elements = 0;      // per period, all that one instance sends or takes
  double bits = 0;          // of one element
  double period = 0;        // cycles between two transfers
  double periods = 0;       // how many there are
  double window = 0;        // cycles of a period in which a single buffer may be refilled
  double busy = 0;          // cycles one transfer takes on its port, the largest
  double cycles = 0;        // all of them together
  double share = 1;         // of the periods, those in which there is one: sums come back on later visits only
  double allowed = 0;       // cycles it may take without stopping the array
  double average_bits = 0;  // per cycle, over the period
  double instant_bits = 0;  // per cycle, over the part of the period in which a single buffer may be refilled
  double words = 0;         // accesses of whole words, all instances, all periods
  double moved = 0;         // elements, all instances, all periods
  double waited = 0;        // of the first (or only) transfer, what is not hidden
};

struct MemoryLevel {
  std::array<Flow, 4> flows{};  // by Direction
  double tile_bits = 0;         // held by one instance
  double spare_bits = 0;        // a second buffer needs: the part of the tile that changes at once
  bool is_double_buffered = false;
  double energy_pj = 0;
};

struct PortStall {
  double stall = 0;  // cycles this port alone stops the array, negative: slack
  double busy = 0;   // cycles in all
};

// Where the array waits: after every `period` cycles of computation, for a port, some cycles.
struct Wait {
  double period = 0, periods = 0;
  double cycles = 0;  // each time
  std::uint32_t port = 0;
};

struct Costs {
  double energy_pj = 0;
  double latency = 0;
  bool operator==(const Costs&) const = default;
};

// A caller-owned scratch pad and the result in detail. Large: keep one per thread.
struct Evaluation {
  Cuts cuts{};                                                         // as allocated
  std::array<std::array<bool, kMaxMemories>, kMaxOperands> doubled{};  // second buffers, as allocated
  Cuts merged_cuts{};                             // leading irrelevant loops of a memory belong to the one below
  std::array<double, kMaxOperands> stationary{};  // cycles an operand stays in the array's input
  std::array<std::array<MemoryLevel, kMaxMemories>, kMaxOperands> levels{};
  std::vector<PortStall> ports{};
  std::vector<Wait> waits{};
  double mac_energy_pj = 0, memory_energy_pj = 0, static_energy_pj = 0, energy_pj = 0;
  double ideal_cycles = 0;     // all lanes busy
  double temporal_cycles = 0;  // product of the temporal loops
  double stall = 0, onload = 0, offload = 0, latency = 0;
};

// Fills `e` from `order`, e.cuts and e.doubled (the quirk ordered_buffering decides the latter itself).
Costs evaluate(const Problem& p, std::span<const TemporalLoop> order, Evaluation& e);

}  // namespace monet::cost
