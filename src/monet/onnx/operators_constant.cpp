#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "monet/onnx/operators.h"

// Values that do not depend on data: constants, shapes, ranges; and branches decided by them.

namespace monet {
namespace {

const std::string& output(const OnnxCall& call) {
  if (call.out.empty() || call.out[0].empty()) throw ModelError("has no outputs");
  return call.out[0];
}

void constant(Converter& c, const OnnxCall& call) {
  const std::string& name = output(call);
  if (const auto* tensor = call.attributes.tensor("value")) {
    c.stored(name, *tensor, true);
  } else if (call.attributes.has("value_float")) {
    c.constant(name, {}, Element::F32, {call.attributes.real("value_float", 0)});
  } else if (call.attributes.has("value_int")) {
    c.constant(name, {}, Element::I64, {static_cast<double>(call.attributes.integer("value_int"))});
  } else if (const auto reals = call.attributes.reals("value_floats")) {
    c.constant(name, {std::ssize(*reals)}, Element::F32, *reals);
  } else if (const auto whole = call.attributes.integers("value_ints")) {
    c.constant(name, {std::ssize(*whole)}, Element::I64, {whole->begin(), whole->end()});
  } else {
    throw ModelError("its value is missing or of a type that is not supported");
  }
}

void constant_of_shape(Converter& c, const OnnxCall& call) {
  Fill fill;
  fill.shape = c.integers(c.need(call, 0), "shape");
  fill.element = Element::F32;
  if (const auto* tensor = call.attributes.tensor("value")) {
    const Stored stored = inspect(*tensor, {});
    if (elements(stored.shape) != 1 || !stored.has_numbers()) throw ModelError("value should be one number");
    fill.element = stored.element;
    fill.value = decode(stored)[0];
  }
  for (const std::int64_t extent : fill.shape)
    if (extent < 0) throw ModelError(fmt::format("shape {} has a negative size", to_string(fill.shape)));
  if (std::find(fill.shape.begin(), fill.shape.end(), 0) != fill.shape.end()) {
    c.constant(output(call), fill.shape, fill.element, {});
    return;
  }
  check_shape(fill.shape);
  c.finish(call, fill, {});
}

void range(Converter& c, const OnnxCall& call) {
  const OperandId first = c.need(call, 0);
  Iota op;
  op.element = c[first].format.element;
  op.start = c.number(first, "start");
  const double limit = c.number(c.need(call, 1), "limit");
  op.step = c.number(c.need(call, 2), "delta");
  const double count = std::ceil((limit - op.start) / op.step);
  if (std::isnan(count) || op.step == 0) throw ModelError("the step is 0");
  if (count > 0x1p48) throw ModelError(fmt::format("a range of {} numbers", count));
  op.count = count > 0 ? static_cast<std::int64_t>(count) : 0;
  if (op.count == 0)
    c.constant(output(call), {0}, op.element, {});
  else
    c.finish(call, op, {});
}

void shape_rule(Converter& c, const OnnxCall& call) {
  const Shape& shape = c.shape(c.need(call, 0));
  const auto place = [&](const char* name, std::int64_t otherwise) {
    std::int64_t i = call.attributes.integer(name, otherwise);
    if (i < 0) i += std::ssize(shape);
    return std::clamp<std::int64_t>(i, 0, std::ssize(shape));
  };
  const std::int64_t start = place("start", 0), end = std::max(start, place("end", std::ssize(shape)));
  const std::vector<double> numbers(shape.begin() + start, shape.begin() + end);
  c.constant(output(call), {std::ssize(numbers)}, Element::I64, numbers);
}

void size_rule(Converter& c, const OnnxCall& call) {
  c.constant(output(call), {}, Element::I64, {static_cast<double>(elements(c.shape(c.need(call, 0))))});
}

// A condition on shapes is known by now: the branch taken stands in the If's place.
void if_rule(Converter& c, const OnnxCall& call) {
  const OperandId condition = c.need(call, 0);
  if (!c.knows(condition)) throw UnsupportedUse("a condition on data");
  const bool taken = c.number(condition, "the condition") != 0;
  const auto* branch = call.attributes.graph(taken ? "then_branch" : "else_branch");
  if (!branch) throw ModelError("a branch is missing");
  c.convert_branch(call, *branch);
}

}  // namespace

std::span<const OperatorRule> constant_rules() {
  static constexpr auto kRules = std::to_array<OperatorRule>({
      {"Constant", constant},
      {"ConstantOfShape", constant_of_shape},
      {"Range", range},
      {"Shape", shape_rule},
      {"Size", size_rule},
      {"If", if_rule},
  });
  return kRules;
}

}  // namespace monet
