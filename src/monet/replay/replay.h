#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "monet/graph/storage.h"
#include "monet/interpret/array.h"
#include "monet/plan/facts.h"
#include "monet/schedule/tiling.h"
#include "monet/schedule/timeline.h"

namespace monet::replay {

// A schedule carried out on numbers: every tile computes from what lies in its stores at the planned addresses at that
// time, every transfer carries values from one store to the other, and what is freed or overwritten is gone. If what
// comes home equals what the interpreter computes, halos, lifetimes, order and capacity are right, all at once.

struct Fault {
  double time = 0;
  std::string what{};  // which tile or transfer, which tensor, where, and what was wrong
};

struct Replayed {
  // Every output of the graph and every state that is carried over, as they lie at home in the end, and what
  // ReplayOptions::keep asks for, as tiles made it. Where a fault left nothing, there is no entry.
  Values<double> values{};
  std::vector<Fault> faults{};  // the first few; what follows from a fault is none of its own
  std::uint64_t tiles = 0, transfers = 0;
  double bytes_moved = 0;
};

struct ReplayOptions {
  std::uint64_t step = 0;  // of dropout
  std::size_t most_faults = 20;
  std::vector<TensorId> keep{};  // gradients, say, that never come home
};

// `sources` holds every source tensor (initial_values); ValueError if one is missing, or the machine has too little
// memory. An operator that MONET does not know is a fault: it has no numbers.
Replayed replay(const Graph& graph, const Storage& storage, const std::vector<plan::Facts>& facts,
                const schedule::Tiled& tiled, const schedule::Timeline& timeline, const Values<double>& sources,
                const ReplayOptions& options = {});

}  // namespace monet::replay
