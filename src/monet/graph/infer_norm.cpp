// Shapes of normalisations and of the passes they are broken up into.
#include <fmt/format.h>

#include <cstddef>

#include "monet/graph/infer_rules.h"

namespace monet::inference {
namespace {

struct NormShapes {
  Shape statistics, parameters;
};

template <class NormOp>
NormShapes norm_shapes(const NormOp& op, const Shape& x) {
  NormShapes s;
  switch (op.kind) {
    case NormKind::Batch:
    case NormKind::FrozenBatch:
      if (x.size() < 2) fail(fmt::format("expects [N,C,…], got {}", to_string(x)));
      s.statistics = s.parameters = {x[1]};
      break;
    case NormKind::Group:
      if (x.size() < 2) fail(fmt::format("expects [N,C,…], got {}", to_string(x)));
      if (op.groups < 1 || x[1] % op.groups != 0)
        fail(fmt::format("{} channels do not divide into {} groups", x[1], op.groups));
      s.statistics = {x[0], op.groups};
      s.parameters = {x[1]};
      break;
    case NormKind::Layer:
    case NormKind::Rms:
      check_axis(op.axis, static_cast<std::int64_t>(x.size()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool inside = static_cast<std::int64_t>(i) >= op.axis;
        s.statistics.push_back(inside ? 1 : x[i]);
        if (inside) s.parameters.push_back(x[i]);
      }
      break;
  }
  return s;
}

void check_parameter(const Tensor* t, const Shape& shape, const char* what) {
  if (t && t->shape != shape) fail(fmt::format("{} {} should be {}", what, to_string(t->shape), to_string(shape)));
}

}  // namespace

Outputs infer_norm(const Norm& op, Operands in) {
  const Tensor& x = need(in, 0);
  const NormShapes s = norm_shapes(op, x.shape);
  const bool batch = op.kind == NormKind::Batch || op.kind == NormKind::FrozenBatch;
  at_most(in, batch ? 5 : op.kind == NormKind::Rms ? 2 : 3);
  for (std::size_t i = 1; i < in.size(); ++i) check_parameter(in[i], s.parameters, "parameter");
  if (batch)
    for (std::size_t i = 1; i < 3; ++i) need(in, i);
  const bool running = maybe(in, 3) || maybe(in, 4);  // a recomputed batch-norm leaves the running statistics alone
  if (op.kind == NormKind::FrozenBatch || running)
    for (std::size_t i = 3; i < 5; ++i) need(in, i);
  const Format stat = wide(x.format);
  Outputs out{{x.shape, x.format, ""}};
  if (op.kind == NormKind::FrozenBatch) return out;
  if (op.kind != NormKind::Rms) out.push_back({s.statistics, stat, "mean"});
  out.push_back({s.statistics, stat, op.kind == NormKind::Rms ? "inv_rms" : "inv_std"});
  if (op.kind == NormKind::Batch && running) {
    out.push_back({s.statistics, need(in, 3).format, "running_mean", Category::ModelState});
    out.push_back({s.statistics, need(in, 4).format, "running_var", Category::ModelState});
  }
  return out;
}

Outputs infer_norm_gradient(const NormGradient& op, Operands in) {
  const Tensor& dy = need(in, 0);
  const NormShapes s = norm_shapes(op, dy.shape);
  const bool rms = op.kind == NormKind::Rms;
  at_most(in, rms ? 4 : 5);
  if (op.kind != NormKind::FrozenBatch || maybe(in, 1)) same_shape(dy, need(in, 1), "gradient and input");
  check_parameter(maybe(in, 2), s.parameters, "scale");
  for (std::size_t i = 3; i < (rms ? 4u : 5u); ++i)
    if (need(in, i).shape != s.statistics)
      fail(fmt::format("statistics {} should be {}", to_string(need(in, i).shape), to_string(s.statistics)));
  const Format parameter = in[2] ? in[2]->format : dy.format;
  Outputs out{{dy.shape, dy.format, ""}, {s.parameters, parameter, "scale"}};
  if (!rms) out.push_back({s.parameters, parameter, "bias"});
  return out;
}

Outputs infer_norm_part(const NormPart& op, Operands in) {
  const Tensor& x = need(in, 0);
  if (op.pass == NormPass::RunningUpdate) {
    at_most(in, 4);
    for (std::size_t i = 1; i < 4; ++i) same_shape(x, need(in, i), "statistics");
    return {{x.shape, x.format, "running_mean", Category::ModelState},
            {x.shape, need(in, 1).format, "running_var", Category::ModelState}};
  }
  const NormShapes s = norm_shapes(op, x.shape);
  if (is_set(op.part) && (op.pass != NormPass::InputGradient || op.part.count.size() != 1 || op.part.count[0] < 1))
    fail("a part is of an input gradient, and needs the number of elements behind each statistic");
  const Format stat = wide(x.format);
  const bool has_mean = op.kind != NormKind::Rms, frozen = op.kind == NormKind::FrozenBatch;
  const auto statistics = [&](std::size_t mean) {  // at operands mean and mean + 1
    if (has_mean && !(frozen && op.pass == NormPass::InputGradient))
      check_parameter(&need(in, mean), s.statistics, "mean");
    check_parameter(&need(in, mean + 1), s.statistics, "inverse deviation");
  };
  switch (op.pass) {
    case NormPass::Statistics:
      at_most(in, 1);
      return {{s.statistics, stat, "mean"},
              {s.statistics, stat, has_mean ? "inv_std" : "inv_rms"},
              {s.statistics, stat, "variance"}};
    case NormPass::Apply:
      at_most(in, 5);
      statistics(1);
      check_parameter(maybe(in, 3), s.parameters, "scale");
      check_parameter(maybe(in, 4), s.parameters, "bias");
      return {{x.shape, x.format, ""}};
    case NormPass::ParameterSums:
      at_most(in, 4);
      statistics(2);
      if (maybe(in, 1)) same_shape(x, *in[1], "gradient and input");
      return {{s.parameters, stat, "scale"}, {s.parameters, stat, "bias"}};
    case NormPass::GroupSums:
      at_most(in, 5);
      same_shape(x, need(in, 1), "gradient and input");
      statistics(2);
      check_parameter(maybe(in, 4), s.parameters, "scale");
      return {{s.statistics, stat, "s1"}, {s.statistics, stat, "s2"}};
    case NormPass::InputGradient:
      at_most(in, 7);
      statistics(2);
      check_parameter(maybe(in, 4), s.parameters, "scale");
      if (!frozen) {
        same_shape(x, need(in, 1), "gradient and input");
        if (has_mean) check_parameter(&need(in, 5), s.statistics, "sum");
        check_parameter(&need(in, 6), s.statistics, "sum");
      }
      return {{x.shape, x.format, ""}};
    case NormPass::RunningUpdate: break;
  }
  fail("unknown normalisation pass");
}

}  // namespace monet::inference
