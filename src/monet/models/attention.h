#pragma once
#include <string>

#include "monet/models/layers.h"

// Attention as frameworks write it: every score is stored. Operands are [batch,heads,seq,head].

namespace monet::models {

// width / heads, or ShapeError if it is no whole number.
std::int64_t head_size(std::int64_t width, std::int64_t heads);

// Added to the scores: 0 up to the diagonal, very negative after it. [seq,seq], shared by all layers.
TensorId causal_mask(Builder& b, std::int64_t seq);

TensorId split_heads(Builder& b, TensorId x, std::int64_t heads, const std::string& name);  // from [batch,seq,width]
TensorId merge_heads(Builder& b, TensorId x, const std::string& name);                      // to [batch,seq,width]

// What is multiplied by 1/sqrt(head): the product q·k (GPT-2, BERT, Llama) or q before it (torch's own module).
enum class Scaled { Scores, Query };

struct AttentionOptions {
  Scaled scaled = Scaled::Scores;
  TensorId mask = kNoTensor;
  double dropout = 0;
};
// softmax(q kᵀ / sqrt(head) + mask) v, heads merged again: [batch,seq,width].
TensorId attention(Builder& b, TensorId q, TensorId k, TensorId v, const AttentionOptions& options,
                   const std::string& name);

// Self-attention whose query, key and value come out of one matrix, with the projection behind it.
struct PackedAttention {
  Affine in, out;
  std::int64_t heads = 1;
};
// The input projection of torch's MultiheadAttention: `name`.in_proj_weight and `name`.in_proj_bias.
Affine torch_in_projection(Builder& b, const std::string& name, std::int64_t width);
TensorId self_attention(Builder& b, const PackedAttention& layer, TensorId x, const AttentionOptions& options,
                        const std::string& name);

}  // namespace monet::models
