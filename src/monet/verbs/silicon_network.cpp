#include "monet/verbs/silicon_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>

#include "monet/base/config_section.h"
#include "monet/graph/builder.h"
#include "monet/graph/cut.h"
#include "monet/verbs/silicon_chip.h"

namespace monet {
namespace {

using config::Dialect;
using config::Findings;
using config::Section;
using config::Value;

constexpr config::IntegerRange kLoopSizes{.least = 1, .most = std::int64_t{1} << 30};

// One axis of an image: o outputs of a window of f, s apart, d between its elements.
struct AxisOfImage {
  std::int64_t outputs = 1, window = 1, stride = 1, dilation = 1, before = 0, after = 0;
  std::int64_t inputs() const { return (outputs - 1) * stride + (window - 1) * dilation + 1 - before - after; }
};

std::optional<Element> element_of_bits(std::int64_t bits) {
  switch (bits) {
    case 4: return Element::I4;
    case 8: return Element::I8;
    case 16: return Element::I16;
    case 32: return Element::I32;
    default: return std::nullopt;
  }
}

template <class Window>
Window windowed(Window op, const AxisOfImage& y, const AxisOfImage& x) {
  if constexpr (std::is_same_v<Window, Pool>) op.kernel = {y.window, x.window};
  op.strides = {y.stride, x.stride};
  op.dilations = {y.dilation, x.dilation};
  op.pads_begin = {y.before, x.before};
  op.pads_end = {y.after, x.after};
  return op;
}

class NetworkReader {
 public:
  explicit NetworkReader(Findings& findings) : builder_("measured"), findings_(findings) {}

  SiliconNetwork read(const Value& workload) {
    for (std::size_t i = 0; workload.is_map() && i < workload.size(); ++i)
      if (!findings_.failed()) read_layer(std::string(workload.key(i).text()), workload[i]);
    if (out_.layers.empty() && !findings_.failed()) findings_.error(workload, "the workload has no layers");
    if (findings_.failed()) return {};
    const Uses u = uses(builder_.graph());
    for (std::size_t t = 0; t < u.producer.size(); ++t)
      if (u.producer[t] != kNoNode && u.consumers[t].empty())
        builder_.graph().outputs.push_back(TensorId{static_cast<std::uint32_t>(t)});
    out_.graph = std::move(builder_).finish();
    return std::move(out_);
  }

 private:
  std::int64_t loop(const Value& sizes, const char* name) {
    const auto value = sizes.is_map() ? sizes.find(name) : std::nullopt;
    return value ? config::read_integer(*value, name, kLoopSizes, Dialect::PyYaml, findings_).value_or(1) : 1;
  }

  // "ix=2*ox+1*fx": a layer without such a line for an axis has neither window nor padding there.
  AxisOfImage axis_of(Section& s, const Value& sizes, char letter) {
    const std::string upper(1, static_cast<char>(letter - 'a' + 'A'));
    AxisOfImage axis{.outputs = loop(sizes, ("O" + upper).c_str())};
    static const std::regex kRelation(R"(\s*i([xy])\s*=\s*(\d{1,6})\s*\*\s*o[xy]\s*\+\s*(\d{1,6})\s*\*\s*f[xy]\s*)");
    for (const Value& item : s.list("dimension_relations")) {
      std::smatch found;
      const std::string text(item.is_scalar() ? item.text() : "");
      if (text.size() > 100 || !std::regex_match(text, found, kRelation)) {
        findings_.error(item, fmt::format("'{}' is no relation of an axis", text.substr(0, 40)), "ix=1*ox+1*fx");
        continue;
      }
      if (found[1].str()[0] != letter) continue;
      axis.window = loop(sizes, ("F" + upper).c_str());
      axis.stride = std::max<std::int64_t>(1, std::stoll(found[2].str()));
      axis.dilation = std::max<std::int64_t>(1, std::stoll(found[3].str()));
      const auto padding = s.find("padding");
      const auto pads = padding && padding->is_map() ? padding->find("I" + upper) : std::nullopt;
      if (pads && pads->is_sequence() && pads->size() == 2) {
        const config::IntegerRange range{.least = 0, .most = axis.window * axis.dilation};
        axis.before = config::read_integer((*pads)[0], "padding", range, Dialect::PyYaml, findings_).value_or(0);
        axis.after = config::read_integer((*pads)[1], "padding", range, Dialect::PyYaml, findings_).value_or(0);
      }
    }
    if (axis.inputs() < 1) findings_.error(s.value(), "more padding than input");
    return axis;
  }

  Format format_of(Section& s, const char* operand) {
    const auto bits = s.find("operand_precision");
    const auto value = bits && bits->is_map() ? bits->find(operand) : std::nullopt;
    const auto read =
        value ? config::read_integer(*value, "a precision", {.least = 0, .most = 64}, Dialect::PyYaml, findings_)
              : std::optional<std::int64_t>(8);
    const auto element = element_of_bits(read.value_or(8));
    if (!element && value) findings_.error(*value, "operands have 4, 8, 16 or 32 bits");
    return {.element = element.value_or(Element::I8)};
  }

  bool has_no_bits(Section& s, const char* operand) {
    const auto bits = s.find("operand_precision");
    const auto value = bits && bits->is_map() ? bits->find(operand) : std::nullopt;
    return value && value->is_scalar() && value->text() == "0";
  }

  // The layer that makes an operand; none: it comes from outside.
  std::optional<TensorId> source_of(Section& s, const std::string& operand) {
    const auto sources = s.find("operand_source");
    const auto list = sources && sources->is_map() ? sources->find(operand) : std::nullopt;
    if (!list || !list->is_sequence() || list->size() == 0) return std::nullopt;
    const auto at = made_.find(std::string((*list)[0].is_scalar() ? (*list)[0].text() : ""));
    if (at == made_.end()) {
      findings_.error((*list)[0], "a layer reads what no layer before it makes");
      return std::nullopt;
    }
    return at->second;
  }

  TensorId input_of(Section& s, const std::string& operand, const std::string& node, Shape shape) {
    if (const auto made = source_of(s, operand)) {
      if (builder_[*made].shape != shape)
        findings_.error(s.value(), fmt::format("{} reads {}, but what it reads is {}", node, to_string(shape),
                                               to_string(builder_[*made].shape)));
      return *made;
    }
    return builder_.source(node + ".input", std::move(shape), format_of(s, operand.c_str()), Category::Input);
  }

  void read_layer(const std::string& id, const Value& value) {
    Section s(value, fmt::format("layer '{}'", id.substr(0, 40)), Dialect::PyYaml, findings_);
    const auto sizes = s.require("loop_dim_size");
    const std::string type = s.require_text("operator_type").value_or("");
    if (!sizes) return;
    const AxisOfImage y = axis_of(s, *sizes, 'y'), x = axis_of(s, *sizes, 'x');
    const std::int64_t batch = loop(*sizes, "B"), groups = loop(*sizes, "G");
    const std::int64_t makes = loop(*sizes, "K"), takes = loop(*sizes, "C");
    if (groups > kLoopSizes.most / std::max(makes, takes)) findings_.error(*sizes, "too many channels");
    const std::string node = "layer_" + id;
    if (findings_.failed()) return;
    try {
      TensorId made = kNoTensor;
      const auto sources = s.find("operand_source");
      const bool is_sum = sources && sources->is_map() && sources->find("X") && sources->find("Y");
      const Shape image{batch, groups * takes, y.inputs(), x.inputs()};
      if (is_sum) {
        const TensorId a = input_of(s, "X", node, image), b = input_of(s, "Y", node, image);
        made = builder_.binary(BinaryKind::Add, a, b, node);
      } else if (has_no_bits(s, "W")) {
        made = builder_.one(windowed(Pool(), y, x), {input_of(s, "I", node, image)}, node);
      } else {
        Conv conv;
        conv.groups = groups;
        const TensorId input = input_of(s, "I", node, image);
        const TensorId weight = builder_.source(node + ".weight", {groups * makes, takes, y.window, x.window},
                                                format_of(s, "W"), Category::Weight);
        made = builder_.one(windowed(conv, y, x), {input, weight}, node);
      }
      made_[id] = made;
      out_.layers.push_back({id, type});
    } catch (const ShapeError& error) {
      findings_.error(value, error.what());
    }
  }

  Builder builder_;
  Findings& findings_;
  SiliconNetwork out_;
  std::map<std::string, TensorId> made_;
};

// What rows and columns are called: loops of convolutions have names, those of other work numbers of axes.
std::string loop_name(const Graph& graph, const Node& node, bool rows) {
  for (const Loop& loop : loops_of(graph, node))
    if (loop.name == (rows ? "OY" : "OX") || loop.name == (rows ? "A2" : "A3")) return loop.name;
  return "";
}

std::int64_t parts_of(const Graph& graph, const Node& node, bool rows, std::int64_t parts) {
  const std::int64_t size = graph[node.outputs[0]].shape[rows ? 2 : 3];
  return parts == 0 ? size : std::min(parts, size);
}

std::optional<std::string> core_of(const SiliconLayer& layer, const Value& mapping,
                                   const std::map<std::int64_t, std::string>& cores, Findings& findings) {
  auto entry = mapping.is_map() ? mapping.find(layer.operator_type) : std::nullopt;
  if (!entry && mapping.is_map()) entry = mapping.find("default");
  const auto list = entry && entry->is_map() ? entry->find("core_allocation") : std::nullopt;
  if (!list || !list->is_sequence() || list->size() == 0) {
    findings.error(mapping, fmt::format("layer '{}' ({}) has no core", layer.id, layer.operator_type));
    return std::nullopt;
  }
  const auto id = config::read_integer((*list)[0], "core_allocation", kSiliconIds, Dialect::PyYaml, findings);
  const auto at = cores.find(id.value_or(-1));
  if (at == cores.end()) {
    findings.error((*list)[0], "there is no such core");
    return std::nullopt;
  }
  return at->second;
}

}  // namespace

SiliconNetwork read_silicon_network(const Value& workload, Findings& findings) {
  return NetworkReader(findings).read(workload);
}

SiliconCuts read_silicon_cuts(const Value& scheduling, Findings& findings) {
  SiliconCuts cuts;
  const auto hint = scheduling.is_map() ? scheduling.find("hint_loops") : std::nullopt;
  if (!hint || !hint->is_scalar()) return cuts;
  const std::string text(hint->text().substr(0, 1000));
  static const std::regex kPair(R"re(\(\s*["'](\w{1,8})["']\s*,\s*(["']all["']|\d{1,9})\s*\))re");
  for (std::sregex_iterator at(text.begin(), text.end(), kPair), end; at != end; ++at) {
    const std::string loop = (*at)[1].str(), parts = (*at)[2].str();
    const std::int64_t count = parts.find("all") != std::string::npos ? 0 : std::stoll(parts);
    if (loop == "OY")
      cuts.rows = count;
    else if (loop == "OX")
      cuts.columns = count;
    else
      findings.error(*hint, fmt::format("tiles are cut along OY and OX here, not along '{}'", loop));
    cuts.is_stated = true;
  }
  if (cuts.is_stated && text.find("OY") == std::string::npos) cuts.rows = 1;
  return cuts;
}

plan::Plan silicon_plan(const SiliconNetwork& network, const Value& mapping,
                        const std::map<std::int64_t, std::string>& cores, const SiliconCuts& cuts, Findings& findings) {
  plan::Plan out{.prefetch = 1};  // rule 6 of docs/validation.md
  plan::Group group;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Node& node = network.graph.nodes[i];
    group.nodes.push_back(node.name);
    plan::NodePlan choice{.node = node.name};
    if (const auto core = core_of(network.layers[i], mapping, cores, findings)) choice.cores = {*core};
    for (const bool rows : {true, false})
      choice.tiles.push_back(
          {loop_name(network.graph, node, rows), parts_of(network.graph, node, rows, rows ? cuts.rows : cuts.columns)});
    out.nodes.push_back(std::move(choice));
  }
  out.groups.push_back(std::move(group));
  return out;
}

plan::Plan with_tile_height(plan::Plan plan, const Graph& graph, std::int64_t height) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const std::int64_t rows = graph[graph.nodes[i].outputs[0]].shape[2];
    plan.nodes[i].tiles[0].parts = (rows + height - 1) / height;
  }
  return plan;
}

}  // namespace monet
