#pragma once
#include "monet/hardware/hardware.h"
#include "monet/schedule/stream.h"

namespace monet::schedule {

// Cores, top memories, links and the way between any two cores, as Stream makes them of an accelerator (N1 to N3 in
// docs/stream.md). Fills those parts of `problem`; core ids are indices of hardware.cores. Returns why there are none.
std::string add_stream_network(const hardware::Hardware& hardware, StreamProblem& problem);

}  // namespace monet::schedule
