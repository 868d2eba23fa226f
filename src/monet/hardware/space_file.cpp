// Files of spaces, and those that come with MONET.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "monet/base/config_section.h"
#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/base/sha256.h"
#include "monet/hardware/space.h"

namespace monet::hardware {
namespace {

using config::Findings;
using config::Ratio;
using config::Section;
using config::Value;

constexpr std::string_view kFolder = "data/spaces/";
constexpr std::size_t kMostValues = 65'000;  // of one variable

// Why something has no value, whatever its names stand for; empty: it may have one. A quotient may be by zero for some
// values, so that several are tried. `evaluate` gives a `fault`, empty where there is a value, and an `unknown` name.
template <class Evaluate>
std::string lasting_fault(const Evaluate& evaluate) {
  std::string fault;
  for (const std::int64_t first : {1, 3, 50}) {
    config::Scope scope;
    auto at = evaluate(scope);
    while (!at.unknown.empty() && scope.size() < 1000) {
      const auto place = static_cast<std::int64_t>(scope.size());
      scope.emplace_back(at.unknown, Ratio{first == 1 ? 1 : first + place * (place + first), 1});
      at = evaluate(scope);
    }
    if (at.fault.empty()) return "";
    fault = at.fault;
  }
  return fault;
}

class SpaceReader {
 public:
  SpaceReader(const Value& root, Findings& findings)
      : findings_(findings), s_(root, "the space", config::Dialect::Strict, findings) {}

  LoadedSpace run() {
    if (const auto form = s_.require_text("monet"); form && *form != "space")
      findings_.error(*s_.find("monet"), "this is no space of chips", "one begins with 'monet: space'");
    Space& space = out_.space;
    space.name = s_.require_text("name").value_or("");
    space.description = s_.text("description").value_or("");
    space.source = s_.text("source").value_or("");
    if (const std::optional<Value> chip = s_.require("chip")) {
      space.chip = config::read_text(*chip, "chip", findings_).value_or("");
      out_.chip = chip->at();
      // A name is one of the library; what looks like a path stands beside the space.
      const std::filesystem::path path = space.chip;
      if (space.chip.find_first_of("/.") != std::string::npos && path.is_relative())
        space.chip = (std::filesystem::path(chip->file()).parent_path() / path).lexically_normal().string();
    }
    if (const std::optional<Value> variables = s_.require("variables")) {
      Section repeated(*variables, "'variables'", config::Dialect::Strict, findings_);
      for (std::size_t i = 0; variables->is_map() && i < variables->size(); ++i)
        add_variable(variables->key(i), (*variables)[i]);
    }
    for (const Value& at : s_.list("constraints")) add_constraint(at);
    s_.finish();
    return std::move(out_);
  }

 private:
  void add_variable(const Value& key, const Value& value) {
    Variable variable{.name = std::string(key.text())};
    for (const Variable& other : out_.space.variables)
      if (other.name == variable.name) findings_.error(key, fmt::format("a second variable '{}'", variable.name));
    if (value.is_sequence()) {
      variable.values = set_of(value);
    } else if (value.is_map()) {
      Section s(value, fmt::format("variable '{}'", variable.name), config::Dialect::Strict, findings_);
      const std::optional<Value> set = s.find("set"), range = s.find("range"), powers = s.find("powers_of_two"),
                                 is = s.find("is");
      if (int(set.has_value()) + int(range.has_value()) + int(powers.has_value()) + int(is.has_value()) != 1)
        findings_.error(
            value, fmt::format("variable '{}' has one of 'set', 'range', 'powers_of_two' and 'is'", variable.name));
      if (set) variable.values = set_of(*set);
      if (range) variable.values = range_of(*range, s.find("step"));
      if (powers) variable.values = powers_of(*powers);
      if (is) {
        variable.computed = config::read_text(*is, "is", findings_).value_or("0");
        const std::string fault =
            lasting_fault([&](const config::Scope& scope) { return config::expand(variable.computed, scope); });
        if (!fault.empty()) findings_.error(*is, fault, "such as {is: \"${rows * 2}\"}");
      }
      s.finish();
    } else {
      findings_.error(value, fmt::format("variable '{}' must be a list of values, or a map", variable.name),
                      "such as [1, 2, 4], {range: [1, 8]}, {powers_of_two: [16, 128]} or {is: \"${rows * 2}\"}");
    }
    if (variable.values.size() > kMostValues) {
      findings_.error(value, fmt::format("more than {} values", kMostValues));
      variable.values.resize(1);
    }
    out_.space.variables.push_back(std::move(variable));
    out_.variables.push_back(key.at());
  }

  std::vector<std::string> set_of(const Value& list) {
    std::vector<std::string> values;
    std::set<std::string> known;  // numbers as such: 64 and 64.0 are one
    if (!list.is_sequence()) findings_.error(list, "a set must be a list of values");
    if (list.is_sequence() && list.size() == 0) findings_.error(list, "a set without values", "such as [1, 2, 4]");
    for (std::size_t i = 0; list.is_sequence() && i < list.size(); ++i) {
      std::string text = config::read_text(list[i], "value", findings_).value_or("");
      const std::optional<Ratio> number = config::parse_ratio(text);
      if (!known.insert(number ? config::to_string(*number) : text).second)
        findings_.error(list[i], fmt::format("'{}' is there already", text));
      values.push_back(std::move(text));
    }
    return values;
  }

  std::optional<Ratio> number(const Value& at) {
    const std::optional<Ratio> value = at.is_scalar() ? config::parse_ratio(at.text()) : std::nullopt;
    if (!value) findings_.error(at, "must be a number");
    return value;
  }

  // From the first to the second, both included.
  std::optional<std::pair<Ratio, Ratio>> ends(const Value& list) {
    if (!list.is_sequence() || list.size() != 2) {
      findings_.error(list, "must be two numbers: [from, to]");
      return std::nullopt;
    }
    const std::optional<Ratio> from = number(list[0]), to = number(list[1]);
    if (!from || !to) return std::nullopt;
    if (config::less(*to, *from)) {
      findings_.error(list, "ends before it begins", "the smaller number comes first: [from, to]");
      return std::nullopt;
    }
    return std::pair{*from, *to};
  }

  std::vector<std::string> range_of(const Value& list, const std::optional<Value>& step) {
    const auto range = ends(list);
    const std::optional<Ratio> by = step ? number(*step) : Ratio{1, 1};
    if (!range || !by) return {"1"};
    if (by->numerator <= 0) {
      findings_.error(*step, "'step' must be above zero");
      return {"1"};
    }
    std::vector<std::string> values;
    for (std::size_t k = 0; k <= kMostValues; ++k) {
      const config::ExpressionValue at =
          config::evaluate("from + k * step", {{"from", range->first}, {"k", {std::int64_t(k), 1}}, {"step", *by}});
      if (at.value && config::less(range->second, *at.value)) break;
      const std::string text = at.value ? config::to_string(*at.value) : "";
      if (text.empty() || (!values.empty() && text == values.back())) {
        findings_.error(list, "its values have more digits than can be told apart", "a larger step, or a set");
        return {"1"};
      }
      values.push_back(text);
    }
    return values;
  }

  std::vector<std::string> powers_of(const Value& list) {
    const auto range = ends(list);
    if (!range) return {"1"};
    if (config::less(range->first, {1, 1})) {
      findings_.error(list, "powers of two begin with 1", "smaller ones as a set: [0.25, 0.5, 1]");
      return {"1"};
    }
    std::vector<std::string> values;
    for (std::int64_t power = 1; power <= (std::int64_t{1} << 60); power *= 2)
      if (!config::less({power, 1}, range->first) && !config::less(range->second, {power, 1}))
        values.push_back(fmt::format("{}", power));
    if (values.empty()) {
      findings_.error(list, "there is no power of two in it");
      return {"1"};
    }
    return values;
  }

  void add_constraint(const Value& at) {
    const std::optional<std::string> text = config::read_text(at, "constraint", findings_);
    if (!text) return;
    std::optional<config::Condition> condition = config::parse_condition(*text);
    if (!condition) {
      findings_.error(at, fmt::format("'{}' compares nothing", text->substr(0, 60)),
                      "one comparison each, such as x * y <= 16; relations: <= >= < > == !=");
      return;
    }
    for (const std::string& side : {condition->left, condition->right})
      if (const std::string fault =
              lasting_fault([&](const config::Scope& scope) { return config::evaluate(side, scope); });
          !fault.empty())
        findings_.error(at, fmt::format("'{}': {}", text->substr(0, 60), fault),
                        "such as x * y <= 16; relations: <= >= < > == !=");
    out_.space.constraints.push_back(std::move(*condition));
    out_.constraints.push_back(at.at());
  }

  Findings& findings_;
  Section s_;
  LoadedSpace out_;
};

}  // namespace

LoadedSpace parse_space(std::string_view text, const std::string& path) {
  const config::Tree tree = config::parse_yaml(text, path);
  Findings findings;
  LoadedSpace loaded = SpaceReader(tree.root(), findings).run();
  findings.throw_if_failed();
  loaded.files = {{path, sha256_hex(text)}};
  return loaded;
}

std::vector<std::string> space_names() {
  std::vector<std::string> names;
  for (const LibraryFile& file : space_files()) names.emplace_back(file.path.substr(0, file.path.size() - 5));
  return names;
}

LoadedSpace find_space(const std::string& name_or_path) {
  for (const LibraryFile& file : space_files())
    if (file.path == name_or_path + ".yaml")
      return parse_space(file.text, std::string(kFolder) + std::string(file.path));
  std::error_code error;
  if (name_or_path.find_first_of("/.") == std::string::npos && !std::filesystem::exists(name_or_path, error))
    throw InputError(
        Diagnostic{.where = name_or_path,
                   .message = "no such space",
                   .hint = did_you_mean(name_or_path, space_names(),
                                        fmt::format("known: {}; a YAML file can stand here too (docs/explore.md)",
                                                    fmt::join(space_names(), ", ")))});
  return parse_space(read_file(name_or_path), name_or_path);
}

bool looks_like_space(const Value& root) {
  const std::optional<Value> form = root.is_map() ? root.find("monet") : std::nullopt;
  return form && form->is_scalar() && form->text() == "space";
}

}  // namespace monet::hardware
