#include "monet/schedule/stream_cells.h"

#include <fmt/format.h>

#include <algorithm>

namespace monet::schedule {
namespace {

constexpr std::size_t kMostCells = std::size_t{1} << 27;

// Calls f(offset) for every element of the window, in rows.
template <class F>
void each(const std::vector<std::int64_t>& shape, const std::vector<StreamRange>& window, const F& f) {
  for (const StreamRange& range : window)
    if (range.end <= range.begin) return;
  std::vector<std::int64_t> at;
  for (const StreamRange& range : window) at.push_back(range.begin);
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) offset = offset * shape[i] + at[i];
    f(static_cast<std::size_t>(offset));
    std::size_t i = shape.size();
    while (i > 0 && ++at[i - 1] == window[i - 1].end) {
      at[i - 1] = window[i - 1].begin;
      --i;
    }
    if (i == 0) return;
  }
}

}  // namespace

std::size_t StreamCells::count(const std::vector<std::int64_t>& shape) const {
  std::size_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw CellFault{"a tensor between two layers has no shape"};
    if (extent > 0 && product > kMostCells / static_cast<std::size_t>(extent))
      throw CellFault{"a tensor between two layers is too large to follow its elements"};
    product *= static_cast<std::size_t>(extent);
  }
  return product;
}

StreamCells::StreamCells(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {
  cells_.resize(count(shape_), 0);
}

std::uint32_t StreamCells::joined(std::uint32_t set, std::uint32_t tile) {
  const auto [at, is_new] = next_.try_emplace({set, tile}, static_cast<std::uint32_t>(sets_.size()));
  if (is_new) {
    std::vector<std::uint32_t> tiles = sets_[set];
    tiles.push_back(tile);
    sets_.push_back(std::move(tiles));
  }
  return at->second;
}

void StreamCells::add(const std::vector<StreamRange>& window, std::uint32_t tile) {
  each(shape_, window, [&](std::size_t at) { cells_[at] = joined(cells_[at], tile); });
}

void StreamCells::reshape(std::vector<std::int64_t> shape) {
  const auto open = std::find(shape.begin(), shape.end(), -1);
  if (open != shape.end()) {
    *open = 1;
    const std::size_t rest = count(shape);
    *open = rest == 0 ? 0 : static_cast<std::int64_t>(cells_.size() / rest);
  }
  if (count(shape) != cells_.size()) throw CellFault{"a tensor between two layers cannot take its new shape"};
  shape_ = std::move(shape);
}

std::size_t StreamCells::axis_at(std::int64_t axis) const {
  const auto rank = static_cast<std::int64_t>(shape_.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) throw CellFault{"a layer between two others has an axis that its input has not"};
  return static_cast<std::size_t>(axis);
}

void StreamCells::transpose(const std::vector<std::int64_t>& axes) {
  std::vector<std::size_t> from;
  for (const std::int64_t axis : axes) from.push_back(axis_at(axis));
  std::vector<std::size_t> sorted = from;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != i || sorted.size() != shape_.size())
      throw CellFault{"a transposition names axes that are not there"};
  std::vector<std::int64_t> strides(shape_.size(), 1), shape, moved;
  for (std::size_t i = shape_.size(); i-- > 1;) strides[i - 1] = strides[i] * shape_[i];
  for (const std::size_t axis : from) {
    shape.push_back(shape_[axis]);
    moved.push_back(strides[axis]);
  }
  std::vector<std::uint32_t> cells(cells_.size());
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::uint32_t& cell : cells) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * moved[i];
    cell = cells_[static_cast<std::size_t>(offset)];
    for (std::size_t i = at.size(); i > 0 && ++at[i - 1] == shape[i - 1]; --i) at[i - 1] = 0;
  }
  cells_ = std::move(cells);
  shape_ = std::move(shape);
}

namespace {

struct Extents {
  std::size_t before = 1, along = 1, after = 1;
};
Extents around(const std::vector<std::int64_t>& shape, std::size_t axis) {
  Extents e;
  for (std::size_t i = 0; i < shape.size(); ++i)
    (i < axis ? e.before : i == axis ? e.along : e.after) *= static_cast<std::size_t>(shape[i]);
  return e;
}

}  // namespace

void StreamCells::take(std::int64_t axis, const std::vector<std::int64_t>& indices) {
  const std::size_t a = axis_at(axis);
  const Extents e = around(shape_, a);
  std::vector<std::int64_t> shape = shape_;
  shape[a] = static_cast<std::int64_t>(indices.size());
  std::vector<std::uint32_t> cells;
  cells.reserve(count(shape));
  for (std::size_t b = 0; b < e.before; ++b)
    for (std::int64_t index : indices) {
      if (index < 0) index += shape_[a];
      if (index < 0 || index >= shape_[a])
        throw CellFault{"a layer between two others takes an element that is not there"};
      const auto first =
          cells_.begin() + static_cast<std::ptrdiff_t>((b * e.along + static_cast<std::size_t>(index)) * e.after);
      cells.insert(cells.end(), first, first + static_cast<std::ptrdiff_t>(e.after));
    }
  cells_ = std::move(cells);
  shape_ = std::move(shape);
}

void StreamCells::drop_axis(std::int64_t axis) {
  const std::size_t a = axis_at(axis);
  take(axis, {0});
  shape_.erase(shape_.begin() + static_cast<std::ptrdiff_t>(a));
}

void StreamCells::prepend_empty(std::int64_t axis, const std::vector<std::int64_t>& shape) {
  const std::size_t a = axis_at(axis);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape.size() != shape_.size() || (i != a && shape[i] != shape_[i]))
      throw CellFault{"tensors that are put together have other shapes"};
  std::vector<std::int64_t> whole = shape_;
  whole[a] += shape[a];
  std::vector<std::uint32_t> cells;
  cells.reserve(count(whole));
  const Extents own = around(shape_, a);
  const std::size_t empty = static_cast<std::size_t>(shape[a]) * own.after, row = own.along * own.after;
  for (std::size_t b = 0; b < own.before; ++b) {
    cells.insert(cells.end(), empty, 0);
    const auto first = cells_.begin() + static_cast<std::ptrdiff_t>(b * row);
    cells.insert(cells.end(), first, first + static_cast<std::ptrdiff_t>(row));
  }
  cells_ = std::move(cells);
  shape_ = std::move(whole);
}

std::vector<std::uint32_t> StreamCells::tiles_in(const std::vector<StreamRange>& window) const {
  std::vector<StreamRange> inside;
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    if (i >= window.size()) {
      inside.push_back({0, shape_[i]});
      continue;
    }
    const auto clipped = [&](std::int64_t bound) {
      return std::clamp<std::int64_t>(bound < 0 ? bound + shape_[i] : bound, 0, shape_[i]);
    };
    inside.push_back({clipped(window[i].begin), clipped(window[i].end)});
  }
  std::vector<bool> seen(sets_.size(), false);
  each(shape_, inside, [&](std::size_t at) { seen[cells_[at]] = true; });
  std::vector<std::uint32_t> tiles;
  for (std::size_t set = 0; set < seen.size(); ++set)
    if (seen[set]) tiles.insert(tiles.end(), sets_[set].begin(), sets_[set].end());
  std::sort(tiles.begin(), tiles.end());
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  return tiles;
}

namespace {

using Shape = std::vector<std::int64_t>;

// Which axes matter after a reshape, as Stream guesses.
void reshape_axes(const Shape& old_shape, const Shape& new_shape, std::vector<bool>& axes) {
  const auto mark = [&](const Shape& now) {
    for (std::size_t i = 0; i < std::min({old_shape.size(), now.size(), axes.size()}); ++i)
      if (old_shape[i] != now[i]) axes[i] = true;
  };
  if (new_shape.size() < old_shape.size()) {
    std::size_t cut = 0;
    while (cut < new_shape.size() && old_shape[cut] == new_shape[cut]) ++cut;
    if (cut == new_shape.size()) cut = old_shape.size() - 1;
    Shape rest = new_shape;
    if (cut >= axes.size() || cut >= rest.size()) throw CellFault{"a reshape leaves fewer axes than Stream can follow"};
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(cut));
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(cut));
    mark(rest);
    return;
  }
  if (new_shape.size() > old_shape.size()) axes.push_back(old_shape.empty() || new_shape.back() != old_shape.back());
  mark(new_shape);
}

void mark(std::vector<bool>& axes, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(axes.size());
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) throw CellFault{"a layer between two others has an axis that its input has not"};
  axes[static_cast<std::size_t>(at)] = true;
}

void cut(StreamCells& cells, std::int64_t axis, std::int64_t from, std::int64_t to, std::int64_t step) {
  const std::int64_t extent = cells.shape()[cells.axis_at(axis)];
  const auto clipped = [&](std::int64_t bound) {
    return std::clamp<std::int64_t>(bound < 0 ? bound + extent : bound, 0, extent);
  };
  Shape indices;
  for (std::int64_t i = clipped(from); i < clipped(to); i += step) indices.push_back(i);
  cells.take(axis, indices);
}

void split(const StreamLayer& layer, const StreamLayer& next, StreamCells& cells) {
  std::int64_t from = 0;
  for (std::size_t i = 0; i < layer.outputs.size(); ++i) {
    if (std::find(next.inputs.begin(), next.inputs.end(), layer.outputs[i]) != next.inputs.end())
      return cut(cells, layer.axis, from, from + layer.numbers[i], 1);
    from += layer.numbers[i];
  }
  throw CellFault{fmt::format("layer {} takes no part of layer {}", next.id, layer.id)};
}

}  // namespace

void pass_on(const StreamLayer& layer, const StreamLayer& next, StreamCells& cells, std::vector<bool>& axes) {
  switch (layer.kind) {
    case StreamLayerKind::Compute:
    case StreamLayerKind::Free:
    case StreamLayerKind::Pass: return;
    case StreamLayerKind::Reshape: {
      const Shape before = cells.shape();
      if (layer.numbers.empty()) return;
      reshape_axes(before, layer.numbers, axes);
      return cells.reshape(layer.numbers);
    }
    case StreamLayerKind::Flatten: {
      std::int64_t rows = 1;
      const auto rank = static_cast<std::int64_t>(cells.shape().size());
      const std::int64_t end = std::clamp<std::int64_t>(layer.axis < 0 ? layer.axis + rank : layer.axis, 0, rank);
      for (std::int64_t i = 0; i < end; ++i) rows *= cells.shape()[static_cast<std::size_t>(i)];
      axes = {true, true};
      return cells.reshape({rows, -1});
    }
    case StreamLayerKind::Transpose: {
      Shape order = layer.numbers;
      if (order.empty())
        for (std::size_t i = cells.shape().size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
      cells.transpose(order);
      for (const std::int64_t axis : layer.numbers) mark(axes, axis);
      return;
    }
    case StreamLayerKind::Slice:
      cut(cells, layer.axis, layer.from, layer.to, layer.step);
      return mark(axes, layer.axis);
    case StreamLayerKind::Split: split(layer, next, cells); return mark(axes, layer.axis);
    case StreamLayerKind::ConcatConstant: mark(axes, layer.axis); return cells.prepend_empty(layer.axis, layer.numbers);
    case StreamLayerKind::Gather:
      mark(axes, layer.axis);
      return layer.numbers.empty() ? cells.drop_axis(layer.axis) : cells.take(layer.axis, layer.numbers);
  }
}

}  // namespace monet::schedule
