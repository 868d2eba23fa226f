#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "monet/interpret/run.h"

namespace monet {

template <class T>
using Arrays = std::vector<Array<T>>;

// What an operator is evaluated on. `evaluate` has checked the shapes against infer(); what infer() leaves open
// (optional operands, statistics of single passes) is checked where it is read.
template <class T>
struct Call {
  std::span<const Array<T>* const> inputs;
  std::span<const Tensor* const> outputs;
  std::vector<Shape> shapes;  // of every output the operator can have, wanted or not
  std::uint64_t step = 0;

  const Array<T>* maybe(std::size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  const Array<T>& need(std::size_t i) const {
    if (!maybe(i)) throw ValueError("input " + std::to_string(i) + " is missing");
    return *inputs[i];
  }
  // The same for operands whose size infer() does not check.
  const T* sized(std::size_t i, std::int64_t count) const {
    const Array<T>& array = need(i);
    if (std::ssize(array.data) != count)
      throw ValueError("input " + std::to_string(i) + " has " + std::to_string(array.data.size()) + " elements, not " +
                       std::to_string(count));
    return array.data.data();
  }
  const T* sized_or_null(std::size_t i, std::int64_t count) const { return maybe(i) ? sized(i, count) : nullptr; }

  bool wanted(std::size_t i) const { return i < outputs.size() && outputs[i]; }
  bool holds_integers() const { return wanted(0) && is_integer(outputs[0]->format.element); }
  Array<T> zeros(std::size_t i) const {
    return {shapes[i], std::vector<T>(static_cast<std::size_t>(elements(shapes[i])))};
  }
};

}  // namespace monet
