#include <fmt/format.h>

#include "monet/graph/infer.h"
#include "monet/models/layers.h"
#include "monet/models/recipe.h"

// U-Net (Ronneberger, Fischer and Brox, arXiv:1505.04597) with padded convolutions and batch normalisation, as it is
// mostly built today: two convolutions a level, max-pooling down, transposed convolutions up, and what each level made
// on the way down joined to what comes up. A class for every pixel.

namespace monet::models {
namespace {

TensorId double_conv(Builder& b, TensorId x, const std::string& name, std::int64_t channels) {
  for (const int i : {1, 2})
    x = conv_norm_act(b, x,
                      {.conv_name = fmt::format("{}.conv{}", name, i),
                       .norm_name = fmt::format("{}.bn{}", name, i),
                       .conv = {.channels = channels}},
                      {});
  return x;
}

TensorId up(Builder& b, TensorId x, const std::string& name, std::int64_t channels) {
  const Shape shape = b[x].shape;
  const TensorId kernel = weight(b, name + ".weight", {shape[1], channels, 2, 2});
  const TensorId bias = weight(b, name + ".bias", {channels}, Splat{0.0});
  return b.one(Conv{.kind = ConvKind::DataGradient,
                    .strides = {2, 2},
                    .dilations = {1, 1},
                    .pads_begin = {0, 0},
                    .pads_end = {0, 0},
                    .extent = {2 * shape[2], 2 * shape[3]}},
               {x, kernel, bias}, name);
}

TensorId build_unet(Builder& b, const OptionValues& options, std::int64_t batch) {
  const std::int64_t width = options.whole("width"), levels = options.whole("levels");
  if (levels > 10 || options.whole("image") % (std::int64_t{1} << levels) != 0)
    throw ShapeError(fmt::format("an image of {0}x{0} cannot be halved {1} times", options.whole("image"), levels));
  TensorId x = image_input(b, batch, options.whole("image"));
  std::vector<TensorId> sides;
  for (std::int64_t l = 0; l < levels; ++l) {
    x = double_conv(b, x, fmt::format("down.{}", l), width << l);
    sides.push_back(x);
    x = max_pool_2x2(b, x, fmt::format("down.{}.pool", l));
  }
  x = double_conv(b, x, "bottom", width << levels);
  for (std::int64_t l = levels; l-- > 0;) {
    x = up(b, x, fmt::format("up.{}.up", l), width << l);
    x = b.one(Concat{.axis = 1}, {sides[static_cast<std::size_t>(l)], x}, fmt::format("up.{}.join", l));
    x = double_conv(b, x, fmt::format("up.{}", l), width << l);
  }
  return conv(b, "head", x, {.channels = options.whole("classes"), .kernel = 1, .bias = true});
}

}  // namespace

std::vector<Recipe> unet_recipes() {
  return {{{.name = "unet",
            .description = "segmentation: down and up again, with the levels joined across",
            .options = {whole_option("image", "height and width of the image", 256),
                        whole_option("classes", "classes of a pixel", 2),
                        whole_option("width", "channels of the first level", 64),
                        whole_option("levels", "times the image is halved", 4)}},
           build_unet}};
}

}  // namespace monet::models
