#include <fmt/format.h>

#include "monet/models/attention.h"
#include "monet/models/recipe.h"

// Vision transformer (arXiv:2010.11929) with the names of torchvision: 16x16 patches, a class token in front, layer
// normalisation before each half of a layer.

namespace monet::models {
namespace {

constexpr std::int64_t kPatch = 16;
constexpr double kVitEpsilon = 1e-6;

TensorId encoder_layer(Builder& b, TensorId x, std::int64_t heads, std::int64_t mlp, const std::string& name) {
  const std::int64_t width = b[x].shape[2];
  const std::string attention_name = name + ".self_attention";
  TensorId y = layer_norm(b, name + ".ln_1", x, kVitEpsilon);
  PackedAttention layer{.in = torch_in_projection(b, attention_name, width),
                        .out = affine(b, attention_name + ".out_proj", width, width),
                        .heads = heads};
  y = self_attention(b, layer, y, {.scaled = Scaled::Query}, attention_name);
  x = add(b, y, x, name + ".add_1");
  y = layer_norm(b, name + ".ln_2", x, kVitEpsilon);
  y = b.unary(UnaryKind::Gelu, linear(b, name + ".mlp.0", y, mlp), name + ".mlp.1");
  return add(b, x, linear(b, name + ".mlp.3", y, width), name + ".add_2");
}

TensorId build_vit(Builder& b, const OptionValues& options, std::int64_t batch) {
  const std::int64_t image = options.whole("image"), width = options.whole("width"), layers = options.whole("layers");
  if (image % kPatch != 0) throw ShapeError(fmt::format("image {} does not divide into patches of {}", image, kPatch));
  const std::int64_t patches = (image / kPatch) * (image / kPatch);

  const TensorId token = weight(b, "class_token", {1, 1, width});
  TensorId x = image_input(b, batch, image);
  x = conv(b, "conv_proj", x, {.channels = width, .kernel = kPatch, .stride = kPatch, .bias = true, .padded = false});
  x = b.view(x, {batch, width, patches}, "patches");
  x = b.one(Transpose{{0, 2, 1}}, {x}, "patches.transpose");
  const TensorId tokens = b.one(Expand{{batch, 1, width}}, {token}, "class_token.expand");
  x = b.one(Concat{.axis = 1}, {tokens, x}, "tokens");
  x = add(b, x, weight(b, "encoder.pos_embedding", {1, patches + 1, width}), "encoder.add");
  for (std::int64_t i = 0; i < layers; ++i)
    x = encoder_layer(b, x, options.whole("heads"), options.whole("mlp"),
                      fmt::format("encoder.layers.encoder_layer_{}", i));
  x = layer_norm(b, "encoder.ln", x, kVitEpsilon);
  return linear(b, "heads.head", first_token(b, x, "class"), options.whole("classes"));
}

}  // namespace

std::vector<Recipe> vit_recipes() {
  return {{{.name = "vit_b_16",
            .description = "vision transformer, base, patches of 16x16",
            .options = {whole_option("image", "height and width of the image, a multiple of 16", 224),
                        whole_option("classes", "classes", 1000), layers_option(12),
                        whole_option("width", "width of a token", 768), whole_option("heads", "attention heads", 12),
                        whole_option("mlp", "width inside the perceptron", 3072)}},
           build_vit}};
}

}  // namespace monet::models
