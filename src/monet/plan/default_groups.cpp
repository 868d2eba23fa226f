#include "monet/plan/default_groups.h"

#include <algorithm>

namespace monet::plan {
namespace {

using hardware::WorkClass;

constexpr std::size_t kMostInGroup = 32;

class Grouping {
 public:
  Grouping(const Graph& graph, const std::vector<Facts>& facts, const std::vector<std::vector<NodeId>>& before)
      : graph_(graph), facts_(facts), before_(before), producer_(graph.tensors.size(), kNoNode) {
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i)
      for (const TensorId t : graph.nodes[i].outputs)
        if (t != kNoTensor) producer_[t.index()] = NodeId{i};
  }
  std::vector<ChosenGroup> run() const;

 private:
  bool reads_from(NodeId node, const std::vector<std::size_t>& group_of, std::size_t group) const;

  const Graph& graph_;
  const std::vector<Facts>& facts_;
  const std::vector<std::vector<NodeId>>& before_;
  std::vector<NodeId> producer_;  // by tensor
};

// A fused update is no part of a group for the numbers that it has in common with all others.
bool Grouping::reads_from(NodeId node, const std::vector<std::size_t>& group_of, std::size_t group) const {
  const std::int64_t least = std::holds_alternative<Steps>(graph_[node].op) ? 2 : 1;
  const auto is_from = [&](TensorId t) {
    return t != kNoTensor && producer_[t.index()] != kNoNode && group_of[producer_[t.index()].index()] == group &&
           elements(graph_[t].shape) >= least;
  };
  return std::any_of(graph_[node].inputs.begin(), graph_[node].inputs.end(), is_from);
}

// A node may stand in any group that is not before those of what it waits for: so the order of groups is legal.
std::vector<ChosenGroup> Grouping::run() const {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<ChosenGroup> groups;
  std::vector<std::size_t> group_of(graph_.nodes.size(), kNone);
  std::vector<std::size_t> read_in(graph_.tensors.size(), kNone);  // by tensor: where an update reads it first
  std::vector<bool> has_nest;                                      // by group
  // By node: elements of the largest tensor whose sums it waits for, of those made in its group.
  std::vector<std::int64_t> waited_for(graph_.nodes.size(), 0);
  const auto waits_for_all = [&](NodeId n, std::int64_t summed) {
    const TensorId made = graph_[n].outputs.empty() ? kNoTensor : graph_[n].outputs[0];
    return summed > 0 && made != kNoTensor && 2 * elements(graph_[made].shape) >= summed;
  };
  const auto may_share = [&](NodeId a, NodeId b) {
    const bool updates[2] = {graph_[a].phase == Phase::Update, graph_[b].phase == Phase::Update};
    return updates[0] == updates[1];
  };
  // What waited for nothing has waited for whoever reads it.
  std::vector<NodeId> stack;
  const auto put = [&](NodeId node, std::size_t group) {
    stack.assign(1, node);
    while (!stack.empty()) {
      const NodeId n = stack.back();
      stack.pop_back();
      if (group_of[n.index()] != kNone) continue;
      group_of[n.index()] = group;
      groups[group].nodes.push_back(n);
      for (const NodeId p : before_[n.index()])
        if (group_of[p.index()] == kNone) stack.push_back(p);
    }
  };
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    const Facts& facts = facts_[i];
    std::size_t last = kNone;
    NodeId giver = kNoNode;
    for (const NodeId p : before_[i]) {
      const std::size_t group = group_of[p.index()];
      if (group == kNone || (last != kNone && group < last)) continue;
      last = group;
      giver = p;
    }
    if (last == kNone && !facts.is_nest) continue;
    for (const TensorId t : graph_.nodes[i].inputs)
      if (const NodeId p = t == kNoTensor ? kNoNode : producer_[t.index()]; p != kNoNode && group_of[p.index()] == last)
        waited_for[i] =
            std::max(waited_for[i], std::max(waited_for[p.index()], summed_across(graph_, facts_[p.index()], p)));
    const bool begins = facts.is_nest ? last != kNone && has_nest[last] : waits_for_all(NodeId{i}, waited_for[i]);
    const bool joins = last != kNone && !begins && may_share(giver, NodeId{i}) &&
                       reads_from(NodeId{i}, group_of, last) &&
                       (facts.is_view || groups[last].nodes.size() < kMostInGroup);
    // Steps of one update that begin with the same gradient belong together, too.
    std::size_t group = joins ? last : kNone;
    const bool is_step = graph_.nodes[i].phase == Phase::Update && facts.kind == WorkClass::Elementwise;
    const std::vector<TensorId>& outputs = graph_.nodes[i].outputs;
    const auto made = std::find_if(outputs.begin(), outputs.end(), [](TensorId t) { return t != kNoTensor; });
    const auto is_whole = [&](TensorId t) {
      return t != kNoTensor && made != outputs.end() && elements(graph_[t].shape) == elements(graph_[*made].shape);
    };
    for (const TensorId t : graph_.nodes[i].inputs)
      if (group == kNone && is_step && is_whole(t) && read_in[t.index()] != kNone && read_in[t.index()] >= last &&
          groups[read_in[t.index()]].nodes.size() < kMostInGroup)
        group = read_in[t.index()];
    if (group == kNone) {
      group = groups.size();
      groups.emplace_back();
      has_nest.push_back(false);
    }
    if (group != last) waited_for[i] = 0;
    has_nest[group] = has_nest[group] || facts.is_nest;
    if (facts.is_nest && group == last) groups[group].order = Order::Overlapped;
    put(NodeId{i}, group);
    for (const TensorId t : graph_.nodes[i].inputs)
      if (is_step && is_whole(t) && read_in[t.index()] == kNone) read_in[t.index()] = group;
  }
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
    if (group_of[i] == kNone) groups.push_back({.nodes = {NodeId{i}}});
  for (ChosenGroup& group : groups) std::sort(group.nodes.begin(), group.nodes.end());
  return groups;
}

}  // namespace

std::int64_t summed_across(const Graph& graph, const Facts& facts, NodeId node) {
  std::int64_t most = 0;
  if (facts.kind != WorkClass::Reduction) return most;
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    if (!facts.inputs[i].is_there) continue;
    const Shape& shape = graph[graph[node].inputs[i]].shape;
    const auto outermost = std::find_if(shape.begin(), shape.end(), [](std::int64_t size) { return size > 1; });
    for (std::size_t l = 0; l < facts.loops.size(); ++l)
      if (facts.loops[l].kind == LoopKind::Reduction && facts.inputs[i].axes[l] == outermost - shape.begin())
        most = std::max(most, elements(shape));
  }
  return most;
}

std::vector<ChosenGroup> default_groups(const Graph& graph, const std::vector<Facts>& facts,
                                        const std::vector<std::vector<NodeId>>& before) {
  return Grouping(graph, facts, before).run();
}

}  // namespace monet::plan
