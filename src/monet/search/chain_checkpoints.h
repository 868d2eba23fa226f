#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/linear_schedule.h"

namespace monet::search {

// Baselines that choose what to keep along the sequence of forward steps, on the linear model.

// Where a problem can be cut though it is no chain: forward steps (the last one excepted) whose value alone leads from
// the steps up to it to the later ones, in both passes. Values without bytes may pass: they are always there.
std::vector<std::uint32_t> cut_points(const LinearProblem& problem);

// Chen, Xu, Zhang and Guestrin, Training Deep Nets with Sublinear Memory Cost, 2016 (arXiv 1604.06174). Cut points at
// the ends of segments are kept (those only that are decided on, or always there), the rest of a segment is rebuilt
// from them when the backward pass comes to it. The last segment is kept whole, as it would be rebuilt at once. As many
// segments of as many cut points each as possible:
LinearResult chen_segments(const LinearProblem& problem, std::size_t segments);
// with sqrt(n) segments for n cut points:
LinearResult chen_sqrt(const LinearProblem& problem);
// The budgeted variant: a segment ends at the first cut point where it has more than `segment_bytes`.
LinearResult chen_budget(const LinearProblem& problem, double segment_bytes);
// All of them, each decision once: from the fewest cycles, and from the lowest peak where these are equal.
std::vector<LinearResult> chen_family(const LinearProblem& problem);

// Drops one activation after the other, always the one with the most bytes per cycle that rebuilding then costs more.
// The first result keeps all, the last none.
std::vector<LinearResult> greedy_family(const LinearProblem& problem, const Deadline& deadline = {});

// Beaumont, Eyraud-Dubois, Hermann, Joly and Shilova, Optimal checkpointing for heterogeneous chains, 2019 (arXiv
// 1911.13214). The stages of the chain are what lies between two cut points. Whenever a stage runs forward it leaves
// nothing, or its input for a later run, or all that its backward needs; a value once kept stays until it has been used
// (persistent schedules). The fewest cycles under a memory limit, by dynamic programming over (first stage, last stage,
// memory left).
//
// Inside a stage, values are freed after their last reader; the input of a stage counts until the stage is through.
// For chains of single steps whose gradients read their input and output this is exact. Values without bytes are made
// in the first run and not again.
struct RotorOptions {
  std::size_t slots = 500;  // of memory; sizes are rounded up to them, unless all are multiples of a large enough one
  // Slots times the third power of the stages: there are fewer slots where it would be more, and below fifty nothing is
  // found.
  double work = std::numeric_limits<double>::infinity();
  Deadline deadline{};
};
LinearResult rotor(const LinearProblem& problem, double budget_bytes, const RotorOptions& options = {});

}  // namespace monet::search
