// Functions of one element and their slopes. They are computed in double and rounded once to T, so that float and
// double runs differ by rounding only.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "monet/interpret/families.h"

namespace monet {
namespace {

constexpr double kGeluCubic = 0.044715;
const double kGeluScale = std::sqrt(2 / std::numbers::pi);

double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}
double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double gelu_tanh_argument(double x) { return kGeluScale * (x + kGeluCubic * x * x * x); }

double value(const Unary& op, double x) {
  switch (op.kind) {
    case UnaryKind::Relu: return x < 0 ? 0 : x;
    case UnaryKind::LeakyRelu: return x > 0 ? x : op.a * x;
    case UnaryKind::Gelu: return x * normal_cdf(x);
    case UnaryKind::GeluTanh: return 0.5 * x * (1 + std::tanh(gelu_tanh_argument(x)));
    case UnaryKind::Silu: return x * sigmoid(x);
    case UnaryKind::Sigmoid: return sigmoid(x);
    case UnaryKind::Tanh: return std::tanh(x);
    case UnaryKind::HardSwish: return x * clip(x + 3, 0, 6) / 6;
    case UnaryKind::HardSigmoid: return clip(op.a * x + op.b, 0, 1);
    case UnaryKind::Clip: return clip(x, op.a, op.b);
    case UnaryKind::Erf: return std::erf(x);
    case UnaryKind::Exp: return std::exp(x);
    case UnaryKind::Log: return std::log(x);
    case UnaryKind::Sqrt: return std::sqrt(x);
    case UnaryKind::Rsqrt: return 1 / std::sqrt(x);
    case UnaryKind::Reciprocal: return 1 / x;
    case UnaryKind::Neg: return -x;
    case UnaryKind::Abs: return std::abs(x);
    case UnaryKind::Square: return x * x;
    case UnaryKind::Sin: return std::sin(x);
    case UnaryKind::Cos: return std::cos(x);
    case UnaryKind::Softplus: return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case UnaryKind::Sign: return sign(x);
    case UnaryKind::Floor: return std::floor(x);
    case UnaryKind::Ceil: return std::ceil(x);
    case UnaryKind::Round: return std::nearbyint(x);  // half to even
    case UnaryKind::Not: return x == 0 ? 1 : 0;
    case UnaryKind::IsFinite: return std::isfinite(x) ? 1 : 0;
  }
  return 0;
}

// Where the slope is the larger one. At the ends a clipped value passes no gradient on, as torch's hardtanh (ReLU6)
// does; so input, output and mask agree.
bool in_mask(UnaryKind kind, double a, double b, double x) {
  if (kind == UnaryKind::Clip) return a < x && x < b;
  if (kind == UnaryKind::HardSigmoid) return 0 < a * x + b && a * x + b < 1;
  return x > 0;  // Relu, LeakyRelu
}

bool has_mask(UnaryKind kind) {
  return kind == UnaryKind::Relu || kind == UnaryKind::LeakyRelu || kind == UnaryKind::Clip ||
         kind == UnaryKind::HardSigmoid;
}

// None where the slope does not follow from what was saved.
using Slope = std::optional<double>;

Slope slope_from_mask(const UnaryGradient& op, bool larger) {
  if (!has_mask(op.kind)) return std::nullopt;
  if (op.kind == UnaryKind::LeakyRelu) return larger ? 1 : op.a;
  if (op.kind == UnaryKind::HardSigmoid) return larger ? op.a : 0;
  return larger ? 1 : 0;  // Relu, Clip
}

Slope slope_from_output(const UnaryGradient& op, double y) {
  switch (op.kind) {
    case UnaryKind::Relu:
    case UnaryKind::Clip: return slope_from_mask(op, in_mask(op.kind, op.a, op.b, y));
    case UnaryKind::Sigmoid: return y * (1 - y);
    case UnaryKind::Tanh: return 1 - y * y;
    case UnaryKind::Exp: return y;
    case UnaryKind::Sqrt: return 0.5 / y;
    case UnaryKind::Rsqrt: return -0.5 * y * y * y;
    case UnaryKind::Reciprocal: return -y * y;
    case UnaryKind::Neg: return -1;
    case UnaryKind::LeakyRelu:
    case UnaryKind::Gelu:
    case UnaryKind::GeluTanh:
    case UnaryKind::Silu:
    case UnaryKind::HardSwish:
    case UnaryKind::HardSigmoid:
    case UnaryKind::Erf:
    case UnaryKind::Log:
    case UnaryKind::Abs:
    case UnaryKind::Square:
    case UnaryKind::Sin:
    case UnaryKind::Cos:
    case UnaryKind::Softplus: return std::nullopt;
    case UnaryKind::Sign:
    case UnaryKind::Floor:
    case UnaryKind::Ceil:
    case UnaryKind::Round:
    case UnaryKind::Not:
    case UnaryKind::IsFinite: return 0;
  }
  return std::nullopt;
}

Slope slope_from_input(const UnaryGradient& op, double x) {
  switch (op.kind) {
    case UnaryKind::Relu:
    case UnaryKind::LeakyRelu:
    case UnaryKind::HardSigmoid:
    case UnaryKind::Clip: return slope_from_mask(op, in_mask(op.kind, op.a, op.b, x));
    case UnaryKind::Gelu:
      return normal_cdf(x) + x * std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    case UnaryKind::GeluTanh: {
      const double t = std::tanh(gelu_tanh_argument(x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kGeluScale * (1 + 3 * kGeluCubic * x * x);
    }
    case UnaryKind::Silu: {
      const double s = sigmoid(x);
      return s * (1 + x * (1 - s));
    }
    case UnaryKind::HardSwish: return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
    case UnaryKind::Erf: return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    case UnaryKind::Log: return 1 / x;
    case UnaryKind::Abs: return sign(x);
    case UnaryKind::Square: return 2 * x;
    case UnaryKind::Sin: return std::cos(x);
    case UnaryKind::Cos: return -std::sin(x);
    case UnaryKind::Softplus: return sigmoid(x);
    case UnaryKind::Sigmoid:
    case UnaryKind::Tanh:
    case UnaryKind::Exp:
    case UnaryKind::Sqrt:
    case UnaryKind::Rsqrt:
    case UnaryKind::Reciprocal:
    case UnaryKind::Neg:
    case UnaryKind::Sign:
    case UnaryKind::Floor:
    case UnaryKind::Ceil:
    case UnaryKind::Round:
    case UnaryKind::Not:
    case UnaryKind::IsFinite: return slope_from_output(op, value({op.kind, op.a, op.b}, x));
  }
  return std::nullopt;
}

Slope slope(const UnaryGradient& op, double saved) {
  switch (op.from) {
    case Source::Input: return slope_from_input(op, saved);
    case Source::Output: return slope_from_output(op, saved);
    case Source::Mask: return slope_from_mask(op, saved != 0);
  }
  return std::nullopt;
}

}  // namespace

template <class T>
Arrays<T> apply(const Unary& op, const Call<T>& call) {
  const std::vector<T>& x = call.need(0).data;
  Arrays<T> results(call.outputs.size());
  if (call.wanted(0)) {
    results[0] = call.zeros(0);
    for (std::size_t i = 0; i < x.size(); ++i) results[0].data[i] = static_cast<T>(value(op, x[i]));
  }
  if (call.wanted(1)) {
    results[1] = call.zeros(1);
    for (std::size_t i = 0; i < x.size(); ++i) results[1].data[i] = in_mask(op.kind, op.a, op.b, x[i]) ? T{1} : T{0};
  }
  return results;
}

template <class T>
Array<T> apply(const UnaryGradient& op, const Call<T>& call) {
  const std::vector<T>&dy = call.need(0).data, &saved = call.need(1).data;
  Array<T> dx = call.zeros(0);
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const Slope s = slope(op, saved[i]);
    if (!s)
      throw ValueError(fmt::format("the gradient of {} does not follow from its {}", name(op.kind), name(op.from)));
    // A mask that is not set stops even an infinite gradient.
    if (*s != 0 || !has_mask(op.kind)) dx.data[i] = static_cast<T>(static_cast<double>(dy[i]) * *s);
  }
  return dx;
}

template Arrays<float> apply(const Unary&, const Call<float>&);
template Arrays<double> apply(const Unary&, const Call<double>&);
template Array<float> apply(const UnaryGradient&, const Call<float>&);
template Array<double> apply(const UnaryGradient&, const Call<double>&);

}  // namespace monet
