#include "monet/onnx/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include "monet/base/assert.h"
#include "monet/base/diagnostic.h"
#include "monet/base/overloaded.h"
#include "monet/graph/steps.h"
#include "monet/interpret/initial.h"
#include "monet/onnx/export_rules.h"

namespace monet {
namespace exporting {
namespace {

// A splat with more elements than this is a ConstantOfShape node.
constexpr std::int64_t kSmallSplat = 1024;
// Protobuf holds 2^31 - 1 bytes; the numbers of one tensor are bounded too, as they pass through memory as doubles.
constexpr std::int64_t kMostBytes = (std::int64_t{1} << 31) - 1, kMostNumbers = std::int64_t{1} << 29;

class Exporter {
 public:
  Exporter(const Graph& graph, const ExportOptions& options, const Values<double>& values)
      : graph_(graph), options_(options), values_(values), writer_(graph, options.opset) {}

  std::string run() {
    write_sources();
    for (const Node& node : graph_.nodes) write_node(node);
    write_outputs();
    if (!faults_.empty()) throw InputError(faults_);
    return serialised();
  }

 private:
  void fault(std::string where, std::string message, std::string hint = "") {
    faults_.push_back(Diagnostic{.where = std::move(where), .message = std::move(message), .hint = std::move(hint)});
  }

  // ---- Tensors ----

  std::string doc(TensorId id) const {
    const Tensor& tensor = graph_[id];
    std::string text = fmt::format("monet category={}", name(tensor.category));
    if (Format{writer_.element_of(id)} != tensor.format) text += fmt::format(" format={}", to_string(tensor.format));
    if (tensor.overwrites != kNoTensor) text += fmt::format(" overwrites={}", graph_[tensor.overwrites].name);
    return text;
  }

  void describe(pb::ValueInfoProto& info, TensorId id) const {
    const Tensor& tensor = graph_[id];
    info.set_name(tensor.name);
    info.set_doc_string(doc(id));
    pb::TypeProto_Tensor& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx_type(writer_.element_of(id)));
    pb::TensorShapeProto& shape = *type.mutable_shape();
    for (const std::int64_t extent : tensor.shape) shape.add_dim()->set_dim_value(extent);
  }

  // Whether the file has room for a tensor's numbers; said once when it has not.
  bool fits(const Tensor& tensor) {
    if (full_) return false;
    const std::int64_t count = elements(tensor.shape);
    full_ = count > kMostNumbers;
    if (!full_) {
      stored_bytes_ += count * bits(carrier(tensor.format.element)) / 8;
      full_ = stored_bytes_ > kMostBytes;
    }
    if (full_)
      fault(fmt::format("tensor '{}'", tensor.name), "an ONNX file holds 2 GB, which the values up to this one exceed",
            "export without weights");
    return !full_;
  }

  // An initialiser with the numbers the caller or the graph states.
  void store(TensorId id) {
    const Tensor& tensor = graph_[id];
    const std::string where = fmt::format("tensor '{}'", tensor.name);
    if (!fits(tensor)) return;
    std::optional<Array<double>> numbers;
    try {
      numbers = stated_value<double>(graph_, id, values_);
    } catch (const ValueError& error) {
      return fault(where, error.what());
    }
    if (!numbers) return fault(where, "its values are not given", "pass them, or export without weights");
    pb::TensorProto& proto = *writer_.file.add_initializer();
    proto.set_name(tensor.name);
    for (const std::int64_t extent : tensor.shape) proto.add_dims(extent);
    proto.set_data_type(onnx_type(tensor.format.element));
    proto.set_raw_data(
        encode(numbers->data.size(), tensor.format.element, [&](std::size_t i) { return numbers->data[i]; }));
  }

  void write_constant(TensorId id) {
    const Tensor& tensor = graph_[id];
    const Splat* splat = std::get_if<Splat>(&tensor.initial);
    if (!splat || elements(tensor.shape) <= kSmallSplat) return store(id);
    const Node stands_for{.name = writer_.unique_node(tensor.name),
                          .op = Fill{tensor.shape, splat->value, tensor.format.element},
                          .inputs = {},
                          .outputs = {id},
                          .phase = Phase::Forward,
                          .barrier = false,
                          .holds = {}};
    write_node(stands_for);
  }

  void write_sources() {
    const Uses use = uses(graph_);
    for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t) {
      if (use.producer[t] != kNoNode) continue;
      const Tensor& tensor = graph_.tensors[t];
      const bool stated = !std::holds_alternative<std::monostate>(tensor.initial);
      if (tensor.category == Category::Constant && stated) {
        write_constant(TensorId{t});
        continue;
      }
      describe(*writer_.file.add_input(), TensorId{t});
      if (!options_.weights) continue;
      const bool needed = tensor.category == Category::Weight || tensor.category == Category::OptimizerState ||
                          tensor.category == Category::ModelState;
      if (stated || needed || values_.contains(tensor.name)) store(TensorId{t});
    }
  }

  void write_outputs() {
    std::vector<bool> listed(graph_.tensors.size());
    std::unordered_set<std::string> inputs;
    for (const pb::ValueInfoProto& input : writer_.file.input()) inputs.insert(input.name());
    for (const TensorId t : graph_.outputs) {
      if (listed[t.index()]) continue;
      listed[t.index()] = true;
      describe(*writer_.file.add_output(), t);
    }
    for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t)
      if (!listed[t] && !inputs.contains(graph_.tensors[t].name)) describe(*writer_.file.add_value_info(), TensorId{t});
  }

  // ---- Nodes ----

  void write_node(const Node& node) {
    Scope scope(writer_, node);
    try {
      if (is_part(node.op)) scope.refuse("a part of a larger operator has no ONNX form", "export before cutting");
      std::visit(overloaded{
                     [&](const Fallback& op) {
                       scope.refuse(fmt::format("'{}' is not a standard ONNX operator MONET knows", op.type),
                                    "rewrite the node before exporting");
                     },
                     [&](const Steps&) { MONET_ASSERT(false, "programs are expanded first"); },
                     [&](const auto& op) { write(op, scope); },
                 },
                 node.op);
      scope.finish();
    } catch (const InputError& error) {
      faults_.insert(faults_.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }

  std::string serialised() {
    pb::ModelProto model;
    // The IR version that came with each operator set.
    model.set_ir_version(options_.opset <= 18 ? 8 : options_.opset <= 20 ? 9 : 10);
    model.set_producer_name("monet");
    pb::OperatorSetIdProto& opset = *model.add_opset_import();
    opset.set_domain("");
    opset.set_version(options_.opset);
    pb::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key("monet");
    entry.set_value(options_.version);
    writer_.file.set_name(graph_.name.empty() ? "graph" : graph_.name);
    model.mutable_graph()->Swap(&writer_.file);
    if (model.ByteSizeLong() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw InputError(Diagnostic{
          .message = fmt::format("the model takes {} bytes, more than an ONNX file can hold", model.ByteSizeLong()),
          .hint = "export without weights"});
    return model.SerializeAsString();
  }

  const Graph& graph_;
  const ExportOptions& options_;
  const Values<double>& values_;
  Writer writer_;
  std::int64_t stored_bytes_ = 0;
  bool full_ = false;
  std::vector<Diagnostic> faults_;
};

}  // namespace
}  // namespace exporting

std::string export_onnx(const Graph& graph, const ExportOptions& options, const Values<double>* values) {
  if (options.opset < 17 || options.opset > 21)
    throw InputError(Diagnostic{.message = fmt::format("opset {} is not supported", options.opset),
                                .hint = "use one from 17 to 21"});
  const Values<double> none;
  const Graph single = expand_steps(graph);
  return exporting::Exporter(single, options, values ? *values : none).run();
}

}  // namespace monet
