#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "monet/base/watch.h"
#include "monet/cost/cache.h"
#include "monet/hardware/space.h"
#include "monet/search/exploration_bound.h"
#include "monet/search/subject.h"
#include "monet/search/ways.h"
#include "monet/solve/genomes.h"

namespace monet::search {

// Workloads on the chips of a space, each judged by the whole scheduler.

// A model in a mode, to be run on every chip. Several variants are the same one decided otherwise (samples, what is
// rebuilt), in the order of the axes of the exploration, the first axis fastest.
struct Workload {
  std::string name{};
  std::vector<std::unique_ptr<Subject>> variants{};
  std::vector<double> samples{};  // by variant
  std::vector<Demand> demands{};  // likewise; made by the exploration
};

// What a workload comes to on a chip. Cycles, seconds, pJ, bytes, mm2, W.
struct ChipFigures {
  std::string reason{};  // why it is not possible; empty: it is
  double area_mm2 = 0, tdp_w = 0;
  double latency_cycles = 0, latency_s = 0, energy_pj = 0;  // of an iteration; no clock: no seconds
  double compute_pj = 0, memory_pj = 0, link_pj = 0, offchip_pj = 0, leakage_pj = 0;  // they sum to energy_pj
  double peak_total_bytes = 0, peak_offchip_bytes = 0, offchip_bytes = 0;
  double macs = 0, utilisation = 0;  // of all lanes that multiply
  double groups = 0, tiles = 0;
  double samples = 1;
  bool operator==(const ChipFigures&) const = default;
  bool is_possible() const { return reason.empty(); }
};
// As columns of a table: names with their units, and the numbers. `figures_of` is the inverse.
std::vector<std::string> figure_names();
bool needs_clock(std::string_view figure);  // a chip without one has none, where 0 stands
std::vector<double> numbers_of(const ChipFigures& figures);
ChipFigures figures_of(std::string reason, std::span<const double> numbers);

// What is explored: a chip (one choice for each free variable of the space), then one for each axis of decisions.
using Candidate = solve::Choices;

// A figure of chips that is taken to be another one (hardware/constants.h).
struct ChangedConstant {
  std::string name{};  // empty: none
  double factor = 1;
  bool operator==(const ChangedConstant&) const = default;
};

// One candidate, and which workloads to run on it.
struct Task {
  Candidate candidate{};
  std::vector<std::uint8_t> workloads{};  // of the exploration; in ascending order
  ChangedConstant changed{};
  bool operator==(const Task&) const = default;
};
// By task and workload; a task that was not done any more has none.
using TaskResult = std::vector<ChipFigures>;
// Asked once of each task, by its index, before somebody begins with it: false if nobody is to.
using Claim = std::function<bool(std::size_t)>;

struct ExplorationOptions {
  std::vector<std::uint32_t> limits{};  // another axis: fused groups of least latency under each, beside the default
  cost::MapOptions map{};
  std::size_t threads = 0;  // do not change the result
};

class Exploration {
 public:
  // `axes`: those of the variants. What is referred to must stay alive.
  Exploration(const hardware::Family& family, std::vector<Workload> workloads, std::vector<Axis> axes,
              cost::Cache& cache, const ExplorationOptions& options);

  const hardware::Family& family() const { return family_; }
  const std::vector<Workload>& workloads() const { return workloads_; }
  const std::vector<Axis>& axes() const { return axes_; }  // of decisions, fusion included
  std::vector<std::uint16_t> choices() const;              // of all genes
  double size() const;                                     // candidates in all

  hardware::Point point(const Candidate& candidate) const;
  std::vector<std::string> values(const Candidate& candidate) const;  // of the variables
  std::vector<std::string> ways(const Candidate& candidate) const;    // of the axes

  // Stops early at the deadline. `done` is told of each as it is finished, one at a time, in any order; `claim` may be
  // asked by several threads at once.
  std::vector<TaskResult> run(std::span<const Task> tasks, const Deadline& deadline,
                              const std::function<void(std::size_t, const TaskResult&)>& done = {},
                              const Claim& claim = {}) const;
  TaskResult run(const Task& task) const;
  // By all that decides its result: tasks of one signature have the same. Empty: there is no chip.
  std::string signature(const Task& task) const;

  // The plan of a candidate whose groups are not the default ones, with all that was decided; none: by default, or
  // there is no chip.
  std::optional<plan::Plan> plan(const Candidate& candidate, std::size_t workload) const;

  // By workload, figures that no evaluation of the candidate can be below (exploration_bound.h), or why it is not
  // valid.
  TaskResult bounds(const Candidate& candidate) const;

 private:
  // The chip of a candidate, or why there is none.
  struct Made {
    hardware::Member member{};
    std::optional<plan::Chip> chip{};
    std::string reason{};
  };
  hardware::Member member(const Candidate& candidate, const ChangedConstant& changed) const;
  Made make(const Candidate& candidate, const ChangedConstant& changed = {}) const;
  ChipFigures figures(const hardware::Member& member, const plan::Chip& chip, const Workload& workload,
                      const Candidate& candidate) const;
  plan::Plan plan_of(const Setting& setting, const Subject& subject, const Candidate& candidate) const;
  std::size_t variant_of(const Candidate& candidate) const;

  const hardware::Family& family_;
  std::vector<Workload> workloads_;
  std::vector<Axis> axes_;
  bool has_fusion_ = false;
  cost::Cache& cache_;
  ExplorationOptions options_;
};

}  // namespace monet::search
