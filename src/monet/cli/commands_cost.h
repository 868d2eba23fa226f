#pragma once
#include "monet/cli/commands.h"
#include "monet/verbs/explain.h"
#include "monet/verbs/map.h"
#include "monet/verbs/validate.h"

// The verbs about the cost of one core.

namespace monet::cli {

struct MapCommand {
  MapRequest request{};
  std::string out{};  // a folder for the result
};

int run_map(const MapCommand& command, const Output& output);
int run_explain(const ExplainRequest& request, const Output& output);
int run_validate(const ValidateRequest& request, const Output& output);

}  // namespace monet::cli
