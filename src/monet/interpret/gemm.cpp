// A cache-blocked matrix product. Panels of a and b are copied into buffers in the order in which the inner kernel
// reads them, which also takes care of transposes. The kernel keeps a tile of kTileRows x 2 vectors of c in
// registers and lets the vectors run over columns of c: no element is ever summed across lanes, so the width of the
// machine's vectors does not show in the result. No fused multiply-adds, for the same reason.
#include "monet/interpret/gemm.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace monet {
namespace {

constexpr std::int64_t kTileRows = 6;
constexpr std::int64_t kDepthBlock = kGemmDepth;  // a panel of b of this depth stays in the first-level cache
constexpr std::int64_t kRowBlock = 96;            // kRowBlock x kDepthBlock of a stays in the second-level cache
constexpr std::int64_t kColumnBlock = 2048;

typedef float FloatLanes __attribute__((vector_size(32)));
typedef double DoubleLanes __attribute__((vector_size(32)));
template <class T>
struct Lanes;
template <>
struct Lanes<float> {
  using Vector = FloatLanes;
};
template <>
struct Lanes<double> {
  using Vector = DoubleLanes;
};
template <class T>
constexpr std::int64_t kLanes = static_cast<std::int64_t>(32 / sizeof(T));
template <class T>
constexpr std::int64_t kTileColumns = 2 * kLanes<T>;

#define MONET_INLINE __attribute__((always_inline)) inline

// sums[kTileRows][kTileColumns] = a-panel · b-panel over `depth`.
template <class T>
MONET_INLINE void multiply_tile(std::int64_t depth, const T* a, const T* b, T* sums) {
  using Vector = typename Lanes<T>::Vector;
  Vector tile[kTileRows][2] = {};
  for (std::int64_t p = 0; p < depth; ++p, a += kTileRows, b += kTileColumns<T>) {
    Vector left, right;
    std::memcpy(&left, b, sizeof left);
    std::memcpy(&right, b + kLanes<T>, sizeof right);
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      tile[r][0] += left * a[r];
      tile[r][1] += right * a[r];
    }
  }
  std::memcpy(sums, tile, sizeof tile);
}

// One row block times one column block; a and b are packed, c is the block's corner.
template <class T>
MONET_INLINE void multiply_block(std::int64_t rows, std::int64_t columns, std::int64_t depth, const T* a, const T* b,
                                 T* c, std::int64_t c_stride) {
  for (std::int64_t j = 0; j < columns; j += kTileColumns<T>)
    for (std::int64_t i = 0; i < rows; i += kTileRows) {
      T sums[kTileRows * kTileColumns<T>];
      multiply_tile(depth, a + i * depth, b + j * depth, sums);
      const std::int64_t height = std::min(kTileRows, rows - i), width = std::min(kTileColumns<T>, columns - j);
      for (std::int64_t r = 0; r < height; ++r) {
        T* line = c + (i + r) * c_stride + j;
        const T* from = sums + r * kTileColumns<T>;
        if (width == kTileColumns<T>)
          for (std::int64_t s = 0; s < kTileColumns<T>; ++s) line[s] += from[s];
        else
          for (std::int64_t s = 0; s < width; ++s) line[s] += from[s];
      }
    }
}

template <class T>
using Block = void (*)(std::int64_t, std::int64_t, std::int64_t, const T*, const T*, T*, std::int64_t);

template <class T>
void multiply_block_plain(std::int64_t rows, std::int64_t columns, std::int64_t depth, const T* a, const T* b, T* c,
                          std::int64_t c_stride) {
  multiply_block(rows, columns, depth, a, b, c, c_stride);
}

#if defined(__x86_64__)
template <class T>
__attribute__((target("avx2"))) void multiply_block_avx2(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                                                         const T* a, const T* b, T* c, std::int64_t c_stride) {
  multiply_block(rows, columns, depth, a, b, c, c_stride);
}
template <class T>
Block<T> best_block() {
  return __builtin_cpu_supports("avx2") ? multiply_block_avx2<T> : multiply_block_plain<T>;
}
#else
template <class T>
Block<T> best_block() {
  return multiply_block_plain<T>;
}
#endif

// Copies rows x depth of `from` into panels of `width` rows, each stored depth by depth; short panels end in zeros.
template <class T>
void pack(std::int64_t width, std::int64_t rows, std::int64_t depth, Matrix<T> from, T* to) {
  for (std::int64_t first = 0; first < rows; first += width) {
    const std::int64_t filled = std::min(width, rows - first);
    const T* corner = from.data + first * from.row_stride;
    if (filled < width) std::fill(to, to + width * depth, T{0});
    if (from.column_stride == 1) {
      for (std::int64_t r = 0; r < filled; ++r)
        for (std::int64_t p = 0; p < depth; ++p) to[p * width + r] = corner[r * from.row_stride + p];
    } else if (from.row_stride == 1) {
      for (std::int64_t p = 0; p < depth; ++p)
        for (std::int64_t r = 0; r < filled; ++r) to[p * width + r] = corner[p * from.column_stride + r];
    } else {
      for (std::int64_t p = 0; p < depth; ++p)
        for (std::int64_t r = 0; r < filled; ++r)
          to[p * width + r] = corner[r * from.row_stride + p * from.column_stride];
    }
    to += width * depth;
  }
}

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

template <class T>
void gemm_any(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, T* c, std::int64_t c_stride) {
  const Block<T> multiply = best_block<T>();
  const std::int64_t depth_most = std::min(k, kDepthBlock);
  std::vector<T> rows_packed(static_cast<std::size_t>(round_up(std::min(m, kRowBlock), kTileRows) * depth_most));
  std::vector<T> columns_packed(
      static_cast<std::size_t>(round_up(std::min(n, kColumnBlock), kTileColumns<T>) * depth_most));
  for (std::int64_t j = 0; j < n; j += kColumnBlock) {
    const std::int64_t columns = std::min(kColumnBlock, n - j);
    for (std::int64_t p = 0; p < k; p += kDepthBlock) {
      const std::int64_t depth = std::min(kDepthBlock, k - p);
      const Matrix<T> b_block{b.data + p * b.row_stride + j * b.column_stride, b.row_stride, b.column_stride};
      pack(kTileColumns<T>, columns, depth, b_block.transposed(), columns_packed.data());
      for (std::int64_t i = 0; i < m; i += kRowBlock) {
        const std::int64_t rows = std::min(kRowBlock, m - i);
        const Matrix<T> a_block{a.data + i * a.row_stride + p * a.column_stride, a.row_stride, a.column_stride};
        pack(kTileRows, rows, depth, a_block, rows_packed.data());
        multiply(rows, columns, depth, rows_packed.data(), columns_packed.data(), c + i * c_stride + j, c_stride);
      }
    }
  }
}

}  // namespace

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b, float* c,
          std::int64_t c_stride) {
  gemm_any(m, n, k, a, b, c, c_stride);
}
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, Matrix<double> b, double* c,
          std::int64_t c_stride) {
  gemm_any(m, n, k, a, b, c, c_stride);
}

}  // namespace monet
