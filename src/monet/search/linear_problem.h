#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "monet/graph/graph.h"

namespace monet::search {

// A training iteration as the literature on activation checkpointing sees it: steps with additive costs, each of which
// makes one value of a given size. Which value is where, and when, decides the memory; nothing else does. The published
// baselines (chain_checkpoints.h, remat_milp.h) solve this problem; what their decisions cost on a chip is for the
// scheduler to say.
struct LinearStep {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::string name{};
  double cycles = 0, energy_pj = 0;
  double bytes = 0;                     // of its value; 0 where it is counted in fixed_bytes
  std::vector<std::uint32_t> inputs{};  // the steps whose values it reads, all earlier, ascending, each once
  bool is_backward = false;
  std::uint32_t forward_of = kNone;  // of a backward step: the forward step it differentiates
  bool operator==(const LinearStep&) const = default;
};

struct LinearProblem {
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<LinearStep> steps{};       // in an order in which they run: forward, then backward
  std::vector<std::uint32_t> step_of{};  // for every activation that is decided on: the forward step that makes it
  double fixed_bytes = 0;                // always there
  double spill_cycles_per_byte = kNever, spill_energy_per_byte = kNever;  // one way; kNever: it cannot be spilled
  bool operator==(const LinearProblem&) const = default;
};

struct NodeCosts {
  std::vector<double> cycles{}, energy_pj{};  // by node
};

// The problem of an iteration (not yet decomposed, one microbatch) of which `activations` may be kept or rebuilt; they
// are among its saved_activations().
//
// Forward. A step ends at each node that makes decided activations; all of one node are kept or rebuilt together.
// The nodes that lead to it and to no other end are merged into it. Where a tensor leads to two ends, it is an end
// itself, though nobody decides on it: rebuilding either end needs it. So is a saved tensor nobody decides on that
// leads to an end: its bytes are fixed, so its step has none and it is never worth rebuilding; such steps that read
// nothing else are merged. A node that makes such tensors and activations gets a step for each kind, the first with its
// costs and the others free and reading the first. What leads to the loss only is the last step; what leads nowhere
// goes with what it reads.
//
// Backward. One step for each forward step, in reverse: the gradient nodes named after its nodes and tensors. It reads
// the values that these nodes read (a slice counts as what it was cut from) and the gradient steps before. Its own
// value is all it makes that later gradient steps read. Where a skip connection's gradient waits for two of them, both
// wait.
//
// Every forward, loss and backward node is in exactly one step, so costs sum up to those of the nodes. Updates are left
// out, and weight gradients with them: they are taken to be applied as they come.
//
// Fixed: weights, states, constants, and what is saved but not decided on (inputs and labels among it).
LinearProblem linear_problem(const Graph& training, std::span<const TensorId> activations, const NodeCosts& costs);

// By activation of step_of: the earlier ones that have to do with rebuilding it. It is made from them with none of them
// in between, from something nobody decides on that they are made from, too, or by the same step.
std::vector<std::vector<std::uint32_t>> related_activations(const LinearProblem& problem);

}  // namespace monet::search
