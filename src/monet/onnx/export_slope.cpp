// Gradients of functions of one element. Where the slope is zero the gradient is zero even if it was infinite: those
// kinds select instead of multiplying.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "monet/onnx/export_rules.h"

namespace monet::exporting {
namespace {

bool is_flat(UnaryKind kind) { return kind >= UnaryKind::Sign; }

bool has_mask(UnaryKind kind) {
  return kind == UnaryKind::Relu || kind == UnaryKind::LeakyRelu || kind == UnaryKind::Clip ||
         kind == UnaryKind::HardSigmoid;
}

bool follows_from_output(UnaryKind kind) {
  return kind == UnaryKind::Relu || kind == UnaryKind::Clip || kind == UnaryKind::Sigmoid || kind == UnaryKind::Tanh ||
         kind == UnaryKind::Exp || kind == UnaryKind::Sqrt || kind == UnaryKind::Rsqrt ||
         kind == UnaryKind::Reciprocal || kind == UnaryKind::Neg;
}

Value masked(Scope& s, const UnaryGradient& op, const Value& dy, const Value& mask) {
  const double larger = op.kind == UnaryKind::HardSigmoid ? op.a : 1;
  const Value otherwise = op.kind == UnaryKind::LeakyRelu ? s.mul(dy, op.a) : s.scalar(0, dy.element);
  return s.where(mask, s.mul(dy, larger), otherwise);
}

// dy times the slope as a function of the output, for the smooth kinds that have one.
Value from_output(Scope& s, UnaryKind kind, const Value& dy, const Value& y) {
  if (kind == UnaryKind::Sigmoid) return s.mul(dy, s.mul(y, s.sub(1, y)));
  if (kind == UnaryKind::Tanh) return s.mul(dy, s.sub(1, s.mul(y, y)));
  if (kind == UnaryKind::Exp) return s.mul(dy, y);
  if (kind == UnaryKind::Sqrt) return s.div(s.mul(dy, 0.5), y);
  if (kind == UnaryKind::Rsqrt) return s.mul(s.mul(dy, -0.5), s.mul(s.mul(y, y), y));
  if (kind == UnaryKind::Reciprocal) return s.mul(s.make("Neg", {dy}), s.mul(y, y));
  return s.make("Neg", {dy});  // Neg
}

Value gelu(Scope& s, const Value& dy, const Value& x) {
  const Value cdf = s.mul(s.add(s.make("Erf", {s.mul(x, 1 / std::numbers::sqrt2)}), 1), 0.5);
  const Value bell = s.make("Exp", {s.mul(s.mul(x, x), -0.5)});
  return s.mul(dy, s.add(cdf, s.mul(s.mul(x, bell), std::numbers::inv_sqrtpi / std::numbers::sqrt2)));
}

Value gelu_tanh(Scope& s, const Value& dy, const Value& x) {
  const double scale = std::sqrt(2 / std::numbers::pi), cubic = 0.044715;
  const Value square = s.mul(x, x);
  const Value tanh = s.make("Tanh", {s.mul(s.add(x, s.mul(s.mul(square, x), cubic)), scale)});
  const Value inner = s.mul(s.add(s.mul(square, 3 * cubic), 1), scale);  // slope of tanh's argument
  const Value outer = s.mul(s.mul(x, s.sub(1, s.mul(tanh, tanh))), inner);
  return s.mul(dy, s.mul(s.add(s.add(tanh, 1), outer), 0.5));
}

Value silu(Scope& s, const Value& dy, const Value& x) {
  const Value sigmoid = s.make("Sigmoid", {x});
  return s.mul(dy, s.mul(sigmoid, s.add(s.mul(x, s.sub(1, sigmoid)), 1)));
}

Value hard_swish(Scope& s, const Value& dy, const Value& x) {
  const Value middle = s.mul(dy, s.add(s.mul(x, 1.0 / 3), 0.5));
  const Value right = s.where(s.compare("GreaterOrEqual", x, s.scalar(3, x.element)), dy, middle);
  return s.where(s.compare("LessOrEqual", x, s.scalar(-3, x.element)), s.scalar(0, dy.element), right);
}

Value from_input(Scope& s, const UnaryGradient& op, const Value& dy, const Value& x) {
  switch (op.kind) {
    case UnaryKind::Relu:
    case UnaryKind::LeakyRelu:
    case UnaryKind::HardSigmoid:
    case UnaryKind::Clip: return masked(s, op, dy, larger_slope(s, op.kind, op.a, op.b, x));
    case UnaryKind::Sigmoid:
    case UnaryKind::Tanh:
    case UnaryKind::Exp:
    case UnaryKind::Sqrt:
    case UnaryKind::Rsqrt:
    case UnaryKind::Reciprocal: return from_output(s, op.kind, dy, unary(s, Unary{op.kind, op.a, op.b}, x));
    case UnaryKind::Neg: return s.make("Neg", {dy});
    case UnaryKind::Gelu: return gelu(s, dy, x);
    case UnaryKind::GeluTanh: return gelu_tanh(s, dy, x);
    case UnaryKind::Silu: return silu(s, dy, x);
    case UnaryKind::HardSwish: return hard_swish(s, dy, x);
    case UnaryKind::Erf:
      return s.mul(s.mul(dy, 2 * std::numbers::inv_sqrtpi), s.make("Exp", {s.make("Neg", {s.mul(x, x)})}));
    case UnaryKind::Log: return s.div(dy, x);
    case UnaryKind::Abs: return s.mul(dy, s.make("Sign", {x}));
    case UnaryKind::Square: return s.mul(s.mul(dy, 2), x);
    case UnaryKind::Sin: return s.mul(dy, s.make("Cos", {x}));
    case UnaryKind::Cos: return s.mul(s.make("Neg", {dy}), s.make("Sin", {x}));
    case UnaryKind::Softplus: return s.mul(dy, s.make("Sigmoid", {x}));
    case UnaryKind::Sign:
    case UnaryKind::Floor:
    case UnaryKind::Ceil:
    case UnaryKind::Round:
    case UnaryKind::Not:
    case UnaryKind::IsFinite: break;  // flat
  }
  return s.filled(s.output(0).shape, 0, dy.element);
}

}  // namespace

void write(const UnaryGradient& op, Scope& s) {
  const Element element = floating(s.input(0).format.element);
  if (is_flat(op.kind)) return s.out(0, s.filled(s.output(0).shape, 0, element));
  if ((op.from == Source::Mask && !has_mask(op.kind)) || (op.from == Source::Output && !follows_from_output(op.kind)))
    s.refuse(fmt::format("the gradient of {} does not follow from its {}", name(op.kind), name(op.from)));
  const Value dy = s.in(0, element);
  switch (op.from) {
    case Source::Mask: return s.out(0, masked(s, op, dy, s.in(1, Element::Bool)));
    case Source::Input: return s.out(0, from_input(s, op, dy, s.in(1, element)));
    case Source::Output:
      if (op.kind == UnaryKind::Relu || op.kind == UnaryKind::Clip)
        return s.out(0, from_input(s, op, dy, s.in(1, element)));
      return s.out(0, from_output(s, op.kind, dy, s.in(1, element)));
  }
}

}  // namespace monet::exporting
