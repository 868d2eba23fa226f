#include "monet/interpret/run.h"

#include <fmt/format.h>

#include <new>

#include "monet/interpret/initial.h"

namespace monet {
namespace {

// The values alive at one point of a run, by tensor. Given sources are only pointed to.
template <class T>
class Live {
 public:
  explicit Live(std::size_t tensors) : owned_(tensors), values_(tensors, nullptr) {}
  void own(TensorId id, Array<T> value) {
    owned_[id.index()] = std::move(value);
    values_[id.index()] = &owned_[id.index()];
  }
  void point_to(TensorId id, const Array<T>* value) { values_[id.index()] = value; }
  void free(TensorId id) {
    owned_[id.index()] = {};
    values_[id.index()] = nullptr;
  }
  const Array<T>* operator[](TensorId id) const { return values_[id.index()]; }

 private:
  std::vector<Array<T>> owned_;
  std::vector<const Array<T>*> values_;
};

constexpr std::size_t kNeverRead = static_cast<std::size_t>(-1);
constexpr std::size_t kKept = kNeverRead - 1;

// The last node that reads each tensor.
std::vector<std::size_t> last_reads(const Graph& graph, const std::vector<TensorId>& kept) {
  std::vector<std::size_t> last(graph.tensors.size(), kNeverRead);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (const TensorId t : graph.nodes[n].inputs)
      if (t != kNoTensor) last[t.index()] = n;
  for (const TensorId t : kept) last[t.index()] = kKept;
  return last;
}

template <class T>
void load_sources(const Graph& graph, const Values<T>& sources, const std::vector<std::size_t>& last, Live<T>& live) {
  const Uses use = uses(graph);
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId id{t};
    if (use.producer[t] != kNoNode || last[t] == kNeverRead) continue;
    if (const Array<T>* given = given_value(graph[id], sources))
      live.point_to(id, given);
    else if (std::optional<Array<T>> stated = stated_value(graph, id, sources))
      live.own(id, std::move(*stated));
    else
      throw ValueError(fmt::format("source '{}' {} has no value", graph[id].name, to_string(graph[id].shape)));
  }
}

template <class T>
void run_node(const Graph& graph, const Node& node, std::uint64_t step, Live<T>& live) {
  std::vector<const Array<T>*> inputs;
  for (const TensorId t : node.inputs) {
    inputs.push_back(t == kNoTensor ? nullptr : live[t]);
    if (t != kNoTensor && !inputs.back())
      throw ValueError(fmt::format("node '{}' reads '{}' before it has a value", node.name, graph[t].name));
  }
  std::vector<const Tensor*> outputs;
  for (const TensorId t : node.outputs) outputs.push_back(t == kNoTensor ? nullptr : &graph[t]);
  try {
    std::vector<Array<T>> results = evaluate<T>(node.op, inputs, outputs, step);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (outputs[i]) live.own(node.outputs[i], std::move(results[i]));
  } catch (const ValueError& error) {
    throw ValueError(fmt::format("node '{}' ({}): {}", node.name, operator_name(node.op), error.what()));
  } catch (const std::bad_alloc&) {
    throw ValueError(fmt::format("node '{}' ({}): not enough memory", node.name, operator_name(node.op)));
  }
}

}  // namespace

template <class T>
Values<T> run(const Graph& graph, const Values<T>& sources, const RunOptions& options) {
  std::vector<TensorId> kept = graph.outputs;
  kept.insert(kept.end(), options.keep.begin(), options.keep.end());
  for (const TensorId t : kept)
    if (t.index() >= graph.tensors.size()) throw ValueError(fmt::format("there is no tensor {} to keep", t.value));
  const std::vector<std::size_t> last = last_reads(graph, kept);
  Live<T> live(graph.tensors.size());
  load_sources(graph, sources, last, live);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    run_node(graph, node, options.step, live);
    for (const TensorId t : node.inputs)
      if (t != kNoTensor && last[t.index()] == n) live.free(t);
    for (const TensorId t : node.outputs)
      if (t != kNoTensor && last[t.index()] == kNeverRead) live.free(t);
  }
  Values<T> values;
  for (const TensorId t : kept) values.emplace(graph[t].name, *live[t]);
  return values;
}

template Values<float> run(const Graph&, const Values<float>&, const RunOptions&);
template Values<double> run(const Graph&, const Values<double>&, const RunOptions&);

}  // namespace monet
