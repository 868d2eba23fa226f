// A program step by step, each by the evaluator of its operator: the same bits as of single nodes.
#include "monet/graph/steps.h"

#include "monet/interpret/families.h"

namespace monet {

template <class T>
Arrays<T> apply(const Steps& op, const Call<T>& call) {
  Arrays<T> results(call.outputs.size());
  Tensor made;
  for (std::size_t o = 0; o < results.size(); ++o)
    if (call.wanted(o)) made.shape = call.outputs[o]->shape;
  const std::size_t inputs = call.inputs.size();
  std::vector<const Array<T>*> values;  // by number
  for (std::size_t i = 0; i < inputs; ++i) values.push_back(&call.need(i));
  const std::vector<std::size_t> last = last_uses(op, inputs);
  Arrays<T> owned(op.program.size());
  for (std::size_t i = 0; i < op.program.size(); ++i) {
    const Step& step = op.program[i];
    std::vector<const Array<T>*> operands;
    for (const std::int32_t in : step.inputs)
      if (in != kNoValue) operands.push_back(values[static_cast<std::size_t>(in)]);
    made.format = step.format;
    const Tensor* const output = &made;
    owned[i] = std::move(evaluate<T>(whole_op(step.op), operands, {&output, 1}, call.step)[0]);
    values.push_back(&owned[i]);
    for (const std::int32_t in : step.inputs)
      if (in >= static_cast<std::int32_t>(inputs) && last[static_cast<std::size_t>(in)] == i)
        owned[static_cast<std::size_t>(in) - inputs] = {};
  }
  for (std::size_t o = 0; o < op.outputs.size(); ++o)
    if (call.wanted(o)) results[o] = std::move(owned[static_cast<std::size_t>(op.outputs[o]) - inputs]);
  return results;
}

template Arrays<float> apply(const Steps&, const Call<float>&);
template Arrays<double> apply(const Steps&, const Call<double>&);

}  // namespace monet
