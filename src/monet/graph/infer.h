#pragma once
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "monet/graph/graph.h"

namespace monet {

// Operands that do not fit an operator. Whoever knows the place (a file, a node) turns it into a Diagnostic.
class ShapeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct OutputType {
  Shape shape;
  Format format;
  std::string_view suffix;                // appended to the node's name for outputs after the first
  std::optional<Category> category = {};  // none: that of the phase (activation, gradient, workspace)
};

// Shape, format and kind of every output the operator can have, absent ones included. Absent inputs are null.
// Throws ShapeError. (Fallback has no rule: its outputs are given.)
std::vector<OutputType> infer(const Op& op, std::span<const Tensor* const> inputs);

// At most 64 dimensions, every extent at least 1 and no more than 2^48 elements in all, so that no later product
// overflows; else ShapeError.
void check_shape(const Shape& shape);

// Whether a result of format `made` can be stored as `stored`: a float in any float format, block formats included, a
// truth value in a byte or a bit, all else as it is.
bool can_store(Format made, Format stored);

// The shape two operands broadcast to, or ShapeError.
Shape broadcast(const Shape& a, const Shape& b);

// Spatial size of a convolution or pooling output along one axis.
std::int64_t window_count(std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                          std::int64_t pad_begin, std::int64_t pad_end, bool ceil);

}  // namespace monet
