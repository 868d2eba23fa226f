#include <fmt/format.h>

#include <algorithm>

#include "monet/models/layers.h"
#include "monet/models/recipe.h"

// MobileNetV2 (arXiv:1801.04381) and MobileNetV3 (arXiv:1905.02244) with the names and the details of torchvision.
// Both are stacks of inverted residuals: expand by 1x1, filter each channel, project by 1x1.

namespace monet::models {
namespace {

struct InvertedResidual {
  std::int64_t kernel, expanded, out;
  bool squeeze;
  Activation activation;
  std::int64_t stride;
};

// Channel counts are multiples of 8, rounded to the nearest but never down by more than a tenth.
std::int64_t rounded_channels(std::int64_t channels) {
  const std::int64_t rounded = std::max<std::int64_t>(8, (channels + 4) / 8 * 8);
  return 10 * rounded < 9 * channels ? rounded + 8 : rounded;
}

// Scales each channel by a function of all channels' means.
TensorId squeeze_excite(Builder& b, TensorId x, const std::string& name) {
  const std::int64_t channels = b[x].shape[1];
  const ConvOptions point{.kernel = 1, .bias = true};
  ConvOptions down = point, up = point;
  down.channels = rounded_channels(channels / 4);
  up.channels = channels;
  TensorId scale = spatial_mean(b, x, name + ".avgpool", true);
  scale = activate(b, Activation::Relu, conv(b, name + ".fc1", scale, down), name + ".act");
  scale = conv(b, name + ".fc2", scale, up);
  scale = b.unary(UnaryKind::HardSigmoid, scale, name + ".scale_act", 1.0 / 6, 0.5);
  return b.binary(BinaryKind::Mul, scale, x, name);
}

// Convolution `name`.0 and normalisation `name`.1.
TensorId conv_pair(Builder& b, TensorId x, const std::string& name, ConvOptions conv, Activation activation,
                   const ConvNormOptions& norm) {
  return conv_norm_act(
      b, x, {.conv_name = name + ".0", .norm_name = name + ".1", .conv = conv, .activation = activation}, norm);
}

// The two versions differ in names alone: V3 wraps the projection like the other convolutions, V2 does not.
struct Naming {
  std::string_view block;
  bool wrapped_projection;
};

TensorId inverted_residual(Builder& b, TensorId x, const InvertedResidual& block, const std::string& name,
                           const Naming& naming, const ConvNormOptions& norm) {
  const std::int64_t in = b[x].shape[1];
  int index = 0;
  const auto next = [&] { return fmt::format("{}.{}.{}", name, naming.block, index++); };
  TensorId y = x;
  if (block.expanded != in)
    y = conv_pair(b, y, next(), {.channels = block.expanded, .kernel = 1}, block.activation, norm);
  y = conv_pair(b, y, next(),
                {.channels = block.expanded, .kernel = block.kernel, .stride = block.stride, .groups = block.expanded},
                block.activation, norm);
  if (block.squeeze) y = squeeze_excite(b, y, next());
  const ConvOptions project{.channels = block.out, .kernel = 1};
  if (naming.wrapped_projection) {
    y = conv_pair(b, y, next(), project, Activation::None, norm);
  } else {
    const std::string conv_name = next(), norm_name = next();
    y = conv_norm_act(
        b, y, {.conv_name = conv_name, .norm_name = norm_name, .conv = project, .activation = Activation::None}, norm);
  }
  return block.stride == 1 && in == block.out ? add(b, x, y, name + ".add") : y;
}

TensorId build_v2(Builder& b, const OptionValues& options, std::int64_t batch) {
  struct Stage {
    std::int64_t expansion, out, repeats, stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  const ConvNormOptions norm;
  TensorId x = image_input(b, batch, options.whole("image"));
  x = conv_pair(b, x, "features.0", {.channels = 32, .stride = 2}, Activation::Relu6, norm);
  int index = 1;
  for (const Stage& stage : kStages)
    for (std::int64_t i = 0; i < stage.repeats; ++i) {
      const InvertedResidual block{.kernel = 3,
                                   .expanded = b[x].shape[1] * stage.expansion,
                                   .out = stage.out,
                                   .squeeze = false,
                                   .activation = Activation::Relu6,
                                   .stride = i == 0 ? stage.stride : 1};
      x = inverted_residual(b, x, block, fmt::format("features.{}", index++), {"conv", false}, norm);
    }
  x = conv_pair(b, x, fmt::format("features.{}", index), {.channels = 1280, .kernel = 1}, Activation::Relu6, norm);
  x = dropout(b, spatial_mean(b, x, "avgpool"), options.real("dropout"), "classifier.0");
  return linear(b, "classifier.1", x, options.whole("classes"));
}

struct V3 {
  std::vector<InvertedResidual> blocks;
  std::int64_t last;  // width of the layer before the classifier
};

V3 large() {
  constexpr Activation kRe = Activation::Relu, kHs = Activation::HardSwish;
  return {{{3, 16, 16, false, kRe, 1},
           {3, 64, 24, false, kRe, 2},
           {3, 72, 24, false, kRe, 1},
           {5, 72, 40, true, kRe, 2},
           {5, 120, 40, true, kRe, 1},
           {5, 120, 40, true, kRe, 1},
           {3, 240, 80, false, kHs, 2},
           {3, 200, 80, false, kHs, 1},
           {3, 184, 80, false, kHs, 1},
           {3, 184, 80, false, kHs, 1},
           {3, 480, 112, true, kHs, 1},
           {3, 672, 112, true, kHs, 1},
           {5, 672, 160, true, kHs, 2},
           {5, 960, 160, true, kHs, 1},
           {5, 960, 160, true, kHs, 1}},
          1280};
}

V3 small() {
  constexpr Activation kRe = Activation::Relu, kHs = Activation::HardSwish;
  return {{{3, 16, 16, true, kRe, 2},
           {3, 72, 24, false, kRe, 2},
           {3, 88, 24, false, kRe, 1},
           {5, 96, 40, true, kHs, 2},
           {5, 240, 40, true, kHs, 1},
           {5, 240, 40, true, kHs, 1},
           {5, 120, 48, true, kHs, 1},
           {5, 144, 48, true, kHs, 1},
           {5, 288, 96, true, kHs, 2},
           {5, 576, 96, true, kHs, 1},
           {5, 576, 96, true, kHs, 1}},
          1024};
}

TensorId build_v3(Builder& b, const V3& network, const OptionValues& options, std::int64_t batch) {
  const ConvNormOptions norm{.epsilon = 0.001, .momentum = 0.01};
  TensorId x = image_input(b, batch, options.whole("image"));
  x = conv_pair(b, x, "features.0", {.channels = 16, .stride = 2}, Activation::HardSwish, norm);
  int index = 1;
  for (const InvertedResidual& block : network.blocks)
    x = inverted_residual(b, x, block, fmt::format("features.{}", index++), {"block", true}, norm);
  const std::int64_t features = 6 * b[x].shape[1];
  x = conv_pair(b, x, fmt::format("features.{}", index), {.channels = features, .kernel = 1}, Activation::HardSwish,
                norm);
  x = linear(b, "classifier.0", spatial_mean(b, x, "avgpool"), network.last);
  x = activate(b, Activation::HardSwish, x, "classifier.1");
  x = dropout(b, x, options.real("dropout"), "classifier.2");
  return linear(b, "classifier.3", x, options.whole("classes"));
}

ModelEntry entry(std::string name, std::string description) {
  return {.name = std::move(name),
          .description = std::move(description),
          .options = {whole_option("image", "height and width of the image", 224),
                      whole_option("classes", "classes", 1000), dropout_option()}};
}

Recipe v3(std::string name, std::string description, V3 (*network)()) {
  return {entry(std::move(name), std::move(description)),
          [network](Builder& b, const OptionValues& options, std::int64_t batch) {
            return build_v3(b, network(), options, batch);
          }};
}

}  // namespace

std::vector<Recipe> mobilenet_recipes() {
  return {{entry("mobilenet_v2", "inverted residuals with ReLU6"), build_v2},
          v3("mobilenet_v3_large", "inverted residuals with squeeze-and-excitation and hard-swish, large", large),
          v3("mobilenet_v3_small", "inverted residuals with squeeze-and-excitation and hard-swish, small", small)};
}

}  // namespace monet::models
