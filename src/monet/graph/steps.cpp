#include "monet/graph/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "monet/graph/builder.h"
#include "monet/graph/infer_rules.h"

namespace monet {
namespace {

using inference::fail;

// Those it has.
std::span<const std::int32_t> inputs_of(const Step& step) {
  const auto end = std::find(step.inputs.begin(), step.inputs.end(), kNoValue);
  return {step.inputs.begin(), end};
}

Tensor value_of(const Step& step, std::size_t number, const std::vector<Tensor>& before) {
  std::vector<const Tensor*> operands;
  for (const std::int32_t i : inputs_of(step)) {
    if (i < 0 || static_cast<std::size_t>(i) >= before.size())
      fail(fmt::format("step {} reads value {}, which is not there yet", number, i));
    operands.push_back(&before[static_cast<std::size_t>(i)]);
  }
  const OutputType made = infer(whole_op(step.op), operands)[0];
  if (!can_store(made.format, step.format))
    fail(fmt::format("step {} makes {}, stored as {}", number, to_string(made.format), to_string(step.format)));
  Tensor value;
  value.shape = made.shape;
  value.format = step.format;
  return value;
}

}  // namespace

std::vector<Tensor> step_values(const Steps& op, std::span<const Tensor* const> inputs) {
  if (op.program.empty() || op.outputs.empty()) fail("a program has steps and outputs");
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values.push_back(inference::need(inputs, i));
  for (std::size_t i = 0; i < op.program.size(); ++i) values.push_back(value_of(op.program[i], i, values));
  const Shape& shape = values.back().shape;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool fits = i < inputs.size() ? broadcast(values[i].shape, shape) == shape : values[i].shape == shape;
    if (!fits) fail(fmt::format("value {} is {} among others of {}", i, to_string(values[i].shape), to_string(shape)));
  }
  std::vector<bool> is_given(values.size(), false);
  for (const std::int64_t o : op.outputs) {
    if (o < std::ssize(inputs) || o >= std::ssize(values)) fail(fmt::format("no step makes output {}", o));
    if (is_given[static_cast<std::size_t>(o)]) fail(fmt::format("value {} is given out twice", o));
    is_given[static_cast<std::size_t>(o)] = true;
  }
  return values;
}

std::vector<std::size_t> last_uses(const Steps& op, std::size_t inputs) {
  std::vector<std::size_t> last(inputs + op.program.size(), 0);
  for (std::size_t i = 0; i < op.program.size(); ++i) {
    last[inputs + i] = i;
    for (const std::int32_t in : inputs_of(op.program[i])) last[static_cast<std::size_t>(in)] = i;
  }
  for (const std::int64_t o : op.outputs) last[static_cast<std::size_t>(o)] = op.program.size();
  return last;
}

Graph expand_steps(Graph graph) {
  const auto is_program = [](const Node& node) { return std::holds_alternative<Steps>(node.op); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_program)) return graph;
  const std::vector<Node> nodes = std::exchange(graph.nodes, {});
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(graph.nodes), std::not_fn(is_program));
  Builder b(std::move(graph));  // knows the names that are taken
  b.graph().nodes.clear();
  for (const Node& node : nodes) {
    const Steps* const op = std::get_if<Steps>(&node.op);
    if (op == nullptr) {
      b.graph().nodes.push_back(node);
      continue;
    }
    std::vector<const Tensor*> operands;
    for (const TensorId t : node.inputs) operands.push_back(&b[t]);
    std::vector<Tensor> values = step_values(*op, operands);
    std::vector<TensorId> ids = node.inputs;
    ids.resize(values.size(), kNoTensor);
    for (std::size_t o = 0; o < op->outputs.size() && o < node.outputs.size(); ++o)
      ids[static_cast<std::size_t>(op->outputs[o])] = node.outputs[o];
    b.phase = node.phase;
    for (std::size_t i = 0; i < op->program.size(); ++i) {
      const std::size_t number = node.inputs.size() + i;
      TensorId& made = ids[number];
      if (made == kNoTensor) {
        Tensor value = std::move(values[number]);
        value.name = b.unique_tensor(fmt::format("{}.{}", node.name, i));
        value.category = category_of(node.phase);
        made = TensorId{static_cast<std::uint32_t>(b.graph().tensors.size())};
        b.graph().tensors.push_back(std::move(value));
      }
      std::vector<TensorId> inputs;
      for (const std::int32_t in : inputs_of(op->program[i])) inputs.push_back(ids[static_cast<std::size_t>(in)]);
      b.add_into(whole_op(op->program[i].op), std::move(inputs), std::string(b[made].name), {made});
    }
  }
  return std::move(b).finish();
}

}  // namespace monet
