#include "monet/models/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "monet/base/assert.h"
#include "monet/base/nearest.h"

namespace monet::models {
namespace {

// A hostile spec must not fill the screen.
constexpr std::size_t kMostFaults = 20;
std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 60;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "…";
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What is wrong with `value` for this option; nothing if it may stand.
std::optional<Diagnostic> fault_of(const ModelOption& option, std::string_view value) {
  Diagnostic fault;
  if (option.kind == OptionKind::Choice) {
    if (std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end()) return std::nullopt;
    fault.message = fmt::format("'{}' is no value of option '{}'", shortened(value), option.name);
    fault.hint = did_you_mean(value, option.choices, fmt::format("one of: {}", fmt::join(option.choices, ", ")));
    return fault;
  }
  const bool is_whole = option.kind == OptionKind::Whole;
  std::optional<double> number = parse_number<double>(value);
  if (is_whole && !parse_number<std::int64_t>(value)) number.reset();
  // The comparison is written so that it fails for NaN.
  if (number && *number >= option.least && *number <= option.most) return std::nullopt;
  fault.message = fmt::format("option '{}' must be a {} from {} to {}, not '{}'", option.name,
                              is_whole ? "whole number" : "number", option.least, option.most, shortened(value));
  fault.hint = option.meaning;
  return fault;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

OptionValues::OptionValues(const std::vector<ModelOption>& options) {
  for (const ModelOption& option : options) values_.emplace(option.name, option.default_value);
}

OptionValues::OptionValues(const std::vector<ModelOption>& options, std::string_view text, const std::string& where,
                           std::vector<Diagnostic>& faults)
    : OptionValues(options) {
  std::vector<std::string> names;
  for (const ModelOption& option : options) names.push_back(option.name);
  const auto report = [&](Diagnostic fault) {
    fault.where = where;
    faults.push_back(std::move(fault));
  };
  std::set<std::string_view> seen;
  for (const std::string_view part : split(text, ',')) {
    if (faults.size() >= kMostFaults) return;
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const auto option = std::find_if(options.begin(), options.end(), [&](const auto& o) { return o.name == name; });
    if (equals == std::string_view::npos) {
      report({.message = fmt::format("'{}' is no option: write name=value", shortened(part)),
              .hint = fmt::format("options: {}", fmt::join(names, ", "))});
    } else if (option == options.end()) {
      report({.message = fmt::format("unknown option '{}'", shortened(name)),
              .hint = did_you_mean(name, names, fmt::format("options: {}", fmt::join(names, ", ")))});
    } else if (!seen.insert(name).second) {
      report({.message = fmt::format("option '{}' is given twice", name)});
    } else if (std::optional<Diagnostic> fault = fault_of(*option, part.substr(equals + 1))) {
      report(std::move(*fault));
    } else {
      values_[option->name] = part.substr(equals + 1);
    }
  }
}

const std::string& OptionValues::text(std::string_view name) const {
  const auto it = values_.find(name);
  MONET_ASSERT(it != values_.end(), "a model reads only options it declares");
  return it->second;
}

std::int64_t OptionValues::whole(std::string_view name) const {
  const std::optional<std::int64_t> value = parse_number<std::int64_t>(text(name));
  MONET_ASSERT(value.has_value(), "values are checked when they are read");
  return *value;
}

double OptionValues::real(std::string_view name) const {
  const std::optional<double> value = parse_number<double>(text(name));
  MONET_ASSERT(value.has_value(), "values are checked when they are read");
  return *value;
}

const std::string& OptionValues::choice(std::string_view name) const { return text(name); }

}  // namespace monet::models
