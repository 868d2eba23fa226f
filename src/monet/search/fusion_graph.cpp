#include "monet/search/fusion_graph.h"

#include <algorithm>

#include "monet/base/assert.h"
#include "monet/graph/order.h"
#include "monet/graph/storage.h"
#include "monet/plan/default_groups.h"
#include "monet/plan/facts.h"
#include "monet/solve/partition.h"

namespace monet::search {
namespace {

constexpr std::uint32_t kNobody = FusionTensor::kNobody;

// Rows are the last axis but one of what a node makes: OY of a convolution, D of a product.
std::int64_t rows_of(const Shape& shape) {
  return shape.empty() ? 1 : shape.size() == 1 ? shape[0] : shape[shape.size() - 2];
}

// A tensor passes a core in rows, or in samples (of a weight: in outputs), whichever are the smaller parts of it.
std::int64_t parts_of(const Shape& shape) { return shape.empty() ? 1 : std::max(shape[0], rows_of(shape)); }

double bytes_of(const Tensor& tensor) { return static_cast<double>(bytes(tensor)); }

class Building {
 public:
  Building(const Graph& graph, const std::vector<plan::Facts>& facts, const plan::Chip& chip, const FusionRules& rules)
      : graph_(graph), facts_(facts), chip_(chip), rules_(rules), storage_(graph), uses_(uses(graph)) {}

  FusionGraph run() {
    const std::vector<std::vector<NodeId>> before = predecessors(graph_, storage_);
    out_.index_of.assign(graph_.nodes.size(), kNobody);
    for (const std::vector<NodeId>& nodes : units(before)) {
      for (const NodeId n : nodes) out_.index_of[n.index()] = static_cast<std::uint32_t>(out_.nodes.size());
      out_.nodes.push_back(node_of(nodes));
    }
    add_tensors();
    add_order(before);
    return std::move(out_);
  }

 private:
  using Steps = std::vector<std::uint32_t>;  // rising

  bool is_node(std::uint32_t i) const {
    return !facts_[i].is_view && !(rules_.movement_is_free && facts_[i].kind == hardware::WorkClass::Movement);
  }

  // What is one node here, in an order in which it can run.
  std::vector<std::vector<NodeId>> units(const std::vector<std::vector<NodeId>>& before) const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t i = 0; i < before.size(); ++i)
      for (const NodeId p : before[i]) edges.push_back({p.value, i});
    const auto order_of = [&](const std::vector<Steps>& all) {
      std::vector<const Steps*> pointers;
      for (const Steps& steps : all) pointers.push_back(&steps);
      return solve::order_of_groups(static_cast<std::uint32_t>(graph_.nodes.size()), edges, pointers);
    };
    std::vector<Steps> updates = rules_.updates_are_one ? updates_of(before) : std::vector<Steps>{};
    std::vector<Steps> all = with_the_rest(updates);
    std::vector<std::uint32_t> order = order_of(all);
    if (order.size() < all.size()) {  // somebody else must run between steps: they are no unit
      std::erase_if(updates, [&](const Steps& steps) { return !is_convex(steps, before); });
      all = with_the_rest(updates);
      order = order_of(all);
    }
    if (order.size() < all.size()) {  // two wait for one another
      all = with_the_rest({});
      order = order_of(all);
    }
    MONET_ASSERT(order.size() == all.size(), "nodes of a graph have an order");
    std::vector<std::vector<NodeId>> out;
    for (const std::uint32_t u : order) {
      std::vector<NodeId> nodes;
      for (const std::uint32_t n : all[u])
        if (is_node(n)) nodes.push_back(NodeId{n});
      if (!nodes.empty()) out.push_back(std::move(nodes));
    }
    return out;
  }

  // The steps of each update, with what stands between them and is no node.
  std::vector<Steps> updates_of(const std::vector<std::vector<NodeId>>& before) const {
    std::vector<Steps> out;
    for (const plan::ChosenGroup& group : plan::default_groups(graph_, facts_, before)) {
      Steps members, steps;
      for (const NodeId n : group.nodes)
        if (!is_node(n.value) || graph_[n].phase == Phase::Update) members.push_back(n.value);
      std::sort(members.begin(), members.end());
      // By member: whether a step leads to it, and whether it leads to a step.
      std::vector<bool> is_after(members.size(), false), is_before(members.size(), false);
      const auto for_each_edge = [&](std::size_t m, const auto& visit) {
        for (const NodeId p : before[members[m]])
          if (const auto at = std::lower_bound(members.begin(), members.end(), p.value);
              at != members.end() && *at == p.value)
            visit(static_cast<std::size_t>(at - members.begin()));
      };
      for (std::size_t m = 0; m < members.size(); ++m)
        for_each_edge(m, [&](std::size_t p) { is_after[m] = is_after[m] || is_after[p] || is_node(members[p]); });
      for (std::size_t m = members.size(); m-- > 0;)
        for_each_edge(m, [&](std::size_t p) { is_before[p] = is_before[p] || is_before[m] || is_node(members[m]); });
      std::size_t count = 0;
      for (std::size_t m = 0; m < members.size(); ++m) {
        count += is_node(members[m]) ? 1 : 0;
        if (is_node(members[m]) || (is_after[m] && is_before[m])) steps.push_back(members[m]);
      }
      if (count > 1) out.push_back(std::move(steps));
    }
    return out;
  }

  std::vector<Steps> with_the_rest(std::vector<Steps> units) const {
    std::vector<bool> is_taken(graph_.nodes.size(), false);
    for (const Steps& steps : units)
      for (const std::uint32_t n : steps) is_taken[n] = true;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
      if (!is_taken[i]) units.push_back({i});
    return units;
  }

  // Whether nobody else must run after one of them and before another.
  bool is_convex(const Steps& steps, const std::vector<std::vector<NodeId>>& before) const {
    std::vector<bool> is_inside(graph_.nodes.size(), false), follows(graph_.nodes.size(), false);
    for (const std::uint32_t n : steps) is_inside[n] = true;
    for (std::uint32_t i = steps.front(); i <= steps.back(); ++i) {
      bool is_after = false;
      for (const NodeId p : before[i]) {
        if (is_inside[i] && follows[p.index()]) return false;
        is_after = is_after || is_inside[p.index()] || follows[p.index()];
      }
      follows[i] = is_after && !is_inside[i];
    }
    return true;
  }

  FusionNode node_of(const std::vector<NodeId>& nodes) const {
    const plan::Facts& first = facts_[nodes.front().index()];
    FusionNode out{.nodes = nodes,
                   .kind = operator_name(graph_[nodes.front()].op),
                   .work_class = hardware::name(first.kind),
                   .cores = ~std::uint64_t{0}};
    for (const NodeId id : nodes) {
      const Node& node = graph_[id];
      const plan::Facts& facts = facts_[id.index()];
      out.summed = std::max(out.summed, static_cast<double>(plan::summed_across(graph_, facts, id)));
      for (const TensorId t : node.outputs)
        if (t != kNoTensor) {
          const auto made = static_cast<double>(elements(graph_[t].shape));
          if (made > out.made) out.rows = rows_of(graph_[t].shape);
          out.made = std::max(out.made, made);
        }
      if (facts.is_nest)
        for (const TensorId t : node.inputs)
          if (t != kNoTensor && uses_.producer[storage_.root(t).index()] == kNoNode &&
              graph_[storage_.root(t)].category == Category::Weight)
            out.weight_bytes += bytes_of(graph_[t]);
      std::uint64_t cores = 0;
      for (std::size_t c = 0; c < chip_.cores.size(); ++c)
        if (plan::takes(chip_.cores[c], facts) && plan::can_run(chip_.cores[c], facts)) cores |= std::uint64_t{1} << c;
      out.cores &= cores;
    }
    return out;
  }

  // Who reads a tensor in the end, through nodes that are none here.
  void collect_readers(TensorId tensor, std::vector<std::uint32_t>& readers, bool& is_output) const {
    std::vector<TensorId> stack{tensor};
    std::vector<TensorId> seen;
    while (!stack.empty()) {
      const TensorId t = stack.back();
      stack.pop_back();
      if (std::find(seen.begin(), seen.end(), t) != seen.end()) continue;
      seen.push_back(t);
      is_output |= is_output_[t.index()];
      for (const NodeId n : uses_.consumers[t.index()]) {
        if (const std::uint32_t index = out_.index_of[n.index()]; index != kNobody) {
          readers.push_back(index);
          continue;
        }
        for (const TensorId made : graph_[n].outputs)
          if (made != kNoTensor) stack.push_back(made);
      }
    }
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  }

  void add_tensors() {
    is_output_.assign(graph_.tensors.size(), false);
    for (const TensorId t : graph_.outputs) is_output_[t.index()] = true;
    for (const Tensor& t : graph_.tensors)  // the new value of what was there before is kept
      if (t.overwrites != kNoTensor) is_output_[static_cast<std::size_t>(&t - graph_.tensors.data())] = true;
    out_.neighbours.resize(out_.nodes.size());
    out_.made.resize(out_.nodes.size());
    out_.read.resize(out_.nodes.size());
    for (std::uint32_t i = 0; i < graph_.tensors.size(); ++i) {
      const TensorId id{i};
      const NodeId by = uses_.producer[i];
      // What a node that is none makes counts as what it is made of.
      if (by != kNoNode && out_.index_of[by.index()] == kNobody && !graph_[by].inputs.empty()) continue;
      const Tensor& tensor = graph_.tensors[i];
      FusionTensor out{.producer = by == kNoNode ? kNobody : out_.index_of[by.index()], .bytes = bytes_of(tensor)};
      out.row_bytes = out.bytes / static_cast<double>(std::max<std::int64_t>(1, parts_of(tensor.shape)));
      collect_readers(id, out.readers, out.is_output);
      std::erase(out.readers, out.producer);
      if (out.readers.empty() && !out.is_output) continue;
      // A single number that many read makes them no neighbours.
      if (out.producer != kNobody && elements(tensor.shape) > 1)
        for (const std::uint32_t r : out.readers) {
          out_.neighbours[r].push_back(out.producer);
          out_.neighbours[out.producer].push_back(r);
        }
      const auto index = static_cast<std::uint32_t>(out_.tensors.size());
      if (out.producer != kNobody) out_.made[out.producer].push_back(index);
      for (const std::uint32_t r : out.readers) out_.read[r].push_back(index);
      out_.tensors.push_back(std::move(out));
    }
    for (std::vector<std::uint32_t>& list : out_.neighbours) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  // Of nodes that are none, those before them.
  void add_order(const std::vector<std::vector<NodeId>>& before) {
    std::vector<std::vector<std::uint32_t>> known(graph_.nodes.size());
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      std::vector<std::uint32_t>& list = known[i];
      for (const NodeId p : before[i]) {
        if (const std::uint32_t index = out_.index_of[p.index()]; index != kNobody)
          list.push_back(index);
        else
          list.insert(list.end(), known[p.index()].begin(), known[p.index()].end());
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      if (out_.index_of[i] == kNobody) continue;
      for (const std::uint32_t p : list)
        if (p != out_.index_of[i]) out_.order.push_back({p, out_.index_of[i]});
    }
    std::sort(out_.order.begin(), out_.order.end());
    out_.order.erase(std::unique(out_.order.begin(), out_.order.end()), out_.order.end());
  }

  const Graph& graph_;
  const std::vector<plan::Facts>& facts_;
  const plan::Chip& chip_;
  const FusionRules& rules_;
  Storage storage_;
  Uses uses_;
  std::vector<bool> is_output_;  // by tensor
  FusionGraph out_;
};

}  // namespace

FusionGraph fusion_graph(const Graph& graph, const std::vector<plan::Facts>& facts, const plan::Chip& chip,
                         const FusionRules& rules) {
  return Building(graph, facts, chip, rules).run();
}

std::vector<std::uint32_t> fusion_group(const FusionGraph& fusion, const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> out;
  for (const NodeId n : nodes)
    if (const std::uint32_t index = fusion.index_of[n.index()]; index != kNobody) out.push_back(index);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::vector<NodeId>> with_movement(const Graph& graph, const FusionGraph& fusion,
                                               const std::vector<std::vector<std::uint32_t>>& groups) {
  constexpr std::size_t kLast = static_cast<std::size_t>(-1);
  std::vector<std::size_t> group_of(graph.nodes.size(), kLast);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::uint32_t u : groups[g])
      for (const NodeId n : fusion.nodes[u].nodes) group_of[n.index()] = g;
  const Storage storage(graph);
  const std::vector<std::vector<NodeId>> before = predecessors(graph, storage);
  for (std::size_t i = graph.nodes.size(); i-- > 0;)
    for (const NodeId p : before[i])
      if (fusion.index_of[p.index()] == kNobody) group_of[p.index()] = std::min(group_of[p.index()], group_of[i]);
  // What nobody waits for (a transposed output) stands with the last that it waits for.
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (group_of[i] != kLast) continue;
    group_of[i] = 0;
    for (const NodeId p : before[i]) group_of[i] = std::max(group_of[i], group_of[p.index()]);
  }
  std::vector<std::vector<NodeId>> out(std::max<std::size_t>(groups.size(), graph.nodes.empty() ? 0 : 1));
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) out[group_of[i]].push_back(NodeId{i});
  return out;
}

}  // namespace monet::search
