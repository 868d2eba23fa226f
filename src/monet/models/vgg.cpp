#include <fmt/format.h>

#include <algorithm>

#include "monet/graph/infer.h"
#include "monet/models/layers.h"
#include "monet/models/recipe.h"

// VGG networks (Simonyan and Zisserman, arXiv:1409.1556) with the names and the details of torchvision: five stages of
// 3x3 convolutions, each ended by max-pooling, then three matrices over planes of 7x7.

namespace monet::models {
namespace {

constexpr std::int64_t kPlane = 7;  // height and width of what the first matrix reads

// To planes of 7x7, as adaptive average pooling does where windows do not overlap: whole windows, or one number for
// all.
TensorId pool_to_plane(Builder& b, TensorId x) {
  const Shape shape = b[x].shape;
  const std::int64_t size = shape[2];
  if (size == kPlane) return x;
  if (size == 1) return b.one(Expand{.shape = {shape[0], shape[1], kPlane, kPlane}}, {x}, "avgpool");
  if (size % kPlane != 0)
    throw ShapeError(
        fmt::format("an image whose features are {0}x{0}: 1 or a multiple of {1} is needed, such as image=32 or {2}",
                    size, kPlane, 32 * kPlane));
  const Ints window(2, size / kPlane);
  return b.one(Pool{.kind = PoolKind::Average,
                    .kernel = window,
                    .strides = window,
                    .dilations = {1, 1},
                    .pads_begin = {0, 0},
                    .pads_end = {0, 0}},
               {x}, "avgpool");
}

TensorId build_vgg(Builder& b, const std::vector<int>& convolutions, const OptionValues& options, std::int64_t batch) {
  const std::int64_t width = options.whole("width");
  TensorId x = image_input(b, batch, options.whole("image"));
  int layer = 0;  // torchvision counts convolutions, activations and poolings
  const auto next = [&] { return fmt::format("features.{}", layer++); };
  for (std::size_t stage = 0; stage < convolutions.size(); ++stage) {
    const std::int64_t channels = width << std::min<std::size_t>(stage, 3);
    for (int i = 0; i < convolutions[stage]; ++i) {
      x = conv(b, next(), x, {.channels = channels, .bias = true});
      x = activate(b, Activation::Relu, x, next());
    }
    x = max_pool_2x2(b, x, next());
  }
  x = pool_to_plane(b, x);
  const Shape shape = b[x].shape;
  x = b.view(x, {shape[0], shape[1] * shape[2] * shape[3]}, "flatten");
  for (const int index : {0, 3}) {
    x = linear(b, fmt::format("classifier.{}", index), x, options.whole("hidden"));
    x = activate(b, Activation::Relu, x, fmt::format("classifier.{}", index + 1));
    x = dropout(b, x, options.real("dropout"), fmt::format("classifier.{}", index + 2));
  }
  return linear(b, "classifier.6", x, options.whole("classes"));
}

Recipe vgg(int depth, std::vector<int> convolutions) {
  return {
      {.name = fmt::format("vgg{}", depth),
       .description = fmt::format("convolutions of 3x3 and three large matrices, {} layers", depth),
       .options = {whole_option("image", "height and width of the image", 224),
                   whole_option("classes", "classes", 1000), whole_option("width", "channels of the first stage", 64),
                   whole_option("hidden", "width of the first two matrices", 4096), dropout_option()}},
      [convolutions](Builder& b, const OptionValues& options, std::int64_t batch) {
        return build_vgg(b, convolutions, options, batch);
      }};
}

}  // namespace

std::vector<Recipe> vgg_recipes() {
  return {vgg(11, {1, 1, 2, 2, 2}), vgg(13, {2, 2, 2, 2, 2}), vgg(16, {2, 2, 3, 3, 3}), vgg(19, {2, 2, 4, 4, 4})};
}

}  // namespace monet::models
