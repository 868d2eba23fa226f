#pragma once
#include "monet/cli/commands.h"
#include "monet/verbs/validate.h"

// The verbs about the cost of one core.

namespace monet::cli {

int run_validate(const ValidateRequest& request, const Output& output);

}  // namespace monet::cli
