#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "monet/onnx/operators.h"

// Dropout, losses, and the gradient operators onnxruntime's training graphs are made of (com.microsoft).

namespace monet {
namespace {

// ---- Dropout ----

void keep_all(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const Shape shape = c.shape(x);
  c.finish(call, View{shape}, {x});
  if (call.has_output(1) && c.is_used(call.out[1]))
    c.alias(call.out[1], c.step(call, Fill{shape, 1, Element::Bool}, {}, "mask"));
}

// Without a seed of its own every dropout draws from one made of its place in the graph.
std::int64_t seed_of(Converter& c, const OnnxCall& call) {
  return call.attributes.integer("seed", static_cast<std::int64_t>(c.builder.graph().nodes.size()) + 1);
}

// Before opset 12 the operator describes inference; since then it has an input that says so.
void dropout(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const bool training = call.opset >= 12 && call.has_input(2) && c.number(call.in[2], "training_mode") != 0;
  const double ratio = call.has_input(1) ? c.number(call.in[1], "ratio") : call.attributes.real("ratio", 0.5);
  if (!training || ratio == 0) return keep_all(c, call);
  std::vector<std::string> out{call.out.at(0)};
  const bool masked = call.has_output(1) && c.is_used(call.out[1]);
  if (masked) out.push_back(call.out[1]);
  c.add(call, Dropout{as_written(static_cast<float>(ratio)), seed_of(c, call)}, {x}, out);
}

// (dy, mask, [ratio], [training_mode])
void dropout_gradient(Converter& c, const OnnxCall& call) {
  const double ratio = call.has_input(2) ? c.number(call.in[2], "ratio") : call.attributes.real("ratio", 0.5);
  if (call.has_input(3) && c.number(call.in[3], "training_mode") == 0) return keep_all(c, call);
  c.finish(call, DropoutGradient{as_written(static_cast<float>(ratio)), 0}, {c.need(call, 0), c.need(call, 1)});
}

// ---- Losses ----

bool mean_reduction(const OnnxCall& call) {
  const std::string reduction = call.attributes.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum") throw UnsupportedUse(fmt::format("reduction '{}'", reduction));
  return reduction == "mean";
}

std::int64_t ignored(Converter& c, const OnnxCall& call, std::size_t input) {
  if (call.has_input(input)) return to_integer(c.number(call.in[input], "ignore_index"));
  return call.attributes.integer("ignore_index", -100);
}

// (scores, labels, [weights]) -> (loss, [log_prob])
void cross_entropy(Converter& c, const OnnxCall& call) {
  const bool mean = mean_reduction(call);
  if (call.has_input(2)) throw UnsupportedUse("weights of classes");
  const std::int64_t ignore = ignored(c, call, 3);
  c.add(call, CrossEntropy{mean, ignore}, {c.need(call, 0), c.need(call, 1)},
        {call.out.at(0), call.has_output(1) ? call.out[1] : c.part_name(call, "log_prob")});
  c.mark_loss(call);
}

void negative_log_likelihood(Converter& c, const OnnxCall& call) {
  const bool mean = mean_reduction(call);
  if (call.has_input(2)) throw UnsupportedUse("weights of classes");
  c.finish(call, NegativeLogLikelihood{mean, ignored(c, call, 3)}, {c.need(call, 0), c.need(call, 1)});
  c.mark_loss(call);
}

// (dloss, log_prob, labels, [weights], [ignore_index]); files of other tools keep the classes on the last axis
void cross_entropy_gradient(Converter& c, const OnnxCall& call) {
  const OperandId dloss = c.need(call, 0), log_prob = c.need(call, 1), labels = c.need(call, 2);
  CrossEntropyGradient op;
  op.mean = mean_reduction(call);
  if (call.has_input(3)) throw UnsupportedUse("weights of classes");
  op.ignore_index = ignored(c, call, 4);
  op.to = c[log_prob].format.element;
  const Shape& scores = c.shape(log_prob);
  const auto fits = [&](std::size_t axis) {
    Shape rest = scores;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
    return rest == c.shape(labels);
  };
  if (scores.size() > 2 && !fits(1) && fits(scores.size() - 1)) op.axis = std::ssize(scores) - 1;
  c.finish(call, op, {dloss, log_prob, labels});
}

// ---- Gradients ----

template <UnaryKind kind, Source from>
void unary_gradient(Converter& c, const OnnxCall& call) {
  c.finish(call, UnaryGradient{kind, 0, 0, from}, {c.need(call, 0), c.need(call, 1)});
}

// (dy, y)
template <bool log>
void softmax_gradient(Converter& c, const OnnxCall& call) {
  const OperandId dy = c.need(call, 0), y = c.need(call, 1);
  const std::int64_t rank = c.rank(dy);
  const bool old = call.type == "com.microsoft:SoftmaxGrad" || call.type == "com.microsoft:LogSoftmaxGrad";
  const std::int64_t axis = normal_axis(call.attributes.integer("axis", old ? 1 : -1), rank);
  if (old && axis != rank - 1) throw UnsupportedUse("several dimensions together");
  c.finish(call, SoftmaxGradient{axis, log}, {dy, y});
}

// (dy, x, scale, mean, inv_std) -> (dx, dscale, dbias)
void layer_norm_gradient(Converter& c, const OnnxCall& call) {
  NormGradient op;
  op.kind = NormKind::Layer;
  op.axis = normal_axis(call.attributes.integer("axis", -1), c.rank(c.need(call, 0)));
  std::vector<OperandId> in;
  for (std::size_t i = 0; i < 5; ++i) in.push_back(c.need(call, i));
  c.add(call, op, in, call.out);
}

// (shape of data, indices, dy)
void gather_gradient(Converter& c, const OnnxCall& call) {
  const Shape shape = c.integers(c.need(call, 0), "shape");
  const std::int64_t axis = normal_axis(call.attributes.integer("axis", 0), std::ssize(shape));
  c.finish(call, ScatterAdd{axis, shape[static_cast<std::size_t>(axis)]}, {c.need(call, 2), c.need(call, 1)});
}

// (buffer, gradient, [signal or flag]) -> new buffer, in its place. The second version returns a flag first.
void accumulate(Converter& c, const OnnxCall& call) {
  const OperandId buffer = c.need(call, 0), gradient = c.need(call, 1);
  const bool flagged = call.type == "com.microsoft:InPlaceAccumulatorV2";
  if (flagged && call.has_input(2) && c.knows(call.in[2]) && c.number(call.in[2], "overwrite_flag") != 0)
    throw UnsupportedUse("overwriting instead of adding");
  if (flagged && call.has_output(0)) c.constant(call.out[0], {1}, Element::Bool, {1});
  const std::size_t result = flagged ? 1 : 0;
  const std::string name = call.has_output(result) ? call.out[result] : c.part_name(call, "sum");
  const OperandId sum = c.add(call, Sum{}, {buffer, gradient}, {name})[0];
  if (c[buffer].tensor != kNoTensor && c[sum].tensor != kNoTensor && c.shape(sum) == c.shape(buffer))
    c.builder[c[sum].tensor].overwrites = c[buffer].tensor;
}

}  // namespace

std::span<const OperatorRule> training_rules() {
  static constexpr auto kRules = std::to_array<OperatorRule>({
      {"Dropout", dropout},
      {"com.microsoft:DropoutGrad", dropout_gradient},
      {"SoftmaxCrossEntropyLoss", cross_entropy},
      {"com.microsoft:SoftmaxCrossEntropyLossInternal", cross_entropy},
      {"NegativeLogLikelihoodLoss", negative_log_likelihood},
      {"com.microsoft:SoftmaxCrossEntropyLossGrad", cross_entropy_gradient},
      {"com.microsoft:SoftmaxCrossEntropyLossInternalGrad", cross_entropy_gradient},
      {"com.microsoft:ReluGrad", unary_gradient<UnaryKind::Relu, Source::Output>},
      {"com.microsoft:SigmoidGrad", unary_gradient<UnaryKind::Sigmoid, Source::Output>},
      {"com.microsoft:TanhGrad", unary_gradient<UnaryKind::Tanh, Source::Output>},
      {"com.microsoft:GeluGrad", unary_gradient<UnaryKind::Gelu, Source::Input>},
      {"com.microsoft:FastGeluGrad", unary_gradient<UnaryKind::GeluTanh, Source::Input>},
      {"com.microsoft:SoftmaxGrad", softmax_gradient<false>},
      {"com.microsoft:SoftmaxGrad_13", softmax_gradient<false>},
      {"com.microsoft:LogSoftmaxGrad", softmax_gradient<true>},
      {"com.microsoft:LogSoftmaxGrad_13", softmax_gradient<true>},
      {"com.microsoft:LayerNormalizationGrad", layer_norm_gradient},
      {"com.microsoft:GatherGrad", gather_gradient},
      {"com.microsoft:InPlaceAccumulator", accumulate},
      {"com.microsoft:InPlaceAccumulatorV2", accumulate},
  });
  return kRules;
}

}  // namespace monet
