#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monet/cost/layer.h"
#include "monet/hardware/hardware.h"
#include "monet/work/work.h"

namespace monet::schedule {

// Layers as Stream's front end makes them of an ONNX model (its version of July 2025): what it names dimensions, which
// operands are constants, what is free. docs/stream.md has the rules, numbered L1 …

// Thrown where Stream would give up, and caught by whoever says so in its result.
struct StreamStop {
  std::string reason;
};

// One operator of the model, by the names of its tensors.
struct StreamOperator {
  std::string name{};
  std::string type{};  // Conv, Relu, …
  std::vector<std::string> inputs{}, outputs{};
  std::map<std::string, std::vector<std::int64_t>> attributes{};  // the whole numbers among them
  bool operator==(const StreamOperator&) const = default;
};

struct StreamModel {
  std::vector<StreamOperator> operators{};  // in the order of the file
  std::map<std::string, std::vector<std::int64_t>> shapes{};
  std::map<std::string, std::vector<std::int64_t>> integers{};  // values of small constants: shapes, indices, axes
  bool operator==(const StreamModel&) const = default;
};

// An axis of an input that two loops run along: index = step_a · a + step_b · b - padding.
struct StreamRelation {
  std::string name{};  // IX, IY
  std::size_t a = 0, b = 0;
  std::int64_t step_a = 1, step_b = 1;
  std::int64_t padding = 0;  // before the first element
  std::int64_t extent = 1;   // of what is stored, whatever the tile
  bool operator==(const StreamRelation&) const = default;
};

struct StreamLayerOperand {
  std::string name{};  // O, W, I
  hardware::Slot slot = hardware::Slot::Input;
  std::int64_t bits = 8, partial_bits = 8;
  std::vector<std::size_t> axes{};  // a dimension, or dimensions.size() + a relation
  bool is_constant = false;
  bool is_partly_constant = false;       // a cache that grows
  std::optional<std::int64_t> source{};  // layer that makes it
  bool operator==(const StreamLayerOperand&) const = default;
};

enum class StreamLayerKind {
  Compute,
  Free,  // costs nothing, passes its input on
  Reshape,
  Flatten,
  Transpose,
  Slice,
  ConcatConstant,
  Split,
  Gather,
  Pass,  // as Free, but its neighbours are joined element by element
};

struct StreamLayer {
  std::int64_t id = 0;
  std::string name{};
  std::string type{};           // conv, pooling, relu, …: decides the default tiling and cycles per operation
  std::string operator_type{};  // of the model: mapping files choose by it
  StreamLayerKind kind = StreamLayerKind::Compute;
  std::vector<work::Dimension> dimensions{};
  std::vector<StreamRelation> relations{};
  std::vector<StreamLayerOperand> operands{};    // the output first, then in the order of the equation
  std::vector<std::size_t> constants{};          // operands, in the order of their own
  std::vector<std::size_t> sourced{};            // likewise those with a source
  std::vector<std::int64_t> before{};            // layers whose results it takes
  std::vector<std::string> inputs{}, outputs{};  // tensors
  // Of those that only move: the new shape, the permutation, where to cut, sizes of the parts, indices.
  std::vector<std::int64_t> numbers{};
  std::int64_t axis = 0, from = 0, to = 0, step = 1;
  bool operator==(const StreamLayer&) const = default;
};

struct StreamLayers {
  std::vector<StreamLayer> layers{};  // layers[i].id == i
  std::string failure{};              // why Stream would stop
};

StreamLayers stream_layers(const StreamModel& model);

// ---- What the loops of a layer mean for an operand ----

// Of an operand: dimensions that do not change it. None of those that a relation joins, if it has an axis along one.
std::vector<std::size_t> irrelevant_dimensions(const StreamLayer& layer, const StreamLayerOperand& operand,
                                               const std::vector<std::int64_t>& sizes);

// Bits of an operand for `sizes` of the dimensions, sums in their own format.
std::int64_t operand_bits(const StreamLayer& layer, const StreamLayerOperand& operand,
                          const std::vector<std::int64_t>& sizes);

// The part of a layer with `sizes` as the cost model takes it.
cost::Layer cost_layer(const StreamLayer& layer, const std::vector<std::int64_t>& sizes);

}  // namespace monet::schedule
