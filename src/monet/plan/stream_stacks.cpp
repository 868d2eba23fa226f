// Layer stacks: which layers are fused.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "monet/base/nearest.h"
#include "monet/plan/stream_plan.h"

namespace monet::plan {
namespace {

using config::Findings;
using config::Value;

// Tuples as lists, character by character, so that places stay what they are. A parenthesis inside a name is one.
std::string without_tuples(std::string_view text) {
  std::string out(text);
  char quote = 0, sign = '[', last = '\n';  // sign: the last character that is no blank
  std::size_t depth = 0;
  for (std::size_t i = 0; i < out.size(); last = out[i], ++i) {
    char& c = out[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    const bool begins = sign == '[' || sign == ',' || sign == '-';
    if (c == '#' && (last == ' ' || last == '\n')) {
      while (i + 1 < out.size() && out[i + 1] != '\n') ++i;
      continue;
    }
    if ((c == '"' || c == '\'') && begins) quote = c;
    if (c == '(' && begins) {
      c = '[';
      ++depth;
    } else if (c == ')' && depth > 0) {
      c = ']';
      --depth;
    }
    if (c != ' ' && c != '\n') sign = c;
  }
  return out;
}

class StackReader {
 public:
  StackReader(std::span<const std::string> layers, Findings& findings) : layers_(layers), findings_(findings) {
    for (std::size_t i = 0; i < layers.size(); ++i) ids_.emplace(layers[i], i);
    taken_.resize(layers.size());
  }

  std::vector<Group> run(const Value& root) {
    std::vector<Group> groups;
    if (!root.is_sequence()) {
      findings_.error(root, fmt::format("stacks must be a list of lists of layers, not {}", describe(root.kind())),
                      "as in '[(0, 1, 2), (3, 4)]'");
      return groups;
    }
    for (std::size_t i = 0; i < root.size(); ++i) {
      Group group;
      const Value stack = root[i];
      if (stack.is_sequence())
        for (std::size_t k = 0; k < stack.size(); ++k) add(stack[k], group);
      else
        add(stack, group);
      if (stack.is_sequence() && stack.size() == 0) findings_.error(stack, "a stack has no layers", "leave it out");
      groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  std::optional<std::size_t> id_of(std::string_view text) const {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos || text.size() > 9)
      return std::nullopt;
    return static_cast<std::size_t>(std::stoul(std::string(text)));
  }

  void add(const Value& value, Group& group) {
    if (!value.is_scalar()) {
      findings_.error(value, fmt::format("a layer must be a name or a number, not {}", describe(value.kind())));
      return;
    }
    const std::string_view text = value.text();
    if (const auto named = ids_.find(text); named != ids_.end()) return take(value, named->second, group);
    const std::size_t dash = text.find('-');
    const std::optional<std::size_t> first = id_of(text.substr(0, dash)),
                                     last = dash == std::string_view::npos ? first : id_of(text.substr(dash + 1));
    if (!first || !last) {
      findings_.error(value, fmt::format("there is no layer '{}'", text.substr(0, kNameShown)),
                      did_you_mean(text, layers_, "layers are names, or numbers from 0"));
    } else if (*last >= layers_.size()) {
      findings_.error(value, fmt::format("there is no layer {}", *last),
                      layers_.empty() ? "the model has none" : fmt::format("they are 0 to {}", layers_.size() - 1));
    } else if (*first > *last) {
      findings_.error(value, fmt::format("layers {} to {} are none", *first, *last));
    } else {
      for (std::size_t id = *first; id <= *last; ++id) take(value, id, group);
    }
  }

  void take(const Value& value, std::size_t id, Group& group) {
    if (taken_[id])
      findings_.error(value,
                      fmt::format("layer {} ('{}') stands in stacks twice", id, layers_[id].substr(0, kNameShown)),
                      "keep one of them");
    taken_[id] = true;
    group.nodes.push_back(layers_[id]);
  }

  std::span<const std::string> layers_;
  Findings& findings_;
  std::map<std::string, std::size_t, std::less<>> ids_;
  std::vector<bool> taken_;
};

}  // namespace

std::vector<Group> parse_stacks(std::string_view text, std::span<const std::string> layers, const std::string& path) {
  const config::Tree tree = config::parse_yaml(without_tuples(text), path);
  Findings findings;
  std::vector<Group> groups = StackReader(layers, findings).run(tree.root());
  findings.throw_if_failed();
  return groups;
}

std::vector<Group> groups_in(const Graph& graph, const std::vector<Group>& groups) {
  std::map<std::string_view, std::vector<std::size_t>> nodes;  // by name, and by each name it may be a part of
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const std::string_view name = node.name;
    nodes[name].insert(nodes[name].begin(), i);
    if (node.phase != Phase::Forward && node.phase != Phase::Loss) continue;
    for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0; dot = name.rfind('.', dot - 1))
      nodes[name.substr(0, dot)].push_back(i);
  }
  std::vector<Group> out;
  std::vector<bool> taken(graph.nodes.size(), false);
  for (const Group& group : groups) {
    Group made{.order = group.order};
    for (const std::string& layer : group.nodes) {
      const auto found = nodes.find(layer);
      if (found == nodes.end()) continue;
      for (const std::size_t i : found->second) {
        const bool is_itself = graph.nodes[i].name == layer;
        if (!taken[i]) made.nodes.push_back(graph.nodes[i].name);
        taken[i] = true;
        if (is_itself) break;  // what carries its name besides it is another's
      }
    }
    if (!made.nodes.empty()) out.push_back(std::move(made));
  }
  return out;
}

}  // namespace monet::plan
