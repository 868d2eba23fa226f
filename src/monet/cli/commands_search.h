#pragma once
#include "monet/cli/commands.h"
#include "monet/verbs/fuse.h"

// The verbs that search.

namespace monet::cli {

struct FuseCommand {
  FuseRequest request{};
  std::string out{};  // a folder for the result and the plan
};

int run_fuse(const FuseCommand& command, const Output& output);

}  // namespace monet::cli
