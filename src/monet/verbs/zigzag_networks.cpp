#include "monet/verbs/zigzag_networks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "monet/base/config_number.h"
#include "monet/base/file.h"
#include "monet/cost/zigzag_files.h"
#include "monet/hardware/load.h"
#include "monet/onnx/import.h"
#include "monet/verbs/case_values.h"

namespace monet {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr double kNetworkTolerance = 1e-6;
constexpr std::size_t kMostFiles = 50'000;  // looked at
constexpr int kMostDepth = 4;

// "resnet18.yaml (31 layers)": what is said after the name is a remark.
std::string named(const Value& entry, std::string_view key) {
  const std::optional<Value> value = entry.is_map() ? entry.find(key) : std::nullopt;
  if (!value || !value->is_scalar()) return "";
  const std::string text(value->text());
  return text.substr(0, text.find(" ("));
}

bool is_configuration(const std::string& path, bool (*looks)(const Value&)) {
  try {
    return looks(config::parse(read_file(path), path).root());
  } catch (const InputError&) {
    return false;
  }
}

struct Network {
  std::vector<cost::Layer> layers{};
  std::vector<cost::MappingRequest> requests{};
  hardware::Core core{};
  std::string missing{};  // why it cannot be run
};

std::string find_one(const FileFinder& files, const std::string& name, bool (*looks)(const Value&)) {
  for (const std::string& path : files.find(name))
    if (looks == nullptr || path.ends_with(".onnx") || is_configuration(path, looks)) return path;
  return "";
}

Network load_network(const Value& entry, Accelerators& accelerators, const FileFinder& files) {
  Network n;
  const std::string workload = named(entry, "workload"), mapping = named(entry, "mapping"),
                    accelerator = named(entry, "accelerator");
  const std::string workload_path = find_one(files, workload, cost::looks_like_workload),
                    mapping_path = find_one(files, mapping, cost::looks_like_mapping),
                    hardware_path = find_one(files, accelerator, hardware::looks_like_hardware);
  if (!hardware_path.empty())
    n.core = without_dataflow(hardware::load_hardware(hardware_path).hardware.cores.at(0));
  else if (accelerators.has(stem_of(accelerator)))
    n.core = accelerators.core(stem_of(accelerator));
  else
    n.missing = fmt::format("no file '{}'", accelerator);
  if (mapping_path.empty())
    n.missing = fmt::format("no file '{}'", mapping);
  else
    n.requests = cost::parse_mapping(read_file(mapping_path), mapping_path).file.requests;
  if (workload_path.empty())
    n.missing = fmt::format("no file '{}'", workload);
  else if (workload_path.ends_with(".onnx"))
    n.layers = zigzag_layers(import_onnx(workload_path).graph);
  else
    n.layers = cost::parse_workload(read_file(workload_path), workload_path).layers;
  return n;
}

struct LayerCost {
  std::string reason{};
  double energy = 0, latency = 0, onload = 0, offload = 0;
};

std::vector<LayerCost> run_layers(const Network& n, const cost::MapOptions& options) {
  std::vector<LayerCost> out;
  for (std::size_t i = 0; i < n.layers.size(); ++i) {
    const cost::Layer& layer = n.layers[i];
    const cost::MappingRequest* request = cost::find_request(n.requests, layer);
    // Networks repeat their layers.
    const auto same = std::find_if(n.layers.begin(), n.layers.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const cost::Layer& other) {
                                     cost::Layer renamed = other;
                                     renamed.name = layer.name;
                                     return renamed == layer && cost::find_request(n.requests, other) == request;
                                   });
    if (same - n.layers.begin() < static_cast<std::ptrdiff_t>(i)) {
      out.push_back(out[static_cast<std::size_t>(same - n.layers.begin())]);
      continue;
    }
    LayerCost each;
    const cost::MapResult r = map_layer(layer, n.core, request ? *request : cost::MappingRequest{}, options);
    if (r.mapped)
      each = {.energy = r.mapped->evaluation.energy_pj,
              .latency = r.mapped->evaluation.latency,
              .onload = r.mapped->evaluation.onload,
              .offload = r.mapped->evaluation.offload};
    else
      each.reason = fmt::format("{}: {}", layer.name, r.reason);
    out.push_back(each);
  }
  return out;
}

ValidationRow total_row(const std::string& id, const std::vector<LayerCost>& costs, std::optional<double> energy,
                        std::optional<double> latency) {
  Comparison c(id);
  LayerCost sum;
  for (const LayerCost& each : costs) {
    if (!each.reason.empty()) c.differ("feasible", each.reason, latency.value_or(0));
    sum.energy += each.energy;
    sum.latency += each.latency;
  }
  if (energy) c.compare("energy_pj", sum.energy, *energy, kNetworkTolerance);
  if (latency) c.compare("latency_cycles", sum.latency, *latency, kNetworkTolerance);
  return c.finish("latency_cycles");
}

ValidationRow layer_row(const std::string& id, const LayerCost& cost, const Value& theirs) {
  Comparison c(id);
  if (!cost.reason.empty()) c.differ("feasible", cost.reason, number_of(theirs.find("energy")).value_or(0));
  const auto compare = [&](const std::string& figure, double ours, const std::optional<Value>& value) {
    if (const std::optional<double> expected = number_of(value)) c.compare(figure, ours, *expected, kNetworkTolerance);
  };
  compare("energy_pj", cost.energy, theirs.find("energy"));
  if (const std::optional<Value> latency = theirs.find("latency"); latency && latency->is_map()) {
    compare("onload_cycles", cost.onload, latency->find("data_onloading"));
    compare("computation_cycles", cost.latency - cost.onload - cost.offload, latency->find("computation"));
    compare("offload_cycles", cost.offload, latency->find("data_offloading"));
  }
  return c.finish("computation_cycles");
}

void run_network(const Value& entry, Accelerators& accelerators, const FileFinder& files, ValidationSuite& suite) {
  const std::string id = fmt::format("{} on {}", named(entry, "workload"), named(entry, "accelerator"));
  Network n;
  try {
    n = load_network(entry, accelerators, files);
  } catch (const InputError& error) {
    n.missing = error.diagnostics().empty() ? "not sound" : to_string(error.diagnostics()[0]);
  }
  if (!n.missing.empty()) {
    suite.skipped.push_back({id, n.missing});
    return;
  }
  cost::MapOptions options{.quirks = cost::kZigzagQuirks};
  const std::string criterion = named(entry, "opt");
  if (criterion == "energy") options.criterion = cost::Criterion::Energy;
  if (criterion == "EDP") options.criterion = cost::Criterion::Edp;
  options.limit = static_cast<std::size_t>(std::clamp(number_of(entry.find("lpf_limit")).value_or(6), 1.0, 64.0));
  const std::vector<LayerCost> costs = run_layers(n, options);
  std::optional<double> energy = number_of(entry.find("energy_pJ")), latency = number_of(entry.find("latency_cycles"));
  if (const std::optional<Value> expected = entry.find("expected");
      expected && expected->is_sequence() && expected->size() == 2) {
    energy = number_of((*expected)[0]);
    latency = number_of((*expected)[1]);
  }
  suite.rows.push_back(total_row(id, costs, energy, latency));
  const std::optional<Value> layers = entry.find("per_layer");
  for (std::size_t i = 0; layers && layers->is_map() && i < n.layers.size(); ++i) {
    std::string layer = n.layers[i].name;
    if (layer.starts_with("layer_"))
      layer = "Layer" + layer.substr(6);  // what the reference calls a layer without name
    if (const std::optional<Value> theirs = layers->find(layer); theirs && theirs->is_map())
      suite.rows.push_back(layer_row(fmt::format("{}: {}", id, layer), costs[i], *theirs));
  }
}

// ---- ONNX ----

cost::Layer conv_layer(const Graph& g, const Node& node, const Conv& conv) {
  const Shape &x = g[node.inputs[0]].shape, &w = g[node.inputs[1]].shape, &y = g[node.outputs[0]].shape;
  const std::int64_t groups = conv.groups;
  // Width takes what the model says of height and the other way round: so does the front end.
  cost::Layer layer{.name = node.name,
                    .operator_type = "Conv",
                    .dimensions = {{"B", y[0]},
                                   {"K", (y[1] + groups - 1) / groups},
                                   {"G", groups},
                                   {"OX", y[3]},
                                   {"OY", y[2]},
                                   {"C", (x[1] + groups - 1) / groups},
                                   {"FX", w[2]},
                                   {"FY", w[3]}}};
  enum : std::size_t { kB, kK, kG, kOx, kOy, kC, kFx, kFy };
  const auto axis = [&](std::size_t d) { return work::Axis{.extent = layer.dimensions[d].size, .terms = {{d, 1}}}; };
  const auto window = [&](std::int64_t extent, std::size_t out, std::size_t filter, std::size_t i) {
    return work::Axis{.extent = extent, .terms = {{out, conv.strides[i]}, {filter, conv.dilations[i]}}};
  };
  using hardware::Slot;
  layer.operands = {{.name = "O",
                     .slot = Slot::Output,
                     .bits = 8,
                     .partial_bits = 16,
                     .axes = {axis(kB), axis(kG), axis(kK), axis(kOy), axis(kOx)}},
                    {.name = "W",
                     .slot = Slot::Weight,
                     .bits = 8,
                     .partial_bits = 8,
                     .axes = {axis(kG), axis(kK), axis(kC), axis(kFy), axis(kFx)}},
                    {.name = "I",
                     .slot = Slot::Input,
                     .bits = 8,
                     .partial_bits = 8,
                     .axes = {axis(kB), axis(kG), axis(kC), window(x[2], kOy, kFy, 1), window(x[3], kOx, kFx, 0)}}};
  return layer;
}

cost::Layer product_layer(const Graph& g, const Node& node, const MatMul& product) {
  const Shape &a = g[node.inputs[0]].shape, &y = g[node.outputs[0]].shape;
  const bool is_constant = g[node.inputs[1]].category == Category::Weight;
  const std::size_t rank = a.size();
  const std::int64_t rows = a[rank - (product.trans_a ? 1 : 2)], inner = a[rank - (product.trans_a ? 2 : 1)];
  cost::Layer layer{.name = node.name,
                    .operator_type = node.inputs.size() > 2 || product.trans_b ? "Gemm" : "MatMul",
                    .dimensions = {{"C", inner}, {"D", rows}, {"K", y.back()}}};
  std::vector<work::Axis> batch;
  const std::array<std::string, 2> names{"B", "H"};
  for (std::size_t i = 0; i + 2 < rank && i < 2; ++i) {
    std::int64_t extent = a[i];
    if (i == 1)
      for (std::size_t k = 2; k + 2 < rank; ++k) extent *= a[k];
    batch.push_back({.extent = extent, .terms = {{layer.dimensions.size(), 1}}});
    layer.dimensions.push_back({names[i], extent});
  }
  const auto axes = [&](bool has_batch, std::size_t first, std::size_t second) {
    std::vector<work::Axis> out = has_batch ? batch : std::vector<work::Axis>{};
    for (const std::size_t d : {first, second}) out.push_back({.extent = layer.dimensions[d].size, .terms = {{d, 1}}});
    return out;
  };
  using hardware::Slot;
  layer.operands = {
      {.name = "O", .slot = Slot::Output, .bits = 8, .partial_bits = 16, .axes = axes(true, 1, 2)},
      {.name = "I", .slot = Slot::Input, .bits = 8, .partial_bits = 8, .axes = axes(true, 1, 0)},
      {.name = "W", .slot = Slot::Weight, .bits = 8, .partial_bits = 8, .axes = axes(!is_constant, 0, 2)}};
  return layer;
}

}  // namespace

FileFinder::FileFinder(std::vector<std::string> folders) {
  std::error_code error;
  for (const std::string& folder : folders) {
    std::vector<std::string> found;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
    for (; !error && at != end && found.size() < kMostFiles; at.increment(error)) {
      if (at.depth() >= kMostDepth) at.disable_recursion_pending();
      if (at->is_regular_file(error)) found.push_back(at->path().generic_string());
    }
    std::sort(found.begin(), found.end());
    files_.insert(files_.end(), found.begin(), found.end());
  }
}

std::vector<std::string> FileFinder::find(const std::string& name) const {
  std::vector<std::string> out;
  if (name.empty()) return out;
  const std::string last = "/" + name.substr(name.find_last_of('/') + 1);
  for (const std::string& end : {"/" + name, last})
    for (const std::string& file : files_)
      if (file.ends_with(end) && std::find(out.begin(), out.end(), file) == out.end()) out.push_back(file);
  return out;
}

void run_networks(const Value& root, Accelerators& accelerators, const FileFinder& files, ValidationSuite& suite) {
  for (const std::string_view key : {"measured", "expectations"})
    if (const std::optional<Value> entries = root.find(key); entries && entries->is_sequence())
      for (std::size_t i = 0; i < entries->size(); ++i)
        if ((*entries)[i].is_map()) run_network((*entries)[i], accelerators, files, suite);
}

std::vector<cost::Layer> zigzag_layers(const Graph& graph) {
  std::vector<cost::Layer> layers;
  for (const Node& node : graph.nodes) {
    if (const Conv* conv = std::get_if<Conv>(&node.op);
        conv && conv->kind == ConvKind::Forward && graph[node.outputs[0]].shape.size() == 4)
      layers.push_back(conv_layer(graph, node, *conv));
    if (const MatMul* product = std::get_if<MatMul>(&node.op); product && graph[node.inputs[0]].shape.size() >= 2)
      layers.push_back(product_layer(graph, node, *product));
  }
  return layers;
}

}  // namespace monet
