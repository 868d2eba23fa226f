#include "monet/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "monet/base/file.h"
#include "monet/graph/verify.h"
#include "monet/onnx/converter.h"
#include "monet/onnx/order.h"
#include "monet/onnx/phases.h"
#include "monet/onnx/prune.h"
#include "monet/onnx/wire.h"

namespace monet {
namespace {

pb::ModelProto parse(std::string_view bytes, Findings& findings) {
  pb::ModelProto model;
  if (bytes.empty()) {
    findings.error("", "the file is empty");
  } else if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    findings.error("", "the file is larger than 2 GiB, which ONNX cannot be", "keep the weights in an external file");
  } else if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    if (const auto fault = find_wire_fault(bytes))
      findings.error(fmt::format("byte {}", fault->offset),
                     fmt::format("the file is truncated or damaged: {}", fault->message));
    else
      findings.error("", "the file is no ONNX model, or nested too deeply");
  } else if (!model.has_graph()) {
    findings.error("", "the file holds no graph", "is it an ONNX model?");
  } else if (model.graph().output_size() == 0) {
    findings.error("graph", "it has no outputs");
  }
  findings.throw_if_any();
  return model;
}

// New running statistics are results of an iteration, as in MONET's own models.
void return_new_state(Graph& graph) {
  std::vector<bool> returned(graph.tensors.size(), false);
  for (const TensorId output : graph.outputs) returned[output.index()] = true;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t)
    if (graph.tensors[t].overwrites != kNoTensor && graph.tensors[t].category == Category::ModelState && !returned[t])
      graph.outputs.push_back(TensorId{t});
}

// What is made of a loss belongs to it: weighted sums of several, a scale.
void spread_loss(Graph& graph) {
  std::vector<bool> loss(graph.tensors.size(), false);
  for (Node& node : graph.nodes) {
    const auto reads_loss = [&](TensorId t) { return t != kNoTensor && loss[t.index()]; };
    if (node.phase == Phase::Forward && std::any_of(node.inputs.begin(), node.inputs.end(), reads_loss))
      node.phase = Phase::Loss;
    if (node.phase != Phase::Loss) continue;
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) loss[t.index()] = true;
  }
}

}  // namespace

Import import_onnx(std::string_view bytes, const std::string& file, const ImportOptions& options) {
  Findings findings{.file = file, .errors = {}, .warnings = {}};
  const pb::ModelProto model = parse(bytes, findings);
  const std::int64_t opset = default_opset(model, findings);
  findings.throw_if_any();
  FlatModel flat = flatten(model, opset, findings);
  findings.throw_if_any();
  check_and_sort(flat, model.graph(), findings);
  const Dimensions dimensions = bind_dimensions(model.graph(), options, findings);
  findings.throw_if_any();

  Converter converter(model, dimensions, options, std::filesystem::path(file).parent_path(), findings);
  converter.convert_all(flat);
  converter.add_outputs();
  findings.throw_if_any();
  Import result;
  result.has_batch_asked_for = dimensions.has_batch_asked_for;
  for (const auto& [name, size] : options.dims)
    if (dimensions.symbols.contains(name)) result.dims.push_back(name);
  if (options.load_weights) {
    result.weights = converter.load_weights();
    findings.throw_if_any();
  }
  Graph& graph = converter.builder.graph();
  if (!converter.has_phases && converter.seed && *converter.seed < graph.nodes.size())
    result.trained_parameters = assign_phases(graph, *converter.seed);
  if (!converter.has_phases) spread_loss(graph);
  converter.apply_notes();
  legalise_overwrites(graph);
  if (converter.has_phases) result.trained_parameters = count_trained(graph);
  return_new_state(graph);
  remove_unread(graph, converter.bypassed());
  // Only a file whose notes (phases, formats, updates in place) contradict its graph gets here with one.
  for (const std::string& fault : faults(graph))
    if (!findings.enough()) findings.error("graph", fault);
  findings.throw_if_any();
  converter.report();
  result.graph = std::move(converter.builder).finish();
  result.warnings = std::move(findings.warnings);
  return result;
}

Import import_onnx(const std::string& path, const ImportOptions& options) {
  return import_onnx(read_file(path), path, options);
}

}  // namespace monet
