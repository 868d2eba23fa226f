#pragma once
#include <string>

#include "monet/base/watch.h"

namespace monet {

// "5120/10000 points, 2.3/s, front 15 training 12 inference, 35 min left": how a computation stands `seconds` after it
// began to count these parts. What was known before took none of them.
std::string status_text(const Progress& progress, const Deadline& deadline, double seconds);

}  // namespace monet
