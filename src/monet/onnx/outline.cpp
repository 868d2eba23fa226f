#include "monet/onnx/outline.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>

#include "monet/base/diagnostic.h"
#include "monet/onnx/converter.h"
#include "monet/onnx/proto.h"
#include "monet/onnx/tensor_data.h"

namespace monet {
namespace {

constexpr std::int64_t kMostNumbers = 4096;  // of a constant that is kept

Shape shape_of(const pb::TypeProto& type) {
  Shape shape;
  for (const auto& dim : type.tensor_type().shape().dim()) shape.push_back(dim.has_dim_value() ? dim.dim_value() : 0);
  return shape;
}

bool is_integer(std::int32_t type) { return type == pb::TensorProto::INT64 || type == pb::TensorProto::INT32; }

// Nothing where they stand outside, are not whole numbers, or too many.
std::vector<std::int64_t> numbers_of(const pb::TensorProto& tensor) {
  if (!is_integer(tensor.data_type())) return {};
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.dims()) {
    if (extent < 0 || extent > kMostNumbers) return {};
    count *= extent;
    if (count > kMostNumbers) return {};
  }
  try {
    const Stored stored = inspect(tensor, {});
    if (stored.place != Stored::Place::Inside) return {};
    std::vector<std::int64_t> out;
    for (const double value : decode(stored)) {
      constexpr double kMost = 9e18;
      out.push_back(static_cast<std::int64_t>(value > kMost ? kMost : value < -kMost ? -kMost : value));
    }
    return out;
  } catch (const ModelError&) {
    return {};
  }
}

Shape shape_of(const pb::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

OnnxNode node_of(const pb::NodeProto& node) {
  OnnxNode out{.name = node.name(),
               .type = node.op_type(),
               .inputs = {node.input().begin(), node.input().end()},
               .outputs = {node.output().begin(), node.output().end()},
               .integers = {}};
  for (const pb::AttributeProto& a : node.attribute()) {
    if (a.type() == pb::AttributeProto::INT)
      out.integers[a.name()] = {a.i()};
    else if (a.type() == pb::AttributeProto::INTS)
      out.integers[a.name()] = {a.ints().begin(), a.ints().end()};
  }
  return out;
}

}  // namespace

OnnxOutline outline_onnx(std::string_view bytes, const std::string& file) {
  pb::ModelProto model;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !model.has_graph())
    throw InputError(Diagnostic{.file = file, .message = "the file is no ONNX model"});
  OnnxOutline out;
  const pb::GraphProto& graph = model.graph();
  // Where a tensor is described twice the first one counts: inputs, outputs, others, constants.
  for (const auto* list : {&graph.input(), &graph.output(), &graph.value_info()})
    for (const pb::ValueInfoProto& info : *list)
      if (info.type().has_tensor_type()) out.shapes.try_emplace(info.name(), shape_of(info.type()));
  for (const pb::TensorProto& tensor : graph.initializer()) {
    out.shapes.try_emplace(tensor.name(), shape_of(tensor));
    if (std::vector<std::int64_t> numbers = numbers_of(tensor); !numbers.empty())
      out.integers.try_emplace(tensor.name(), std::move(numbers));
  }
  for (const pb::NodeProto& node : graph.node()) {
    out.nodes.push_back(node_of(node));
    if (node.op_type() != "Constant" || node.output_size() == 0) continue;
    for (const pb::AttributeProto& a : node.attribute()) {
      if (!a.has_t()) continue;
      out.shapes.try_emplace(node.output(0), shape_of(a.t()));
      if (std::vector<std::int64_t> numbers = numbers_of(a.t()); !numbers.empty())
        out.integers.try_emplace(node.output(0), std::move(numbers));
    }
  }
  return out;
}

}  // namespace monet
