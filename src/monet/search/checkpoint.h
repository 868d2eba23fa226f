#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "monet/rewrite/decompose.h"
#include "monet/search/subject.h"
#include "monet/solve/genomes.h"
#include "monet/solve/nsga2.h"

namespace monet::search {

// Which saved activations to keep until the backward pass needs them, and which to forget and rebuild. Every decision
// is judged by the whole model: the graph is rewritten, broken up, planned, cut into tiles and scheduled.

// What happens to one saved activation.
enum class Saving : std::uint16_t { Keep, Recompute };
inline constexpr std::uint16_t kSavings = 2;

struct SavedActivation {
  TensorId tensor{};
  std::string name{};
  double bytes = 0;
};

struct CheckpointOptions {
  DecomposeOptions decompose{};
  double least_share = 0;   // activations below this part of all saved bytes are always kept
  std::size_t threads = 0;  // do not change the result
};

class Checkpointing {
 public:
  // `training`: an iteration, nodes not yet single works. What the setting refers to must stay alive.
  Checkpointing(Graph training, const Setting& setting, const CheckpointOptions& options);
  Checkpointing(const Checkpointing&) = delete;
  Checkpointing& operator=(const Checkpointing&) = delete;

  const std::vector<SavedActivation>& activations() const { return activations_; }  // that are decided on
  double saved_bytes() const { return saved_bytes_; }                               // of all, kept ones included

  // The iteration under a decision, broken up into single works. One choice for each activation.
  Graph rewritten(const solve::Choices& decision) const;
  Figures figures(const solve::Choices& decision) const;
  std::vector<Figures> figures(std::span<const solve::Choices> decisions) const;

 private:
  Graph training_;
  Setting setting_;
  CheckpointOptions options_;
  std::vector<SavedActivation> activations_;
  double saved_bytes_ = 0;
  mutable schedule::PricedKinds priced_;
};

// Latency, energy, peak of all memories together; of what is not possible, nothing but that.
solve::Score score_of(const Figures& figures);

}  // namespace monet::search
