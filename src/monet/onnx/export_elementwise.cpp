// Functions of one or several elements, casts, dropout, reductions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "monet/onnx/export_rules.h"

namespace monet::exporting {
namespace {

// The type both operands are compared or combined in, so that neither loses anything.
Element common(Element a, Element b) {
  if (is_float(a) && is_float(b)) {
    if (a == Element::F64 || b == Element::F64) return Element::F64;
    return a == Element::F16 && b == Element::F16 ? Element::F16 : Element::F32;
  }
  if (is_float(a) || is_float(b)) return floating(is_float(a) ? a : b);
  return a == Element::I32 && b == Element::I32 ? Element::I32 : Element::I64;
}

// Whether ONNX defines the function on integers.
bool works_on_integers(UnaryKind kind) {
  return kind == UnaryKind::Neg || kind == UnaryKind::Abs || kind == UnaryKind::Square || kind == UnaryKind::Sign ||
         kind == UnaryKind::Clip || kind == UnaryKind::Relu;
}

Value gelu(Scope& s, const Value& x) {
  const Value erf = s.make("Erf", {s.mul(x, 1 / std::numbers::sqrt2)});
  return s.mul(s.mul(x, 0.5), s.add(erf, 1));
}

Value gelu_tanh(Scope& s, const Value& x) {
  const Value cubic = s.mul(s.mul(s.mul(x, x), x), 0.044715);
  const Value tanh = s.make("Tanh", {s.mul(s.add(x, cubic), std::sqrt(2 / std::numbers::pi))});
  return s.mul(s.mul(x, 0.5), s.add(tanh, 1));
}

// Neither infinities nor what is no number are below infinity.
Value is_finite(Scope& s, const Value& x) {
  return s.compare("Less", s.make("Abs", {x}), s.scalar(std::numeric_limits<double>::infinity(), x.element));
}

Value clip(Scope& s, const Value& x, double a, double b) {
  return s.make("Clip", {x, s.scalar(a, x.element), s.scalar(b, x.element)});
}

Value value(Scope& s, const Unary& op, const Value& x) {
  const std::vector<Value> one{x};
  switch (op.kind) {
    case UnaryKind::Relu:
      return x.element == Element::I64 ? s.make("Max", {x, s.scalar(0, x.element)}) : s.make("Relu", one);
    case UnaryKind::LeakyRelu: return s.make("LeakyRelu", one, {{"alpha", op.a}});
    case UnaryKind::Gelu: return gelu(s, x);
    case UnaryKind::GeluTanh: return gelu_tanh(s, x);
    case UnaryKind::Silu: return s.mul(x, s.make("Sigmoid", one));
    case UnaryKind::Sigmoid: return s.make("Sigmoid", one);
    case UnaryKind::Tanh: return s.make("Tanh", one);
    case UnaryKind::HardSwish: return s.make("HardSwish", one);
    case UnaryKind::HardSigmoid: return s.make("HardSigmoid", one, {{"alpha", op.a}, {"beta", op.b}});
    case UnaryKind::Clip: return clip(s, x, op.a, op.b);
    case UnaryKind::Erf: return s.make("Erf", one);
    case UnaryKind::Exp: return s.make("Exp", one);
    case UnaryKind::Log: return s.make("Log", one);
    case UnaryKind::Sqrt: return s.make("Sqrt", one);
    case UnaryKind::Rsqrt: return s.make("Reciprocal", {s.make("Sqrt", one)});
    case UnaryKind::Reciprocal: return s.make("Reciprocal", one);
    case UnaryKind::Neg: return s.make("Neg", one);
    case UnaryKind::Abs: return s.make("Abs", one);
    case UnaryKind::Square: return s.mul(x, x);
    case UnaryKind::Sin: return s.make("Sin", one);
    case UnaryKind::Cos: return s.make("Cos", one);
    case UnaryKind::Softplus: return s.make("Softplus", one);
    case UnaryKind::Sign: return s.make("Sign", one);
    case UnaryKind::Floor: return s.make("Floor", one);
    case UnaryKind::Ceil: return s.make("Ceil", one);
    case UnaryKind::Round: return s.make("Round", one);
    case UnaryKind::Not: return s.make("Not", {s.cast(x, Element::Bool)});
    case UnaryKind::IsFinite: return is_finite(s, x);
  }
  return x;
}

std::string_view onnx_name(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::Add: return "Add";
    case BinaryKind::Sub: return "Sub";
    case BinaryKind::Mul: return "Mul";
    case BinaryKind::Div: return "Div";
    case BinaryKind::Pow: return "Pow";
    case BinaryKind::Max: return "Max";
    case BinaryKind::Min: return "Min";
    case BinaryKind::Mod: return "Mod";
    case BinaryKind::ExpDifference: return "Sub";
    case BinaryKind::Equal: return "Equal";
    case BinaryKind::Less: return "Less";
    case BinaryKind::LessEqual: return "LessOrEqual";
    case BinaryKind::Greater: return "Greater";
    case BinaryKind::GreaterEqual: return "GreaterOrEqual";
    case BinaryKind::And: return "And";
    case BinaryKind::Or: return "Or";
    case BinaryKind::Xor: return "Xor";
  }
  return "";
}

}  // namespace

Value larger_slope(Scope& s, UnaryKind kind, double a, double b, const Value& x) {
  const auto constant = [&](double value) { return s.scalar(value, x.element); };
  if (kind == UnaryKind::Clip)
    return s.make("And", {s.compare("Greater", x, constant(a)), s.compare("Less", x, constant(b))});
  if (kind == UnaryKind::HardSigmoid) {
    const Value line = s.add(s.mul(x, a), b);
    return s.make("And", {s.compare("Greater", line, constant(0)), s.compare("Less", line, constant(1))});
  }
  return s.compare("Greater", x, constant(0));
}

Value unary(Scope& s, const Unary& op, const Value& x) { return value(s, op, x); }

void write(const Unary& op, Scope& s) {
  const Element stored = s.input(0).format.element;
  if (op.kind == UnaryKind::Not) return s.out(0, value(s, op, s.in(0)));
  const Value x = s.in(0, works_on_integers(op.kind) ? arithmetic(stored) : floating(stored));
  if (s.wanted(0)) s.out(0, value(s, op, x));
  if (s.wanted(1)) s.out(1, larger_slope(s, op.kind, op.a, op.b, x));
}

void write(const Binary& op, Scope& s) {
  const std::string_view type = onnx_name(op.kind);
  const Element stored_a = s.input(0).format.element, stored_b = s.input(1).format.element;
  if (op.kind >= BinaryKind::And) return s.out(0, s.make(type, {s.in(0, Element::Bool), s.in(1, Element::Bool)}));
  Element element = common(stored_a, stored_b);
  if (op.kind == BinaryKind::ExpDifference) element = floating(element);
  const Value a = s.in(0, element), b = s.in(1, element);
  if (op.kind >= BinaryKind::Equal) return s.out(0, s.compare(type, a, b));
  if (op.kind == BinaryKind::ExpDifference) return s.out(0, s.make("Exp", {s.sub(a, b)}));
  if (op.kind == BinaryKind::Mod && is_float(element)) {
    // ONNX has the remainder with the dividend's sign only; ours has the divisor's.
    const Attributes fmod{{"fmod", std::int64_t{1}}};
    return s.out(0, s.make("Mod", {s.add(s.make("Mod", {a, b}, fmod), b), b}, fmod));
  }
  s.out(0, s.make(type, {a, b}));
}

void write(const Sum&, Scope& s) {
  Element element = s.input(0).format.element;
  for (std::size_t i = 0; i < s.inputs(); ++i) element = common(element, s.input(i).format.element);
  std::vector<Value> terms;
  for (std::size_t i = 0; i < s.inputs(); ++i) terms.push_back(s.in(i, element));
  if (is_float(element)) return s.out(0, s.make("Sum", terms));
  Value sum = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) sum = s.add(sum, terms[i]);
  s.out(0, sum);
}

void write(const Select&, Scope& s) {
  const Element element = common(s.input(1).format.element, s.input(2).format.element);
  s.out(0, s.where(s.in(0, Element::Bool), s.in(1, element), s.in(2, element)));
}

void write(const Cast& op, Scope& s) {
  s.out(0, s.make("Cast", {s.in(0)}, {{"to", std::int64_t{onnx_type(op.to)}}}, carrier(op.to)));
}

void write(const Dropout& op, Scope& s) {
  const Value x = s.in(0, floating(s.input(0).format.element));
  const std::vector<Value> y =
      s.make("Dropout", {x, s.scalar(op.ratio, Element::F32), s.scalar(1, Element::Bool)}, {{"seed", op.seed}},
             s.wanted(1) ? std::vector{x.element, Element::Bool} : std::vector{x.element});
  s.out(0, y[0]);
  if (s.wanted(1)) s.out(1, y[1]);
}

void write(const DropoutGradient& op, Scope& s) {
  const Value dy = s.in(0, floating(s.input(0).format.element));
  if (s.has(1)) return s.out(0, s.mul(s.mul(dy, s.in(1, dy.element)), 1 / (1 - op.ratio)));
  s.out(0, s.make("Dropout", {dy, s.scalar(op.ratio, Element::F32), s.scalar(1, Element::Bool)}, {{"seed", op.seed}}));
}

void write(const Reduce& op, Scope& s) {
  const Element stored = s.input(0).format.element;
  const Value x = s.in(0, op.kind == ReduceKind::Mean ? floating(stored) : arithmetic(stored));
  if (op.axes.empty()) return s.out(0, op.kind == ReduceKind::SumSquare ? s.mul(x, x) : x);
  const auto type = [&] {
    switch (op.kind) {
      case ReduceKind::Sum: return "ReduceSum";
      case ReduceKind::Mean: return "ReduceMean";
      case ReduceKind::Max: return "ReduceMax";
      case ReduceKind::Min: return "ReduceMin";
      case ReduceKind::SumSquare: return "ReduceSumSquare";
    }
    return "";
  };
  s.out(0, s.reduce(type(), x, op.axes, op.keep));
}

}  // namespace monet::exporting
