#include "monet/rewrite/pass.h"

#include "monet/graph/verify.h"

namespace monet {

Graph run_passes(Graph graph, std::span<const Pass> passes,
                 const std::function<void(const std::string&, const Graph&)>& after) {
  for (const Pass& pass : passes) {
    graph = pass.run(std::move(graph));
    verify(graph);
    if (after) after(pass.name, graph);
  }
  return graph;
}

}  // namespace monet
