#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "monet/interpret/array.h"

namespace monet {

// Numbers an operator cannot work on: an index out of range, a missing source.
class ValueError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One operator on numbers. Absent inputs and unwanted outputs are null; outputs give shape and element type.
// `step` is the iteration, from which dropout draws. Formats do not round: everything is computed in T
// (casts to integers and truth values excepted).
template <class T>
std::vector<Array<T>> evaluate(const Op& op, std::span<const Array<T>* const> inputs,
                               std::span<const Tensor* const> outputs, std::uint64_t step = 0);

struct RunOptions {
  std::uint64_t step = 0;
  std::vector<TensorId> keep;  // returned beside the graph's outputs; the rest is freed after its last use
};

// Runs every node in order. `sources` holds every source tensor that the graph gives no initial value.
template <class T>
Values<T> run(const Graph& graph, const Values<T>& sources, const RunOptions& options = {});

// Values for every source tensor: those the graph states (Splat, Dense, Triangle, Rotary, CopyOf), and for the
// others reproducible random ones from `seed`: weights normal with deviation 1/sqrt(fan-in), inputs normal,
// labels and tokens uniform over the range their readers allow. `given` takes precedence.
template <class T>
Values<T> initial_values(const Graph& graph, std::uint64_t seed, const Values<T>& given = {});

}  // namespace monet
