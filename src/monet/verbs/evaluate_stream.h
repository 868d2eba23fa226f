#pragma once
#include <string>
#include <vector>

#include "monet/base/json.h"
#include "monet/hardware/load.h"
#include "monet/report/document.h"
#include "monet/schedule/stream.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/stream_runs.h"

namespace monet {

// `evaluate --quirks stream`: the inference of a model on a chip by Stream's rules (docs/stream.md), from the model on,
// as `validate stream` runs it. What Stream's model has no figure for is left out.

// The tools whose schedules can be asked for: stream. Throws InputError for any other word.
std::vector<std::string> parse_schedule_quirks(const std::string& text);

struct StreamEvaluation {
  hardware::Loaded loaded{};
  StreamPlan plan{};
  schedule::StreamResult result{};
  std::string failure{};  // why Stream has no schedule; the result is empty then
  std::vector<Diagnostic> warnings{};
  std::vector<DocumentInput> inputs{};
  bool is_feasible() const { return failure.empty(); }
};

// request.plan is a mapping file of Stream's. Throws InputError, also for what Stream's model does not know (training,
// formats, several iterations).
StreamEvaluation evaluate_stream(const EvaluateRequest& request);

std::string text(const StreamEvaluation& e, const EvaluateRequest& request);
Json json(const StreamEvaluation& e);
Json stream_options_json(const EvaluateRequest& request);

}  // namespace monet
