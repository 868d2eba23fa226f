#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "monet/schedule/problem.h"

namespace monet::schedule {

inline constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

// Which tile uses a block next: what the scheduler looks ahead with. Flows are uses at home. In the order of the uses,
// in which the scheduler asks.
class UseIndex {
 public:
  explicit UseIndex(const Problem& problem);

  std::uint32_t first(BlockId b) const { return first_[b.index()]; }
  std::uint32_t last_write(BlockId b) const { return last_write_[b.index()]; }
  // The next use of the same block after this one of Problem::uses, anywhere and in the same store.
  std::uint32_t after_use(std::uint32_t use) const { return uses_[use].anywhere; }
  std::uint32_t after_use_here(std::uint32_t use) const { return uses_[use].here; }
  std::uint32_t after_flow(std::uint32_t flow) const { return after_flow_[flow]; }

 private:
  struct After {
    std::uint32_t anywhere = kNever, here = kNever;
  };
  std::vector<std::uint32_t> first_, last_write_;  // by block
  std::vector<After> uses_;
  std::vector<std::uint32_t> after_flow_;
};

}  // namespace monet::schedule
