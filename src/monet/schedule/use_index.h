#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "monet/schedule/problem.h"

namespace monet::schedule {

inline constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

// Which tiles use each block, and where: what the scheduler looks ahead with.
class UseIndex {
 public:
  explicit UseIndex(const Problem& problem);

  // Of the uses still to come: the tile of the next one, of the next one in this store; flows are uses at home.
  std::uint32_t next(BlockId b) const {
    const std::uint32_t i = next_[b.index()];
    return i < first_[b.index() + 1] ? tiles_[i] : kNever;
  }
  std::uint32_t next_in(BlockId b, StoreId store) const {
    for (std::uint32_t i = next_[b.index()]; i < first_[b.index() + 1]; ++i)
      if (stores_[i] == store) return tiles_[i];
    return kNever;
  }
  std::uint32_t last_write(BlockId b) const { return last_write_[b.index()]; }
  void use(BlockId b) { ++next_[b.index()]; }

 private:
  std::vector<std::uint32_t> first_, next_, last_write_;  // by block
  std::vector<std::uint32_t> tiles_;                      // by use
  std::vector<StoreId> stores_;
};

}  // namespace monet::schedule
