#pragma once
#include "monet/schedule/tiling.h"

namespace monet::schedule {

// Says of which uses the blocks of spilled tensors (plan::Decided) leave the chip: the last ones in the forward pass,
// if there are later ones.
void mark_spills(const TilingInput& input, Tiled& tiled);

}  // namespace monet::schedule
