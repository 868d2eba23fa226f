#include "monet/plan/decide.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "monet/base/nearest.h"
#include "monet/graph/order.h"
#include "monet/graph/saved.h"
#include "monet/graph/storage.h"
#include "monet/plan/default_groups.h"
#include "monet/plan/defaults.h"
#include "monet/plan/lanes.h"

namespace monet::plan {
namespace {

constexpr std::size_t kHints = 20;
constexpr const char* kRebuilt = ".recompute";  // rewrite/recompute.h: what clones of a tensor are called

class Decision {
 public:
  Decision(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip, const Plan& plan,
           const Places& places)
      : graph_(graph), facts_(facts), chip_(chip), plan_(plan), places_(places), defaults_(graph, facts, chip) {
    if (plan.groups.empty() && plan.nodes.empty()) return;  // which name nodes
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) by_name_.emplace(graph.nodes[i].name, NodeId{i});
  }

  Decided run() {
    out_.nodes.resize(graph_.nodes.size());
    read_groups();
    match_nodes();
    order_groups();
    if (plan_.groups.empty()) join_recomputed();
    find_spilled();
    if (!faults_.empty()) throw InputError(std::move(faults_));
    for (const ChosenGroup& group : out_.groups) {
      std::vector<NodeId> open;
      for (const NodeId n : group.nodes) {
        decide_node(n);
        if (!faults_.empty()) continue;
        defaults_.remember(n, out_.nodes[n.index()]);
        if (entry_of_[n.index()] == nullptr || entry_of_[n.index()]->tiles.empty()) open.push_back(n);
      }
      if (!faults_.empty()) continue;
      defaults_.align(open, out_.nodes);
      for (const NodeId n : open) defaults_.remember(n, out_.nodes[n.index()]);
    }
    out_.prefetch = plan_.prefetch;
    out_.saved = plan_.saved;
    if (faults_.empty())
      for (const LaneFault& f : lane_faults(graph_, facts_, chip_, out_))
        fault(fmt::format("nodes/{}/keep", entry_of_[f.node.index()]->node), f.message, f.hint);
    if (!faults_.empty()) throw InputError(std::move(faults_));
    return std::move(out_);
  }

 private:
  void fault(const std::string& path, std::string message, std::string hint = "") {
    Diagnostic d{.where = path, .message = std::move(message), .hint = std::move(hint)};
    if (places_) places_(path, d);
    faults_.push_back(std::move(d));
  }

  std::vector<std::string> node_names() const {
    std::vector<std::string> names;
    for (const Node& node : graph_.nodes) names.push_back(node.name);
    return names;
  }

  // ---- Groups ----

  void read_groups() {
    group_of_.assign(graph_.nodes.size(), kNone);
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) {
      ChosenGroup group{.order = plan_.groups[g].order};
      for (std::size_t i = 0; i < plan_.groups[g].nodes.size(); ++i) {
        const std::string& name = plan_.groups[g].nodes[i];
        const std::string path = fmt::format("groups/{}/{}", g, i);
        const auto at = by_name_.find(name);
        if (at == by_name_.end()) {
          fault(path, fmt::format("there is no node '{}'", name), did_you_mean(name, node_names()));
          continue;
        }
        if (std::size_t& other = group_of_[at->second.index()]; other != kNone) {
          fault(path, fmt::format("'{}' is in group {} already", name, other + 1), "a node stands in one group");
        } else {
          other = g;
          group.nodes.push_back(at->second);
        }
      }
      std::sort(group.nodes.begin(), group.nodes.end());
      named_.push_back(std::move(group));
    }
  }

  // Groups in their own order, nodes that none names between them as the graph has them.
  void order_groups() {
    const Storage storage(graph_);
    const std::vector<std::vector<NodeId>> before = predecessors(graph_, storage);
    if (plan_.groups.empty()) {
      out_.groups = default_groups(graph_, facts_, before);
      return;
    }
    std::vector<ChosenGroup> units = named_;
    std::vector<std::size_t> unit_of = group_of_;
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
      if (unit_of[i] == kNone) {
        unit_of[i] = units.size();
        units.push_back({.nodes = {NodeId{i}}});
      }
    // Edges between units: data, and the order of the plan.
    std::vector<std::set<std::size_t>> next(units.size());
    std::vector<std::size_t> waits(units.size(), 0);
    const auto edge = [&](std::size_t from, std::size_t to) {
      if (from != to && next[from].insert(to).second) ++waits[to];
    };
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
      for (const NodeId p : before[i]) edge(unit_of[p.index()], unit_of[i]);
    for (std::size_t g = 0; g + 1 < named_.size(); ++g) edge(g, g + 1);
    const auto first = [&](std::size_t u) { return units[u].nodes.empty() ? 0u : units[u].nodes.front().value; };
    std::set<std::pair<std::uint32_t, std::size_t>> ready;
    for (std::size_t u = 0; u < units.size(); ++u)
      if (waits[u] == 0) ready.emplace(first(u), u);
    std::vector<bool> placed(units.size(), false);
    while (!ready.empty()) {
      const std::size_t u = ready.begin()->second;
      ready.erase(ready.begin());
      placed[u] = true;
      if (!units[u].nodes.empty()) out_.groups.push_back(units[u]);
      for (const std::size_t v : next[u])
        if (--waits[v] == 0) ready.emplace(first(v), v);
    }
    for (std::size_t g = 0; g < named_.size(); ++g)
      if (!placed[g]) {
        explain_cycle(g, unit_of, before, placed);
        break;
      }
  }

  // The first node of a group that cannot run where it stands, and what it waits for.
  void explain_cycle(std::size_t group, const std::vector<std::size_t>& unit_of,
                     const std::vector<std::vector<NodeId>>& before, const std::vector<bool>& placed) {
    for (const NodeId n : named_[group].nodes)
      for (const NodeId p : before[n.index()]) {
        const std::size_t unit = unit_of[p.index()];
        if (unit == group || placed[unit]) continue;
        fault(fmt::format("groups/{}", group),
              fmt::format("group {} cannot run here: '{}' needs '{}', which {}", group + 1, graph_[n].name,
                          graph_[p].name,
                          unit < named_.size() ? fmt::format("is in group {} and waits itself", unit + 1)
                                               : "waits for something in this group or in a later one"),
              "take one of them out of its group, or change the order of the groups");
        return;
      }
    fault(fmt::format("groups/{}", group), fmt::format("group {} cannot run where it stands", group + 1),
          "groups must follow the data");
  }

  // What is rebuilt tile by tile stands in the group of the only one that reads it.
  void join_recomputed() {
    std::vector<std::string> names;
    for (const SavedPlan& saved : plan_.saved)
      if (saved.saving == Saving::RecomputeTiles) names.push_back(saved.tensor + kRebuilt);
    if (names.empty()) return;
    std::vector<std::size_t> group_of(graph_.nodes.size(), kNone);
    for (std::size_t g = 0; g < out_.groups.size(); ++g)
      for (const NodeId n : out_.groups[g].nodes) group_of[n.index()] = g;
    const Uses u = uses(graph_);
    const auto makes_one = [&](NodeId n) {
      return std::any_of(graph_[n].outputs.begin(), graph_[n].outputs.end(), [&](TensorId t) {
        return t != kNoTensor && std::any_of(names.begin(), names.end(), [&](const std::string& pattern) {
                 return matches(pattern, graph_[t].name) || matches(pattern + ".*", graph_[t].name);
               });
      });
    };
    // From the last one on: who reads it may be rebuilt for somebody, too.
    for (std::size_t g = out_.groups.size(); g-- > 0;) {
      ChosenGroup& group = out_.groups[g];
      if (std::none_of(group.nodes.begin(), group.nodes.end(), makes_one)) continue;
      std::set<std::size_t> readers;
      bool is_rebuilt = true;
      for (const NodeId n : group.nodes) {
        is_rebuilt = is_rebuilt && graph_[n].phase == Phase::Recompute;
        for (const TensorId t : graph_[n].outputs)
          if (t != kNoTensor)
            for (const NodeId reader : u.consumers[t.index()])
              if (group_of[reader.index()] != g) readers.insert(group_of[reader.index()]);
      }
      if (!is_rebuilt || readers.size() != 1) continue;
      ChosenGroup& reader = out_.groups[*readers.begin()];
      for (const NodeId n : group.nodes) group_of[n.index()] = *readers.begin();
      reader.nodes.insert(reader.nodes.end(), group.nodes.begin(), group.nodes.end());
      std::sort(reader.nodes.begin(), reader.nodes.end());
      group.nodes.clear();
    }
    std::erase_if(out_.groups, [](const ChosenGroup& group) { return group.nodes.empty(); });
  }

  void find_spilled() {
    const auto spills = [](const SavedPlan& saved) { return saved.saving == Saving::Spill; };
    if (std::none_of(plan_.saved.begin(), plan_.saved.end(), spills)) return;
    for (const TensorId t : saved_activations(graph_)) {
      Saving saving = Saving::Keep;
      for (const SavedPlan& saved : plan_.saved)
        if (matches(saved.tensor, graph_[t].name)) saving = saved.saving;
      if (saving == Saving::Spill) out_.spilled.push_back(t);
    }
  }

  // ---- Nodes ----

  void match_nodes() {
    entry_of_.assign(graph_.nodes.size(), nullptr);
    std::size_t unknown = 0;
    for (const NodePlan& entry : plan_.nodes) {
      bool is_used = false;
      if (entry.node.find('*') == std::string::npos) {
        const auto at = by_name_.find(entry.node);
        if (at != by_name_.end()) {
          entry_of_[at->second.index()] = &entry;
          is_used = true;
        }
      } else {
        for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
          if (matches(entry.node, graph_.nodes[i].name)) {
            entry_of_[i] = &entry;
            is_used = true;
          }
      }
      if (is_used) continue;
      // A plan of another graph has thousands of them: nobody reads that many hints.
      const std::string otherwise = "`monet graph MODEL --text --decompose` lists them";
      fault("nodes/" + entry.node, fmt::format("no node is named '{}'", entry.node),
            unknown++ < kHints ? did_you_mean(entry.node, node_names(), otherwise) : otherwise);
    }
  }

  void decide_node(NodeId node) {
    const Facts& facts = facts_[node.index()];
    if (facts.is_view) return;
    NodeChoice& choice = out_.nodes[node.index()];
    const NodePlan* entry = entry_of_[node.index()];
    const NodeId producer = largest_producer(node), companion = producer == kNoNode ? companion_of(node) : kNoNode;
    const NodeId next_to = producer == kNoNode ? companion : producer;
    const NodeChoice* near = next_to == kNoNode ? nullptr : &out_.nodes[next_to.index()];
    if (entry != nullptr && !entry->cores.empty())
      read_cores(node, *entry, choice);
    else
      defaults_.choose_cores(node, near, choice, out_.notes);
    if (choice.cores.empty()) return;
    const bool same_cores = near != nullptr && near->cores == choice.cores;
    const bool across_is_given = entry != nullptr && (!entry->across.empty() || !entry->cores.empty());
    if (across_is_given) {
      read_splits(node, "across", entry->across, choice.across);
    } else if (same_cores && companion != kNoNode) {
      choice.across = near->across;
    } else if (same_cores && !near->across.empty() && !facts.is_nest) {
      follow_across(node, producer, *near, choice);
    } else {
      defaults_.choose_across(node, choice);
    }
    if (entry != nullptr && !entry->tiles.empty()) {
      read_splits(node, "tiles", entry->tiles, choice.tiles);
      if (!across_is_given) make_way(facts, choice);
    } else if (faults_.empty()) {
      defaults_.choose_tiles(node, facts.is_nest || producer == kNoNode ? nullptr : near, producer,
                             producer != kNoNode && is_fused(node, producer), choice);
    }
    choice.at_lanes = entry != nullptr && entry->at_lanes;
    check_splits(node, entry, choice);
  }

  // Parts over cores that nobody asked for leave as many steps as the plan wants tiles.
  static void make_way(const Facts& facts, NodeChoice& choice) {
    for (LoopSplit& split : choice.across) {
      const std::int64_t size = facts.loops[split.loop].size;
      const auto given = std::find_if(choice.tiles.begin(), choice.tiles.end(),
                                      [&](const LoopSplit& t) { return t.loop == split.loop; });
      while (given != choice.tiles.end() && split.parts > 1 && given->parts > (size + split.parts - 1) / split.parts)
        --split.parts;
    }
    std::erase_if(choice.across, [](const LoopSplit& split) { return split.parts == 1; });
  }

  bool is_fused(NodeId a, NodeId b) { return group_index(a) == group_index(b); }

  std::size_t group_index(NodeId node) {
    if (group_index_.empty()) {
      group_index_.resize(graph_.nodes.size());
      for (std::size_t g = 0; g < out_.groups.size(); ++g)
        for (const NodeId n : out_.groups[g].nodes) group_index_[n.index()] = g;
    }
    return group_index_[node.index()];
  }

  // Who makes the largest of what a node reads; kNoNode if nobody whose choice is known does.
  NodeId largest_producer(NodeId node) {
    if (producer_.empty()) {
      producer_.assign(graph_.tensors.size(), kNoNode);
      for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i)
        for (const TensorId t : graph_.nodes[i].outputs)
          if (t != kNoTensor) producer_[t.index()] = NodeId{i};
    }
    NodeId best = kNoNode;
    std::uint64_t most = 0;
    for (const TensorId t : graph_[node].inputs) {
      if (t == kNoTensor) continue;
      const NodeId producer = producer_[t.index()];
      if (producer == kNoNode || producer >= node || out_.nodes[producer.index()].cores.empty()) continue;
      // Of equals what was made last: it is still near.
      if (bits(graph_[t]) < most) continue;
      most = bits(graph_[t]);
      best = producer;
    }
    return best;
  }

  // Element-wise work on what nobody makes, such as old states: the first of its group that runs over the same loops.
  NodeId companion_of(NodeId node) {
    const Facts& facts = facts_[node.index()];
    if (facts.is_nest || facts.kind != hardware::WorkClass::Elementwise) return kNoNode;
    for (const NodeId other : out_.groups[group_index(node)].nodes)
      if (other < node && !out_.nodes[other.index()].cores.empty() && !facts_[other.index()].is_nest &&
          facts_[other.index()].loops == facts.loops)
        return other;
    return kNoNode;
  }

  // As the producer is split over the same cores, so are its readers.
  void follow_across(NodeId node, NodeId producer, const NodeChoice& near, NodeChoice& choice) {
    NodeChoice as_tiles{.cores = near.cores, .tiles = near.across}, followed{.cores = choice.cores};
    const std::vector<LoopSplit> across = defaults_.followed(node, as_tiles, producer);
    std::int64_t parts = 1, wanted = 1;
    for (const LoopSplit& s : across) parts *= s.parts;
    for (const LoopSplit& s : near.across) wanted *= s.parts;
    // Of a slice a loop may be shorter than the axis it runs along.
    const bool has_steps = std::all_of(across.begin(), across.end(), [&](const LoopSplit& s) {
      return s.parts <= facts_[node.index()].loops[s.loop].size;
    });
    if (parts == wanted && has_steps)
      choice.across = across;
    else
      defaults_.choose_across(node, choice);
  }

  void read_cores(NodeId node, const NodePlan& entry, NodeChoice& choice) {
    std::vector<std::string> names;
    for (const CoreOnChip& core : chip_.cores) names.push_back(core.core.name);
    for (const std::string& name : entry.cores) {
      const auto at = std::find(names.begin(), names.end(), name);
      const std::string path = fmt::format("nodes/{}/cores", entry.node);
      if (at == names.end()) {
        if (reported_.insert(path + name).second)
          fault(path, fmt::format("there is no core '{}'", name),
                did_you_mean(name, names, fmt::format("the chip has {}", fmt::join(names, ", "))));
        continue;
      }
      const auto core = static_cast<std::uint32_t>(at - names.begin());
      if (!can_run(chip_.cores[core], facts_[node.index()])) {
        fault(path, fmt::format("core '{}' cannot run '{}'", name, graph_[node].name),
              facts_[node.index()].is_nest ? "it has no array" : "it has neither a vector unit nor an array");
        continue;
      }
      choice.cores.push_back(core);
    }
  }

  void read_splits(NodeId node, const char* what, const std::vector<Split>& splits, std::vector<LoopSplit>& out) {
    const std::vector<Loop>& loops = facts_[node.index()].loops;
    const NodePlan& entry = *entry_of_[node.index()];
    std::vector<std::string> names;
    for (const Loop& loop : loops) names.push_back(loop.name);
    for (const Split& split : splits) {
      const auto at = std::find(names.begin(), names.end(), split.loop);
      if (at != names.end()) {
        if (split.parts > 1) out.push_back({static_cast<std::uint32_t>(at - names.begin()), split.parts});
        continue;
      }
      // An entry for many nodes says what holds for those that have the loop.
      if (entry.node.find('*') != std::string::npos) continue;
      fault(fmt::format("nodes/{}/{}/{}", entry.node, what, split.loop),
            fmt::format("'{}' has no loop {}", graph_[node].name, split.loop),
            did_you_mean(split.loop, names, fmt::format("it has {}", fmt::join(names, ", "))));
    }
  }

  // Fixed loops, loops within others, more parts than steps.
  void check_splits(NodeId node, const NodePlan* entry, NodeChoice& choice) {
    const std::vector<Loop>& loops = facts_[node.index()].loops;
    if (entry == nullptr) return;
    for (std::size_t l = 0; l < loops.size(); ++l) {
      const std::int64_t across = parts_of(choice.across, l), tiles = parts_of(choice.tiles, l);
      if (across * tiles == 1) continue;
      const std::string path =
          fmt::format("nodes/{}/{}/{}", entry->node, across > 1 ? "across" : "tiles", loops[l].name);
      if (loops[l].kind == LoopKind::Fixed) {
        fault(path, fmt::format("loop {} of '{}' cannot be cut: {}", loops[l].name, graph_[node].name, loops[l].why));
        continue;
      }
      // The longest part of `across` decides: tiles that shorter ones do not have are left out.
      if (across > loops[l].size || tiles > (loops[l].size + across - 1) / across) {
        fault(
            path,
            fmt::format("loop {} of '{}' has {} steps: {}{} parts are too many", loops[l].name, graph_[node].name,
                        loops[l].size, across > 1 ? fmt::format("{} x ", across) : "", tiles),
            fmt::format("at most {}", across > loops[l].size ? loops[l].size : (loops[l].size + across - 1) / across));
        continue;
      }
      for (std::size_t o = 0; o < loops.size(); ++o)
        if (loops[o].name == loops[l].within && parts_of(choice.across, o) * parts_of(choice.tiles, o) < loops[o].size)
          fault(path,
                fmt::format("loop {} of '{}' can be cut only in tiles of one step of {}", loops[l].name,
                            graph_[node].name, loops[o].name),
                fmt::format("cut {} into {} parts, too", loops[o].name, loops[o].size));
    }
    std::int64_t parts = 1;
    for (const LoopSplit& s : choice.across) parts *= s.parts;
    if (static_cast<std::size_t>(parts) < choice.cores.size()) {
      if (!entry->across.empty() && !entry->cores.empty())
        out_.notes.push_back(fmt::format("'{}' has {} parts for {} cores: the last ones stay idle", graph_[node].name,
                                         parts, choice.cores.size()));
      choice.cores.resize(static_cast<std::size_t>(parts));
    }
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const Graph& graph_;
  const std::vector<Facts>& facts_;
  const Chip& chip_;
  const Plan& plan_;
  const Places& places_;
  Defaults defaults_;
  std::unordered_map<std::string_view, NodeId> by_name_;
  std::vector<std::size_t> group_of_, group_index_;
  std::vector<ChosenGroup> named_;
  std::vector<const NodePlan*> entry_of_;
  std::vector<NodeId> producer_;
  std::set<std::string> reported_;
  std::vector<Diagnostic> faults_;
  Decided out_;
};

}  // namespace

Decided decide(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip, const Plan& plan,
               const Places& places) {
  return Decision(graph, facts, chip, plan, places).run();
}

std::int64_t parts_of(const std::vector<LoopSplit>& splits, std::size_t loop) {
  std::int64_t parts = 1;
  for (const LoopSplit& split : splits)
    if (split.loop == loop) parts *= split.parts;
  return parts;
}

Plan in_words(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip, const Decided& decided) {
  Plan plan{.saved = decided.saved, .prefetch = decided.prefetch};
  for (const ChosenGroup& group : decided.groups) {
    Group words{.order = group.order};
    for (const NodeId n : group.nodes) words.nodes.push_back(graph[n].name);
    plan.groups.push_back(std::move(words));
  }
  for (std::size_t i = 0; i < decided.nodes.size(); ++i) {
    const NodeChoice& choice = decided.nodes[i];
    if (choice.cores.empty()) continue;
    NodePlan words{.node = graph.nodes[i].name, .at_lanes = choice.at_lanes};
    for (const std::uint32_t c : choice.cores) words.cores.push_back(chip.cores[c].core.name);
    for (const LoopSplit& s : choice.across) words.across.push_back({facts[i].loops[s.loop].name, s.parts});
    for (const LoopSplit& s : choice.tiles) words.tiles.push_back({facts[i].loops[s.loop].name, s.parts});
    plan.nodes.push_back(std::move(words));
  }
  return plan;
}

}  // namespace monet::plan
