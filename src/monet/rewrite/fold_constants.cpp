// Constant folding with the interpreter as evaluator, in double. Random and unknown operators are left alone.
#include "monet/rewrite/fold_constants.h"

#include <algorithm>
#include <map>

#include "monet/interpret/initial.h"
#include "monet/rewrite/dead_nodes.h"

namespace monet {
namespace {

Initial initial_of(Array<double> array) {
  const auto& d = array.data;
  const bool equal = std::all_of(d.begin(), d.end(), [&](double v) { return v == d[0]; });
  if (equal) return Splat{d[0]};
  return Dense{std::move(array.data)};
}

}  // namespace

Graph fold_constants(Graph g, const FoldOptions& options) {
  const auto known = [&](TensorId t) {
    return t == kNoTensor ||
           (g[t].category == Category::Constant && !std::holds_alternative<std::monostate>(g[t].initial) &&
            !std::holds_alternative<CopyOf>(g[t].initial) && elements(g[t].shape) <= options.most_elements);
  };
  std::vector<Node> kept;
  for (Node& node : g.nodes) {
    const bool small = std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId t) {
      return t == kNoTensor || elements(g[t].shape) <= options.most_elements;
    });
    const bool pure = !std::holds_alternative<Dropout>(node.op) && !std::holds_alternative<Fallback>(node.op);
    const bool overwrites = std::any_of(node.outputs.begin(), node.outputs.end(),
                                        [&](TensorId t) { return t != kNoTensor && g[t].overwrites != kNoTensor; });
    if (!small || !pure || overwrites || node.phase != Phase::Forward ||
        !std::all_of(node.inputs.begin(), node.inputs.end(), known)) {
      kept.push_back(std::move(node));
      continue;
    }
    std::map<std::uint32_t, Array<double>> operands;
    std::vector<const Array<double>*> inputs;
    std::vector<const Tensor*> outputs;
    for (const TensorId t : node.inputs)
      inputs.push_back(t == kNoTensor ? nullptr : &(operands[t.value] = *stated_value<double>(g, t, {})));
    for (const TensorId t : node.outputs) outputs.push_back(t == kNoTensor ? nullptr : &g[t]);
    std::vector<Array<double>> results = evaluate<double>(node.op, inputs, outputs);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoTensor) continue;
      g[node.outputs[i]].category = Category::Constant;
      g[node.outputs[i]].initial = initial_of(std::move(results[i]));
    }
  }
  g.nodes = std::move(kept);
  return remove_dead_nodes(std::move(g));
}

}  // namespace monet
