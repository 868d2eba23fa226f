// Fusing of updates. An optimizer changes a weight in a dozen element-wise nodes or two. Cut to fit a small memory,
// they are nearly all tiles of an iteration, though nothing but the first and the last of them moves anything. Here
// those of one weight become one node, which is cut, scheduled and reported as one. Its numbers are theirs bit for bit,
// its work is the sum of theirs; what lies between them is there for an element at a time and takes no room.
//
// Steps belong together if one reads what another makes, element by element. Where something else has to run in
// between (a global norm, an overflow check), they fall into stages, a node each: counted are the times that a path
// leaves the steps of one weight, so that no two stages wait for each other. A step runs in the stage of the first that
// reads it: what a later stage reads has to be kept until then.
//
// Limits: what all weights share (numbers, so nothing of one element is a step), barriers, sums of more than three, and
// steps that read an old value through a view or whose value is overwritten later, stay nodes of their own.
#include "monet/rewrite/fuse_updates.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "monet/graph/builder.h"
#include "monet/graph/order.h"
#include "monet/graph/storage.h"
#include "monet/rewrite/dead_nodes.h"

namespace monet {
namespace {

class UpdateFusion {
 public:
  explicit UpdateFusion(Graph graph) : g_(std::move(graph)), uses_(uses(g_)), stays_(g_.tensors.size(), false) {
    const Storage storage(g_);
    before_ = predecessors(g_, storage);
    for (const TensorId t : g_.outputs) stays_[t.index()] = true;
    for (std::size_t t = 0; t < g_.tensors.size(); ++t)
      if (g_.tensors[t].overwrites != kNoTensor) stays_[t] = true;
    wait_for_holders(storage);
    find_steps(storage);
    find_weights();
    find_stages();
  }

  Graph run() {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<NodeId>> steps;  // by weight and stage
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n)
      if (is_step_[n]) steps[{weight_of(n), stage_[n]}].push_back(NodeId{n});
    std::vector<std::vector<NodeId>> units;
    for (auto& [key, nodes] : steps) {
      if (nodes.size() < 2) is_step_[nodes[0].index()] = false;
      if (nodes.size() > 1) units.push_back(std::move(nodes));
    }
    if (units.empty()) return std::move(g_);
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n)
      if (!is_step_[n]) units.push_back({NodeId{n}});
    return assemble(units);
  }

 private:
  // Who holds a tensor runs after it is made and before it is overwritten, as if it were read.
  void wait_for_holders(const Storage& storage) {
    std::vector<std::vector<NodeId>> holders(g_.tensors.size());  // by root
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n) {
      for (const TensorId t : g_.nodes[n].holds) {
        stays_[t.index()] = true;
        holders[storage.root(t).index()].push_back(NodeId{n});
        if (const NodeId by = uses_.producer[t.index()]; by != kNoNode) before_[n].push_back(by);
      }
      for (const TensorId t : g_.nodes[n].outputs)
        if (t != kNoTensor && g_[t].overwrites != kNoTensor)
          for (const NodeId holder : holders[storage.root(t).index()])
            if (holder != NodeId{n}) before_[n].push_back(holder);
    }
  }

  void find_steps(const Storage& storage) {
    std::vector<bool> is_overwritten(g_.tensors.size(), false), has_new_value(g_.tensors.size(), false);
    for (std::uint32_t t = 0; t < g_.tensors.size(); ++t)
      if (const TensorId old = g_.tensors[t].overwrites; old != kNoTensor)
        is_overwritten[old.index()] = has_new_value[storage.root(old).index()] = true;
    // Through a view a tile may read what another one has overwritten.
    const auto is_safe = [&](TensorId t) {
      if (t == kNoTensor) return false;
      const NodeId by = uses_.producer[t.index()];
      return by == kNoNode || !storage.is_view(by) || !has_new_value[storage.root(t).index()];
    };
    for (const Node& node : g_.nodes)
      is_step_.push_back(node.phase == Phase::Update && !node.barrier && node.holds.empty() &&
                         step_op(node.op).has_value() && node.inputs.size() <= Step{}.inputs.size() &&
                         std::all_of(node.inputs.begin(), node.inputs.end(), is_safe) && node.outputs.size() == 1 &&
                         node.outputs[0] != kNoTensor && elements(g_[node.outputs[0]].shape) > 1 &&
                         !is_overwritten[node.outputs[0].index()]);
  }

  // Steps that one weight's update consists of have the same number.
  void find_weights() {
    weight_.resize(g_.nodes.size());
    std::iota(weight_.begin(), weight_.end(), std::size_t{0});
    for (std::size_t n = 0; n < g_.nodes.size(); ++n)
      for (const TensorId t : g_.nodes[n].inputs) {
        const NodeId by = t == kNoTensor ? kNoNode : uses_.producer[t.index()];
        if (by != kNoNode && is_step_[n] && is_step_[by.index()] && g_[t].shape == g_[g_.nodes[n].outputs[0]].shape)
          weight_[weight_of(n)] = weight_of(by.index());
      }
  }
  std::size_t weight_of(std::size_t n) {
    while (weight_[n] != n) n = weight_[n] = weight_[weight_[n]];
    return n;
  }

  bool are_of_one_weight(std::size_t a, std::size_t b) {
    return is_step_[a] && is_step_[b] && weight_of(a) == weight_of(b);
  }

  void find_stages() {
    stage_.assign(g_.nodes.size(), 0);
    std::vector<std::size_t> next(g_.nodes.size(), kNone);  // the first stage of those that wait for it
    for (std::size_t n = 0; n < g_.nodes.size(); ++n)
      for (const NodeId p : before_[n])
        stage_[n] = std::max(stage_[n], stage_[p.index()] + (is_step_[p.index()] && !are_of_one_weight(p.index(), n)));
    for (std::size_t n = g_.nodes.size(); n-- > 0;) {
      if (is_step_[n] && next[n] != kNone) stage_[n] = std::max(stage_[n], next[n]);
      for (const NodeId p : before_[n])
        next[p.index()] = std::min(next[p.index()], are_of_one_weight(p.index(), n) ? stage_[n] : 0);
    }
  }

  // Units in an order in which they can run, near the one there was.
  std::vector<std::size_t> order_of(const std::vector<std::vector<NodeId>>& units) const {
    std::vector<std::size_t> unit_of(g_.nodes.size());
    for (std::size_t u = 0; u < units.size(); ++u)
      for (const NodeId n : units[u]) unit_of[n.index()] = u;
    std::vector<std::vector<std::size_t>> next(units.size());
    std::vector<std::size_t> waits(units.size(), 0), order;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n)
      for (const NodeId p : before_[n]) {
        if (unit_of[p.index()] == unit_of[n]) continue;
        next[unit_of[p.index()]].push_back(unit_of[n]);
        ++waits[unit_of[n]];
      }
    std::set<std::pair<NodeId, std::size_t>> ready;
    for (std::size_t u = 0; u < units.size(); ++u)
      if (waits[u] == 0) ready.emplace(units[u].back(), u);
    while (!ready.empty()) {
      order.push_back(ready.extract(ready.begin()).value().second);
      for (const std::size_t u : next[order.back()])
        if (--waits[u] == 0) ready.emplace(units[u].back(), u);
    }
    return order;
  }

  Graph assemble(const std::vector<std::vector<NodeId>>& units) {
    const std::vector<std::size_t> order = order_of(units);
    Graph rest = g_;
    rest.nodes.clear();
    for (std::size_t n = 0; n < g_.nodes.size(); ++n)
      if (!is_step_[n]) rest.nodes.push_back(g_.nodes[n]);
    Builder b(std::move(rest));  // knows the names that are taken
    b.phase = Phase::Update;
    b.graph().nodes.clear();
    for (const std::size_t u : order)
      if (units[u].size() > 1)
        fuse(units[u], b);
      else
        b.graph().nodes.push_back(std::move(g_[units[u][0]]));
    return compact(std::move(b).finish());
  }

  void fuse(const std::vector<NodeId>& nodes, Builder& b) const {
    const auto is_ours = [&](NodeId n) { return std::binary_search(nodes.begin(), nodes.end(), n); };
    std::map<TensorId, std::int32_t> number;
    std::vector<TensorId> inputs, outputs;
    for (const NodeId n : nodes)
      for (const TensorId t : g_[n].inputs)
        if (const NodeId by = uses_.producer[t.index()];
            (by == kNoNode || !is_ours(by)) && number.emplace(t, static_cast<std::int32_t>(inputs.size())).second)
          inputs.push_back(t);
    Steps op;
    std::string name = g_[nodes.back()].name;
    for (const NodeId n : nodes) {
      const Node& node = g_[n];
      const TensorId made = node.outputs[0];
      const auto value = static_cast<std::int32_t>(inputs.size() + op.program.size());
      Step& step = op.program.emplace_back(Step{.op = *step_op(node.op), .format = g_[made].format});
      std::transform(node.inputs.begin(), node.inputs.end(), step.inputs.begin(),
                     [&](TensorId t) { return number.at(t); });
      number.emplace(made, value);
      const std::vector<NodeId>& readers = uses_.consumers[made.index()];
      if (!stays_[made.index()] && !readers.empty() && std::all_of(readers.begin(), readers.end(), is_ours)) continue;
      op.outputs.push_back(value);
      outputs.push_back(made);
      if (const TensorId old = g_[made].overwrites; old != kNoTensor && g_[old].category == Category::Weight)
        name = g_[old].name + ".update";
    }
    b.add_into(std::move(op), std::move(inputs), name, std::move(outputs));
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  Graph g_;
  Uses uses_;
  std::vector<std::vector<NodeId>> before_;
  std::vector<bool> stays_;          // by tensor: somebody must find it, whoever reads it
  std::vector<bool> is_step_;        // by node
  std::vector<std::size_t> weight_;  // by node: another of the same weight, or itself
  std::vector<std::size_t> stage_;   // by node
};

}  // namespace

Graph fuse_updates(Graph graph) { return UpdateFusion(std::move(graph)).run(); }

}  // namespace monet
