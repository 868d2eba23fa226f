#include "monet/plan/default_cuts.h"

#include <algorithm>

namespace monet::plan {
namespace {

// Parts of an axis that is cut into a and into b parts.
std::int64_t cut_by_both(std::int64_t a, std::int64_t b) {
  return a % b == 0 || b % a == 0 ? std::max(a, b) : a + b - 1;
}

// Axes of what a view reads and makes that hold the same elements in the same order, as few as there are.
struct SameElements {
  struct Axes {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };
  Axes from{}, to{};
  bool is_axis() const { return from.size() == 1 && to.size() == 1; }
};
std::vector<SameElements> same_elements(const Graph& graph, const Node& view) {
  std::vector<SameElements> all;
  if (view.inputs.empty() || view.inputs[0] == kNoTensor) return all;
  const Shape &from = graph[view.inputs[0]].shape, &to = graph[view.outputs[0]].shape;
  if (elements(from) != elements(to) || elements(from) == 0) return all;
  for (std::size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    SameElements same{{i, i + 1}, {j, j + 1}};
    std::int64_t a = from[i++], b = to[j++];
    while (a != b) {
      if (a < b)
        a *= from[i++];
      else
        b *= to[j++];
    }
    same.from.end = i;
    same.to.end = j;
    all.push_back(same);
  }
  return all;
}

}  // namespace

DefaultCuts::DefaultCuts(const Graph& graph, const std::vector<Facts>& facts)
    : graph_(graph), facts_(facts), cuts_(graph.tensors.size()), seams_(graph.tensors.size()) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (facts[n].is_view) find_seams(graph.nodes[n]);
}

void DefaultCuts::remember(NodeId node, const NodeChoice& choice) {
  const Facts& facts = facts_[node.index()];
  const Node& n = graph_[node];
  if (facts.is_view) {
    pass_through_view(n);
    return;
  }
  const auto add = [&](const std::vector<TensorId>& tensors, const std::vector<OperandFacts>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      for (const auto* splits : {&choice.across, &choice.tiles})
        for (const LoopSplit& split : *splits) {
          const int axis = operands[i].axes[split.loop];
          if (axis < 0 || tensors[i] == kNoTensor) continue;
          std::vector<std::int64_t>& cuts = cuts_[tensors[i].index()];
          cuts.resize(graph_[tensors[i]].shape.size(), 1);
          std::int64_t& parts = cuts[static_cast<std::size_t>(axis)];
          parts = cut_by_both(parts, parts_of(choice.across, split.loop) * parts_of(choice.tiles, split.loop));
        }
  };
  add(n.inputs, facts.inputs);
  add(n.outputs, facts.outputs);
}

// Where several axes are one on the other side of a view: the size of the innermost.
void DefaultCuts::find_seams(const Node& view) {
  const TensorId in = view.inputs[0], out = view.outputs[0];
  for (const SameElements& s : same_elements(graph_, view)) {
    if (s.is_axis() && !seams_[in.index()].empty()) set_seam(out, s.to.begin, seams_[in.index()][s.from.begin]);
    if (s.from.size() > 1 && s.to.size() == 1) set_seam(out, s.to.begin, graph_[in].shape[s.from.end - 1]);
    if (s.from.size() == 1 && s.to.size() > 1) set_seam(in, s.from.begin, graph_[out].shape[s.to.end - 1]);
  }
}

void DefaultCuts::set_seam(TensorId tensor, std::size_t axis, std::int64_t size) {
  seams_[tensor.index()].resize(graph_[tensor].shape.size(), 1);
  seams_[tensor.index()][axis] = size;
}

// Blocks along an axis in so many parts: a part that begins within a row of the other side of a view cuts all rows.
std::int64_t DefaultCuts::blocks_along(TensorId tensor, std::size_t axis, std::int64_t parts) const {
  const std::int64_t seam = seams_[tensor.index()].empty() ? 1 : seams_[tensor.index()][axis];
  if (seam == 1 || parts == 1) return parts;
  const std::int64_t size = graph_[tensor].shape[axis], part = size / parts;
  if (size % parts == 0 && (part % seam == 0 || seam % part == 0)) return parts;
  return size / seam * std::min(parts, seam);
}

std::int64_t DefaultCuts::parts_at_seams(NodeId node, std::size_t loop, std::int64_t most) const {
  const Facts& facts = facts_[node.index()];
  const auto are_few = [&](const std::vector<TensorId>& tensors, const std::vector<OperandFacts>& operands,
                           std::int64_t parts) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (const int axis = operands[i].axes[loop];
          axis >= 0 && tensors[i] != kNoTensor &&
          blocks_along(tensors[i], static_cast<std::size_t>(axis), parts) > parts)
        return false;
    return true;
  };
  for (; most > 0; --most)
    if (are_few(graph_[node].inputs, facts.inputs, most) && are_few(graph_[node].outputs, facts.outputs, most)) break;
  return most;
}

// Cuts on one side of a view are cuts on the other one.
void DefaultCuts::pass_through_view(const Node& view) {
  const std::vector<SameElements> all = same_elements(graph_, view);
  if (all.empty() || cuts_[view.inputs[0].index()].empty()) return;
  const std::vector<std::int64_t>& cuts = cuts_[view.inputs[0].index()];
  const Shape &from = graph_[view.inputs[0]].shape, &to = graph_[view.outputs[0]].shape;
  std::vector<std::int64_t>& made = cuts_[view.outputs[0].index()];
  made.resize(to.size(), 1);
  for (const SameElements& s : all) {
    // Of what lies side by side: where an inner axis is cut, it is for every step of the outer ones.
    std::int64_t parts = 1;
    for (std::size_t i = s.from.end; i-- > s.from.begin;)
      if (cuts[i] > 1) {
        parts = cuts[i] * elements(Shape(from.begin() + static_cast<std::ptrdiff_t>(s.from.begin),
                                         from.begin() + static_cast<std::ptrdiff_t>(i)));
        break;
      }
    for (std::size_t j = s.to.begin; j < s.to.end; ++j) {
      made[j] = std::min(parts, to[j]);
      parts = (parts + made[j] - 1) / made[j];
    }
  }
}

double DefaultCuts::blocks(NodeId node, const std::vector<std::int64_t>& across,
                           const std::vector<std::int64_t>& parts) const {
  const Facts& facts = facts_[node.index()];
  double sum = 0;
  // What a fused update writes lies where the old value does, in the blocks of all who read that.
  const bool is_update = std::holds_alternative<Steps>(graph_[node].op);
  const auto add = [&](const std::vector<TensorId>& tensors, const std::vector<OperandFacts>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (tensors[i] == kNoTensor) continue;
      const TensorId old = graph_[tensors[i]].overwrites;
      const std::vector<std::int64_t>& cuts = cuts_[(is_update && old != kNoTensor ? old : tensors[i]).index()];
      double count = 1;
      for (std::size_t a = 0; a < graph_[tensors[i]].shape.size(); ++a) {
        std::int64_t cut = a < cuts.size() ? cuts[a] : 1;
        for (std::size_t l = 0; l < parts.size(); ++l)
          if (operands[i].axes[l] == static_cast<int>(a) && across[l] * parts[l] > 1)
            cut = cut_by_both(cut, across[l] * parts[l]);
        count *= static_cast<double>(blocks_along(tensors[i], a, cut));
      }
      sum += count;
    }
  };
  add(graph_[node].inputs, facts.inputs);
  add(graph_[node].outputs, facts.outputs);
  return sum;
}

}  // namespace monet::plan
