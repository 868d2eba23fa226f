#include "monet/cost/forms.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

namespace monet::cost {
namespace {

using work::Axis;
using work::LoopNest;
using work::Role;
using work::Term;

const work::Operand* output_of(const LoopNest& nest) {
  for (const work::Operand& o : nest.operands)
    if (o.role == Role::Output) return &o;
  return nullptr;
}

// Which of the two dimensions of an output axis an input has an axis of its own along: the one the window moves by.
std::optional<std::size_t> moving_term(const LoopNest& nest, const Axis& axis) {
  for (std::size_t t = 0; t < 2; ++t)
    for (const work::Operand& o : nest.operands)
      if (o.role == Role::Input)
        for (const Axis& a : o.axes)
          if (a.terms.size() == 1 && a.terms[0].dimension == axis.terms[t].dimension) return t;
  return std::nullopt;
}

// One class of an output axis: the positions i = s·j + r. Of i = s·o + d·f + offset follows d·f = r - offset (mod s):
// taps f = f0 + m·t, and o = j + (r - offset - d·f0) / s - (d·m / s)·t. None, if no tap reaches the class.
std::optional<LoopNest> with_remainder(const LoopNest& nest, std::size_t output, std::size_t axis_index,
                                       std::size_t moving, std::int64_t r) {
  const Axis axis = nest.operands[output].axes[axis_index];
  const Term move = axis.terms[moving], window = axis.terms[1 - moving];
  const std::int64_t s = move.coefficient, d = window.coefficient, taps = nest.dimensions[window.dimension].size;
  const std::int64_t step = s / std::gcd(s, d);
  std::int64_t first = 0;
  while (first < std::min(step, taps) && (r - axis.offset - d * first) % s != 0) ++first;
  if (first >= std::min(step, taps)) return std::nullopt;
  LoopNest result = nest;
  const std::int64_t elements = nest.dimensions[move.dimension].size;
  result.dimensions[window.dimension].size = (taps - first + step - 1) / step;
  result.dimensions[move.dimension].size = (axis.extent - r + s - 1) / s;
  if (std::string& name = result.dimensions[move.dimension].name; !name.empty() && name[0] == 'O') name[0] = 'I';
  for (work::Operand& o : result.operands)
    for (Axis& a : o.axes) {
      if (a.terms.size() != 1) continue;
      if (o.role == Role::Input && a.terms[0].dimension == move.dimension)
        a = {elements, (r - axis.offset - d * first) / s, {{move.dimension, 1}, {window.dimension, -(d * step / s)}}};
      else if (o.role == Role::Weight && a.terms[0].dimension == window.dimension)
        a.extent = result.dimensions[window.dimension].size;  // the taps of this class, side by side
    }
  result.operands[output].axes[axis_index] = {result.dimensions[move.dimension].size, 0, {{move.dimension, 1}}};
  return result;
}

}  // namespace

bool is_scattered(const LoopNest& nest) {
  const work::Operand* output = output_of(nest);
  return output && std::any_of(output->axes.begin(), output->axes.end(), [&](const Axis& axis) {
           return axis.terms.size() == 2 && moving_term(nest, axis).has_value();
         });
}

LoopNest gathered(const LoopNest& nest) {
  LoopNest result = nest;
  for (work::Operand& output : result.operands) {
    if (output.role != Role::Output) continue;
    for (Axis& axis : output.axes) {
      if (axis.terms.size() != 2) continue;
      const std::optional<std::size_t> moving = moving_term(nest, axis);
      if (!moving) continue;
      const Term move = axis.terms[*moving], window = axis.terms[1 - *moving];
      work::Dimension& dimension = result.dimensions[move.dimension];
      // i = s·o + d·f + offset, so s·o = i - d·f - offset: an index of the gradient spread out by s.
      for (work::Operand& input : result.operands)
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

std::vector<LoopNest> gathered_by_remainder(const LoopNest& nest) {
  std::vector<LoopNest> classes{nest};
  const work::Operand* output = output_of(nest);
  if (output == nullptr) return classes;
  const auto operand = static_cast<std::size_t>(output - nest.operands.data());
  for (std::size_t a = 0; a < output->axes.size(); ++a) {
    const Axis& axis = output->axes[a];
    const auto moving = axis.terms.size() == 2 ? moving_term(nest, axis) : std::nullopt;
    if (!moving) continue;
    std::vector<LoopNest> split;
    for (const LoopNest& whole : classes)
      for (std::int64_t r = 0; r < std::min(axis.terms[*moving].coefficient, axis.extent); ++r)
        if (auto part = with_remainder(whole, operand, a, *moving, r)) split.push_back(std::move(*part));
    classes = std::move(split);
  }
  return classes;
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
