#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/diagnostic.h"

namespace monet::config {

// A configuration file as a tree in which every key and value knows its place. YAML and JSON give the same tree; what
// a scalar means is up to its reader, so `016`, `1e3` and `yes` are not decided here.

struct Location {
  std::uint32_t file = 0;              // index into Tree::files
  std::uint32_t line = 0, column = 0;  // from 1
  bool operator==(const Location&) const = default;
};

enum class Kind : std::uint8_t { Null, Scalar, Sequence, Map };
enum class Syntax : std::uint8_t { Yaml, Json };

// Guards against files made to hurt: what is beyond them is a located error.
struct Limits {
  std::size_t bytes = 0;
  std::size_t nodes = 0;  // after expansion of aliases
  std::size_t depth = 0;
};
constexpr Limits kYamlLimits{.bytes = 2u << 20, .nodes = 100'000, .depth = 64};
constexpr Limits kJsonLimits{.bytes = 512u << 20, .nodes = 40'000'000, .depth = 128};

class Tree;

// One place in a tree: a scalar, a sequence, a map or null. Valid as long as its tree.
class Value {
 public:
  Kind kind() const;
  bool is_map() const { return kind() == Kind::Map; }
  bool is_sequence() const { return kind() == Kind::Sequence; }
  bool is_scalar() const { return kind() == Kind::Scalar; }
  bool is_null() const { return kind() == Kind::Null; }
  std::string_view text() const;  // of a scalar, without quotes and escapes
  bool is_quoted() const;
  Location at() const;
  const std::string& file() const;
  Syntax syntax() const;

  std::size_t size() const;                               // entries of a map, items of a sequence
  Value operator[](std::size_t i) const;                  // item, or value of an entry
  Value key(std::size_t i) const;                         // of an entry, in the order of the file
  std::optional<Value> find(std::string_view key) const;  // the last one of that name

  bool operator==(const Value&) const = default;

 private:
  friend class Tree;
  Value(const Tree* tree, std::uint32_t node) : tree_(tree), node_(node) {}
  const Tree* tree_;
  std::uint32_t node_;
};

// Flat storage: nodes in the order they were closed, children as ranges of `links_`, all text in one pool.
class Tree {
 public:
  Value root() const { return Value(this, root_); }
  const std::vector<std::string>& files() const { return files_; }
  Syntax syntax() const { return syntax_; }

 private:
  friend class Value;
  friend class Builder;
  struct Node {
    Kind kind = Kind::Null;
    bool quoted = false;
    Location at{};
    std::uint32_t first = 0, count = 0;  // links, or bytes of the pool
    std::uint32_t weight = 1;            // nodes below and itself, aliases expanded
    std::uint16_t height = 0;
  };
  struct Link {
    std::uint32_t key = 0, value = 0;  // sequences have no keys
  };
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::string pool_;
  std::vector<std::string> files_;
  std::uint32_t root_ = 0;
  Syntax syntax_ = Syntax::Yaml;
};

// Both throw InputError with the place of the fault. `path` is only named, not read.
Tree parse_yaml(std::string_view text, const std::string& path, const Limits& limits = kYamlLimits);
Tree parse_json(std::string_view text, const std::string& path, const Limits& limits = kJsonLimits);

// By content: JSON if it begins like it and the path does not end in .yaml or .yml.
Tree parse(std::string_view text, const std::string& path);

// Makes a tree from events; used by the parsers and by who derives one tree from another.
class Builder {
 public:
  Builder(Syntax syntax, const Limits& limits);
  std::uint32_t add_file(const std::string& path);
  void reserve(std::size_t nodes, std::size_t text);

  std::uint32_t null(Location at);
  std::uint32_t scalar(std::string_view text, bool quoted, Location at);
  std::uint32_t open(Kind kind, Location at);  // Sequence or Map; keys of a map are scalars, each before its value
  void close();
  // Refers to a node that is already closed.
  void alias(std::uint32_t node, Location at);
  bool is_closed(std::uint32_t node) const;
  // Whether the next event is a key of the map that is open.
  bool expects_key() const;
  // Takes over the entries of `<<: map` and `<<: [map, …]` (YAML 1.1).
  void merge_on_close(bool on) { merges_ = on; }

  Tree finish();

 private:
  struct Frame {
    std::uint32_t node = 0;
    std::size_t start = 0;  // of its children in pending_
  };
  [[noreturn]] void fail(Location at, std::string message, std::string hint = "") const;
  std::uint32_t push(const Tree::Node& node);
  void attach(std::uint32_t node, Location at);
  void merge(std::size_t start);

  Tree tree_;
  Limits limits_;
  bool merges_ = false;
  std::vector<Frame> open_;
  std::vector<std::uint32_t> pending_;
};

// Everything wrong with an input, collected while it is read.
class Findings {
 public:
  void error(const Value& at, std::string message, std::string hint = "");
  void warning(const Value& at, std::string message, std::string hint = "");
  void add(Diagnostic diagnostic);
  bool failed() const { return errors_ > 0; }
  std::size_t errors() const { return errors_; }
  const std::vector<Diagnostic>& list() const { return list_; }
  // Throws InputError with all that was found, in the order of the file, if any of it is an error.
  void throw_if_failed();

 private:
  std::vector<Diagnostic> list_;
  std::size_t errors_ = 0;
};

// "a map", "a list", "text": for messages.
std::string_view describe(Kind kind);

}  // namespace monet::config
