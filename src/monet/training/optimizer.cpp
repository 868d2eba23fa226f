#include "monet/training/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/base/nearest.h"

namespace monet {
namespace {

constexpr std::array<std::string_view, 5> kNames{"sgd", "momentum", "nesterov", "adam", "adamw"};

[[noreturn]] void bad(std::string message, std::string hint) {
  throw InputError(Diagnostic{.where = "--optimizer", .message = std::move(message), .hint = std::move(hint)});
}

void set_option(Optimizer& o, std::string_view key, std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || !std::isfinite(number) || number < 0)
    bad(fmt::format("'{}' is not a number that '{}' can take", value, key), "a number not below zero");
  const std::vector<std::string> keys{"lr", "momentum", "beta1", "beta2", "eps", "wd"};
  if (key == "lr")
    o.learning_rate = number;
  else if (key == "momentum")
    o.momentum = number;
  else if (key == "beta1")
    o.beta1 = number;
  else if (key == "beta2")
    o.beta2 = number;
  else if (key == "eps")
    o.epsilon = number;
  else if (key == "wd")
    o.weight_decay = number;
  else
    bad(fmt::format("unknown optimizer option '{}'", key),
        did_you_mean(key, keys, "known: lr, momentum, beta1, beta2, eps, wd"));
  if ((key == "beta1" || key == "beta2") && number >= 1) bad(fmt::format("'{}' must be below 1", key), "");
}

// Names the intermediate results of one weight's update.
struct Update {
  Builder& b;
  std::string weight;
  Element wide = Element::F32;  // what is kept between iterations: never narrower than the weight

  TensorId node(BinaryKind kind, TensorId x, TensorId y, const char* what) {
    return b.binary(kind, x, y, weight + ".update." + what);
  }
  TensorId node(UnaryKind kind, TensorId x, const char* what) { return b.unary(kind, x, weight + ".update." + what); }
  TensorId number(double value) { return b.scalar(value, Element::F32); }

  TensorId state(const char* what, const Shape& shape, Initial initial) {
    return b.source(weight + "." + what, shape, Format{wide}, Category::OptimizerState, std::move(initial));
  }

  // `value` takes the storage of `old`, unless the step is skipped.
  TensorId commit(TensorId value, TensorId old, TensorId proceed, const char* what) {
    if (proceed != kNoTensor) value = b.one(Select{}, {proceed, value, old}, weight + ".update." + what);
    Tensor& t = b[value];
    t.category = b[old].category;
    t.overwrites = old;
    return value;
  }
};

// Adam's step m̂ / (√v̂ + ε), with the moments updated in place.
TensorId adam_direction(Update& u, const Optimizer& o, const OptimizerScalars& s, TensorId g, TensorId proceed) {
  const Shape shape = u.b[g].shape;
  const TensorId m = u.state("m", shape, Splat{0}), v = u.state("v", shape, Splat{0});
  const TensorId m_old = u.node(BinaryKind::Mul, m, u.number(o.beta1), "m_old");
  const TensorId m_add = u.node(BinaryKind::Mul, g, u.number(1 - o.beta1), "m_add");
  const TensorId m_new = u.node(BinaryKind::Add, m_old, m_add, "m");
  const TensorId square = u.node(BinaryKind::Mul, g, g, "square");
  const TensorId v_add = u.node(BinaryKind::Mul, square, u.number(1 - o.beta2), "v_add");
  const TensorId v_old = u.node(BinaryKind::Mul, v, u.number(o.beta2), "v_old");
  const TensorId v_new = u.node(BinaryKind::Add, v_old, v_add, "v");
  const TensorId m_hat = u.node(BinaryKind::Div, m_new, s.correction1, "m_hat");
  const TensorId v_hat = u.node(BinaryKind::Div, v_new, s.correction2, "v_hat");
  const TensorId root = u.node(UnaryKind::Sqrt, v_hat, "root");
  const TensorId denominator = u.node(BinaryKind::Add, root, u.number(o.epsilon), "denominator");
  const TensorId direction = u.node(BinaryKind::Div, m_hat, denominator, "direction");
  u.commit(m_new, m, proceed, "m_kept");
  u.commit(v_new, v, proceed, "v_kept");
  return direction;
}

TensorId momentum_direction(Update& u, const Optimizer& o, TensorId g, TensorId proceed) {
  const TensorId velocity = u.state("velocity", u.b[g].shape, Splat{0});
  const TensorId old = u.node(BinaryKind::Mul, velocity, u.number(o.momentum), "velocity_old");
  const TensorId fresh = u.node(BinaryKind::Add, old, g, "velocity");
  TensorId direction = fresh;
  if (o.kind == OptimizerKind::Nesterov) {
    const TensorId ahead = u.node(BinaryKind::Mul, fresh, u.number(o.momentum), "ahead");
    direction = u.node(BinaryKind::Add, g, ahead, "direction");
  }
  u.commit(fresh, velocity, proceed, "velocity_kept");
  return direction;
}

}  // namespace

std::string_view name(OptimizerKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

Optimizer parse_optimizer(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  Optimizer o;
  const auto it = std::find(kNames.begin(), kNames.end(), kind);
  if (it == kNames.end()) {
    const std::vector<std::string> names(kNames.begin(), kNames.end());
    bad(fmt::format("unknown optimizer '{}'", kind),
        did_you_mean(kind, names, "known: sgd, momentum, nesterov, adam, adamw"));
  }
  o.kind = static_cast<OptimizerKind>(it - kNames.begin());
  const bool adaptive = o.kind == OptimizerKind::Adam || o.kind == OptimizerKind::AdamW;
  o.learning_rate = adaptive ? 1e-3 : 1e-2;
  o.weight_decay = o.kind == OptimizerKind::AdamW ? 0.01 : 0;
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) bad(fmt::format("'{}' is not an option", item), "options look like lr=0.001");
    set_option(o, item.substr(0, equals), item.substr(equals + 1));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return o;
}

OptimizerScalars add_optimizer_scalars(Builder& b, const Optimizer& o) {
  b.phase = Phase::Update;
  const Format f32{Element::F32};
  OptimizerScalars s;
  s.learning_rate = b.source("optimizer.learning_rate", {}, f32, Category::Constant, Splat{o.learning_rate});
  if (o.kind != OptimizerKind::Adam && o.kind != OptimizerKind::AdamW) return s;
  const TensorId step = b.source("optimizer.step", {}, f32, Category::OptimizerState, Splat{0});
  const TensorId next = b.binary(BinaryKind::Add, step, b.scalar(1), "optimizer.next_step");
  b[next].category = Category::OptimizerState;
  b[next].overwrites = step;
  b.graph().outputs.push_back(next);
  const auto correction = [&](double beta, const std::string& label) {
    const TensorId power = b.binary(BinaryKind::Pow, b.scalar(beta), next, label + ".power");
    return b.binary(BinaryKind::Sub, b.scalar(1), power, label);
  };
  s.correction1 = correction(o.beta1, "optimizer.correction1");
  s.correction2 = correction(o.beta2, "optimizer.correction2");
  return s;
}

TensorId add_update(Builder& b, const Optimizer& o, const OptimizerScalars& s, TensorId weight, TensorId gradient,
                    TensorId proceed) {
  b.phase = Phase::Update;
  const Format narrow = b[weight].format;
  const bool has_master = bits(narrow.element) < 32;
  Update u{b, b[weight].name, has_master ? Element::F32 : narrow.element};
  const TensorId w = has_master ? u.state("master", b[weight].shape, CopyOf{weight}) : weight;
  TensorId base = w;
  const bool decoupled = o.kind == OptimizerKind::AdamW;
  if (o.weight_decay != 0 && decoupled)
    base = u.node(BinaryKind::Mul, w, u.number(1 - o.learning_rate * o.weight_decay), "decayed");
  if (o.weight_decay != 0 && !decoupled) {
    const TensorId pull = u.node(BinaryKind::Mul, w, u.number(o.weight_decay), "decay");
    gradient = u.node(BinaryKind::Add, gradient, pull, "decayed_gradient");
  }
  TensorId direction = gradient;
  switch (o.kind) {
    case OptimizerKind::Sgd: break;
    case OptimizerKind::Momentum:
    case OptimizerKind::Nesterov: direction = momentum_direction(u, o, gradient, proceed); break;
    case OptimizerKind::Adam:
    case OptimizerKind::AdamW: direction = adam_direction(u, o, s, gradient, proceed); break;
  }
  const TensorId change = u.node(BinaryKind::Mul, direction, s.learning_rate, "change");
  TensorId fresh = u.commit(u.node(BinaryKind::Sub, base, change, "weight"), w, proceed, "weight_kept");
  if (!has_master) return fresh;
  b.graph().outputs.push_back(fresh);
  const TensorId cast = b.one(Cast{narrow.element}, {fresh}, u.weight + ".update.cast");
  return u.commit(cast, weight, kNoTensor, "");
}

}  // namespace monet
