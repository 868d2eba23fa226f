#pragma once
#include <functional>
#include <span>
#include <string>

#include "monet/graph/graph.h"

namespace monet {

// A named Graph -> Graph function.
struct Pass {
  std::string name;
  std::function<Graph(Graph)> run;
};

// Runs the passes in order and verifies after each. `after`, if any, sees every intermediate graph.
Graph run_passes(Graph graph, std::span<const Pass> passes,
                 const std::function<void(const std::string&, const Graph&)>& after = {});

}  // namespace monet
