#include "monet/training/loss.h"

#include <fmt/format.h>

#include "monet/base/diagnostic.h"

namespace monet {
namespace {

TensorId cross_entropy(Builder& b, TensorId logits, std::vector<std::string>& notes) {
  const Uses u = uses(b.graph());
  if (const NodeId producer = u.producer[logits.index()]; producer != kNoNode) {
    const Node& node = b.graph()[producer];
    if (std::holds_alternative<Softmax>(node.op)) {
      notes.push_back(fmt::format("the final softmax '{}' is part of the cross-entropy loss", node.name));
      logits = node.inputs[0];
    }
  }
  Shape shape = b[logits].shape;
  if (shape.size() < 2)
    throw InputError(Diagnostic{.where = fmt::format("output '{}'", b[logits].name),
                                .message = fmt::format("cross-entropy needs [N, classes, …], got {}", to_string(shape)),
                                .hint = "--loss mse takes any shape"});
  if (shape.size() == 3) {
    shape = {shape[0] * shape[1], shape[2]};
    logits = b.view(logits, shape, "logits");
  }
  Shape labels = shape;
  labels.erase(labels.begin() + 1);
  const TensorId label = b.source("labels", labels, Format{Element::I64}, Category::Index);
  return b.add(CrossEntropy{}, {logits, label}, "loss", 2)[0];
}

TensorId mean_squared(Builder& b, TensorId y) {
  const TensorId target = b.source("target", b[y].shape, b[y].format, Category::Input);
  const TensorId difference = b.binary(BinaryKind::Sub, y, target, "loss.difference");
  const TensorId square = b.unary(UnaryKind::Square, difference, "loss.square");
  Ints axes;
  for (std::size_t i = 0; i < b[y].shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return b.one(Reduce{ReduceKind::Mean, axes, false}, {square}, "loss");
}

}  // namespace

TensorId attach_loss(Builder& b, LossKind kind, std::vector<std::string>& notes) {
  if (b.graph().outputs.empty()) throw InputError(Diagnostic{.message = "the model has no output to attach a loss to"});
  const TensorId y = b.graph().outputs[0];
  if (!is_float(b[y].format.element))
    throw InputError(Diagnostic{.where = fmt::format("output '{}'", b[y].name),
                                .message = "the loss needs a floating-point output"});
  if (elements(b[y].shape) == 1) {
    notes.push_back(fmt::format("the scalar output '{}' is taken as the loss", b[y].name));
    if (b[y].shape.empty()) return y;
    b.phase = Phase::Loss;
    return b.view(y, {}, "loss");
  }
  b.phase = Phase::Loss;
  switch (kind) {
    case LossKind::CrossEntropy: return cross_entropy(b, y, notes);
    case LossKind::MeanSquared: return mean_squared(b, y);
  }
  return y;
}

}  // namespace monet
