// Operators that only move elements, or make them from nothing.
#include <fmt/format.h>

#include <algorithm>

#include "monet/interpret/families.h"
#include "monet/interpret/walk.h"

namespace monet {
namespace {

// to[walk] = from[walk], each with its own strides.
template <class T>
void copy_strided(const Shape& shape, T* to, const Ints& to_strides, const T* from, const Ints& from_strides) {
  for_each_line<2>(shape, {to_strides, from_strides}, [&](const auto& at, std::int64_t count, const auto& step) {
    T* out = to + at[0];
    const T* in = from + at[1];
    for (std::int64_t i = 0; i < count; ++i) out[i * step[0]] = in[i * step[1]];
  });
}

// A sub-grid of a row-major array: its first element and its strides.
struct Grid {
  std::int64_t first = 0;
  Ints strides;
};
Grid grid_of(const Shape& shape, const Ints& starts, const Shape& sizes, const Ints& steps) {
  Grid grid{0, row_major_strides(shape)};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    grid.first += starts[i] * grid.strides[i];
    grid.strides[i] *= sizes[i] == 1 ? 0 : steps[i];  // the step of a single element may be any number
  }
  return grid;
}

constexpr std::int64_t kPaddingValue = -1, kSourceElsewhere = -2;

// The element that each of `count` positions of a padded dimension copies, -1: the padding value.
Ints padding_sources(std::int64_t extent, std::int64_t begin, std::int64_t first, std::int64_t count, PadMode mode) {
  Ints sources;
  for (std::int64_t i = first; i < first + count; ++i) {
    std::int64_t from = i - begin;
    switch (mode) {
      case PadMode::Constant: from = from < 0 || from >= extent ? kPaddingValue : from; break;
      case PadMode::Edge: from = std::clamp<std::int64_t>(from, 0, extent - 1); break;
      case PadMode::Reflect: from = from < 0 ? -from : from >= extent ? 2 * (extent - 1) - from : from; break;
    }
    sources.push_back(from);
  }
  return sources;
}

// Calls f(position in the padded array, position in the inner array) for every position of the padded array; the
// second is kPaddingValue where nothing is copied, kSourceElsewhere where the arrays are parts and it is in none of
// them.
template <class PadOp, class F>
void for_each_padded(const PadOp& op, const Shape& inner, const Shape& padded, F&& f) {
  const bool part = op.part != Part{};
  const std::size_t rank = inner.size();
  const Ints strides = row_major_strides(inner);
  std::vector<Ints> sources;
  for (std::size_t d = 0; d < rank; ++d) {
    sources.push_back(padding_sources(part ? op.part.whole[d] : inner[d], op.begin[d], part ? op.part.first[d] : 0,
                                      padded[d], op.mode));
    const std::int64_t origin = part ? op.part.origin[d] : 0;
    for (std::int64_t& s : sources.back())
      if (s >= 0) s = s < origin || s >= origin + inner[d] ? kSourceElsewhere : s - origin;
  }
  Ints at(rank, 0);
  const std::int64_t count = elements(padded);
  for (std::int64_t position = 0; position < count; ++position) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < rank && from >= 0; ++d) {
      const std::int64_t source = sources[d][static_cast<std::size_t>(at[d])];
      from = source < 0 ? source : from + source * strides[d];
    }
    f(position, from);
    for (std::size_t d = rank; d-- > 0;) {
      if (++at[d] < padded[d]) break;
      at[d] = 0;
    }
  }
}

// Indices checked against the extent they address; negative ones count from the end.
template <class T>
Ints checked_indices(const Array<T>& indices, std::int64_t extent) {
  Ints result;
  result.reserve(indices.data.size());
  for (std::size_t i = 0; i < indices.data.size(); ++i) {
    const double index = indices.data[i];
    if (!(index >= -static_cast<double>(extent) && index < static_cast<double>(extent)))
      throw ValueError(fmt::format("index {} (number {}) is out of range for extent {}", index, i, extent));
    const std::int64_t whole = static_cast<std::int64_t>(index);
    result.push_back(whole < 0 ? whole + extent : whole);
  }
  return result;
}

// Copies `count` runs of `length` elements that are the given distances apart.
template <class T>
void copy_runs(std::int64_t count, std::int64_t length, const T* from, std::int64_t from_apart, T* to,
               std::int64_t to_apart) {
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(from + i * from_apart, length, to + i * to_apart);
}

}  // namespace

template <class T>
Array<T> apply(const View&, const Call<T>& call) {
  return {call.shapes[0], call.need(0).data};
}

template <class T>
Array<T> apply(const Transpose& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  const Ints strides = row_major_strides(x.shape);
  Ints permuted;
  for (const std::int64_t p : op.perm) permuted.push_back(strides[static_cast<std::size_t>(p)]);
  copy_strided(y.shape, y.data.data(), row_major_strides(y.shape), x.data.data(), permuted);
  return y;
}

template <class T>
Array<T> apply(const Expand&, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  copy_strided(y.shape, y.data.data(), row_major_strides(y.shape), x.data.data(), broadcast_strides(x.shape, y.shape));
  return y;
}

template <class T>
Array<T> apply(const Concat& op, const Call<T>& call) {
  Array<T> y = call.zeros(0);
  const AxisSplit whole = split_at(y.shape, op.axis);
  T* to = y.data.data();
  for (std::size_t operand = 0; operand < call.inputs.size(); ++operand) {
    const Array<T>& x = call.need(operand);
    const std::int64_t run = split_at(x.shape, op.axis).extent * whole.inner;
    copy_runs(whole.outer, run, x.data.data(), run, to, whole.extent * whole.inner);
    to += run;
  }
  return y;
}

template <class T>
Arrays<T> apply(const Split& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  const AxisSplit whole = split_at(x.shape, op.axis);
  Arrays<T> results(call.outputs.size());
  const T* from = x.data.data();
  for (std::size_t i = 0; i < call.shapes.size(); ++i) {
    const std::int64_t run = op.sizes[i] * whole.inner;
    if (call.wanted(i)) {
      results[i] = call.zeros(i);
      copy_runs(whole.outer, run, from, whole.extent * whole.inner, results[i].data.data(), run);
    }
    from += run;
  }
  return results;
}

template <class T>
Array<T> apply(const Slice& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  const Grid grid = grid_of(x.shape, op.starts, y.shape, op.steps);
  copy_strided(y.shape, y.data.data(), row_major_strides(y.shape), x.data.data() + grid.first, grid.strides);
  return y;
}

template <class T>
Array<T> apply(const Place& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  const Grid grid = grid_of(y.shape, op.starts, x.shape, op.steps);
  copy_strided(x.shape, y.data.data() + grid.first, grid.strides, x.data.data(), row_major_strides(x.shape));
  return y;
}

template <class T>
Array<T> apply(const Pad& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  for_each_padded(op, x.shape, y.shape, [&](std::int64_t position, std::int64_t from) {
    if (from == kSourceElsewhere) throw ValueError("a part of a padding reads outside its part of the input");
    y.data.data()[position] = from < 0 ? static_cast<T>(op.value) : x.data.data()[from];
  });
  return y;
}

template <class T>
Array<T> apply(const PadGradient& op, const Call<T>& call) {
  const Array<T>& dy = call.need(0);
  Array<T> dx = call.zeros(0);
  for_each_padded(op, dx.shape, dy.shape, [&](std::int64_t position, std::int64_t from) {
    if (from >= 0) dx.data.data()[from] += dy.data.data()[position];
  });
  return dx;
}

template <class T>
Array<T> apply(const Gather& op, const Call<T>& call) {
  const Array<T>& data = call.need(0);
  Array<T> y = call.zeros(0);
  const AxisSplit split = split_at(data.shape, op.axis);
  const Ints indices = checked_indices(call.need(1), split.extent);
  T* to = y.data.data();
  for (std::int64_t o = 0; o < split.outer; ++o)
    for (const std::int64_t index : indices)
      to = std::copy_n(data.data.data() + (o * split.extent + index) * split.inner, split.inner, to);
  return y;
}

template <class T>
Array<T> apply(const ScatterAdd& op, const Call<T>& call) {
  Array<T> sums = call.zeros(0);
  const AxisSplit split = split_at(sums.shape, op.axis);
  const bool is_part = op.part != Part{};
  const Ints indices = checked_indices(call.need(1), is_part ? op.part.whole[0] : split.extent);
  const std::int64_t first = is_part ? op.part.origin[0] : 0;
  const T* from = call.need(0).data.data();
  for (std::int64_t o = 0; o < split.outer; ++o)
    for (const std::int64_t index : indices) {
      const T* added = from;
      from += split.inner;
      if (index < first || index >= first + split.extent) continue;
      T* to = sums.data.data() + (o * split.extent + index - first) * split.inner;
      for (std::int64_t i = 0; i < split.inner; ++i) to[i] += added[i];
    }
  return sums;
}

template <class T>
Array<T> apply(const Trilu& op, const Call<T>& call) {
  Array<T> y = call.need(0);
  const std::int64_t rows = y.shape[y.shape.size() - 2], columns = y.shape.back();
  for (std::int64_t at = 0; at < elements(y.shape); ++at) {
    const std::int64_t diagonal = at % columns - at / columns % rows;
    if (op.upper ? diagonal < op.k : diagonal > op.k) y.data.data()[at] = T{0};
  }
  return y;
}

template <class T>
Array<T> apply(const Fill& op, const Call<T>& call) {
  Array<T> y = call.zeros(0);
  std::fill(y.data.begin(), y.data.end(), static_cast<T>(op.value));
  return y;
}

template <class T>
Array<T> apply(const Iota& op, const Call<T>& call) {
  Array<T> y = call.zeros(0);
  const std::int64_t first = op.part.origin.empty() ? 0 : op.part.origin[0];
  for (std::size_t i = 0; i < y.data.size(); ++i)
    y.data[i] = static_cast<T>(op.start + static_cast<double>(first + static_cast<std::int64_t>(i)) * op.step);
  return y;
}

#define MONET_INSTANTIATE(Op)                                 \
  template Array<float> apply(const Op&, const Call<float>&); \
  template Array<double> apply(const Op&, const Call<double>&);
MONET_INSTANTIATE(View)
MONET_INSTANTIATE(Transpose)
MONET_INSTANTIATE(Expand)
MONET_INSTANTIATE(Concat)
MONET_INSTANTIATE(Slice)
MONET_INSTANTIATE(Place)
MONET_INSTANTIATE(Pad)
MONET_INSTANTIATE(PadGradient)
MONET_INSTANTIATE(Gather)
MONET_INSTANTIATE(ScatterAdd)
MONET_INSTANTIATE(Trilu)
MONET_INSTANTIATE(Fill)
MONET_INSTANTIATE(Iota)
#undef MONET_INSTANTIATE
template Arrays<float> apply(const Split&, const Call<float>&);
template Arrays<double> apply(const Split&, const Call<double>&);

}  // namespace monet
