#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/checkpoint.h"
#include "monet/search/proposals.h"

namespace monet::search {

// The front of latency, energy and peak memory over all decisions on saved activations: of all of them, or by NSGA-II
// with proposals.

struct CheckpointFront {
  std::vector<CheckpointPoint> points{};  // everything evaluated, in the order in which it was asked for
  std::vector<std::uint32_t> front{};     // of the points
  solve::Nsga2End end = solve::Nsga2End::Exhausted;
};

struct CheckpointSearchOptions {
  std::size_t evaluations = 400;  // at the most; decisions looked up count, too
  std::size_t population = 0;     // 0: an eighth of the evaluations, from 8 to 100
  std::size_t stagnation = 0;     // ends after so many generations without a change of the front; 0: never
  std::uint64_t seed = 1;
  std::optional<Guide> guide{};  // none: no proposals
  CheckpointGoal goal{};
  Deadline deadline{};
  std::vector<solve::Choices> seeds{};  // decisions to begin with, behind keeping everything
  // Figures of decisions known from before; and who is told of new ones, in the order in which they were asked for.
  std::function<std::optional<Figures>(const solve::Choices&)> known{};
  std::function<void(std::span<const CheckpointPoint>)> keep{};
  std::function<void(const CheckpointFront&)> observe{};  // after every batch
};

// How many decisions there are.
double decisions_of(const Checkpointing& problem);
inline constexpr double kMostDecisions = 1 << 20;  // for all of them to be tried

CheckpointFront all_decisions(const Checkpointing& problem, const CheckpointSearchOptions& options);
// Those given as seeds, and no other.
CheckpointFront given_decisions(const Checkpointing& problem, const CheckpointSearchOptions& options);
CheckpointFront search_decisions(const Checkpointing& problem, const CheckpointSearchOptions& options);

// What fronts and hypervolumes are made of.
std::vector<solve::Objectives> objectives_of(const CheckpointFront& found, const CheckpointSearchOptions& options = {});

}  // namespace monet::search
