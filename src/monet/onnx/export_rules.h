#pragma once
#include "monet/onnx/export_writer.h"

// One rule per operator family: the ONNX nodes it becomes.

namespace monet::exporting {

// export_contraction.cpp
void write(const MatMul& op, Scope& scope);
void write(const Conv& op, Scope& scope);
void write(const Attention& op, Scope& scope);
void write(const AttentionGradient& op, Scope& scope);

// export_elementwise.cpp
void write(const Unary& op, Scope& scope);
void write(const Binary& op, Scope& scope);
void write(const Sum& op, Scope& scope);
void write(const Select& op, Scope& scope);
void write(const Cast& op, Scope& scope);
void write(const Dropout& op, Scope& scope);
void write(const DropoutGradient& op, Scope& scope);
void write(const Reduce& op, Scope& scope);

// export_slope.cpp
void write(const UnaryGradient& op, Scope& scope);

// export_pool.cpp
void write(const Pool& op, Scope& scope);
void write(const PoolGradient& op, Scope& scope);

// export_norm.cpp
void write(const Norm& op, Scope& scope);
void write(const NormGradient& op, Scope& scope);
void write(const NormPart& op, Scope& scope);

// export_loss.cpp
void write(const Lrn& op, Scope& scope);
void write(const LrnGradient& op, Scope& scope);
void write(const Softmax& op, Scope& scope);
void write(const SoftmaxGradient& op, Scope& scope);
void write(const CrossEntropy& op, Scope& scope);
void write(const NegativeLogLikelihood& op, Scope& scope);
void write(const CrossEntropyGradient& op, Scope& scope);
void write(const NegativeLogLikelihoodGradient& op, Scope& scope);

// export_movement.cpp
void write(const View& op, Scope& scope);
void write(const Transpose& op, Scope& scope);
void write(const Expand& op, Scope& scope);
void write(const Concat& op, Scope& scope);
void write(const Split& op, Scope& scope);
void write(const Slice& op, Scope& scope);
void write(const Place& op, Scope& scope);
void write(const Pad& op, Scope& scope);
void write(const PadGradient& op, Scope& scope);
void write(const Gather& op, Scope& scope);
void write(const ScatterAdd& op, Scope& scope);
void write(const Trilu& op, Scope& scope);
void write(const Unfold& op, Scope& scope);
void write(const Fill& op, Scope& scope);
void write(const Iota& op, Scope& scope);

// Shared by functions of one element and their gradients.
Value unary(Scope& scope, const Unary& op, const Value& x);
// Where the slope of Relu, LeakyRelu, Clip or HardSigmoid is the larger one: their mask.
Value larger_slope(Scope& scope, UnaryKind kind, double a, double b, const Value& x);

// Shared by convolutions and pools: the sum over windows run backwards. `y` [N,K,*] is spread with `w` [K,C/g,*] over
// an image of `extent`; padding that would be negative crops or fills.
Value spread(Scope& scope, const Value& y, const Value& w, const Value& bias, const Shape& y_shape, const Ints& kernel,
             const Ints& strides, const Ints& dilations, const Ints& pads_begin, std::int64_t groups,
             const Ints& extent);

}  // namespace monet::exporting
