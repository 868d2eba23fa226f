#pragma once
#include <string>
#include <vector>

#include "monet/base/json.h"
#include "monet/verbs/evaluate.h"

namespace monet {

// Where a figure of `monet evaluate` comes from: what it is made of, why it is so, what would help.

struct ExplainRunRequest {
  std::string run{};   // a folder that `evaluate --out` wrote
  std::string what{};  // latency, energy, peak-memory, levers, a node, a tensor or a core; INFERENCE/… of two modes
  std::size_t threads = 0;
};

struct ExplainedCell {
  std::string text{};
  Json value{};
};

// A table with a title and sentences before it.
struct ExplainedSection {
  std::string title{};
  std::vector<std::string> sentences{};
  std::vector<std::string> header{};
  std::vector<std::vector<ExplainedCell>> rows{};
};

struct RunExplanation {
  EvaluateRequest request{};
  EvaluateRun run{};
  std::size_t mode = 0;
  std::string what{};
  std::vector<ExplainedSection> sections{};
};

// Whether a folder holds the result of `evaluate` (and not of `map`).
bool is_evaluation(const std::string& run);

// Evaluates again what the folder says, and explains it. Throws InputError, with the nearest word where WHAT is none,
// and if a file has changed since.
RunExplanation explain_run(const ExplainRunRequest& request);
std::string text(const RunExplanation& explanation);
Json json(const RunExplanation& explanation);

// ---- What would help ----

// A resource, changed by a factor, and the latency and energy under the same plan.
struct RunLever {
  std::string resource{};  // "dram.read_write", "16 of pe_0 … pe_15"
  std::string unit{};      // "B/cycle", "B", "times as fast"
  double from = 0, to = 0;
  double latency = 0, energy_pj = 0;
};

// Every kind of unit, channel and store doubled, one after the other; those that gain, most first.
std::vector<RunLever> run_levers(const EvaluateRun& run, const Evaluated& mode, std::size_t threads);

}  // namespace monet
