#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/graph/storage.h"
#include "monet/hardware/hardware.h"
#include "monet/plan/decide.h"
#include "monet/schedule/evaluation.h"

namespace monet::search {

// A graph on a chip, to be evaluated under many plans.
struct Subject {
  // `saved`: what plans of it say of saved activations; the graph is rewritten accordingly. `known`: of a graph much
  // like it.
  explicit Subject(Graph single_works, std::vector<plan::SavedPlan> saved = {}, const plan::KnownFacts& known = {});
  Subject(const Subject&) = delete;  // the storage refers to the graph
  Subject& operator=(const Subject&) = delete;

  Graph graph;
  std::vector<plan::SavedPlan> saved;
  std::unique_ptr<Storage> storage;
  std::vector<plan::Facts> facts;
};

struct Setting {
  const plan::Chip& chip;
  const hardware::Hardware& hardware;  // of the chip
  schedule::CostOptions costs{};
};

// What searches compare. Cycles, pJ, bytes.
struct Figures {
  bool is_possible = false;
  std::string reason{};  // why it is not
  double latency_cycles = 0, energy_pj = 0;
  double peak_total_bytes = 0, peak_offchip_bytes = 0;  // all memories at once; the off-chip one
  double offchip_bytes = 0;                             // moved
  std::vector<double> peak_bytes{};                     // by store of the chip
  std::vector<double> stretch_bytes{};                  // where it is asked for: see stretches.h
  std::size_t groups = 0, tiles = 0;
  double samples = 1;  // that latency and energy are for, where several numbers of them are compared
  bool operator==(const Figures&) const = default;
};
Figures figures_of(const plan::Chip& chip, const plan::Decided& decided,
                   const std::variant<schedule::Evaluation, schedule::Infeasible>& outcome);

// Throws InputError where the plan is not legal for the graph.
struct Evaluated {
  plan::Decided decided{};
  std::variant<schedule::Evaluation, schedule::Infeasible> outcome{};
};
Evaluated evaluate(const Setting& setting, const Subject& subject, const plan::Plan& plan,
                   schedule::Detail detail = schedule::Detail::Figures);

// A plan of these groups and nothing else: all nodes, in the order in which they run; none: groups by default.
plan::Plan plan_of(const Subject& subject, const std::vector<std::vector<NodeId>>& groups);
// The groups of a decided plan.
std::vector<std::vector<NodeId>> groups_of(const plan::Decided& decided);

}  // namespace monet::search
