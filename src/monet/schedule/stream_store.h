#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "monet/schedule/stream.h"
#include "monet/schedule/stream_steps.h"

namespace monet::schedule {

// What lies in which memory, since when, and who still needs it: the state of Stream's scheduler. Numbers in comments
// are the rules of docs/stream.md.

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

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
    bool is_output = false;
    struct Uses {
      std::uint32_t memory = 0;
      std::int64_t count = 0;
    };
    std::vector<Uses> uses{};  // left, by memory (2)
  };
  const Tensor& operator[](std::uint32_t tensor) const { return tensors_[tensor]; }
  std::string name_of(std::uint32_t tensor) const;

  std::uint32_t memory_of(std::uint32_t core, std::uint32_t slot) const;
  std::uint32_t first_core(std::uint32_t memory) const { return memories_[memory].first_core; }
  // Presence is asked with the tensor's own slot, whatever it was stored under (5).
  bool is_on(std::uint32_t tensor, std::uint32_t core) const;
  double available(std::uint32_t tensor, std::uint32_t memory) const {
    return memories_[memory].held[tensors_[tensor].content].available;
  }
  const std::vector<std::uint32_t>& holders(std::uint32_t tensor) const { return holders_[tensors_[tensor].content]; }
  // The memory of `sender`, or where the tensor has been available longest, the first one on ties (9).
  std::uint32_t source(std::uint32_t tensor, std::uint32_t sender) const;
  // On a memory without readers: those of all memories that do not hold it (2).
  std::int64_t uses(std::uint32_t tensor, std::uint32_t memory) const;

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
  using Rank = std::tuple<double, std::int64_t, std::uint64_t, std::uint32_t>;

  struct Held {
    std::uint32_t tensor = kNone;  // none: not held
    double since = 0, available = 0;
    std::uint64_t arrival = 0;
    Rank rank{};
    bool is_ranked = false, is_dirty = false;
  };
  struct Memory {
    std::vector<Held> held{};  // by content
    std::set<Rank> ranked{};   // who is evicted first
    std::vector<std::uint32_t> dirty{};
    UsageSteps usage{};
    std::uint64_t arrivals = 0;
    std::uint32_t first_core = kNone;
  };
  void touch(std::uint32_t content);
  void settle(std::uint32_t memory);
  void add_tensor(const StreamTensor& t, std::uint32_t slot, std::uint32_t content);

  const StreamProblem& p_;
  std::vector<std::uint32_t> memory_by_slot_;
  std::vector<Memory> memories_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<std::uint32_t>> holders_;  // by content: memories, ascending
  std::map<Content, std::uint32_t> contents_;        // made when the first part is
};

}  // namespace monet::schedule
