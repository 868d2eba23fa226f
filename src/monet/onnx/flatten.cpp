#include "monet/onnx/flatten.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "monet/onnx/wire.h"

namespace monet {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;  // a few nested functions can multiply without end
constexpr std::size_t kDeepestFunction = 50;

std::unordered_set<std::string> defined_in(const pb::GraphProto& graph) {
  std::unordered_set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  return names;
}

template <class Graph, class Visit>
void for_each_subgraph(Graph& node, const Visit& visit) {
  for (int a = 0; a < node.attribute_size(); ++a) {
    if constexpr (std::is_const_v<Graph>) {
      const pb::AttributeProto& attribute = node.attribute(a);
      if (attribute.has_g()) visit(attribute.g());
      for (const auto& graph : attribute.graphs()) visit(graph);
    } else {
      pb::AttributeProto& attribute = *node.mutable_attribute(a);
      if (attribute.has_g()) visit(*attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) visit(graph);
    }
  }
}

void rename_captures(pb::GraphProto& graph, const Renaming& names) {
  Renaming outside = names;
  for (const std::string& local : defined_in(graph)) outside.erase(local);
  if (outside.empty()) return;
  for (auto& node : *graph.mutable_node()) rename(node, outside);
  for (auto& output : *graph.mutable_output())
    if (const auto it = outside.find(output.name()); it != outside.end()) output.set_name(it->second);
}

// Default values of a function's attributes (field 11) are newer than the protobuf classes at hand, which only carry
// them along.
std::vector<pb::AttributeProto> attribute_defaults(const pb::FunctionProto& function) {
  std::vector<pb::AttributeProto> out;
  const std::string bytes = function.SerializeAsString();
  std::size_t position = 0;
  WireFault fault;
  while (const auto field = next_wire_field(bytes, position, fault)) {
    pb::AttributeProto attribute;
    if (field->number == 11 && attribute.ParseFromString(std::string(field->content))) out.push_back(attribute);
  }
  return out;
}

using AttributeTable = std::unordered_map<std::string, const pb::AttributeProto*>;

// Attributes that refer to one of the call's take its value; without one they are left out, so defaults apply.
void resolve_references(pb::NodeProto& node, const AttributeTable& given) {
  auto& list = *node.mutable_attribute();
  for (int a = 0; a < list.size();) {
    pb::AttributeProto& attribute = list[a];
    if (attribute.ref_attr_name().empty()) {
      if (attribute.has_g())
        for (auto& inner : *attribute.mutable_g()->mutable_node()) resolve_references(inner, given);
      ++a;
      continue;
    }
    const auto it = given.find(attribute.ref_attr_name());
    if (it == given.end()) {
      list.DeleteSubrange(a, 1);
      continue;
    }
    const std::string own_name = attribute.name();
    attribute = *it->second;
    attribute.set_name(own_name);
    ++a;
  }
}

std::string place_of(const pb::NodeProto& node, std::size_t index) {
  const std::string name = node.name().empty() ? "" : fmt::format(" '{}'", node.name());
  return fmt::format("node {}{} ({})", index, name, type_of(node));
}

class Flattener {
 public:
  Flattener(const pb::ModelProto& model, Findings& findings) : findings_(findings) {
    for (const auto& function : model.functions()) {
      const std::string key = (function.domain() == "ai.onnx" ? "" : function.domain()) + ":" + function.name();
      if (!functions_.emplace(key, &function).second)
        findings_.error("", fmt::format("function '{}' is defined twice", key));
    }
    if (functions_.empty()) return;
    const auto take = [&](const std::string& name) { taken_.insert(name); };
    for (const auto& input : model.graph().input()) take(input.name());
    for (const auto& tensor : model.graph().initializer()) take(tensor.name());
    for (const auto& node : model.graph().node()) std::for_each(node.output().begin(), node.output().end(), take);
  }

  void add(const pb::NodeProto& node, const std::string& where, const std::string& name, std::int64_t opset) {
    const auto it = functions_.find(domain_of(node) + ":" + node.op_type());
    if (it == functions_.end()) {
      flat.nodes.push_back(FlatNode{&node, where, name, opset});
      return;
    }
    const std::string& key = it->first;
    if (stack_.empty() && size_of(key, 0) > kMostNodes - std::min(kMostNodes, flat.nodes.size())) {
      findings_.error(where, fmt::format("inlining its functions gives more than {} nodes", kMostNodes));
      return;
    }
    if (std::find(stack_.begin(), stack_.end(), key) != stack_.end()) {
      findings_.error(where,
                      fmt::format("functions call each other in a circle: {} -> {}", fmt::join(stack_, " -> "), key));
      return;
    }
    if (stack_.size() >= kDeepestFunction) {
      findings_.error(where, fmt::format("functions are nested more than {} deep", kDeepestFunction));
      return;
    }
    stack_.push_back(key);
    expand(node, *it->second, where, name, opset);
    stack_.pop_back();
  }

  FlatModel flat;

 private:
  // Nodes a function stands for when everything in it is inlined, counted without doing so; circles count nothing.
  std::size_t size_of(const std::string& key, std::size_t depth) {
    const auto function = functions_.find(key);
    if (function == functions_.end() || depth > kDeepestFunction) return 1;
    const auto [it, fresh] = sizes_.emplace(key, 0);
    if (!fresh) return it->second;
    std::size_t total = 0;
    for (const auto& node : function->second->node())
      total = std::min(kMostNodes + 1, total + size_of(domain_of(node) + ":" + node.op_type(), depth + 1));
    return sizes_[key] = total;
  }

  void expand(const pb::NodeProto& call, const pb::FunctionProto& function, const std::string& where,
              const std::string& name, std::int64_t opset) {
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
      findings_.error(
          where, fmt::format("the function takes {} inputs and {} outputs, the call has {} and {}",
                             function.input_size(), function.output_size(), call.input_size(), call.output_size()));
      return;
    }
    Renaming names;
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < call.output_size(); ++i)
      if (!call.output(i).empty()) names[function.output(i)] = call.output(i);
    for (const auto& node : function.node())
      for (const std::string& output : node.output())
        if (!output.empty() && !names.count(output)) names[output] = unique(name + "/" + output);
    const std::vector<pb::AttributeProto> defaults = attribute_defaults(function);
    AttributeTable given;
    for (const auto& attribute : defaults) given[attribute.name()] = &attribute;
    for (const auto& attribute : call.attribute()) given[attribute.name()] = &attribute;
    for (const auto& import : function.opset_import())
      if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
    for (int i = 0; i < function.node_size(); ++i) {
      const pb::NodeProto& node = function.node(i);
      pb::NodeProto& copy = flat.inlined.emplace_back(node);
      resolve_references(copy, given);
      rename(copy, names);
      // A call's notes hold for all it stands for.
      if (copy.doc_string().empty()) copy.set_doc_string(call.doc_string());
      const std::string own = node.name().empty() ? fmt::format("{}_{}", node.op_type(), i) : node.name();
      add(copy, fmt::format("{}, in the function: {}", where, place_of(node, static_cast<std::size_t>(i))),
          name + "/" + own, opset);
    }
    // An output the body only passes on.
    for (int i = 0; i < call.output_size(); ++i) pass_through(call, function, i, where, name, opset);
  }

  void pass_through(const pb::NodeProto& call, const pb::FunctionProto& function, int output, const std::string& where,
                    const std::string& name, std::int64_t opset) {
    const std::string& inner = function.output(output);
    const auto formal = std::find(function.input().begin(), function.input().end(), inner);
    if (call.output(output).empty() || formal == function.input().end()) return;
    const auto index = static_cast<int>(formal - function.input().begin());
    pb::NodeProto& identity = flat.inlined.emplace_back();
    identity.set_op_type("Identity");
    identity.add_input(index < call.input_size() ? call.input(index) : "");
    identity.add_output(call.output(output));
    flat.nodes.push_back(FlatNode{&identity, where, name + "/" + inner, opset});
  }

  std::string unique(const std::string& name) {
    std::string candidate = name;
    for (int i = 2; !taken_.insert(candidate).second; ++i) candidate = fmt::format("{}.{}", name, i);
    return candidate;
  }

  Findings& findings_;
  std::unordered_map<std::string, const pb::FunctionProto*> functions_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::size_t> sizes_;
  std::vector<std::string> stack_;
};

}  // namespace

std::string domain_of(const pb::NodeProto& node) { return node.domain() == "ai.onnx" ? "" : node.domain(); }

std::string type_of(const pb::NodeProto& node) {
  const std::string domain = domain_of(node);
  return domain.empty() ? node.op_type() : domain + ":" + node.op_type();
}

std::int64_t default_opset(const pb::ModelProto& model, Findings& findings) {
  constexpr std::int64_t kOldest = 7, kNewest = 25, kProvenFrom = 11, kProvenTo = 21;
  std::int64_t version = 0;
  for (const auto& import : model.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") version = std::max(version, import.version());
  const std::string hint = fmt::format("opsets {} to {} are read; onnx.version_converter changes it", kOldest, kNewest);
  if (version == 0) {
    findings.error("opset_import", "unknown opset: the model does not say which version it is written in", hint);
  } else if (version < kOldest || version > kNewest) {
    findings.error("opset_import", fmt::format("unknown opset {}", version), hint);
    return 0;
  } else if (version < kProvenFrom || version > kProvenTo) {
    findings.warn("opset_import",
                  fmt::format("opset {} is read, but only {} to {} are well tried", version, kProvenFrom, kProvenTo));
  }
  return version;
}

namespace {

FlatModel flatten_nodes(const pb::ModelProto& model, const pb::GraphProto& graph, const std::string& where,
                        const std::string& prefix, std::int64_t opset, Findings& findings) {
  Flattener flattener(model, findings);
  for (int i = 0; i < graph.node_size(); ++i) {
    const pb::NodeProto& node = graph.node(i);
    const std::string name = node.name().empty() ? fmt::format("{}_{}", node.op_type(), i) : node.name();
    flattener.add(node, where + place_of(node, static_cast<std::size_t>(i)), prefix + name, opset);
  }
  return std::move(flattener.flat);
}

}  // namespace

FlatModel flatten(const pb::ModelProto& model, std::int64_t opset, Findings& findings) {
  return flatten_nodes(model, model.graph(), "", "", opset, findings);
}

FlatModel flatten_branch(const pb::ModelProto& model, const pb::GraphProto& branch, const std::string& where,
                         const std::string& name, std::int64_t opset, Findings& findings) {
  return flatten_nodes(model, branch, where + ", in the branch: ", name + "/", opset, findings);
}

void rename(pb::NodeProto& node, const Renaming& names) {
  const auto apply = [&](std::string& name) {
    if (const auto it = names.find(name); it != names.end()) name = it->second;
  };
  for (std::string& input : *node.mutable_input()) apply(input);
  for (std::string& output : *node.mutable_output()) apply(output);
  for_each_subgraph(node, [&](pb::GraphProto& graph) { rename_captures(graph, names); });
}

void collect_captures(const pb::NodeProto& node, std::vector<std::string>& captures) {
  for_each_subgraph(node, [&](const pb::GraphProto& graph) {
    const std::unordered_set<std::string> local = defined_in(graph);
    std::vector<std::string> read;
    for (const auto& inner : graph.node()) {
      read.insert(read.end(), inner.input().begin(), inner.input().end());
      collect_captures(inner, read);
    }
    for (const auto& output : graph.output()) read.push_back(output.name());
    for (const std::string& name : read)
      if (!name.empty() && !local.count(name)) captures.push_back(name);
  });
}

}  // namespace monet
