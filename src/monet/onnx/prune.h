#pragma once
#include <string>
#include <unordered_set>

#include "monet/graph/graph.h"

namespace monet {

// Takes out those of the named nodes whose results nobody reads, and the constants only they read.
void remove_unread(Graph& graph, const std::unordered_set<std::string>& nodes);

}  // namespace monet
