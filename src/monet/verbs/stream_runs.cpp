#include "monet/verbs/stream_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "monet/base/config_section.h"
#include "monet/base/file.h"
#include "monet/base/json.h"
#include "monet/hardware/load.h"
#include "monet/onnx/outline.h"
#include "monet/schedule/stream_costs.h"
#include "monet/schedule/stream_network.h"
#include "monet/verbs/case_values.h"
#include "monet/verbs/comparison.h"
#include "monet/verbs/stream_cases.h"

namespace monet {
namespace {

using config::Value;

// ---- Inputs ----

// JSON has no keys that are numbers; the files they were made of have.
std::string key_text(std::string_view key) {
  const bool is_number = !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? std::string(key) : json_quoted(key);
}

// A part of a file as the text of a YAML file of its own.
void append_text(const Value& value, std::string& out) {
  switch (value.kind()) {
    case config::Kind::Null: out += "null"; return;
    case config::Kind::Scalar: out += value.is_quoted() ? json_quoted(value.text()) : std::string(value.text()); return;
    case config::Kind::Sequence:
    case config::Kind::Map: break;
  }
  const bool is_map = value.is_map();
  out += is_map ? '{' : '[';
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (i > 0) out += ", ";
    if (is_map) out += key_text(value.key(i).text()) + ": ";
    append_text(value[i], out);
  }
  out += is_map ? '}' : ']';
}

std::optional<Value> part_named(const Value& root, std::string_view list, const std::string& name) {
  const std::optional<Value> parts = root.find(list);
  return parts && parts->is_map() ? parts->find(name) : std::nullopt;
}

struct Missing {
  std::string reason;
  bool matters = false;  // a run that cannot be, not a file that is somewhere else
};

std::string find_file(const FileFinder& files, const std::string& name) {
  const std::vector<std::string> found = files.find(name);
  if (found.empty()) throw Missing{.reason = fmt::format("no file '{}'", name)};
  return found[0];
}

hardware::Hardware load_accelerator(const Value& root, const std::string& name, const FileFinder& files) {
  const std::optional<Value> inside = part_named(root, "accelerators", stem_of(name));
  if (!inside) return hardware::load_hardware(find_file(files, name)).hardware;
  std::string text;
  append_text(*inside, text);
  const auto read = [&](const std::string& path) -> std::string {
    std::string core;
    if (const std::optional<Value> part = part_named(root, "cores", stem_of(path))) {
      append_text(*part, core);
      return core;
    }
    throw InputError(Diagnostic{.file = path, .message = "there is no such core"});
  };
  return hardware::parse_hardware(text, stem_of(name) + ".yaml", {.read = read}).hardware;
}

cost::MappingFile load_mapping(const Value& root, const std::string& name, const FileFinder& files) {
  if (const std::optional<Value> inside = part_named(root, "mappings", stem_of(name))) {
    config::Findings findings;
    cost::MappingFile mapping = cost::read_mapping(*inside, findings);
    findings.throw_if_failed();
    return mapping;
  }
  const std::string path = find_file(files, name);
  return cost::parse_mapping(read_file(path), path).file;
}

schedule::StreamStacks read_stacks(const Value& run) {
  schedule::StreamStacks stacks;
  const std::optional<Value> given = run.find("layer_stacks");
  for (std::size_t i = 0; given && given->is_sequence() && i < given->size(); ++i) {
    stacks.emplace_back();
    for (std::size_t k = 0; (*given)[i].is_sequence() && k < (*given)[i].size(); ++k)
      if (const std::optional<double> id = number_of((*given)[i][k]); id && *id >= 0 && *id < 1e9)
        stacks.back().push_back(static_cast<std::int64_t>(*id));
  }
  return stacks;
}

// On which cores a layer ran. Where the mapping leaves it open this is what the genetic search found.
schedule::StreamChoice read_choice(const Value& run) {
  schedule::StreamChoice chosen;
  const std::optional<Value> layers = run.find("per_layer");
  for (std::size_t i = 0; layers && layers->is_map() && i < layers->size(); ++i) {
    const std::optional<double> id = number_of(layers->key(i));
    const std::optional<Value> cores = (*layers)[i].is_map() ? (*layers)[i].find("cores") : std::nullopt;
    if (!id || *id < 0 || *id > 1e9 || !cores || !cores->is_sequence()) continue;
    for (std::size_t k = 0; k < cores->size(); ++k)
      if (const std::optional<double> core = number_of((*cores)[k]); core && *core >= 0 && *core < 1e6)
        chosen[static_cast<std::int64_t>(*id)].push_back(static_cast<std::int64_t>(*core));
  }
  return chosen;
}

StreamInputs load_run(const Value& root, const Value& run, const FileFinder& files) {
  StreamInputs inputs;
  const std::string mode = text_of(run, "mode");
  if (mode != "fused" && mode != "lbl") throw Missing{fmt::format("unknown mode '{}'", mode), true};
  inputs.mode = mode == "lbl" ? schedule::StreamMode::LayerByLayer : schedule::StreamMode::Fused;
  inputs.hardware = load_accelerator(root, text_of(run, "hardware"), files);
  inputs.mapping = load_mapping(root, text_of(run, "mapping"), files);
  inputs.stacks = read_stacks(run);
  inputs.chosen = read_choice(run);
  if (const std::optional<Value> meta = root.find("meta"); meta && meta->is_map())
    inputs.limit = static_cast<std::size_t>(std::clamp(number_of(meta->find("loma_lpf_limit")).value_or(6), 1.0, 12.0));
  inputs.model = stream_model(find_file(files, text_of(run, "workload")));
  return inputs;
}

// ---- Rows ----

void compare_totals(const Value& run, const StreamPlan& plan, const schedule::StreamResult& ours, Comparison& row) {
  const auto compare = [&](const char* figure, double value, std::string_view key, double tolerance) {
    const std::optional<Value> result = run.find("result");
    const std::optional<double> theirs =
        result && result->is_map() && result->find(key) ? number_of(result->find(key)) : number_of(run.find(key));
    if (theirs) row.compare(figure, value, *theirs, tolerance);
  };
  compare("latency", ours.latency, "latency", 0);
  compare("energy_pj", ours.energy_pj, "energy", kEnergyTolerance);
  compare("on chip", ours.onchip_pj, "total_cn_onchip_energy", kEnergyTolerance);
  constexpr std::array<std::string_view, schedule::kStreamBuckets> kKeys{
      "total_cn_offchip", "total_eviction_to_offchip", "total_sink_layer_output_offchip", "total_core_to_core"};
  for (std::size_t b = 0; b < kKeys.size(); ++b) {
    compare(kKeys[b].data(), ours.link_pj[b], fmt::format("{}_link_energy", kKeys[b]), kEnergyTolerance);
    compare(kKeys[b].data(), ours.memory_pj[b], fmt::format("{}_memory_energy", kKeys[b]), kEnergyTolerance);
  }
  compare("tiles", static_cast<double>(plan.problem.tiles.size()), "n_tiles", 0);
  compare("edges", static_cast<double>(plan.problem.edges.size()), "n_edges", 0);
  compare("link events", static_cast<double>(ours.events.size()), "n_comm_events", 0);
}

ValidationRow run_row(const std::string& id, const Value& run, const StreamPlan& plan, const StreamPeaks& peaks) {
  Comparison row(id);
  const schedule::StreamResult ours = schedule::run_stream(plan.problem);
  if (!ours.failure.empty()) {
    const std::optional<Value> result = run.find("result");
    row.differ("feasible", ours.failure, result ? number_of(result->find("latency")).value_or(0) : 0);
    return row.finish("");
  }
  compare_totals(run, plan, ours, row);
  if (const auto known = peaks.find(id); known != peaks.end())
    for (const StreamPeak& peak : known->second)
      for (const schedule::StreamCore& core : plan.problem.cores)
        for (const std::uint32_t m : core.memories)
          if (core.id == peak.core && plan.problem.memories[m].name == peak.memory)
            row.compare(fmt::format("peak of core {}", core.id), static_cast<double>(ours.peak_bits[m]), peak.bits);
  return row.finish("latency");
}

}  // namespace

schedule::StreamModel stream_model(const std::string& path) { return stream_model(read_file(path), path); }

schedule::StreamModel stream_model(std::string_view bytes, const std::string& path, const ImportOptions& options) {
  OnnxOutline outline = outline_onnx(bytes, path);
  schedule::StreamModel model;
  bool is_known = true;
  for (OnnxNode& node : outline.nodes) {
    for (const auto* names : {&node.inputs, &node.outputs})
      for (const std::string& name : *names) {
        const auto shape = outline.shapes.find(name);
        is_known = is_known && (name.empty() || (shape != outline.shapes.end() &&
                                                 std::none_of(shape->second.begin(), shape->second.end(),
                                                              [](std::int64_t extent) { return extent < 1; })));
      }
    model.operators.push_back({.name = std::move(node.name),
                               .type = std::move(node.type),
                               .inputs = std::move(node.inputs),
                               .outputs = std::move(node.outputs),
                               .attributes = std::move(node.integers)});
  }
  model.shapes = std::move(outline.shapes);
  model.integers = std::move(outline.integers);
  if (is_known && (options.batch || !options.dims.empty()))
    throw InputError(Diagnostic{.file = path,
                                .message = "its shapes are fixed, and Stream takes them as they are",
                                .hint = "leave out --batch and --dim, or export the model with other sizes"});
  if (is_known) return model;
  for (const Tensor& tensor : import_onnx(bytes, path, options).graph.tensors) {
    std::vector<std::int64_t>& shape = model.shapes[tensor.name];
    if (shape.empty() || std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 1; }))
      shape = tensor.shape;
  }
  return model;
}

StreamPlan plan_stream(const StreamInputs& inputs) {
  StreamPlan plan;
  schedule::StreamLayers made = schedule::stream_layers(inputs.model);
  plan.layers = std::move(made.layers);
  plan.failure = made.failure;
  if (plan.failure.empty()) plan.failure = schedule::add_stream_network(inputs.hardware, plan.problem);
  if (!plan.failure.empty()) return plan;
  double weight_bits = 0;  // of all cores together
  for (std::size_t c = 0; c < plan.problem.cores.size(); ++c)
    for (const std::uint32_t m : plan.problem.cores[c].memories) {
      const schedule::StreamMemory& memory = plan.problem.memories[m];
      const bool holds_weights = std::any_of(memory.slots.begin(), memory.slots.end(),
                                             [&](std::uint32_t s) { return plan.problem.slots[s] == "I2"; });
      if (c != plan.problem.offchip && holds_weights) weight_bits += static_cast<double>(memory.size);
    }
  plan.stacks = schedule::stream_stacks(plan.layers, inputs.mode, inputs.stacks, weight_bits);
  plan.tiling =
      schedule::tile_stream(plan.layers, plan.stacks, inputs.mode, inputs.mapping, inputs.chosen, plan.problem);
  plan.failure = plan.tiling.failure;
  if (plan.failure.empty())
    plan.failure = schedule::add_stream_costs(plan.layers, plan.tiling, inputs.hardware, inputs.mapping, plan.problem,
                                              {.limit = inputs.limit, .threads = inputs.threads});
  return plan;
}

void run_stream_summary(const Value& root, const FileFinder& files, ValidationSuite& suite) {
  const std::optional<Value> runs = root.find("runs");
  if (!runs || !runs->is_sequence()) return;
  config::Findings findings;
  const StreamPeaks peaks = read_stream_peaks(*runs, findings);
  findings.throw_if_failed();
  for (std::size_t i = 0; i < runs->size(); ++i) {
    const Value run = (*runs)[i];
    if (!run.is_map() || text_of(run, "workload").empty()) continue;
    const std::string id = text_of(run, "id");
    try {
      const StreamPlan plan = plan_stream(load_run(root, run, files));
      if (plan.failure.empty())
        suite.rows.push_back(run_row(id, run, plan, peaks));
      else
        suite.skipped.push_back({id, plan.failure});
    } catch (const Missing& missing) {
      suite.skipped.push_back({id, missing.reason, missing.matters});
    } catch (const InputError& error) {
      suite.skipped.push_back({id, error.diagnostics().empty() ? "not sound" : to_string(error.diagnostics()[0])});
    }
  }
}

}  // namespace monet
