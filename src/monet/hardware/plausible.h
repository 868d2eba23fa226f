#pragma once
#include <vector>

#include "monet/hardware/verify.h"

namespace monet::hardware {

// Values that can be, but hardly are: energies outside of what is published, a larger memory cheaper than a smaller
// one. All of them warnings; a description that earns one is often in another unit than it says.
std::vector<Fault> doubts(const Hardware& hardware);

// Energy of one bit of the widest word, as memories are compared.
double read_pj_per_bit(const Memory& memory);
double write_pj_per_bit(const Memory& memory);

}  // namespace monet::hardware
