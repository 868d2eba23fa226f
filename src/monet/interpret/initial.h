#pragma once
#include <optional>

#include "monet/interpret/run.h"

namespace monet {

// The value among `given` for a tensor, null if there is none. ValueError if its shape is not the tensor's.
template <class T>
const Array<T>* given_value(const Tensor& tensor, const Values<T>& given);

// What the graph or `given` says the value of a source is; none if neither does. CopyOf is followed.
template <class T>
std::optional<Array<T>> stated_value(const Graph& graph, TensorId source, const Values<T>& given);

}  // namespace monet
