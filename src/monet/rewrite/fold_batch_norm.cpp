// Batch-norm folding for inference and frozen training (Jacob et al., arXiv 1712.05877, eq. 14, without quantisation).
// A training batch-norm cannot be folded: its statistics are those of the batch.
#include "monet/rewrite/fold_batch_norm.h"

#include <cmath>

#include "monet/graph/builder.h"
#include "monet/rewrite/dead_nodes.h"

namespace monet {
namespace {

void fold_values(Values<double>& values, const Graph& g, const Node& conv, const Node& norm, const std::string& weight,
                 const std::string& bias) {
  const auto value = [&](TensorId t) -> const Array<double>* {
    const auto it = values.find(g[t].name);
    return it == values.end() ? nullptr : &it->second;
  };
  const Array<double>*w = value(conv.inputs[1]), *scale = value(norm.inputs[1]), *shift = value(norm.inputs[2]),
        *mean = value(norm.inputs[3]), *variance = value(norm.inputs[4]);
  if (!w || !scale || !shift || !mean || !variance) return;
  const bool biased = conv.inputs.size() > 2 && conv.inputs[2] != kNoTensor;
  const Array<double>* old = biased ? value(conv.inputs[2]) : nullptr;
  if (biased && !old) return;
  const double epsilon = std::get<Norm>(norm.op).epsilon;
  Array<double> folded = *w, offset = *shift;
  const std::size_t channels = scale->data.size(), each = w->data.size() / channels;
  for (std::size_t k = 0; k < channels; ++k) {
    const double factor = scale->data[k] / std::sqrt(variance->data[k] + epsilon);
    for (std::size_t i = 0; i < each; ++i) folded.data[k * each + i] *= factor;
    offset.data[k] += ((old ? old->data[k] : 0.0) - mean->data[k]) * factor;
  }
  values[weight] = std::move(folded);
  values[bias] = std::move(offset);
}

}  // namespace

Graph fold_batch_norm(Graph graph, Values<double>* values) {
  const Uses u = uses(graph);
  std::vector<NodeId> folds(graph.nodes.size(), kNoNode);  // of a convolution: the norm to fold into it
  std::vector<bool> folded(graph.nodes.size(), false), output(graph.tensors.size(), false);
  for (const TensorId t : graph.outputs) output[t.index()] = true;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const Norm* norm = std::get_if<Norm>(&graph.nodes[n].op);
    if (!norm || norm->kind != NormKind::FrozenBatch) continue;
    const TensorId x = graph.nodes[n].inputs[0];
    const NodeId by = u.producer[x.index()];
    if (by == kNoNode || u.consumers[x.index()].size() != 1 || output[x.index()]) continue;
    const Conv* conv = std::get_if<Conv>(&graph[by].op);
    if (!conv || conv->kind != ConvKind::Forward || u.consumers[graph[by].inputs[1].index()].size() != 1) continue;
    folds[by.index()] = NodeId{n};
    folded[n] = true;
  }
  std::vector<Node> nodes = std::move(graph.nodes);
  graph.nodes.clear();
  Builder b(std::move(graph));
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (folded[n]) continue;
    Node node = nodes[n];
    if (folds[n] != kNoNode) {
      const Node& norm = nodes[folds[n].index()];
      const Tensor w = b[node.inputs[1]], shift = b[norm.inputs[2]];
      const TensorId weight = b.source(w.name + ".folded", w.shape, w.format, Category::Weight);
      const TensorId bias = b.source(shift.name + ".folded", shift.shape, shift.format, Category::Weight);
      if (values) fold_values(*values, b.graph(), node, norm, b[weight].name, b[bias].name);
      node.inputs = {node.inputs[0], weight, bias};
      node.outputs = {norm.outputs[0]};
    }
    b.graph().nodes.push_back(std::move(node));
  }
  Graph result = std::move(b).finish();
  // The weights and statistics that were folded away have no reader left; compact() would keep them as weights.
  const Uses after = uses(result);
  std::vector<Tensor>& tensors = result.tensors;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (folds[n] == kNoNode) continue;
    const Node& norm = nodes[folds[n].index()];
    std::vector<TensorId> gone(norm.inputs.begin() + 1, norm.inputs.end());
    gone.insert(gone.end(), nodes[n].inputs.begin() + 1, nodes[n].inputs.end());
    for (const TensorId t : gone)
      if (t != kNoTensor && after.consumers[t.index()].empty()) tensors[t.index()].category = Category::Workspace;
  }
  return remove_dead_nodes(std::move(result));
}

}  // namespace monet
