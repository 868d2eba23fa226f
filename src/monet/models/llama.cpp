#include <fmt/format.h>

#include "monet/models/attention.h"
#include "monet/models/recipe.h"

// Llama 2 (arXiv:2307.09288) with the names of Hugging Face: RMS normalisation, rotary positions in the halves layout,
// a gated perceptron, and keys and values shared by groups of heads when kv_heads < heads.

namespace monet::models {
namespace {

constexpr double kLlamaEpsilon = 1e-5;

struct Tables {
  TensorId cos, sin, mask;
};

Tables make_tables(Builder& b, std::int64_t seq, std::int64_t head) {
  if (head % 2 != 0) throw ShapeError(fmt::format("rotary positions need heads of even size, not {}", head));
  const auto rotary = [&](const char* name, bool sine) {
    return b.source(name, {seq, head}, Format{Element::F32}, Category::Constant, Rotary{.sine = sine});
  };
  const TensorId cos = rotary("rotary.cos", false), sin = rotary("rotary.sin", true);
  return {cos, sin, causal_mask(b, seq)};
}

// x·cos + rotate(x)·sin, where rotate((a, b)) = (-b, a) on the halves of a head.
TensorId rotate(Builder& b, TensorId x, const Tables& tables, const std::string& name) {
  const std::int64_t half = b[x].shape[3] / 2;
  const TensorId straight = b.binary(BinaryKind::Mul, x, tables.cos, name + ".cos");
  const std::vector<TensorId> halves = b.add(Split{.axis = 3, .sizes = {half, half}}, {x}, name + ".halves", 2);
  const TensorId negated = b.unary(UnaryKind::Neg, halves[1], name + ".neg");
  const TensorId turned = b.one(Concat{.axis = 3}, {negated, halves[0]}, name + ".turned");
  return add(b, straight, b.binary(BinaryKind::Mul, turned, tables.sin, name + ".sin"), name + ".rotated");
}

// Each of the kv heads stands for heads / kv_heads heads.
TensorId repeat_heads(Builder& b, TensorId x, std::int64_t heads, const std::string& name) {
  const Shape shape = b[x].shape;
  const std::int64_t times = heads / shape[1];
  if (times == 1) return x;
  const TensorId view = b.view(x, {shape[0], shape[1], 1, shape[2], shape[3]}, name + ".grouped");
  const TensorId expanded = b.one(Expand{{shape[0], shape[1], times, shape[2], shape[3]}}, {view}, name + ".expand");
  return b.view(expanded, {shape[0], heads, shape[2], shape[3]}, name + ".repeated");
}

struct Sizes {
  std::int64_t heads, kv_heads, head, ff;
};

TensorId decoder_layer(Builder& b, TensorId x, const Sizes& sizes, const Tables& tables, const std::string& name) {
  constexpr AffineOptions kPlain{.bias = false};
  const std::int64_t width = b[x].shape[2];
  const std::string self = name + ".self_attn";
  TensorId y = rms_norm(b, name + ".input_layernorm", x, kLlamaEpsilon);
  const auto project = [&](const char* part, std::int64_t heads) {
    const std::string projection = fmt::format("{}.{}_proj", self, part);
    return split_heads(b, linear(b, projection, y, heads * sizes.head, kPlain), heads, projection);
  };
  TensorId q = project("q", sizes.heads), k = project("k", sizes.kv_heads), v = project("v", sizes.kv_heads);
  q = rotate(b, q, tables, self + ".q");
  k = repeat_heads(b, rotate(b, k, tables, self + ".k"), sizes.heads, self + ".k");
  v = repeat_heads(b, v, sizes.heads, self + ".v");
  y = attention(b, q, k, v, {.mask = tables.mask}, self);
  x = add(b, x, linear(b, self + ".o_proj", y, width, kPlain), name + ".add_1");

  y = rms_norm(b, name + ".post_attention_layernorm", x, kLlamaEpsilon);
  const TensorId gate =
      b.unary(UnaryKind::Silu, linear(b, name + ".mlp.gate_proj", y, sizes.ff, kPlain), name + ".mlp.act_fn");
  const TensorId up = linear(b, name + ".mlp.up_proj", y, sizes.ff, kPlain);
  y = b.binary(BinaryKind::Mul, gate, up, name + ".mlp.gate");
  return add(b, x, linear(b, name + ".mlp.down_proj", y, width, kPlain), name + ".add_2");
}

TensorId build_llama(Builder& b, const OptionValues& options, std::int64_t batch) {
  const std::int64_t seq = options.whole("seq"), width = options.whole("width"), vocab = options.whole("vocab");
  const std::int64_t layers = options.whole("layers");
  Sizes sizes{.heads = options.whole("heads"),
              .kv_heads = options.whole("kv_heads"),
              .head = head_size(width, options.whole("heads")),
              .ff = options.whole("ff")};
  if (sizes.heads % sizes.kv_heads != 0)
    throw ShapeError(fmt::format("{} heads do not divide into {} kv_heads", sizes.heads, sizes.kv_heads));

  const TensorId tokens = token_input(b, "input_ids", batch, seq);
  const Tables tables = make_tables(b, seq, sizes.head);
  const TensorId table = weight(b, "model.embed_tokens.weight", {vocab, width});
  TensorId x = b.one(Gather{.axis = 0}, {table, tokens}, "model.embed_tokens");
  for (std::int64_t i = 0; i < layers; ++i) x = decoder_layer(b, x, sizes, tables, fmt::format("model.layers.{}", i));
  x = rms_norm(b, "model.norm", x, kLlamaEpsilon);
  return flatten_tokens(b, linear(b, "lm_head", x, vocab, {.bias = false}), "logits");
}

}  // namespace

std::vector<Recipe> llama_recipes() {
  return {{{.name = "llama2-7b",
            .description = "Llama 2 with 7 billion parameters",
            .options = {whole_option("seq", "tokens of a sequence", 4096), layers_option(32),
                        whole_option("width", "width of a token", 4096), whole_option("heads", "attention heads", 32),
                        whole_option("kv_heads", "heads of keys and values; heads must be a multiple", 32),
                        whole_option("ff", "width inside the perceptron", 11008),
                        whole_option("vocab", "entries of the token table", 32000)}},
           build_llama}};
}

}  // namespace monet::models
