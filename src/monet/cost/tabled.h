#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "monet/cost/evaluate.h"
#include "monet/cost/problem.h"

namespace monet::cost {

// Costs of many orderings of the same loops under kZigzagQuirks, bit for bit those of allocate_greedily and evaluate.
// What a memory holds and moves depends on which loops lie inside a cut, not on their order: it is computed once for
// every set of loops, and an ordering is costed from such tables (docs/cost.md, "Speed").
class TabledCosts {
 public:
  // `kinds` are the different loops, `counts` how many there are of each. None where the tables would not be exact
  // (fractional unrollings, sums along windows) or too large; then the general functions are to be used.
  static std::optional<TabledCosts> make(const Problem& p, std::span<const TemporalLoop> kinds,
                                         std::span<const std::uint32_t> counts);

  // One ordering, inner to outer, as indices into `kinds`. False if it does not fit the memories. `changed`: as many of
  // the innermost loops stand otherwise than in the ordering before.
  bool cost(std::span<const std::uint32_t> order, std::size_t changed, Costs& costs);

 private:
  static constexpr std::size_t kMostLoops = 16;  // one bit each in a quarter of a word
  static constexpr std::size_t kMostSets = 4096;

  // What crosses one side of a memory, for one set of loops inside.
  struct Moved {
    double words = 0, busy = 0, average_bits = 0;  // Flow
    double back_words = 0, back_busy = 0;          // partial sums on their way back
    bool comes_back = false;
  };

  struct OperandTables {
    std::size_t memories = 0;
    bool is_output = false;
    double bits = 0, partial_bits = 0;
    std::array<std::vector<double>, kMaxMemories> elements{};  // per memory and set inside
    std::array<std::vector<double>, kMaxMemories> tile_bits{};
    std::array<std::vector<Moved>, kMaxMemories> low{}, high{};  // sides of the memory
    std::array<double, kMaxMemories> read_pj{}, write_pj{};
    std::array<bool, kMaxMemories + 1> reduces_from{};
    std::array<std::array<std::uint16_t, 4>, kMaxMemories> flow{};         // index into flows_, by Direction
    std::array<bool, kMaxMemories> pair_low_shared{}, pair_high_shared{};  // ports between memory m and m + 1
  };

  struct Sharer {
    std::size_t operand = 0, level = 0;
    bool is_top = false;
  };
  struct MemoryTables {
    double size_bits = 0;
    std::vector<Sharer> sharers{};          // in the memory's order
    std::vector<std::size_t> by_operand{};  // positions in `sharers`, in the order of the operands
  };
  struct PortTables {
    double max_bits = 0;
    std::vector<std::uint16_t> flows{};
  };

  // A direction at a memory of an operand: what is fixed, and what an ordering makes of it.
  struct Moving {
    std::uint16_t port = kNoPort, rank = 0;  // among the users of the port
    std::uint8_t operand = 0;
    bool is_first_load = false;  // or a last store; partial sums on their way back are neither
    bool exists = false;
    double busy = 0, allowed = 0, period = 0, periods = 0, waited = 0;
  };
  static constexpr std::uint16_t kNoPort = 0xffff;

  // What the flows of a port come to.
  struct PortSums {
    double late = 0, early = 0, windows = 0, average_bits = 0;
    std::uint16_t count = 0, once = 0;
    bool is_always_busy = false;
    std::array<std::uint16_t, 4 * kMaxOperands> first_loads;  // those that happen once
  };

  TabledCosts() = default;
  void tabulate(const Problem& p, std::span<const TemporalLoop> kinds, std::span<const std::uint32_t> counts);
  void tabulate_set(const Problem& p, std::size_t operand, std::size_t set,
                    const std::array<double, kMaxDimensions>& extent, double returning);
  void index_ports(const Problem& p);
  bool is_monotone(std::span<const std::uint32_t> counts) const;
  void read_order(std::span<const std::uint32_t> order, std::size_t changed);
  bool share(const MemoryTables& memory);
  bool share_several(double room, const MemoryTables& memory);
  void merge(std::size_t operand);
  void buffer();
  void move(std::size_t operand);
  void move(std::uint16_t flow, double busy, double average_bits, double allowed, std::uint32_t set);
  double stall() const;
  void hide_first_loads(double cycles);
  double onload() const;
  double offload() const;
  double energy() const;

  std::vector<double> cycles_, outside_;  // per set: iterations inside, iterations outside
  std::vector<OperandTables> operands_;
  std::vector<MemoryTables> memories_;
  std::vector<PortTables> ports_;
  std::vector<std::uint32_t> stride_;                 // of a kind in the index of a set
  std::vector<std::uint64_t> irrelevant_, relevant_;  // per kind: a bit for each operand, 16 apart
  double cycles_per_mac_ = 1, mac_energy_pj_ = 0, static_pj_per_cycle_ = 0;

  // Scratch, of the ordering at hand.
  std::size_t loops_ = 0;
  std::array<std::uint32_t, kMostLoops + 1> set_{};  // of the first j loops
  std::uint64_t irrelevant_mask_ = 0, relevant_mask_ = 0;
  std::array<std::size_t, kMaxOperands> kept_{};
  std::array<double, kMaxOperands> element_bits_{};
  std::array<std::array<std::size_t, kMaxMemories>, kMaxOperands> cut_{};
  std::array<std::array<std::uint32_t, kMaxMemories + 1>, kMaxOperands> inside_{};  // set below level l
  std::array<std::array<double, kMaxMemories + 1>, kMaxOperands> top_irrelevant_{}, top_relevant_{};
  std::array<std::array<bool, kMaxMemories>, kMaxOperands> doubled_{};
  std::vector<Moving> flows_;
  std::vector<PortSums> sums_;
};

}  // namespace monet::cost
