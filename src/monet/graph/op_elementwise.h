#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "monet/graph/op_field.h"
#include "monet/numeric/format.h"

// The operators of op.h that make each element from those at the same place.

namespace monet {

enum class UnaryKind {
  Relu,
  LeakyRelu /*a: slope*/,
  Gelu /*erf*/,
  GeluTanh,
  Silu,
  Sigmoid,
  Tanh,
  HardSwish,
  HardSigmoid /*a·x+b*/,
  Clip /*[a, b]*/,
  Erf,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Reciprocal,
  Neg,
  Abs,
  Square,
  Sin,
  Cos,
  Softplus,
  Sign,
  Floor,
  Ceil,
  Round,
  Not,
  IsFinite,
};
// (x) -> (y, [mask]); the mask says where the slope is the larger one, for the kinds that can keep it.
struct Unary {
  UnaryKind kind = UnaryKind::Relu;
  double a = 0, b = 0;
  static constexpr auto fields() { return std::tuple{Field{"a", &Unary::a}, Field{"b", &Unary::b}}; }
  bool operator==(const Unary&) const = default;
};

enum class Source { Input, Output, Mask };  // what a gradient is computed from
// (dy, saved) -> dx, where saved is the forward node's input, output or mask.
struct UnaryGradient {
  UnaryKind kind = UnaryKind::Relu;
  double a = 0, b = 0;
  Source from = Source::Input;
  static constexpr auto fields() {
    return std::tuple{Field{"a", &UnaryGradient::a}, Field{"b", &UnaryGradient::b},
                      Field{"from", &UnaryGradient::from}};
  }
  bool operator==(const UnaryGradient&) const = default;
};

enum class BinaryKind {
  Add,
  Sub,
  Mul,
  Div,
  Pow,
  Max,
  Min,
  Mod,
  ExpDifference /*exp(a-b)*/,
  Equal,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  And,
  Or,
  Xor,
};
// (a, b) -> y, broadcast
struct Binary {
  BinaryKind kind = BinaryKind::Add;
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Binary&) const = default;
};

// (a, b, …) -> y = a + b + …, broadcast
struct Sum {
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Sum&) const = default;
};

// (condition, a, b) -> y, broadcast
struct Select {
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Select&) const = default;
};

// (x) -> y
struct Cast {
  Element to = Element::F32;
  static constexpr auto fields() { return std::tuple{Field{"to", &Cast::to}}; }
  bool operator==(const Cast&) const = default;
};

// (x) -> (y, [mask]). Kept elements are scaled by 1/(1-ratio). The mask is a function of (seed, step, element
// index): it can be drawn again instead of being kept. `part`: shape of the whole tensor, and where x begins in it.
struct Dropout {
  double ratio = 0.5;
  std::int64_t seed = 0;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"ratio", &Dropout::ratio}, Field{"seed", &Dropout::seed}, Field{"part", &Dropout::part}};
  }
  bool operator==(const Dropout&) const = default;
};
// (dy, [mask]) -> dx; without the mask it is drawn again from the seed, for a `part` as Dropout does
struct DropoutGradient {
  double ratio = 0.5;
  std::int64_t seed = 0;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"ratio", &DropoutGradient::ratio}, Field{"seed", &DropoutGradient::seed},
                      Field{"part", &DropoutGradient::part}};
  }
  bool operator==(const DropoutGradient&) const = default;
};

// ---- Several at once ----

// What may be a step: an operator with one output whose numbers do not depend on where an element stands.
using StepOp = std::variant<Unary, Binary, Sum, Select, Cast>;

inline constexpr std::int32_t kNoValue = -1;
// Values of a program have numbers: first the inputs of its node, then what each step makes. A step is small and of
// one piece, since every tile of the node has a copy of the program.
struct Step {
  StepOp op{};
  std::array<std::int32_t, 3> inputs{kNoValue, kNoValue, kNoValue};  // those it has come first
  Format format{};                                                   // of what it makes, as stored
  bool operator==(const Step&) const = default;
};
// (x, …) -> (y, …): steps that run one after the other on each element. Each makes a value of the same shape, to which
// the inputs broadcast; `outputs` are the numbers of those that are wanted. The others are gone with their element.
struct Steps {
  std::vector<Step> program;
  Ints outputs;
  static constexpr auto fields() {
    return std::tuple{Field{"program", &Steps::program}, Field{"outputs", &Steps::outputs}};
  }
  bool operator==(const Steps&) const = default;
};

}  // namespace monet
