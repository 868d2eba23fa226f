#pragma once
#include "monet/cost/map.h"
#include "monet/verbs/explain.h"

namespace monet {

// What a mapped layer's cycles and energy are spent on, and what holds it back: of the losses (idle lanes, waiting for
// a port, first loads and last stores) the largest, if it is more than a hundredth of the time; else the array itself.
Bound find_bound(const cost::Mapped& mapped, const hardware::Core& core);

}  // namespace monet
