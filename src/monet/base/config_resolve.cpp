#include "monet/base/config_resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "monet/base/config_expression.h"
#include "monet/base/nearest.h"

namespace monet::config {
namespace {

constexpr std::size_t kDeepestInclude = 16;
constexpr std::size_t kMostDefinitions = 100'000;

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
             std::string_view::npos &&
         !(text[0] >= '0' && text[0] <= '9');
}

// A key in quotes is a name and nothing else; in JSON all keys are in quotes.
bool is_special(const Value& key) {
  return (key.text() == "parameters" || key.text() == "include") && (!key.is_quoted() || key.syntax() == Syntax::Json);
}

std::optional<Value> find_special(const Value& map, std::string_view name) {
  for (std::size_t i = map.size(); i-- > 0;)
    if (is_special(map.key(i)) && map.key(i).text() == name && !map[i].is_null()) return map[i];
  return std::nullopt;
}

// The file a value stands in and the ones that include it.
struct Origin {
  std::string path;
  const Origin* parent = nullptr;
};

class Resolver {
 public:
  Resolver(const Tree& tree, const ResolveOptions& options, Findings& findings)
      : tree_(tree),
        options_(options),
        findings_(findings),
        out_(Syntax::Yaml, kYamlLimits),
        is_set_(options.fields.size(), false) {}

  Tree run() {
    for (const std::string& file : tree_.files()) out_.add_file(file);
    scopes_.emplace_back();
    const Value root = tree_.root();
    const Origin& origin = origins_.emplace_back(Origin{root.file()});
    if (root.is_map())
      emit_map(root, scopes_.back(), origin, true);
    else
      emit(root, scopes_.back(), origin);
    for (const auto& [name, value] : options_.overrides)
      if (std::find(overridden_.begin(), overridden_.end(), name) == overridden_.end())
        findings_.add({.file = root.file(),
                       .message = fmt::format("there is no parameter '{}' to set", name),
                       .hint = did_you_mean(name, known_,
                                            known_.empty() ? "the file has no parameters"
                                                           : fmt::format("known: {}", fmt::join(known_, ", ")))});
    for (std::size_t i = 0; i < options_.fields.size(); ++i)
      if (!is_set_[i])
        findings_.add({.file = root.file(),
                       .message = fmt::format("there is no field '{}' to set", options_.fields[i].first),
                       .hint = hint_for(options_.fields[i].first)});
    return out_.finish();
  }

 private:
  // One entry of a map, from whatever file, and what its expressions can see.
  struct Entry {
    Value key, value;
    const Scope* scope;
    const Origin* origin;
  };

  Location place(const Value& value) {
    Location at = value.at();
    at.file = out_.add_file(value.file());
    return at;
  }

  void emit(const Value& value, const Scope& scope, const Origin& origin) {
    switch (value.kind()) {
      case Kind::Null: out_.null(place(value)); return;
      case Kind::Scalar: emit_scalar(value, scope); return;
      case Kind::Sequence:
        out_.open(Kind::Sequence, place(value));
        for (std::size_t i = 0; i < value.size(); ++i) {
          const Step step(*this, options_.fields.empty() ? "" : std::to_string(i));
          if (!emit_field(place(value[i]))) emit(value[i], scope, origin);
        }
        out_.close();
        return;
      case Kind::Map: emit_map(value, scope, origin, false); return;
    }
  }

  void emit_scalar(const Value& value, const Scope& scope) {
    const std::string_view text = value.text();
    if (text.find("${") == std::string_view::npos) {
      out_.scalar(text, value.is_quoted(), place(value));
      return;
    }
    out_.scalar(expand(value, text, scope), false, place(value));
  }

  std::string expand(const Value& at, std::string_view text, const Scope& scope) {
    Expanded out = config::expand(text, scope);
    if (out.fault.empty()) return std::move(out.text);
    std::vector<std::string> names;
    for (const auto& [name, value] : scope) names.push_back(name);
    findings_.error(
        at, out.fault,
        out.unknown.empty() ? "" : did_you_mean(out.unknown, names, "parameters are defined above their use"));
    return std::move(out.text);
  }

  void emit_map(const Value& map, const Scope& scope, const Origin& origin, bool is_root) {
    std::vector<Entry> entries;
    gather(map, scope, origin, false, is_root, entries);
    out_.open(Kind::Map, place(map));
    for (const Entry& entry : entries) {
      out_.scalar(entry.key.text(), entry.key.is_quoted(), place(entry.key));
      const Step step(*this, entry.key.text());
      if (!emit_field(place(entry.value))) emit(entry.value, *entry.scope, *entry.origin);
    }
    add_fields(place(map));
    out_.close();
  }

  // ---- Fields set from outside ----

  // One step down the tree, for as long as it lives.
  class Step {
   public:
    Step(Resolver& resolver, std::string_view key) : resolver_(resolver), size_(resolver.path_.size()) {
      if (resolver.options_.fields.empty()) return;
      if (size_ > 0) resolver.path_ += '.';
      resolver.path_ += key;
    }
    ~Step() { resolver_.path_.resize(size_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Resolver& resolver_;
    std::size_t size_;
  };

  // Whether there is one to stand here.
  bool emit_field(Location at) {
    for (std::size_t i = 0; i < options_.fields.size(); ++i)
      if (options_.fields[i].first == path_) {
        out_.scalar(options_.fields[i].second, false, at);
        is_set_[i] = true;
        return true;
      }
    if (!options_.fields.empty()) paths_.push_back(path_);
    return false;
  }

  // Those that the map has not.
  void add_fields(Location at) {
    for (std::size_t i = 0; i < options_.fields.size(); ++i) {
      const std::string& path = options_.fields[i].first;
      const std::size_t dot = path.rfind('.');
      const bool is_here = dot == std::string::npos ? path_.empty() : path_ == std::string_view(path).substr(0, dot);
      if (is_set_[i] || !is_here) continue;
      out_.scalar(std::string_view(path).substr(dot == std::string::npos ? 0 : dot + 1), false, at);
      out_.scalar(options_.fields[i].second, false, at);
      is_set_[i] = true;
    }
  }

  // The longest part of the path that there is, and what it has below.
  std::string hint_for(std::string path) const {
    for (;;) {
      const std::size_t dot = path.rfind('.');
      path.resize(dot == std::string::npos ? 0 : dot);
      if (!path.empty() && std::find(paths_.begin(), paths_.end(), path) == paths_.end()) continue;
      std::vector<std::string> below;
      const std::string prefix = path.empty() ? "" : path + ".";
      for (const std::string& each : paths_)
        if (each.starts_with(prefix) && each.find('.', prefix.size()) == std::string::npos && each != path)
          below.push_back(each.substr(prefix.size()));
      return below.empty() ? fmt::format("'{}' has no parts", path)
                           : fmt::format("{} has: {}", path.empty() ? "the file" : fmt::format("'{}'", path),
                                         fmt::join(below, ", "));
    }
  }

  // The entries of a map and of what it includes. A fragment's parameters are defaults, so what is visible around it
  // wins.
  void gather(const Value& map, const Scope& outer, const Origin& origin, bool is_fragment, bool is_root,
              std::vector<Entry>& entries) {
    const Scope* scope = &outer;
    if (const std::optional<Value> parameters = find_special(map, "parameters"))
      scope = define(*parameters, outer, is_fragment, is_root);
    std::vector<std::string_view> taken;
    for (const Entry& entry : entries) taken.push_back(entry.key.text());
    std::sort(taken.begin(), taken.end());
    for (std::size_t i = 0; i < map.size(); ++i) {
      const Value key = map.key(i);
      if (is_special(key)) continue;
      if (!std::binary_search(taken.begin(), taken.end(), key.text())) entries.push_back({key, map[i], scope, &origin});
    }
    const std::optional<Value> include = find_special(map, "include");
    if (!include) return;
    if (include->is_sequence())
      for (std::size_t i = 0; i < include->size(); ++i) gather_file((*include)[i], *scope, origin, entries);
    else
      gather_file(*include, *scope, origin, entries);
  }

  const Scope* define(const Value& parameters, const Scope& outer, bool is_fragment, bool is_root) {
    if (!parameters.is_map()) {
      findings_.error(parameters, fmt::format("'parameters' must be a map, not {}", describe(parameters.kind())));
      return &outer;
    }
    // Scopes are copied, so their sum is limited.
    defined_ += outer.size() + parameters.size();
    if (defined_ > kMostDefinitions) {
      findings_.error(parameters, "too many parameters");
      return &outer;
    }
    Scope& scope = scopes_.emplace_back(outer);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string name(parameters.key(i).text());
      if (!is_name(name))
        findings_.error(parameters.key(i), fmt::format("'{}' is no name for a parameter", name.substr(0, 40)),
                        "letters, digits and '_'");
      const auto is_it = [&](const auto& entry) { return entry.first == name; };
      if (is_fragment && std::any_of(outer.begin(), outer.end(), is_it)) continue;
      std::string text = parameters[i].is_scalar() ? std::string(parameters[i].text()) : "";
      if (is_root) {
        known_.push_back(name);
        for (const auto& [wanted, value] : options_.overrides)
          if (wanted == name) {
            text = value;
            overridden_.push_back(name);
          }
      }
      if (text.find("${") != std::string::npos) text = expand(parameters[i], text, scope);
      const std::optional<Ratio> value = parse_ratio(text);
      if (!value)
        findings_.error(parameters[i], fmt::format("parameter '{}' must be a number", name.substr(0, 40)),
                        "or an expression such as ${rows * 2}");
      scope.emplace_back(name, value.value_or(Ratio{1, 1}));
    }
    return &scope;
  }

  void gather_file(const Value& at, const Scope& scope, const Origin& origin, std::vector<Entry>& entries) {
    if (!at.is_scalar()) {
      findings_.error(at, "'include' must name a file, or list some");
      return;
    }
    const std::filesystem::path named = expand(at, at.text(), scope);
    const std::string path = (named.is_absolute() ? named : std::filesystem::path(at.file()).parent_path() / named)
                                 .lexically_normal()
                                 .string();
    std::size_t depth = 0;
    for (const Origin* file = &origin; file != nullptr; file = file->parent, ++depth)
      if (file->path == path) {
        findings_.error(at, fmt::format("'{}' includes itself", path));
        return;
      }
    if (depth > kDeepestInclude) {
      findings_.error(at, fmt::format("includes are more than {} deep", kDeepestInclude));
      return;
    }
    if (!options_.open) {
      findings_.error(at, "files cannot be included here");
      return;
    }
    const Tree* tree = nullptr;
    try {
      tree = &options_.open(path);
    } catch (const InputError& error) {
      // A file that is not there has no lines of its own.
      const Diagnostic& first = error.diagnostics().front();
      if (first.line == 0) {
        findings_.error(at, fmt::format("'{}' cannot be included: {}", path, first.message), first.hint);
        return;
      }
      for (const Diagnostic& d : error.diagnostics()) findings_.add(d);
      return;
    }
    if (!tree->root().is_map()) {
      findings_.error(at, fmt::format("'{}' holds no map to include", path));
      return;
    }
    gather(tree->root(), scope, origins_.emplace_back(Origin{path, &origin}), true, false, entries);
  }

  const Tree& tree_;
  const ResolveOptions& options_;
  Findings& findings_;
  Builder out_;
  std::deque<Scope> scopes_;
  std::deque<Origin> origins_;
  std::size_t defined_ = 0;
  std::vector<std::string> known_, overridden_;
  std::string path_;          // of what is emitted, kept only if there are fields to set
  std::vector<bool> is_set_;  // by field
  std::vector<std::string> paths_;
};

}  // namespace

Tree resolve(const Tree& tree, const ResolveOptions& options, Findings& findings) {
  return Resolver(tree, options, findings).run();
}

}  // namespace monet::config
