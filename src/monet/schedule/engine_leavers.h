#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "monet/schedule/engine_chunks.h"
#include "monet/schedule/use_index.h"

namespace monet::schedule {

// The blocks that may leave a store, by the tile that wants them next, the latest first. What was said of a block may
// have become untrue when it is its turn: whoever goes through them keeps those of which it is still true.
class Leavers {
 public:
  struct Leaver {
    std::uint32_t next_use = 0;
    BlockId block{};
    double used = 0;                   // until then, or longer
    std::uint32_t copy = 0, stay = 0;  // what is meant
    std::uint64_t key() const { return std::uint64_t{next_use} << 32 | block.value; }
  };

  void add(const Leaver& leaver) {
    fresh_.push_back(leaver);
    if (fresh_.size() > most_fresh_) forget_old();
  }

  // Nothing that tiles before `now` want is asked for any more.
  void begin(std::uint32_t now) {
    entries_.drop_below(std::uint64_t{now} << 32);
    for (const Leaver& leaver : fresh_) {
      const Entries::At at = entries_.not_below(leaver.key());
      if (at == entries_.end() || entries_[at].key() != leaver.key()) {
        entries_.insert(at, leaver);
      } else {
        const double used = std::min(leaver.used, entries_[at].used);
        entries_.mark(at) = leaver;
        entries_.mark(at).used = used;
      }
    }
    fresh_.clear();
    at_ = entries_.end();
  }
  bool has_next() const { return at_ != entries_.begin(); }
  const Leaver& peek() const { return entries_[entries_.before(at_)]; }
  void next(bool is_kept) {
    at_ = entries_.before(at_);
    if (!is_kept) at_ = entries_.erase(at_);
  }

 private:
  using Entries = Chunks<Leaver>;

  // What was said last of a block is all that can be true.
  void forget_old() {
    std::stable_sort(fresh_.begin(), fresh_.end(), [](const Leaver& a, const Leaver& b) { return a.block < b.block; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < fresh_.size(); ++i)
      if (i + 1 == fresh_.size() || fresh_[i + 1].block != fresh_[i].block) fresh_[kept++] = fresh_[i];
    fresh_.resize(kept);
    most_fresh_ = std::max(most_fresh_, 2 * kept);  // not again before as many have come
  }

  Entries entries_;
  std::vector<Leaver> fresh_;  // not in order yet
  std::size_t most_fresh_ = std::size_t{1} << 20;
  Entries::At at_{};  // of the pass: those before it are to come
};

}  // namespace monet::schedule
