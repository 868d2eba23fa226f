#pragma once
#include <array>
#include <string_view>
#include <utility>

namespace monet::cost {

// Defects of ZigZag that its figures contain. Off, the model is ours; each has a case in docs/cost.md that shows it.
struct Quirks {
  // Energy takes fractional unrollings, latency the integers below them; off, both take the hardware's integers.
  bool fractional_unrolling = false;
  // Every tile counts in full, at the edges too, and sums are read back even the first time, when nobody stored any.
  bool uniform_tiles = false;
  // Windows more dilated than they are many count more elements than they touch.
  bool negative_overlap = false;
  // Unrollings that are too many give way in the order of a Python set; cut ones of equal factor share the last's fate
  // and may become none at all; a memory that several operands share limits nobody who has another below it.
  bool set_order = false;
  // Every entry of a loop ordering pins an inner position, also those after ["*", "*"], which itself says nothing.
  bool inner_pins = false;
  // Loops go to memories one memory at a time, fewest accesses first, ties to the last found.
  bool greedy_allocation = false;
  // Room for a second tile goes to the operands in their order, needed or not.
  bool ordered_buffering = false;
  // Only the port that stalls most is waited for, though ports stall at different times.
  bool worst_port = false;
  // Hiding a first load behind the computation may make it shorter than its own first tile, and even negative.
  bool unbounded_hiding = false;
  // Of the transfers that share one of their two ports with the other input, only the outermost is waited for.
  bool last_half_shared = false;
  // `force_double_buffering` and a memory's `latency` are read and ignored.
  bool ignored_memory_options = false;
  // No leakage: slow mappings look free.
  bool no_leakage = false;

  bool operator==(const Quirks&) const = default;
};

constexpr Quirks kZigzagQuirks{.fractional_unrolling = true,
                               .uniform_tiles = true,
                               .negative_overlap = true,
                               .set_order = true,
                               .inner_pins = true,
                               .greedy_allocation = true,
                               .ordered_buffering = true,
                               .worst_port = true,
                               .unbounded_hiding = true,
                               .last_half_shared = true,
                               .ignored_memory_options = true,
                               .no_leakage = true};

// By name, for the command line and for keys of stored results.
inline constexpr auto kQuirkNames = std::to_array<std::pair<std::string_view, bool Quirks::*>>({
    {"fractional-unrolling", &Quirks::fractional_unrolling},
    {"uniform-tiles", &Quirks::uniform_tiles},
    {"negative-overlap", &Quirks::negative_overlap},
    {"set-order", &Quirks::set_order},
    {"inner-pins", &Quirks::inner_pins},
    {"greedy-allocation", &Quirks::greedy_allocation},
    {"ordered-buffering", &Quirks::ordered_buffering},
    {"worst-port", &Quirks::worst_port},
    {"unbounded-hiding", &Quirks::unbounded_hiding},
    {"last-half-shared", &Quirks::last_half_shared},
    {"ignored-memory-options", &Quirks::ignored_memory_options},
    {"no-leakage", &Quirks::no_leakage},
});

}  // namespace monet::cost
