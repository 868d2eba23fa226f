#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "monet/cost/layer.h"
#include "monet/cost/request.h"
#include "monet/hardware/hardware.h"

namespace monet::cost {

// Loops of a layer laid over the dimensions of an array.

struct SpatialLoop {
  std::size_t dimension = 0;  // of the layer
  std::int64_t factor = 1;
  bool operator==(const SpatialLoop&) const = default;
};

// Per array dimension, in the order given.
using Spatial = std::vector<std::vector<SpatialLoop>>;

struct SpatialOptions {
  std::size_t generated = 3;  // how many mappings to keep where some are generated
  bool mixed = false;         // several layer dimensions on one array dimension
};

// The spatial mappings to try for a request, best first: given unrollings cut to what the layer, the array and the
// innermost memories' bandwidth and size allow; array dimensions the request leaves open are filled with generated ones
// (ZigZag's rules, reference part A4).
std::vector<Spatial> spatial_mappings(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                                      const SpatialOptions& options);

}  // namespace monet::cost
