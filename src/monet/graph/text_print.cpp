#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "monet/graph/builder.h"
#include "monet/graph/text.h"
#include "monet/graph/text_operator.h"
#include "monet/graph/text_tensor.h"
#include "monet/graph/text_token.h"

namespace monet {
namespace {

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string run() {
    out_ = fmt::format("graph {}\n", quoted(graph_.name));
    const Uses u = uses(graph_);
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t)
      if (u.producer[t] == kNoNode) source(graph_.tensors[t]);
    if (!graph_.nodes.empty()) out_ += '\n';
    for (const Node& n : graph_.nodes) node(n);
    outputs();
    return std::move(out_);
  }

 private:
  std::string ref(TensorId id) const { return id == kNoTensor ? "_" : name_text(graph_[id].name); }

  std::string refs(const std::vector<TensorId>& ids) const {
    std::string text;
    for (const TensorId id : ids) text += (text.empty() ? "" : ", ") + ref(id);
    return text;
  }

  void placement(const Tensor& t) {
    if (!t.layout.empty()) out_ += fmt::format(" layout({})", fmt::join(t.layout, ","));
    if (t.overwrites != kNoTensor) out_ += fmt::format(" overwrites({})", ref(t.overwrites));
  }

  void source(const Tensor& t) {
    out_ += fmt::format("{} {}", name(t.category), type_text(t));
    placement(t);
    const CopyOf* const copy = std::get_if<CopyOf>(&t.initial);
    const std::string initial = initial_text(t.initial, copy ? ref(copy->tensor) : "");
    if (!initial.empty()) out_ += fmt::format(" = {}", initial);
    out_ += '\n';
  }

  void node(const Node& n) {
    out_ += fmt::format("{} {} = {}({})", name(n.phase), name_text(n.name), operator_text(n.op), refs(n.inputs));
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      out_ += i == 0 ? " -> " : ", ";
      if (n.outputs[i] == kNoTensor) {
        out_ += '_';
        continue;
      }
      const Tensor& t = graph_[n.outputs[i]];
      out_ += type_text(t);
      if (t.category != category_of(n.phase)) out_ += fmt::format(" {}", name(t.category));
      placement(t);
    }
    if (!n.holds.empty()) out_ += fmt::format(" holds({})", refs(n.holds));
    if (n.barrier) out_ += " barrier";
    out_ += '\n';
  }

  // Several lines where one would be too long to read: a training step returns every weight.
  void outputs() {
    constexpr std::size_t kColumns = 100;
    if (!graph_.outputs.empty()) out_ += '\n';
    std::string line;
    for (const TensorId id : graph_.outputs) {
      const std::string text = ref(id);
      if (!line.empty() && line.size() + text.size() + 2 > kColumns) {
        out_ += line + '\n';
        line.clear();
      }
      line += (line.empty() ? "output " : ", ") + text;
    }
    if (!line.empty()) out_ += line + '\n';
  }

  const Graph& graph_;
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).run(); }

Graph normalised(const Graph& graph) {
  std::vector<TensorId> order;  // new -> old
  std::vector<bool> made(graph.tensors.size(), false);
  for (const Node& node : graph.nodes)
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) made[t.index()] = true;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t)
    if (!made[t]) order.push_back(TensorId{t});
  for (const Node& node : graph.nodes)
    std::copy_if(node.outputs.begin(), node.outputs.end(), std::back_inserter(order),
                 [](TensorId t) { return t != kNoTensor; });

  std::vector<TensorId> renumbered(graph.tensors.size(), kNoTensor);  // old -> new
  for (std::uint32_t t = 0; t < order.size(); ++t) renumbered[order[t].index()] = TensorId{t};
  const auto remap = [&](TensorId& t) {
    if (t != kNoTensor) t = renumbered[t.index()];
  };

  Graph out{.name = graph.name, .tensors = {}, .nodes = graph.nodes, .outputs = graph.outputs};
  for (const TensorId t : order) out.tensors.push_back(graph[t]);
  for (Tensor& tensor : out.tensors) {
    remap(tensor.overwrites);
    if (CopyOf* const copy = std::get_if<CopyOf>(&tensor.initial)) remap(copy->tensor);
  }
  for (Node& node : out.nodes)
    for (auto* const list : {&node.inputs, &node.outputs, &node.holds})
      std::for_each(list->begin(), list->end(), remap);
  std::for_each(out.outputs.begin(), out.outputs.end(), remap);
  return out;
}

}  // namespace monet
