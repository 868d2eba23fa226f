#include "monet/search/placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "monet/base/assert.h"
#include "monet/base/diagnostic.h"
#include "monet/base/parallel.h"
#include "monet/plan/defaults.h"

namespace monet::search {
namespace {

using Cores = std::vector<std::uint32_t>;

constexpr std::uint32_t kNoLayer = static_cast<std::uint32_t>(-1);
constexpr std::size_t kMostCores = 64;
constexpr std::size_t kAllSets = 6;  // cores, of which all sets are tried

// Cores that take such work; where none does, those that can do it.
Cores cores_for(const plan::Chip& chip, const plan::Facts& facts) {
  Cores out;
  for (const auto& fits : {plan::takes, plan::can_run}) {
    for (std::uint32_t c = 0; c < chip.cores.size(); ++c)
      if (fits(chip.cores[c], facts)) out.push_back(c);
    if (!out.empty()) break;
  }
  return out;
}

// Fewer cores first, then in the order of the chip.
std::vector<Cores> sets_of(const Cores& cores) {
  std::vector<Cores> out;
  if (cores.size() <= kAllSets) {
    for (std::uint32_t bits = 1; bits < 1u << cores.size(); ++bits) {
      out.emplace_back();
      for (std::size_t i = 0; i < cores.size(); ++i)
        if ((bits >> i & 1) != 0) out.back().push_back(cores[i]);
    }
  } else {
    for (std::size_t run = 1; run <= cores.size(); run *= 2)
      for (std::size_t at = 0; at + run <= cores.size(); at += run)
        out.emplace_back(cores.begin() + static_cast<std::ptrdiff_t>(at),
                         cores.begin() + static_cast<std::ptrdiff_t>(at + run));
    if (out.back() != cores) out.push_back(cores);
  }
  std::sort(out.begin(), out.end(),
            [](const Cores& a, const Cores& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
  return out;
}

// Nodes of which the plan says how they run.
std::vector<bool> given_by(const plan::Plan& plan, const Graph& graph) {
  std::vector<bool> out(graph.nodes.size(), false);
  for (const plan::NodePlan& entry : plan.nodes)
    for (std::size_t n = 0; n < out.size(); ++n)
      if (plan::matches(entry.node, graph.nodes[n].name)) out[n] = true;
  return out;
}

}  // namespace

Placement::Placement(const Setting& setting, const Subject& subject, plan::Plan plan)
    : setting_(setting), subject_(subject), plan_(std::move(plan)) {
  if (setting_.chip.cores.size() > kMostCores)
    throw InputError(Diagnostic{.message = "more than 64 cores", .hint = "place layers on a part of them"});
  setting_.costs.threads = 1;
  setting_.costs.priced = &priced_;
  by_default_ = plan::decide(subject.graph, subject.facts, setting_.chip, plan_);
  find_layers();
  const std::vector<bool> is_given = given_by(plan_, subject.graph);
  for (Layer& layer : layers_) {
    const std::size_t first = layer.nodes.front().index();
    const plan::NodeChoice& usual = by_default_.nodes[first];
    const bool hangs_on_others = !subject.facts[first].is_nest && !is_given[first];
    layer.cores = is_given[first] ? usual.cores : cores_for(setting_.chip, subject.facts[first]);
    layer.allocations.push_back(hangs_on_others && layer.cores.size() > 1
                                    ? plan::NodeChoice{}
                                    : plan::NodeChoice{.cores = usual.cores, .across = usual.across});
    if (!is_given[first]) find_allocations(layer);
  }
}

// Within a group no layer reads what a later one makes: who reads from several is with the last of them.
void Placement::find_layers() {
  const Graph& graph = subject_.graph;
  const Uses u = uses(graph);
  std::vector<std::uint32_t> layer_of(graph.nodes.size(), kNoLayer);
  for (const plan::ChosenGroup& group : by_default_.groups) {
    const std::size_t first = layers_.size();
    for (const NodeId n : group.nodes) {
      std::uint32_t last = kNoLayer;
      for (const TensorId t : graph[n].inputs)
        if (t != kNoTensor && u.producer[t.index()] != kNoNode)
          if (const std::uint32_t made = layer_of[u.producer[t.index()].index()];
              made != kNoLayer && (last == kNoLayer || made > last))
            last = made;
      layer_of[n.index()] = last;
      if (subject_.facts[n.index()].is_view) continue;
      if (subject_.facts[n.index()].is_nest || layers_.size() == first) layers_.emplace_back();
      const bool is_new = layers_.back().nodes.empty();
      if (is_new || last == kNoLayer || last < first) last = static_cast<std::uint32_t>(layers_.size() - 1);
      layer_of[n.index()] = last;
      layers_[last].nodes.push_back(n);
    }
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> moved;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    if (u.producer[t] == kNoNode || layer_of[u.producer[t].index()] == kNoLayer) continue;
    const std::uint32_t from = layer_of[u.producer[t].index()];
    std::set<std::uint32_t> readers;
    for (const NodeId n : u.consumers[t])
      if (!subject_.facts[n.index()].is_view) readers.insert(layer_of[n.index()]);
    for (const std::uint32_t to : readers)
      if (to != from) moved[{from, to}] += static_cast<double>(bytes(graph.tensors[t]));
  }
  for (const auto& [pair, bytes] : moved) {
    MONET_ASSERT(pair.first < pair.second, "layers follow the data");
    edges_.push_back({pair.first, pair.second, bytes});
  }
}

void Placement::find_allocations(Layer& layer) const {
  if (layer.cores.size() < 2) return;
  const plan::Defaults defaults(subject_.graph, subject_.facts, setting_.chip);
  const Cores usual = layer.allocations.front().cores;
  for (const Cores& cores : sets_of(layer.cores)) {
    if (cores == usual) continue;
    plan::NodeChoice choice{.cores = cores};
    defaults.choose_across(layer.nodes.front(), choice);
    if (choice.cores.size() == cores.size()) layer.allocations.push_back(std::move(choice));
  }
}

std::vector<std::uint16_t> Placement::choices() const {
  std::vector<std::uint16_t> out;
  for (const Layer& layer : layers_) out.push_back(static_cast<std::uint16_t>(layer.allocations.size()));
  return out;
}

double Placement::decisions() const {
  double count = 1;
  for (const Layer& layer : layers_) count *= static_cast<double>(layer.allocations.size());
  return count;
}

solve::Choices Placement::all_on(std::uint32_t core) const {
  solve::Choices out(layers_.size(), 0);
  for (std::size_t l = 0; l < layers_.size(); ++l)
    for (std::uint16_t a = 0; a < layers_[l].allocations.size(); ++a)
      if (layers_[l].allocations[a].cores == Cores{core}) out[l] = a;
  return out;
}

plan::Plan Placement::plan(const solve::Choices& decision) const {
  MONET_ASSERT(decision.size() == layers_.size(), "a decision for every layer");
  plan::Plan out = plan_;
  for (std::size_t l = 0; l < decision.size(); ++l) {
    if (decision[l] == 0) continue;
    const NodeId node = layers_[l].nodes.front();
    const plan::NodeChoice& choice = layers_[l].allocations[decision[l]];
    plan::NodePlan words{.node = subject_.graph[node].name};
    for (const std::uint32_t c : choice.cores) words.cores.push_back(setting_.chip.cores[c].core.name);
    for (const plan::LoopSplit& s : choice.across)
      words.across.push_back({subject_.facts[node.index()].loops[s.loop].name, s.parts});
    out.nodes.push_back(std::move(words));
  }
  return out;
}

Evaluated Placement::evaluate(const solve::Choices& decision) const {
  return search::evaluate(setting_, subject_, plan(decision));
}

Figures Placement::figures(const solve::Choices& decision) const {
  const Evaluated e = evaluate(decision);
  return figures_of(setting_.chip, e.decided, e.outcome);
}

std::vector<Figures> Placement::figures(std::span<const solve::Choices> decisions, std::size_t threads) const {
  std::vector<Figures> out(decisions.size());
  parallel_for(decisions.size(), threads, [&](std::size_t i) { out[i] = figures(decisions[i]); });
  return out;
}

}  // namespace monet::search
