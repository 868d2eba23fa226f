// What Stream calls the loops and operators of a graph.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "monet/graph/lower.h"
#include "monet/plan/stream_plan.h"

namespace monet::plan {
namespace {

// "reduce_mean" -> "ReduceMean": most operators are called in ONNX what they are called here.
std::string camel(std::string_view name) {
  std::string out;
  bool is_first = true;
  for (const char c : name) {
    if (c == '_') {
      is_first = true;
      continue;
    }
    out += is_first && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    is_first = false;
  }
  return out;
}

// A mean or maximum over all of an image, which ONNX has an operator for.
bool is_global_pooling(const Graph& graph, const Node& node) {
  const Reduce* reduce = std::get_if<Reduce>(&node.op);
  if (!reduce || (reduce->kind != ReduceKind::Mean && reduce->kind != ReduceKind::Max)) return false;
  return reduce->axes == Ints{2, 3} && graph[node.inputs[0]].shape.size() == 4;
}

std::vector<std::string> types_of(const Graph& graph, const Node& node) {
  const std::string own = camel(operator_name(node.op));
  if (std::holds_alternative<MatMul>(node.op)) {
    const bool is_plain = !node.outputs.empty() && graph[node.outputs[0]].shape.size() == 2;
    return is_plain ? std::vector<std::string>{"Gemm", "MatMul"} : std::vector<std::string>{"MatMul", "Gemm"};
  }
  if (is_global_pooling(graph, node))
    return {std::get<Reduce>(node.op).kind == ReduceKind::Mean ? "GlobalAveragePool" : "GlobalMaxPool", own};
  if (const Pool* pool = std::get_if<Pool>(&node.op)) {
    const Shape& x = graph[node.inputs[0]].shape;
    if (x.size() == pool->kernel.size() + 2 && std::equal(pool->kernel.begin(), pool->kernel.end(), x.begin() + 2))
      return {"Global" + own, own};
  }
  if (const Conv* conv = std::get_if<Conv>(&node.op); conv && conv->kind == ConvKind::DataGradient)
    return {node.phase == Phase::Forward ? "ConvTranspose" : own};
  if (std::holds_alternative<View>(node.op)) return {"Reshape", "Flatten"};
  return {own};
}

bool only_moves(const Op& op) {
  return std::holds_alternative<View>(op) || std::holds_alternative<Transpose>(op) ||
         std::holds_alternative<Slice>(op) || std::holds_alternative<Concat>(op) ||
         std::holds_alternative<monet::Split>(op) || std::holds_alternative<Gather>(op);
}

constexpr std::array<const char*, 4> kElements{"B", "H", "D", "K"}, kImages{"B", "K", "OX", "OY"},
    kWindows{"B", "K", "FX", "FY"};

// Height and width change names; what a data gradient makes has channels C here and K in Stream, where every
// convolution makes K.
std::string of_convolution(const Conv& conv, std::size_t rank, const std::string& loop) {
  if (conv.kind == ConvKind::DataGradient && (loop == "K" || loop == "C")) return loop == "K" ? "C" : "K";
  if (loop.size() != 2 || rank > 2) return rank > 2 && loop.size() == 2 ? "" : loop;
  const char kind = loop[0] == 'I' ? 'O' : loop[0];  // rows of the result
  const char axis = rank == 1 ? loop[1] : loop[1] == 'Y' ? 'X' : 'Y';
  return {kind, axis};
}

// By the axis of the result that a batch loop runs along; Stream has two, counted from those of the first factor.
std::vector<std::string> of_product(const Shape& a, const Shape& y) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 2 < y.size(); ++i) {
    if (y[i] == 1) continue;  // no loop
    const std::size_t lead = y.size() - std::min(y.size(), a.size());
    names.emplace_back(i < lead || i - lead >= 2 ? "" : kElements[i - lead]);
  }
  for (const char* name : {"D", "K", "C"}) names.emplace_back(name);
  return names;
}

std::vector<StreamDimension> dimensions_of(const Graph& graph, const Node& node) {
  std::vector<StreamDimension> out;
  if (!is_single_work(node.op) || node.outputs.empty() || node.outputs[0] == kNoTensor) return out;
  const std::vector<Loop> loops = loops_of(graph, node);
  const Shape& y = graph[node.outputs[0]].shape;
  const auto add = [&](std::string name, const Loop& loop) {
    if (!name.empty()) out.push_back({.name = std::move(name), .loop = loop});
  };
  if (const Conv* conv = std::get_if<Conv>(&node.op)) {
    for (const Loop& loop : loops) add(of_convolution(*conv, conv->strides.size(), loop.name), loop);
    return out;
  }
  if (std::holds_alternative<MatMul>(node.op)) {
    const std::vector<std::string> names = of_product(graph[node.inputs[0]].shape, y);
    for (std::size_t i = 0; i < loops.size() && i < names.size(); ++i) add(names[i], loops[i]);
    return out;
  }
  // By position, along the input of a reduction.
  const bool is_image = std::holds_alternative<Pool>(node.op) || std::holds_alternative<PoolGradient>(node.op);
  const auto& names = is_image ? kImages : is_global_pooling(graph, node) ? kWindows : kElements;
  const Reduce* reduce = std::get_if<Reduce>(&node.op);
  const std::size_t rank = reduce ? graph[node.inputs[0]].shape.size() : y.size();
  std::size_t made = 0;  // axes of the result so far
  for (std::size_t axis = 0; axis < rank && axis < kElements.size(); ++axis) {
    const bool is_reduced =
        reduce && std::count(reduce->axes.begin(), reduce->axes.end(), static_cast<std::int64_t>(axis)) > 0;
    const std::string loop = is_reduced ? fmt::format("R{}", axis) : fmt::format("A{}", made);
    if (!is_reduced || reduce->keep) ++made;
    for (const Loop& l : loops)
      if (l.name == loop) add(names[axis], l);
  }
  return out;
}

}  // namespace

StreamContext stream_context(const hardware::Hardware& hardware, const Graph& graph) {
  StreamContext context;
  for (const hardware::Core& core : hardware.cores) context.cores.push_back(core.name);
  if (hardware.offchip) context.offchip = hardware.offchip->index();
  for (const Node& node : graph.nodes)
    context.nodes.push_back({.name = node.name,
                             .types = types_of(graph, node),
                             .only_moves = only_moves(node.op),
                             .dimensions = dimensions_of(graph, node)});
  return context;
}

}  // namespace monet::plan
