#pragma once
#include <string>
#include <vector>

#include "monet/cost/map.h"
#include "monet/hardware/load.h"
#include "monet/verbs/explain.h"

namespace monet {

// The lines about one operand in one memory: its tile, and for each flow how many words, cycles and pJ. `brief`: words
// only.
void explain_level(const cost::Mapped& mapped, const hardware::Core& core, std::size_t operand, std::size_t level,
                   bool brief, std::vector<ExplainedLine>& lines);

// "port 'read' of sram"
std::string port_name(const cost::Mapped& mapped, const hardware::Core& core, std::size_t port);

// Where a figure is from: its provenance, its source, or else the chip's file.
std::string figure_source(const hardware::Figure& figure, const hardware::Loaded& chip);

// All digits, in groups.
std::string exact_number(double value);

}  // namespace monet
