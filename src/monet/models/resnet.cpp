#include <fmt/format.h>

#include <array>

#include "monet/models/layers.h"
#include "monet/models/recipe.h"

// Residual networks (He et al., arXiv:1512.03385) with the names and the details of torchvision: in a bottleneck it is
// the 3x3 convolution that strides. stem=cifar starts with a 3x3 convolution without pooling, as is usual for images
// of 32x32; its stages and its final average pooling are then those of the exported ResNet-18 training graphs.
// stem=strided leaves out the max-pooling alone, as MONET does for images of 224x224.

namespace monet::models {
namespace {

struct Architecture {
  std::array<std::int64_t, 4> blocks;
  bool bottleneck = false;
};

ConvNormOptions norm_options(const OptionValues& options) {
  const std::string& norm = options.choice("norm");
  return {.kind = norm == "batch"    ? ConvNorm::Batch
                  : norm == "frozen" ? ConvNorm::Frozen
                  : norm == "folded" ? ConvNorm::Folded
                                     : ConvNorm::Group,
          .groups = options.whole("groups")};
}

struct Block {
  std::string name;
  std::int64_t planes, stride;
  bool bottleneck;
  std::int64_t channels() const { return bottleneck ? 4 * planes : planes; }
};

TensorId residual_block(Builder& b, TensorId x, const Block& block, const ConvNormOptions& norm) {
  const auto unit = [&](TensorId in, int index, ConvOptions conv, Activation activation) {
    return conv_norm_act(b, in,
                         {.conv_name = fmt::format("{}.conv{}", block.name, index),
                          .norm_name = fmt::format("{}.bn{}", block.name, index),
                          .conv = conv,
                          .activation = activation},
                         norm);
  };
  TensorId y;
  if (block.bottleneck) {
    y = unit(x, 1, {.channels = block.planes, .kernel = 1}, Activation::Relu);
    y = unit(y, 2, {.channels = block.planes, .stride = block.stride}, Activation::Relu);
    y = unit(y, 3, {.channels = block.channels(), .kernel = 1}, Activation::None);
  } else {
    y = unit(x, 1, {.channels = block.planes, .stride = block.stride}, Activation::Relu);
    y = unit(y, 2, {.channels = block.planes}, Activation::None);
  }
  TensorId shortcut = x;
  if (block.stride != 1 || b[x].shape[1] != block.channels())
    shortcut = conv_norm_act(b, x,
                             {.conv_name = block.name + ".downsample.0",
                              .norm_name = block.name + ".downsample.1",
                              .conv = {.channels = block.channels(), .kernel = 1, .stride = block.stride},
                              .activation = Activation::None},
                             norm);
  return activate(b, Activation::Relu, add(b, y, shortcut, block.name + ".add"), block.name + ".act");
}

// Over the whole plane either way. The CIFAR networks pool with a window, torchvision takes a mean.
TensorId pool_features(Builder& b, TensorId x, bool cifar) {
  if (!cifar) return spatial_mean(b, x, "avgpool");
  const Shape shape = b[x].shape;
  const Ints window(shape.begin() + 2, shape.end());
  const TensorId pooled = b.one(Pool{.kind = PoolKind::Average,
                                     .kernel = window,
                                     .strides = window,
                                     .dilations = {1, 1},
                                     .pads_begin = {0, 0},
                                     .pads_end = {0, 0}},
                                {x}, "avgpool");
  return b.view(pooled, {shape[0], shape[1]}, "flatten");
}

TensorId build_resnet(Builder& b, const Architecture& architecture, const OptionValues& options, std::int64_t batch) {
  const bool cifar = options.choice("stem") == "cifar";
  const ConvNormOptions norm = norm_options(options);
  const std::int64_t width = options.whole("width");

  TensorId x = image_input(b, batch, options.whole("image"));
  x = conv_norm_act(b, x,
                    {.conv_name = "conv1",
                     .norm_name = "bn1",
                     .conv = {.channels = width, .kernel = cifar ? 3 : 7, .stride = cifar ? 1 : 2}},
                    norm);
  if (options.choice("stem") == "imagenet")
    x = b.one(Pool{.kind = PoolKind::Max,
                   .kernel = {3, 3},
                   .strides = {2, 2},
                   .dilations = {1, 1},
                   .pads_begin = {1, 1},
                   .pads_end = {1, 1}},
              {x}, "maxpool");
  for (std::size_t stage = 0; stage < architecture.blocks.size(); ++stage)
    for (std::int64_t i = 0; i < architecture.blocks[stage]; ++i)
      x = residual_block(b, x,
                         {.name = fmt::format("layer{}.{}", stage + 1, i),
                          .planes = width << stage,
                          .stride = stage > 0 && i == 0 ? 2 : 1,
                          .bottleneck = architecture.bottleneck},
                         norm);
  return linear(b, "fc", pool_features(b, x, cifar), options.whole("classes"));
}

Recipe resnet(std::string name, std::string description, Architecture architecture) {
  return {
      {.name = std::move(name),
       .description = std::move(description),
       .options = {whole_option("image", "height and width of the image", 224),
                   whole_option("classes", "classes", 1000),
                   {.name = "stem",
                    .meaning =
                        "first layers: 7x7 stride 2 and max-pooling (imagenet), without it (strided), or 3x3 (cifar)",
                    .default_value = "imagenet",
                    .kind = OptionKind::Choice,
                    .choices = {"imagenet", "strided", "cifar"}},
                   {.name = "norm",
                    .meaning = "normalisation; frozen: fixed statistics, folded: merged into the convolutions",
                    .default_value = "batch",
                    .kind = OptionKind::Choice,
                    .choices = {"batch", "frozen", "folded", "group"}},
                   whole_option("groups", "groups of norm=group", 32),
                   whole_option("width", "channels of the first stage", 64)}},
      [architecture](Builder& b, const OptionValues& options, std::int64_t batch) {
        return build_resnet(b, architecture, options, batch);
      }};
}

}  // namespace

std::vector<Recipe> resnet_recipes() {
  return {resnet("resnet18", "residual network, 18 layers", {{2, 2, 2, 2}}),
          resnet("resnet34", "residual network, 34 layers", {{3, 4, 6, 3}}),
          resnet("resnet50", "residual network, 50 layers of bottlenecks", {{3, 4, 6, 3}, true}),
          resnet("resnet101", "residual network, 101 layers of bottlenecks", {{3, 4, 23, 3}, true}),
          resnet("resnet152", "residual network, 152 layers of bottlenecks", {{3, 8, 36, 3}, true})};
}

}  // namespace monet::models
