#pragma once
#include <string_view>

#include "monet/onnx/converter.h"

// One rule per ONNX operator: reads the call, adds nodes to the converter. Tables are in operators_*.cpp.

namespace monet {

struct OperatorRule {
  std::string_view type;  // "Conv", "com.microsoft:Gelu"
  void (*convert)(Converter& converter, const OnnxCall& call);
};

std::span<const OperatorRule> elementwise_rules();
std::span<const OperatorRule> contraction_rules();
std::span<const OperatorRule> pooling_rules();
std::span<const OperatorRule> normalisation_rules();
std::span<const OperatorRule> reduction_rules();
std::span<const OperatorRule> movement_rules();
std::span<const OperatorRule> constant_rules();
std::span<const OperatorRule> training_rules();
std::span<const OperatorRule> known_rules();

// Null if there is none.
const OperatorRule* find_rule(std::string_view type);

// What is left: an operator whose cost is estimated. Shapes come from a small set of known operators, the file, or
// the first input.
void convert_fallback(Converter& converter, const OnnxCall& call, const std::string& reason);

// ---- Shared by several files of rules ----

struct Window {
  Ints strides, dilations, begin, end;
};
// strides, dilations, pads and auto_pad of a convolution or pooling of x by `kernel`
Window read_window(const OnnxCall& call, const Shape& x, const Ints& kernel);
// The axes of a reduction: an input since opset 13 or 18, an attribute before; ascending. None: not given.
std::optional<Ints> read_axes(Converter& converter, const OnnxCall& call, std::int64_t rank);
OperandId reshape(Converter& converter, const OnnxCall& call, OperandId x, Shape shape, std::string_view part);

}  // namespace monet
