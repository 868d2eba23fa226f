#include "monet/base/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/base/assert.h"

namespace monet::config {
namespace {

constexpr std::size_t kMostFindings = 50;  // a file of another kind would drown its first fault

std::uint32_t saturating(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

// ---- Value ----

Kind Value::kind() const { return tree_->nodes_[node_].kind; }
bool Value::is_quoted() const { return tree_->nodes_[node_].quoted; }
Location Value::at() const { return tree_->nodes_[node_].at; }
const std::string& Value::file() const { return tree_->files_[at().file]; }
Syntax Value::syntax() const { return tree_->syntax_; }

std::string_view Value::text() const {
  const Tree::Node& node = tree_->nodes_[node_];
  if (node.kind != Kind::Scalar) return {};
  return std::string_view(tree_->pool_).substr(node.first, node.count);
}

std::size_t Value::size() const {
  const Tree::Node& node = tree_->nodes_[node_];
  return node.kind == Kind::Sequence || node.kind == Kind::Map ? node.count : 0;
}

Value Value::operator[](std::size_t i) const {
  MONET_ASSERT(i < size(), "no such child");
  return Value(tree_, tree_->links_[tree_->nodes_[node_].first + i].value);
}

Value Value::key(std::size_t i) const {
  MONET_ASSERT(is_map() && i < size(), "no such entry");
  return Value(tree_, tree_->links_[tree_->nodes_[node_].first + i].key);
}

std::optional<Value> Value::find(std::string_view name) const {
  if (!is_map()) return std::nullopt;
  for (std::size_t i = size(); i-- > 0;)
    if (key(i).text() == name) return (*this)[i];
  return std::nullopt;
}

// ---- Builder ----

Builder::Builder(Syntax syntax, const Limits& limits) : limits_(limits) { tree_.syntax_ = syntax; }

std::uint32_t Builder::add_file(const std::string& path) {
  const auto found = std::find(tree_.files_.begin(), tree_.files_.end(), path);
  if (found != tree_.files_.end()) return static_cast<std::uint32_t>(found - tree_.files_.begin());
  tree_.files_.push_back(path);
  return static_cast<std::uint32_t>(tree_.files_.size() - 1);
}

void Builder::reserve(std::size_t nodes, std::size_t text) {
  tree_.nodes_.reserve(nodes);
  tree_.links_.reserve(nodes);
  tree_.pool_.reserve(text);
}

void Builder::fail(Location at, std::string message, std::string hint) const {
  throw InputError(Diagnostic{.file = at.file < tree_.files_.size() ? tree_.files_[at.file] : "",
                              .line = static_cast<int>(at.line),
                              .column = static_cast<int>(at.column),
                              .message = std::move(message),
                              .hint = std::move(hint)});
}

std::uint32_t Builder::push(const Tree::Node& node) {
  if (tree_.nodes_.size() >= limits_.nodes)
    fail(node.at, fmt::format("more than {} values", limits_.nodes), "no such file is meant to be that large");
  tree_.nodes_.push_back(node);
  return static_cast<std::uint32_t>(tree_.nodes_.size() - 1);
}

bool Builder::expects_key() const {
  if (open_.empty()) return false;
  const Frame& frame = open_.back();
  return tree_.nodes_[frame.node].kind == Kind::Map && (pending_.size() - frame.start) % 2 == 0;
}

void Builder::attach(std::uint32_t node, Location at) {
  if (tree_.nodes_[node].kind != Kind::Scalar && expects_key())
    fail(at, fmt::format("a key must be text, not {}", describe(tree_.nodes_[node].kind)));
  pending_.push_back(node);
}

std::uint32_t Builder::null(Location at) {
  const std::uint32_t node = push({.kind = Kind::Null, .at = at});
  attach(node, at);
  return node;
}

std::uint32_t Builder::scalar(std::string_view text, bool quoted, Location at) {
  const std::size_t first = tree_.pool_.size();
  tree_.pool_.append(text);
  const std::uint32_t node = push({.kind = Kind::Scalar,
                                   .quoted = quoted,
                                   .at = at,
                                   .first = static_cast<std::uint32_t>(first),
                                   .count = static_cast<std::uint32_t>(text.size())});
  attach(node, at);
  return node;
}

std::uint32_t Builder::open(Kind kind, Location at) {
  if (open_.size() >= limits_.depth)
    fail(at, fmt::format("nested more than {} levels deep", limits_.depth), "no such file is meant to be that deep");
  const std::uint32_t node = push({.kind = kind, .at = at});
  attach(node, at);
  open_.push_back({.node = node, .start = pending_.size()});
  return node;
}

// What is closed and holds others is at least one high.
bool Builder::is_closed(std::uint32_t node) const {
  const Tree::Node& n = tree_.nodes_[node];
  return n.kind == Kind::Null || n.kind == Kind::Scalar || n.height > 0;
}

void Builder::alias(std::uint32_t node, Location at) {
  MONET_ASSERT(is_closed(node), "an alias of an open node");
  if (open_.size() + tree_.nodes_[node].height > limits_.depth)
    fail(at, fmt::format("nested more than {} levels deep through aliases", limits_.depth));
  attach(node, at);
}

// Entries of merged maps come after the map's own and only where it has none of that name; earlier maps win.
void Builder::merge(std::size_t start) {
  std::vector<std::uint32_t> own, sources;
  for (std::size_t i = start; i + 1 < pending_.size(); i += 2) {
    const Tree::Node& key = tree_.nodes_[pending_[i]];
    if (key.quoted || std::string_view(tree_.pool_).substr(key.first, key.count) != "<<") {
      own.push_back(pending_[i]);
      own.push_back(pending_[i + 1]);
      continue;
    }
    const Tree::Node& value = tree_.nodes_[pending_[i + 1]];
    const auto take = [&](std::uint32_t node) {
      if (tree_.nodes_[node].kind != Kind::Map) fail(key.at, "'<<' merges maps, and this is none");
      sources.push_back(node);
    };
    if (value.kind == Kind::Sequence)
      for (std::uint32_t k = 0; k < value.count; ++k) take(tree_.links_[value.first + k].value);
    else
      take(pending_[i + 1]);
  }
  if (sources.empty()) return;
  std::vector<std::string_view> names;
  const auto name_of = [&](std::uint32_t node) {
    return std::string_view(tree_.pool_).substr(tree_.nodes_[node].first, tree_.nodes_[node].count);
  };
  for (std::size_t i = 0; i < own.size(); i += 2) names.push_back(name_of(own[i]));
  std::sort(names.begin(), names.end());
  for (const std::uint32_t source : sources) {
    const Tree::Node& map = tree_.nodes_[source];
    std::vector<std::string_view> more;
    for (std::uint32_t k = 0; k < map.count; ++k) {
      const Tree::Link link = tree_.links_[map.first + k];
      if (std::binary_search(names.begin(), names.end(), name_of(link.key))) continue;
      own.push_back(link.key);
      own.push_back(link.value);
      more.push_back(name_of(link.key));
    }
    if (own.size() > limits_.nodes) fail(map.at, fmt::format("more than {} values after merging", limits_.nodes));
    names.insert(names.end(), more.begin(), more.end());
    std::sort(names.begin(), names.end());
  }
  pending_.resize(start);
  pending_.insert(pending_.end(), own.begin(), own.end());
}

void Builder::close() {
  MONET_ASSERT(!open_.empty(), "nothing is open");
  const Frame frame = open_.back();
  open_.pop_back();
  if (merges_ && tree_.nodes_[frame.node].kind == Kind::Map) merge(frame.start);
  Tree::Node& node = tree_.nodes_[frame.node];
  const std::size_t step = node.kind == Kind::Map ? 2 : 1;
  node.first = static_cast<std::uint32_t>(tree_.links_.size());
  node.count = static_cast<std::uint32_t>((pending_.size() - frame.start) / step);
  std::uint64_t weight = 1;
  std::uint16_t height = 0;
  for (std::size_t i = frame.start; i < pending_.size(); i += step) {
    const std::uint32_t value = pending_[i + step - 1];
    tree_.links_.push_back({.key = pending_[i], .value = value});
    weight += tree_.nodes_[value].weight;
    height = std::max(height, tree_.nodes_[value].height);
  }
  node.weight = saturating(weight);
  node.height = static_cast<std::uint16_t>(height + 1);
  if (weight > limits_.nodes || tree_.links_.size() > 2 * limits_.nodes)
    fail(node.at, fmt::format("more than {} values once its aliases are expanded", limits_.nodes));
  pending_.resize(frame.start);
}

Tree Builder::finish() {
  MONET_ASSERT(open_.empty(), "still open");
  if (pending_.empty()) null({.file = 0, .line = 1, .column = 1});
  tree_.root_ = pending_.back();
  return std::move(tree_);
}

// ---- Findings ----

void Findings::add(Diagnostic diagnostic) {
  // The same part may be read several times.
  if (std::find(list_.begin(), list_.end(), diagnostic) != list_.end()) return;
  if (diagnostic.severity == Severity::Error) ++errors_;
  if (list_.size() < kMostFindings) {
    list_.push_back(std::move(diagnostic));
  } else if (list_.size() == kMostFindings) {
    diagnostic.message = "more is wrong than is listed here";
    diagnostic.hint = "mend the first ones";
    list_.push_back(std::move(diagnostic));
  } else if (diagnostic.severity == Severity::Error) {
    list_.back().severity = Severity::Error;
  }
}

namespace {
Diagnostic diagnose(const Value& at, std::string message, std::string hint, Severity severity) {
  const Location place = at.at();
  return {.file = at.file(),
          .line = static_cast<int>(place.line),
          .column = static_cast<int>(place.column),
          .message = std::move(message),
          .hint = std::move(hint),
          .severity = severity};
}
}  // namespace

void Findings::error(const Value& at, std::string message, std::string hint) {
  add(diagnose(at, std::move(message), std::move(hint), Severity::Error));
}

void Findings::warning(const Value& at, std::string message, std::string hint) {
  add(diagnose(at, std::move(message), std::move(hint), Severity::Warning));
}

void Findings::throw_if_failed() {
  if (!failed()) return;
  // Files in the order in which they were first found fault with; a note that there is more stays last.
  std::vector<std::string> files;
  for (const Diagnostic& d : list_)
    if (std::find(files.begin(), files.end(), d.file) == files.end()) files.push_back(d.file);
  const auto rank = [&](const Diagnostic& d) {
    return std::make_tuple(std::find(files.begin(), files.end(), d.file) - files.begin(), d.line, d.column);
  };
  const auto end = list_.size() > kMostFindings ? list_.end() - 1 : list_.end();
  std::stable_sort(list_.begin(), end, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  throw InputError(list_);
}

std::string_view describe(Kind kind) {
  switch (kind) {
    case Kind::Null: return "nothing";
    case Kind::Scalar: return "a single value";
    case Kind::Sequence: return "a list";
    case Kind::Map: return "a map";
  }
  return "";
}

Tree parse(std::string_view text, const std::string& path) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  const bool like_json = start != std::string_view::npos && (text[start] == '{' || text[start] == '[');
  const bool named_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  return path.ends_with(".json") || (like_json && !named_yaml) ? parse_json(text, path) : parse_yaml(text, path);
}

}  // namespace monet::config
