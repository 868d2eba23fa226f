// Softmax, losses over class axis 1, and local response normalisation.
#include "monet/onnx/export_rules.h"

namespace monet::exporting {
namespace {

Value labels(Scope& s, std::size_t i) { return s.in(i, Element::I64); }

std::string reduction(bool mean) { return mean ? "mean" : "sum"; }

struct Targets {
  Value one_hot;  // of the labels that count, shape of the logits
  Value keep;     // 1 where a label counts, 0 where it is ignored; broadcasts over the classes
  Value factor;   // dloss, over the number of labels that count for a mean
};

template <class LossOp>
Targets targets(Scope& s, const LossOp& op, const Shape& logits, Element element) {
  const Value label = labels(s, 2);
  const Value ignored = s.compare("Equal", label, s.scalar(static_cast<double>(op.ignore_index), Element::I64));
  Shape column = s.input(2).shape;
  column.insert(column.begin() + 1, 1);
  Targets t;
  t.keep = s.reshape(s.cast(s.make("Not", {ignored}), element), column);
  const Value off_on = s.table({2}, Element::F32, [](std::size_t i) { return static_cast<double>(i); });
  const Value hot = s.make("OneHot", {label, s.scalar(static_cast<double>(logits[1]), Element::I64), off_on},
                           {{"axis", std::int64_t{1}}}, Element::F32);
  t.one_hot = s.mul(s.cast(hot, element), t.keep);
  t.factor = s.in(0, element);
  if (!s.input(0).shape.empty()) t.factor = s.reshape(t.factor, {});
  if (op.mean) {
    Ints all;
    for (std::int64_t i = 0; i < std::ssize(column); ++i) all.push_back(i);
    const Value counted = s.reduce("ReduceSum", t.keep, all, false);
    t.factor = s.div(t.factor, s.make("Max", {counted, s.scalar(1, element)}));
  }
  return t;
}

// x [N,C,…] as [N,1,C,S], so that a pool can slide over the channels
Value over_channels(Scope& s, const Value& x, const Shape& shape) {
  return s.reshape(x, {shape[0], 1, shape[1], elements(shape) / (shape[0] * shape[1])});
}

// Mean over windows of `size` channels that reach `before` and `after` the middle one; channels beyond count as zero.
Value channel_mean(Scope& s, const Value& x, std::int64_t size, std::int64_t before, std::int64_t after) {
  return s.make("AveragePool", {x},
                {{"kernel_shape", Ints{size, 1}},
                 {"strides", Ints{1, 1}},
                 {"pads", Ints{before, 0, after, 0}},
                 {"count_include_pad", std::int64_t{1}}});
}

// bias + alpha/size · Σ x²
template <class LrnOp>
Value denominator(Scope& s, const LrnOp& op, const Value& x) {
  return s.add(s.mul(channel_mean(s, s.mul(x, x), op.size, (op.size - 1) / 2, op.size / 2), op.alpha), op.bias);
}

Value power(Scope& s, const Value& x, double exponent) { return s.make("Pow", {x, s.scalar(exponent, x.element)}); }

}  // namespace

void write(const Lrn& op, Scope& s) {
  const Shape& shape = s.input(0).shape;
  const Value x = s.in(0, floating(s.input(0).format.element));
  if (shape.size() == 4 && op.size % 2 == 1)  // what onnxruntime's LRN takes
    return s.out(0, s.make("LRN", {x}, {{"size", op.size}, {"alpha", op.alpha}, {"beta", op.beta}, {"bias", op.bias}}));
  const Value flat = over_channels(s, x, shape);
  s.out(0, s.reshape(s.mul(flat, power(s, denominator(s, op, flat), -op.beta)), shape));
}

void write(const LrnGradient& op, Scope& s) {
  const Shape& shape = s.input(0).shape;
  const Element element = floating(s.input(0).format.element);
  const Value dy = over_channels(s, s.in(0, element), shape), x = over_channels(s, s.in(1, element), shape);
  const Value d = denominator(s, op, x);
  const Value direct = s.mul(dy, power(s, d, -op.beta));
  // Channel c enters the windows of the channels that reach it: the window mirrored.
  const Value through =
      channel_mean(s, s.mul(s.mul(dy, x), power(s, d, -op.beta - 1)), op.size, op.size / 2, (op.size - 1) / 2);
  s.out(0, s.reshape(s.sub(direct, s.mul(s.mul(x, through), 2 * op.alpha * op.beta)), shape));
}

void write(const Softmax& op, Scope& s) {
  const Value x = s.in(0, floating(s.input(0).format.element));
  s.out(0, s.make(op.log ? "LogSoftmax" : "Softmax", {x}, {{"axis", op.axis}}));
}

void write(const SoftmaxGradient& op, Scope& s) {
  const Element element = floating(s.input(0).format.element);
  const Value dy = s.in(0, element), y = s.in(1, element);
  if (op.log) return s.out(0, s.sub(dy, s.mul(s.make("Exp", {y}), s.reduce("ReduceSum", dy, {op.axis}))));
  s.out(0, s.mul(y, s.sub(dy, s.reduce("ReduceSum", s.mul(dy, y), {op.axis}))));
}

void write(const CrossEntropy& op, Scope& s) {
  const Element element = wide(s.input(0).format.element);
  const std::vector<Value> both = s.make("SoftmaxCrossEntropyLoss", {s.in(0, element), labels(s, 1)},
                                         {{"reduction", reduction(op.mean)}, {"ignore_index", op.ignore_index}},
                                         std::vector<Element>(s.wanted(1) ? 2 : 1, element));
  s.out(0, both[0]);
  if (s.wanted(1)) s.out(1, both[1]);
}

void write(const NegativeLogLikelihood& op, Scope& s) {
  const Element element = wide(s.input(0).format.element);
  s.out(0, s.make("NegativeLogLikelihoodLoss", {s.in(0, element), labels(s, 1)},
                  {{"reduction", reduction(op.mean)}, {"ignore_index", op.ignore_index}}));
}

void write(const CrossEntropyGradient& op, Scope& s) {
  const Element element = wide(s.input(1).format.element);
  const Targets t = targets(s, op, s.input(1).shape, element);
  const Value probability = s.mul(s.make("Exp", {s.in(1, element)}), t.keep);
  s.out(0, s.mul(s.sub(probability, t.one_hot), t.factor));
}

void write(const NegativeLogLikelihoodGradient& op, Scope& s) {
  const Targets t = targets(s, op, s.input(1).shape, wide(s.input(1).format.element));
  s.out(0, s.make("Neg", {s.mul(t.one_hot, t.factor)}));
}

}  // namespace monet::exporting
