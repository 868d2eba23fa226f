#include <fmt/format.h>

#include <array>
#include <cmath>

#include "monet/onnx/operators.h"

namespace monet {
namespace {

// ---- One operand ----

template <UnaryKind kind>
void unary(Converter& c, const OnnxCall& call) {
  c.finish(call, Unary{kind, 0, 0}, {c.need(call, 0)});
}

void leaky_relu(Converter& c, const OnnxCall& call) {
  c.finish(call, Unary{UnaryKind::LeakyRelu, call.attributes.real("alpha", 0.01), 0}, {c.need(call, 0)});
}

void hard_sigmoid(Converter& c, const OnnxCall& call) {
  c.finish(call, Unary{UnaryKind::HardSigmoid, call.attributes.real("alpha", 0.2), call.attributes.real("beta", 0.5)},
           {c.need(call, 0)});
}

void gelu(Converter& c, const OnnxCall& call) {
  const bool tanh = call.attributes.text("approximate", "none") == "tanh";
  c.finish(call, Unary{tanh ? UnaryKind::GeluTanh : UnaryKind::Gelu, 0, 0}, {c.need(call, 0)});
}

// (x, [bias])
template <UnaryKind kind>
void biased(Converter& c, const OnnxCall& call) {
  OperandId x = c.need(call, 0);
  if (call.has_input(1)) x = c.step(call, Binary{BinaryKind::Add}, {x, call.in[1]}, "biased");
  c.finish(call, Unary{kind, 0, 0}, {x});
}

Element element(Converter& c, OperandId x) { return c[x].format.element; }

// x · sigmoid(alpha · x); with alpha 1 it is SiLU
void swish(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const double alpha = call.attributes.real("alpha", call.type == "Swish" ? 1.0 : 1.702);
  if (alpha == 1) {
    c.finish(call, Unary{UnaryKind::Silu, 0, 0}, {x});
    return;
  }
  const OperandId factor = c.scalar(call, alpha, element(c, x), "alpha");
  const OperandId scaled = c.step(call, Binary{BinaryKind::Mul}, {x, factor}, "scaled");
  const OperandId gate = c.step(call, Unary{UnaryKind::Sigmoid, 0, 0}, {scaled}, "gate");
  c.finish(call, Binary{BinaryKind::Mul}, {x, gate});
}

// x where x > 0, else slope(x)
template <class Slope>
void two_sided(Converter& c, const OnnxCall& call, const Slope& slope) {
  const OperandId x = c.need(call, 0);
  const OperandId zero = c.scalar(call, 0, element(c, x), "zero");
  const OperandId positive = c.step(call, Binary{BinaryKind::Greater}, {x, zero}, "positive");
  const OperandId other = slope(x);
  c.finish(call, Select{}, {positive, x, other});
}

void prelu(Converter& c, const OnnxCall& call) {
  const OperandId slope = c.need(call, 1);
  two_sided(c, call, [&](OperandId x) { return c.step(call, Binary{BinaryKind::Mul}, {x, slope}, "sloped"); });
}

// scale · (exp(x) - 1) below zero, and `gain` times everything
void exponential_unit(Converter& c, const OnnxCall& call, double scale, double inner, double gain) {
  const OperandId x = c.need(call, 0);
  const auto times = [&](OperandId a, double factor, std::string_view part) {
    if (factor == 1) return a;
    return c.step(call, Binary{BinaryKind::Mul}, {a, c.scalar(call, factor, element(c, x), fmt::format("{}_by", part))},
                  part);
  };
  // Above zero the exponential is not used and must not overflow.
  const OperandId zero = c.scalar(call, 0, element(c, x), "zero");
  const OperandId low = c.step(call, Binary{BinaryKind::Min}, {x, zero}, "low");
  const OperandId raised = c.step(call, Unary{UnaryKind::Exp, 0, 0}, {times(low, inner, "inner")}, "exp");
  const OperandId one = c.scalar(call, 1, element(c, x), "one");
  const OperandId below = times(c.step(call, Binary{BinaryKind::Sub}, {raised, one}, "minus_one"), scale, "below");
  const OperandId above = c.step(call, Unary{UnaryKind::Relu, 0, 0}, {x}, "above");
  if (gain == 1) {
    c.finish(call, Binary{BinaryKind::Add}, {above, below});
    return;
  }
  const OperandId sum = c.step(call, Binary{BinaryKind::Add}, {above, below}, "sum");
  c.finish(call, Binary{BinaryKind::Mul}, {sum, c.scalar(call, gain, element(c, x), "gamma")});
}

void elu(Converter& c, const OnnxCall& call) { exponential_unit(c, call, call.attributes.real("alpha", 1.0), 1, 1); }
void celu(Converter& c, const OnnxCall& call) {
  const double alpha = call.attributes.real("alpha", 1.0);
  if (alpha == 0) throw ModelError("alpha must not be zero");
  exponential_unit(c, call, alpha, 1 / alpha, 1);
}
void selu(Converter& c, const OnnxCall& call) {
  exponential_unit(c, call, call.attributes.real("alpha", 1.6732632), 1, call.attributes.real("gamma", 1.0507009));
}

void mish(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const OperandId soft = c.step(call, Unary{UnaryKind::Softplus, 0, 0}, {x}, "softplus");
  const OperandId gate = c.step(call, Unary{UnaryKind::Tanh, 0, 0}, {soft}, "gate");
  c.finish(call, Binary{BinaryKind::Mul}, {x, gate});
}

void softsign(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const OperandId size = c.step(call, Unary{UnaryKind::Abs, 0, 0}, {x}, "abs");
  const OperandId below =
      c.step(call, Binary{BinaryKind::Add}, {size, c.scalar(call, 1, element(c, x), "one")}, "below");
  c.finish(call, Binary{BinaryKind::Div}, {x, below});
}

void is_nan(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const OperandId same = c.step(call, Binary{BinaryKind::Equal}, {x, x}, "same");
  c.finish(call, Unary{UnaryKind::Not, 0, 0}, {same});
}

// Bounds are attributes before opset 11, inputs since. One bound alone is a maximum or minimum.
void clip(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const auto bound = [&](std::size_t input, const char* attribute) -> OperandId {
    if (call.opset >= 11) return call.input(input);
    if (!call.attributes.has(attribute)) return kNoOperand;
    const double value = call.attributes.real(attribute, 0);
    if (std::abs(value) >= 3.4028e38) return kNoOperand;  // the default: the largest float
    return c.scalar(call, value, element(c, x), attribute);
  };
  const OperandId low = bound(1, "min"), high = bound(2, "max");
  if (low == kNoOperand && high == kNoOperand) {
    c.finish(call, View{c.shape(x)}, {x});
  } else if (low == kNoOperand) {
    c.finish(call, Binary{BinaryKind::Min}, {x, high});
  } else if (high == kNoOperand) {
    c.finish(call, Binary{BinaryKind::Max}, {x, low});
  } else if (c.knows(low) && c.knows(high)) {
    c.finish(call, Unary{UnaryKind::Clip, c.number(low, "min"), c.number(high, "max")}, {x});
  } else {
    const OperandId raised = c.step(call, Binary{BinaryKind::Max}, {x, low}, "raised");
    c.finish(call, Binary{BinaryKind::Min}, {raised, high});
  }
}

void cast(Converter& c, const OnnxCall& call) {
  c.finish(call, Cast{element_of(static_cast<std::int32_t>(call.attributes.integer("to")))}, {c.need(call, 0)});
}

void cast_like(Converter& c, const OnnxCall& call) {
  c.finish(call, Cast{element(c, c.need(call, 1))}, {c.need(call, 0)});
}

// ---- Two and more operands ----

template <BinaryKind kind>
void binary(Converter& c, const OnnxCall& call) {
  c.finish(call, Binary{kind}, {c.need(call, 0), c.need(call, 1)});
}

void power(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0), exponent = c.need(call, 1);
  const bool single = c.knows(exponent) && c[exponent].numbers.size() == 1 && c.rank(exponent) <= c.rank(x);
  if (single && is_float(element(c, x)) && c[exponent].numbers[0] == 2)
    c.finish(call, Unary{UnaryKind::Square, 0, 0}, {x});
  else if (single && is_float(element(c, x)) && c[exponent].numbers[0] == 0.5)
    c.finish(call, Unary{UnaryKind::Sqrt, 0, 0}, {x});
  else
    c.finish(call, Binary{BinaryKind::Pow}, {x, exponent});
}

// Our Mod takes the sign of the divisor, as ONNX's does for integers; fmod takes that of the dividend.
void modulo(Converter& c, const OnnxCall& call) {
  const OperandId a = c.need(call, 0), b = c.need(call, 1);
  if (call.attributes.integer("fmod", 0) == 0) {
    c.finish(call, Binary{BinaryKind::Mod}, {a, b});
    return;
  }
  const OperandId quotient = c.step(call, Binary{BinaryKind::Div}, {a, b}, "quotient");
  const OperandId size = c.step(call, Unary{UnaryKind::Abs, 0, 0}, {quotient}, "size");
  const OperandId whole = c.step(call, Unary{UnaryKind::Floor, 0, 0}, {size}, "whole");
  const OperandId sign = c.step(call, Unary{UnaryKind::Sign, 0, 0}, {quotient}, "sign");
  const OperandId times = c.step(call, Binary{BinaryKind::Mul}, {whole, sign}, "times");
  const OperandId taken = c.step(call, Binary{BinaryKind::Mul}, {times, b}, "taken");
  c.finish(call, Binary{BinaryKind::Sub}, {a, taken});
}

template <BinaryKind kind>
void variadic(Converter& c, const OnnxCall& call) {
  OperandId total = c.need(call, 0);
  if (call.in.size() == 1) {
    c.finish(call, View{c.shape(total)}, {total});
    return;
  }
  for (std::size_t i = 1; i + 1 < call.in.size(); ++i)
    total = c.step(call, Binary{kind}, {total, c.need(call, i)}, fmt::format("of_{}", i + 1));
  c.finish(call, Binary{kind}, {total, call.in.back()});
}

std::vector<OperandId> all_inputs(Converter& c, const OnnxCall& call) {
  for (std::size_t i = 0; i < call.in.size(); ++i) c.need(call, i);
  c.need(call, 0);
  return call.in;
}

void sum(Converter& c, const OnnxCall& call) { c.finish(call, Sum{}, all_inputs(c, call)); }

void mean(Converter& c, const OnnxCall& call) {
  const OperandId total = c.step(call, Sum{}, all_inputs(c, call), "sum");
  const double share = 1 / static_cast<double>(call.in.size());
  c.finish(call, Binary{BinaryKind::Mul}, {total, c.scalar(call, share, element(c, total), "share")});
}

void where(Converter& c, const OnnxCall& call) {
  c.finish(call, Select{}, {c.need(call, 0), c.need(call, 1), c.need(call, 2)});
}

}  // namespace

std::span<const OperatorRule> elementwise_rules() {
  static constexpr auto kRules = std::to_array<OperatorRule>({
      {"Relu", unary<UnaryKind::Relu>},
      {"LeakyRelu", leaky_relu},
      {"Gelu", gelu},
      {"com.microsoft:Gelu", unary<UnaryKind::Gelu>},
      {"com.microsoft:FastGelu", biased<UnaryKind::GeluTanh>},
      {"com.microsoft:BiasGelu", biased<UnaryKind::Gelu>},
      {"com.microsoft:QuickGelu", swish},
      {"Swish", swish},
      {"Silu", unary<UnaryKind::Silu>},
      {"Sigmoid", unary<UnaryKind::Sigmoid>},
      {"Tanh", unary<UnaryKind::Tanh>},
      {"HardSwish", unary<UnaryKind::HardSwish>},
      {"HardSigmoid", hard_sigmoid},
      {"Clip", clip},
      {"Erf", unary<UnaryKind::Erf>},
      {"Exp", unary<UnaryKind::Exp>},
      {"Log", unary<UnaryKind::Log>},
      {"Sqrt", unary<UnaryKind::Sqrt>},
      {"Reciprocal", unary<UnaryKind::Reciprocal>},
      {"Neg", unary<UnaryKind::Neg>},
      {"Abs", unary<UnaryKind::Abs>},
      {"Sin", unary<UnaryKind::Sin>},
      {"Cos", unary<UnaryKind::Cos>},
      {"Softplus", unary<UnaryKind::Softplus>},
      {"Sign", unary<UnaryKind::Sign>},
      {"Floor", unary<UnaryKind::Floor>},
      {"Ceil", unary<UnaryKind::Ceil>},
      {"Round", unary<UnaryKind::Round>},
      {"Not", unary<UnaryKind::Not>},
      {"IsNaN", is_nan},
      {"PRelu", prelu},
      {"Elu", elu},
      {"Celu", celu},
      {"Selu", selu},
      {"Mish", mish},
      {"Softsign", softsign},
      {"Cast", cast},
      {"CastLike", cast_like},
      {"Add", binary<BinaryKind::Add>},
      {"Sub", binary<BinaryKind::Sub>},
      {"Mul", binary<BinaryKind::Mul>},
      {"Div", binary<BinaryKind::Div>},
      {"Pow", power},
      {"Mod", modulo},
      {"Max", variadic<BinaryKind::Max>},
      {"Min", variadic<BinaryKind::Min>},
      {"Sum", sum},
      {"Mean", mean},
      {"Where", where},
      {"Equal", binary<BinaryKind::Equal>},
      {"Less", binary<BinaryKind::Less>},
      {"LessOrEqual", binary<BinaryKind::LessEqual>},
      {"Greater", binary<BinaryKind::Greater>},
      {"GreaterOrEqual", binary<BinaryKind::GreaterEqual>},
      {"And", binary<BinaryKind::And>},
      {"Or", binary<BinaryKind::Or>},
      {"Xor", binary<BinaryKind::Xor>},
  });
  return kRules;
}

}  // namespace monet
