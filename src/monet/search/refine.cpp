#include "monet/search/refine.h"

#include <algorithm>
#include <map>
#include <set>

#include "monet/base/parallel.h"
#include "monet/graph/order.h"
#include "monet/solve/partition.h"

namespace monet::search {
namespace {

using Groups = std::vector<std::vector<NodeId>>;

class Refinement {
 public:
  Refinement(const Setting& setting, const Subject& subject, const FusionRules& rules, const RefineOptions& options)
      : setting_(setting),
        subject_(subject),
        options_(options),
        graph_(fusion_graph(subject.graph, subject.facts, setting.chip, rules)),
        broken_rule_(group_judge(graph_, setting.chip, rules)) {
    setting_.costs.threads = 1;
    const std::vector<std::vector<NodeId>> before = predecessors(subject.graph, *subject.storage);
    for (std::uint32_t i = 0; i < before.size(); ++i)
      for (const NodeId p : before[i]) edges_.push_back({p.value, i});
  }

  Refined run(Groups groups) {
    Descent<Groups> best{.state = std::move(groups), .evaluations = 1};
    best.figures = figures_of_groups(best.state);
    DescentProblem<Groups> problem;
    problem.price = [&](std::span<const Groups> steps) {
      std::vector<Figures> tried(steps.size());
      parallel_for(steps.size(), options_.threads, [&](std::size_t i) { tried[i] = figures_of_groups(steps[i]); });
      return tried;
    };
    problem.steps_from = [&](const Groups& from) { return steps_from(from); };
    descend(best, problem, options_);
    return {.groups = std::move(best.state),
            .figures = std::move(best.figures),
            .evaluations = best.evaluations,
            .steps = best.steps,
            .is_local_optimum = best.is_local_optimum};
  }

 private:
  Figures figures_of_groups(const Groups& groups) const {
    const Evaluated e = evaluate(setting_, subject_, plan_of(subject_, groups));
    return figures_of(setting_.chip, e.decided, e.outcome);
  }

  // In an order in which they can run; nothing if there is none.
  Groups ordered(const Groups& groups) const {
    std::vector<std::vector<std::uint32_t>> plain;
    for (const std::vector<NodeId>& nodes : groups) {
      plain.emplace_back();
      for (const NodeId n : nodes) plain.back().push_back(n.value);
      std::sort(plain.back().begin(), plain.back().end());
    }
    std::vector<const std::vector<std::uint32_t>*> pointers;
    for (const auto& nodes : plain) pointers.push_back(&nodes);
    const auto order =
        solve::order_of_groups(static_cast<std::uint32_t>(subject_.graph.nodes.size()), edges_, pointers);
    Groups out;
    if (order.size() < groups.size()) return out;
    for (const std::uint32_t g : order) {
      out.emplace_back();
      for (const std::uint32_t n : plain[g]) out.back().push_back(NodeId{n});
    }
    return out;
  }

  // Those that touch the most bytes first.
  std::vector<Groups> steps_from(const Groups& groups) const {
    std::vector<std::uint32_t> group_of(subject_.graph.nodes.size(), 0);
    for (std::uint32_t g = 0; g < groups.size(); ++g)
      for (const NodeId n : groups[g]) group_of[n.index()] = g;
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> between;
    const Uses u = uses(subject_.graph);
    for (std::uint32_t t = 0; t < subject_.graph.tensors.size(); ++t) {
      if (u.producer[t] == kNoNode) continue;
      const std::uint32_t from = group_of[u.producer[t].index()];
      std::set<std::uint32_t> readers;
      for (const NodeId n : u.consumers[t]) readers.insert(group_of[n.index()]);
      for (const std::uint32_t to : readers)
        between[{from, to}] += static_cast<double>(bytes(subject_.graph.tensors[t]));
    }
    struct Step {
      double bytes = 0;
      std::uint32_t from = 0, to = 0;
      std::size_t cut = 0;  // of a group that falls apart: nodes in the first part
    };
    std::vector<Step> list;
    for (const auto& [pair, moved] : between)
      if (pair.first != pair.second && may_join(groups[pair.first], groups[pair.second]))
        list.push_back({moved, pair.first, pair.second});
    for (std::uint32_t g = 0; g < groups.size(); ++g)
      for (std::size_t cut = 1; cut < groups[g].size(); ++cut) list.push_back({between[{g, g}], g, g, cut});
    std::stable_sort(list.begin(), list.end(), [](const Step& a, const Step& b) { return a.bytes > b.bytes; });
    std::vector<Groups> out;
    for (const Step& s : list) {
      Groups next = groups;
      if (s.cut > 0) {
        const auto at = next[s.from].begin() + static_cast<std::ptrdiff_t>(s.cut);
        std::vector<NodeId> rest(at, next[s.from].end());
        next[s.from].erase(at, next[s.from].end());
        next.push_back(std::move(rest));
      } else {
        next[s.from].insert(next[s.from].end(), next[s.to].begin(), next[s.to].end());
        next.erase(next.begin() + s.to);
      }
      if (Groups can_run = ordered(next); !can_run.empty()) out.push_back(std::move(can_run));
      if (out.size() + 1 > options_.evaluations) break;
    }
    return out;
  }

  bool may_join(const std::vector<NodeId>& a, const std::vector<NodeId>& b) const {
    std::vector<NodeId> nodes = a;
    nodes.insert(nodes.end(), b.begin(), b.end());
    const std::vector<std::uint32_t> group = fusion_group(graph_, nodes);
    return group.size() < 2 || !broken_rule_(group);
  }

  Setting setting_;
  const Subject& subject_;
  const RefineOptions& options_;
  FusionGraph graph_;
  GroupJudge broken_rule_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
};

}  // namespace

Refined refine(const Setting& setting, const Subject& subject, const FusionRules& rules, Groups groups,
               const RefineOptions& options) {
  return Refinement(setting, subject, rules, options).run(std::move(groups));
}

Groups stream_groups(const Subject& subject, const plan::Chip& chip) {
  const FusionRules rules{.movement_is_free = true};
  const FusionGraph graph = fusion_graph(subject.graph, subject.facts, chip, rules);
  double room = 0, weights = 0;
  std::set<plan::StoreId> stores;
  for (std::size_t c = 0; c < chip.cores.size(); ++c)
    if (const plan::StoreId s = chip.store(c, hardware::Slot::Weight);
        s != chip.machine.home && stores.insert(s).second)
      room += static_cast<double>(chip.machine.stores[s.index()].bytes);
  std::vector<std::vector<std::uint32_t>> groups;
  bool is_first = true;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    weights += graph.nodes[n].weight_bytes;
    is_first = is_first && weights <= room;
    if (groups.empty() || !is_first) groups.emplace_back();
    groups.back().push_back(n);
  }
  return with_movement(subject.graph, graph, groups);
}

}  // namespace monet::search
