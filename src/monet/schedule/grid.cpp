#include "monet/schedule/grid.h"

#include <algorithm>

#include "monet/base/assert.h"

namespace monet::schedule {
namespace {

constexpr std::int64_t kShort = 1 << 16;  // positions of an axis that are kept one by one
constexpr std::uint8_t kReadFrom = 1, kReadTo = 2, kRead = kReadFrom | kReadTo, kWritten = 4;
constexpr std::int64_t kSliver = 4;  // a cell is one that is no longer than a quarter of its neighbour

}  // namespace

Grid::Grid(const Shape& shape) {
  MONET_ASSERT(shape.size() <= kMostAxes, "tensors have few axes");
  for (const std::int64_t extent : shape) {
    AxisCuts axis{.extent = extent};
    if (extent <= kShort) axis.marks.assign(static_cast<std::size_t>(extent) + 1, 0);
    axes_.push_back(std::move(axis));
  }
}

void Grid::mark(std::span<const Range> box, bool is_written) {
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    AxisCuts& axis = axes_[a];
    for (const std::int64_t position : {box[a].begin, box[a].end}) {
      if (!axis.marks.empty())
        axis.marks[static_cast<std::size_t>(position)] |=
            is_written ? kWritten : (position == box[a].begin ? kReadFrom : kReadTo);
      else
        (is_written ? axis.written : axis.read).push_back(position);
    }
  }
}

void Grid::collect(AxisCuts& axis, bool with_read) const {
  axis.cuts = {0, axis.extent};
  for (std::size_t i = 0; i < axis.marks.size(); ++i)
    if ((axis.marks[i] & (with_read ? kRead | kWritten : kWritten)) != 0)
      axis.cuts.push_back(static_cast<std::int64_t>(i));
  axis.cuts.insert(axis.cuts.end(), axis.written.begin(), axis.written.end());
  if (with_read) axis.cuts.insert(axis.cuts.end(), axis.read.begin(), axis.read.end());
  std::sort(axis.cuts.begin(), axis.cuts.end());
  axis.cuts.erase(std::unique(axis.cuts.begin(), axis.cuts.end()), axis.cuts.end());
}

// Who reads all but a sliver of a cell reads that, too: at most a quarter more at each end.
void Grid::join_slivers(AxisCuts& axis) const {
  if (axis.marks.empty() || axis.cuts.size() < 3) return;
  std::vector<std::int64_t> kept{axis.cuts.front()};
  bool is_wanted = false;  // where a reader was made to read on to
  for (std::size_t i = 1; i + 1 < axis.cuts.size(); ++i) {
    const std::int64_t here = axis.cuts[i], next = axis.cuts[i + 1];
    const std::uint8_t mark = axis.marks[static_cast<std::size_t>(here)];
    const bool begins_earlier = mark == kReadFrom && (here - kept.back()) * kSliver <= next - here;
    const bool ends_later = mark == kReadTo && (next - here) * kSliver <= here - axis.cuts[i - 1];
    if (is_wanted || (!begins_earlier && !ends_later)) kept.push_back(here);
    is_wanted = !is_wanted && ends_later;
  }
  kept.push_back(axis.cuts.back());
  axis.cuts = std::move(kept);
}

void Grid::finish(std::size_t most_cells, bool joins_slivers) {
  const auto count = [&] {
    cells_ = 1;
    for (std::size_t a = axes_.size(); a-- > 0;) {
      axes_[a].stride = cells_;
      cells_ *= axes_[a].cuts.size() - 1;
    }
  };
  for (AxisCuts& axis : axes_) {
    collect(axis, true);
    if (joins_slivers) join_slivers(axis);
  }
  count();
  // The axis that is cut most for its readers gives way first.
  std::vector<bool> is_rounded(axes_.size(), false);
  while (cells_ > most_cells) {
    std::size_t worst = axes_.size();
    double gain = 1;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (is_rounded[a]) continue;
      AxisCuts only_written = axes_[a];
      collect(only_written, false);
      const double ratio =
          static_cast<double>(axes_[a].cuts.size() - 1) / static_cast<double>(only_written.cuts.size() - 1);
      if (ratio <= gain) continue;
      gain = ratio;
      worst = a;
    }
    if (worst == axes_.size()) break;
    is_rounded[worst] = true;
    collect(axes_[worst], false);
    count();
  }
  for (AxisCuts& axis : axes_) {
    axis.read = axis.written = {};
    if (axis.marks.empty()) continue;
    axis.marks = {};
    axis.slots.resize(static_cast<std::size_t>(axis.extent));
    for (std::size_t s = 0; s + 1 < axis.cuts.size(); ++s)
      for (std::int64_t i = axis.cuts[s]; i < axis.cuts[s + 1]; ++i)
        axis.slots[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(s);
  }
}

std::size_t Grid::slot_of(std::size_t axis, std::int64_t position) const {
  const AxisCuts& cuts = axes_[axis];
  if (!cuts.slots.empty()) return cuts.slots[static_cast<std::size_t>(position)];
  const auto at = std::upper_bound(cuts.cuts.begin(), cuts.cuts.end(), position);
  return static_cast<std::size_t>(at - cuts.cuts.begin()) - 1;
}

Region Grid::cell(std::size_t index) const {
  Region region;
  for (const AxisCuts& axis : axes_) {
    const std::size_t at = index / axis.stride % (axis.cuts.size() - 1);
    region.axes.push_back({axis.cuts[at], axis.cuts[at + 1]});
  }
  return region;
}

}  // namespace monet::schedule
