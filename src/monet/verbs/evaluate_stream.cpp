#include "monet/verbs/evaluate_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/base/sha256.h"
#include "monet/models/catalogue.h"
#include "monet/onnx/export.h"
#include "monet/plan/plan_file.h"
#include "monet/plan/stream_plan.h"
#include "monet/verbs/hardware.h"
#include "monet/verbs/refuse.h"

namespace monet {
namespace {

bool is_onnx(const std::string& model) {
  return !is_builtin_model(model) && !model.ends_with(".monet") &&
         (model.ends_with(".onnx") || model.find('/') != std::string::npos);
}

// What would change the result of an inference of ours and has no meaning to Stream.
void check_request(const EvaluateRequest& r) {
  if (r.mode != "inference")
    refuse("--mode", fmt::format("Stream's model knows no {}", r.mode == "both" ? "training" : r.mode),
           "add --mode inference, or leave out --quirks stream");
  if (r.plan.empty())
    refuse("--plan", "Stream needs a mapping file: on which cores layers run, and how they are cut",
           "docs/stream.md shows one; without --quirks stream a plan is decided by default");
  const std::string own = "leave it out";
  std::vector<Diagnostic> found;
  const auto check = [&](bool is_set, const char* flag, const char* message) {
    if (is_set) found.push_back({.where = flag, .message = message, .hint = own});
  };
  check(!r.model.precision.empty(), "--precision", "Stream takes 8 bits, or what attributes of the nodes say");
  check(r.model.microbatches != 1, "--microbatches", "Stream's model has no gradients to accumulate");
  check(r.iterations != 1, "--iterations", "Stream's model has one iteration");
  check(r.im2col_weight_gradient, "--wgrad", "Stream's model has no gradients");
  check(r.fused_updates, "--updates", "Stream's model has no updates");
  check(!r.cache.empty(), "--cache", "Stream's costs are not kept");
  if (is_onnx(r.model.model)) {
    check(r.model.fold_batch_norm, "--fold-batch-norm", "Stream takes the nodes of an ONNX file as they are");
    check(r.model.attention != "written", "--attention", "Stream takes the nodes of an ONNX file as they are");
  }
  if (!found.empty()) throw InputError(std::move(found));
}

schedule::StreamModel load_model(const EvaluateRequest& request, StreamEvaluation& out) {
  const ModelRequest& m = request.model;
  if (is_onnx(m.model)) {
    const std::string bytes = read_file(m.model);
    out.inputs.push_back({"model", m.model, sha256_hex(bytes)});
    return stream_model(bytes, m.model, {.dims = m.dims, .batch = m.batch, .strict = m.strict, .load_weights = false});
  }
  ModelRequest asked = m;
  asked.train = "none";
  const Prepared prepared = prepare(asked);
  if (prepared.is_training) refuse("MODEL", "Stream's model knows no training", "give the model without its gradients");
  out.inputs.insert(out.inputs.end(), prepared.inputs.begin(), prepared.inputs.end());
  out.warnings.insert(out.warnings.end(), prepared.warnings.begin(), prepared.warnings.end());
  return stream_model(export_onnx(prepared.graph), m.model);
}

cost::MappingFile load_mapping(const std::string& path, StreamEvaluation& out) {
  const std::string bytes = read_file(path);
  out.inputs.push_back({"plan", path, sha256_hex(bytes)});
  if (plan::looks_like_plan(bytes, path))
    throw InputError(Diagnostic{.file = path,
                                .message = "a plan of MONET's own: its cuts and orders are not among Stream's rules",
                                .hint = "give a Stream mapping file, or leave out --quirks stream"});
  cost::ParsedMapping parsed = cost::parse_mapping(bytes, path);
  out.warnings.insert(out.warnings.end(), parsed.warnings.begin(), parsed.warnings.end());
  return std::move(parsed.file);
}

// Names of layers; ONNX files may leave them out or use one twice.
std::vector<std::string> layer_names(const std::vector<schedule::StreamLayer>& layers) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const schedule::StreamLayer& layer : layers) {
    std::string name = layer.name.empty() ? layer.type : layer.name;
    while (!taken.insert(name).second) name += fmt::format(" ({})", layer.id);
    names.push_back(std::move(name));
  }
  return names;
}

schedule::StreamStacks read_stacks(const std::string& text, const schedule::StreamModel& model) {
  schedule::StreamStacks stacks;
  if (text.empty()) return stacks;
  const std::vector<std::string> names = layer_names(schedule::stream_layers(model).layers);
  for (const plan::Group& group : plan::parse_stacks(text, names)) {
    stacks.emplace_back();
    for (const std::string& name : group.nodes)
      stacks.back().push_back(std::find(names.begin(), names.end(), name) - names.begin());
  }
  return stacks;
}

}  // namespace

std::vector<std::string> parse_schedule_quirks(const std::string& text) {
  if (text == "stream") return {text};
  if (text == "zigzag")
    refuse("--quirks", "ZigZag costs single layers and has no schedules", "stream, or monet map … --quirks zigzag");
  refuse("--quirks", fmt::format("unknown value '{}'", text.substr(0, 60)),
         did_you_mean(text, std::vector<std::string>{"stream"}, "known: stream"));
}

StreamEvaluation evaluate_stream(const EvaluateRequest& request) {
  check_request(request);
  StreamEvaluation out;
  out.loaded = describe_hardware({.hardware = request.hardware, .parameters = request.parameters});
  out.inputs = document_inputs(out.loaded);
  out.warnings = out.loaded.warnings;
  StreamInputs inputs{.hardware = out.loaded.hardware, .threads = request.threads};
  inputs.mapping = load_mapping(request.plan, out);
  inputs.model = load_model(request, out);
  inputs.stacks = read_stacks(request.stacks, inputs.model);
  out.plan = plan_stream(inputs);
  out.failure = out.plan.failure;
  if (!out.failure.empty()) return out;
  const std::vector<std::string> names = layer_names(out.plan.layers);
  for (std::size_t i = 0; i < names.size(); ++i) out.plan.layers[i].name = names[i];
  out.result = schedule::run_stream(out.plan.problem);
  out.failure = out.result.failure;
  return out;
}

}  // namespace monet
