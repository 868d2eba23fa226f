#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monet/base/json.h"
#include "monet/search/fusion.h"
#include "monet/search/refine.h"
#include "monet/verbs/evaluate.h"

namespace monet {

// The best fusion of an iteration's operators on a chip.

struct FuseRequest {
  EvaluateRequest evaluate{};     // plan and stacks: groups given by hand, to compare with
  std::string rules = "default";  // monet, stream, or a file
  std::optional<std::uint32_t> limit{};
  std::string objective = "latency";  // groups, traffic, energy
  bool refine = false;
  std::size_t evaluations = 200;  // of refine
  std::optional<double> seconds{};
  Watch watch{};
};

// One way to fuse, priced by the scheduler.
struct FuseVariant {
  std::string name{};  // one by one, by default, by hand, solved, refined
  search::Figures figures{};
  double objective = 0;
};

struct FuseRun {
  hardware::Loaded loaded{};
  plan::Chip chip{};
  std::string mode{};
  search::FusionRules rules{};
  search::Fusion fusion{};
  std::optional<search::Refined> refined{};
  std::vector<FuseVariant> variants{};
  std::size_t best = 0;                            // of the variants: solved, or refined
  std::vector<std::vector<std::string>> groups{};  // of the best, in the order in which they run
  std::vector<std::string> broken{};               // groups given by hand: which rules they break
  std::string plan_yaml{};                         // of the best, every decision
  std::vector<Diagnostic> warnings{};
  std::vector<DocumentInput> inputs{};
};

// Throws InputError.
FuseRun fuse(const FuseRequest& request);
std::string text(const FuseRun& run, const FuseRequest& request);
Json json(const FuseRun& run);
Json options_json(const FuseRequest& request);

}  // namespace monet
