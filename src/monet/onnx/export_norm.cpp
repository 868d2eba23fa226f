// Normalisation out of means, products and reciprocal roots, so that mean and inv_std are values of the file.
#include "monet/onnx/export_rules.h"

namespace monet::exporting {
namespace {

// x is viewed as `work`; `axes` of it are normalised together.
struct Geometry {
  Shape work;
  Ints axes;
  Shape statistics;     // as they broadcast over `work`
  Shape parameters;     // as they broadcast over x
  Ints parameter_axes;  // of x: what shares a parameter
  std::int64_t count = 1;
};

template <class NormOp>
Geometry geometry_of(const NormOp& op, const Shape& x) {
  Geometry g;
  g.work = x;
  const auto rank = std::ssize(x);
  const bool channels = op.kind != NormKind::Layer && op.kind != NormKind::Rms;
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t extent = x[static_cast<std::size_t>(i)];
    const bool together = channels ? i != 1 : i >= op.axis;
    g.statistics.push_back(together ? 1 : extent);
    if (together) g.axes.push_back(i);
    if (channels ? i != 1 : i < op.axis) g.parameter_axes.push_back(i);
    if (channels)
      g.parameters.push_back(i == 1 ? extent : 1);
    else if (i >= op.axis)
      g.parameters.push_back(extent);
  }
  if (op.kind == NormKind::Group) {
    g.work = {x[0], op.groups, elements(x) / (x[0] * op.groups)};
    g.statistics = {x[0], op.groups, 1};
    g.axes = {2};
  }
  g.count = elements(x) / elements(g.statistics);
  return g;
}

// Reads and writes operands in the views above, all in one element type.
struct Views {
  Scope& s;
  const Geometry& g;
  const Shape& x;
  Element element;

  Value seen(const Value& v, const Shape& from, const Shape& as) const { return from == as ? v : s.reshape(v, as); }
  Value work(std::size_t i) const { return seen(s.in(i, element), x, g.work); }
  Value statistic(std::size_t i) const { return seen(s.in(i, element), s.input(i).shape, g.statistics); }
  Value parameter(std::size_t i) const { return seen(s.in(i, element), s.input(i).shape, g.parameters); }
  Value to_x(const Value& v) const { return seen(v, g.work, x); }
  Value to_work(const Value& v) const { return seen(v, x, g.work); }

  void give_statistic(std::size_t i, const Value& v) const {
    if (s.wanted(i)) s.out(i, seen(v, g.statistics, s.output(i).shape));
  }
  // Σ over what shares a parameter of v, which has x's shape
  void give_parameter_sum(std::size_t i, const Value& v) const {
    if (!s.wanted(i)) return;
    const Shape& shape = s.output(i).shape;
    s.out(i, g.parameter_axes.empty() ? seen(v, x, shape) : s.reduce("ReduceSum", v, g.parameter_axes, false));
  }
};

struct Statistics {
  Value mean, inv_std, variance, centred;  // no mean: Rms
};

Value inverse_root(Scope& s, const Value& variance, double epsilon) {
  return s.make("Reciprocal", {s.make("Sqrt", {s.add(variance, epsilon)})});
}

Statistics statistics(const Views& v, NormKind kind, double epsilon) {
  Statistics r;
  r.centred = v.work(0);
  if (kind != NormKind::Rms) {
    r.mean = v.s.reduce("ReduceMean", r.centred, v.g.axes);
    r.centred = v.s.sub(r.centred, r.mean);
  }
  r.variance = v.s.reduce("ReduceMean", v.s.mul(r.centred, r.centred), v.g.axes);
  r.inv_std = inverse_root(v.s, r.variance, epsilon);
  return r;
}

Value scaled(const Views& v, Value y, std::size_t scale, std::size_t bias) {
  if (v.s.has(scale)) y = v.s.mul(y, v.parameter(scale));
  if (v.s.has(bias)) y = v.s.add(y, v.parameter(bias));
  return y;
}

Value moved(Scope& s, std::size_t running, const Value& batch, double momentum, double factor) {
  return s.add(s.mul(s.in(running, batch.element), 1 - momentum), s.mul(batch, momentum * factor));
}

// Running variances keep the unbiased estimate.
double unbiased(std::int64_t count) {
  return count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1) : 1;
}

// x̂ in work's shape; `mean` is not read for Rms
Value hat(const Views& v, NormKind kind, std::size_t x, std::size_t mean, const Value& inv_std) {
  const Value centred = kind == NormKind::Rms ? v.work(x) : v.s.sub(v.work(x), v.statistic(mean));
  return v.s.mul(centred, inv_std);
}

// γ·dy in work's shape
Value weighted(const Views& v, std::size_t scale) {
  const Value dy = v.s.in(0, v.element);
  return v.to_work(v.s.has(scale) ? v.s.mul(dy, v.parameter(scale)) : dy);
}

// inv_std · (γ·dy - (s1 + x̂·s2)/n); no s1: Rms
Value input_gradient(const Views& v, const Value& weighted_dy, const Value& x_hat, const Value& inv_std,
                     const Value& s1, const Value& s2) {
  const Value sums = s1.name.empty() ? v.s.mul(x_hat, s2) : v.s.add(s1, v.s.mul(x_hat, s2));
  const Value correction = v.s.mul(sums, 1.0 / static_cast<double>(v.g.count));
  return v.to_x(v.s.mul(v.s.sub(weighted_dy, correction), inv_std));
}

void write_frozen_gradient(const NormGradient& op, const Views& v) {
  Scope& s = v.s;
  const Value inv_std = inverse_root(s, v.statistic(4), op.epsilon);
  if (s.wanted(0)) s.out(0, s.mul(weighted(v, 2), inv_std));
  const Value dy = s.in(0, v.element);
  if (s.wanted(1)) v.give_parameter_sum(1, s.mul(dy, hat(v, op.kind, 1, 3, inv_std)));
  v.give_parameter_sum(2, dy);
}

void write_part_input_gradient(const NormPart& op, const Views& v) {
  Scope& s = v.s;
  const Value inv_std = v.statistic(3), weighted_dy = weighted(v, 4);
  if (op.kind == NormKind::FrozenBatch) return s.out(0, s.mul(weighted_dy, inv_std));
  Value s1 = op.kind == NormKind::Rms ? Value{} : v.statistic(5), s2 = v.statistic(6);
  if (op.kind == NormKind::Batch && s.has(4)) {  // Batch shares γ among all it sums over: its sums come without γ
    s1 = s.mul(s1, v.parameter(4));
    s2 = s.mul(s2, v.parameter(4));
  }
  s.out(0, input_gradient(v, weighted_dy, hat(v, op.kind, 1, 2, inv_std), inv_std, s1, s2));
}

void write_running_update(const NormPart& op, Scope& s) {
  const Value mean = s.in(2, wide(s.input(2).format.element)), variance = s.in(3, mean.element);
  if (s.wanted(0)) s.out(0, moved(s, 0, mean, op.momentum, 1));
  if (s.wanted(1)) s.out(1, moved(s, 1, variance, op.momentum, unbiased(op.count)));
}

}  // namespace

void write(const Norm& op, Scope& s) {
  const Tensor& x = s.input(0);
  const Element element = wide(x.format.element);
  if (op.kind == NormKind::FrozenBatch)
    return s.out(0, s.make("BatchNormalization",
                           {s.in(0, element), s.in(1, element), s.in(2, element), s.in(3, element), s.in(4, element)},
                           {{"epsilon", op.epsilon}}));
  const bool rms = op.kind == NormKind::Rms;
  if (op.kind == NormKind::Layer && s.has(1) && element == Element::F32) {  // ONNX gives statistics in f32
    const std::vector<Value> y =
        s.make("LayerNormalization", {s.in(0, element), s.in(1, element), s.in_or_none(2, element)},
               {{"axis", op.axis}, {"epsilon", op.epsilon}}, std::vector<Element>(3, element));
    for (std::size_t i = 0; i < 3; ++i) s.out(i, y[i]);
    return;
  }
  const Geometry g = geometry_of(op, x.shape);
  const Views v{s, g, x.shape, element};
  const Statistics r = statistics(v, op.kind, op.epsilon);
  if (s.wanted(0)) s.out(0, scaled(v, v.to_x(s.mul(r.centred, r.inv_std)), 1, rms ? s.inputs() : 2));
  if (!rms) v.give_statistic(1, r.mean);
  v.give_statistic(rms ? 1 : 2, r.inv_std);
  if (op.kind != NormKind::Batch) return;
  const auto flat = [&](const Value& statistic) { return s.reshape(statistic, {x.shape[1]}); };
  if (s.wanted(3)) s.out(3, moved(s, 3, flat(r.mean), op.momentum, 1));
  if (s.wanted(4)) s.out(4, moved(s, 4, flat(r.variance), op.momentum, unbiased(g.count)));
}

void write(const NormGradient& op, Scope& s) {
  const Tensor& dy_tensor = s.input(0);
  const Geometry g = geometry_of(op, dy_tensor.shape);
  const Views v{s, g, dy_tensor.shape, wide(dy_tensor.format.element)};
  if (op.kind == NormKind::FrozenBatch) return write_frozen_gradient(op, v);
  const bool rms = op.kind == NormKind::Rms;
  const Value inv_std = v.statistic(rms ? 3 : 4), x_hat = hat(v, op.kind, 1, 3, inv_std);
  if (s.wanted(0)) {
    const Value weighted_dy = weighted(v, 2);
    const Value s1 = rms ? Value{} : s.reduce("ReduceSum", weighted_dy, g.axes);
    const Value s2 = s.reduce("ReduceSum", s.mul(weighted_dy, x_hat), g.axes);
    s.out(0, input_gradient(v, weighted_dy, x_hat, inv_std, s1, s2));
  }
  const Value dy = s.in(0, v.element);
  if (s.wanted(1)) v.give_parameter_sum(1, s.mul(dy, v.to_x(x_hat)));
  if (!rms) v.give_parameter_sum(2, dy);
}

void write(const NormPart& op, Scope& s) {
  if (op.pass == NormPass::RunningUpdate) return write_running_update(op, s);
  const Tensor& first = s.input(0);
  const Geometry g = geometry_of(op, first.shape);
  const Views v{s, g, first.shape, wide(first.format.element)};
  switch (op.pass) {
    case NormPass::Statistics: {
      const Statistics r = statistics(v, op.kind, op.epsilon);
      if (s.wanted(0)) v.give_statistic(0, op.kind == NormKind::Rms ? s.filled(g.statistics, 0, v.element) : r.mean);
      v.give_statistic(1, r.inv_std);
      v.give_statistic(2, r.variance);
      return;
    }
    case NormPass::Apply: return s.out(0, scaled(v, v.to_x(hat(v, op.kind, 0, 1, v.statistic(2))), 3, 4));
    case NormPass::ParameterSums: {
      const Value dy = s.in(0, v.element);
      if (s.wanted(0)) v.give_parameter_sum(0, s.mul(dy, v.to_x(hat(v, op.kind, 1, 2, v.statistic(3)))));
      return v.give_parameter_sum(1, dy);
    }
    case NormPass::GroupSums: {
      const Value weighted_dy = weighted(v, 4);
      if (s.wanted(0)) v.give_statistic(0, s.reduce("ReduceSum", weighted_dy, g.axes));
      if (s.wanted(1))
        v.give_statistic(1, s.reduce("ReduceSum", s.mul(weighted_dy, hat(v, op.kind, 1, 2, v.statistic(3))), g.axes));
      return;
    }
    case NormPass::InputGradient: return write_part_input_gradient(op, v);
    case NormPass::RunningUpdate: return;
  }
}

}  // namespace monet::exporting
