#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "monet/onnx/operators.h"

// Operators without a rule. Their results keep the right shape where it is known, so that the rest of the model imports
// as it should; their cost is an estimate by class.

namespace monet {
namespace {

CostClass cost_of(std::string_view type) {
  static constexpr auto kMovement = std::to_array<std::string_view>(
      {"ScatterND", "ScatterElements", "Scatter", "GatherElements", "GatherND", "ReverseSequence", "Compress",
       "NonZero", "Unique", "Col2Im", "CenterCropPad", "Pad"});
  static constexpr auto kReduction = std::to_array<std::string_view>(
      {"ArgMax", "ArgMin", "TopK", "CumSum", "ReduceProd", "LpPool", "GlobalLpPool", "LSTM", "GRU", "RNN", "Hardmax",
       "NonMaxSuppression", "RoiAlign", "MaxRoiPool", "Einsum", "Det", "MaxPool", "MeanVarianceNormalization"});
  const auto in = [&](const auto& list) { return std::find(list.begin(), list.end(), type) != list.end(); };
  return in(kMovement) ? CostClass::Movement : in(kReduction) ? CostClass::Reduction : CostClass::Elementwise;
}

OutputType like(Shape shape, Format format) { return {std::move(shape), format, "", std::nullopt}; }

// (X [seq, batch, input], W, R, …) -> (Y [seq, directions, batch, hidden], Y_h, Y_c)
std::vector<OutputType> recurrent(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0), r = c.need(call, 2);
  if (c.rank(x) != 3 || c.rank(r) != 3) throw ModelError("expects [seq, batch, input] and weights of rank 3");
  const bool batch_first = call.attributes.integer("layout", 0) != 0;
  const std::int64_t steps = c.shape(x)[batch_first ? 1 : 0], batch = c.shape(x)[batch_first ? 0 : 1];
  const std::int64_t directions = c.shape(r)[0], hidden = c.shape(r)[2];
  const Format format = c[x].format;
  const Shape state = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  const Shape all = batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden};
  return {like(all, format), like(state, format), like(state, format)};
}

std::vector<OutputType> arg_extreme(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const std::int64_t axis = normal_axis(call.attributes.integer("axis", 0), c.rank(x));
  Shape shape = c.shape(x);
  if (call.attributes.integer("keepdims", 1) != 0)
    shape[static_cast<std::size_t>(axis)] = 1;
  else
    shape.erase(shape.begin() + axis);
  return {like(shape, Format{Element::I64})};
}

std::vector<OutputType> top_k(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const std::int64_t axis = normal_axis(call.attributes.integer("axis", -1), c.rank(x));
  Shape shape = c.shape(x);
  shape[static_cast<std::size_t>(axis)] =
      call.opset < 10 ? call.attributes.integer("k") : to_integer(c.number(c.need(call, 1), "k"));
  return {like(shape, c[x].format), like(shape, Format{Element::I64})};
}

std::vector<OutputType> resized(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const bool old = call.type == "Upsample" || call.opset < 11;
  const OperandId scales = call.input(old ? 1 : 2), sizes = old ? kNoOperand : call.input(3);
  Ints axes(c.shape(x).size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  axes = call.attributes.integers("axes").value_or(axes);
  const bool sized = sizes != kNoOperand && elements(c.shape(sizes)) > 0;
  if (!sized && scales == kNoOperand) throw ModelError("neither scales nor sizes are given");
  const std::vector<double> given = c.numbers(sized ? sizes : scales, sized ? "sizes" : "scales");
  if (given.size() != axes.size()) throw ModelError("needs one scale per axis");
  Shape shape = c.shape(x);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto& extent = shape[static_cast<std::size_t>(normal_axis(axes[i], c.rank(x)))];
    extent = to_integer(sized ? given[i] : given[i] * static_cast<double>(extent));
  }
  return {like(shape, c[x].format)};
}

std::vector<OutputType> as_input(Converter& c, const OnnxCall& call, std::size_t shape, std::size_t format) {
  return {like(c.shape(c.need(call, shape)), c[c.need(call, format)].format)};
}

// Shapes of common operators; none: the file has to say.
std::optional<std::vector<OutputType>> known_outputs(Converter& c, const OnnxCall& call) {
  static constexpr auto kSame = std::to_array<std::string_view>({"CumSum",
                                                                 "ScatterND",
                                                                 "ScatterElements",
                                                                 "Scatter",
                                                                 "Hardmax",
                                                                 "ThresholdedRelu",
                                                                 "Shrink",
                                                                 "Acos",
                                                                 "Asin",
                                                                 "Atan",
                                                                 "Tan",
                                                                 "Sinh",
                                                                 "Cosh",
                                                                 "Acosh",
                                                                 "Asinh",
                                                                 "Atanh",
                                                                 "ReverseSequence",
                                                                 "MeanVarianceNormalization",
                                                                 "RandomNormalLike",
                                                                 "RandomUniformLike",
                                                                 "BatchNormalization",
                                                                 "BitwiseNot"});
  const std::string& type = call.type;
  if (type == "LSTM" || type == "GRU" || type == "RNN") return recurrent(c, call);
  if (type == "ArgMax" || type == "ArgMin") return arg_extreme(c, call);
  if (type == "TopK") return top_k(c, call);
  if (type == "Resize" || type == "Upsample") return resized(c, call);
  if (type == "GatherElements") return as_input(c, call, 1, 0);
  if (type == "IsInf") return std::vector{like(c.shape(c.need(call, 0)), Format{Element::Bool})};
  if (std::find(kSame.begin(), kSame.end(), type) != kSame.end()) return as_input(c, call, 0, 0);
  return std::nullopt;
}

}  // namespace

void convert_fallback(Converter& converter, const OnnxCall& call, const std::string& reason) {
  converter.note_fallback(call, reason);
  std::vector<OutputType> types;
  const auto known = known_outputs(converter, call);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const auto stated = converter.stated().shape(call.out[i]);
    const auto element = converter.stated().element(call.out[i]);
    if (known && i < known->size()) {
      types.push_back((*known)[i]);
    } else if (stated) {
      types.push_back(like(*stated, Format{element.value_or(Element::F32)}));
    } else {
      const OperandId first = converter.need(call, 0);
      types.push_back(like(converter.shape(first), element ? Format{*element} : converter[first].format));
      if (!call.out[i].empty()) converter.note_guess(call.out[i]);
    }
  }
  converter.add_fallback(call, Fallback{call.type, cost_of(call.proto.op_type())}, types);
}

}  // namespace monet
