#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "monet/graph/graph.h"

namespace monet {

// Distance between neighbours along each dimension.
inline Ints row_major_strides(const Shape& shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// How an operand of `shape` is read while walking over `whole`: it stands still along the dimensions it lacks.
inline Ints broadcast_strides(const Shape& shape, const Shape& whole) {
  Ints strides(whole.size(), 0);
  const Ints own = row_major_strides(shape);
  const std::size_t missing = whole.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) strides[missing + i] = own[i];
  return strides;
}

// Elements of a shape before, along and after one axis: x[outer][extent][inner].
struct AxisSplit {
  std::int64_t outer = 1, extent = 1, inner = 1;
};
inline AxisSplit split_at(const Shape& shape, std::int64_t axis) {
  AxisSplit split;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i);
    (at < axis ? split.outer : at == axis ? split.extent : split.inner) *= shape[i];
  }
  return split;
}

// Walks over `shape` in row-major order with N operands of the given strides, and calls
// f(offsets, length, strides) for each innermost line. Dimensions that all operands see as one are merged, so that
// lines are as long as they can be.
template <std::size_t N, class F>
void for_each_line(const Shape& shape, const std::array<Ints, N>& strides, F&& f) {
  struct Dimension {
    std::int64_t extent = 1;
    std::array<std::int64_t, N> stride{};
  };
  std::vector<Dimension> dimensions;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    Dimension d{shape[i], {}};
    bool merges = !dimensions.empty();
    for (std::size_t n = 0; n < N; ++n) {
      d.stride[n] = strides[n][i];
      merges = merges && dimensions.back().stride[n] == d.stride[n] * d.extent;
    }
    if (merges) {
      d.extent *= dimensions.back().extent;
      dimensions.back() = d;
    } else {
      dimensions.push_back(d);
    }
  }
  const Dimension line = dimensions.empty() ? Dimension{} : dimensions.back();
  if (!dimensions.empty()) dimensions.pop_back();
  std::array<std::int64_t, N> offsets{};
  Ints at(dimensions.size(), 0);
  for (;;) {
    f(offsets, line.extent, line.stride);
    std::size_t d = dimensions.size();
    for (; d > 0; --d) {
      const Dimension& dimension = dimensions[d - 1];
      for (std::size_t n = 0; n < N; ++n) offsets[n] += dimension.stride[n];
      if (++at[d - 1] < dimension.extent) break;
      for (std::size_t n = 0; n < N; ++n) offsets[n] -= dimension.stride[n] * dimension.extent;
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace monet
