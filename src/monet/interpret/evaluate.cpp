#include <fmt/format.h>

#include "monet/base/overloaded.h"
#include "monet/graph/infer.h"
#include "monet/interpret/families.h"

namespace monet {
namespace {

// Checks operands and outputs against the operator's own rule, so that the families can rely on their shapes.
template <class T>
std::vector<Shape> check_shapes(const Op& op, std::span<const Array<T>* const> inputs,
                                std::span<const Tensor* const> outputs) {
  std::vector<Tensor> tensors(inputs.size());
  std::vector<const Tensor*> operands(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    check_shape(inputs[i]->shape);
    if (std::ssize(inputs[i]->data) != elements(inputs[i]->shape))
      throw ValueError(
          fmt::format("input {} of shape {} has {} elements", i, to_string(inputs[i]->shape), inputs[i]->data.size()));
    tensors[i].shape = inputs[i]->shape;
    tensors[i].format = Format{Element::I64};  // only shapes matter here; some operands must be integers
    operands[i] = &tensors[i];
  }
  std::vector<Shape> shapes;
  for (const OutputType& type : infer(op, operands)) shapes.push_back(type.shape);
  if (outputs.size() > shapes.size())
    throw ValueError(fmt::format("there are {} outputs, not {}", shapes.size(), outputs.size()));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] && outputs[i]->shape != shapes[i])
      throw ValueError(
          fmt::format("output {} has shape {}, not {}", i, to_string(outputs[i]->shape), to_string(shapes[i])));
  return shapes;
}

}  // namespace

template <class T>
std::vector<Array<T>> evaluate(const Op& op, std::span<const Array<T>* const> inputs,
                               std::span<const Tensor* const> outputs, std::uint64_t step) {
  if (const Fallback* unknown = std::get_if<Fallback>(&op))
    throw ValueError(fmt::format("'{}' is unknown and cannot be evaluated", unknown->type));
  Call<T> call{inputs, outputs, {}, step};
  try {
    if (!std::holds_alternative<Steps>(op))  // whose steps are checked one by one
      call.shapes = check_shapes(op, inputs, outputs);
  } catch (const ShapeError& error) {
    throw ValueError(error.what());
  }
  const auto one = [&](Array<T> result) {
    Arrays<T> results(outputs.size());
    if (call.wanted(0)) results[0] = std::move(result);
    return results;
  };
  return std::visit(overloaded{
                        [&](const MatMul& o) { return one(apply(o, call)); },
                        [&](const Conv& o) { return one(apply(o, call)); },
                        [&](const Unary& o) { return apply(o, call); },
                        [&](const UnaryGradient& o) { return one(apply(o, call)); },
                        [&](const Binary& o) { return one(apply(o, call)); },
                        [&](const Sum& o) { return one(apply(o, call)); },
                        [&](const Select& o) { return one(apply(o, call)); },
                        [&](const Cast& o) { return one(apply(o, call)); },
                        [&](const Dropout& o) { return apply(o, call); },
                        [&](const DropoutGradient& o) { return one(apply(o, call)); },
                        [&](const Steps& o) { return apply(o, call); },
                        [&](const Reduce& o) { return one(apply(o, call)); },
                        [&](const Pool& o) { return apply(o, call); },
                        [&](const PoolGradient& o) { return one(apply(o, call)); },
                        [&](const Norm& o) { return apply(o, call); },
                        [&](const NormGradient& o) { return apply(o, call); },
                        [&](const NormPart& o) { return apply(o, call); },
                        [&](const Lrn& o) { return one(apply(o, call)); },
                        [&](const LrnGradient& o) { return one(apply(o, call)); },
                        [&](const Softmax& o) { return one(apply(o, call)); },
                        [&](const SoftmaxGradient& o) { return one(apply(o, call)); },
                        [&](const Attention& o) { return apply(o, call); },
                        [&](const AttentionGradient& o) { return apply(o, call); },
                        [&](const CrossEntropy& o) { return apply(o, call); },
                        [&](const NegativeLogLikelihood& o) { return one(apply(o, call)); },
                        [&](const CrossEntropyGradient& o) { return one(apply(o, call)); },
                        [&](const NegativeLogLikelihoodGradient& o) { return one(apply(o, call)); },
                        [&](const View& o) { return one(apply(o, call)); },
                        [&](const Transpose& o) { return one(apply(o, call)); },
                        [&](const Expand& o) { return one(apply(o, call)); },
                        [&](const Concat& o) { return one(apply(o, call)); },
                        [&](const Split& o) { return apply(o, call); },
                        [&](const Slice& o) { return one(apply(o, call)); },
                        [&](const Place& o) { return one(apply(o, call)); },
                        [&](const Pad& o) { return one(apply(o, call)); },
                        [&](const PadGradient& o) { return one(apply(o, call)); },
                        [&](const Gather& o) { return one(apply(o, call)); },
                        [&](const ScatterAdd& o) { return one(apply(o, call)); },
                        [&](const Trilu& o) { return one(apply(o, call)); },
                        [&](const Unfold& o) { return one(apply(o, call)); },
                        [&](const Fill& o) { return one(apply(o, call)); },
                        [&](const Iota& o) { return one(apply(o, call)); },
                        [&](const Fallback&) { return Arrays<T>{}; },  // refused above
                    },
                    op);
}

template std::vector<Array<float>> evaluate(const Op&, std::span<const Array<float>* const>,
                                            std::span<const Tensor* const>, std::uint64_t);
template std::vector<Array<double>> evaluate(const Op&, std::span<const Array<double>* const>,
                                             std::span<const Tensor* const>, std::uint64_t);

}  // namespace monet
