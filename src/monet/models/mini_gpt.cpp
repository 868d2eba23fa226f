#include <fmt/format.h>

#include <cmath>

#include "monet/models/attention.h"
#include "monet/models/recipe.h"

// The small language model of MONET's GPT-2 studies: one set of layer weights applied `layers` times, no
// normalisation, ReLU, learned positions, a head of its own. Weight names are those of the torch module it was
// exported from, where the list of layers holds the same module several times.

namespace monet::models {
namespace {

TensorId build_mini_gpt(Builder& b, const OptionValues& options, std::int64_t batch) {
  const std::int64_t seq = options.whole("seq"), width = options.whole("width"), vocab = options.whole("vocab");
  const std::int64_t layers = options.whole("layers"), hidden = options.whole("ff");
  const TensorId tokens = token_input(b, "input", batch, seq);
  const TensorId table = weight(b, "embedding.weight", {vocab, width});
  const TensorId positions = weight(b, "pos_encoder.pe", {1, seq, width});
  const std::string tied = "transformer.layers.0";
  PackedAttention attention{.in = torch_in_projection(b, tied + ".self_attn", width),
                            .out = affine(b, tied + ".self_attn.out_proj", width, width),
                            .heads = options.whole("heads")};
  const Affine up = affine(b, tied + ".linear1", width, hidden), down = affine(b, tied + ".linear2", hidden, width);
  const AttentionOptions causal{.scaled = Scaled::Query, .mask = causal_mask(b, seq)};

  TensorId x = b.one(Gather{.axis = 0}, {table, tokens}, "embedding");
  x = b.binary(BinaryKind::Mul, x, b.scalar(std::sqrt(static_cast<double>(width))), "embedding.scale");
  x = add(b, x, positions, "pos_encoder");
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("transformer.layers.{}", i);
    x = add(b, x, self_attention(b, attention, x, causal, name + ".self_attn"), name + ".add_1");
    const TensorId y = activate(b, Activation::Relu, apply(b, up, x, name + ".linear1"), name + ".act");
    x = add(b, x, apply(b, down, y, name + ".linear2"), name + ".add_2");
  }
  return flatten_tokens(b, linear(b, "fc_out", x, vocab), "logits");
}

}  // namespace

std::vector<Recipe> mini_gpt_recipes() {
  return {{{.name = "gpt2-mini",
            .description = "small language model: one layer's weights used in every layer, no normalisation, ReLU",
            .options = {whole_option("seq", "tokens of a sequence", 256), layers_option(4),
                        whole_option("width", "width of a token", 512), whole_option("heads", "attention heads", 4),
                        whole_option("ff", "width inside the perceptron", 1376),
                        whole_option("vocab", "entries of the token table", 4000)}},
           build_mini_gpt}};
}

}  // namespace monet::models
