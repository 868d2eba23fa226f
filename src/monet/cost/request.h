#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monet/hardware/hardware.h"

namespace monet::cost {

// What a user asks of the mapping of a layer; everything left open is searched. Array dimensions, nest dimensions and
// memories are named, so that one request serves many layers: what a layer does not have is left out.

struct LoopPattern {
  std::optional<std::string> dimension{};  // none: any ("*")
  std::optional<std::int64_t> factor{};    // none: whatever is left of it ("*")
  bool operator==(const LoopPattern&) const = default;
};

// The loops (inner to outer) one operand keeps in one memory, exactly.
struct Placement {
  std::string operand{};
  std::string memory{};
  std::vector<hardware::Unrolling> loops{};
  bool operator==(const Placement&) const = default;
};

template <class T>
using Named = std::vector<std::pair<std::string, T>>;  // in the order of the file

struct MappingRequest {
  std::string name{};                                 // a layer's name, an operator type, or "default"
  Named<std::vector<hardware::Unrolling>> spatial{};  // per array dimension
  Named<std::vector<std::string>> hints{};            // per array dimension: the dimensions to try
  std::vector<LoopPattern> ordering{};                // inner to outer; complete, or with "*" in it
  std::vector<Placement> placements{};                // exact loop-to-memory assignment
  Named<hardware::Slot> slots{};                      // which slot an operand goes through (W: weight)
  bool operator==(const MappingRequest&) const = default;
};

}  // namespace monet::cost
