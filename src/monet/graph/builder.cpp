#include "monet/graph/builder.h"

#include <fmt/format.h>

namespace monet {
namespace {

std::string make_unique(std::unordered_map<std::string, std::uint32_t>& taken, const std::string& name) {
  const auto [it, fresh] = taken.try_emplace(name, 2);
  if (fresh) return name;
  std::string candidate;
  do candidate = fmt::format("{}.{}", name, taken[name]++);
  while (!taken.try_emplace(candidate, 2).second);
  return candidate;
}

}  // namespace

Category category_of(Phase phase) {
  switch (phase) {
    case Phase::Forward:
    case Phase::Loss:
    case Phase::Recompute: return Category::Activation;
    case Phase::Backward: return Category::Gradient;
    case Phase::Update: return Category::Workspace;
  }
  return Category::Activation;
}

Builder::Builder(std::string graph_name) { graph_.name = std::move(graph_name); }

Builder::Builder(Graph graph) : graph_(std::move(graph)) {
  tensor_names_.reserve(2 * graph_.tensors.size());  // some will be added
  for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t) {
    const Tensor& tensor = graph_.tensors[t];
    tensor_names_.emplace(tensor.name, 2);
    if (const Splat* splat = std::get_if<Splat>(&tensor.initial);
        splat && tensor.category == Category::Constant && tensor.shape.empty())
      scalars_.try_emplace(fmt::format("{}:{}", name(tensor.format.element), splat->value), TensorId{t});
  }
  for (const Node& node : graph_.nodes) node_names_.emplace(node.name, 2);
}

std::string Builder::unique_tensor(const std::string& name) { return make_unique(tensor_names_, name); }
std::string Builder::unique_node(const std::string& name) { return make_unique(node_names_, name); }

TensorId Builder::source(std::string name, Shape shape, Format format, Category category, Initial initial) {
  check_shape(shape);
  const TensorId id{static_cast<std::uint32_t>(graph_.tensors.size())};
  graph_.tensors.push_back(Tensor{.name = unique_tensor(name),
                                  .shape = std::move(shape),
                                  .format = format,
                                  .category = category,
                                  .layout = {},
                                  .overwrites = kNoTensor,
                                  .initial = std::move(initial)});
  return id;
}

TensorId Builder::scalar(double value, Element element) {
  const std::string key = fmt::format("{}:{}", name(element), value);
  if (const auto it = scalars_.find(key); it != scalars_.end()) return it->second;
  const TensorId id = source(fmt::format("const.{}", value), {}, Format{element}, Category::Constant, Splat{value});
  scalars_.emplace(key, id);
  return id;
}

std::vector<TensorId> Builder::add(Op op, std::vector<TensorId> inputs, const std::string& name, std::size_t outputs) {
  return add_wanted(std::move(op), std::move(inputs), name, std::vector<bool>(outputs, true));
}

std::vector<TensorId> Builder::add_wanted(Op op, std::vector<TensorId> inputs, const std::string& name,
                                          const std::vector<bool>& wanted) {
  std::vector<const Tensor*> operands;
  for (const TensorId t : inputs) operands.push_back(t == kNoTensor ? nullptr : &graph_[t]);
  std::vector<OutputType> types = infer(op, operands);
  if (wanted.size() > types.size())
    throw ShapeError(fmt::format("{} has {} outputs, not {}", operator_name(op), types.size(), wanted.size()));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i])
      names.emplace_back();
    else
      names.push_back(types[i].suffix.empty() && i == 0 ? name
                      : types[i].suffix.empty()         ? fmt::format("{}.{}", name, i)
                                                        : fmt::format("{}.{}", name, types[i].suffix));
  }
  types.resize(wanted.size());
  return append(std::move(op), std::move(inputs), name, types, names);
}

std::vector<TensorId> Builder::add_named(Op op, std::vector<TensorId> inputs, const std::string& name,
                                         const std::vector<std::string>& output_names) {
  std::vector<const Tensor*> operands;
  for (const TensorId t : inputs) operands.push_back(t == kNoTensor ? nullptr : &graph_[t]);
  std::vector<OutputType> types = infer(op, operands);
  if (output_names.size() > types.size())
    throw ShapeError(fmt::format("{} has {} outputs, not {}", operator_name(op), types.size(), output_names.size()));
  types.resize(output_names.size());
  return append(std::move(op), std::move(inputs), name, types, output_names);
}

void Builder::add_into(Op op, std::vector<TensorId> inputs, const std::string& name, std::vector<TensorId> outputs) {
  graph_.nodes.push_back(Node{.name = unique_node(name),
                              .op = std::move(op),
                              .inputs = std::move(inputs),
                              .outputs = std::move(outputs),
                              .phase = phase,
                              .barrier = false,
                              .holds = {}});
}

std::vector<TensorId> Builder::add_fallback(Fallback op, std::vector<TensorId> inputs, const std::string& name,
                                            const std::vector<std::string>& output_names,
                                            const std::vector<OutputType>& outputs) {
  for (const OutputType& type : outputs) check_shape(type.shape);
  return append(std::move(op), std::move(inputs), name, outputs, output_names);
}

std::vector<TensorId> Builder::append(Op op, std::vector<TensorId> inputs, const std::string& name,
                                      const std::vector<OutputType>& types,
                                      const std::vector<std::string>& output_names) {
  std::vector<TensorId> outputs;
  for (std::size_t i = 0; i < output_names.size(); ++i) {
    if (output_names[i].empty()) {
      outputs.push_back(kNoTensor);
      continue;
    }
    outputs.push_back(TensorId{static_cast<std::uint32_t>(graph_.tensors.size())});
    graph_.tensors.push_back(Tensor{.name = unique_tensor(output_names[i]),
                                    .shape = types[i].shape,
                                    .format = types[i].format,
                                    .category = types[i].category.value_or(category_of(phase)),
                                    .layout = {},
                                    .overwrites = kNoTensor,
                                    .initial = {}});
  }
  graph_.nodes.push_back(Node{.name = unique_node(name),
                              .op = std::move(op),
                              .inputs = std::move(inputs),
                              .outputs = outputs,
                              .phase = phase,
                              .barrier = false,
                              .holds = {}});
  return outputs;
}

}  // namespace monet
