// Attention over blocks of keys, without the matrix of all scores: each query keeps its running maximum and sum of
// exponentials and rescales what it has gathered when the maximum grows. The backward pass recomputes the
// probabilities from the logarithm of that sum. A query that sees no key gives zeros.
#include <algorithm>
#include <cmath>
#include <limits>

#include "monet/interpret/families.h"
#include "monet/interpret/gemm.h"
#include "monet/interpret/walk.h"

namespace monet {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

struct Sizes {
  Shape batch;
  std::int64_t batches, queries, keys, depth, values;  // depth of q and k, of v
  std::int64_t block;
};

template <class AttentionOp>
Sizes sizes_of(const AttentionOp& op, const Shape& q, const Shape& v) {
  const std::size_t rank = q.size();
  Sizes s{.batch = {q.begin(), q.end() - 2},
          .batches = 1,
          .queries = q[rank - 2],
          .keys = v[rank - 2],
          .depth = q[rank - 1],
          .values = v[rank - 1],
          .block = std::min(op.block, v[rank - 2])};
  s.batches = elements(s.batch);
  return s;
}

// Where the mask of each batch begins, and its strides along queries and keys.
struct MaskView {
  Ints starts;
  std::int64_t query_stride = 0, key_stride = 0;
};

MaskView view_of(const Shape& mask, const Sizes& s) {
  Shape scores = s.batch;
  scores.push_back(s.queries);
  scores.push_back(s.keys);
  Ints strides = broadcast_strides(mask, scores);
  MaskView view;
  view.key_stride = strides.back();
  strides.pop_back();
  view.query_stride = strides.back();
  strides.pop_back();
  for_each_line<1>(s.batch, {strides}, [&](const auto& at, std::int64_t count, const auto& step) {
    for (std::int64_t i = 0; i < count; ++i) view.starts.push_back(at[0] + i * step[0]);
  });
  return view;
}

// scores[queries][width] of one batch for keys [first, first + width): scale · q kᵀ + mask, hidden ones at -infinity.
template <class T, class AttentionOp>
class Scores {
 public:
  Scores(const AttentionOp& op, const Sizes& sizes, const T* q, const T* k, const Array<T>* mask)
      : op_(op), sizes_(sizes), q_(q), k_(k), mask_(mask) {
    if (mask) view_ = view_of(mask->shape, sizes);
    values_.resize(static_cast<std::size_t>(sizes.queries * sizes.block));
  }

  T* block(std::int64_t batch, std::int64_t first, std::int64_t width) {
    const Sizes& s = sizes_;
    std::fill(values_.begin(), values_.end(), T{0});
    gemm(s.queries, width, s.depth, Matrix<T>{q_ + batch * s.queries * s.depth, s.depth, 1},
         Matrix<T>{k_ + (batch * s.keys + first) * s.depth, 1, s.depth}, values_.data(), width);
    const T scale = static_cast<T>(op_.scale);
    for (std::int64_t i = 0; i < s.queries; ++i)
      for (std::int64_t j = 0; j < width; ++j) {
        T& score = values_.data()[i * width + j];
        score *= scale;
        if (mask_)
          score +=
              mask_->data.data()[view_.starts.data()[batch] + i * view_.query_stride + (first + j) * view_.key_stride];
        // The last query sees the last key.
        if (op_.causal && first + j > i + s.keys - s.queries) score = static_cast<T>(kHidden);
      }
    return values_.data();
  }

 private:
  const AttentionOp& op_;
  const Sizes& sizes_;
  const T *q_, *k_;
  const Array<T>* mask_;
  MaskView view_;
  std::vector<T> values_;
};

double exp_difference(double x, double reference) { return x == kHidden ? 0 : std::exp(x - reference); }

}  // namespace

template <class T>
Arrays<T> apply(const Attention& op, const Call<T>& call) {
  const Array<T>&q = call.need(0), &k = call.need(1), &v = call.need(2);
  const Sizes s = sizes_of(op, q.shape, v.shape);
  Array<T> o = call.zeros(0), log_sum_exp = call.zeros(1);
  Scores<T, Attention> scores(op, s, q.data.data(), k.data.data(), call.maybe(3));
  for (std::int64_t batch = 0; batch < s.batches; ++batch) {
    T* out = o.data.data() + batch * s.queries * s.values;
    std::vector<double> most(static_cast<std::size_t>(s.queries), kHidden), sum(most.size(), 0);
    for (std::int64_t first = 0; first < s.keys; first += s.block) {
      const std::int64_t width = std::min(s.block, s.keys - first);
      T* block = scores.block(batch, first, width);
      for (std::int64_t i = 0; i < s.queries; ++i) {
        T* row = block + i * width;
        double& m = most.data()[i];
        const double grown = std::max<double>(m, *std::max_element(row, row + width));
        const double shrink = exp_difference(m, grown);
        double added = 0;
        for (std::int64_t j = 0; j < width; ++j) {
          row[j] = static_cast<T>(exp_difference(row[j], grown));
          added += row[j];
        }
        sum.data()[i] = sum.data()[i] * shrink + added;
        for (std::int64_t d = 0; d < s.values; ++d)
          out[i * s.values + d] = static_cast<T>(out[i * s.values + d] * shrink);
        m = grown;
      }
      gemm(s.queries, s.values, width, Matrix<T>{block, width, 1},
           Matrix<T>{v.data.data() + (batch * s.keys + first) * s.values, s.values, 1}, out, s.values);
    }
    for (std::int64_t i = 0; i < s.queries; ++i) {
      const double total = sum.data()[i];
      log_sum_exp.data.data()[batch * s.queries + i] = static_cast<T>(most.data()[i] + std::log(total));
      if (total == 0) continue;  // sees no key
      for (std::int64_t d = 0; d < s.values; ++d) out[i * s.values + d] = static_cast<T>(out[i * s.values + d] / total);
    }
  }
  Arrays<T> results(call.outputs.size());
  if (call.wanted(0)) results[0] = std::move(o);
  if (call.wanted(1)) results[1] = std::move(log_sum_exp);
  return results;
}

// With p the probabilities and δ = Σ do·o: dv = pᵀ do, ds = scale · p ∘ (do vᵀ - δ), dq = ds k, dk = dsᵀ q.
template <class T>
Arrays<T> apply(const AttentionGradient& op, const Call<T>& call) {
  const Array<T>&q = call.need(1), &k = call.need(2), &v = call.need(3);
  const Sizes s = sizes_of(op, q.shape, v.shape);
  const T* d_out = call.sized(0, s.batches * s.queries * s.values);
  const T* out = call.sized(4, s.batches * s.queries * s.values);
  const T* log_sum_exp = call.sized(5, s.batches * s.queries);
  Array<T> dq = call.zeros(0), dk = call.zeros(1), dv = call.zeros(2);
  Scores<T, AttentionGradient> scores(op, s, q.data.data(), k.data.data(), call.maybe(6));
  std::vector<T> d_scores(static_cast<std::size_t>(s.queries * s.block));
  for (std::int64_t batch = 0; batch < s.batches; ++batch) {
    const std::int64_t row0 = batch * s.queries;
    const T* d_rows = d_out + row0 * s.values;
    std::vector<double> delta(static_cast<std::size_t>(s.queries));
    for (std::int64_t i = 0; i < s.queries * s.values; ++i)
      delta.data()[i / s.values] += static_cast<double>(d_rows[i]) * out[row0 * s.values + i];
    for (std::int64_t first = 0; first < s.keys; first += s.block) {
      const std::int64_t width = std::min(s.block, s.keys - first), key0 = batch * s.keys + first;
      T* p = scores.block(batch, first, width);
      for (std::int64_t i = 0; i < s.queries * width; ++i)
        p[i] = static_cast<T>(exp_difference(p[i], log_sum_exp[row0 + i / width]));
      gemm(width, s.values, s.queries, Matrix<T>{p, 1, width}, Matrix<T>{d_rows, s.values, 1},
           dv.data.data() + key0 * s.values, s.values);
      std::fill(d_scores.begin(), d_scores.end(), T{0});
      gemm(s.queries, width, s.values, Matrix<T>{d_rows, s.values, 1},
           Matrix<T>{v.data.data() + key0 * s.values, 1, s.values}, d_scores.data(), width);
      for (std::int64_t i = 0; i < s.queries * width; ++i)
        d_scores.data()[i] = static_cast<T>(op.scale * p[i] * (d_scores.data()[i] - delta.data()[i / width]));
      gemm(s.queries, s.depth, width, Matrix<T>{d_scores.data(), width, 1},
           Matrix<T>{k.data.data() + key0 * s.depth, s.depth, 1}, dq.data.data() + row0 * s.depth, s.depth);
      gemm(width, s.depth, s.queries, Matrix<T>{d_scores.data(), 1, width},
           Matrix<T>{q.data.data() + row0 * s.depth, s.depth, 1}, dk.data.data() + key0 * s.depth, s.depth);
    }
  }
  Arrays<T> results(call.outputs.size());
  if (call.wanted(0)) results[0] = std::move(dq);
  if (call.wanted(1)) results[1] = std::move(dk);
  if (call.wanted(2)) results[2] = std::move(dv);
  return results;
}

template Arrays<float> apply(const Attention&, const Call<float>&);
template Arrays<double> apply(const Attention&, const Call<double>&);
template Arrays<float> apply(const AttentionGradient&, const Call<float>&);
template Arrays<double> apply(const AttentionGradient&, const Call<double>&);

}  // namespace monet
