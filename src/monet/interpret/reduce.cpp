// Reductions and softmax. Sums are accumulated in double.
#include <cmath>
#include <limits>

#include "monet/interpret/families.h"
#include "monet/interpret/walk.h"

namespace monet {
namespace {

double start_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::Mean:
    case ReduceKind::SumSquare: return 0;
    case ReduceKind::Max: return -std::numeric_limits<double>::infinity();
    case ReduceKind::Min: return std::numeric_limits<double>::infinity();
  }
  return 0;
}

double take_in(ReduceKind kind, double sum, double x) {
  switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::Mean: return sum + x;
    case ReduceKind::SumSquare: return sum + x * x;
    case ReduceKind::Max: return x > sum || std::isnan(x) ? x : sum;
    case ReduceKind::Min: return x < sum || std::isnan(x) ? x : sum;
  }
  return 0;
}

// Calls f(offset of the first element) for each line of `x` along the axis; elements are `inner` apart.
template <class F>
void for_each_axis_line(const AxisSplit& split, F&& f) {
  for (std::int64_t o = 0; o < split.outer; ++o)
    for (std::int64_t i = 0; i < split.inner; ++i) f(o * split.extent * split.inner + i);
}

}  // namespace

template <class T>
Array<T> apply(const Reduce& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  Shape kept = x.shape;
  std::int64_t count = 1;
  for (const std::int64_t axis : op.axes) {
    std::int64_t& extent = kept[static_cast<std::size_t>(axis)];
    count *= extent;
    extent = 1;
  }
  std::vector<double> sums(y.data.size(), start_of(op.kind));
  for_each_line<2>(x.shape, {row_major_strides(x.shape), broadcast_strides(kept, x.shape)},
                   [&](const auto& at, std::int64_t length, const auto& step) {
                     const T* from = x.data.data() + at[0];
                     double* to = sums.data() + at[1];
                     for (std::int64_t i = 0; i < length; ++i)
                       to[i * step[1]] = take_in(op.kind, to[i * step[1]], from[i * step[0]]);
                   });
  const double divisor = op.kind == ReduceKind::Mean ? static_cast<double>(count) : 1;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double value = sums[i] / divisor;
    y.data[i] = static_cast<T>(call.holds_integers() ? std::trunc(value) : value);
  }
  return y;
}

template <class T>
Array<T> apply(const Softmax& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  const AxisSplit split = split_at(x.shape, op.axis);
  for_each_axis_line(split, [&](std::int64_t first) {
    const T* from = x.data.data() + first;
    T* to = y.data.data() + first;
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t i = 0; i < split.extent; ++i) most = std::max<double>(most, from[i * split.inner]);
    for (std::int64_t i = 0; i < split.extent; ++i) sum += std::exp(from[i * split.inner] - most);
    const double log_sum = std::log(sum);
    for (std::int64_t i = 0; i < split.extent; ++i) {
      const double shifted = from[i * split.inner] - most;
      to[i * split.inner] = static_cast<T>(op.log ? shifted - log_sum : std::exp(shifted) / sum);
    }
  });
  return y;
}

template <class T>
Array<T> apply(const SoftmaxGradient& op, const Call<T>& call) {
  const Array<T>&dy = call.need(0), &y = call.need(1);
  Array<T> dx = call.zeros(0);
  const AxisSplit split = split_at(y.shape, op.axis);
  for_each_axis_line(split, [&](std::int64_t first) {
    const T *dys = dy.data.data() + first, *ys = y.data.data() + first;
    T* to = dx.data.data() + first;
    double sum = 0;
    for (std::int64_t i = 0; i < split.extent * split.inner; i += split.inner)
      sum += op.log ? static_cast<double>(dys[i]) : static_cast<double>(dys[i]) * ys[i];
    for (std::int64_t i = 0; i < split.extent * split.inner; i += split.inner) {
      const double d = dys[i], p = ys[i];
      to[i] = static_cast<T>(op.log ? d - std::exp(p) * sum : p * (d - sum));
    }
  });
  return dx;
}

template Array<float> apply(const Reduce&, const Call<float>&);
template Array<double> apply(const Reduce&, const Call<double>&);
template Array<float> apply(const Softmax&, const Call<float>&);
template Array<double> apply(const Softmax&, const Call<double>&);
template Array<float> apply(const SoftmaxGradient&, const Call<float>&);
template Array<double> apply(const SoftmaxGradient&, const Call<double>&);

}  // namespace monet
