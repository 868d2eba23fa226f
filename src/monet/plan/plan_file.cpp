#include "monet/plan/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "monet/base/assert.h"
#include "monet/base/config_section.h"
#include "monet/base/json.h"

namespace monet::plan {
namespace {

using config::Dialect;
using config::Findings;
using config::Section;
using config::Value;

// A plan of every node of a large model is longer than what people write.
constexpr config::Limits kLimits{.bytes = 32u << 20, .nodes = 2'000'000, .depth = 64};
constexpr config::IntegerRange kPrefetch{.least = 1, .most = 1'000'000};
constexpr config::IntegerRange kParts{.least = 1, .most = std::int64_t{1} << 40};

const std::vector<std::string>& order_names() {
  static const std::vector<std::string> names{
      std::string(name(Order::DepthFirst)), std::string(name(Order::BreadthFirst)),
      std::string(name(Order::Interleaved)), std::string(name(Order::Pipelined)), std::string(name(Order::Overlapped))};
  return names;
}

const std::vector<std::string>& keep_names() {
  static const std::vector<std::string> names{"memory", "lanes"};
  return names;
}

// ---- In ----

class Reader {
 public:
  Reader(const Value& root, ParsedPlan& parsed, Findings& findings)
      : root_(root), parsed_(parsed), findings_(findings) {}

  void run() {
    Section s(root_, "the plan", Dialect::Strict, findings_);
    if (!root_.is_map()) return;
    if (const std::optional<std::string> form = s.require_text("monet"); form && *form != "plan")
      findings_.error(*s.find("monet"), fmt::format("'{}' is no plan", form->substr(0, kNameShown)),
                      "a plan begins with 'monet: plan'");
    if (const std::optional<Value> saved = s.find("saved")) read_saved(*saved);
    if (const std::optional<Value> groups = s.find("groups")) read_groups(*groups);
    if (const std::optional<Value> nodes = s.find("nodes")) read_nodes(*nodes);
    parsed_.plan.prefetch = s.integer("prefetch", kPrefetch).value_or(Plan{}.prefetch);
    s.finish();
  }

 private:
  void note(std::string part, const Value& value) { parsed_.places.insert_or_assign(std::move(part), value.at()); }

  void read_saved(const Value& map) {
    if (!map.is_map()) {
      findings_.error(map, fmt::format("'saved' must be a map from tensors to words, not {}", describe(map.kind())),
                      "as in 'saved: {layer1.0.act: recompute}'");
      return;
    }
    const Section repeated(map, "'saved'", Dialect::Strict, findings_);
    for (std::size_t i = 0; i < map.size(); ++i) {
      const std::optional<std::string> tensor = read_name(map.key(i), "a tensor"), word = read_name(map[i], "a saving");
      if (!tensor || !word) continue;
      std::optional<SavedPlan> saved = saving_named(*word);
      if (!saved) {
        findings_.error(map[i],
                        fmt::format("'{}' is nothing that can be done with an activation", word->substr(0, kNameShown)),
                        "known: keep, recompute, recompute_each, recompute_tiles, spill, or a format such as f8e4m3");
        continue;
      }
      saved->tensor = *tensor;
      note("saved/" + *tensor, map.key(i));
      parsed_.plan.saved.push_back(std::move(*saved));
    }
  }

  void read_groups(const Value& list) {
    if (!list.is_sequence()) {
      findings_.error(list, fmt::format("'groups' must be a list of groups, not {}", describe(list.kind())),
                      "as in 'groups: [[conv1, relu1], [conv2]]'");
      return;
    }
    for (std::size_t i = 0; i < list.size(); ++i) read_group(list[i], fmt::format("groups/{}", i));
  }

  // A list of nodes, or a map that says more.
  void read_group(const Value& value, const std::string& part) {
    note(part, value);
    Group& group = parsed_.plan.groups.emplace_back();
    if (value.is_sequence()) return read_members(value, part, group);
    if (!value.is_map()) {
      findings_.error(value, fmt::format("a group must be a list of nodes, not {}", describe(value.kind())),
                      value.is_scalar() ? fmt::format("of one node: [{}]", value.text().substr(0, kNameShown)) : "");
      return;
    }
    Section s(value, "a group", Dialect::Strict, findings_);
    const std::optional<Value> nodes = s.require("nodes");
    if (const std::optional<std::size_t> order = s.choice("order", order_names()))
      group.order = static_cast<Order>(*order);
    s.finish();
    if (!nodes) return;
    if (nodes->is_sequence())
      read_members(*nodes, part, group);
    else
      findings_.error(*nodes, fmt::format("'nodes' must be a list of nodes, not {}", describe(nodes->kind())));
  }

  void read_members(const Value& list, const std::string& part, Group& group) {
    if (list.size() == 0) findings_.error(list, "a group has no nodes", "leave it out");
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::optional<std::string> node = read_name(list[i], "a node");
      if (!node) continue;
      const auto [first, is_new] = members_.emplace(*node, list[i].at().line);
      if (!is_new)
        findings_.error(list[i],
                        fmt::format("node '{}' stands in groups twice, first in line {}", node->substr(0, kNameShown),
                                    first->second),
                        "a node runs once: keep one of them");
      note(fmt::format("{}/{}", part, i), list[i]);
      group.nodes.push_back(std::move(*node));
    }
  }

  std::optional<std::string> read_name(const Value& value, std::string_view what) {
    if (!value.is_scalar())
      findings_.error(value, fmt::format("{} must be a name, not {}", what, describe(value.kind())));
    else if (value.text().empty())
      findings_.error(value, fmt::format("{} has no name", what));
    else
      return std::string(value.text());
    return std::nullopt;
  }

  void read_nodes(const Value& map) {
    if (!map.is_map()) {
      findings_.error(map, fmt::format("'nodes' must be a map from names to decisions, not {}", describe(map.kind())),
                      "as in 'nodes: {conv1: {tiles: {OY: 4}}}'");
      return;
    }
    std::map<std::string, std::uint32_t> lines;
    for (std::size_t i = 0; i < map.size(); ++i) {
      const std::string node = read_name(map.key(i), "a node").value_or("");
      const auto [first, is_new] = lines.emplace(node, map.key(i).at().line);
      if (!is_new)
        findings_.error(
            map.key(i),
            fmt::format("node '{}' is given twice, first in line {}", node.substr(0, kNameShown), first->second),
            "keep one of them");
      const std::string part = "nodes/" + node;
      note(part, map.key(i));
      parsed_.plan.nodes.push_back(read_node(map[i], node, part));
    }
  }

  NodePlan read_node(const Value& value, const std::string& node, const std::string& part) {
    NodePlan plan{.node = node};
    Section s(value, fmt::format("node '{}'", node.substr(0, kNameShown)), Dialect::Strict, findings_);
    if (const std::optional<Value> cores = s.find("cores")) note(part + "/cores", *cores);
    for (const Value& item : s.list("cores"))
      if (std::optional<std::string> core = read_name(item, "a core")) {
        note(fmt::format("{}/cores/{}", part, *core), item);
        plan.cores.push_back(std::move(*core));
      }
    plan.across = read_splits(s, "across", part);
    plan.tiles = read_splits(s, "tiles", part);
    if (const std::optional<Value> keep = s.find("keep")) note(part + "/keep", *keep);
    plan.at_lanes = s.choice("keep", keep_names()).value_or(0) == 1;
    s.finish();
    return plan;
  }

  // The order of the map is that of the loops.
  std::vector<Split> read_splits(Section& s, std::string_view key, const std::string& part) {
    std::vector<Split> splits;
    const std::optional<Value> map = s.find(key);
    if (!map) return splits;
    note(fmt::format("{}/{}", part, key), *map);
    if (!map->is_map()) {
      findings_.error(*map, fmt::format("'{}' must be a map from loops to parts, not {}", key, describe(map->kind())),
                      fmt::format("as in '{}: {{OY: 4}}'", key));
      return splits;
    }
    const Section repeated(*map, fmt::format("'{}' of {}", key, s.what()), Dialect::Strict, findings_);
    for (std::size_t i = 0; i < map->size(); ++i) {
      const std::optional<std::string> loop = read_name(map->key(i), "a loop");
      const std::optional<std::int64_t> parts =
          config::read_integer((*map)[i], loop ? loop->substr(0, kNameShown) : "", kParts, Dialect::Strict, findings_);
      if (!loop || !parts) continue;
      note(fmt::format("{}/{}/{}", part, key, *loop), map->key(i));
      splits.push_back({.loop = *loop, .parts = *parts});
    }
    return splits;
  }

  const Value root_;
  ParsedPlan& parsed_;
  Findings& findings_;
  std::map<std::string, std::uint32_t> members_;  // of groups: the line of each
};

// ---- Out ----

// Names that every reader of YAML takes for text are written as they are.
std::string written(std::string_view text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
  };
  static const std::set<std::string, std::less<>> words{"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  std::string lower;
  for (const char c : text.substr(0, 8)) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool begins_well =
      !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_' || text[0] == '/');
  return begins_well && std::all_of(text.begin(), text.end(), is_plain) && !words.contains(lower) ? std::string(text)
                                                                                                  : json_quoted(text);
}

// YAML takes a name for a key by itself only if its ':' is near.
constexpr std::size_t kLongKey = 1000;
std::string key_of(std::string_view text, std::string_view colon = ": ") {
  const std::string key = written(text);
  return key.size() < kLongKey ? key + ": " : fmt::format("? {}{}", key, colon);
}

// Items between brackets, in lines of at most 120 characters where names allow; `column` is where the first one begins.
std::string bracketed(char open, const std::vector<std::string>& items, char close, std::size_t column) {
  constexpr std::size_t kWidth = 118;  // leaves room for what closes
  const std::size_t indent = std::min<std::size_t>(column + 1, 8);
  std::string out(1, open);
  std::size_t at = column + 1;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      out += ',';
      const bool fits = at + 2 + items[i].size() <= kWidth;
      out += fits ? " " : "\n" + std::string(indent, ' ');
      at = fits ? at + 2 : indent;
    }
    out += items[i];
    at += items[i].size();
  }
  return out + close;
}

std::string text_of(const std::vector<Split>& splits) {
  std::vector<std::string> items;
  std::set<std::string_view> loops;
  for (const Split& split : splits) {
    const bool is_new = loops.insert(split.loop).second;
    MONET_ASSERT(is_new, "a loop stands twice in one list of a plan");
    items.push_back(key_of(split.loop, " : ") + std::to_string(split.parts));
  }
  return fmt::format("{{{}}}", fmt::join(items, ", "));
}

std::vector<std::string> all_written(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& n : names) out.push_back(written(n));
  return out;
}

}  // namespace

std::string_view name(Order order) {
  switch (order) {
    case Order::DepthFirst: return "depth_first";
    case Order::BreadthFirst: return "breadth_first";
    case Order::Interleaved: return "interleaved";
    case Order::Pipelined: return "pipelined";
    case Order::Overlapped: return "overlapped";
  }
  MONET_ASSERT(false, "no such order");
}

bool looks_like_plan(const Value& root) {
  const std::optional<Value> form = root.is_map() ? root.find("monet") : std::nullopt;
  return form && form->is_scalar() && form->text() == "plan";
}

bool looks_like_plan(std::string_view text, const std::string& path) {
  return looks_like_plan(config::parse_yaml(text, path, kLimits).root());
}

ParsedPlan parse_plan(std::string_view text, const std::string& path) {
  const config::Tree tree = config::parse_yaml(text, path, kLimits);
  ParsedPlan parsed{.file = path};
  Findings findings;
  const Value root = tree.root();
  if (root.is_map() && !root.find("monet"))
    findings.error(root, "this is no plan", "a plan begins with 'monet: plan'");
  else
    Reader(root, parsed, findings).run();
  findings.throw_if_failed();
  parsed.warnings = findings.list();
  return parsed;
}

void locate(const ParsedPlan& parsed, const std::string& part, Diagnostic& diagnostic) {
  diagnostic.file = parsed.file;
  for (std::string at = part;;) {
    if (const auto found = parsed.places.find(at); found != parsed.places.end()) {
      diagnostic.line = static_cast<int>(found->second.line);
      diagnostic.column = static_cast<int>(found->second.column);
      return;
    }
    const std::size_t slash = at.rfind('/');
    if (slash == std::string::npos) return;
    at.resize(slash);
  }
}

std::string to_yaml(const Plan& plan) {
  std::string out = "monet: plan\n";
  if (plan.prefetch != Plan{}.prefetch) out += fmt::format("prefetch: {}\n", plan.prefetch);
  if (!plan.saved.empty()) out += "saved:\n";
  for (const SavedPlan& saved : plan.saved)
    out += fmt::format("  {}{}\n", key_of(saved.tensor, "\n  : "), name(saved.saving, saved.narrow));
  if (!plan.groups.empty()) out += "groups:\n";
  for (const Group& group : plan.groups) {
    const bool is_list = group.order == Order::DepthFirst;
    const std::string_view before = is_list ? "  - " : "  - {nodes: ";
    out += before;
    out += bracketed('[', all_written(group.nodes), ']', before.size());
    if (!is_list) out += fmt::format(", order: {}}}", name(group.order));
    out += '\n';
  }
  std::map<std::string_view, const NodePlan*> last;
  for (const NodePlan& node : plan.nodes) last[node.node] = &node;
  if (!plan.nodes.empty()) out += "nodes:\n";
  for (const NodePlan& node : plan.nodes) {
    if (last[node.node] != &node) continue;
    const std::string before = "  " + key_of(node.node, "\n  : ");
    std::vector<std::string> fields;
    if (!node.cores.empty())
      fields.push_back("cores: " + bracketed('[', all_written(node.cores), ']', before.size() + 8));
    if (!node.across.empty()) fields.push_back("across: " + text_of(node.across));
    if (!node.tiles.empty()) fields.push_back("tiles: " + text_of(node.tiles));
    if (node.at_lanes) fields.push_back("keep: lanes");
    out += fmt::format("{}{{{}}}\n", before, fmt::join(fields, ", "));
  }
  return out;
}

}  // namespace monet::plan
