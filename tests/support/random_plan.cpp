#include <fmt/format.h>

#include <algorithm>

#include "monet/graph/order.h"
#include "monet/graph/saved.h"
#include "monet/hardware/library.h"
#include "monet/plan/lanes.h"
#include "support/random_case.h"

namespace monet::test {
namespace {

using plan::Facts;

// Any order in which the nodes can run.
std::vector<NodeId> some_order(const Graph& graph, Draw& draw) {
  const Storage storage(graph);
  const std::vector<std::vector<NodeId>> before = predecessors(graph, storage);
  std::vector<std::vector<NodeId>> after(graph.nodes.size());
  std::vector<std::size_t> waits(graph.nodes.size(), 0);
  std::vector<NodeId> ready, order;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    for (const NodeId p : before[n]) after[p.index()].push_back(NodeId{n});
    waits[n] = before[n].size();
    if (waits[n] == 0) ready.push_back(NodeId{n});
  }
  const bool is_wild = draw.below(3) == 0;
  while (!ready.empty()) {
    std::size_t at = is_wild ? static_cast<std::size_t>(draw.below(std::ssize(ready))) : 0;
    if (!is_wild)
      for (std::size_t i = 0; i < ready.size(); ++i)
        if (ready[i] < ready[at]) at = i;
    const NodeId n = ready[at];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
    order.push_back(n);
    for (const NodeId next : after[n.index()])
      if (--waits[next.index()] == 0) ready.push_back(next);
  }
  return order;
}

void add_groups(const Graph& graph, RandomPlan& out, Draw& draw) {
  const std::int64_t longest = draw.between(1, 12);
  std::int64_t left = 0;
  for (const NodeId n : some_order(graph, draw)) {
    if (left == 0) {
      const plan::Order orders[] = {plan::Order::DepthFirst, plan::Order::BreadthFirst, plan::Order::Interleaved,
                                    plan::Order::Pipelined, plan::Order::Overlapped};
      out.plan.groups.push_back({.order = orders[draw.below(5)]});
      left = draw.between(1, longest);
    }
    out.plan.groups.back().nodes.push_back(graph[n].name);
    --left;
  }
  // Nodes that no group names find their own place.
  if (draw.below(4) == 0)
    std::erase_if(out.plan.groups, [&](const plan::Group& g) { return g.nodes.size() == 1 && draw.coin(); });
}

void add_spills(const Graph& graph, RandomPlan& out, Draw& draw) {
  if (draw.below(3) != 0) return;
  for (const TensorId t : saved_activations(graph))
    if (draw.coin()) out.plan.saved.push_back({.tensor = graph[t].name, .saving = plan::Saving::Spill});
}

struct Cuts {
  std::vector<std::int64_t> across, tiles;  // by loop
};

// Random cuts of a node; all steps of a loop that another is within are tiles of their own if that one is cut.
Cuts random_cuts(const Facts& facts, std::size_t cores, bool cuts_sums, Draw& draw) {
  Cuts cuts{std::vector<std::int64_t>(facts.loops.size(), 1), std::vector<std::int64_t>(facts.loops.size(), 1)};
  std::int64_t across = 1, tiles = 1;
  const auto is_open = [&](std::size_t l, std::int64_t& steps) {
    const Loop& loop = facts.loops[l];
    steps = loop.size / (cuts.across[l] * cuts.tiles[l]);
    if (loop.kind == LoopKind::Fixed || steps < 2 || (loop.kind == LoopKind::Reduction && !cuts_sums)) return false;
    for (std::size_t o = 0; o < facts.loops.size(); ++o)
      if (facts.loops[o].name == loop.within && cuts.across[o] * cuts.tiles[o] < facts.loops[o].size) return false;
    return true;
  };
  for (std::int64_t i = draw.below(4); i > 0 && !facts.loops.empty(); --i) {
    const auto l = static_cast<std::size_t>(draw.below(std::ssize(facts.loops)));
    std::int64_t steps = 1;
    if (!is_open(l, steps)) continue;
    const bool is_across = cores > 1 && cuts.across[l] == 1 && draw.coin();
    if (!is_across && cuts.tiles[l] > 1) continue;
    const bool is_outer = std::any_of(facts.loops.begin(), facts.loops.end(),
                                      [&](const Loop& loop) { return loop.within == facts.loops[l].name; });
    std::int64_t parts = is_outer && draw.coin() ? steps : std::min(steps, draw.between(2, 5));
    if (is_across) parts = std::min<std::int64_t>(parts, static_cast<std::int64_t>(cores) + 1);
    if ((is_across ? across : tiles) * parts > 24) continue;
    (is_across ? cuts.across : cuts.tiles)[l] = parts;
    (is_across ? across : tiles) *= parts;
  }
  return cuts;
}

std::vector<plan::Split> splits(const Facts& facts, const std::vector<std::int64_t>& parts, Draw& draw) {
  std::vector<plan::Split> list;
  for (std::size_t l = 0; l < parts.size(); ++l)
    if (parts[l] > 1)
      list.insert(list.begin() + draw.below(std::ssize(list) + 1), plan::Split{facts.loops[l].name, parts[l]});
  return list;
}

void add_nodes(const Graph& graph, const std::vector<Facts>& facts, const plan::Chip& chip, RandomPlan& out,
               Draw& draw) {
  const std::int64_t density = draw.between(0, 10);
  const bool cuts_sums = draw.below(3) != 0;  // else every number is the same bit for bit, unless a default cuts one
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (facts[n].is_view || draw.below(10) >= density) continue;
    plan::NodePlan node{.node = graph.nodes[n].name};
    for (const plan::CoreOnChip& core : chip.cores)
      if (plan::takes(core, facts[n]) && draw.below(4) != 0)
        node.cores.insert(node.cores.begin() + draw.below(std::ssize(node.cores) + 1), core.core.name);
    const Cuts cuts = random_cuts(facts[n], node.cores.size(), cuts_sums, draw);
    node.across = splits(facts[n], cuts.across, draw);
    node.tiles = splits(facts[n], cuts.tiles, draw);
    out.plan.nodes.push_back(std::move(node));
  }
}

// One thing that must be refused.
void spoil(const Graph& graph, const std::vector<Facts>& facts, const plan::Chip& chip, RandomPlan& out, Draw& draw) {
  const auto n = static_cast<std::size_t>(draw.below(std::ssize(graph.nodes)));
  const std::string& name = graph.nodes[n].name;
  if (facts[n].is_view) return;
  std::erase_if(out.plan.nodes, [&](const plan::NodePlan& p) { return p.node == name; });
  plan::NodePlan node{.node = name};
  out.is_legal = false;
  switch (draw.below(5)) {
    case 0: node.tiles = {{"no_such_loop", 2}}; break;
    case 1: node.cores = {chip.cores[0].core.name + "_of_nowhere"}; break;
    case 2: node.node += "_of_nowhere"; break;
    case 3:
      if (facts[n].loops.empty()) node.tiles = {{"A9", 2}};
      for (const Loop& loop : facts[n].loops) node.tiles = {{loop.name, loop.size + 1}};
      break;
    default: {  // a reader before who makes what it reads
      const Storage storage(graph);
      const std::vector<NodeId> before = predecessors(graph, storage)[n];
      if (before.empty()) {
        node.tiles = {{"no_such_loop", 3}};
        break;
      }
      out.plan.groups = {{.nodes = {name}}, {.nodes = {graph[before[0]].name}}};
      return;
    }
  }
  out.plan.nodes.push_back(std::move(node));
}

// Whatever can stay at the lanes, or some of it.
void keep_some(Case& c, Draw& draw) {
  const std::int64_t share = draw.between(1, 4);
  for (plan::NodeChoice& node : c.decided.nodes) {
    node.at_lanes = !node.cores.empty() && draw.below(share) == 0;
    if (node.at_lanes) node.at_lanes = lane_faults(c.network.graph, c.facts, c.chip, c.decided).empty();
  }
  add_lane_stores(c.chip, c.decided);
}

bool has_cut_reduction(const Facts& facts, const std::vector<plan::LoopSplit>& list) {
  return std::any_of(list.begin(), list.end(), [&](const plan::LoopSplit& s) {
    return s.parts > 1 && facts.loops[s.loop].kind == LoopKind::Reduction;
  });
}

}  // namespace

RandomPlan random_plan(const Graph& graph, const std::vector<Facts>& facts, const plan::Chip& chip, Draw& draw) {
  RandomPlan out;
  if (draw.below(3) != 0) add_groups(graph, out, draw);
  add_spills(graph, out, draw);
  add_nodes(graph, facts, chip, out, draw);
  if (draw.coin()) out.plan.prefetch = draw.between(1, 12);
  if (draw.below(6) == 0) spoil(graph, facts, chip, out, draw);
  return out;
}

bool Case::splits_reductions() const {
  for (std::size_t n = 0; n < decided.nodes.size(); ++n)
    if (has_cut_reduction(facts[n], decided.nodes[n].tiles) || has_cut_reduction(facts[n], decided.nodes[n].across))
      return true;
  return false;
}
bool Case::shares_reductions() const {
  for (std::size_t n = 0; n < decided.nodes.size(); ++n)
    if (has_cut_reduction(facts[n], decided.nodes[n].across)) return true;
  return false;
}

schedule::TilingInput Case::input(const Storage& storage, std::size_t threads) const {
  static cost::Cache cache;  // many cases have the same tiles
  schedule::CostOptions costs{.threads = threads, .cache = &cache};
  costs.map.most_labels = 100;
  return {.graph = network.graph,
          .storage = storage,
          .facts = facts,
          .chip = chip,
          .hardware = chip_file.hardware,
          .decided = decided,
          .costs = costs};
}

Case random_case(std::uint64_t number, std::size_t& refused) {
  Draw draw(number);
  Case c;
  c.network = random_network(draw);
  c.chip_file = random_chip(draw);
  c.chip = plan::chip_of(c.chip_file.hardware);
  c.facts = plan::facts_of(c.network.graph);
  for (;;) {
    RandomPlan random = random_plan(c.network.graph, c.facts, c.chip, draw);
    try {
      c.decided = decide(c.network.graph, c.facts, c.chip, random.plan);
      if (!random.is_legal) throw std::logic_error("a plan was taken that is not legal");
      c.plan = std::move(random.plan);
      if (draw.coin()) keep_some(c, draw);
      return c;
    } catch (const InputError& error) {
      if (random.is_legal) throw std::logic_error(std::string("a legal plan was refused: ") + error.what());
      ++refused;
    }
  }
}

Case default_case(Network network, const std::string& chip) {
  Case c{.network = std::move(network), .chip_file = {hardware::find_hardware(chip).hardware, chip}};
  c.chip = plan::chip_of(c.chip_file.hardware);
  c.facts = plan::facts_of(c.network.graph);
  c.decided = decide(c.network.graph, c.facts, c.chip, {});
  return c;
}

}  // namespace monet::test
