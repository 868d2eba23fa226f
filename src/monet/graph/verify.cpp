#include "monet/graph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "monet/base/assert.h"
#include "monet/graph/infer.h"
#include "monet/graph/storage.h"

namespace monet {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : g_(graph) {}

  std::vector<std::string> run() {
    check_ids();
    if (!faults_.empty()) return std::move(faults_);  // nothing below may index
    check_names();
    check_order();
    if (!faults_.empty()) return std::move(faults_);
    check_types();
    check_phases();
    check_overwrites();
    check_recompute();
    check_barriers();
    if (!faults_.empty()) return std::move(faults_);  // storage is that of a graph sound so far
    check_storage();
    check_accumulation();
    return std::move(faults_);
  }

 private:
  template <class... Args>
  void fault(fmt::format_string<Args...> format, Args&&... args) {
    faults_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const std::string& tensor_name(TensorId t) const { return g_[t].name; }

  void check_ids() {
    const auto valid = [&](TensorId t) { return t == kNoTensor || t.index() < g_.tensors.size(); };
    for (const Node& node : g_.nodes)
      for (const auto* list : {&node.inputs, &node.outputs, &node.holds})
        for (const TensorId t : *list)
          if (!valid(t)) fault("node '{}' refers to a tensor that does not exist", node.name);
    for (const Tensor& t : g_.tensors) {
      if (!valid(t.overwrites)) fault("tensor '{}' overwrites one that does not exist", t.name);
      if (const CopyOf* copy = std::get_if<CopyOf>(&t.initial);
          copy && (copy->tensor == kNoTensor || !valid(copy->tensor)))
        fault("tensor '{}' copies one that does not exist", t.name);
    }
    for (const TensorId t : g_.outputs)
      if (t == kNoTensor || !valid(t)) fault("an output of the graph does not exist");
  }

  void check_names() {
    std::set<std::string_view> tensors, nodes;
    for (const Tensor& t : g_.tensors) {
      if (t.name.empty()) fault("a tensor has no name");
      if (!tensors.insert(t.name).second) fault("two tensors are named '{}'", t.name);
    }
    for (const Node& n : g_.nodes) {
      if (n.name.empty()) fault("a node has no name");
      if (!nodes.insert(n.name).second) fault("two nodes are named '{}'", n.name);
    }
  }

  void check_order() {
    producer_.assign(g_.tensors.size(), kNoNode);
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n)
      for (const TensorId t : g_.nodes[n].outputs) {
        if (t == kNoTensor) continue;
        if (producer_[t.index()] != kNoNode)
          fault("tensor '{}' is produced by two nodes, '{}' and '{}'", tensor_name(t), g_[producer_[t.index()]].name,
                g_.nodes[n].name);
        producer_[t.index()] = NodeId{n};
      }
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n)
      for (const auto* list : {&g_.nodes[n].inputs, &g_.nodes[n].holds})
        for (const TensorId t : *list)
          if (t != kNoTensor && producer_[t.index()] != kNoNode && producer_[t.index()].value >= n)
            fault("node '{}' reads '{}' before it is produced", g_.nodes[n].name, tensor_name(t));
  }

  void check_types() {
    for (const Tensor& t : g_.tensors) {
      try {
        check_shape(t.shape);
      } catch (const ShapeError& error) {
        fault("tensor '{}': {}", t.name, error.what());
      }
    }
    for (const Node& node : g_.nodes) {
      if (std::holds_alternative<Fallback>(node.op)) continue;
      std::vector<const Tensor*> operands;
      for (const TensorId t : node.inputs) operands.push_back(t == kNoTensor ? nullptr : &g_[t]);
      try {
        const std::vector<OutputType> types = infer(node.op, operands);
        if (node.outputs.size() > types.size())
          fault("node '{}' ({}) has {} outputs, at most {} are possible", node.name, operator_name(node.op),
                node.outputs.size(), types.size());
        for (std::size_t i = 0; i < std::min(types.size(), node.outputs.size()); ++i) check_type(node, i, types[i]);
      } catch (const ShapeError& error) {
        fault("node '{}' ({}): {}", node.name, operator_name(node.op), error.what());
      }
    }
  }

  void check_type(const Node& node, std::size_t i, const OutputType& type) {
    const TensorId t = node.outputs[i];
    if (t == kNoTensor) return;
    if (g_[t].shape != type.shape)
      fault("node '{}' ({}): output '{}' is {}, should be {}", node.name, operator_name(node.op), tensor_name(t),
            to_string(g_[t].shape), to_string(type.shape));
    if (!can_store(type.format, g_[t].format))
      fault("node '{}' ({}): output '{}' is {}, should be {}", node.name, operator_name(node.op), tensor_name(t),
            to_string(g_[t].format), to_string(type.format));
  }

  // A rank in which phases follow one another; recomputation belongs to the backward pass.
  static int rank(Phase phase) {
    switch (phase) {
      case Phase::Forward: return 0;
      case Phase::Loss: return 1;
      case Phase::Recompute:
      case Phase::Backward: return 2;
      case Phase::Update: return 3;
    }
    return 0;
  }

  void check_phases() {
    const bool recomputes =
        std::any_of(g_.nodes.begin(), g_.nodes.end(), [](const Node& n) { return n.phase == Phase::Backward; });
    for (const Node& node : g_.nodes) {
      if (node.phase == Phase::Recompute && !recomputes)
        fault("node '{}' is recomputed in a graph without a backward pass", node.name);
      for (const TensorId t : node.inputs) {
        if (t == kNoTensor || producer_[t.index()] == kNoNode) continue;
        const Node& source = g_[producer_[t.index()]];
        // Running statistics pass from one microbatch's forward to the next; all else flows forward through the phases.
        if (rank(source.phase) > rank(node.phase))
          fault("node '{}' of phase {} reads '{}' of phase {}", node.name, name(node.phase), tensor_name(t),
                name(source.phase));
      }
    }
  }

  void check_overwrites() {
    for (std::uint32_t t = 0; t < g_.tensors.size(); ++t) {
      const Tensor& fresh = g_.tensors[t];
      const TensorId old = fresh.overwrites;
      if (old == kNoTensor) continue;
      const NodeId by = producer_[t];
      if (by == kNoNode) {
        fault("source '{}' cannot overwrite '{}'", fresh.name, tensor_name(old));
        continue;
      }
      if (g_[old].shape != fresh.shape || g_[old].format != fresh.format)
        fault("'{}' overwrites '{}' of another shape or format", fresh.name, tensor_name(old));
      if (producer_[old.index()] != kNoNode && producer_[old.index()].value >= by.value)
        fault("'{}' overwrites '{}' before it exists", fresh.name, tensor_name(old));
    }
  }

  // The value whose elements a tensor shows: itself, or what it is a view of.
  void find_values(const Storage& storage) {
    value_.resize(g_.tensors.size());
    for (std::uint32_t t = 0; t < value_.size(); ++t) value_[t] = TensorId{t};
    readers_.assign(g_.tensors.size(), {});
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& node = g_.nodes[n];
      for (const auto* list : {&node.inputs, &node.holds})
        for (const TensorId t : *list)
          if (t != kNoTensor) readers_[value_[t.index()].index()].push_back({NodeId{n}, t});
      if (!storage.is_view(NodeId{n})) continue;
      for (const TensorId t : node.outputs)
        if (t != kNoTensor) value_[t.index()] = value_[node.inputs[0].index()];
    }
  }

  // Whether two tensors of one value have an element in common. Views of so many runs that it takes long to tell are
  // taken for apart.
  bool overlap(const Storage& storage, TensorId a, TensorId b) const {
    const TensorId value = value_[a.index()];
    if (a == b || a == value || b == value) return true;
    constexpr std::size_t kMost = 1'000'000;
    const std::vector<Region> x = storage.boxes(a, whole(g_[a].shape), true),
                              y = storage.boxes(b, whole(g_[b].shape), true);
    if (x.size() > kMost / std::max<std::size_t>(1, y.size())) return false;
    return std::any_of(x.begin(), x.end(), [&](const Region& p) {
      return std::any_of(y.begin(), y.end(), [&](const Region& q) { return elements(intersection(p, q)) > 0; });
    });
  }

  // Once a place was overwritten, nobody reads what was there, as a whole or through a view, and nobody overwrites it
  // again.
  void check_storage() {
    const Storage storage(g_);
    find_values(storage);
    overwritten_by_.assign(g_.tensors.size(), {});
    for (std::uint32_t t = 0; t < g_.tensors.size(); ++t) {
      const TensorId old = g_.tensors[t].overwrites;
      if (old == kNoTensor) continue;
      const NodeId by = producer_[t];
      std::vector<TensorId>& others = overwritten_by_[value_[old.index()].index()];
      for (const TensorId other : others)
        if (overlap(storage, old, g_[other].overwrites))
          fault("'{}' is overwritten twice, by '{}' and '{}'", tensor_name(old), tensor_name(other), tensor_name({t}));
      others.push_back(TensorId{t});
      for (const auto& [reader, read] : readers_[value_[old.index()].index()])
        if (reader.value > by.value && overlap(storage, old, read))
          fault("node '{}' reads '{}' after '{}' has overwritten it", g_[reader].name, tensor_name(old), g_[by].name);
    }
    for (const TensorId t : g_.outputs)
      for (const TensorId fresh : overwritten_by_[value_[t.index()].index()])
        if (overlap(storage, t, g_[fresh].overwrites))
          fault("output '{}' is overwritten by '{}'", tensor_name(t), tensor_name(fresh));
  }

  // The update follows the last microbatch: it may not read a gradient that is still to be added to.
  void check_accumulation() {
    for (const Node& node : g_.nodes) {
      if (node.phase != Phase::Update) continue;
      for (const TensorId t : node.inputs) {
        if (t == kNoTensor || g_[t].category != Category::Gradient) continue;
        for (const TensorId next : overwritten_by_[value_[t.index()].index()])
          if (g_[producer_[next.index()]].phase != Phase::Update)
            fault("update '{}' reads gradient '{}' before '{}' has added to it", node.name, tensor_name(t),
                  tensor_name(next));
      }
    }
  }

  void check_recompute() {
    std::set<std::pair<std::int64_t, double>> drawn;
    for (const Node& node : g_.nodes) {
      const Dropout* dropout = std::get_if<Dropout>(&node.op);
      if (dropout && node.phase == Phase::Forward) drawn.emplace(dropout->seed, dropout->ratio);
      if (node.phase != Phase::Recompute) continue;
      if (dropout && !drawn.contains({dropout->seed, dropout->ratio}))
        fault("recomputed dropout '{}' draws another mask than its original", node.name);
      for (const TensorId t : node.outputs)
        if (t != kNoTensor && (g_[t].overwrites != kNoTensor || g_[t].category == Category::ModelState))
          fault("recomputed node '{}' changes '{}' a second time", node.name, tensor_name(t));
    }
  }

  void check_barriers() {
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n)
      if (g_.nodes[n].barrier) check_barrier(NodeId{n});
  }

  void check_barrier(NodeId barrier) {
    std::vector<bool> before(g_.nodes.size(), false), after(g_.nodes.size(), false);
    before[barrier.index()] = after[barrier.index()] = true;
    for (std::size_t n = barrier.index() + 1; n-- > 0;) {
      if (!before[n]) continue;
      for (const TensorId t : g_.nodes[n].inputs)
        if (t != kNoTensor && producer_[t.index()] != kNoNode) before[producer_[t.index()].index()] = true;
    }
    for (std::size_t n = barrier.index(); n < g_.nodes.size(); ++n)
      for (const TensorId t : g_.nodes[n].inputs)
        if (t != kNoTensor && producer_[t.index()] != kNoNode && after[producer_[t.index()].index()]) after[n] = true;
    const std::string& name = g_[barrier].name;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& node = g_.nodes[n];
      if (node.phase != Phase::Update) continue;
      for (const TensorId t : node.outputs)
        if (t != kNoTensor && g_[t].overwrites != kNoTensor && g_[g_[t].overwrites].category == Category::Weight &&
            !after[n])
          fault("'{}' updates '{}' without waiting for barrier '{}'", node.name, tensor_name(g_[t].overwrites), name);
      for (const TensorId t : node.inputs)
        if (t != kNoTensor && g_[t].category == Category::Gradient && producer_[t.index()] != kNoNode &&
            g_[producer_[t.index()]].phase == Phase::Backward && !before[producer_[t.index()].index()])
          fault("barrier '{}' does not wait for gradient '{}'", name, tensor_name(t));
    }
  }

  const Graph& g_;
  std::vector<std::string> faults_;
  std::vector<NodeId> producer_;
  std::vector<TensorId> value_;                                    // by tensor
  std::vector<std::vector<std::pair<NodeId, TensorId>>> readers_;  // by value: nodes in order, and what they read of it
  std::vector<std::vector<TensorId>> overwritten_by_;              // by value
};

}  // namespace

std::vector<std::string> faults(const Graph& graph) { return Verifier(graph).run(); }

void verify(const Graph& graph) {
  const std::vector<std::string> found = faults(graph);
  MONET_ASSERT(found.empty(), found[0].c_str());
}

}  // namespace monet
