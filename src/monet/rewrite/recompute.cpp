// Recomputation by graph rewriting (MONET section on checkpointing; Chen et al., arXiv 1604.06174). A dropped
// activation's producer is cloned, and so on back to tensors that are there anyway: other saved activations, inputs,
// weights. Clones are the same operators on the same values, so gradients stay bit-identical. Batch-norm clones leave
// the running statistics alone; dropout clones draw the same mask from the same seed. What is shared is rebuilt once,
// for its first reader. What waits in a narrower format is rounded: gradients are then those of rounded activations.
#include "monet/rewrite/recompute.h"

#include <unordered_map>

#include "monet/graph/builder.h"
#include "monet/graph/saved.h"
#include "monet/rewrite/dead_nodes.h"

namespace monet {
namespace {

class Recomputer {
 public:
  Recomputer(const Graph& graph, std::span<const Dropped> dropped)
      : nodes_(graph.nodes),
        root_(view_roots(graph)),
        producer_(graph.tensors.size(), kNoNode),
        kept_(graph.tensors.size(), false),
        forward_(graph.tensors.size(), false),
        dropped_(graph.tensors.size(), nullptr),
        builder_(Graph{.name = graph.name, .tensors = graph.tensors, .nodes = {}, .outputs = graph.outputs}) {
    for (std::uint32_t n = 0; n < nodes_.size(); ++n)
      for (const TensorId t : nodes_[n].outputs) {
        if (t == kNoTensor) continue;
        producer_[t.index()] = NodeId{n};
        forward_[t.index()] = nodes_[n].phase == Phase::Forward || nodes_[n].phase == Phase::Loss;
      }
    for (const TensorId t : saved_activations(graph)) kept_[t.index()] = true;
    for (const Dropped& d : dropped) {
      kept_[root_[d.tensor.index()].index()] = false;
      dropped_[root_[d.tensor.index()].index()] = &d;
    }
    builder_.graph().nodes.reserve(2 * nodes_.size());
  }

  Graph run() {
    Builder& b = builder_;
    for (const Node& original : nodes_) {
      Node node = original;
      if (node.phase == Phase::Backward || node.phase == Phase::Update || node.phase == Phase::Recompute) {
        own_.clear();
        for (TensorId& t : node.inputs) t = rebuilt(t);
        std::erase_if(node.holds, [&](TensorId t) { return !is_available(t); });
      }
      b.graph().nodes.push_back(std::move(node));
      for (const TensorId t : original.outputs)
        if (t != kNoTensor && is_narrow(t))
          narrow_[t.value] = cast(t, *dropped_[t.index()]->narrow, original.phase, b[t].name + ".narrow");
    }
    return remove_dead_nodes(std::move(b).finish());
  }

 private:
  bool is_narrow(TensorId t) const { return dropped_[t.index()] != nullptr && dropped_[t.index()]->narrow; }

  TensorId cast(TensorId from, Element to, Phase phase, const std::string& name) {
    Builder& b = builder_;
    b.phase = phase;
    const Category category = b[from].category;
    const TensorId out = b.one(Cast{to}, {from}, name);
    b[out].category = category;
    return out;
  }

  // Sources and gradients are always there; of the forward pass, what is still saved.
  bool is_available(TensorId t) const {
    const TensorId root = root_[t.index()];
    const NodeId by = producer_[root.index()];
    return by == kNoNode || !forward_[root.index()] || kept_[root.index()] ||
           builder_[root].category == Category::ModelState;
  }

  // The clone of a tensor, if there is one for the reader at hand.
  std::optional<TensorId> clone_of(TensorId t) const {
    if (const auto it = own_.find(t.value); it != own_.end()) return it->second;
    if (const auto it = shared_.find(t.value); it != shared_.end()) return it->second;
    return std::nullopt;
  }

  TensorId rebuilt(TensorId t) {
    if (t == kNoTensor || t.index() >= root_.size() || is_available(t)) return t;
    if (const auto clone = clone_of(t)) return *clone;
    const Dropped* dropped = dropped_[root_[t.index()].index()];
    auto& clones = dropped != nullptr && (dropped->per_consumer || dropped->narrow) ? own_ : shared_;
    // An explicit stack: chains can be as long as the model is deep.
    std::vector<TensorId> stack{t};
    while (!stack.empty()) {
      const TensorId next = stack.back();
      const std::size_t before = stack.size();
      const Node& producer = nodes_[producer_[next.index()].index()];
      if (!is_narrow(next))
        for (const TensorId in : producer.inputs)
          if (in != kNoTensor && !is_available(in) && !clone_of(in)) stack.push_back(in);
      if (stack.size() > before) continue;
      stack.pop_back();
      if (clone_of(next)) continue;
      if (is_narrow(next))
        clones[next.value] = cast(narrow_.at(next.value), builder_[next].format.element, Phase::Recompute,
                                  builder_[next].name + ".wide");
      else
        clone(producer, clones);
    }
    return *clone_of(t);
  }

  using Clones = std::unordered_map<std::uint32_t, TensorId>;  // by tensor

  void clone(const Node& original, Clones& clones) {
    Builder& b = builder_;
    Node node = original;
    node.name = b.unique_node(original.name + ".recompute");
    node.phase = Phase::Recompute;
    for (TensorId& t : node.inputs)
      if (t != kNoTensor && !is_available(t)) t = *clone_of(t);
    for (TensorId& t : node.outputs) {
      if (t == kNoTensor) continue;
      const Tensor type = b[t];
      const TensorId old = t;
      if (type.category == Category::ModelState) {
        t = kNoTensor;  // running statistics are not touched twice
        continue;
      }
      t = b.source(type.name + ".recompute", type.shape, type.format, type.category);
      clones[old.value] = t;
    }
    if (const Norm* norm = std::get_if<Norm>(&node.op); norm && norm->kind == NormKind::Batch) {
      node.inputs.resize(3);
      node.outputs.resize(std::min<std::size_t>(node.outputs.size(), 3));
    }
    b.graph().nodes.push_back(std::move(node));
  }

  const std::vector<Node>& nodes_;
  std::vector<TensorId> root_;
  std::vector<NodeId> producer_;
  std::vector<bool> kept_, forward_;
  std::vector<const Dropped*> dropped_;  // by tensor: of roots
  Builder builder_;
  Clones own_, shared_;  // of the reader at hand; of all from now on
  Clones narrow_;        // what waits instead
};

}  // namespace

Graph recompute(const Graph& graph, std::span<const Dropped> dropped) { return Recomputer(graph, dropped).run(); }

Graph recompute(const Graph& graph, std::span<const TensorId> dropped, const RecomputeOptions& options) {
  std::vector<Dropped> all;
  for (const TensorId t : dropped) all.push_back({.tensor = t, .per_consumer = options.per_consumer});
  return recompute(graph, all);
}

}  // namespace monet
