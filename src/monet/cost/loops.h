#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monet/cost/problem.h"
#include "monet/cost/request.h"

namespace monet::cost {

// The temporal loops of a problem: prime factors of what is left of each dimension, in the order of the dimensions.
// With a limit, the two smallest factors of the dimension that has the most are multiplied until there are no more than
// `limit` loops (never fewer than one a dimension). No loop left: one of size 1.
std::vector<TemporalLoop> temporal_loops(const Problem& p, std::size_t limit = 0);

// What a user's loop ordering comes to for one problem. Entries for dimensions the layer does not have are left out.
struct PinnedLoop {
  std::ptrdiff_t position = 0;  // from the inside; negative: from the outside, -1 is the outermost
  std::uint32_t dimension = 0;
  std::optional<double> factor{};  // none: whatever
};

struct PinnedLoops {
  std::vector<PinnedLoop> pins{};
  std::vector<TemporalLoop> complete{};  // the only ordering, if all is said
  std::vector<TemporalLoop> loops{};     // else those to order: pinned factors are not merged with others
  std::string reason{};                  // why there is no such ordering
};

// By default entries before ["*", "*"] pin the innermost loops and entries after it the outermost ones; quirk
// inner_pins: all pin inner ones.
PinnedLoops pinned_loops(const Problem& p, const std::vector<LoopPattern>& pattern,
                         const std::vector<work::Dimension>& dimensions, std::size_t limit);

bool meets(std::span<const TemporalLoop> order, std::span<const PinnedLoop> pins);

// All distinct orderings of a list of loops, one after the other, by prefix shifts: the order of ZigZag's search, which
// decides between equally good orderings.
class Orderings {
 public:
  Orderings(const Problem& p, std::span<const TemporalLoop> loops);
  bool next();                                                           // false when all were given
  std::span<const std::uint32_t> sequence() const { return sequence_; }  // the ordering, as indices of kinds
  std::size_t changed() const { return changed_; }  // how many of its innermost loops stand otherwise than before
  std::span<const TemporalLoop> current();
  std::span<const TemporalLoop> kinds() const { return kinds_; }  // the different loops
  std::vector<std::uint32_t> counts() const;                      // how many there are of each

 private:
  std::vector<std::uint32_t> value_, next_;  // a linked list of kinds of loops, largest first
  std::vector<std::uint32_t> sequence_;
  std::vector<TemporalLoop> kinds_, current_;
  std::uint32_t head_ = 0, i_ = 0, j_ = 0;
  std::size_t changed_ = 0;
  bool started_ = false;
};

// How many there are; infinity where a double cannot say.
double orderings_of(std::span<const TemporalLoop> loops);

}  // namespace monet::cost
