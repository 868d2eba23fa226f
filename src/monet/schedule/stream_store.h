#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "monet/schedule/engine_chunks.h"
#include "monet/schedule/stream.h"
#include "monet/schedule/stream_steps.h"

namespace monet::schedule {

// What lies in which memory, since when, and who still needs it: the state of Stream's scheduler. Numbers in comments
// are the rules of docs/stream.md. What belongs to a tensor or a memory is a list through one vector of all of it.

inline constexpr std::uint32_t kNoEntry = std::numeric_limits<std::uint32_t>::max();

// There is no schedule under these rules; caught by run_stream.
struct Unschedulable {
  std::string reason;
};

class StreamStore {
 public:
  explicit StreamStore(const StreamProblem& problem);

  struct Tensor {
    std::int64_t bits = 0;
    std::uint32_t owner = 0, operand = 0, slot = 0, content = 0;
    std::uint32_t first_use = kNoEntry;  // of uses_
    bool is_output = false;
  };
  const Tensor& operator[](std::uint32_t tensor) const { return tensors_[tensor]; }
  std::string name_of(std::uint32_t tensor) const;

  std::uint32_t memory_of(std::uint32_t core, std::uint32_t slot) const {
    const std::uint32_t memory = memory_by_slot_[core * p_.slots.size() + slot];
    if (memory == kNoEntry) throw_no_memory(core, slot);
    return memory;
  }
  std::uint32_t first_core(std::uint32_t memory) const { return memories_[memory].first_core; }
  // Presence is asked with the tensor's own slot, whatever it was stored under (5).
  bool is_on(std::uint32_t tensor, std::uint32_t core) const {
    return find(tensors_[tensor].content, memory_of(core, tensors_[tensor].slot)) != kNoEntry;
  }
  // The tensor is held by the memory.
  double available(std::uint32_t tensor, std::uint32_t memory) const {
    return held_[find(tensors_[tensor].content, memory)].available;
  }
  // The memories that hold it, ascending.
  void list_holders(std::uint32_t tensor, std::vector<std::uint32_t>& memories) const;
  // The memory of `sender`, or where the tensor has been available longest, the first one on ties (9).
  std::uint32_t source(std::uint32_t tensor, std::uint32_t sender) const;
  // On a memory without readers: those of all memories that do not hold it (2).
  std::int64_t uses(std::uint32_t tensor, std::uint32_t memory) const;
  bool is_used_up(std::uint32_t tensor) const;

  std::int64_t& uses_entry(std::uint32_t tensor, std::uint32_t memory);
  void use(std::uint32_t tensor, std::uint32_t memory);
  void add(std::uint32_t memory, std::uint32_t tensor, double since, double available);
  void remove(std::uint32_t memory, std::uint32_t tensor, double when);
  // A part of a tensor as one of its own.
  std::uint32_t add_part(const StreamTensor& part, std::uint32_t slot);

  double room_from(std::uint32_t memory, std::int64_t bits, double when) const;  // (12)
  // Who must leave for the tensor at that time, cheapest first (13).
  std::vector<std::uint32_t> victims(std::uint32_t tensor, std::uint32_t core, double when,
                                     const std::vector<std::uint32_t>& keep);
  // What the memory holds and has held since `when`, in the order of arrival.
  std::vector<std::uint32_t> held(std::uint32_t memory, double when) const;
  std::int64_t peak_bits(std::uint32_t memory) const;

 private:
  using Content = std::tuple<std::int64_t, std::uint32_t, std::vector<StreamRange>>;  // layer, operand, ranges (1)

  struct Uses {
    std::int64_t count = 0;
    std::uint32_t memory = 0;
    std::uint32_t next = kNoEntry;  // of the same tensor
  };
  struct Rank {  // who is evicted first (13)
    double score = 0;
    std::int64_t bits = 0;
    std::uint64_t arrival = 0;
    bool operator<(const Rank& other) const {
      if (score != other.score) return score < other.score;
      return bits != other.bits ? bits < other.bits : arrival < other.arrival;
    }
  };
  struct Held {  // a content in a memory
    std::uint32_t tensor = 0, memory = 0;
    std::uint32_t next_holder = kNoEntry;                         // of the same content, in ascending order of memories
    std::uint32_t came_before = kNoEntry, came_after = kNoEntry;  // in the same memory
    bool is_ranked = false, is_dirty = false;
    bool has_readers = false;  // uses are expected in this very memory
    double since = 0, available = 0;
    Rank rank{};
  };
  struct Ranked {
    Rank rank{};
    std::uint32_t held = 0;
    const Rank& key() const { return rank; }
  };
  struct Memory {
    std::uint32_t first_came = kNoEntry, last_came = kNoEntry;  // of held_
    Chunks<Ranked> ranked{};
    std::vector<std::uint32_t> dirty{};  // of held_: their rank may be another
    UsageSteps usage{};
    std::uint64_t arrivals = 0;
    std::uint32_t first_core = kNoEntry;
  };
  [[noreturn]] void throw_no_memory(std::uint32_t core, std::uint32_t slot) const;
  std::uint32_t find(std::uint32_t content, std::uint32_t memory) const {
    std::uint32_t h = holders_[content];
    while (h != kNoEntry && held_[h].memory != memory) h = held_[h].next_holder;
    return h;
  }
  std::uint32_t new_held(const Held& held);
  void unrank(Held& held);
  std::uint32_t find_uses(std::uint32_t tensor, std::uint32_t memory) const {
    std::uint32_t u = tensors_[tensor].first_use;
    while (u != kNoEntry && uses_[u].memory != memory) u = uses_[u].next;
    return u;
  }
  void touch(std::uint32_t held);
  void touch_without_readers(std::uint32_t content);
  void settle(std::uint32_t memory);
  void add_tensor(const StreamTensor& t, std::uint32_t slot, std::uint32_t content);

  const StreamProblem& p_;
  std::vector<std::uint32_t> memory_by_slot_;
  std::vector<Memory> memories_;
  std::vector<Tensor> tensors_;
  std::vector<Uses> uses_;  // left, by tensor and memory (2)
  std::vector<Held> held_;
  std::uint32_t free_held_ = kNoEntry;         // list of those not in use
  std::vector<std::uint32_t> holders_;         // by content: the first of held_
  std::map<Content, std::uint32_t> contents_;  // made when the first part is
};

}  // namespace monet::schedule
