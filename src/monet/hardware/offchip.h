#pragma once
#include "monet/hardware/hardware.h"

namespace monet::hardware {

// A core with the chip's off-chip memory on top of its own, as it is seen from the core: no wider than the narrowest
// link on the way. A core that holds the off-chip memory itself, and chips without one, are left as they are.
Core with_offchip(const Hardware& hardware, CoreId core);

}  // namespace monet::hardware
