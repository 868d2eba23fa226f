#pragma once
#include <string>
#include <vector>

#include "monet/base/config_section.h"
#include "monet/hardware/hardware.h"
#include "monet/hardware/reading.h"

namespace monet::hardware {

inline constexpr config::IntegerRange kPortWidth{.least = 1, .most = kMostBitsPerCycle};

config::Section stream_section(const config::Value& value, std::string what, config::Findings& findings);
const std::vector<std::string>& zigzag_operands();  // I1, I2, O, in the order of kSlots

// The ports of a memory, whose slots are known, in either spelling.
void read_stream_ports(config::Section& memory_section, std::size_t core, std::size_t index, Memory& memory,
                       Places& places);

}  // namespace monet::hardware
