#pragma once
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "monet/schedule/use_index.h"

namespace monet::schedule {

// The blocks that may leave a store, by the tile that wants them next, the latest first. What was said of a block may
// have become untrue when it is its turn: whoever goes through them keeps those of which it is still true.
class Leavers {
 public:
  struct Leaver {
    std::uint32_t next_use = 0;
    BlockId block{};
    double used = 0;  // until then, or longer
    friend bool operator<(const Leaver& a, const Leaver& b) {
      return std::tie(a.next_use, a.block, a.used) < std::tie(b.next_use, b.block, b.used);
    }
  };

  void add(const Leaver& leaver) {
    fresh_.push_back(leaver);
    if (fresh_.size() > kMostFresh) sort_in(0);
  }

  // Nothing that tiles before `now` want is asked for any more.
  void begin(std::uint32_t now) {
    sort_in(now);
    at_ = kept_ = entries_.size();
  }
  bool has_next() const { return at_ > 0; }
  const Leaver& peek() const { return entries_[at_ - 1]; }
  void next(bool is_kept) {
    --at_;
    if (is_kept) entries_[--kept_] = entries_[at_];
  }
  void end() {
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at_),
                   entries_.begin() + static_cast<std::ptrdiff_t>(kept_));
  }

 private:
  static constexpr std::size_t kMostFresh = std::size_t{1} << 20;

  void sort_in(std::uint32_t now) {
    const auto past =
        std::partition_point(entries_.begin(), entries_.end(), [&](const Leaver& l) { return l.next_use < now; });
    if (past - entries_.begin() > entries_.end() - past) entries_.erase(entries_.begin(), past);
    if (fresh_.empty()) return;
    std::sort(fresh_.begin(), fresh_.end());
    const auto first = std::lower_bound(entries_.begin(), entries_.end(), fresh_.front()) - entries_.begin();
    const auto middle = static_cast<std::ptrdiff_t>(entries_.size());
    entries_.insert(entries_.end(), fresh_.begin(), fresh_.end());
    std::inplace_merge(entries_.begin() + first, entries_.begin() + middle, entries_.end());
    const auto is_same = [](const Leaver& a, const Leaver& b) {
      return a.next_use == b.next_use && a.block == b.block;
    };
    entries_.erase(std::unique(entries_.begin() + std::max(std::ptrdiff_t{0}, first - 1), entries_.end(), is_same),
                   entries_.end());
    fresh_.clear();
  }

  std::vector<Leaver> entries_;    // in order
  std::vector<Leaver> fresh_;      // not in order yet
  std::size_t at_ = 0, kept_ = 0;  // of the pass: entries below are to come, those from `kept_` on stay
};

}  // namespace monet::schedule
