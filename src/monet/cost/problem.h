#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "monet/cost/layer.h"
#include "monet/cost/quirks.h"
#include "monet/cost/spatial.h"
#include "monet/hardware/hardware.h"

namespace monet::cost {

// A layer on a core under one spatial mapping, names resolved to small indices: what the inner loops of the model read.
// Levels: level 0 is the array, level l >= 1 is the operand's memory l - 1. Loop lists run from inner to outer.

inline constexpr std::size_t kMaxDimensions = 16;
inline constexpr std::size_t kMaxOperands = 3;
inline constexpr std::size_t kMaxMemories = 8;  // that one operand goes through
inline constexpr std::size_t kMaxLevels = kMaxMemories + 1;
inline constexpr std::size_t kMaxLoops = 64;
inline constexpr std::size_t kMaxRelations = 4;  // of one operand

// Flows of a memory are kept in arrays by hardware::Direction.
inline constexpr auto kWriteFromHigh = static_cast<std::size_t>(hardware::Direction::WriteFromHigh);
inline constexpr auto kReadToLow = static_cast<std::size_t>(hardware::Direction::ReadToLow);
inline constexpr auto kWriteFromLow = static_cast<std::size_t>(hardware::Direction::WriteFromLow);
inline constexpr auto kReadToHigh = static_cast<std::size_t>(hardware::Direction::ReadToHigh);

enum class Relevance : std::uint8_t {
  None,      // the operand does not change along the dimension
  Relevant,  // it has an axis along it
  Partial,   // it has an axis along a sum of it and another dimension (ix = ox + fx)
};

// index = offset + step_a · a + step_b · b
struct Relation {
  std::size_t a = 0, b = 0;
  std::int64_t step_a = 1, step_b = 1, offset = 0;
  double reduced_a = 1, reduced_b = 1;  // steps divided by their greatest common divisor
  double extent = 1;                    // what is stored: without padding
  bool negative_overlap = false;        // the quirk
};

// Distinct indices of a relation for `a` and `b` consecutive values. They are fewer than a · b where windows overlap.
inline double distinct(const Relation& r, double a, double b) {
  double overlap = b > r.reduced_a ? (b - r.reduced_a) * (a - r.reduced_b) : 0;
  if (overlap < 0 && !r.negative_overlap) overlap = 0;
  const double count = a * b - overlap;
  return count < r.extent ? count : r.extent;
}

// Ports are numbered over the whole core.
struct PortRef {
  std::uint32_t port = 0;
  double min_bits = 0, max_bits = 0;
};

struct SpatialStep {
  std::uint32_t dimension = 0;
  double factor = 1;
};

// Spatial loops of one operand, by level, in one of two forms: fractional (for energy) or integer (for latency).
struct SpatialLevels {
  // Every loop: steps[first[l]] … steps[first[l + 1] - 1] are those of level l, one per dimension.
  std::vector<SpatialStep> steps{};
  std::array<std::uint32_t, kMaxLevels + 2> first{};
  // extent[l][d]: product of the loops over dimension d at levels below l
  std::array<std::array<double, kMaxDimensions>, kMaxLevels + 1> extent{};
  std::array<double, kMaxLevels + 1> instances{};   // of the memory at level l: product of all loops at levels >= l
  std::array<double, kMaxLevels + 1> copies{};      // of them that hold the same: product of the irrelevant loops
  std::array<double, kMaxLevels + 1> boost{};       // distinct elements the memory of level l + 1 gives at once
  std::array<double, kMaxLevels + 1> relevant{};    // product of extent[l] over relevant dimensions
  std::array<bool, kMaxLevels + 1> reduces_from{};  // some loop at a level >= l is irrelevant (quirk: even of factor 1)
};

struct OperandProblem {
  bool is_output = false;
  double bits = 0, partial_bits = 0;
  std::array<Relevance, kMaxDimensions> relevance{};
  std::vector<std::size_t> relevant{};  // dimensions, in the order of the operand's axes
  std::vector<Relation> relations{};
  // Of a relevant dimension: the indices whose elements are stored, stored_from ≤ i < stored_to; others are padding.
  std::array<double, kMaxDimensions> stored_from{}, stored_to{};
  bool reads_first = false;  // sums are read even before any was written: they start from stored values
  bool by_loop = false;  // quirk: factors are not whole, so that the order of multiplications decides how tiles round
  std::size_t memories = 0;
  std::array<std::size_t, kMaxMemories> memory{};            // index into Core::memories
  std::array<std::array<PortRef, 4>, kMaxMemories> ports{};  // by Direction
  SpatialLevels fractional, integer;
};

struct MemoryProblem {
  double size_bits = 0;
  double read_pj = 0, write_pj = 0;
  double latency = 0;                   // cycles to the first word
  bool always_doubles = false;          // two tiles of everything, always
  std::vector<std::size_t> operands{};  // that the layer has, in the memory's order
  std::vector<std::size_t> level{};     // of this memory in each of them
};

struct PortUser {
  std::uint32_t operand = 0, level = 0, direction = 0;
};

struct PortProblem {
  std::size_t memory = 0, port = 0;  // Core::memories[memory].ports[port]
  double max_bits = 0;
  std::vector<PortUser> users{};  // in the order of the port
  bool serves_both_inputs = false;
};

struct TemporalLoop {
  std::uint32_t dimension = 0;
  double factor = 1;
  bool operator==(const TemporalLoop&) const = default;
};

struct Problem {
  std::size_t dimensions = 0;
  std::array<double, kMaxDimensions> size{};
  std::array<std::uint32_t, kMaxDimensions> rank{};  // of the dimension's name in the alphabet: decides ties
  std::array<double, kMaxDimensions> temporal{};     // iterations left when the spatial loops are taken out
  std::vector<OperandProblem> operands{};            // as in the layer: output first
  std::vector<MemoryProblem> memories{};             // as in the core
  std::vector<PortProblem> ports{};
  bool starts_from_stored = false;  // sums start from values in memory (a bias), not from zero
  double macs = 0;
  double lanes = 0;
  double cycles_per_mac = 1;
  double mac_pj = 0;
  double leakage_pj_per_cycle = 0;
  bool is_integral = false;  // fractional and integer spatial loops are the same
  Quirks quirks{};
};

// InputError if the core cannot take the layer at all: no array, an operand without memory, more of something than fits
// the tables above.
Problem make_problem(const Layer& layer, const hardware::Core& core, const Spatial& spatial, const Quirks& quirks,
                     double clock_hz = 0);

}  // namespace monet::cost
