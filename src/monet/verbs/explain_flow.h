#pragma once
#include <string>
#include <vector>

#include "monet/cost/map.h"
#include "monet/verbs/explain.h"
#include "monet/verbs/explain_inputs.h"

namespace monet {

// The lines about one operand in one memory: its tile, and for each flow how many words, cycles and pJ. `brief`: words
// only.
void explain_level(const cost::Mapped& mapped, const hardware::Core& core, const ChipInputs& inputs,
                   std::size_t operand, std::size_t level, bool brief, std::vector<ExplainedLine>& lines);

// "port 'read' of sram"
std::string port_name(const cost::Mapped& mapped, const hardware::Core& core, std::size_t port);

// Cycles a port is at work in all.
double busy_cycles(const cost::Mapped& mapped, std::size_t port);

// All digits, in groups.
std::string exact_number(double value);

}  // namespace monet
