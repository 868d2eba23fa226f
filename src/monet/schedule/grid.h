#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "monet/graph/region.h"

namespace monet::schedule {

// A tensor cut along planes, wherever a part that somebody writes or reads begins or ends: its cells are what moves and
// is kept as one. What is written is made of whole ones.
class Grid {
 public:
  explicit Grid(const Shape& shape);

  // Before `finish`. What is read may begin or end within a cell, if there would be too many cells otherwise, and with
  // `joins_slivers` where a sliver would be left (but on axes of more than 65,536). What is written never does.
  void mark(std::span<const Range> box, bool is_written);
  void finish(std::size_t most_cells, bool joins_slivers);

  std::size_t cells() const { return cells_; }
  Region cell(std::size_t index) const;
  // Cells of a box.
  double count(std::span<const Range> box) const {
    double product = 1;
    for (std::size_t a = 0; a < axes_.size(); ++a)
      product *= static_cast<double>(slot_of(a, box[a].end - 1) + 1 - slot_of(a, box[a].begin));
    return product;
  }
  // Calls `visit(cell)` for every cell of a box, in row-major order; beyond the box, if its edges were rounded.
  template <class Visit>
  void for_each(std::span<const Range> box, Visit visit) const {
    std::size_t from[kMostAxes], to[kMostAxes], at[kMostAxes];
    const std::size_t rank = axes_.size();
    std::size_t index = 0;
    for (std::size_t a = 0; a < rank; ++a) {
      from[a] = at[a] = slot_of(a, box[a].begin);
      to[a] = slot_of(a, box[a].end - 1) + 1;
      index += at[a] * axes_[a].stride;
    }
    for (;;) {
      visit(index);
      std::size_t a = rank;
      for (;;) {
        if (a == 0) return;
        --a;
        index += axes_[a].stride;
        if (++at[a] < to[a]) break;
        index -= (at[a] - from[a]) * axes_[a].stride;
        at[a] = from[a];
      }
    }
  }

 private:
  static constexpr std::size_t kMostAxes = 16;
  struct AxisCuts {
    std::int64_t extent = 1;
    std::vector<std::uint8_t> marks{};  // by position: who begins or ends there; short axes only
    std::vector<std::int64_t> read{}, written{};
    std::vector<std::int64_t> cuts{};    // rising, the ends included
    std::vector<std::uint32_t> slots{};  // by position: between which cuts; short axes only
    std::size_t stride = 1;
  };
  std::size_t slot_of(std::size_t axis, std::int64_t position) const;
  void collect(AxisCuts& axis, bool with_read) const;
  void join_slivers(AxisCuts& axis) const;

  std::vector<AxisCuts> axes_;
  std::size_t cells_ = 1;
};

}  // namespace monet::schedule
