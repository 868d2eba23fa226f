#pragma once
#include <optional>
#include <vector>

#include "monet/schedule/tiling.h"
#include "monet/schedule/tiling_draft.h"

namespace monet::schedule {

// A plan can ask for more than a machine can hold: found out before it is made.
std::optional<Infeasible> too_many_tiles(const TilingInput& input);
std::optional<Infeasible> too_many_parts(const Graph& graph, const std::vector<Drafted>& tiles,
                                         const std::vector<Piece>& pieces, const std::vector<Range>& boxes,
                                         const std::vector<Grid>& grids);

}  // namespace monet::schedule
