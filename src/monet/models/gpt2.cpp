#include <fmt/format.h>

#include "monet/models/attention.h"
#include "monet/models/recipe.h"

// GPT-2 with the names and weight layout of Hugging Face's GPT2LMHeadModel: matrices stored [in,out], logits through
// the token table itself. GPT-3 is the same network, larger; its locally banded layers are built dense here.

namespace monet::models {
namespace {

constexpr double kGpt2Epsilon = 1e-5;

struct Size {
  std::int64_t layers, width, heads, seq;
};

TensorId decoder_layer(Builder& b, TensorId x, std::int64_t heads, const AttentionOptions& options,
                       const std::string& name) {
  constexpr AffineOptions kStored{.input_major = true};
  const std::int64_t width = b[x].shape[2];
  TensorId y = layer_norm(b, name + ".ln_1", x, kGpt2Epsilon);
  PackedAttention layer{.in = affine(b, name + ".attn.c_attn", width, 3 * width, kStored),
                        .out = affine(b, name + ".attn.c_proj", width, width, kStored),
                        .heads = heads};
  y = self_attention(b, layer, y, options, name + ".attn");
  x = add(b, dropout(b, y, options.dropout, name + ".attn.resid_dropout"), x, name + ".add_1");
  y = layer_norm(b, name + ".ln_2", x, kGpt2Epsilon);
  y = b.unary(UnaryKind::GeluTanh, linear(b, name + ".mlp.c_fc", y, 4 * width, kStored), name + ".mlp.act");
  y = linear(b, name + ".mlp.c_proj", y, width, kStored);
  return add(b, x, dropout(b, y, options.dropout, name + ".mlp.dropout"), name + ".add_2");
}

TensorId build_gpt2(Builder& b, const OptionValues& options, std::int64_t batch) {
  const std::int64_t seq = options.whole("seq"), width = options.whole("width"), layers = options.whole("layers");
  const TensorId tokens = token_input(b, "input_ids", batch, seq);
  const TensorId token_table = weight(b, "transformer.wte.weight", {options.whole("vocab"), width});
  const TensorId position_table = weight(b, "transformer.wpe.weight", {options.whole("positions"), width});
  const AttentionOptions attention{.mask = causal_mask(b, seq), .dropout = options.real("dropout")};

  TensorId x = b.one(Gather{.axis = 0}, {token_table, tokens}, "transformer.wte");
  x = add(b, x, position_rows(b, position_table, seq, "transformer.wpe"), "transformer.add");
  x = dropout(b, x, attention.dropout, "transformer.drop");
  for (std::int64_t i = 0; i < layers; ++i)
    x = decoder_layer(b, x, options.whole("heads"), attention, fmt::format("transformer.h.{}", i));
  x = layer_norm(b, "transformer.ln_f", x, kGpt2Epsilon);
  return flatten_tokens(b, apply(b, Affine{.weight = token_table}, x, "lm_head"), "logits");
}

Recipe gpt2(std::string name, std::string description, Size size) {
  return {{.name = std::move(name),
           .description = std::move(description),
           .options = {whole_option("seq", "tokens of a sequence", size.seq), layers_option(size.layers),
                       whole_option("width", "width of a token", size.width),
                       whole_option("heads", "attention heads", size.heads),
                       whole_option("vocab", "entries of the token table", 50257),
                       whole_option("positions", "entries of the position table, at least seq", size.seq),
                       dropout_option()}},
          build_gpt2};
}

}  // namespace

std::vector<Recipe> gpt2_recipes() {
  return {
      gpt2("gpt2", "GPT-2 small", {12, 768, 12, 1024}), gpt2("gpt2-medium", "GPT-2 medium", {24, 1024, 16, 1024}),
      gpt2("gpt2-large", "GPT-2 large", {36, 1280, 20, 1024}), gpt2("gpt2-xl", "GPT-2 XL", {48, 1600, 25, 1024}),
      gpt2("gpt3-175b", "GPT-3 with 175 billion parameters, attention dense in every layer", {96, 12288, 96, 2048})};
}

}  // namespace monet::models
