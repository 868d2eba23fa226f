#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "monet/base/watch.h"
#include "monet/cost/layer.h"
#include "monet/cost/quirks.h"
#include "monet/cost/request.h"
#include "monet/hardware/hardware.h"

namespace monet::cost {

// Loops of a layer laid over the dimensions of an array.

struct SpatialLoop {
  std::size_t dimension = 0;  // of the layer
  std::int64_t factor = 1;
  std::uint32_t turn = 0;  // of its array dimension in the request: of equal factors the earliest is adjusted (quirk)
  bool operator==(const SpatialLoop&) const = default;
};

// Per array dimension, in the order given.
using Spatial = std::vector<std::vector<SpatialLoop>>;

struct SpatialOptions {
  std::size_t generated = 3;  // how many mappings to keep where some are generated
  bool mixed = false;         // several layer dimensions on one array dimension
  double least_filled = 0;    // of the lanes: where a core's usual unrolling leaves more idle, others are tried, too
  Quirks quirks{};
  Watch watch{};  // when to stop: the best found so far are given
};

// The spatial mappings to try for a request, best first: given unrollings cut to what the layer, the array and the
// innermost memories' bandwidth and size allow; array dimensions the request leaves open are filled with generated
// ones, fullest and then most diverse first (docs/cost.md). None and `reason` if a memory cannot serve a single lane.
std::vector<Spatial> spatial_mappings(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                                      const SpatialOptions& options, std::string* reason = nullptr);

// Whether the innermost memories leave a loop of the layer a single lane of an array dimension that has more: the sums
// of a column of lanes are one element, so that what runs along it must be added up.
bool is_hindered(const Layer& layer, const hardware::Core& core, std::size_t array_dimension, const std::string& loop);

}  // namespace monet::cost
