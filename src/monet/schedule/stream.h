#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace monet::schedule {

// Stream's scheduler of tiles (its version of July 2025) as it is, defects included: what `--quirks stream` runs, and
// the reference our own scheduler is compared with. Its rules are numbered in docs/stream.md. It knows tiles, tensors,
// top memories and links, and nothing of networks. Times are cycles, sizes bits, energies pJ.

struct StreamMemory {
  std::string name{};
  std::int64_t size = 0;
  std::vector<std::uint32_t> slots{};  // memory operands it serves (indices of StreamProblem::slots)
  double read_pj = 0, write_pj = 0;    // of a whole word
  double min_bits = 1, max_bits = 1;   // a cycle, of its first port
  bool operator==(const StreamMemory&) const = default;
};

struct StreamCore {
  std::int64_t id = 0;
  std::vector<std::uint32_t> memories{};  // several cores may name the same one
  bool operator==(const StreamCore&) const = default;
};

struct StreamLink {
  double bandwidth = 0;  // bits a cycle
  double unit_pj = 0;    // a cycle
  bool operator==(const StreamLink&) const = default;
};

struct StreamRange {
  std::int64_t begin = 0, end = 0;
  bool operator==(const StreamRange&) const = default;
  auto operator<=>(const StreamRange&) const = default;
};

struct StreamTensor {
  std::uint32_t owner = 0;    // tile
  std::uint32_t operand = 0;  // of the layer: index of StreamProblem::operands
  std::uint32_t content = 0;  // equal for tensors of the same layer, operand and ranges
  std::int64_t bits = 0;
  std::vector<std::uint32_t> dimensions{};  // indices of StreamProblem::dimensions
  std::vector<StreamRange> ranges{};
  std::optional<std::int64_t> base_priority{};  // constants: how often it is used
  bool operator==(const StreamTensor&) const = default;
};

struct StreamOperand {
  std::uint32_t operand = 0, slot = 0, tensor = 0;
  bool is_constant = false;  // or partly
  bool operator==(const StreamOperand&) const = default;
};

// Bandwidth of an operand that is too large for the core and streams from off-chip memory all the time.
struct StreamBlock {
  std::uint32_t slot = 0;
  double bits_per_cycle = 0;
  bool operator==(const StreamBlock&) const = default;
};

struct StreamTile {
  std::int64_t layer = 0, sub = 0;
  std::uint32_t core = 0;                                       // index of StreamProblem::cores
  std::vector<std::pair<std::uint32_t, StreamRange>> ranges{};  // by dimension
  std::vector<std::uint32_t> intra{};                           // dimensions of its intra-core tiling
  std::int64_t split = 1;                                       // product of its inter-core factors
  std::vector<StreamOperand> operands{};                        // in the order of the file
  std::vector<std::uint32_t> constants{};                       // indices of `operands`, in their own order
  std::uint32_t output = 0;                                     // index of `operands`
  bool is_final = false;                                        // its output is complete
  double runtime = 0, onchip_pj = 0, offchip_pj = 0;
  std::vector<StreamBlock> too_large{};
  bool operator==(const StreamTile&) const = default;
};

struct StreamEdge {
  std::uint32_t from = 0, to = 0;          // tiles
  std::optional<std::uint32_t> operand{};  // of `to`; none between tiles of one layer
  bool operator==(const StreamEdge&) const = default;
};

struct StreamProblem {
  std::vector<std::string> slots{}, operands{}, dimensions{};
  std::vector<StreamMemory> memories{};
  std::vector<StreamCore> cores{};
  std::uint32_t offchip = 0;  // core
  std::uint32_t output_slot = 0;
  std::vector<StreamLink> links{};
  std::vector<std::vector<std::vector<std::uint32_t>>> paths{};  // [from][to]: links, in order
  std::vector<StreamTile> tiles{};
  std::vector<StreamTensor> tensors{};
  std::vector<StreamEdge> edges{};
  std::vector<std::uint32_t> order{};  // of the tiles: their only priority
  bool operator==(const StreamProblem&) const = default;
};

struct StreamEvent {
  bool is_block = false;  // else a transfer
  double start = 0, end = 0;
  std::uint32_t from = 0, to = 0;        // cores
  std::uint32_t owner = 0, operand = 0;  // of the tensor
  std::int64_t bits = 0;
  std::uint32_t hops = 0;
  double activity = 0;  // bits a cycle on the first link
  double energy_pj = 0;
};

enum class StreamBucket { Offchip, Eviction, Sink, CoreToCore };
inline constexpr std::size_t kStreamBuckets = 4;

struct StreamResult {
  std::string failure{};  // why there is no schedule under these rules
  double latency = 0, energy_pj = 0, onchip_pj = 0;
  std::array<double, kStreamBuckets> link_pj{}, memory_pj{};
  std::vector<double> start{}, end{};  // of the tiles
  std::vector<StreamEvent> events{};
  std::vector<std::int64_t> peak_bits{};  // of the memories
};

StreamResult run_stream(const StreamProblem& problem);

}  // namespace monet::schedule
