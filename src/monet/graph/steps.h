#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "monet/graph/graph.h"

// Programs of element-wise steps: what every rule about Steps (op_elementwise.h) is made of.

namespace monet {

// Every value by its number, in the shape and format it is stored in. Throws ShapeError.
std::vector<Tensor> step_values(const Steps& op, std::span<const Tensor* const> inputs);

// By number: the last step that reads the value, its own if none does; of outputs, one behind the last.
std::vector<std::size_t> last_uses(const Steps& op, std::size_t inputs);

// The graph with every program as single nodes. Nodes are called as the tensors they make;
// those between as the program, with a number.
Graph expand_steps(Graph graph);

}  // namespace monet
