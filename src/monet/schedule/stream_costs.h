#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "monet/cost/zigzag_files.h"
#include "monet/hardware/hardware.h"
#include "monet/schedule/stream_tiles.h"

namespace monet::schedule {

// What a tile costs on a core, by ZigZag's model and Stream's way to search with it (C1 to C5 in docs/stream.md).

struct StreamCostOptions {
  std::size_t limit = 6;    // of loops
  std::size_t threads = 0;  // 0: as many as there are
};

struct StreamCost {
  std::string failure{};
  double runtime = 0, onchip_pj = 0, offchip_pj = 0;
  struct Stream {
    hardware::Slot slot = hardware::Slot::Input;
    double bits_per_cycle = 0;
  };
  std::vector<Stream> too_large{};  // operands that are streamed from off-chip memory, in the layer's order
};

// Slots whose operands the core's highest memories cannot hold all at once: the largest, and as many as leave the
// others no room (C1).
std::vector<hardware::Slot> too_large_slots(const StreamLayer& layer, const std::vector<std::int64_t>& sizes,
                                            const hardware::Core& core);

// The core with the off-chip memory as highest level of these operands (C2).
hardware::Core with_streams(const hardware::Core& core, const hardware::Core& offchip,
                            const std::vector<hardware::Slot>& slots);

// `parallel`: how many tiles of the layer run at once.
StreamCost stream_cost(const StreamLayer& layer, const std::vector<std::int64_t>& sizes, bool is_alone,
                       std::int64_t parallel, const hardware::Core& core, const hardware::Core& offchip,
                       const cost::MappingRequest& request, const StreamCostOptions& options = {});

// Costs every tile of `problem`; equal tiles on equal cores once. Returns why there is no cost.
std::string add_stream_costs(const std::vector<StreamLayer>& layers, const StreamTiling& tiling,
                             const hardware::Hardware& hardware, const cost::MappingFile& mapping,
                             StreamProblem& problem, const StreamCostOptions& options = {});

}  // namespace monet::schedule
