#include "monet/search/subject.h"

#include <algorithm>

namespace monet::search {

Subject::Subject(Graph single_works, std::vector<plan::SavedPlan> said, const plan::KnownFacts& known)
    : graph(std::move(single_works)),
      saved(std::move(said)),
      storage(std::make_unique<Storage>(graph)),
      facts(plan::facts_of(graph, known)) {}

Figures figures_of(const plan::Chip& chip, const plan::Decided& decided,
                   const std::variant<schedule::Evaluation, schedule::Infeasible>& outcome) {
  Figures out{.groups = decided.groups.size()};
  if (const auto* no = std::get_if<schedule::Infeasible>(&outcome)) {
    out.reason = no->reason;
    return out;
  }
  const auto& e = std::get<schedule::Evaluation>(outcome);
  const schedule::StoreUse& home = e.stores[chip.machine.home.index()];
  out.is_possible = true;
  out.latency_cycles = e.latency;
  out.energy_pj = e.energy.total();
  out.peak_total_bytes = e.peak_total_bytes;
  out.peak_offchip_bytes = home.peak_bytes;
  for (const schedule::StoreUse& store : e.stores) out.peak_bytes.push_back(store.peak_bytes);
  out.offchip_bytes = home.bytes_in + home.bytes_out;
  out.tiles = e.tiled.tiles.size();
  return out;
}

Evaluated evaluate(const Setting& setting, const Subject& subject, const plan::Plan& plan, schedule::Detail detail) {
  Evaluated out{.decided = plan::decide(subject.graph, subject.facts, setting.chip, plan)};
  out.outcome = schedule::evaluate({.graph = subject.graph,
                                    .storage = *subject.storage,
                                    .facts = subject.facts,
                                    .chip = setting.chip,
                                    .hardware = setting.hardware,
                                    .decided = out.decided,
                                    .costs = setting.costs},
                                   detail);
  return out;
}

plan::Plan plan_of(const Subject& subject, const std::vector<std::vector<NodeId>>& groups) {
  plan::Plan plan{.saved = subject.saved};
  for (const std::vector<NodeId>& nodes : groups) {
    plan::Group group;
    bool has_other = false, is_prepared = false;
    for (const NodeId n : nodes) {
      const plan::Facts& facts = subject.facts[n.index()];
      group.nodes.push_back(subject.graph[n].name);
      is_prepared = is_prepared || (facts.is_nest && has_other);
      has_other = has_other || (!facts.is_nest && !facts.is_view);
    }
    // As in groups by default: what comes before a loop nest is done while the nest before it runs.
    if (is_prepared) group.order = plan::Order::Overlapped;
    plan.groups.push_back(std::move(group));
  }
  return plan;
}

std::vector<std::vector<NodeId>> groups_of(const plan::Decided& decided) {
  std::vector<std::vector<NodeId>> out;
  for (const plan::ChosenGroup& group : decided.groups) out.push_back(group.nodes);
  return out;
}

}  // namespace monet::search
