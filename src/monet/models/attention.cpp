#include "monet/models/attention.h"

#include <fmt/format.h>

#include <cmath>

namespace monet::models {

std::int64_t head_size(std::int64_t width, std::int64_t heads) {
  if (width % heads != 0) throw ShapeError(fmt::format("width {} does not divide into {} heads", width, heads));
  return width / heads;
}

TensorId causal_mask(Builder& b, std::int64_t seq) {
  return b.source("causal_mask", {seq, seq}, Format{Element::F32}, Category::Constant,
                  Triangle{.k = 0, .below = 0, .above = -1e9});
}

TensorId split_heads(Builder& b, TensorId x, std::int64_t heads, const std::string& name) {
  const Shape shape = b[x].shape;
  const TensorId view = b.view(x, {shape[0], shape[1], heads, head_size(shape[2], heads)}, name + ".heads");
  return b.one(Transpose{{0, 2, 1, 3}}, {view}, name + ".transpose");
}

TensorId merge_heads(Builder& b, TensorId x, const std::string& name) {
  const Shape shape = b[x].shape;
  const TensorId transposed = b.one(Transpose{{0, 2, 1, 3}}, {x}, name + ".transpose");
  return b.view(transposed, {shape[0], shape[2], shape[1] * shape[3]}, name + ".merged");
}

TensorId attention(Builder& b, TensorId q, TensorId k, TensorId v, const AttentionOptions& options,
                   const std::string& name) {
  const TensorId scale = b.scalar(1 / std::sqrt(static_cast<double>(b[q].shape[3])));
  if (options.scaled == Scaled::Query) q = b.binary(BinaryKind::Mul, q, scale, name + ".scale");
  TensorId scores = b.one(MatMul{.trans_b = true}, {q, k}, name + ".scores");
  if (options.scaled == Scaled::Scores) scores = b.binary(BinaryKind::Mul, scores, scale, name + ".scale");
  if (options.mask != kNoTensor) scores = add(b, scores, options.mask, name + ".mask");
  TensorId share = b.one(Softmax{.axis = 3}, {scores}, name + ".softmax");
  share = dropout(b, share, options.dropout, name + ".dropout");
  return merge_heads(b, b.one(MatMul{}, {share, v}, name + ".context"), name);
}

Affine torch_in_projection(Builder& b, const std::string& name, std::int64_t width) {
  Affine layer;
  layer.weight = weight(b, name + ".in_proj_weight", {3 * width, width});
  layer.bias = weight(b, name + ".in_proj_bias", {3 * width}, Splat{0});
  return layer;
}

TensorId self_attention(Builder& b, const PackedAttention& layer, TensorId x, const AttentionOptions& options,
                        const std::string& name) {
  const std::int64_t width = b[x].shape[2];
  const TensorId packed = apply(b, layer.in, x, name + ".in");
  const std::vector<TensorId> parts = b.add_named(Split{.axis = 2, .sizes = {width, width, width}}, {packed},
                                                  name + ".split", {name + ".q", name + ".k", name + ".v"});
  const TensorId q = split_heads(b, parts[0], layer.heads, name + ".q");
  const TensorId k = split_heads(b, parts[1], layer.heads, name + ".k");
  const TensorId v = split_heads(b, parts[2], layer.heads, name + ".v");
  return apply(b, layer.out, attention(b, q, k, v, options, name), name + ".out");
}

}  // namespace monet::models
