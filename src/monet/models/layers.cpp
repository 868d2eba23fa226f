#include "monet/models/layers.h"

#include <fmt/format.h>

namespace monet::models {
namespace {

constexpr Format kF32{Element::F32};

std::int64_t last_rank(const Builder& b, TensorId x) { return static_cast<std::int64_t>(b[x].shape.size()) - 1; }

TensorId scale_weight(Builder& b, const std::string& name, std::int64_t size) {
  return weight(b, name + ".weight", {size}, Splat{1});
}
TensorId bias_weight(Builder& b, const std::string& name, std::int64_t size) {
  return weight(b, name + ".bias", {size}, Splat{0});
}

TensorId batch_norm(Builder& b, const std::string& name, TensorId x, const ConvNormOptions& options) {
  const std::int64_t channels = b[x].shape[1];
  const TensorId scale = scale_weight(b, name, channels), bias = bias_weight(b, name, channels);
  const TensorId mean = b.source(name + ".running_mean", {channels}, kF32, Category::ModelState, Splat{0});
  const TensorId var = b.source(name + ".running_var", {channels}, kF32, Category::ModelState, Splat{1});
  const bool frozen = options.kind == ConvNorm::Frozen;
  const Norm op{.kind = frozen ? NormKind::FrozenBatch : NormKind::Batch,
                .epsilon = options.epsilon,
                .momentum = options.momentum};
  if (frozen) return b.one(op, {x, scale, bias, mean, var}, name);
  const std::vector<TensorId> out = b.add_named(op, {x, scale, bias, mean, var}, name,
                                                {name, "", "", name + ".new_running_mean", name + ".new_running_var"});
  b[out[3]].overwrites = mean;
  b[out[4]].overwrites = var;
  b.graph().outputs.push_back(out[3]);
  b.graph().outputs.push_back(out[4]);
  return out[0];
}

TensorId conv_norm(Builder& b, const std::string& name, TensorId x, const ConvNormOptions& options) {
  switch (options.kind) {
    case ConvNorm::Batch:
    case ConvNorm::Frozen: return batch_norm(b, name, x, options);
    case ConvNorm::Folded: return x;
    case ConvNorm::Group: {
      const std::int64_t channels = b[x].shape[1];
      const TensorId scale = scale_weight(b, name, channels), bias = bias_weight(b, name, channels);
      return b.one(Norm{.kind = NormKind::Group, .groups = options.groups, .epsilon = options.epsilon},
                   {x, scale, bias}, name);
    }
  }
  return x;
}

}  // namespace

TensorId weight(Builder& b, const std::string& name, Shape shape, Initial initial) {
  return b.source(name, std::move(shape), kF32, Category::Weight, std::move(initial));
}

TensorId image_input(Builder& b, std::int64_t batch, std::int64_t image) {
  return b.source("input", {batch, 3, image, image}, kF32, Category::Input);
}

TensorId token_input(Builder& b, const std::string& name, std::int64_t batch, std::int64_t seq) {
  return b.source(name, {batch, seq}, Format{Element::I64}, Category::Index);
}

Affine affine(Builder& b, const std::string& name, std::int64_t in, std::int64_t out, AffineOptions options) {
  Affine layer{.input_major = options.input_major};
  layer.weight = weight(b, name + ".weight", options.input_major ? Shape{in, out} : Shape{out, in});
  if (options.bias) layer.bias = bias_weight(b, name, out);
  return layer;
}

TensorId apply(Builder& b, const Affine& layer, TensorId x, const std::string& name) {
  std::vector<TensorId> inputs{x, layer.weight};
  if (layer.bias != kNoTensor) inputs.push_back(layer.bias);
  return b.one(MatMul{.trans_b = !layer.input_major}, std::move(inputs), name);
}

TensorId linear(Builder& b, const std::string& name, TensorId x, std::int64_t out, AffineOptions options) {
  const std::int64_t in = b[x].shape.back();
  return apply(b, affine(b, name, in, out, options), x, name);
}

TensorId activate(Builder& b, Activation activation, TensorId x, const std::string& name) {
  switch (activation) {
    case Activation::None: return x;
    case Activation::Relu: return b.unary(UnaryKind::Relu, x, name);
    case Activation::Relu6: return b.unary(UnaryKind::Clip, x, name, 0, 6);
    case Activation::HardSwish: return b.unary(UnaryKind::HardSwish, x, name);
  }
  return x;
}

TensorId conv(Builder& b, const std::string& name, TensorId x, const ConvOptions& options) {
  const std::int64_t in = b[x].shape[1], pad = options.padded ? (options.kernel - 1) / 2 : 0;
  std::vector<TensorId> inputs{
      x, weight(b, name + ".weight", {options.channels, in / options.groups, options.kernel, options.kernel})};
  if (options.bias) inputs.push_back(bias_weight(b, name, options.channels));
  return b.one(Conv{.strides = {options.stride, options.stride},
                    .dilations = {1, 1},
                    .pads_begin = {pad, pad},
                    .pads_end = {pad, pad},
                    .groups = options.groups,
                    .extent = {}},
               std::move(inputs), name);
}

TensorId conv_norm_act(Builder& b, TensorId x, const ConvUnit& unit, const ConvNormOptions& norm) {
  ConvOptions options = unit.conv;
  options.bias = norm.kind == ConvNorm::Folded;
  const TensorId y = conv_norm(b, unit.norm_name, conv(b, unit.conv_name, x, options), norm);
  return activate(b, unit.activation, y, unit.norm_name + ".act");
}

TensorId max_pool_2x2(Builder& b, TensorId x, const std::string& name) {
  return b.one(Pool{.kind = PoolKind::Max,
                    .kernel = {2, 2},
                    .strides = {2, 2},
                    .dilations = {1, 1},
                    .pads_begin = {0, 0},
                    .pads_end = {0, 0}},
               {x}, name);
}

TensorId spatial_mean(Builder& b, TensorId x, const std::string& name, bool keep) {
  return b.one(Reduce{.kind = ReduceKind::Mean, .axes = {2, 3}, .keep = keep}, {x}, name);
}

TensorId layer_norm(Builder& b, const std::string& name, TensorId x, double epsilon) {
  const std::int64_t width = b[x].shape.back();
  const TensorId scale = scale_weight(b, name, width), bias = bias_weight(b, name, width);
  return b.one(Norm{.kind = NormKind::Layer, .axis = last_rank(b, x), .epsilon = epsilon}, {x, scale, bias}, name);
}

TensorId rms_norm(Builder& b, const std::string& name, TensorId x, double epsilon) {
  const TensorId scale = scale_weight(b, name, b[x].shape.back());
  return b.one(Norm{.kind = NormKind::Rms, .axis = last_rank(b, x), .epsilon = epsilon}, {x, scale}, name);
}

TensorId dropout(Builder& b, TensorId x, double ratio, const std::string& name) {
  if (ratio == 0) return x;
  // The position in the graph as the seed: every dropout draws another mask.
  return b.one(Dropout{.ratio = ratio, .seed = static_cast<std::int64_t>(b.graph().nodes.size())}, {x}, name);
}

TensorId add(Builder& b, TensorId x, TensorId y, const std::string& name) {
  return b.binary(BinaryKind::Add, x, y, name);
}

TensorId position_rows(Builder& b, TensorId table, std::int64_t count, const std::string& name) {
  const std::int64_t rows = b[table].shape[0], width = b[table].shape[1];
  if (count > rows)
    throw ShapeError(fmt::format("a sequence of {} needs as many positions, there are {}", count, rows));
  if (count == rows) return table;
  return b.one(Slice{.starts = {0, 0}, .sizes = {count, width}, .steps = {1, 1}}, {table}, name);
}

TensorId first_token(Builder& b, TensorId x, const std::string& name) {
  const std::int64_t batch = b[x].shape[0], width = b[x].shape[2];
  const TensorId first =
      b.one(Slice{.starts = {0, 0, 0}, .sizes = {batch, 1, width}, .steps = {1, 1, 1}}, {x}, name + ".slice");
  return b.view(first, {batch, width}, name);
}

TensorId flatten_tokens(Builder& b, TensorId logits, const std::string& name) {
  const Shape shape = b[logits].shape;
  return b.view(logits, {shape[0] * shape[1], shape[2]}, name);
}

}  // namespace monet::models
