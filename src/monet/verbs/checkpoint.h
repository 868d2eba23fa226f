#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "monet/base/json.h"
#include "monet/search/baselines.h"
#include "monet/search/checkpoint_search.h"
#include "monet/verbs/evaluate.h"

namespace monet {

// Which saved activations to keep, rebuild, spill or store in a narrower format: the front of latency, energy and peak
// memory.

struct CheckpointRequest {
  EvaluateRequest evaluate{};         // plan: groups of the iteration as it is
  std::string strategy = "nsga2";     // exhaustive, baselines, or the name of one
  std::string decide = "recompute";   // what may be done with an activation beside keeping it, between commas
  std::vector<std::string> also{};    // KIND=LIST: fusion, tiles, cores or batch, and what else may be chosen
  double least_share = 0.001;         // activations below this part of all saved bytes are kept
  std::string memory = "total";       // whose peak counts: total, or a memory of the chip
  std::optional<double> fit_bytes{};  // the peak is a limit, not a goal
  std::size_t evaluations = 1000;
  std::size_t stagnation = 0;  // generations without a change of the front, after which it ends; 0: never
  std::uint64_t seed = 1;
  std::optional<double> seconds{};
  std::string store{};  // a file for what is evaluated
  bool resume = false;  // and it may hold some already
  Watch watch{};
};

struct CheckpointRun {
  std::unique_ptr<hardware::Loaded> loaded{};
  std::unique_ptr<plan::Chip> chip{};
  std::unique_ptr<cost::Cache> cache{};
  std::unique_ptr<search::Checkpointing> problem{};  // refers to those above
  std::vector<search::Baseline> baselines{};         // that were tried
  search::CheckpointFront found{};
  std::vector<std::string> objectives{};  // names, of the front
  solve::Objectives reference{};          // point of the hypervolume; none where nothing is possible
  double hypervolume = 0;                 // in units of the objectives
  double hypervolume_share = 0;           // of the box between the best of each objective and the reference
  std::optional<std::uint32_t> best{};    // of the points: the fastest that fits
  std::size_t looked_up = 0;              // points that were in the store
  std::size_t others = 0;                 // in the store, which this search did not ask for
  bool is_proven = false;                 // every decision was tried
  std::vector<Diagnostic> warnings{};
  std::vector<DocumentInput> inputs{};
};

// Throws InputError.
CheckpointRun checkpoint(const CheckpointRequest& request);

// What a rule of others comes to: its decisions beside all that were tried.
struct RuleResult {
  std::string name{};
  std::size_t decisions = 0, on_front = 0, proven = 0;
  double hypervolume = 0;  // of its own points before the common reference, over that of all
  double largest_gap = 0;  // of those that are not proven
};
std::vector<RuleResult> rule_results(const CheckpointRun& run, const CheckpointRequest& request);

// The plan of a point, every decision included.
std::string plan_yaml(const CheckpointRun& run, std::uint32_t point);
// How many samples it has, if that is not what an iteration has anyway: " --batch 16".
std::string batch_flag(const CheckpointRun& run, const CheckpointRequest& request, std::uint32_t point);
// Of what counts, by CheckpointRequest::memory.
double peak_of(const CheckpointRun& run, const CheckpointRequest& request, const search::Figures& figures);

// Some points, each beside everything kept.
std::string table_text(const CheckpointRun& run, const CheckpointRequest& request,
                       const std::vector<std::uint32_t>& points);
// No more than so many of them, evenly, the first and the last among them.
std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& points, std::size_t most);

std::string text(const CheckpointRun& run, const CheckpointRequest& request);
std::string csv(const CheckpointRun& run);
Json json(const CheckpointRun& run, const CheckpointRequest& request);
Json options_json(const CheckpointRequest& request);

}  // namespace monet
