#pragma once
#include <string>
#include <vector>

#include "monet/cost/quirks.h"
#include "monet/cost/request.h"
#include "monet/cost/search.h"
#include "monet/hardware/hardware.h"

namespace monet {

// What a user asks of a mapping, in the words of the command line. All throw InputError with the nearest name.

// "zigzag": all of them; names with commas between; "zigzag,-worst-port": all but one.
cost::Quirks parse_quirks(const std::string& text);

cost::Criterion parse_criterion(const std::string& text);  // latency, energy, edp

// "C2 FX3 * OY*": loops from the inside out; "*": whatever, as a factor or as a loop.
std::vector<cost::LoopPattern> parse_order(const std::string& text, const cost::Layer& layer);

// "D1=K32 D2=C8,FX3": loops per array dimension.
cost::Named<std::vector<hardware::Unrolling>> parse_spatial(const std::string& text, const cost::Layer& layer,
                                                            const hardware::Core& core);

// "W@rf_128B=K2 C3; I@sram=": the temporal loops inside of which a memory keeps its tile of an operand.
std::vector<cost::Placement> parse_placements(const std::string& text, const cost::Layer& layer,
                                              const hardware::Core& core);

}  // namespace monet
