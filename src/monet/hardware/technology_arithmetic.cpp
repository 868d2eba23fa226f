// Energy and area of arithmetic: published adders and multipliers of 45 nm and 7 nm, between them straight in
// logarithms over node and over operand width (the significand with its hidden bit for floats). Bare operators: no
// registers, no clock tree, no operand delivery, so that figures of whole chips are several times larger.
#include <algorithm>
#include <span>

#include "monet/hardware/technology.h"
#include "monet/hardware/technology_node.h"

namespace monet::hardware {

namespace {

using technology::figure;
using technology::interpolate;
using technology::Point;
using work::ElementFunction;

constexpr const char* kArithmeticEnergySource =
    "adders and multipliers of ISSCC 2014 (45 nm) and of TPUv4i, ISCA 2021 (7 nm)";
constexpr const char* kArithmeticAreaSource =
    "45 nm adders and multipliers of \"High-performance hardware for machine learning\", NIPS 2015, by logic density";

// pJ by width. At 7 nm no 16-bit integers are published.
constexpr Point kIntegerAdd45[] = {{8, 0.03}, {16, 0.05}, {32, 0.1}};
constexpr Point kIntegerAdd7[] = {{8, 0.007}, {32, 0.03}};
constexpr Point kIntegerMultiply45[] = {{8, 0.2}, {32, 3.1}};
constexpr Point kIntegerMultiply7[] = {{8, 0.07}, {32, 1.48}};
constexpr Point kFloatAdd45[] = {{11, 0.4}, {24, 0.9}};
constexpr Point kFloatAdd7[] = {{8, 0.11}, {11, 0.16}, {24, 0.38}};
constexpr Point kFloatMultiply45[] = {{11, 1.1}, {24, 3.7}};
constexpr Point kFloatMultiply7[] = {{8, 0.21}, {11, 0.34}, {24, 1.31}};

// um² at 45 nm by width.
constexpr Point kIntegerAddArea[] = {{8, 36}, {16, 67}, {32, 137}};
constexpr Point kIntegerMultiplyArea[] = {{8, 282}, {32, 3495}};
constexpr Point kFloatAddArea[] = {{11, 1360}, {24, 4184}};
constexpr Point kFloatMultiplyArea[] = {{11, 1640}, {24, 7700}};

double width(Element element) {
  switch (element) {
    case Element::F64: return 53;
    case Element::F32: return 24;
    case Element::F16: return 11;
    case Element::BF16: return 8;
    case Element::F8E4M3: return 4;
    case Element::F8E5M2: return 3;
    case Element::I64:
    case Element::U64: return 64;
    case Element::I32:
    case Element::U32: return 32;
    case Element::I16:
    case Element::U16: return 16;
    case Element::I8:
    case Element::U8: return 8;
    case Element::I4:
    case Element::U4: return 4;
    case Element::Bool:
    case Element::Bit: return 1;
  }
  return 1;
}

bool is_published(Element element) {  // itself or between two that are
  const double bits = width(element);
  return is_float(element) ? bits >= 8 && bits <= 24 : bits >= 8 && bits <= 32;
}

bool is_fitted(Element element, double node_nm) {
  return is_published(element) && node_nm >= technology::kNewNode && node_nm <= technology::kOldNode;
}

double energy(std::span<const Point> at_45_nm, std::span<const Point> at_7_nm, double bits, double node_nm) {
  return technology::between_nodes(interpolate(at_45_nm, bits), interpolate(at_7_nm, bits), node_nm);
}

double integer_add(double bits, double node_nm) { return energy(kIntegerAdd45, kIntegerAdd7, bits, node_nm); }

double add(Element element, double node_nm) {
  if (!is_float(element)) return integer_add(width(element), node_nm);
  return energy(kFloatAdd45, kFloatAdd7, width(element), node_nm);
}

double multiply(Element element, double node_nm) {
  if (!is_float(element)) return energy(kIntegerMultiply45, kIntegerMultiply7, width(element), node_nm);
  return energy(kFloatMultiply45, kFloatMultiply7, width(element), node_nm);
}

double area(Element multiplicand, Element accumulator, double node_nm) {  // mm²
  const double product = is_float(multiplicand) ? interpolate(kFloatMultiplyArea, width(multiplicand))
                                                : interpolate(kIntegerMultiplyArea, width(multiplicand));
  const double sum = is_float(accumulator) ? interpolate(kFloatAddArea, width(accumulator))
                                           : interpolate(kIntegerAddArea, width(accumulator));
  return (product + sum) * 1e-6 * technology::logic_area_by_node(node_nm);
}

// Multiply-and-add steps of a function on one lane: the vector core of WHAM and Phaze, the exponential of FuseMax
// (MICRO 2024). The logarithm is taken to be as long as the exponential. 0: not done with multiplications.
double steps(ElementFunction function) {
  switch (function) {
    case ElementFunction::Divide: return 10;
    case ElementFunction::Exp:
    case ElementFunction::Log: return 6;
    case ElementFunction::Sqrt:
    case ElementFunction::Power:
    case ElementFunction::Erf: return 15;
    case ElementFunction::Tanh: return 27;
    case ElementFunction::Sine: return 13;
    case ElementFunction::Add:
    case ElementFunction::Multiply:
    case ElementFunction::Compare:
    case ElementFunction::Logic:
    case ElementFunction::Select:
    case ElementFunction::Convert:
    case ElementFunction::Negate:
    case ElementFunction::Round:
    case ElementFunction::Random: return 0;
  }
  return 0;
}

constexpr double kRandomSteps = 3;  // shifts and exclusive-ors of 32 bits for one number

}  // namespace

Figure add_energy_pj(Element element, double node_nm) {
  return figure(add(element, node_nm), is_fitted(element, node_nm), kArithmeticEnergySource);
}

Figure multiply_energy_pj(Element element, double node_nm) {
  return figure(multiply(element, node_nm), is_fitted(element, node_nm), kArithmeticEnergySource);
}

Figure mac_energy_pj(Element multiplicand, Element accumulator, double node_nm) {
  return figure(multiply(multiplicand, node_nm) + add(accumulator, node_nm),
                is_fitted(multiplicand, node_nm) && is_fitted(accumulator, node_nm), kArithmeticEnergySource);
}

Figure mac_area_mm2(Element multiplicand, Element accumulator, double node_nm) {
  return figure(area(multiplicand, accumulator, node_nm),
                is_published(multiplicand) && is_published(accumulator) && node_nm >= 5 && node_nm <= 45,
                kArithmeticAreaSource);
}

std::int64_t mac_cycles(Element native, Element used) {
  const auto own = static_cast<std::int64_t>(width(native));
  const auto parts = (static_cast<std::int64_t>(width(used)) + own - 1) / own;
  return parts * parts;
}

Figure function_energy_pj(ElementFunction function, Element element, double node_nm) {
  switch (function) {
    case ElementFunction::Add: return add_energy_pj(element, node_nm);
    case ElementFunction::Multiply: return multiply_energy_pj(element, node_nm);
    case ElementFunction::Convert:
    case ElementFunction::Round: return technology::assumed(add(element, node_nm), "taken to be an addition");
    case ElementFunction::Compare:
    case ElementFunction::Logic:
    case ElementFunction::Select:
    case ElementFunction::Negate:
      return technology::assumed(integer_add(bits(element), node_nm),
                                 "taken to be an integer addition of as many bits");
    case ElementFunction::Random:
      return technology::assumed(kRandomSteps * integer_add(32, node_nm),
                                 "taken to be three integer operations of 32 bits");
    case ElementFunction::Divide:
    case ElementFunction::Exp:
    case ElementFunction::Log:
    case ElementFunction::Sqrt:
    case ElementFunction::Power:
    case ElementFunction::Erf:
    case ElementFunction::Tanh:
    case ElementFunction::Sine: break;
  }
  return technology::assumed(steps(function) * (multiply(element, node_nm) + add(element, node_nm)),
                             "taken to be so many multiply-and-add steps as in the vector core of Phaze, ICML 2024");
}

double function_cycles(ElementFunction function) {
  if (function == ElementFunction::Random) return kRandomSteps;
  return std::max(steps(function), 1.0);
}

Figure vector_lane_area_mm2(Element element, double node_nm) { return mac_area_mm2(element, element, node_nm); }

}  // namespace monet::hardware
