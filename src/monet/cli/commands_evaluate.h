#pragma once
#include "monet/cli/commands.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/explain_run.h"

// The verbs about whole iterations on a chip.

namespace monet::cli {

struct EvaluateCommand {
  EvaluateRequest request{};
  std::string out{};  // a folder for the result
};

int run_evaluate(const EvaluateCommand& command, const Output& output);
int run_explain_run(const ExplainRunRequest& request, const Output& output);

}  // namespace monet::cli
