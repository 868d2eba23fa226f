#pragma once
#include <string>

#include "monet/cost/map.h"
#include "monet/hardware/hardware.h"

namespace monet {

// The mapping as a loop nest, outermost loop first; beside each loop the memory in which each operand is held inside
// of it. Loops of one dimension that no memory comes between are drawn as one.
std::string draw_nest(const cost::Mapped& mapped, const hardware::Core& core, const std::string& indent = "");

// What each memory holds of each operand and how full it is.
std::string draw_memories(const cost::Mapped& mapped, const hardware::Core& core, const std::string& indent = "");

// Who moves what: "read for the array", "filled from dram".
std::string flow_text(const cost::Mapped& mapped, const hardware::Core& core, std::size_t operand, std::size_t level,
                      hardware::Direction direction);

// Whole numbers with groups of digits, others with one decimal.
std::string quantity(double value);
// "68.3 uJ": from pJ.
std::string energy_text(double pj);
// "2 KiB", "12 bits".
std::string size_text(double bits);

// What a second buffer of a tile takes: as much again; with the quirk ordered_buffering the part that changes at once.
double second_buffer_bits(const cost::Mapped& mapped, const cost::MemoryLevel& level);

// Elements moved by a flow in all, and their bits.
double moved_bits(const cost::Mapped& mapped, std::size_t operand, std::size_t level, hardware::Direction direction);

}  // namespace monet
