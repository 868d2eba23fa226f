#pragma once
#include "monet/interpret/call.h"

// One function per operator; `evaluate` picks. Operators with one output return it, the others return a list as long
// as Call::outputs with the unwanted ones left empty.

namespace monet {

// contraction.cpp
template <class T>
Array<T> apply(const MatMul& op, const Call<T>& call);
template <class T>
Array<T> apply(const Conv& op, const Call<T>& call);
template <class T>
Array<T> apply(const Unfold& op, const Call<T>& call);

// unary.cpp
template <class T>
Arrays<T> apply(const Unary& op, const Call<T>& call);
template <class T>
Array<T> apply(const UnaryGradient& op, const Call<T>& call);

// elementwise.cpp
template <class T>
Array<T> apply(const Binary& op, const Call<T>& call);
template <class T>
Array<T> apply(const Sum& op, const Call<T>& call);
template <class T>
Array<T> apply(const Select& op, const Call<T>& call);
template <class T>
Array<T> apply(const Cast& op, const Call<T>& call);
template <class T>
Arrays<T> apply(const Dropout& op, const Call<T>& call);
template <class T>
Array<T> apply(const DropoutGradient& op, const Call<T>& call);

// steps.cpp
template <class T>
Arrays<T> apply(const Steps& op, const Call<T>& call);

// reduce.cpp
template <class T>
Array<T> apply(const Reduce& op, const Call<T>& call);
template <class T>
Array<T> apply(const Softmax& op, const Call<T>& call);
template <class T>
Array<T> apply(const SoftmaxGradient& op, const Call<T>& call);

// pool.cpp
template <class T>
Arrays<T> apply(const Pool& op, const Call<T>& call);
template <class T>
Array<T> apply(const PoolGradient& op, const Call<T>& call);

// norm.cpp
template <class T>
Arrays<T> apply(const Norm& op, const Call<T>& call);
template <class T>
Arrays<T> apply(const NormGradient& op, const Call<T>& call);
template <class T>
Arrays<T> apply(const NormPart& op, const Call<T>& call);

// lrn.cpp
template <class T>
Array<T> apply(const Lrn& op, const Call<T>& call);
template <class T>
Array<T> apply(const LrnGradient& op, const Call<T>& call);

// attention.cpp
template <class T>
Arrays<T> apply(const Attention& op, const Call<T>& call);
template <class T>
Arrays<T> apply(const AttentionGradient& op, const Call<T>& call);

// loss.cpp
template <class T>
Arrays<T> apply(const CrossEntropy& op, const Call<T>& call);
template <class T>
Array<T> apply(const NegativeLogLikelihood& op, const Call<T>& call);
template <class T>
Array<T> apply(const CrossEntropyGradient& op, const Call<T>& call);
template <class T>
Array<T> apply(const NegativeLogLikelihoodGradient& op, const Call<T>& call);

// movement.cpp
template <class T>
Array<T> apply(const View& op, const Call<T>& call);
template <class T>
Array<T> apply(const Transpose& op, const Call<T>& call);
template <class T>
Array<T> apply(const Expand& op, const Call<T>& call);
template <class T>
Array<T> apply(const Concat& op, const Call<T>& call);
template <class T>
Arrays<T> apply(const Split& op, const Call<T>& call);
template <class T>
Array<T> apply(const Slice& op, const Call<T>& call);
template <class T>
Array<T> apply(const Place& op, const Call<T>& call);
template <class T>
Array<T> apply(const Pad& op, const Call<T>& call);
template <class T>
Array<T> apply(const PadGradient& op, const Call<T>& call);
template <class T>
Array<T> apply(const Gather& op, const Call<T>& call);
template <class T>
Array<T> apply(const ScatterAdd& op, const Call<T>& call);
template <class T>
Array<T> apply(const Trilu& op, const Call<T>& call);
template <class T>
Array<T> apply(const Fill& op, const Call<T>& call);
template <class T>
Array<T> apply(const Iota& op, const Call<T>& call);

}  // namespace monet
