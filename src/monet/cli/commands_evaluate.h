#pragma once
#include "monet/cli/commands.h"
#include "monet/verbs/compare.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/explain_run.h"
#include "monet/verbs/sweep.h"
#include "monet/verbs/verify_schedule.h"

// The verbs about whole iterations on a chip.

namespace monet::cli {

struct EvaluateCommand {
  EvaluateRequest request{};
  std::string out{};     // a folder for the result
  std::string trace{};   // a file for Perfetto
  std::string quirks{};  // whose schedule: ours, or that of a reference tool
};

struct SweepCommand {
  SweepRequest request{};
  std::string out{};  // a folder for the result and the table
};

int run_evaluate(const EvaluateCommand& command, const Output& output);
int run_sweep(const SweepCommand& command, const Output& output);
int run_compare(const std::string& first, const std::string& second, const Output& output);
int run_verify_schedule(const VerifyScheduleRequest& request, const Output& output);
int run_explain_run(const ExplainRunRequest& request, const Output& output);
// Writes its first run into `out`.
int run_demo(const std::string& out, const Output& output);

}  // namespace monet::cli
