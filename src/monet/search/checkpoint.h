#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monet/rewrite/decompose.h"
#include "monet/search/stretches.h"
#include "monet/search/subject.h"
#include "monet/search/ways.h"
#include "monet/solve/genomes.h"
#include "monet/solve/nsga2.h"

namespace monet::search {

// What becomes of each saved activation until the backward pass needs it. Every decision is judged by the whole model:
// the graph is rewritten, broken up, fused anew, cut into tiles and scheduled.

struct SavedActivation {
  TensorId tensor{};
  std::string name{};
  double bytes = 0;
  std::vector<std::uint16_t> choices{};  // of CheckpointOptions::allowed, those that can be said of it
};

struct CheckpointOptions {
  DecomposeOptions decompose{};
  // What may be decided, names left open; the first is what is done with activations that are not decided on.
  std::vector<plan::SavedPlan> allowed{{.saving = plan::Saving::Keep}, {.saving = plan::Saving::Recompute}};
  double least_share = 0;      // activations below this part of all saved bytes are not decided on
  std::size_t stretches = 12;  // at the most, for Figures::stretch_bytes
  std::size_t threads = 0;     // do not change the result
};

// An iteration, nodes not yet single works, and the plans to run it by as it is. Nodes that a decision adds are fused
// by default; where a plan has no groups, all are.
struct Iteration {
  Graph training{};
  Ways ways;
  double samples = 1;
};

class Checkpointing {
 public:
  // Several iterations are the same one with different numbers of samples, which are another decision; their ways have
  // the same axes. What the setting refers to must stay alive.
  Checkpointing(std::vector<Iteration> iterations, const Setting& setting, const CheckpointOptions& options);
  Checkpointing(Graph training, const Setting& setting, const CheckpointOptions& options);  // ways by default
  Checkpointing(const Checkpointing&) = delete;
  Checkpointing& operator=(const Checkpointing&) = delete;

  const std::vector<SavedActivation>& activations() const { return activations_; }  // that are decided on
  double saved_bytes() const { return saved_bytes_; }                               // of all, the others included
  const Graph& training() const { return iterations_.front().training; }
  const std::vector<Axis>& axes() const { return axes_; }  // what else is decided on: samples, ways
  const Setting& setting() const { return setting_; }

  const Stretches& stretches() const { return stretches_; }

  // A decision has one number for each activation: of its choices; and then one for each axis.
  std::vector<std::uint16_t> choices() const;  // how many each has
  // The same saving for all activations that it can be said of; the others are kept.
  solve::Choices all_of(plan::Saving saving) const;
  // In words, what is kept left out; and the alternatives by axis.
  std::vector<plan::SavedPlan> savings(const solve::Choices& decision) const;
  std::vector<std::string> ways(const solve::Choices& decision) const;

  // The iteration under a decision, and a plan of its groups; what the plan leaves open is decided by default.
  Subject subject(const solve::Choices& decision) const;
  plan::Plan plan(const Subject& subject, const solve::Choices& decision) const;

  Figures figures(const solve::Choices& decision) const;
  std::vector<Figures> figures(std::span<const solve::Choices> decisions) const;

 private:
  const Iteration& iteration(const solve::Choices& decision) const;
  // What follows the numbers of activations and of samples.
  std::span<const std::uint16_t> way(const solve::Choices& decision) const;

  std::vector<Iteration> iterations_;
  std::vector<std::vector<TensorId>> tensors_;  // by iteration: those of the activations
  std::vector<plan::KnownFacts> known_;         // by iteration: of its nodes, and of what rebuilds them
  std::vector<Axis> axes_;
  Setting setting_;
  CheckpointOptions options_;
  std::vector<SavedActivation> activations_;
  double saved_bytes_ = 0;
  Stretches stretches_;
  mutable schedule::PricedKinds priced_;
};

// What makes a decision good: little latency and energy, of each sample, and peak memory. What is not possible is good
// for nothing.
struct CheckpointGoal {
  std::optional<std::size_t> store{};  // of the chip, whose peak counts; none: of all together
  std::optional<double> fit_bytes{};   // the peak is a limit and no objective

  double peak(const Figures& figures) const;
  solve::Score score(const Figures& figures) const;
  solve::Score score(double latency_cycles, double energy_pj, double peak_bytes) const;
};

}  // namespace monet::search
