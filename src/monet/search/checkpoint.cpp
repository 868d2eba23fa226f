#include "monet/search/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "monet/base/assert.h"
#include "monet/base/diagnostic.h"
#include "monet/base/parallel.h"
#include "monet/graph/order.h"
#include "monet/graph/saved.h"
#include "monet/plan/default_groups.h"
#include "monet/search/savings.h"
#include "monet/solve/partition.h"

namespace monet::search {

namespace {

std::vector<Iteration> one_iteration(Graph training, const Setting& setting, const DecomposeOptions& options) {
  Ways ways(setting, decompose(training, options), {});
  std::vector<Iteration> out;
  out.push_back({std::move(training), std::move(ways)});
  return out;
}

}  // namespace

Checkpointing::Checkpointing(Graph training, const Setting& setting, const CheckpointOptions& options)
    : Checkpointing(one_iteration(std::move(training), setting, options.decompose), setting, options) {}

Checkpointing::Checkpointing(std::vector<Iteration> iterations, const Setting& setting,
                             const CheckpointOptions& options)
    : iterations_(std::move(iterations)),
      tensors_(iterations_.size()),
      setting_(setting),
      options_(options),
      stretches_(decompose(training(), options.decompose), options.stretches) {
  MONET_ASSERT(!options.allowed.empty() && options.allowed[0].saving == plan::Saving::Keep,
               "keeping is the first choice");
  setting_.costs.threads = 1;
  setting_.costs.priced = &priced_;
  const Graph& g = training();
  const Uses u = uses(g);
  const std::vector<TensorId> saved = saved_activations(g);
  for (const TensorId t : saved) saved_bytes_ += static_cast<double>(bytes(g[t]));
  // What nobody makes (inputs, labels) cannot be rebuilt.
  for (const TensorId t : saved) {
    const auto size = static_cast<double>(bytes(g[t]));
    if (u.producer[t.index()] == kNoNode || size < options.least_share * saved_bytes_) continue;
    SavedActivation a{.tensor = t, .name = g[t].name, .bytes = size};
    for (std::uint16_t c = 0; c < options.allowed.size(); ++c)
      if (applies_to(g[t], options.allowed[c])) a.choices.push_back(c);
    if (a.choices.size() > 1) activations_.push_back(std::move(a));
  }
  if (iterations_.size() > 1) {
    axes_.push_back({.name = "batch"});
    for (const Iteration& i : iterations_) axes_.back().alternatives.push_back(fmt::format("{}", i.samples));
  }
  for (std::size_t i = 0; i < iterations_.size(); ++i) {
    std::unordered_map<std::string_view, TensorId> named;
    for (const TensorId t : saved_activations(iterations_[i].training))
      named.emplace(iterations_[i].training[t].name, t);
    for (const SavedActivation& a : activations_) {
      MONET_ASSERT(named.contains(a.name), "iterations save the same activations");
      tensors_[i].push_back(named.at(a.name));
    }
    // With everything rebuilt: what decisions add is there, but for casts.
    known_.emplace_back(decompose(recompute(iterations_[i].training, tensors_[i]), options.decompose));
  }
  const std::vector<Axis>& ways = iterations_.front().ways.axes();
  axes_.insert(axes_.end(), ways.begin(), ways.end());
}

const Iteration& Checkpointing::iteration(const solve::Choices& decision) const {
  return iterations_[iterations_.size() > 1 ? decision[activations_.size()] : 0];
}

std::span<const std::uint16_t> Checkpointing::way(const solve::Choices& decision) const {
  return std::span(decision).subspan(activations_.size() + (iterations_.size() > 1 ? 1 : 0));
}

std::vector<std::uint16_t> Checkpointing::choices() const {
  std::vector<std::uint16_t> out;
  for (const SavedActivation& a : activations_) out.push_back(static_cast<std::uint16_t>(a.choices.size()));
  for (const Axis& a : axes_) out.push_back(static_cast<std::uint16_t>(a.alternatives.size()));
  return out;
}

std::vector<std::string> Checkpointing::ways(const solve::Choices& decision) const {
  std::vector<std::string> out;
  for (std::size_t a = 0; a < axes_.size(); ++a)
    out.push_back(axes_[a].alternatives[decision[activations_.size() + a]]);
  return out;
}

solve::Choices Checkpointing::all_of(plan::Saving saving) const {
  solve::Choices out(activations_.size() + axes_.size(), 0);
  for (std::size_t i = 0; i < activations_.size(); ++i)
    for (std::uint16_t c = 0; c < activations_[i].choices.size(); ++c)
      if (options_.allowed[activations_[i].choices[c]].saving == saving) out[i] = c;
  return out;
}

std::vector<plan::SavedPlan> Checkpointing::savings(const solve::Choices& decision) const {
  MONET_ASSERT(decision.size() == activations_.size() + axes_.size(), "a number for everything decided on");
  std::vector<plan::SavedPlan> out;
  for (std::size_t i = 0; i < activations_.size(); ++i) {
    if (decision[i] == 0) continue;
    out.push_back(options_.allowed[activations_[i].choices[decision[i]]]);
    out.back().tensor = activations_[i].name;
  }
  return out;
}

Subject Checkpointing::subject(const solve::Choices& decision) const {
  std::vector<plan::SavedPlan> saved = savings(decision);
  const Iteration& it = iteration(decision);
  const auto number = static_cast<std::size_t>(&it - iterations_.data());
  const std::vector<TensorId>& tensors = tensors_[number];
  std::vector<Dropped> dropped;
  for (std::size_t i = 0, next = 0; i < activations_.size(); ++i)
    if (decision[i] != 0)
      if (const auto drop = dropped_as(tensors[i], saved[next++])) dropped.push_back(*drop);
  return Subject(decompose(dropped.empty() ? it.training : recompute(it.training, dropped), options_.decompose),
                 std::move(saved), known_[number]);
}

plan::Plan Checkpointing::plan(const Subject& subject, const solve::Choices& decision) const {
  const plan::Plan& as_it_is = iteration(decision).ways.plan(way(decision));
  plan::Plan by_default{.saved = subject.saved, .nodes = as_it_is.nodes, .prefetch = as_it_is.prefetch};
  if (as_it_is.groups.empty()) return by_default;
  std::unordered_map<std::string_view, std::size_t> group_of;
  for (std::size_t g = 0; g < as_it_is.groups.size(); ++g)
    for (const std::string& node : as_it_is.groups[g].nodes) group_of.emplace(node, g);
  std::vector<std::vector<std::uint32_t>> groups(as_it_is.groups.size());
  for (std::uint32_t n = 0; n < subject.graph.nodes.size(); ++n)
    if (const auto at = group_of.find(subject.graph.nodes[n].name); at != group_of.end())
      groups[at->second].push_back(n);
  const std::vector<std::vector<NodeId>> before = predecessors(subject.graph, *subject.storage);
  std::vector<plan::Order> orders;
  for (const plan::Group& g : as_it_is.groups) orders.push_back(g.order);
  for (const plan::ChosenGroup& added : plan::default_groups(subject.graph, subject.facts, before)) {
    groups.emplace_back();
    orders.push_back(added.order);
    for (const NodeId n : added.nodes)
      if (!group_of.contains(subject.graph[n].name)) groups.back().push_back(n.value);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t n = 0; n < before.size(); ++n)
    for (const NodeId p : before[n]) edges.emplace_back(p.value, n);
  std::vector<const std::vector<std::uint32_t>*> parts;
  std::vector<plan::Order> part_orders;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (!groups[g].empty()) {
      parts.push_back(&groups[g]);
      part_orders.push_back(orders[g]);
    }
  const std::vector<std::uint32_t> order =
      solve::order_of_groups(static_cast<std::uint32_t>(subject.graph.nodes.size()), edges, parts);
  // What is rebuilt may need what a group makes that waits for it: then all are fused anew.
  if (order.size() < parts.size()) return by_default;
  plan::Plan out = by_default;
  for (const std::uint32_t g : order) {
    out.groups.push_back({.order = part_orders[g]});
    for (const std::uint32_t n : *parts[g]) out.groups.back().nodes.push_back(subject.graph.nodes[n].name);
  }
  return out;
}

Figures Checkpointing::figures(const solve::Choices& decision) const {
  try {
    const Subject s = subject(decision);
    const Evaluated e = evaluate(setting_, s, plan(s, decision), schedule::Detail::All);
    Figures figures = figures_of(setting_.chip, e.decided, e.outcome);
    figures.samples = iterations_.size() > 1 ? iteration(decision).samples : 1;
    if (const auto* evaluation = std::get_if<schedule::Evaluation>(&e.outcome))
      figures.stretch_bytes = stretches_.peak_total_bytes(s.graph, *evaluation);
    return figures;
  } catch (const InputError& error) {  // the plan is not legal for what the decision makes of the graph
    return Figures{.reason = error.what()};
  }
}

std::vector<Figures> Checkpointing::figures(std::span<const solve::Choices> decisions) const {
  std::vector<Figures> out(decisions.size());
  parallel_for(decisions.size(), options_.threads, [&](std::size_t i) { out[i] = figures(decisions[i]); });
  return out;
}

double CheckpointGoal::peak(const Figures& f) const { return store ? f.peak_bytes[*store] : f.peak_total_bytes; }

solve::Score CheckpointGoal::score(const Figures& f) const {
  if (!f.is_possible) return {{}, std::numeric_limits<double>::max()};
  return score(f.latency_cycles / f.samples, f.energy_pj / f.samples, peak(f));
}

solve::Score CheckpointGoal::score(double latency_cycles, double energy_pj, double peak_bytes) const {
  if (!fit_bytes) return {{latency_cycles, energy_pj, peak_bytes}};
  if (peak_bytes > *fit_bytes) return {{}, peak_bytes - *fit_bytes};
  return {{latency_cycles, energy_pj}};
}

}  // namespace monet::search
