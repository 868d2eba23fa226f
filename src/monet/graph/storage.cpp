#include "monet/graph/storage.h"

#include <algorithm>
#include <variant>

#include "monet/graph/cut.h"
#include "monet/graph/lower.h"

namespace monet {
namespace {

constexpr std::size_t kManyBoxes = 16, kAllBoxes = std::size_t{1} << 20;

bool shares_storage(const Graph& graph, const Node& node) {
  const bool has_outputs =
      std::any_of(node.outputs.begin(), node.outputs.end(), [](TensorId t) { return t != kNoTensor; });
  if (!is_single_work(node.op) || !has_outputs) return false;
  const bool may_be = std::holds_alternative<View>(node.op) || std::holds_alternative<Expand>(node.op) ||
                      std::holds_alternative<Transpose>(node.op) || std::holds_alternative<Split>(node.op) ||
                      std::holds_alternative<Slice>(node.op);
  return may_be && std::get<work::VectorWork>(lower(graph, node)).is_view;
}

// The loops of a view run along the axes of its output; those of a Split along its input's.
std::vector<Range> box_of(const Node& node, TensorId output, const Region& region) {
  std::vector<Range> box = region.axes;
  if (const Split* split = std::get_if<Split>(&node.op)) {
    std::int64_t begin = 0;
    const auto axis = static_cast<std::size_t>(split->axis);
    for (std::size_t i = 0; node.outputs[i] != output; ++i) begin += split->sizes[i];
    box[axis] = {box[axis].begin + begin, box[axis].end + begin};
  }
  return box;
}

}  // namespace

Storage::Storage(const Graph& graph)
    : graph_(graph), producer_(graph.tensors.size(), kNoNode), is_view_(graph.nodes.size(), false) {
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) root_.push_back(TensorId{t});
  for (const Tensor& t : graph.tensors)
    if (t.overwrites != kNoTensor) root_[static_cast<std::size_t>(&t - graph.tensors.data())] = t.overwrites;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    is_view_[n] = shares_storage(graph, node);
    for (const TensorId t : node.outputs) {
      if (t == kNoTensor) continue;
      producer_[t.index()] = NodeId{n};
      if (is_view_[n]) root_[t.index()] = node.inputs[0];
    }
  }
  for (TensorId& root : root_)
    while (root_[root.index()] != root) root = root_[root.index()];
}

std::vector<Region> Storage::boxes(TensorId tensor, const Region& region, bool exact) const {
  std::vector<Region> out;
  add_boxes(tensor, region, exact, out);
  return out;
}

void Storage::add_boxes(TensorId tensor, const Region& region, bool exact, std::vector<Region>& out) const {
  const NodeId producer = producer_[tensor.index()];
  if (producer != kNoNode && is_view_[producer.index()]) {
    const Node& node = graph_[producer];
    const TensorId from = node.inputs[0];
    if (std::holds_alternative<View>(node.op)) {
      const ViewRegions parts =
          regions_through_view(graph_[from].shape, graph_[tensor].shape, region, exact ? kAllBoxes : kManyBoxes);
      for (const Region& part : parts.boxes) add_boxes(from, part, exact, out);
      return;
    }
    return add_boxes(from, *cut(graph_, node, box_of(node, tensor, region)).inputs[0], exact, out);
  }
  if (graph_[tensor].overwrites != kNoTensor) return add_boxes(graph_[tensor].overwrites, region, exact, out);
  out.push_back(region);
}

}  // namespace monet
