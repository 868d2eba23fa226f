#pragma once
#include <span>
#include <string>
#include <vector>

#include "monet/graph/infer.h"

// What the inference rules of the operator families share. Private to the infer*.cpp files.

namespace monet::inference {

using Operands = std::span<const Tensor* const>;
using Outputs = std::vector<OutputType>;

[[noreturn]] void fail(const std::string& message);

const Tensor& need(Operands in, std::size_t i);   // or ShapeError
const Tensor* maybe(Operands in, std::size_t i);  // null if absent
void at_most(Operands in, std::size_t count);
void check_axis(std::int64_t axis, std::int64_t rank);
void same_shape(const Tensor& a, const Tensor& b, const char* what);
inline std::int64_t rank(const Tensor& t) { return static_cast<std::int64_t>(t.shape.size()); }

inline bool is_set(const Part& part) { return part != Part{}; }
// `extents` must lie inside `whole` when they begin at `origin`.
void check_inside(const Ints& whole, const Ints& origin, const Ints& extents);

// Floating operands promote to the widest; a scalar or an integer never widens a tensor.
Format promote(const Tensor& a, const Tensor& b);
// Sums and statistics of narrow floats are held in f32.
Format wide(Format format);

Outputs infer_conv(const Conv& op, Operands in);
Outputs infer_pool(const Pool& op, Operands in);
Outputs infer_pool_gradient(const PoolGradient& op, Operands in);
Outputs infer_unfold(const Unfold& op, const Tensor& x);

Outputs infer_norm(const Norm& op, Operands in);
Outputs infer_norm_gradient(const NormGradient& op, Operands in);
Outputs infer_norm_part(const NormPart& op, Operands in);

Outputs infer_matmul(const MatMul& op, Operands in);
Outputs infer_attention(const Attention& op, Operands in);
Outputs infer_attention_gradient(const AttentionGradient& op, Operands in);

Outputs infer_lrn(const Part& part, Outputs same);
Outputs infer_steps(const Steps& op, Operands in);

Outputs infer_transpose(const Transpose& op, const Tensor& x);
Outputs infer_concat(const Concat& op, Operands in);
Outputs infer_split(const Split& op, const Tensor& x);
Outputs infer_slice(const Slice& op, const Tensor& x);
Outputs infer_place(const Place& op, const Tensor& x);
Outputs infer_pad(const Pad& op, const Tensor& x);
Outputs infer_pad_gradient(const PadGradient& op, const Tensor& dy);
Outputs infer_gather(const Gather& op, Operands in);
Outputs infer_scatter(const ScatterAdd& op, Operands in);

}  // namespace monet::inference
