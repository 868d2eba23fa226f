#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "monet/search/checkpoint.h"
#include "monet/solve/gaussian_process.h"

namespace monet::search {

struct CheckpointPoint {
  solve::Choices decision{};
  Figures figures{};
};

// What is known of decisions before any is tried.
struct Guide {
  // By activation: the earlier ones whose rebuilding has to do with its own.
  std::vector<std::vector<std::uint32_t>> related{};
  std::size_t axes = 0;  // decisions behind those on activations, which change everything
  // Cycles and energy that a simpler model expects; guesses learn what it misses.
  std::function<std::pair<double, double>(const solve::Choices&)> expected{};
  std::size_t threads = 0;  // do not change the result
};

// Decisions worth a try: their latency, energy and memory, stretch by stretch, are guessed by what is known of those
// like them, and those that would stand farthest before the front are proposed, doubts counted in their favour, each in
// view of those proposed before it.
class Proposals {
 public:
  Proposals(std::vector<std::uint16_t> choices, Guide guide, const CheckpointGoal& goal);

  // `points`: what the archive is made of, in its order.
  std::vector<solve::Choices> operator()(const std::vector<CheckpointPoint>& points,
                                         const solve::Archive<solve::Choices>& archive, std::size_t wanted,
                                         solve::Random& random) const;

 private:
  std::pair<double, double> expected(const solve::Choices& decision) const;
  std::vector<solve::Choices> pool(const solve::Archive<solve::Choices>& archive, solve::Random& random) const;

  std::vector<std::uint16_t> choices_;
  Guide guide_;
  CheckpointGoal goal_;
  solve::Likeness likeness_;
  mutable std::map<solve::Choices, std::pair<double, double>> expected_;  // asked for again in every generation
};

}  // namespace monet::search
