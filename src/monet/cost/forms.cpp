#include "monet/cost/forms.h"

#include <algorithm>
#include <optional>

namespace monet::cost {
namespace {

using work::Axis;
using work::LoopNest;
using work::Operand;
using work::Role;
using work::Term;

const Operand* output_of(const LoopNest& nest) {
  for (const Operand& o : nest.operands)
    if (o.role == Role::Output) return &o;
  return nullptr;
}

// Which of the two dimensions of an output axis an input has an axis of its own along: the one the window moves by.
std::optional<std::size_t> moving_term(const LoopNest& nest, const Axis& axis) {
  for (std::size_t t = 0; t < 2; ++t)
    for (const Operand& o : nest.operands)
      if (o.role == Role::Input)
        for (const Axis& a : o.axes)
          if (a.terms.size() == 1 && a.terms[0].dimension == axis.terms[t].dimension) return t;
  return std::nullopt;
}

}  // namespace

bool is_scattered(const LoopNest& nest) {
  const Operand* output = output_of(nest);
  return output && std::any_of(output->axes.begin(), output->axes.end(), [&](const Axis& axis) {
           return axis.terms.size() == 2 && moving_term(nest, axis).has_value();
         });
}

LoopNest gathered(const LoopNest& nest) {
  LoopNest result = nest;
  for (Operand& output : result.operands) {
    if (output.role != Role::Output) continue;
    for (Axis& axis : output.axes) {
      if (axis.terms.size() != 2) continue;
      const std::optional<std::size_t> moving = moving_term(nest, axis);
      if (!moving) continue;
      const Term move = axis.terms[*moving], window = axis.terms[1 - *moving];
      work::Dimension& dimension = result.dimensions[move.dimension];
      // i = s·o + d·f + offset, so s·o = i - d·f - offset: an index of the gradient spread out by s.
      for (Operand& input : result.operands)
        for (Axis& a : input.axes)
          if (input.role == Role::Input && a.terms.size() == 1 && a.terms[0].dimension == move.dimension) {
            a.extent = move.coefficient * (dimension.size - 1) + 1;
            a.offset = -axis.offset;
            a.terms = {{move.dimension, 1}, {window.dimension, -window.coefficient}};
          }
      dimension.size = axis.extent;
      if (!dimension.name.empty() && dimension.name[0] == 'O') dimension.name[0] = 'I';
      axis.offset = 0;
      axis.terms = {{move.dimension, 1}};
    }
  }
  return result;
}

LoopNest form_on(const LoopNest& nest, const hardware::Array& array) {
  if (!is_scattered(nest)) return nest;
  bool strided = false;
  for (const Axis& axis : output_of(nest)->axes)
    if (axis.terms.size() == 2)
      if (const auto moving = moving_term(nest, axis)) strided = strided || axis.terms[*moving].coefficient != 1;
  return strided && array.skips_zeros ? nest : gathered(nest);
}

}  // namespace monet::cost
