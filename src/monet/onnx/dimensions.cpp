#include "monet/onnx/dimensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "monet/base/nearest.h"
#include "monet/graph/infer.h"
#include "monet/onnx/tensor_data.h"

namespace monet {
namespace {

using Dimension = pb::TensorShapeProto::Dimension;

bool sounds_like_batch(const std::string& symbol) {
  static constexpr std::array<std::string_view, 6> kNames{"batch", "batch_size", "N", "n", "b", "B"};
  return std::find(kNames.begin(), kNames.end(), symbol) != kNames.end();
}

// A dimension without name or value can still be given a size: `input.axis` stands for it.
std::string symbol_of(const Dimension& dimension, const std::string& input, std::size_t axis) {
  return dimension.dim_param().empty() ? fmt::format("{}.{}", input, axis) : dimension.dim_param();
}

bool is_symbolic(const Dimension& dimension) { return dimension.value_case() != Dimension::kDimValue; }

std::vector<const pb::ValueInfoProto*> true_inputs(const pb::GraphProto& graph) {
  std::unordered_set<std::string> initialised;
  for (const auto& tensor : graph.initializer()) initialised.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) initialised.insert(tensor.values().name());
  std::vector<const pb::ValueInfoProto*> inputs;
  for (const auto& input : graph.input())
    if (!initialised.count(input.name())) inputs.push_back(&input);
  return inputs;
}

class Binder {
 public:
  Binder(const ImportOptions& options, Findings& findings) : options_(options), findings_(findings) {}

  Dimensions bind(const pb::GraphProto& graph) {
    const auto inputs = true_inputs(graph);
    if (options_.batch && *options_.batch < 1) findings_.error("--batch", "the batch must be at least 1");
    for (const auto& [name, size] : options_.dims)
      if (size < 1) findings_.error("--dim", fmt::format("dimension '{}' must be at least 1, not {}", name, size));
    for (std::size_t i = 0; i < inputs.size(); ++i) find_batch_symbols(*inputs[i], i == 0);
    find_rebatching(inputs);
    for (const auto* input : inputs) bind_input(*input);
    if (!options_.dims_are_shared) check_given();
    const bool is_changed = out_.rebatched || is_fixed_so_ ||
                            std::any_of(batch_symbols_.begin(), batch_symbols_.end(), [&](const std::string& symbol) {
                              const auto it = out_.symbols.find(symbol);
                              return it != out_.symbols.end() && it->second == options_.batch;
                            });
    out_.has_batch_asked_for = !options_.batch || is_changed;
    return std::move(out_);
  }

 private:
  static const pb::TensorShapeProto* shape_of(const pb::ValueInfoProto& input) {
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape()) return nullptr;
    return &input.type().tensor_type().shape();
  }

  void find_batch_symbols(const pb::ValueInfoProto& input, bool first) {
    const auto* shape = shape_of(input);
    if (!shape || shape->dim_size() == 0 || !is_symbolic(shape->dim(0))) return;
    const std::string& name = shape->dim(0).dim_param();
    if (first || name.empty() || sounds_like_batch(name))
      batch_symbols_.insert(symbol_of(shape->dim(0), input.name(), 0));
  }

  // A fixed batch can be replaced if the inputs agree on it.
  void find_rebatching(const std::vector<const pb::ValueInfoProto*>& inputs) {
    if (!options_.batch || *options_.batch < 1) return;
    std::optional<std::int64_t> fixed;
    bool agree = true;
    for (const auto* input : inputs) {
      const auto* shape = shape_of(*input);
      if (!shape || shape->dim_size() == 0 || is_symbolic(shape->dim(0))) continue;
      agree &= !fixed || *fixed == shape->dim(0).dim_value();
      fixed = fixed.value_or(shape->dim(0).dim_value());
    }
    is_fixed_so_ = fixed && agree && *fixed == *options_.batch;
    if (!fixed || is_fixed_so_) return;
    if (agree && *fixed >= 1 && batch_symbols_.empty()) {
      out_.rebatched = {*fixed, *options_.batch};
    } else if (batch_symbols_.empty()) {
      findings_.warn("--batch", "the batch stays as it is: the inputs' leading dimensions are fixed and differ",
                     "export the model with a dynamic batch dimension");
    }
  }

  void bind_input(const pb::ValueInfoProto& input) {
    const std::string where = fmt::format("input '{}'", input.name());
    const auto* shape = shape_of(input);
    if (input.name().empty()) return findings_.error("graph", "an input has no name");
    if (!shape) {
      findings_.error(where, input.type().has_tensor_type() || !input.has_type() ? "its shape is not given"
                                                                                 : "only tensors can be inputs");
      return;
    }
    BoundInput bound{.name = input.name(), .shape = {}, .element = Element::F32};
    try {
      bound.element = element_of(input.type().tensor_type().elem_type());
      for (int axis = 0; axis < shape->dim_size(); ++axis)
        bound.shape.push_back(size_of(shape->dim(axis), input.name(), static_cast<std::size_t>(axis)));
      if (out_.rebatched && !bound.shape.empty()) bound.shape[0] = out_.rebatched->second;
      check_shape(bound.shape);
    } catch (const ShapeError& error) {
      findings_.error(where, error.what());
      return;
    } catch (const ModelError& error) {
      findings_.error(where, error.what(), error.hint());
      return;
    }
    out_.inputs.push_back(std::move(bound));
  }

  std::int64_t size_of(const Dimension& dimension, const std::string& input, std::size_t axis) {
    if (!is_symbolic(dimension)) return dimension.dim_value();
    const std::string symbol = symbol_of(dimension, input, axis);
    if (const auto it = out_.symbols.find(symbol); it != out_.symbols.end()) return it->second;
    std::int64_t size = 1;
    if (const auto given = options_.dims.find(symbol); given != options_.dims.end())
      size = std::max<std::int64_t>(given->second, 1);
    else if (batch_symbols_.count(symbol))
      size = std::max<std::int64_t>(options_.batch.value_or(1), 1);
    else
      findings_.warn(fmt::format("input '{}'", input), fmt::format("dimension '{}' is symbolic and set to 1", symbol),
                     fmt::format("--dim {}=value", symbol));
    out_.symbols.emplace(symbol, size);
    return size;
  }

  void check_given() {
    std::vector<std::string> known;
    for (const auto& [symbol, size] : out_.symbols) known.push_back(symbol);
    for (const auto& [name, size] : options_.dims)
      if (!out_.symbols.count(name))
        findings_.error("--dim", fmt::format("the inputs have no dimension '{}'", name),
                        known.empty() ? "all their dimensions are fixed" : did_you_mean(name, known, list(known)));
  }

  static std::string list(const std::vector<std::string>& names) {
    std::string text = "they have ";
    for (std::size_t i = 0; i < names.size() && i < 8; ++i) text += (i ? ", '" : "'") + names[i] + "'";
    return text;
  }

  const ImportOptions& options_;
  Findings& findings_;
  std::unordered_set<std::string> batch_symbols_;
  bool is_fixed_so_ = false;  // the file's own batch is the one asked for
  Dimensions out_;
};

}  // namespace

Dimensions bind_dimensions(const pb::GraphProto& graph, const ImportOptions& options, Findings& findings) {
  return Binder(options, findings).bind(graph);
}

StatedTypes::StatedTypes(const pb::GraphProto& graph, const Dimensions& dimensions) : dimensions_(dimensions) {
  for (const auto* list : {&graph.value_info(), &graph.output()})
    for (const auto& info : *list) stated_.emplace(info.name(), &info);
}

std::optional<Shape> StatedTypes::resolve(const std::string& name, std::size_t from) const {
  const auto it = stated_.find(name);
  if (it == stated_.end() || !it->second->type().tensor_type().has_shape()) return std::nullopt;
  Shape shape;
  for (const Dimension& dimension : it->second->type().tensor_type().shape().dim()) {
    if (shape.size() < from) {
      shape.push_back(0);
      continue;
    }
    std::int64_t size = dimension.dim_value();
    if (is_symbolic(dimension)) {
      const auto symbol = dimensions_.symbols.find(dimension.dim_param());
      if (symbol == dimensions_.symbols.end()) return std::nullopt;
      size = symbol->second;
    }
    if (size < 1) return std::nullopt;
    shape.push_back(size);
  }
  return shape;
}

std::optional<Shape> StatedTypes::shape(const std::string& name) const {
  return dimensions_.rebatched ? std::nullopt : resolve(name, 0);
}
std::optional<Shape> StatedTypes::spatial_shape(const std::string& name) const { return resolve(name, 2); }

std::optional<Element> StatedTypes::element(const std::string& name) const {
  const auto it = stated_.find(name);
  if (it == stated_.end() || !it->second->type().has_tensor_type()) return std::nullopt;
  try {
    return element_of(it->second->type().tensor_type().elem_type());
  } catch (const ModelError&) {
    return std::nullopt;
  }
}

}  // namespace monet
