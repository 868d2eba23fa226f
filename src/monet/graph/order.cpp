#include "monet/graph/order.h"

#include <algorithm>

namespace monet {

std::vector<std::vector<NodeId>> predecessors(const Graph& graph, const Storage& storage) {
  struct Access {
    std::vector<NodeId> writers{}, readers{};  // since it was overwritten for the last time
  };
  std::vector<std::vector<NodeId>> before(graph.nodes.size());
  std::vector<Access> last(graph.tensors.size());  // by root
  std::vector<NodeId> gradients, barriers;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::vector<NodeId>& list = before[i];
    const auto add = [&](const std::vector<NodeId>& nodes) { list.insert(list.end(), nodes.begin(), nodes.end()); };
    for (const TensorId t : node.inputs) {
      if (t == kNoTensor) continue;
      Access& access = last[storage.root(t).index()];
      add(access.writers);
      access.readers.push_back(NodeId{i});
    }
    bool updates = false;
    for (const TensorId t : node.outputs) {
      if (t == kNoTensor) continue;
      Access& access = last[storage.root(t).index()];
      if (graph[t].overwrites == kNoTensor) {
        access.writers.push_back(NodeId{i});
        continue;
      }
      updates = true;
      add(access.writers);
      add(access.readers);
      access = {.writers = {NodeId{i}}};
    }
    if (node.barrier) {
      add(gradients);
      barriers.push_back(NodeId{i});
    } else if (node.phase == Phase::Backward) {
      gradients.push_back(NodeId{i});
    } else if (node.phase == Phase::Update && updates) {
      add(barriers);
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::erase(list, NodeId{i});
  }
  return before;
}

}  // namespace monet
