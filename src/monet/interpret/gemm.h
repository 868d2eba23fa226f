#pragma once
#include <cstdint>

namespace monet {

// A matrix somewhere in memory: element (i, j) is data[i·row_stride + j·column_stride].
template <class T>
struct Matrix {
  const T* data;
  std::int64_t row_stride, column_stride;
  Matrix transposed() const { return {data, column_stride, row_stride}; }
};

// Sums over k are formed for this many terms at a time, and added to c in order.
inline constexpr std::int64_t kGemmDepth = 256;

// c += a b for a [m,k], b [k,n] and row-major c [m,n] whose rows are `c_stride` apart. Every element of c is summed
// over k in the same order whatever the instruction set and the sizes m and n: the same bits on every run and machine,
// and in every part of c that is computed alone.
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<float> a, Matrix<float> b, float* c,
          std::int64_t c_stride);
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<double> a, Matrix<double> b, double* c,
          std::int64_t c_stride);

}  // namespace monet
