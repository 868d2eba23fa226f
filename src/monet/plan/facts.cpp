#include "monet/plan/facts.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <variant>

#include "monet/base/assert.h"
#include "monet/graph/lower.h"

namespace monet::plan {
namespace {

using hardware::Slot;
using hardware::WorkClass;

WorkClass class_of(const Op& op, const work::Work& work) {
  if (const auto* nest = std::get_if<work::LoopNest>(&work)) {
    // One input channel for each group: nothing to share between the channels.
    const auto size = [&](std::string_view name) {
      for (const work::Dimension& d : nest->dimensions)
        if (d.name == name) return d.size;
      return std::int64_t{1};
    };
    return size("G") > 1 && size("C") == 1 ? WorkClass::DepthwiseContraction : WorkClass::Contraction;
  }
  const auto& vector = std::get<work::VectorWork>(work);
  if (std::holds_alternative<Pool>(op) || std::holds_alternative<PoolGradient>(op)) return WorkClass::Pooling;
  if (vector.functions.empty()) return WorkClass::Movement;
  const bool reduces = std::find(vector.reduced.begin(), vector.reduced.end(), true) != vector.reduced.end();
  return reduces ? WorkClass::Reduction : WorkClass::Elementwise;
}

// The box in which one loop is at one step; a loop that another must be cut before is at its first one.
std::vector<Range> step_box(const std::vector<Loop>& loops, std::size_t loop, std::int64_t step) {
  std::vector<Range> box;
  for (const Loop& l : loops) box.push_back(l.name == loops[loop].within ? Range{0, 1} : Range{0, l.size});
  box[loop] = {step, step + 1};
  return box;
}

// The only axis along which two parts of a tensor differ, or -1.
std::int8_t axis_between(const std::optional<Region>& a, const std::optional<Region>& b) {
  if (!a || !b) return -1;
  int axis = -1;
  for (std::size_t i = 0; i < a->axes.size(); ++i) {
    if (a->axes[i] == b->axes[i]) continue;
    if (axis >= 0) return -1;
    axis = static_cast<int>(i);
  }
  return static_cast<std::int8_t>(axis);
}

void probe_loop(const Graph& graph, const Node& node, std::size_t loop, Facts& facts) {
  const Cut first = cut(graph, node, step_box(facts.loops, loop, 0));
  const Cut last = cut(graph, node, step_box(facts.loops, loop, facts.loops[loop].size - 1));
  const auto compare = [&](const std::vector<std::optional<Region>>& a, const std::vector<std::optional<Region>>& b,
                           std::vector<OperandFacts>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (a[i] == b[i]) continue;
      operands[i].moves_with |= std::uint64_t{1} << loop;
      operands[i].axes[loop] = axis_between(a[i], b[i]);
    }
  };
  compare(first.inputs, last.inputs, facts.inputs);
  compare(first.outputs, last.outputs, facts.outputs);
}

// Everything that facts depend on.
bool are_alike(const Graph& graph_a, const Node& a, const Graph& graph_b, const Node& b) {
  const auto same = [&](const std::vector<TensorId>& x, const std::vector<TensorId>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](TensorId s, TensorId t) {
      if (s == kNoTensor || t == kNoTensor) return s == t;
      return graph_a[s].shape == graph_b[t].shape && graph_a[s].format == graph_b[t].format &&
             graph_a[s].category == graph_b[t].category;
    });
  };
  return same(a.inputs, b.inputs) && same(a.outputs, b.outputs) && a.op == b.op;
}

// A number that is the same for nodes that are alike.
std::uint64_t likeness(const Graph& graph, const Node& node) {
  std::uint64_t hash = node.op.index();
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15; };
  for (const auto* list : {&node.inputs, &node.outputs})
    for (const TensorId t : *list) {
      add(t == kNoTensor ? 0 : 1 + static_cast<std::uint64_t>(graph[t].format.element));
      if (t != kNoTensor)
        for (const std::int64_t size : graph[t].shape) add(static_cast<std::uint64_t>(size));
    }
  return hash;
}

// What one iteration leaves for the next.
bool is_state(const Tensor& tensor) {
  return tensor.category == Category::Weight || tensor.category == Category::OptimizerState;
}

double bits_of(const Region& region, double bits) { return static_cast<double>(elements(region)) * bits; }

}  // namespace

Facts facts_of(const Graph& graph, const Node& node) {
  const work::Work work = lower(graph, node);
  const auto* nest = std::get_if<work::LoopNest>(&work);
  const auto* vector = std::get_if<work::VectorWork>(&work);
  Facts facts{.loops = loops_of(graph, node),
              .is_nest = nest != nullptr,
              .is_view = vector != nullptr && vector->is_view,
              .kind = class_of(node.op, work),
              .operations = nest != nullptr ? static_cast<double>(macs(*nest))
                                            : static_cast<double>(element_operations(*vector))};
  MONET_ASSERT(facts.loops.size() <= 64, "loops are kept as bits");
  const bool is_program = std::holds_alternative<Steps>(node.op);
  std::size_t present = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    OperandFacts operand{.is_there = node.inputs[i] != kNoTensor};
    // Input, weight, and what the sums begin with.
    if (facts.is_nest) operand.slot = i == 0 ? Slot::Input : i == 1 ? Slot::Weight : Slot::Output;
    if (operand.is_there) operand.bits = bits_per_element(graph[node.inputs[i]].format);
    // Of a program every operand is read, and its work reads what its steps make as well.
    if (operand.is_there && vector != nullptr && !is_program) {
      const std::uint64_t read = vector->reads[present++].elements;
      operand.is_read = read > 0;
      const Tensor& tensor = graph[node.inputs[i]];
      operand.is_looked_up = vector->indirect && read < static_cast<std::uint64_t>(elements(tensor.shape)) &&
                             (tensor.category == Category::Weight || tensor.category == Category::Constant);
    }
    operand.is_streamed = is_program && operand.is_there && is_state(graph[node.inputs[i]]);
    facts.inputs.push_back(operand);
    if (operand.is_there) facts.moved_bits += static_cast<double>(elements(graph[node.inputs[i]].shape)) * operand.bits;
  }
  for (const TensorId t : node.outputs) {
    OperandFacts operand{.is_there = t != kNoTensor, .slot = Slot::Output};
    if (operand.is_there) {
      const Format format = graph[t].format;
      operand.bits = operand.sum_bits = bits_per_element(format);
      if (is_float(format.element) && bits(format.element) < 32) operand.sum_bits = bits(Element::F32);
      operand.is_streamed = is_program && is_state(graph[t]);
      facts.moved_bits += static_cast<double>(elements(graph[t].shape)) * operand.bits;
    }
    facts.outputs.push_back(operand);
  }
  for (auto* operands : {&facts.inputs, &facts.outputs})
    for (OperandFacts& operand : *operands) operand.axes.assign(facts.loops.size(), -1);
  for (std::size_t l = 0; l < facts.loops.size(); ++l)
    if (facts.loops[l].size > 1 && facts.loops[l].kind != LoopKind::Fixed) probe_loop(graph, node, l, facts);
  return facts;
}

KnownFacts::KnownFacts(Graph graph) : graph_(std::move(graph)), facts_(facts_of(graph_)) {
  for (std::uint32_t n = 0; n < facts_.size(); ++n)
    if (facts_[n].first_alike == NodeId{n}) by_[likeness(graph_, graph_.nodes[n])].push_back(NodeId{n});
}

NodeId KnownFacts::like(const Graph& graph, const Node& node) const {
  const auto at = by_.find(likeness(graph, node));
  if (at != by_.end())
    for (const NodeId n : at->second)
      if (are_alike(graph, node, graph_, graph_[n])) return n;
  return kNoNode;
}

std::vector<Facts> facts_of(const Graph& graph, const KnownFacts& known) {
  std::vector<Facts> facts;
  facts.reserve(graph.nodes.size());
  std::vector<NodeId> first(known.size(), kNoNode);  // by known node: the first here that is like it
  // Most nodes are like one before: the steps of updates, layers of one shape.
  std::unordered_map<std::uint64_t, std::vector<NodeId>> others;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (const NodeId k = known.like(graph, node); k != kNoNode) {
      if (first[k.index()] == kNoNode) first[k.index()] = NodeId{n};
      facts.push_back(known[k]);
      facts.back().first_alike = first[k.index()];
      continue;
    }
    std::vector<NodeId>& alike = others[likeness(graph, node)];
    const auto at = std::find_if(alike.begin(), alike.end(),
                                 [&](NodeId other) { return are_alike(graph, node, graph, graph[other]); });
    if (at != alike.end()) {
      facts.push_back(Facts(facts[at->index()]));
      continue;
    }
    alike.push_back(NodeId{n});
    facts.push_back(facts_of(graph, node));
    facts.back().first_alike = NodeId{n};
  }
  return facts;
}

Range part_of(const Range& range, std::int64_t parts, std::int64_t index) {
  const std::int64_t each = range.size() / parts, longer = range.size() % parts;
  const auto begin = [&](std::int64_t i) { return range.begin + i * each + (i * longer + parts - 1) / parts; };
  return {begin(index), begin(index + 1)};
}

std::vector<Range> first_box(const Facts& facts, std::span<const std::int64_t> parts) {
  std::vector<Range> box;
  for (std::size_t l = 0; l < facts.loops.size(); ++l) box.push_back(part_of({0, facts.loops[l].size}, parts[l], 0));
  return box;
}

TileBytes tile_bytes(const Facts& facts, const Cut& part) {
  TileBytes bytes;
  const bool is_sum = part.combine.kind != CombineKind::None;
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    const OperandFacts& o = facts.inputs[i];
    double bits = o.is_there && o.is_read && part.inputs[i] ? bits_of(*part.inputs[i], o.bits) : 0;
    if (o.is_looked_up && part.outputs[0]) bits = std::min(bits, bits_of(*part.outputs[0], o.bits));
    bytes.inputs.push_back(std::ceil(bits / kBitsPerByte));
  }
  for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
    const OperandFacts& o = facts.outputs[i];
    const double bits = o.bits + (is_sum && o.sum_bits != o.bits ? o.sum_bits : 0);
    bytes.outputs.push_back(o.is_there && part.outputs[i] ? std::ceil(bits_of(*part.outputs[i], bits) / kBitsPerByte)
                                                          : 0);
  }
  return bytes;
}

bool can_run(const CoreOnChip& core, const Facts& facts) {
  return facts.is_nest ? core.array.has_value() && core.core.array.has_value()
                       : core.array.has_value() || core.vector.has_value();
}

bool takes(const CoreOnChip& core, const Facts& facts) {
  const std::vector<WorkClass>& list = core.core.takes;
  return can_run(core, facts) && (list.empty() || std::find(list.begin(), list.end(), facts.kind) != list.end());
}

double lanes(const CoreOnChip& core, const Facts& facts) {
  if (!facts.is_nest && core.core.vector) return static_cast<double>(core.core.vector->lanes);
  double lanes = 1;
  if (core.core.array)
    for (const hardware::ArrayDimension& d : core.core.array->dimensions) lanes *= static_cast<double>(d.size);
  return lanes;
}

}  // namespace monet::plan
