#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "monet/graph/graph.h"
#include "monet/interpret/run.h"

namespace monet {

// A window sliding over up to three spatial dimensions; missing ones stand first with extent 1.
struct Window {
  std::array<std::int64_t, 3> in{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1},
      pad_begin{0, 0, 0}, pad_end{0, 0, 0};
  // Poolings only: the whole image of which `in` is the part that begins at `origin`; `out` begins at window `first`.
  std::array<std::int64_t, 3> image{1, 1, 1}, origin{0, 0, 0}, first{0, 0, 0};

  std::int64_t in_points() const { return in[0] * in[1] * in[2]; }
  std::int64_t kernel_points() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t out_points() const { return out[0] * out[1] * out[2]; }

  // Position in the input of kernel point `tap` for output 0 along dimension d.
  std::int64_t base(std::size_t d, std::int64_t tap) const { return tap * dilation[d] - pad_begin[d]; }
  // Output positions whose kernel point `tap` lies inside the input: [first, second).
  std::pair<std::int64_t, std::int64_t> outputs_inside(std::size_t d, std::int64_t tap) const {
    const std::int64_t b = base(d, tap);
    if (b >= in[d]) return {0, 0};
    const std::int64_t low = b >= 0 ? 0 : (-b + stride[d] - 1) / stride[d];
    const std::int64_t high = std::min(out[d], (in[d] - 1 - b) / stride[d] + 1);
    return {std::min(low, high), high};
  }
};

// x is [N,C,space…] with one to three spatial dimensions; op has strides, dilations and pads.
template <class WindowOp>
Window make_window(const WindowOp& op, const Shape& x, const Ints& kernel, const Ints& out) {
  const std::size_t spatial = x.size() - 2;
  Window w;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t d = i + 3 - spatial;
    w.in[d] = x[i + 2];
    w.kernel[d] = kernel[i];
    w.out[d] = out[i];
    w.stride[d] = op.strides[i];
    w.dilation[d] = op.dilations[i];
    w.pad_begin[d] = op.pads_begin[i];
    w.pad_end[d] = op.pads_end[i];
    w.image[d] = w.in[d];
    if constexpr (requires { op.part; }) {
      if (op.part.whole.empty()) continue;
      w.image[d] = op.part.whole[i];
      w.origin[d] = op.part.origin[i];
      w.first[d] = op.part.first[i];
    }
  }
  // Offsets in the window are counted in the numbers of an Array.
  if (static_cast<double>(w.kernel[0]) * static_cast<double>(w.kernel[1]) * static_cast<double>(w.kernel[2]) > 0x1p53)
    throw ValueError("the window has more points than can be counted");
  return w;
}

inline Ints spatial_of(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

}  // namespace monet
