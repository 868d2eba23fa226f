// Local response normalisation. The window of channel c reaches from c - (size-1)/2 to c + size/2, as in ONNX.
#include <cmath>

#include "monet/interpret/families.h"
#include "monet/interpret/walk.h"

namespace monet {
namespace {

// bias + alpha/size · Σ x² over the window of each element.
template <class LrnOp, class T>
std::vector<double> denominators(const LrnOp& op, const Array<T>& x) {
  const AxisSplit split = split_at(x.shape, 1);
  std::vector<double> result(x.data.size());
  double* to = result.data();
  for (std::int64_t n = 0; n < split.outer; ++n)
    for (std::int64_t c = 0; c < split.extent; ++c)
      for (std::int64_t i = 0; i < split.inner; ++i) {
        const T* line = x.data.data() + n * split.extent * split.inner + i;
        const std::int64_t first = std::max<std::int64_t>(0, c - (op.size - 1) / 2);
        const std::int64_t last = std::min(split.extent - 1, c + op.size / 2);
        double sum = 0;
        for (std::int64_t j = first; j <= last; ++j)
          sum += static_cast<double>(line[j * split.inner]) * line[j * split.inner];
        *to++ = op.bias + op.alpha / static_cast<double>(op.size) * sum;
      }
  return result;
}

// Calls f(position in the output, position in x, channel of x) for each element that is made.
template <class LrnOp, class F>
void for_each_made(const LrnOp& op, const Shape& x, const Shape& y, F&& f) {
  const AxisSplit split = split_at(x, 1);
  const std::int64_t first = op.part.origin.empty() ? 0 : op.part.origin[0];
  std::int64_t to = 0;
  for (std::int64_t n = 0; n < split.outer; ++n)
    for (std::int64_t c = first; c < first + y[1]; ++c)
      for (std::int64_t i = 0; i < split.inner; ++i) f(to++, (n * split.extent + c) * split.inner + i, c);
}

}  // namespace

template <class T>
Array<T> apply(const Lrn& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  const std::vector<double> s = denominators(op, x);
  for_each_made(op, x.shape, y.shape, [&](std::int64_t to, std::int64_t at, std::int64_t) {
    y.data.data()[to] = static_cast<T>(x.data.data()[at] * std::pow(s.data()[at], -op.beta));
  });
  return y;
}

template <class T>
Array<T> apply(const LrnGradient& op, const Call<T>& call) {
  const Array<T>&dy = call.need(0), &x = call.need(1);
  Array<T> dx = call.zeros(0);
  const std::vector<double> s = denominators(op, x);
  const AxisSplit split = split_at(x.shape, 1);
  const double factor = 2 * op.alpha * op.beta / static_cast<double>(op.size);
  for_each_made(op, x.shape, dx.shape, [&](std::int64_t to, std::int64_t at, std::int64_t c) {
    const std::int64_t line = at - c * split.inner;
    // The channels whose window holds c.
    const std::int64_t first = std::max<std::int64_t>(0, c - op.size / 2);
    const std::int64_t last = std::min(split.extent - 1, c + (op.size - 1) / 2);
    double sum = 0;
    for (std::int64_t j = line + first * split.inner; j <= line + last * split.inner; j += split.inner)
      sum += static_cast<double>(dy.data.data()[j]) * x.data.data()[j] * std::pow(s.data()[j], -op.beta - 1);
    dx.data.data()[to] =
        static_cast<T>(dy.data.data()[at] * std::pow(s.data()[at], -op.beta) - factor * x.data.data()[at] * sum);
  });
  return dx;
}

template Array<float> apply(const Lrn&, const Call<float>&);
template Array<double> apply(const Lrn&, const Call<double>&);
template Array<float> apply(const LrnGradient&, const Call<float>&);
template Array<double> apply(const LrnGradient&, const Call<double>&);

}  // namespace monet
