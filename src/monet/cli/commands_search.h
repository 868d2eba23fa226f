#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monet/cli/commands.h"
#include "monet/mpi/launch.h"
#include "monet/verbs/checkpoint.h"
#include "monet/verbs/explore.h"
#include "monet/verbs/fuse.h"

// The verbs that search.

namespace monet::cli {

struct FuseCommand {
  FuseRequest request{};
  std::string out{};  // a folder for the result and the plan
};

// What was said of models and evaluations, by flag, as `evaluate` takes it: {"--batch", " --batch 8"}.
using SaidFlags = std::vector<std::pair<std::string, std::string>>;

struct CheckpointCommand {
  CheckpointRequest request{};
  std::string out{};  // a folder for the result, the evaluations and the plans
  SaidFlags flags{};
};

struct ExploreCommand {
  ExploreRequest request{};
  std::string out{};                   // a folder for the result and the chips
  bool count = false;                  // run nothing
  std::optional<std::string> query{};  // run nothing: points of `out` for which it holds
  SaidFlags flags{};
};

int run_fuse(const FuseCommand& command, const Output& output);
int run_checkpoint(const CheckpointCommand& command, const Output& output);
// One process, or a rank of several: the first one prints.
int run_explore(const ExploreCommand& command, const Output& output, const mpi::Launch& launch);

}  // namespace monet::cli
