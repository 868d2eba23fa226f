#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "monet/schedule/tiling.h"
#include "monet/schedule/timeline.h"

namespace monet::schedule {

// One iteration on a chip: what it takes, where, when and why. Cycles, pJ, bytes; totals are the sums of their parts.

// What memory is used for.
enum class MemoryUse { Weights, Gradients, OptimizerState, Activations, Workspace, Io };
inline constexpr std::size_t kMemoryUses = 6;
std::string_view name(MemoryUse use);  // weights, gradients, optimizer_state, …
MemoryUse memory_use(Category category);

using ByPhase = std::array<double, kPhases>;
using ByUse = std::array<double, kMemoryUses>;
template <std::size_t N>
double sum(const std::array<double, N>& values) {
  double total = 0;
  for (const double v : values) total += v;
  return total;
}

struct Energy {
  double compute = 0, link = 0, offchip = 0, leakage = 0;
  std::map<std::string, double> memory{};  // by the name of the level
  double total() const;
};

// How full a store is over time.
struct StoreUse {
  struct Point {
    double time = 0;  // from here to the next point
    ByUse bytes{};
  };
  double peak_bytes = 0, peak_time = 0;
  ByUse at_peak{};
  std::int64_t highest_address = 0;    // above which nothing ever lay
  std::vector<Point> points{};         // where Detail::All is asked for
  double bytes_in = 0, bytes_out = 0;  // of transfers and flows
};

struct UnitUse {
  double busy = 0;  // cycles
  ByPhase busy_by_phase{};
};

struct NodeResult {
  double start = 0, end = 0, busy = 0;
  double energy_pj = 0;
  double macs = 0, vector_ops = 0;
  std::uint32_t tiles = 0;
  double offchip_bytes = 0;  // moved for its sake
};

struct TensorResult {
  double born = 0, died = 0;
  double bytes = 0;
  StoreId store{};  // where it is longest, by byte-cycles
  double offchip_read_bytes = 0, offchip_written_bytes = 0;
  bool is_there = false;  // it has storage of its own
};

// A stretch of the way that decides the latency: the tile or transfer that everything waited for.
struct PathStep {
  enum class Kind { Tile, Transfer };
  Kind kind = Kind::Tile;
  std::uint32_t index = 0;
  double from = 0, to = 0;  // of the makespan; what was waited for without a cause is the later event's
};

struct Evaluation {
  Tiled tiled{};
  Timeline timeline{};
  double clock_hz = 0;
  double latency = 0;
  std::vector<double> iteration_ends{};  // when the last tile of each iteration ends
  Energy energy{};
  ByPhase energy_by_phase{}, latency_by_phase{}, busy_by_phase{}, macs{}, vector_ops{};
  std::vector<double> energy_by_core{};  // by Chip::cores, transfers to those for whose tiles they are; links, off-chip
                                         // and leakage are nobody's
  std::array<double, 3> memory_energy_by_slot{};     // of the cores' memories, by hardware::Slot, tiles only
  ByUse energy_by_use{};                             // of all that moves or is held for a tensor
  std::vector<StoreUse> stores{};                    // by Machine::stores
  double peak_total_bytes = 0, peak_total_time = 0;  // all stores together
  std::vector<UnitUse> units{};                      // by Machine::units
  std::vector<double> channel_bytes{};               // by Machine::channels
  std::vector<double> port_cycles{};                 // by Machine::ports: taken by tiles and transfers
  std::vector<double> core_macs{}, core_vector_ops{};
  std::vector<NodeResult> nodes{};      // by node
  std::vector<TensorResult> tensors{};  // by tensor
  std::vector<PathStep> path{};         // from the beginning on
};

// What a store could not hold, in words, with what would mend it.
Infeasible explain_no_room(const TilingInput& input, const Tiled& tiled, const NoRoom& no_room);

enum class Detail {
  Figures,  // what searches compare: all but the next
  All,      // Evaluation::path, latency_by_phase and the leakage of energy_by_phase, port_cycles, StoreUse::points, and
            // of tensors all but their off-chip bytes
};
std::variant<Evaluation, Infeasible> evaluate(const TilingInput& input, Detail detail = Detail::All);

// Of all transfers: stores and channels.
double transfer_energy_pj(const Problem& problem, const Timeline& timeline);

// The parts of `evaluate` that only look at a finished timeline.
std::vector<double> port_cycles(const Problem& problem, const Timeline& timeline);
// Of a transfer in the ports of its stores; carried by another one, it takes cycles where it ends only.
std::vector<PortDemand> port_demands(const Problem& problem, const Timeline& timeline, std::uint32_t transfer);
std::vector<PathStep> critical_path(const Timeline& timeline);
std::vector<StoreUse> store_uses(const Graph& graph, const Tiled& tiled, const Timeline& timeline, Detail detail,
                                 double& peak_total, double& peak_total_time);

}  // namespace monet::schedule
