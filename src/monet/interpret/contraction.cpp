// Matrix products and convolutions, all through one gemm. A convolution is unfolded (im2col) in pieces of bounded
// size, each piece a run of output positions over all samples; with one input channel per group there is nothing to
// contract, and the taps are added up directly. Each element of a result is summed in the same order whatever the
// piece, the path and the part of the result that is asked for: forward over kernel points, a data gradient over output
// positions, a weight gradient over output positions in runs of kGemmDepth.
#include <algorithm>
#include <vector>

#include "monet/graph/infer.h"
#include "monet/interpret/families.h"
#include "monet/interpret/gemm.h"
#include "monet/interpret/walk.h"
#include "monet/interpret/window.h"

namespace monet {
namespace {

constexpr std::int64_t kPieceElements = std::int64_t{1} << 21;  // of the unfolded input held at a time

struct ConvSizes {
  Window window;
  std::int64_t samples, groups;
  std::int64_t in_channels, out_channels;  // per group
};

// Output positions begin … begin+count of one line (n, z, y) of the output, and where they stand in a piece.
struct Segment {
  std::int64_t sample, z, y, begin, count, column;
};

// Output positions [first, last), counted through all samples, as segments.
std::vector<Segment> segments(const Window& w, std::int64_t first, std::int64_t last) {
  std::vector<Segment> list;
  for (std::int64_t at = first; at < last;) {
    const std::int64_t begin = at % w.out[2], line = at / w.out[2];
    const std::int64_t count = std::min(w.out[2] - begin, last - at);
    list.push_back({line / w.out[1] / w.out[0], line / w.out[1] % w.out[0], line % w.out[1], begin, count, at - first});
    at += count;
  }
  return list;
}

// Visits the part of input line (z, y) of `plane` that kernel point (fz, fy, fx) sees from a segment:
// f(input line, first output position inside, one past the last). Nothing is visited where all is padding.
template <class P, class F>
void for_input_line(const Window& w, P* plane, const Segment& s, std::array<std::int64_t, 3> tap, F&& f) {
  const std::int64_t z = s.z * w.stride[0] + w.base(0, tap[0]), y = s.y * w.stride[1] + w.base(1, tap[1]);
  if (z < 0 || z >= w.in[0] || y < 0 || y >= w.in[1]) return;
  const auto [low, high] = w.outputs_inside(2, tap[2]);
  const std::int64_t from = std::max(low, s.begin), to = std::min(high, s.begin + s.count);
  if (from < to) f(plane + (z * w.in[1] + y) * w.in[2], from, to);
}

std::array<std::int64_t, 3> tap_at(const Window& w, std::int64_t point) {
  return {point / w.kernel[2] / w.kernel[1], point / w.kernel[2] % w.kernel[1], point % w.kernel[2]};
}

// columns[channels · kernel points][width] of the segments; `x` is the first channel wanted of sample 0.
template <class T>
void unfold(const Window& w, const T* x, std::int64_t channels, std::int64_t sample_stride,
            const std::vector<Segment>& list, std::int64_t width, T* columns) {
  std::fill(columns, columns + channels * w.kernel_points() * width, T{0});
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t point = 0; point < w.kernel_points(); ++point, columns += width) {
      const auto tap = tap_at(w, point);
      const std::int64_t base = w.base(2, tap[2]), stride = w.stride[2];
      for (const Segment& s : list) {
        const T* plane = x + s.sample * sample_stride + c * w.in_points();
        for_input_line(w, plane, s, tap, [&](const T* line, std::int64_t from, std::int64_t to) {
          T* out = columns + s.column - s.begin;
          if (stride == 1)
            std::copy(line + from + base, line + to + base, out + from);
          else
            for (std::int64_t o = from; o < to; ++o) out[o] = line[o * stride + base];
        });
      }
    }
}

// The adjoint of unfold: adds every column back to where it was read. The last kernel point comes first: what an
// element of x receives, it receives in the order of the output positions, also across pieces.
template <class T>
void fold(const Window& w, const T* columns, std::int64_t channels, std::int64_t sample_stride,
          const std::vector<Segment>& list, std::int64_t width, T* x) {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t point = w.kernel_points(); point-- > 0;) {
      const auto tap = tap_at(w, point);
      const T* column = columns + (c * w.kernel_points() + point) * width;
      const std::int64_t base = w.base(2, tap[2]), stride = w.stride[2];
      for (const Segment& s : list) {
        T* plane = x + s.sample * sample_stride + c * w.in_points();
        for_input_line(w, plane, s, tap, [&](T* line, std::int64_t from, std::int64_t to) {
          const T* in = column + s.column - s.begin;
          for (std::int64_t o = from; o < to; ++o) line[o * stride + base] += in[o];
        });
      }
    }
}

// Visits the output positions of the segments in y [N,K,*] of one group: f(first element, channel, segment).
template <class P, class F>
void for_output_rows(const ConvSizes& sizes, P* y, const std::vector<Segment>& list, F&& f) {
  const Window& w = sizes.window;
  const std::int64_t sample_stride = sizes.groups * sizes.out_channels * w.out_points();
  for (std::int64_t k = 0; k < sizes.out_channels; ++k)
    for (const Segment& s : list)
      f(y + s.sample * sample_stride + k * w.out_points() + (s.z * w.out[1] + s.y) * w.out[2] + s.begin, k, s);
}

// The two operands a kind reads; the third is the result, all zero at first.
template <class T>
struct ConvOperands {
  const T *x = nullptr, *w = nullptr, *y = nullptr;
  T* result = nullptr;
};

template <class T>
void convolve_by_gemm(ConvKind kind, const ConvSizes& sizes, const ConvOperands<T>& on) {
  const Window& w = sizes.window;
  const std::int64_t depth = sizes.in_channels * w.kernel_points(), channels = sizes.out_channels;
  const std::int64_t positions = sizes.samples * w.out_points();
  const std::int64_t sample_stride = sizes.groups * sizes.in_channels * w.in_points();
  const std::int64_t runs = std::max<std::int64_t>(1, kPieceElements / depth / kGemmDepth);
  const std::int64_t most = std::min(positions, runs * kGemmDepth);  // whole runs: sums over positions do not notice
  std::vector<T> columns(static_cast<std::size_t>(depth * most)), rows(static_cast<std::size_t>(channels * most));
  for (std::int64_t g = 0; g < sizes.groups; ++g) {
    const std::int64_t x_at = g * sizes.in_channels * w.in_points(), w_at = g * channels * depth,
                       y_at = g * channels * w.out_points();
    for (std::int64_t first = 0; first < positions; first += most) {
      const std::int64_t width = std::min(most, positions - first);
      const std::vector<Segment> list = segments(w, first, first + width);
      const auto unfold_x = [&] {
        unfold(w, on.x + x_at, sizes.in_channels, sample_stride, list, width, columns.data());
      };
      const auto read_y = [&] {
        for_output_rows(sizes, on.y + y_at, list, [&](const T* from, std::int64_t k, const Segment& s) {
          std::copy(from, from + s.count, rows.data() + k * width + s.column);
        });
      };
      switch (kind) {
        case ConvKind::Forward:
          unfold_x();
          std::fill(rows.begin(), rows.end(), T{0});
          gemm(channels, width, depth, Matrix<T>{on.w + w_at, depth, 1}, Matrix<T>{columns.data(), width, 1},
               rows.data(), width);
          for_output_rows(sizes, on.result + y_at, list, [&](T* to, std::int64_t k, const Segment& s) {
            const T* from = rows.data() + k * width + s.column;
            std::copy(from, from + s.count, to);
          });
          break;
        case ConvKind::DataGradient:
          read_y();
          std::fill(columns.begin(), columns.end(), T{0});
          gemm(depth, width, channels, Matrix<T>{on.w + w_at, 1, depth}, Matrix<T>{rows.data(), width, 1},
               columns.data(), width);
          fold(w, columns.data(), sizes.in_channels, sample_stride, list, width, on.result + x_at);
          break;
        case ConvKind::WeightGradient:
          read_y();
          unfold_x();
          gemm(channels, depth, width, Matrix<T>{rows.data(), width, 1}, Matrix<T>{columns.data(), 1, width},
               on.result + w_at, depth);
          break;
      }
    }
  }
}

// One input channel per group. What is summed, and in which order, is what convolve_by_gemm does.
template <class T>
class Depthwise {
 public:
  Depthwise(const ConvSizes& sizes, const ConvOperands<T>& on)
      : sizes_(sizes), w_(sizes.window), on_(on), lines_(segments(w_, 0, w_.out_points())) {}

  // Forward over the kernel points of one run; more are for the matrix product.
  static bool can(ConvKind kind, const ConvSizes& sizes) {
    if (sizes.in_channels != 1 || sizes.groups == 1) return false;
    return kind == ConvKind::Forward        ? sizes.window.kernel_points() <= kGemmDepth
           : kind == ConvKind::DataGradient ? sizes.out_channels == 1
                                            : true;
  }

  void forward() {
    for_each_plane([&](std::int64_t k, std::int64_t x_at, std::int64_t y_at) {
      for (std::int64_t point = 0; point < w_.kernel_points(); ++point)
        for_each_line(k, point, on_.x + x_at,
                      [&](const T* x, T weight, std::int64_t line, std::int64_t from, std::int64_t to) {
                        T* y = on_.result + y_at + line;
                        for (std::int64_t o = from; o < to; ++o) y[o] += weight * x[o * w_.stride[2]];
                      });
    });
  }

  void data_gradient() {
    for_each_plane([&](std::int64_t k, std::int64_t x_at, std::int64_t y_at) {
      for (std::int64_t point = w_.kernel_points(); point-- > 0;)
        for_each_line(k, point, on_.result + x_at,
                      [&](T* x, T weight, std::int64_t line, std::int64_t from, std::int64_t to) {
                        const T* y = on_.y + y_at + line;
                        for (std::int64_t o = from; o < to; ++o) x[o * w_.stride[2]] += weight * y[o];
                      });
    });
  }

  void weight_gradient() {
    const std::int64_t channels = sizes_.groups * sizes_.out_channels;
    for (std::int64_t k = 0; k < channels; ++k)
      for (std::int64_t point = 0; point < w_.kernel_points(); ++point)
        on_.result[k * w_.kernel_points() + point] = weight_sum(k, point);
  }

 private:
  // Calls f(output channel, first element of its plane of x, of y).
  template <class F>
  void for_each_plane(F&& f) {
    const std::int64_t channels = sizes_.groups * sizes_.out_channels;
    for (std::int64_t n = 0; n < sizes_.samples; ++n)
      for (std::int64_t k = 0; k < channels; ++k)
        f(k, (n * sizes_.groups + k / sizes_.out_channels) * w_.in_points(), (n * channels + k) * w_.out_points());
  }

  // Calls f(x, weight, line of y, first and last output position inside) so that output o reads x[o·stride].
  template <class P, class F>
  void for_each_line(std::int64_t k, std::int64_t point, P* plane, F&& f) {
    const auto tap = tap_at(w_, point);
    const T weight = on_.w ? on_.w[k * w_.kernel_points() + point] : T{0};
    for (const Segment& s : lines_)
      for_input_line(w_, plane, s, tap, [&](P* x, std::int64_t from, std::int64_t to) {
        f(x + w_.base(2, tap[2]), weight, (s.z * w_.out[1] + s.y) * w_.out[2], from, to);
      });
  }

  T weight_sum(std::int64_t k, std::int64_t point) {
    const std::int64_t channels = sizes_.groups * sizes_.out_channels;
    T total = 0, sum = 0;
    std::int64_t run = 0;  // of kGemmDepth output positions, through all samples
    for (std::int64_t n = 0; n < sizes_.samples; ++n) {
      const T* y = on_.y + (n * channels + k) * w_.out_points();
      const T* plane = on_.x + (n * sizes_.groups + k / sizes_.out_channels) * w_.in_points();
      for_each_line(k, point, plane, [&](const T* x, T, std::int64_t line, std::int64_t from, std::int64_t to) {
        const std::int64_t start = n * w_.out_points() + line;
        for (std::int64_t o = from; o < to;) {
          if (const std::int64_t next = (start + o) / kGemmDepth; next != run) total += sum, sum = 0, run = next;
          const std::int64_t end = std::min(to, (run + 1) * kGemmDepth - start);
          for (; o < end; ++o) sum += y[line + o] * x[o * w_.stride[2]];
        }
      });
    }
    return total + sum;
  }

  const ConvSizes& sizes_;
  const Window& w_;
  const ConvOperands<T>& on_;
  std::vector<Segment> lines_;
};

template <class T>
void convolve_depthwise(ConvKind kind, const ConvSizes& sizes, const ConvOperands<T>& on) {
  Depthwise<T> depthwise(sizes, on);
  switch (kind) {
    case ConvKind::Forward: return depthwise.forward();
    case ConvKind::DataGradient: return depthwise.data_gradient();
    case ConvKind::WeightGradient: return depthwise.weight_gradient();
  }
}

template <class T>
void add_bias(Array<T>& y, const Array<T>& bias) {
  const AxisSplit split = split_at(y.shape, 1);
  T* out = y.data.data();
  for (std::int64_t n = 0; n < split.outer; ++n)
    for (const T b : bias.data)
      for (std::int64_t i = 0; i < split.inner; ++i) *out++ += b;
}

Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

}  // namespace

template <class T>
Array<T> apply(const Conv& op, const Call<T>& call) {
  Array<T> result = call.zeros(0);
  const Array<T>&first = call.need(0), &second = call.need(1);
  const T *a = first.data.data(), *b = second.data.data();
  const auto convolve = [&](const Shape& x, const Shape& w, const Shape& y, const ConvOperands<T>& on) {
    const ConvSizes sizes{make_window(op, x, spatial_of(w), spatial_of(y)), x[0], op.groups, x[1] / op.groups,
                          y[1] / op.groups};
    if (Depthwise<T>::can(op.kind, sizes))
      convolve_depthwise(op.kind, sizes, on);
    else
      convolve_by_gemm(op.kind, sizes, on);
  };
  T* r = result.data.data();
  switch (op.kind) {
    case ConvKind::Forward: convolve(first.shape, second.shape, result.shape, {a, b, nullptr, r}); break;
    case ConvKind::DataGradient: convolve(result.shape, second.shape, first.shape, {nullptr, b, a, r}); break;
    case ConvKind::WeightGradient: convolve(first.shape, result.shape, second.shape, {a, nullptr, b, r}); break;
  }
  if (const Array<T>* bias = call.maybe(2)) add_bias(result, *bias);
  return result;
}

template <class T>
Array<T> apply(const Unfold& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  Ints out;
  for (std::size_t i = 0; i < op.kernel.size(); ++i)
    out.push_back(window_count(x.shape[i + 2], op.kernel[i], op.strides[i], op.dilations[i], op.pads_begin[i],
                               op.pads_end[i], false));
  const Window w = make_window(op, x.shape, op.kernel, out);
  const std::int64_t in_sample = x.shape[1] * w.in_points(), out_sample = y.shape[1] * y.shape[2];
  const std::vector<Segment> list = segments(w, 0, w.out_points());
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    unfold(w, x.data.data() + n * in_sample, x.shape[1], in_sample, list, w.out_points(),
           y.data.data() + n * out_sample);
  return y;
}

template <class T>
Array<T> apply(const MatMul& op, const Call<T>& call) {
  const Array<T>&a = call.need(0), &b = call.need(1);
  Array<T> y = call.zeros(0);
  const std::size_t rank = y.shape.size();
  std::int64_t m = y.shape[rank - 2];
  const std::int64_t n = y.shape[rank - 1];
  const std::int64_t k = a.shape[a.shape.size() - (op.trans_a ? 2 : 1)];
  const auto view = [](const Array<T>& x, std::int64_t offset, bool transposed) {
    const Matrix<T> matrix{x.data.data() + offset, x.shape.back(), 1};
    return transposed ? matrix.transposed() : matrix;
  };
  Shape batch = batch_of(y.shape);
  // One matrix b for all rows of all batches: a single tall product.
  if (elements(batch_of(b.shape)) == 1 && !op.trans_a && elements(batch_of(a.shape)) == elements(batch)) {
    m *= elements(batch);
    batch.clear();
  }
  Ints a_strides = broadcast_strides(batch.empty() ? Shape{} : batch_of(a.shape), batch);
  Ints b_strides = broadcast_strides(batch.empty() ? Shape{} : batch_of(b.shape), batch);
  Ints y_strides = row_major_strides(batch);
  for (std::int64_t& stride : a_strides) stride *= m * k;
  for (std::int64_t& stride : b_strides) stride *= k * n;
  for (std::int64_t& stride : y_strides) stride *= m * n;
  for_each_line<3>(batch, {a_strides, b_strides, y_strides}, [&](const auto& at, std::int64_t count, const auto& step) {
    for (std::int64_t i = 0; i < count; ++i)
      gemm(m, n, k, view(a, at[0] + i * step[0], op.trans_a), view(b, at[1] + i * step[1], op.trans_b),
           y.data.data() + at[2] + i * step[2], n);
  });
  const T alpha = static_cast<T>(op.alpha), beta = static_cast<T>(op.beta);
  for (T& value : y.data) value *= alpha;
  if (const Array<T>* c = call.maybe(2))
    for_each_line<2>(y.shape, {row_major_strides(y.shape), broadcast_strides(c->shape, y.shape)},
                     [&](const auto& at, std::int64_t count, const auto& step) {
                       for (std::int64_t i = 0; i < count; ++i)
                         y.data.data()[at[0] + i * step[0]] += beta * c->data.data()[at[1] + i * step[1]];
                     });
  return y;
}

template Array<float> apply(const MatMul&, const Call<float>&);
template Array<double> apply(const MatMul&, const Call<double>&);
template Array<float> apply(const Conv&, const Call<float>&);
template Array<double> apply(const Conv&, const Call<double>&);
template Array<float> apply(const Unfold&, const Call<float>&);
template Array<double> apply(const Unfold&, const Call<double>&);

}  // namespace monet
