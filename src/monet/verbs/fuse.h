#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monet/base/json.h"
#include "monet/search/fusion.h"
#include "monet/search/placement_search.h"
#include "monet/search/refine.h"
#include "monet/verbs/evaluate.h"

namespace monet {

// The best fusion of an iteration's operators on a chip, and which cores run what.

struct FuseRequest {
  EvaluateRequest evaluate{};     // plan and stacks: groups given by hand, to compare with
  std::string rules = "default";  // monet, stream, or a file
  std::optional<std::uint32_t> limit{};
  std::string objective = "latency";  // groups, traffic, energy
  bool refine = false;
  std::string place{};            // local, ga, exact; empty: cores by default
  std::string place_objective{};  // latency, energy, edp; empty: energy if that is the objective, else latency
  std::size_t evaluations = 200;  // of refine, and of place
  std::uint64_t seed = 1;         // of place, ga
  std::optional<double> seconds{};
  Watch watch{};
};

// One way to fuse, priced by the scheduler.
struct FuseVariant {
  std::string name{};  // one by one, by default, by hand, solved, refined, placed
  search::Figures figures{};
  double objective = 0;
  bool is_solved = false;  // its groups are those of Fusion
};

struct FusePlacement {
  search::PlaceMethod method{};
  std::string objective{};
  std::size_t layers = 0;  // that have a choice
  search::Placed found{};
};

struct FuseRun {
  hardware::Loaded loaded{};
  plan::Chip chip{};
  std::string mode{};
  search::FusionRules rules{};
  search::FusionObjective measure{};  // what was asked for; traffic where nothing can be scheduled
  search::Fusion fusion{};
  std::optional<search::Refined> refined{};
  std::optional<FusePlacement> placed{};
  std::vector<FuseVariant> variants{};
  std::size_t best = 0;                                       // of the variants: solved, refined or placed
  std::vector<std::vector<std::string>> groups{};             // of the best, in the order in which they run
  std::vector<std::pair<std::string, std::string>> broken{};  // name of a variant, and a rule that a group of it breaks
  std::string plan_yaml{};                                    // of the best, every decision
  std::vector<Diagnostic> warnings{};
  std::vector<DocumentInput> inputs{};
};

// Throws InputError.
FuseRun fuse(const FuseRequest& request);
std::string text(const FuseRun& run, const FuseRequest& request);
Json json(const FuseRun& run);
Json options_json(const FuseRequest& request);

}  // namespace monet
