#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "monet/base/json.h"
#include "monet/cost/cache.h"
#include "monet/hardware/load.h"
#include "monet/plan/decide.h"
#include "monet/report/document.h"
#include "monet/rewrite/decompose.h"
#include "monet/schedule/evaluation.h"
#include "monet/verbs/prepare.h"

namespace monet {

// Latency, energy and memory over time of one iteration of a model on a chip.

struct EvaluateRequest {
  ModelRequest model{};
  std::string hardware{};
  std::vector<std::pair<std::string, std::string>> parameters{};  // of the chip's file
  plan::ChipScale scale{};                                        // what if the chip were wider or larger
  std::string mode = "training";                                  // inference, both
  std::string plan{};                                             // a plan, or a Stream mapping file
  std::string stacks{};                                           // fused groups as Stream's scripts word them
  bool im2col_weight_gradient = false;
  bool fused_updates = false;  // one node for all element-wise steps of a weight's update
  std::int64_t iterations = 1;
  std::string cache{};      // a file of mappings found before; does not change the result
  std::size_t threads = 0;  // does not change the result
};

// A model on a chip with everything that the evaluation was made of; the parts refer to one another.
struct Evaluated {
  std::string mode{};
  Prepared prepared{};  // but its graph
  Graph graph{};        // every node a single work
  std::unique_ptr<Storage> storage{};
  std::vector<plan::Facts> facts{};
  plan::Decided decided{};
  std::variant<schedule::Evaluation, schedule::Infeasible> outcome{};
  std::vector<std::string> notes{};

  bool is_feasible() const { return std::holds_alternative<schedule::Evaluation>(outcome); }
  const schedule::Evaluation& result() const { return std::get<schedule::Evaluation>(outcome); }
};

struct EvaluateRun {
  hardware::Loaded loaded{};
  plan::Chip chip{};
  std::vector<Evaluated> modes{};
  std::vector<Diagnostic> warnings{};
  std::vector<DocumentInput> inputs{};
  bool is_feasible() const;
};

// Mappings whose proof takes longer than this are taken as they are found: for tiles, a bound on the time of a run.
constexpr std::uint64_t kTileLabels = 20'000;
// How evaluations price tiles.
schedule::CostOptions default_costs(cost::Cache& cache, std::size_t threads);

// How the request wants its graph in single works.
DecomposeOptions single_works(const EvaluateRequest& request);

// The model as a mode needs it: an inference has no gradients, and goes by running statistics.
ModelRequest model_for(const EvaluateRequest& request, const std::string& mode);

// Throws InputError. `cache`: mappings found so far, shared by several evaluations.
EvaluateRun evaluate(const EvaluateRequest& request, cost::Cache& cache);
EvaluateRun evaluate(const EvaluateRequest& request);

// Cycles from the end of one iteration to that of the next, in the mean after the first; of one alone, all of it.
double steady_cycles(const schedule::Evaluation& e);

// MACs of a core over what its lanes could have done (of one without any, its element operations).
double core_utilisation(const plan::Chip& chip, const schedule::Evaluation& e, std::size_t core);

// What the latency was spent waiting for: units that compute and channels that carry, longest first; they sum to it.
struct TimeSpent {
  std::string resource{};
  double cycles = 0;
};
std::vector<TimeSpent> time_spent(const plan::Chip& chip, const schedule::Evaluation& e);

// The plan that was followed, defaults included, as a file.
std::string plan_yaml(const EvaluateRun& run, const Evaluated& mode);

// A page of HTML for itself.
std::string page(const EvaluateRun& run, const Evaluated& mode, const EvaluateRequest& request);

std::string text(const EvaluateRun& run, const EvaluateRequest& request);
Json json(const EvaluateRun& run);
Json options_json(const EvaluateRequest& request);
// The request that options_json was made of.
EvaluateRequest evaluate_request_of(const std::string& result_json, const std::string& path);

}  // namespace monet
