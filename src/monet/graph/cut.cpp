#include "monet/graph/cut.h"

#include <algorithm>
#include <variant>

#include "monet/base/assert.h"
#include "monet/graph/cut_rules.h"

namespace monet {
namespace cutting {

Cutter::Cutter(const Graph& graph, const Node& node, std::span<const Range> box, std::vector<Loop>* list)
    : graph_(graph), node_(node), box_(box), list_(list) {
  result_.inputs.resize(node.inputs.size());
  result_.outputs.resize(node.outputs.size());
}

Range Cutter::next(LoopKind kind, Name name, std::int64_t size, const Range* outer, const char* outer_name,
                   const char* why) {
  if (list_) {
    list_->push_back({name.text(), size, kind, outer_name, why});
    return {0, size};
  }
  MONET_ASSERT(at_ < box_.size(), "one range for each loop");
  const Range range = box_[at_++];
  MONET_ASSERT(range.begin >= 0 && range.begin < range.end && range.end <= size, "ranges lie in their loops");
  const bool cut = range.size() != size;
  MONET_ASSERT(!cut || kind != LoopKind::Fixed, "a fixed loop is not cut");
  MONET_ASSERT(!cut || !outer || outer->size() == 1, "a loop within another is cut in one step of it");
  if (kind == LoopKind::Reduction) {
    reduces_ = reduces_ || cut;
    first_ = first_ && range.begin == 0;
    result_.combine.count *= range.size();
  }
  whole_ = whole_ && !cut;
  return range;
}

Region Cutter::parallel(const char* word, const Shape& shape) {
  Region region;
  region.axes.reserve(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    region.axes.push_back(parallel(Name{word, static_cast<std::int64_t>(i)}, shape[i]));
  return region;
}

void Cutter::combine(CombineKind kind) {
  if (reduces_) result_.combine.kind = kind;
}

const Shape* Cutter::input(std::size_t i) const {
  return i < node_.inputs.size() && node_.inputs[i] != kNoTensor ? &graph_[node_.inputs[i]].shape : nullptr;
}
const Shape& Cutter::in(std::size_t i) const {
  const Shape* shape = input(i);
  MONET_ASSERT(shape, "the operand is there");
  return *shape;
}
const Shape* Cutter::output(std::size_t i) const {
  return i < node_.outputs.size() && node_.outputs[i] != kNoTensor ? &graph_[node_.outputs[i]].shape : nullptr;
}
const Tensor& Cutter::first_output() const {
  for (const TensorId t : node_.outputs)
    if (t != kNoTensor) return graph_[t];
  MONET_ASSERT(false, "a node without outputs");
}
const Shape& Cutter::out() const { return first_output().shape; }

void Cutter::read(std::size_t i, Region region) {
  if (input(i)) result_.inputs[i] = std::move(region);
}
void Cutter::write(std::size_t i, Region region) {
  if (output(i)) result_.outputs[i] = std::move(region);
}
void Cutter::write_all(const Region& region) {
  for (std::size_t i = 0; i < outputs(); ++i) write(i, region);
}

Cut Cutter::finish() {
  MONET_ASSERT(list_ || at_ == box_.size(), "one range for each loop");
  return std::move(result_);
}

void leave_whole(const Op& op, Cutter& c, const char* why) {
  for (std::size_t i = 0; i < c.out().size(); ++i) c.fixed({"A", static_cast<std::int64_t>(i)}, c.out()[i], why);
  for (std::size_t i = 0; i < c.inputs(); ++i)
    if (c.input(i)) c.read(i, whole(c.in(i)));
  for (std::size_t i = 0; i < c.outputs(); ++i)
    if (const Shape* shape = c.output(i)) c.write(i, whole(*shape));
  c.become(op);
}

void rule(const Fallback& op, Cutter& c) { leave_whole(op, c, "the operator is unknown"); }

namespace {
[[noreturn]] void must_be_decomposed() { MONET_ASSERT(false, "an operator of several passes is decomposed first"); }
}  // namespace

void rule(const Norm&, Cutter&) { must_be_decomposed(); }
void rule(const NormGradient&, Cutter&) { must_be_decomposed(); }
void rule(const Softmax&, Cutter&) { must_be_decomposed(); }
void rule(const SoftmaxGradient&, Cutter&) { must_be_decomposed(); }
void rule(const Attention&, Cutter&) { must_be_decomposed(); }
void rule(const AttentionGradient&, Cutter&) { must_be_decomposed(); }
void rule(const CrossEntropy&, Cutter&) { must_be_decomposed(); }

}  // namespace cutting

namespace {

void apply_rule(const Node& node, cutting::Cutter& cutter) {
  if (is_part(node.op)) return cutting::leave_whole(node.op, cutter, "it is a part of a larger operator already");
  std::visit([&](const auto& op) { cutting::rule(op, cutter); }, node.op);
}

}  // namespace

std::vector<Loop> loops_of(const Graph& graph, const Node& node) {
  std::vector<Loop> loops;
  cutting::Cutter cutter(graph, node, {}, &loops);
  apply_rule(node, cutter);
  return loops;
}

Cut cut(const Graph& graph, const Node& node, std::span<const Range> box) {
  cutting::Cutter cutter(graph, node, box, nullptr);
  apply_rule(node, cutter);
  return cutter.finish();
}

Graph alone(const Graph& graph, const Node& node, const Cut& part) {
  Graph result;
  result.name = node.name;
  Node tile;
  tile.name = node.name;
  tile.op = part.op;
  const auto add = [&](TensorId id, const std::optional<Region>& region, std::vector<TensorId>& list) {
    if (id == kNoTensor) return list.push_back(kNoTensor);
    if (!region) return;
    Tensor tensor = graph[id];
    tensor.shape = shape_of(*region);
    tensor.layout.clear();
    tensor.overwrites = kNoTensor;
    tensor.initial = {};
    // An operand read twice may be read in two places.
    while (tensor_named(result, tensor.name) != kNoTensor) tensor.name += "'";
    list.push_back(TensorId{static_cast<std::uint32_t>(result.tensors.size())});
    result.tensors.push_back(std::move(tensor));
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) add(node.inputs[i], part.inputs[i], tile.inputs);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) add(node.outputs[i], part.outputs[i], tile.outputs);
  for (const TensorId t : tile.outputs)
    if (t != kNoTensor) result.outputs.push_back(t);
  result.nodes.push_back(std::move(tile));
  return result;
}

}  // namespace monet
