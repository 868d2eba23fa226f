// Pooling. Ties of a maximum go to the first element in row-major order. An average over padding divides by the
// window clipped to the padded image, else by its real elements, as in torch.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "monet/interpret/families.h"
#include "monet/interpret/window.h"

namespace monet {
namespace {

// What one window sees along one dimension.
struct Taps {
  std::int64_t start = 0;            // position of tap 0 in the input
  std::int64_t first = 0, last = 0;  // taps [first, last) lie inside the input
  std::int64_t real = 0;             // taps inside the whole image
  std::int64_t inside_pads = 0;      // taps inside the padded image
};

std::vector<Taps> taps_of(const Window& w, std::size_t d) {
  std::vector<Taps> list;
  for (std::int64_t o = 0; o < w.out[d]; ++o) {
    Taps t;
    t.start = (w.first[d] + o) * w.stride[d] - w.pad_begin[d] - w.origin[d];
    // Taps at positions below `end`.
    const auto below = [&](std::int64_t end) {
      return t.start >= end ? 0 : std::min(w.kernel[d], (end - 1 - t.start) / w.dilation[d] + 1);
    };
    t.first = below(0);
    t.last = below(w.in[d]);
    const std::int64_t image_end = w.image[d] - w.origin[d];
    t.real = below(image_end) - below(-w.origin[d]);
    t.inside_pads = below(image_end + w.pad_end[d]);
    list.push_back(t);
  }
  return list;
}

// Calls f(output position, taps along z, y, x) for each window of a plane.
template <class F>
void for_each_window(const Window& w, F&& f) {
  const std::vector<Taps> zs = taps_of(w, 0), ys = taps_of(w, 1), xs = taps_of(w, 2);
  std::int64_t position = 0;
  for (const Taps& z : zs)
    for (const Taps& y : ys)
      for (const Taps& x : xs) f(position++, z, y, x);
}

// Calls f(position in the input plane, offset in the window) for each real element of a window, row-major.
template <class F>
void for_each_element(const Window& w, const Taps& z, const Taps& y, const Taps& x, F&& f) {
  for (std::int64_t fz = z.first; fz < z.last; ++fz)
    for (std::int64_t fy = y.first; fy < y.last; ++fy) {
      const std::int64_t line = (z.start + fz * w.dilation[0]) * w.in[1] + y.start + fy * w.dilation[1];
      const std::int64_t row = (fz * w.kernel[1] + fy) * w.kernel[2];
      for (std::int64_t fx = x.first; fx < x.last; ++fx) f(line * w.in[2] + x.start + fx * w.dilation[2], row + fx);
    }
}

// A window without a real element (only dilation can make one) averages to zero.
double divisor(const Taps& z, const Taps& y, const Taps& x, bool count_pads) {
  const auto counted = [&](const Taps& t) { return count_pads ? t.inside_pads : t.real; };
  return static_cast<double>(std::max<std::int64_t>(1, counted(z) * counted(y) * counted(x)));
}

// Positions in the plane of the whole image and in that of the part, -1: not in it.
std::int64_t in_image(const Window& w, std::int64_t at) {
  const std::int64_t x = at % w.in[2] + w.origin[2], y = at / w.in[2] % w.in[1] + w.origin[1],
                     z = at / w.in[2] / w.in[1] + w.origin[0];
  return (z * w.image[1] + y) * w.image[2] + x;
}
std::int64_t in_part(const Window& w, std::int64_t at) {
  const std::int64_t x = at % w.image[2] - w.origin[2], y = at / w.image[2] % w.image[1] - w.origin[1],
                     z = at / w.image[2] / w.image[1] - w.origin[0];
  const bool inside = x >= 0 && x < w.in[2] && y >= 0 && y < w.in[1] && z >= 0 && z < w.in[0];
  return inside ? (z * w.in[1] + y) * w.in[2] + x : -1;
}

// The input position that index `at` of a maximum means for a window; -1: none.
std::int64_t winner(const Window& w, const Taps& z, const Taps& y, const Taps& x, double at, bool window_index) {
  const std::int64_t range = window_index ? w.kernel_points() : w.image[0] * w.image[1] * w.image[2];
  if (!(at >= -1 && at < static_cast<double>(range)))
    throw ValueError(fmt::format("pooling index {} is not below {}", at, range));
  const std::int64_t index = static_cast<std::int64_t>(at);
  if (index < 0) return -1;
  if (!window_index) return in_part(w, index);
  const std::int64_t fx = index % w.kernel[2], fy = index / w.kernel[2] % w.kernel[1],
                     fz = index / w.kernel[2] / w.kernel[1];
  const auto inside = [](const Taps& t, std::int64_t tap) { return t.first <= tap && tap < t.last; };
  if (!inside(z, fz) || !inside(y, fy) || !inside(x, fx)) return -1;
  return ((z.start + fz * w.dilation[0]) * w.in[1] + y.start + fy * w.dilation[1]) * w.in[2] + x.start +
         fx * w.dilation[2];
}

}  // namespace

template <class T>
Arrays<T> apply(const Pool& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0), indices;
  if (op.kind == PoolKind::Max) indices = call.zeros(1);
  const Window w = make_window(op, x.shape, op.kernel, spatial_of(y.shape));
  for (std::int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
    const T* in = x.data.data() + plane * w.in_points();
    T* out = y.data.data() + plane * w.out_points();
    T* chosen = indices.data.data() + (op.kind == PoolKind::Max ? plane * w.out_points() : 0);
    for_each_window(w, [&](std::int64_t position, const Taps& tz, const Taps& ty, const Taps& tx) {
      switch (op.kind) {
        case PoolKind::Max: {
          T most = -std::numeric_limits<T>::infinity();
          std::int64_t best = -1, best_offset = 0;  // what a window without a real element gives
          for_each_element(w, tz, ty, tx, [&](std::int64_t at, std::int64_t offset) {
            if (best >= 0 && !(in[at] > most) && !std::isnan(in[at])) return;
            most = in[at];
            best = at;
            best_offset = offset;
          });
          out[position] = most;
          chosen[position] = static_cast<T>(op.window_index ? best_offset : best < 0 ? -1 : in_image(w, best));
          break;
        }
        case PoolKind::Average: {
          double sum = 0;
          for_each_element(w, tz, ty, tx, [&](std::int64_t at, std::int64_t) { sum += in[at]; });
          out[position] = static_cast<T>(sum / divisor(tz, ty, tx, op.count_pads));
          break;
        }
      }
    });
  }
  Arrays<T> results(call.outputs.size());
  if (call.wanted(0)) results[0] = std::move(y);
  if (call.wanted(1)) results[1] = std::move(indices);
  return results;
}

template <class T>
Array<T> apply(const PoolGradient& op, const Call<T>& call) {
  const Array<T>& dy = call.need(0);
  Array<T> dx = call.zeros(0);
  const Window w = make_window(op, dx.shape, op.kernel, spatial_of(dy.shape));
  const T* indices = op.kind == PoolKind::Max ? call.need(1).data.data() : nullptr;
  for (std::int64_t plane = 0; plane < dy.shape[0] * dy.shape[1]; ++plane) {
    const T* from = dy.data.data() + plane * w.out_points();
    T* to = dx.data.data() + plane * w.in_points();
    for_each_window(w, [&](std::int64_t position, const Taps& tz, const Taps& ty, const Taps& tx) {
      switch (op.kind) {
        case PoolKind::Max: {
          const double index = indices[plane * w.out_points() + position];
          const std::int64_t at = winner(w, tz, ty, tx, index, op.window_index);
          if (at >= 0) to[at] += from[position];
          break;
        }
        case PoolKind::Average: {
          const T share = static_cast<T>(from[position] / divisor(tz, ty, tx, op.count_pads));
          for_each_element(w, tz, ty, tx, [&](std::int64_t at, std::int64_t) { to[at] += share; });
          break;
        }
      }
    });
  }
  return dx;
}

template Arrays<float> apply(const Pool&, const Call<float>&);
template Arrays<double> apply(const Pool&, const Call<double>&);
template Array<float> apply(const PoolGradient&, const Call<float>&);
template Array<double> apply(const PoolGradient&, const Call<double>&);

}  // namespace monet
