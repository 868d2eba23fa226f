#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "monet/schedule/stream.h"

namespace monet::schedule {

// Who comes before and after every tile, in two vectors: edges as Stream's scheduler asks for them.
class StreamNeighbours {
 public:
  static constexpr std::uint32_t kNoOperand = 0xffffffff;
  struct Neighbour {
    std::uint32_t tile = 0;
    std::uint32_t operand = kNoOperand;  // of the reader; none between tiles of one layer
  };
  explicit StreamNeighbours(const StreamProblem& problem);

  // By layer and number.
  std::span<const Neighbour> before(std::uint32_t tile) const { return before_.of(tile); }
  // As the edges are given.
  std::span<const Neighbour> after(std::uint32_t tile) const { return after_.of(tile); }

 private:
  struct Lists {
    std::vector<std::uint32_t> first{};  // by tile, and one more
    std::vector<Neighbour> all{};
    std::span<const Neighbour> of(std::uint32_t tile) const {
      return std::span(all).subspan(first[tile], first[tile + 1] - first[tile]);
    }
  };
  Lists before_, after_;
};

}  // namespace monet::schedule
