#include <fmt/format.h>

#include <array>

#include "monet/onnx/operators.h"

namespace monet {
namespace {

// ---- Batch normalisation ----

void mark_state(Converter& c, OperandId id) {
  const TensorId tensor = c.tensor(id);
  if (c.builder[tensor].category == Category::Weight || c.builder[tensor].category == Category::Input)
    c.builder[tensor].category = Category::ModelState;
}

void batch_norm(Converter& c, const OnnxCall& call) {
  std::vector<OperandId> in;
  for (std::size_t i = 0; i < 5; ++i) in.push_back(c.need(call, i));
  if (call.opset < 9 && call.attributes.integer("spatial", 1) == 0) throw UnsupportedUse("statistics per position");
  std::size_t named = 0;
  for (std::size_t i = 1; i < call.out.size(); ++i) named += call.has_output(i) ? 1 : 0;
  const bool training = call.opset >= 14 ? call.attributes.integer("training_mode", 0) != 0 : named > 0;
  Norm op;
  op.epsilon = call.attributes.real("epsilon", 1e-5);
  if (!training) {
    op.kind = NormKind::FrozenBatch;
    c.finish(call, op, in);
    mark_state(c, in[3]);
    mark_state(c, in[4]);
    return;
  }
  op.kind = NormKind::Batch;
  // ONNX weighs the old value, we the new one.
  op.momentum = as_written(static_cast<float>(1 - call.attributes.real("momentum", 0.9)));
  const auto output = [&](std::size_t i, std::string_view part) {
    return call.has_output(i) ? call.out[i] : c.part_name(call, part);
  };
  const auto made = c.add(
      call, op, in,
      {output(0, ""), output(3, "mean"), output(4, "inv_std"), output(1, "running_mean"), output(2, "running_var")});
  // Before opset 14 the saved statistics were mean and variance; nothing reads them outside of old training engines.
  for (std::size_t i = 3; i < 5; ++i) {
    mark_state(c, in[i]);
    c.builder[c.tensor(made[i])].overwrites = c.tensor(in[i]);
  }
}

// ---- Layer, group and root mean square ----

// A parameter of the shape the operator wants; ONNX lets it broadcast.
OperandId parameter(Converter& c, const OnnxCall& call, OperandId id, const Shape& shape, std::string_view part) {
  if (id == kNoOperand || c.shape(id) == shape) return id;
  if (elements(c.shape(id)) == elements(shape)) return reshape(c, call, id, shape, part);
  return c.step(call, Expand{shape}, {id}, part);
}

Shape from_axis(const Shape& shape, std::int64_t axis) { return {shape.begin() + axis, shape.end()}; }

std::string named_output(Converter& c, const OnnxCall& call, std::size_t i, std::string_view part) {
  return call.has_output(i) ? call.out[i] : c.part_name(call, part);
}

void layer_norm(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  Norm op;
  op.kind = NormKind::Layer;
  op.axis = normal_axis(call.attributes.integer("axis", -1), c.rank(x));
  op.epsilon = call.attributes.real("epsilon", 1e-5);
  const Shape shape = from_axis(c.shape(x), op.axis);
  std::vector<OperandId> in{x, parameter(c, call, c.need(call, 1), shape, "scale")};
  if (call.has_input(2)) in.push_back(parameter(c, call, call.in[2], shape, "bias"));
  c.add(call, op, in,
        {named_output(c, call, 0, ""), named_output(c, call, 1, "mean"), named_output(c, call, 2, "inv_std")});
}

void rms_norm(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  Norm op;
  op.kind = NormKind::Rms;
  op.axis = normal_axis(call.attributes.integer("axis", -1), c.rank(x));
  op.epsilon = call.attributes.real("epsilon", 1e-5);
  const OperandId scale = parameter(c, call, c.need(call, 1), from_axis(c.shape(x), op.axis), "scale");
  c.add(call, op, {x, scale}, {named_output(c, call, 0, ""), named_output(c, call, 1, "inv_rms")});
}

// y = layer_norm(x + skip + bias); the fourth output is the sum
void skip_norm(Converter& c, const OnnxCall& call) {
  const bool rms = call.type == "com.microsoft:SkipSimplifiedLayerNormalization";
  const std::size_t bias = rms ? 3 : 4;
  std::vector<OperandId> terms{c.need(call, 0), c.need(call, 1)};
  if (call.has_input(bias)) terms.push_back(call.in[bias]);
  const std::string total_name = named_output(c, call, 3, "sum");
  const OperandId total = c.add(call, Sum{}, terms, {total_name}, "sum")[0];
  if (call.has_output(3)) c.alias(call.out[3], total);
  Norm op;
  op.kind = rms ? NormKind::Rms : NormKind::Layer;
  op.axis = c.rank(total) - 1;
  op.epsilon = call.attributes.real("epsilon", 1e-5);
  std::vector<OperandId> in{total, c.need(call, 2)};
  if (!rms && call.has_input(3)) in.push_back(call.in[3]);
  if (rms)
    c.add(call, op, in, {named_output(c, call, 0, ""), named_output(c, call, 2, "inv_rms")});
  else
    c.add(call, op, in,
          {named_output(c, call, 0, ""), named_output(c, call, 1, "mean"), named_output(c, call, 2, "inv_std")});
}

void normalise_groups(Converter& c, const OnnxCall& call, std::int64_t groups, OperandId scale, OperandId bias) {
  Norm op;
  op.kind = NormKind::Group;
  op.groups = groups;
  op.epsilon = call.attributes.real("epsilon", 1e-5);
  c.add(call, op, {c.need(call, 0), scale, bias},
        {named_output(c, call, 0, ""), c.part_name(call, "mean"), c.part_name(call, "inv_std")});
}

// Before opset 21 scale and bias are per group.
void group_norm(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const std::int64_t groups = call.attributes.integer("num_groups");
  if (c.rank(x) < 2 || groups < 1 || c.shape(x)[1] % groups != 0)
    throw ModelError(fmt::format("the channels of {} do not divide into {} groups", to_string(c.shape(x)), groups));
  const std::int64_t channels = c.shape(x)[1];
  const auto per_channel = [&](OperandId id, const std::string& part) {
    if (c.shape(id) == Shape{channels}) return id;
    const OperandId column = reshape(c, call, id, {groups, 1}, part + "_column");
    const OperandId wide = c.step(call, Expand{{groups, channels / groups}}, {column}, part + "_wide");
    return reshape(c, call, wide, {channels}, part);
  };
  normalise_groups(c, call, groups, per_channel(c.need(call, 1), "scale"), per_channel(c.need(call, 2), "bias"));
}

// Every channel is a group of its own.
void instance_norm(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  if (c.rank(x) < 2) throw ModelError(fmt::format("expects [N,C,…], got {}", to_string(c.shape(x))));
  normalise_groups(c, call, c.shape(x)[1], c.need(call, 1), c.need(call, 2));
}

// x / ‖x‖ along one axis
void lp_norm(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const std::int64_t axis = normal_axis(call.attributes.integer("axis", -1), c.rank(x));
  const std::int64_t p = call.attributes.integer("p", 2);
  if (p != 1 && p != 2) throw UnsupportedUse(fmt::format("p = {}", p));
  OperandId size = kNoOperand;
  if (p == 2) {
    const OperandId squares = c.step(call, Reduce{ReduceKind::SumSquare, {axis}, true}, {x}, "squares");
    size = c.step(call, Unary{UnaryKind::Sqrt, 0, 0}, {squares}, "norm");
  } else {
    const OperandId sizes = c.step(call, Unary{UnaryKind::Abs, 0, 0}, {x}, "abs");
    size = c.step(call, Reduce{ReduceKind::Sum, {axis}, true}, {sizes}, "norm");
  }
  c.finish(call, Binary{BinaryKind::Div}, {x, size});
}

void local_response(Converter& c, const OnnxCall& call) {
  Lrn op;
  op.size = call.attributes.integer("size");
  op.alpha = call.attributes.real("alpha", 1e-4);
  op.beta = call.attributes.real("beta", 0.75);
  op.bias = call.attributes.real("bias", 1);
  c.finish(call, op, {c.need(call, 0)});
}

// ---- Softmax ----

// Before opset 13 all dimensions from `axis` on are normalised together.
void softmax(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const bool log = call.type == "LogSoftmax";
  const std::int64_t rank = c.rank(x);
  if (rank == 0) throw ModelError("expects at least one dimension");
  const std::int64_t axis = normal_axis(call.attributes.integer("axis", call.opset < 13 && rank > 1 ? 1 : -1), rank);
  const Shape shape = c.shape(x);
  const std::int64_t behind = elements(from_axis(shape, axis + 1));
  if (call.opset >= 13 || behind == 1) {
    c.finish(call, Softmax{axis, log}, {x});
    return;
  }
  const std::int64_t together = behind * shape[static_cast<std::size_t>(axis)];
  const OperandId flat = reshape(c, call, x, {elements(shape) / together, together}, "flat");
  const OperandId y = c.step(call, Softmax{1, log}, {flat}, "flat_result");
  c.finish(call, View{shape}, {y});
}

}  // namespace

std::span<const OperatorRule> normalisation_rules() {
  static constexpr auto kRules = std::to_array<OperatorRule>({
      {"BatchNormalization", batch_norm},
      {"LayerNormalization", layer_norm},
      {"RMSNormalization", rms_norm},
      {"SimplifiedLayerNormalization", rms_norm},
      {"com.microsoft:SimplifiedLayerNormalization", rms_norm},
      {"com.microsoft:SkipLayerNormalization", skip_norm},
      {"com.microsoft:SkipSimplifiedLayerNormalization", skip_norm},
      {"GroupNormalization", group_norm},
      {"InstanceNormalization", instance_norm},
      {"LpNormalization", lp_norm},
      {"LRN", local_response},
      {"Softmax", softmax},
      {"LogSoftmax", softmax},
  });
  return kRules;
}

}  // namespace monet
