#include "monet/verbs/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/base/sha256.h"
#include "monet/cost/fit.h"
#include "monet/cost/zigzag_files.h"
#include "monet/graph/builder.h"
#include "monet/graph/lower.h"
#include "monet/rewrite/decompose.h"
#include "monet/verbs/refuse.h"

namespace monet {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// ---- conv: and gemm: ----

struct Size {
  std::string key{};
  std::int64_t value = 1;  // unless it is given
  std::int64_t least = 1, most = 1 << 30;
};

// "conv:k=64,c=64" with everything else as in `sizes`.
std::map<std::string, std::int64_t> read_sizes(const std::string& spec, std::vector<Size> sizes) {
  const std::size_t colon = spec.find(':');
  std::vector<std::string> keys;
  std::map<std::string, std::int64_t> values;
  for (const Size& size : sizes) {
    keys.push_back(size.key);
    values[size.key] = size.value;
  }
  std::vector<Diagnostic> found;
  const auto fault = [&](std::string message, std::string hint) {
    found.push_back({.where = spec.substr(0, 80), .message = std::move(message), .hint = std::move(hint)});
  };
  std::string_view rest = std::string_view(spec).substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::string key(item.substr(0, item.find('=')));
    const auto size = std::find_if(sizes.begin(), sizes.end(), [&](const Size& s) { return s.key == key; });
    if (size == sizes.end()) {
      fault(fmt::format("unknown size '{}'", key.substr(0, 40)),
            did_you_mean(key, keys, fmt::format("known: {}", fmt::join(keys, ", "))));
      continue;
    }
    const std::size_t equals = item.find('=');
    const std::optional<std::int64_t> value =
        equals == std::string_view::npos ? std::nullopt : whole(item.substr(equals + 1));
    if (!value || *value < size->least || *value > size->most)
      fault(fmt::format("'{}' is not {}={}…{}", item.substr(0, 40), key, size->least, size->most), "");
    else
      values[key] = *value;
  }
  if (!found.empty()) throw InputError(std::move(found));
  return values;
}

work::LoopNest lower_last(const Graph& graph, const std::string& name) {
  const work::Work work = lower(graph, graph.nodes.back());
  work::LoopNest nest = std::get<work::LoopNest>(work);
  double iterations = 1;
  for (const work::Dimension& d : nest.dimensions) iterations *= static_cast<double>(d.size);
  if (iterations > 0x1p60) refuse(name, fmt::format("{:g} iterations are more than are modelled", iterations));
  return nest;
}

constexpr Format kStored{Element::F16};

work::LoopNest conv_of(const std::string& spec, const std::string& phase) {
  constexpr std::int64_t kMostOut = 1 << 16, kMostKernel = 1 << 10;
  auto s = read_sizes(spec, {{.key = "b"},
                             {.key = "g"},
                             {.key = "k"},
                             {.key = "c"},
                             {.key = "oy", .most = kMostOut},
                             {.key = "ox", .most = kMostOut},
                             {.key = "fy", .most = kMostKernel},
                             {.key = "fx", .most = kMostKernel},
                             {.key = "stride", .most = kMostKernel},
                             {.key = "dilation", .most = kMostKernel},
                             {.key = "pad", .value = 0, .least = 0, .most = kMostKernel}});
  const auto span = [&](const char* out, const char* kernel) {
    return (s[out] - 1) * s["stride"] + (s[kernel] - 1) * s["dilation"] + 1 - 2 * s["pad"];
  };
  const std::int64_t iy = span("oy", "fy"), ix = span("ox", "fx");
  if (iy < 1 || ix < 1) refuse(spec.substr(0, 80), fmt::format("padding of {} leaves nothing of the input", s["pad"]));
  Conv conv{.strides = {s["stride"], s["stride"]},
            .dilations = {s["dilation"], s["dilation"]},
            .pads_begin = {s["pad"], s["pad"]},
            .pads_end = {s["pad"], s["pad"]},
            .groups = s["g"],
            .extent = {}};
  const Shape x{s["b"], s["c"] * s["g"], iy, ix}, w{s["k"] * s["g"], s["c"], s["fy"], s["fx"]},
      y{s["b"], s["k"] * s["g"], s["oy"], s["ox"]};
  Builder builder("conv");
  const auto source = [&](const char* name, const Shape& shape) {
    return builder.source(name, shape, kStored, Category::Activation);
  };
  std::vector<TensorId> inputs;
  if (phase == "forward") {
    inputs = {source("x", x), source("w", w)};
  } else if (phase == "dgrad") {
    conv.kind = ConvKind::DataGradient;
    conv.extent = {iy, ix};
    inputs = {source("y", y), source("w", w)};
  } else {
    conv.kind = ConvKind::WeightGradient;
    conv.extent = {s["fy"], s["fx"]};
    inputs = {source("x", x), source("y", y)};
  }
  builder.one(conv, inputs, "conv");
  return lower_last(builder.graph(), spec);
}

work::LoopNest gemm_of(const std::string& spec, const std::string& phase) {
  auto s = read_sizes(spec, {{.key = "b"}, {.key = "d"}, {.key = "k"}, {.key = "c"}});
  Builder builder("gemm");
  const auto source = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    const Shape shape = s["b"] == 1 ? Shape{rows, columns} : Shape{s["b"], rows, columns};
    return builder.source(name, shape, kStored, Category::Activation);
  };
  const std::int64_t d = s["d"], k = s["k"], c = s["c"];
  if (phase == "forward")
    builder.one(MatMul{}, {source("x", d, c), source("w", c, k)}, "gemm");
  else if (phase == "dgrad")
    builder.one(MatMul{.trans_b = true}, {source("y", d, k), source("w", c, k)}, "gemm");
  else
    builder.one(MatMul{.trans_a = true}, {source("x", d, c), source("y", d, k)}, "gemm");
  return lower_last(builder.graph(), spec);
}

// ---- Files and models ----

bool is_configuration(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json");
}

// Where a path ends and a name begins, by the end of the file's name: {"net.onnx", "conv1"}.
std::optional<std::pair<std::string, std::string>> split_path(const std::string& text) {
  for (const std::string_view end : {".onnx", ".monet", ".yaml", ".yml", ".json"})
    for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end, at + 1)) {
      const std::size_t after = at + end.size();
      if (after == text.size()) return {{text, ""}};
      if (text[after] == '/') return {{text.substr(0, after), text.substr(after + 1)}};
    }
  return std::nullopt;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 6;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
  return fmt::format("{}{}", fmt::join(first, ", "), names.size() > kShown ? ", …" : "");
}

// The id that a layer without name is called by.
bool is_called(const cost::Layer& layer, const std::string& name) {
  return layer.name == name || layer.name == "layer_" + name;
}

void find_in_workload(const std::string& path, const std::string& name, FoundLayers& found) {
  const std::string bytes = read_file(path);
  cost::WorkloadFile file = cost::parse_workload(bytes, path);
  found.inputs.push_back({"workload", path, sha256_hex(bytes)});
  found.warnings = std::move(file.warnings);
  found.bits_are_given = true;
  std::vector<std::string> names;
  for (cost::Layer& layer : file.layers) {
    names.push_back(layer.name);
    if (name.empty() || is_called(layer, name)) found.layers.push_back(std::move(layer));
  }
  if (found.layers.empty())
    throw InputError(Diagnostic{.file = path,
                                .message = fmt::format("no layer '{}'", name.substr(0, 60)),
                                .hint = did_you_mean(name, names, fmt::format("it has {}", first_names(names)))});
}

// The nodes called so; without one, all whose names begin so.
std::vector<const Node*> nodes_named(const Graph& graph, const std::string& name) {
  std::vector<const Node*> chosen;
  for (const Node& node : graph.nodes)
    if (node.name == name || node.name == "/" + name) chosen.push_back(&node);
  if (!chosen.empty()) return chosen;
  for (const Node& node : graph.nodes)
    if (node.name.starts_with(name) || node.name.starts_with("/" + name)) chosen.push_back(&node);
  return chosen;
}

void find_in_model(const LayerRequest& request, const std::string& model, const std::string& name, FoundLayers& found) {
  ModelRequest asked = request.model;
  asked.model = model;
  Prepared prepared = prepare(asked);
  found.inputs = std::move(prepared.inputs);
  found.warnings = std::move(prepared.warnings);
  const Graph graph = decompose(std::move(prepared.graph));
  std::vector<std::string> names;
  for (const Node& node : graph.nodes)
    if (is_single_work(node.op)) names.push_back(node.name);
  for (const Node* node : nodes_named(graph, name)) {
    if (!is_single_work(node->op)) continue;
    const work::Work work = lower(graph, *node);
    const work::LoopNest* nest = std::get_if<work::LoopNest>(&work);
    if (nest == nullptr) {
      found.vectors.push_back({node->name, std::get<work::VectorWork>(work)});
      continue;
    }
    found.nests.push_back(*nest);
    found.layers.push_back(cost::layer_of(*nest, node->name));
    found.layers.back().operator_type = std::holds_alternative<Conv>(node->op) ? "Conv" : "Gemm";
  }
  if (!found.layers.empty() || !found.vectors.empty()) return;
  refuse(request.layer, fmt::format("no node '{}' in {}", name.substr(0, 60), model),
         did_you_mean(name, names, fmt::format("it has {}", first_names(names))));
}

// ---- Number formats ----

void read_bits(const LayerRequest& request, FoundLayers& found) {
  if (request.bits.empty()) return;
  const std::size_t slash = request.bits.find('/');
  const std::optional<std::int64_t> stored = whole(request.bits.substr(0, slash)),
                                    sums = slash == std::string::npos ? stored : whole(request.bits.substr(slash + 1));
  if (!stored || !sums || *stored < 1 || *sums < 1 || *stored > 1024 || *sums > 1024)
    refuse("--bits", fmt::format("'{}' is not STORED/SUMS", request.bits.substr(0, 40)), "such as 8/16 or 16/32");
  for (cost::Layer& layer : found.layers)
    cost::set_bits(layer, static_cast<double>(*stored), static_cast<double>(*sums));
  found.bits_are_given = true;
}

// Layers of their own have their own sizes and formats.
void refuse_model_flags(const ModelRequest& m) {
  const auto check = [](bool is_given, const char* flag) {
    if (is_given)
      refuse(flag, "is for MODEL/node", "conv:, gemm: and the layers of a file have their sizes; --bits says formats");
  };
  check(m.batch.has_value(), "--batch");
  check(!m.dims.empty(), "--dim");
  check(m.train != "all", "--train");
  check(!m.precision.empty(), "--precision");
  check(m.attention != "written", "--attention");
}

}  // namespace

FoundLayers find_layers(const LayerRequest& request) {
  const std::vector<std::string> phases{"forward", "dgrad", "wgrad"};
  if (std::find(phases.begin(), phases.end(), request.phase) == phases.end())
    refuse("--phase", fmt::format("unknown value '{}'", request.phase),
           did_you_mean(request.phase, phases, "known: forward, dgrad, wgrad"));
  FoundLayers found;
  const bool is_conv = request.layer.starts_with("conv:"), is_gemm = request.layer.starts_with("gemm:");
  if (!is_conv && !is_gemm && request.phase != "forward")
    refuse("--phase", "is for conv: and gemm: layers", "the nodes of a model and the layers of a file have their own");
  found.is_bare = is_conv || is_gemm;
  if (found.is_bare) {
    refuse_model_flags(request.model);
    try {
      found.nests = {is_conv ? conv_of(request.layer, request.phase) : gemm_of(request.layer, request.phase)};
      found.layers = {cost::layer_of(found.nests[0], request.layer)};
      found.layers[0].operator_type = is_conv ? "Conv" : "Gemm";
    } catch (const ShapeError& error) {
      refuse(request.layer.substr(0, 80), error.what());
    }
  } else if (const auto path = split_path(request.layer); path && (is_configuration(path->first))) {
    refuse_model_flags(request.model);
    find_in_workload(path->first, path->second, found);
  } else {
    const std::size_t slash = request.layer.find('/');
    if (!path && slash == std::string::npos)
      refuse("LAYER", fmt::format("'{}' is no layer", request.layer.substr(0, 60)),
             "conv:k=64,c=64,…, gemm:d=64,k=64,c=64, MODEL/node, or a ZigZag workload file");
    if (path)
      find_in_model(request, path->first, path->second, found);
    else
      find_in_model(request, request.layer.substr(0, slash), request.layer.substr(slash + 1), found);
  }
  read_bits(request, found);
  return found;
}

std::string equation(const cost::Layer& layer) {
  const auto indices = [&](const cost::Operand& operand) {
    std::vector<std::string> axes;
    for (const work::Axis& axis : operand.axes) {
      std::string sum;
      for (const work::Term& term : axis.terms) {
        const work::Dimension& d = layer.dimensions[term.dimension];
        if (d.size == 1) continue;
        if (term.coefficient < 0)
          sum += "-";
        else if (!sum.empty())
          sum += "+";
        const std::int64_t times = std::abs(term.coefficient);
        sum += times == 1 ? d.name : fmt::format("{}·{}", times, d.name);
      }
      if (!sum.empty()) axes.push_back(std::move(sum));
    }
    return fmt::format("{}[{}]", operand.name, fmt::join(axes, ", "));
  };
  std::string out = indices(layer.operands[0]) + " += ";
  for (std::size_t i = 1; i < layer.operands.size(); ++i) out += (i > 1 ? " · " : "") + indices(layer.operands[i]);
  return out;
}

}  // namespace monet
