// Recomputation by graph rewriting (MONET section on checkpointing; Chen et al., arXiv 1604.06174). A dropped
// activation's producer is cloned, and so on back to tensors that are there anyway: other saved activations, inputs,
// weights. Clones are the same operators on the same values, so gradients stay bit-identical. Batch-norm clones leave
// the running statistics alone; dropout clones draw the same mask from the same seed. With sharing, a chain is rebuilt
// once.
#include "monet/rewrite/recompute.h"

#include <unordered_map>

#include "monet/graph/builder.h"
#include "monet/graph/saved.h"
#include "monet/rewrite/dead_nodes.h"

namespace monet {
namespace {

class Recomputer {
 public:
  Recomputer(Graph graph, std::span<const TensorId> dropped, const RecomputeOptions& options)
      : o_(options),
        root_(view_roots(graph)),
        producer_(uses(graph).producer),
        kept_(graph.tensors.size(), false),
        forward_(graph.tensors.size(), false) {
    for (const Node& node : graph.nodes)
      for (const TensorId t : node.outputs)
        if (t != kNoTensor) forward_[t.index()] = node.phase == Phase::Forward || node.phase == Phase::Loss;
    for (const TensorId t : saved_activations(graph)) kept_[t.index()] = true;
    for (const TensorId t : dropped) kept_[root_[t.index()].index()] = false;
    nodes_ = std::move(graph.nodes);
    graph.nodes.clear();
    builder_.emplace(std::move(graph));
  }

  Graph run() {
    Builder& b = *builder_;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      Node node = nodes_[n];
      if (node.phase == Phase::Backward || node.phase == Phase::Update || node.phase == Phase::Recompute) {
        if (o_.per_consumer) clones_.clear();
        for (TensorId& t : node.inputs) t = rebuilt(t);
        std::erase_if(node.holds, [&](TensorId t) { return !is_available(t); });
      }
      b.graph().nodes.push_back(std::move(node));
    }
    return remove_dead_nodes(std::move(b).finish());
  }

 private:
  // Sources and gradients are always there; of the forward pass, what is still saved.
  bool is_available(TensorId t) const {
    const TensorId root = root_[t.index()];
    const NodeId by = producer_[root.index()];
    return by == kNoNode || !forward_[root.index()] || kept_[root.index()] ||
           (*builder_)[root].category == Category::ModelState;
  }

  TensorId rebuilt(TensorId t) {
    if (t == kNoTensor || t.index() >= root_.size() || is_available(t)) return t;
    if (const auto it = clones_.find(t.value); it != clones_.end()) return it->second;
    // An explicit stack: chains can be as long as the model is deep.
    std::vector<NodeId> stack{producer_[t.index()]};
    while (!stack.empty()) {
      const NodeId next = stack.back();
      const std::size_t before = stack.size();
      for (const TensorId in : nodes_[next.index()].inputs)
        if (in != kNoTensor && !is_available(in) && !clones_.contains(in.value)) stack.push_back(producer_[in.index()]);
      if (stack.size() > before) continue;
      stack.pop_back();
      if (!is_cloned(next)) clone(nodes_[next.index()]);
    }
    return clones_.at(t.value);
  }

  bool is_cloned(NodeId id) const {
    for (const TensorId t : nodes_[id.index()].outputs)
      if (t != kNoTensor && clones_.contains(t.value)) return true;
    return false;
  }

  void clone(const Node& original) {
    Builder& b = *builder_;
    Node node = original;
    node.name = b.unique_node(original.name + ".recompute");
    node.phase = Phase::Recompute;
    for (TensorId& t : node.inputs)
      if (t != kNoTensor && !is_available(t)) t = clones_.at(t.value);
    for (TensorId& t : node.outputs) {
      if (t == kNoTensor) continue;
      const Tensor type = b[t];
      const TensorId old = t;
      if (type.category == Category::ModelState) {
        t = kNoTensor;  // running statistics are not touched twice
        continue;
      }
      t = b.source(type.name + ".recompute", type.shape, type.format, type.category);
      clones_[old.value] = t;
    }
    if (const Norm* norm = std::get_if<Norm>(&node.op); norm && norm->kind == NormKind::Batch) {
      node.inputs.resize(3);
      node.outputs.resize(std::min<std::size_t>(node.outputs.size(), 3));
    }
    b.graph().nodes.push_back(std::move(node));
  }

  const RecomputeOptions& o_;
  std::vector<TensorId> root_;
  std::vector<NodeId> producer_;
  std::vector<bool> kept_, forward_;
  std::vector<Node> nodes_;
  std::optional<Builder> builder_;
  std::unordered_map<std::uint32_t, TensorId> clones_;
};

}  // namespace

Graph recompute(Graph graph, std::span<const TensorId> dropped, const RecomputeOptions& options) {
  return Recomputer(std::move(graph), dropped, options).run();
}

}  // namespace monet
