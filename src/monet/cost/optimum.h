#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "monet/base/watch.h"
#include "monet/cost/evaluate.h"
#include "monet/cost/loops.h"
#include "monet/cost/search.h"
#include "monet/cost/tiles.h"

namespace monet::cost {

// The best mapping of a problem, proven: over all orderings of the prime factors of all loops, all allocations of loops
// to memories, and all choices of second buffers (default model; no quirks of allocation or time).
//
// Best-first search on the lattice of tiles: a label is a path from the empty tile with the cuts made so far. Two paths
// to the same tile with the same cuts differ only in what they have cost, so one that is no better in anything is
// dropped (dominance). What is still to come is bounded from below by each boundary's best tile alone (admissible), so
// the first complete label taken from the queue is optimal. A search that is stopped carries the most promising of its
// labels on to complete mappings, a few at each depth, and gives the best of them with the bound reached.

// The tile the user wants an operand to keep in one memory.
struct Held {
  std::size_t operand = 0, level = 0;
  Extents extents{};  // of the temporal loops
};

struct OptimumOptions {
  Criterion criterion = Criterion::Latency;
  std::vector<TemporalLoop> loops{};  // to be ordered; empty: the prime factors of all dimensions
  std::vector<PinnedLoop> pins{};     // places of the ordering that are fixed
  std::vector<Held> held{};
  std::uint64_t most_labels = 4'000'000;  // then the search is stopped
  Watch watch{};                          // likewise
};

struct Chosen {
  std::vector<TemporalLoop> order{};
  Cuts cuts{};
  std::array<std::array<bool, kMaxMemories>, kMaxOperands> doubled{};
  Costs costs{};
};

// What a memory was asked to hold in the course of a search, in bits: with any size that holds the one and not the
// other, every question has the same answer, and the search is the same.
struct Room {
  double held = 0, refused = std::numeric_limits<double>::infinity();
  bool ask(double bits, double size) {
    (bits <= size ? held : refused) = bits <= size ? std::max(held, bits) : std::min(refused, bits);
    return bits <= size;
  }
  bool operator==(const Room&) const = default;
  auto operator<=>(const Room&) const = default;
};

struct Optimum {
  std::optional<Chosen> best{};  // none: no mapping fits (proven), or none was found in time
  bool is_proven = false;
  bool is_out_of_time = false;  // stopped by the watch
  Costs bound{};                // no mapping is better than this in the criterion
  std::uint64_t labels = 0;     // kept
  std::uint64_t dominated = 0;
  std::vector<Room> rooms{};  // by Problem::memories; all that counts of those above which there is no other
};

Optimum find_optimum(const Problem& p, const OptimumOptions& options);

}  // namespace monet::cost
