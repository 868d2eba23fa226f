#include "monet/replay/elements.h"

#include <algorithm>
#include <variant>

#include "monet/base/assert.h"

namespace monet::replay {
namespace {

// Calls f(index of the first element in a row of the box) for every row of a box; a row runs along the last axis.
template <class F>
void for_each_row(const Region& box, F&& f) {
  std::vector<std::int64_t> at;
  for (const Range& r : box.axes) at.push_back(r.begin);
  for (;;) {
    f(at);
    std::size_t d = box.axes.size() < 2 ? 0 : box.axes.size() - 1;
    for (; d > 0; --d) {
      if (++at[d - 1] < box.axes[d - 1].end) break;
      at[d - 1] = box.axes[d - 1].begin;
    }
    if (d == 0) return;
  }
}

std::int64_t offset_in(const Region& box, const std::vector<std::int64_t>& at) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < box.axes.size(); ++i) flat = flat * box.axes[i].size() + at[i] - box.axes[i].begin;
  return flat;
}

// Replaces flat positions in one shape by those in another; `move` gives the index there of an index here.
template <class F>
void remap(const Shape& from, const Shape& to, std::vector<std::int64_t>& positions, F&& move) {
  std::vector<std::int64_t> here(from.size()), there(to.size());
  for (std::int64_t& position : positions) {
    std::int64_t rest = position;
    for (std::size_t i = from.size(); i-- > 0;) {
      here[i] = rest % from[i];
      rest /= from[i];
    }
    move(here, there);
    position = 0;
    for (std::size_t i = 0; i < to.size(); ++i) position = position * to[i] + there[i];
  }
}

}  // namespace

void copy_shared(const Region& from_box, const double* from, const Region& to_box, double* to) {
  const Region shared = intersection(from_box, to_box);
  if (elements(shared) == 0) return;
  const std::int64_t run = shared.axes.empty() ? 1 : shared.axes.back().size();
  for_each_row(shared, [&](const std::vector<std::int64_t>& at) {
    std::copy_n(from + offset_in(from_box, at), run, to + offset_in(to_box, at));
  });
}

Elements::Elements(const Graph& graph, const std::vector<bool>& is_view)
    : graph_(graph), is_view_(is_view), producer_(graph.tensors.size(), kNoNode) {
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n)
    for (const TensorId t : graph.nodes[n].outputs)
      if (t != kNoTensor) producer_[t.index()] = NodeId{n};
}

bool Elements::is_made_by_view(TensorId tensor) const {
  const NodeId producer = producer_[tensor.index()];
  return producer != kNoNode && is_view_[producer.index()];
}

TensorId Elements::shown(TensorId tensor) const {
  while (is_made_by_view(tensor)) tensor = graph_[producer_[tensor.index()]].inputs[0];
  return tensor;
}

bool Elements::is_direct(TensorId tensor) const {
  for (; tensor != kNoTensor; tensor = graph_[tensor].overwrites)
    if (is_made_by_view(tensor)) return false;
  return true;
}

std::vector<std::int64_t> Elements::positions(TensorId tensor, const Region& region, bool through_overwrites) const {
  std::vector<std::int64_t> at;
  at.reserve(static_cast<std::size_t>(elements(region)));
  const Region all = whole(graph_[tensor].shape);
  const std::int64_t run = region.axes.empty() ? 1 : region.axes.back().size();
  for_each_row(region, [&](const std::vector<std::int64_t>& row) {
    const std::int64_t first = offset_in(all, row);
    for (std::int64_t i = 0; i < run; ++i) at.push_back(first + i);
  });
  for (;;) {
    if (is_made_by_view(tensor)) {
      const Node& node = graph_[producer_[tensor.index()]];
      follow_view(node, tensor, at);
      tensor = node.inputs[0];
    } else if (through_overwrites && graph_[tensor].overwrites != kNoTensor) {
      tensor = graph_[tensor].overwrites;
    } else {
      return at;
    }
  }
}

void Elements::follow_view(const Node& node, TensorId tensor, std::vector<std::int64_t>& at) const {
  const Shape &to = graph_[node.inputs[0]].shape, &from = graph_[tensor].shape;
  if (std::holds_alternative<View>(node.op)) return;  // the same elements in the same order
  if (std::holds_alternative<Expand>(node.op)) {
    const std::size_t missing = from.size() - to.size();
    return remap(from, to, at, [&](const auto& here, auto& there) {
      for (std::size_t i = 0; i < to.size(); ++i) there[i] = to[i] == 1 ? 0 : here[missing + i];
    });
  }
  if (const Transpose* op = std::get_if<Transpose>(&node.op))
    return remap(from, to, at, [&](const auto& here, auto& there) {
      for (std::size_t i = 0; i < from.size(); ++i) there[static_cast<std::size_t>(op->perm[i])] = here[i];
    });
  if (const Slice* op = std::get_if<Slice>(&node.op))
    return remap(from, to, at, [&](const auto& here, auto& there) {
      for (std::size_t i = 0; i < from.size(); ++i) there[i] = op->starts[i] + here[i] * op->steps[i];
    });
  const Split* op = std::get_if<Split>(&node.op);
  MONET_ASSERT(op != nullptr, "views are reshapes, broadcasts, transposes, slices and splits");
  std::int64_t begin = 0;
  for (std::size_t i = 0; node.outputs[i] != tensor; ++i) begin += op->sizes[i];
  remap(from, to, at, [&](const auto& here, auto& there) {
    there = here;
    there[static_cast<std::size_t>(op->axis)] += begin;
  });
}

}  // namespace monet::replay
