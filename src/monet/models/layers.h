#pragma once
#include <string>

#include "monet/graph/builder.h"

// The layers models are made of. `name` is the layer's name in the framework whose names the model follows: it names
// the node, and the weights are `name`.weight and `name`.bias.

namespace monet::models {

TensorId weight(Builder& b, const std::string& name, Shape shape, Initial initial = {});
TensorId image_input(Builder& b, std::int64_t batch, std::int64_t image);  // [batch,3,image,image]
TensorId token_input(Builder& b, const std::string& name, std::int64_t batch, std::int64_t seq);  // [batch,seq]

// ---- Matrices ----

struct AffineOptions {
  bool bias = true;
  bool input_major = false;  // weight stored [in,out], else [out,in]
};
// The weights of a linear layer, apart from its uses: tied layers are used more than once.
struct Affine {
  TensorId weight = kNoTensor, bias = kNoTensor;
  bool input_major = false;
};
Affine affine(Builder& b, const std::string& name, std::int64_t in, std::int64_t out, AffineOptions options = {});
TensorId apply(Builder& b, const Affine& layer, TensorId x, const std::string& name);
// Both in one, for a layer used once.
TensorId linear(Builder& b, const std::string& name, TensorId x, std::int64_t out, AffineOptions options = {});

// ---- Convolutions with normalisation ----

// Frozen: batch normalisation by fixed statistics, its scale and bias still trained. Folded: normalisation is merged
// into the convolution, which gets a bias instead.
enum class ConvNorm { Batch, Frozen, Folded, Group };
struct ConvNormOptions {
  ConvNorm kind = ConvNorm::Batch;
  std::int64_t groups = 32;
  double epsilon = 1e-5, momentum = 0.1;
};

enum class Activation { None, Relu, Relu6, HardSwish };
TensorId activate(Builder& b, Activation activation, TensorId x, const std::string& name);

// A square convolution, padded to keep the size at stride 1 (`padded`).
struct ConvOptions {
  std::int64_t channels = 1, kernel = 3, stride = 1, groups = 1;
  bool bias = false, padded = true;
};
TensorId conv(Builder& b, const std::string& name, TensorId x, const ConvOptions& options);

struct ConvUnit {
  std::string conv_name, norm_name;
  ConvOptions conv;
  Activation activation = Activation::Relu;
};
// Convolution, normalisation, activation. New running statistics become outputs of the graph.
TensorId conv_norm_act(Builder& b, TensorId x, const ConvUnit& unit, const ConvNormOptions& norm);

// The largest of every four neighbours.
TensorId max_pool_2x2(Builder& b, TensorId x, const std::string& name);
// The mean of each image plane: [N,C,H,W] -> [N,C], or [N,C,1,1] when the dimensions are kept.
TensorId spatial_mean(Builder& b, TensorId x, const std::string& name, bool keep = false);

// ---- The rest ----

TensorId layer_norm(Builder& b, const std::string& name, TensorId x, double epsilon);
TensorId rms_norm(Builder& b, const std::string& name, TensorId x, double epsilon);
TensorId dropout(Builder& b, TensorId x, double ratio, const std::string& name);  // x itself when the ratio is 0
TensorId add(Builder& b, TensorId x, TensorId y, const std::string& name);
// Rows 0 … count-1 of a table of learned positions. Throws ShapeError if it has fewer.
TensorId position_rows(Builder& b, TensorId table, std::int64_t count, const std::string& name);
// What stands at position 0 of [batch,seq,width]: [batch,width].
TensorId first_token(Builder& b, TensorId x, const std::string& name);
// Logits [batch,seq,vocab] -> [batch·seq,vocab], classes on axis 1 as losses want them.
TensorId flatten_tokens(Builder& b, TensorId logits, const std::string& name);

}  // namespace monet::models
