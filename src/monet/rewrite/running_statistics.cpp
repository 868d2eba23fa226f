#include "monet/rewrite/running_statistics.h"

#include <algorithm>

#include "monet/rewrite/dead_nodes.h"

namespace monet {

Graph use_running_statistics(Graph graph) {
  const Uses u = uses(graph);
  for (Node& node : graph.nodes) {
    Norm* norm = std::get_if<Norm>(&node.op);
    if (!norm || norm->kind != NormKind::Batch || node.inputs.size() < 5 || node.inputs[3] == kNoTensor ||
        node.inputs[4] == kNoTensor)
      continue;
    const auto is_read = [&](TensorId t) { return t != kNoTensor && !u.consumers[t.index()].empty(); };
    if (std::any_of(node.outputs.begin() + 1, node.outputs.end(), is_read)) continue;
    norm->kind = NormKind::FrozenBatch;
    norm->momentum = Norm{}.momentum;
    std::erase_if(graph.outputs, [&](TensorId t) {
      return std::find(node.outputs.begin() + 1, node.outputs.end(), t) != node.outputs.end();
    });
    node.outputs.resize(1);
  }
  return remove_dead_nodes(std::move(graph));
}

}  // namespace monet
