#pragma once
#include <cstdint>
#include <vector>

#include "monet/schedule/timeline.h"
#include "monet/schedule/use_index.h"

namespace monet::schedule {

// What the scheduler knows of every block between two tiles: where its latest value lies, and until when it is used.

// A time and who is to blame for it.
struct When {
  double time = 0;
  Cause cause{};
  void at_least(double t, const Cause& c) {
    if (t > time) *this = {t, c};
  }
};

// The latest value of a block in one store.
struct Copy {
  StoreId store{};
  std::uint32_t stay = 0;           // of Timeline::stays
  When available{}, used{};         // the value is there; its last use known so far ends
  std::uint32_t next_use = kNever;  // tile that uses it in this store
  std::uint32_t said = kNever;      // what losing it costs, as its store was told last
};

struct BlockState {
  std::uint32_t first_copy = kNever, last_copy = kNever, copies = 0;
  std::uint32_t home_stay = kNever;   // its place at home, whether the value there is the latest or not
  std::uint32_t last_fetch = kNever;  // of this value
  std::uint32_t next_use = kNever;    // tile that uses it anywhere
  std::uint32_t needed_by = kNever;   // the last tile it had to stay for
  When home_used{};
};

// All copies of all blocks; those of one block in the order in which they were made.
class Copies {
 public:
  Copy& operator[](std::uint32_t copy) { return copies_[copy]; }
  const Copy& operator[](std::uint32_t copy) const { return copies_[copy]; }
  std::uint32_t next(std::uint32_t copy) const { return links_[copy].next; }
  StoreId store(std::uint32_t copy) const { return links_[copy].store; }

  std::uint32_t find(const BlockState& s, StoreId store) const {
    std::uint32_t at = s.first_copy;
    while (at != kNever && links_[at].store != store) at = links_[at].next;
    return at;
  }
  void add(BlockState& s, const Copy& copy) {
    std::uint32_t at = unused_;
    if (at == kNever) {
      at = static_cast<std::uint32_t>(copies_.size());
      copies_.push_back(copy);
      links_.push_back({copy.store, kNever});
    } else {
      unused_ = links_[at].next;
      copies_[at] = copy;
      links_[at] = {copy.store, kNever};
    }
    (s.last_copy == kNever ? s.first_copy : links_[s.last_copy].next) = at;
    s.last_copy = at;
    ++s.copies;
  }
  void remove(BlockState& s, std::uint32_t copy) {
    std::uint32_t before = kNever;
    for (std::uint32_t at = s.first_copy; at != copy; at = links_[at].next) before = at;
    (before == kNever ? s.first_copy : links_[before].next) = links_[copy].next;
    if (s.last_copy == copy) s.last_copy = before;
    links_[copy].next = unused_;
    copies_[copy].said = kNever;
    unused_ = copy;
    --s.copies;
  }

 private:
  // Apart from the rest: most are only gone past.
  struct Link {
    StoreId store{};
    std::uint32_t next = kNever;  // of the same block
  };
  std::vector<Copy> copies_;
  std::vector<Link> links_;
  std::uint32_t unused_ = kNever;
};

}  // namespace monet::schedule
