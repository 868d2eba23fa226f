#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "monet/graph/graph.h"

namespace monet {

// The weights that `what` trains: "all", "last" (those of the last layer), or a regular expression searched in their
// names. Throws InputError for a bad expression or one that matches nothing. ("none" and "lora" are the caller's.)
std::vector<TensorId> select_weights(const Graph& forward, std::string_view what);

}  // namespace monet
