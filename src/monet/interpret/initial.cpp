// Values of source tensors. Random ones are drawn in double from a stream of their own (a hash of the tensor's name),
// so that float and double runs, and runs of rewritten graphs, start from the same numbers.
#include "monet/interpret/initial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/base/overloaded.h"
#include "monet/base/rng.h"

namespace monet {
namespace {

constexpr std::int64_t kSmallRange = 4;  // of integers whose readers allow anything

std::uint64_t stream_of(const std::string& name) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

template <class T, class F>
Array<T> filled(const Shape& shape, F&& value) {
  Array<T> array{shape, std::vector<T>(static_cast<std::size_t>(elements(shape)))};
  for (std::size_t i = 0; i < array.data.size(); ++i)
    array.data[i] = static_cast<T>(value(static_cast<std::int64_t>(i)));
  return array;
}

// f(row, column) over the last two dimensions.
template <class T, class F>
Array<T> filled_matrices(const Tensor& tensor, F&& value) {
  if (tensor.shape.size() < 2)
    throw ValueError(fmt::format("'{}' {} should be a matrix", tensor.name, to_string(tensor.shape)));
  const std::int64_t columns = tensor.shape.back(), rows = tensor.shape[tensor.shape.size() - 2];
  return filled<T>(tensor.shape, [&](std::int64_t i) { return value(i / columns % rows, i % columns); });
}

template <class T>
Array<T> dense(const Tensor& tensor, const Dense& initial) {
  if (std::ssize(initial.values) != elements(tensor.shape))
    throw ValueError(
        fmt::format("'{}' {} is given {} initial values", tensor.name, to_string(tensor.shape), initial.values.size()));
  return filled<T>(tensor.shape, [&](std::int64_t i) { return initial.values[static_cast<std::size_t>(i)]; });
}

template <class T>
Array<T> rotary(const Tensor& tensor, const Rotary& initial) {
  const std::int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::int64_t half = std::max<std::int64_t>(1, columns / 2);
  return filled_matrices<T>(tensor, [&](std::int64_t position, std::int64_t column) {
    const double exponent = -2 * static_cast<double>(column % half) / static_cast<double>(columns);
    const double angle = static_cast<double>(position) * std::pow(initial.base, exponent);
    return initial.sine ? std::sin(angle) : std::cos(angle);
  });
}

template <class T>
Array<T> triangle(const Tensor& tensor, const Triangle& initial) {
  return filled_matrices<T>(tensor, [&](std::int64_t row, std::int64_t column) {
    return column - row <= initial.k ? initial.below : initial.above;
  });
}

// The tensor whose value a source has: the end of a chain of copies, or its first tensor that is given.
template <class T>
TensorId origin(const Graph& graph, TensorId id, const Values<T>& given) {
  for (std::size_t steps = 0; steps <= graph.tensors.size(); ++steps) {
    const CopyOf* copy = std::get_if<CopyOf>(&graph[id].initial);
    if (!copy || given.contains(graph[id].name)) return id;
    if (copy->tensor.index() >= graph.tensors.size() || graph[copy->tensor].shape != graph[id].shape)
      throw ValueError(fmt::format("'{}' copies a tensor that is not like it", graph[id].name));
    id = copy->tensor;
  }
  throw ValueError(fmt::format("'{}' is a copy of itself", graph[id].name));
}

// ---- Ranges of random values ----

// A kernel may be larger than any tensor; the first 2^16 points are range enough.
std::int64_t window_points(const Ints& kernel) {
  std::int64_t points = 1;
  for (const std::int64_t k : kernel) points = std::min(points * k, std::int64_t{1} << 16);
  return points;
}

// How many values operand `at` of a node may take, if the node reads it as an index or a label.
std::optional<std::int64_t> index_range(const Graph& graph, const Node& node, std::size_t at) {
  const auto extent = [&](std::size_t operand, std::int64_t axis) {
    return graph[node.inputs[operand]].shape[static_cast<std::size_t>(axis)];
  };
  if (const auto* op = std::get_if<Gather>(&node.op); op && at == 1) return extent(0, op->axis);
  if (const auto* op = std::get_if<ScatterAdd>(&node.op); op && at == 1) return op->size;
  if (const auto* op = std::get_if<PoolGradient>(&node.op); op && at == 1)
    return op->window_index ? window_points(op->kernel) : elements(op->extent);
  const bool loss =
      std::holds_alternative<CrossEntropy>(node.op) || std::holds_alternative<NegativeLogLikelihood>(node.op);
  if (loss && at == 1) return extent(0, 1);
  if (const auto* op = std::get_if<CrossEntropyGradient>(&node.op); op && at == 2) return extent(1, op->axis);
  if (std::holds_alternative<NegativeLogLikelihoodGradient>(node.op) && at == 2) return extent(1, 1);
  return std::nullopt;
}

// Whether values of operand `at` come out of the node as they went in.
bool passes_values_on(const Node& node, std::size_t at) {
  if (const auto* cast = std::get_if<Cast>(&node.op)) return is_integer(cast->to);
  if (std::holds_alternative<Gather>(node.op)) return at == 0;
  if (std::holds_alternative<Select>(node.op)) return at > 0;
  return std::holds_alternative<View>(node.op) || std::holds_alternative<Transpose>(node.op) ||
         std::holds_alternative<Expand>(node.op) || std::holds_alternative<Concat>(node.op) ||
         std::holds_alternative<Split>(node.op) || std::holds_alternative<Slice>(node.op) ||
         std::holds_alternative<Place>(node.op) || std::holds_alternative<Pad>(node.op);
}

// The smallest range any reader allows, following values through the nodes that only move them.
std::int64_t integer_range(const Graph& graph, const Uses& use, TensorId source) {
  std::optional<std::int64_t> range;
  std::vector<bool> seen(graph.tensors.size(), false);
  std::vector<TensorId> waiting{source};
  seen[source.index()] = true;
  while (!waiting.empty()) {
    const TensorId t = waiting.back();
    waiting.pop_back();
    for (const NodeId n : use.consumers[t.index()]) {
      const Node& node = graph[n];
      for (std::size_t at = 0; at < node.inputs.size(); ++at) {
        if (node.inputs[at] != t) continue;
        if (const auto allowed = index_range(graph, node, at)) range = std::min(range.value_or(*allowed), *allowed);
        if (!passes_values_on(node, at)) continue;
        for (const TensorId out : node.outputs)
          if (out != kNoTensor && !seen[out.index()]) {
            seen[out.index()] = true;
            waiting.push_back(out);
          }
      }
    }
  }
  return range.value_or(kSmallRange);
}

// Terms summed up in each output of the first product that reads a weight, also behind a few casts.
std::optional<std::int64_t> contracted(const Graph& graph, const Uses& use, TensorId weight, int casts = 4) {
  const Shape& shape = graph[weight].shape;
  for (const NodeId n : use.consumers[weight.index()]) {
    const Node& node = graph[n];
    if (std::holds_alternative<Cast>(node.op) && casts > 0 && !node.outputs.empty() && node.outputs[0] != kNoTensor)
      if (const auto found = contracted(graph, use, node.outputs[0], casts - 1)) return found;
    if (const auto* op = std::get_if<MatMul>(&node.op); op && shape.size() >= 2) {
      if (node.inputs[1] == weight) return shape[shape.size() - (op->trans_b ? 1 : 2)];
      if (node.inputs[0] == weight) return shape[shape.size() - (op->trans_a ? 2 : 1)];
    }
    if (const auto* op = std::get_if<Conv>(&node.op); op && shape.size() >= 2 && node.inputs[1] == weight) {
      const std::int64_t points = elements(shape) / shape[0] / shape[1];
      return op->kind == ConvKind::DataGradient ? shape[0] / op->groups * points : shape[1] * points;
    }
  }
  return std::nullopt;
}

std::int64_t fan_in(const Graph& graph, const Uses& use, TensorId weight) {
  const Shape& shape = graph[weight].shape;
  return contracted(graph, use, weight).value_or(shape.size() >= 2 ? elements(shape) / shape[0] : elements(shape));
}

template <class T>
Array<T> random_value(const Graph& graph, const Uses& use, TensorId id, std::uint64_t seed) {
  const Tensor& tensor = graph[id];
  const std::uint64_t stream = stream_of(tensor.name);
  const auto uniform = [&](std::int64_t i) { return random_uniform(seed, stream, static_cast<std::uint64_t>(i)); };
  const auto normal = [&](std::int64_t i) { return random_normal(seed, stream, static_cast<std::uint64_t>(i)); };
  if (!is_float(tensor.format.element)) {
    const double range = is_truth(tensor.format.element) ? 2 : static_cast<double>(integer_range(graph, use, id));
    return filled<T>(tensor.shape, [&](std::int64_t i) { return std::floor(uniform(i) * range); });
  }
  switch (tensor.category) {
    case Category::Weight: {
      const double deviation = 1 / std::sqrt(static_cast<double>(fan_in(graph, use, id)));
      return filled<T>(tensor.shape, [&](std::int64_t i) { return normal(i) * deviation; });
    }
    case Category::ModelState:
    case Category::OptimizerState:  // variances and second moments must be positive
      return filled<T>(tensor.shape, [&](std::int64_t i) { return 0.5 + uniform(i); });
    case Category::Input:
    case Category::Activation:
    case Category::Gradient:
    case Category::Constant:
    case Category::Index:
    case Category::Mask:
    case Category::Workspace: break;
  }
  return filled<T>(tensor.shape, normal);
}

}  // namespace

template <class T>
const Array<T>* given_value(const Tensor& tensor, const Values<T>& given) {
  const auto it = given.find(tensor.name);
  if (it == given.end()) return nullptr;
  const Array<T>& value = it->second;
  if (value.shape != tensor.shape || std::ssize(value.data) != elements(tensor.shape))
    throw ValueError(fmt::format("'{}' has shape {}, but {} ({} elements) is given", tensor.name,
                                 to_string(tensor.shape), to_string(value.shape), value.data.size()));
  return &value;
}

template <class T>
std::optional<Array<T>> stated_value(const Graph& graph, TensorId source, const Values<T>& given) {
  const Tensor& tensor = graph[origin(graph, source, given)];
  if (const Array<T>* value = given_value(tensor, given)) return *value;
  using Stated = std::optional<Array<T>>;
  return std::visit(
      overloaded{
          [&](std::monostate) -> Stated { return std::nullopt; },
          [&](const Splat& i) -> Stated { return filled<T>(tensor.shape, [&](std::int64_t) { return i.value; }); },
          [&](const Dense& i) -> Stated { return dense<T>(tensor, i); },
          [&](const Triangle& i) -> Stated { return triangle<T>(tensor, i); },
          [&](const Rotary& i) -> Stated { return rotary<T>(tensor, i); },
          [&](const CopyOf&) -> Stated { return std::nullopt; },  // origin() has followed it
      },
      tensor.initial);
}

template <class T>
Values<T> initial_values(const Graph& graph, std::uint64_t seed, const Values<T>& given) {
  const Uses use = uses(graph);
  Values<T> values;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const TensorId id{t};
    if (use.producer[t] != kNoNode) continue;
    std::optional<Array<T>> stated = stated_value(graph, id, given);
    values.emplace(graph[id].name,
                   stated ? std::move(*stated) : random_value<T>(graph, use, origin(graph, id, given), seed));
  }
  return values;
}

template const Array<float>* given_value(const Tensor&, const Values<float>&);
template const Array<double>* given_value(const Tensor&, const Values<double>&);
template std::optional<Array<float>> stated_value(const Graph&, TensorId, const Values<float>&);
template std::optional<Array<double>> stated_value(const Graph&, TensorId, const Values<double>&);
template Values<float> initial_values(const Graph&, std::uint64_t, const Values<float>&);
template Values<double> initial_values(const Graph&, std::uint64_t, const Values<double>&);

}  // namespace monet
