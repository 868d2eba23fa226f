#include "monet/base/config_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/base/nearest.h"

namespace monet::config {
namespace {

constexpr std::size_t kShown = 40;  // of a value, in a message

std::string shown(const Value& value) {
  if (!value.is_scalar()) return std::string(describe(value.kind()));
  const std::string_view text = value.text();
  return text.size() <= kShown ? fmt::format("'{}'", text) : fmt::format("'{}…'", text.substr(0, kShown));
}

std::string joined(std::span<const std::string> names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace

std::optional<std::string> read_text(const Value& value, std::string_view what, Findings& findings) {
  if (value.is_scalar()) return std::string(value.text());
  findings.error(value, fmt::format("'{}' must be text, not {}", what, describe(value.kind())));
  return std::nullopt;
}

std::optional<Number> read_number(const Value& value, std::string_view what, Dialect dialect, Findings& findings) {
  if (!value.is_scalar() || value.is_quoted()) {
    findings.error(value, fmt::format("'{}' must be a number, not {}", what,
                                      value.is_scalar() ? "text in quotes" : describe(value.kind())));
    return std::nullopt;
  }
  const Dialect used = value.syntax() == Syntax::Json ? Dialect::Strict : dialect;
  const NumberReading reading = read_number(value.text(), used);
  if (!reading.number) {
    const bool plain = reading.fault == "not a number";
    findings.error(value, fmt::format("'{}' must be a number, not {}", what, shown(value)), plain ? "" : reading.fault);
    return std::nullopt;
  }
  if (!reading.warning.empty()) findings.warning(value, fmt::format("'{}' is {}", what, shown(value)), reading.warning);
  return reading.number;
}

std::optional<std::int64_t> read_integer(const Value& value, std::string_view what, IntegerRange range, Dialect dialect,
                                         Findings& findings) {
  const std::optional<Number> number = read_number(value, what, dialect, findings);
  if (!number) return std::nullopt;
  if (number->whole && *number->whole >= range.least && *number->whole <= range.most) return number->whole;
  std::string must = "must be a whole number";
  const bool above = number->value > static_cast<double>(range.most);
  if (number->whole || above) {
    if (number->value < static_cast<double>(range.least))
      must = range.least == 1   ? "must be positive"
             : range.least == 0 ? "must not be negative"
                                : fmt::format("must be at least {}", range.least);
    else
      must = fmt::format("must be at most {}", range.most);
  }
  findings.error(value, fmt::format("'{}' {}, not {}", what, must, shown(value)));
  return std::nullopt;
}

std::optional<double> read_number(const Value& value, std::string_view what, NumberRange range, Dialect dialect,
                                  Findings& findings) {
  const std::optional<Number> number = read_number(value, what, dialect, findings);
  if (!number) return std::nullopt;
  if (number->value >= range.least && number->value <= range.most) return number->value;
  const std::string must = number->value > range.most ? fmt::format("be at most {}", shortest(range.most))
                           : range.least == 0         ? "not be negative"
                                                      : fmt::format("be at least {}", shortest(range.least));
  findings.error(value, fmt::format("'{}' must {}, not {}", what, must, shown(value)));
  return std::nullopt;
}

std::optional<bool> read_bool(const Value& value, std::string_view what, Dialect dialect, Findings& findings) {
  if (value.is_scalar() && !value.is_quoted()) {
    std::string word(value.text());
    // YAML 1.1 knows these words in lower, upper and title case.
    const std::string rest = word.empty() ? "" : word.substr(1);
    const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    const bool mixed =
        std::any_of(rest.begin(), rest.end(), is_upper) && !std::all_of(word.begin(), word.end(), is_upper);
    if (!mixed)
      std::transform(word.begin(), word.end(), word.begin(),
                     [&](char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; });
    if (word == "true" || (dialect == Dialect::PyYaml && (word == "yes" || word == "on"))) return true;
    if (word == "false" || (dialect == Dialect::PyYaml && (word == "no" || word == "off"))) return false;
  }
  findings.error(value, fmt::format("'{}' must be true or false, not {}", what, shown(value)));
  return std::nullopt;
}

std::optional<std::size_t> read_choice(const Value& value, std::string_view what, std::span<const std::string> names,
                                       Findings& findings) {
  if (value.is_scalar()) {
    const auto found = std::find(names.begin(), names.end(), value.text());
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const std::string known = fmt::format("known: {}", joined(names));
    findings.error(value, fmt::format("unknown {} {}", what, shown(value)), did_you_mean(value.text(), names, known));
  } else {
    findings.error(value, fmt::format("'{}' must be one of {}, not {}", what, joined(names), describe(value.kind())));
  }
  return std::nullopt;
}

// ---- Quantities ----

namespace {

std::string unit_list(const Quantity& quantity) {
  std::vector<std::string> names;
  for (const Unit& unit : quantity.units)
    if (!unit.name.empty()) names.emplace_back(unit.name);
  return fmt::format("units of {}: {}", quantity.what, joined(names));
}

}  // namespace

Number scaled(const Number& number, double scale) {
  Number out{.value = number.value * scale};
  std::int64_t product = 0;
  const bool whole_scale = scale >= 1 && scale < 1e18 && std::floor(scale) == scale;
  if (number.whole && whole_scale && !__builtin_mul_overflow(*number.whole, static_cast<std::int64_t>(scale), &product))
    out.whole = product;
  else if (std::abs(out.value) < 9007199254740992.0 && std::floor(out.value) == out.value)
    out.whole = static_cast<std::int64_t>(out.value);
  return out;
}

std::optional<Amount> read_amount(const Value& value, std::string_view what, const Quantity& quantity, Dialect dialect,
                                  Findings& findings) {
  if (!value.is_scalar()) {
    findings.error(value, fmt::format("'{}' must be {} such as '2 {}', not {}", what, quantity.what,
                                      quantity.units.front().name, describe(value.kind())));
    return std::nullopt;
  }
  const std::string_view text = value.text();
  std::size_t split = 0;
  while (split < text.size() && (std::isdigit(static_cast<unsigned char>(text[split])) ||
                                 std::string_view("+-._").find(text[split]) != std::string_view::npos ||
                                 ((text[split] == 'e' || text[split] == 'E') && split + 1 < text.size() &&
                                  std::string_view("+-0123456789").find(text[split + 1]) != std::string_view::npos)))
    ++split;
  const NumberReading reading = read_number(text.substr(0, split), dialect);
  if (!reading.number) {
    findings.error(value,
                   fmt::format("'{}' must be {} such as '2 {}', not {}", what, quantity.what,
                               quantity.units.front().name, shown(value)),
                   reading.fault == "not a number" ? unit_list(quantity) : reading.fault);
    return std::nullopt;
  }
  std::string_view unit = text.substr(split);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  while (unit.ends_with(' ')) unit.remove_suffix(1);
  std::vector<std::string> names;
  for (const Unit& known : quantity.units) {
    if (known.name == unit)
      return Amount{.number = scaled(*reading.number, known.scale), .per_second = known.per_second};
    names.emplace_back(known.name);
  }
  if (unit.empty())
    findings.error(value, fmt::format("'{}' has no unit", what), unit_list(quantity));
  else
    findings.error(value, fmt::format("'{}' is no unit of {}", unit.substr(0, kShown), quantity.what),
                   unit_list(quantity));
  return std::nullopt;
}

// ---- Section ----

Section::Section(Value value, std::string what, Dialect dialect, Findings& findings)
    : value_(value), what_(std::move(what)), dialect_(dialect), findings_(&findings) {
  if (!value.is_map()) {
    findings.error(value, fmt::format("{} must be a map, not {}", what_, describe(value.kind())));
    return;
  }
  for (std::size_t i = 0; i < value.size(); ++i) index_.emplace_back(value.key(i).text(), i);
  std::stable_sort(index_.begin(), index_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::pair<std::string_view, std::size_t>> kept;
  for (const auto& entry : index_) {
    if (kept.empty() || kept.back().first != entry.first) {
      kept.push_back(entry);
      continue;
    }
    const Value earlier = value.key(kept.back().second), later = value.key(entry.second);
    const std::string message =
        fmt::format("'{}' is given twice in {}, first in line {}", entry.first, what_, earlier.at().line);
    if (dialect == Dialect::PyYaml)
      findings.warning(later, message, "the last one counts");
    else
      findings.error(later, message, "keep one of them");
    kept.back() = entry;
  }
  index_ = std::move(kept);
}

std::optional<Value> Section::lookup(std::string_view key) const {
  const auto found = std::lower_bound(index_.begin(), index_.end(), key,
                                      [](const auto& entry, std::string_view name) { return entry.first < name; });
  if (found == index_.end() || found->first != key) return std::nullopt;
  return value_[found->second];
}

std::optional<Value> Section::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  const std::optional<Value> found = lookup(key);
  return found && !found->is_null() ? found : std::nullopt;
}

std::optional<Value> Section::require(std::string_view key) {
  const std::optional<Value> found = find(key);
  if (!found && value_.is_map()) {
    if (const std::optional<Value> null = lookup(key))
      findings_->error(*null, fmt::format("'{}' of {} has no value", key, what_));
    else
      findings_->error(value_, fmt::format("{} has no '{}'", what_, key));
  }
  return found;
}

std::optional<std::string> Section::text(std::string_view key) {
  const std::optional<Value> found = find(key);
  return found ? read_text(*found, key, *findings_) : std::nullopt;
}
std::optional<std::string> Section::require_text(std::string_view key) {
  const std::optional<Value> found = require(key);
  return found ? read_text(*found, key, *findings_) : std::nullopt;
}
std::optional<std::int64_t> Section::integer(std::string_view key, IntegerRange range) {
  const std::optional<Value> found = find(key);
  return found ? read_integer(*found, key, range, dialect_, *findings_) : std::nullopt;
}
std::optional<std::int64_t> Section::require_integer(std::string_view key, IntegerRange range) {
  const std::optional<Value> found = require(key);
  return found ? read_integer(*found, key, range, dialect_, *findings_) : std::nullopt;
}
std::optional<double> Section::number(std::string_view key, NumberRange range) {
  const std::optional<Value> found = find(key);
  return found ? read_number(*found, key, range, dialect_, *findings_) : std::nullopt;
}
std::optional<bool> Section::boolean(std::string_view key) {
  const std::optional<Value> found = find(key);
  return found ? read_bool(*found, key, dialect_, *findings_) : std::nullopt;
}
std::optional<std::size_t> Section::choice(std::string_view key, std::span<const std::string> names) {
  const std::optional<Value> found = find(key);
  return found ? read_choice(*found, key, names, *findings_) : std::nullopt;
}

std::vector<Value> Section::list(std::string_view key) {
  const std::optional<Value> found = find(key);
  std::vector<Value> items;
  if (!found) return items;
  if (!found->is_sequence()) return {*found};
  for (std::size_t i = 0; i < found->size(); ++i) items.push_back((*found)[i]);
  return items;
}

std::optional<Section::Measured> Section::amount(std::string_view key, const Quantity& quantity) {
  std::optional<Measured> result;
  std::string by;
  const auto take = [&](const std::string& name, const Value& where, std::optional<Amount> amount) {
    if (!by.empty())
      findings_->error(where, fmt::format("{} has both '{}' and '{}'", what_, by, name), "keep one of them");
    by = name;
    if (amount && !result) result = Measured{*amount, where};
  };
  if (const std::optional<Value> found = find(key))
    take(std::string(key), *found, read_amount(*found, key, quantity, dialect_, *findings_));
  for (const Unit& unit : quantity.units) {
    if (unit.key.empty()) continue;
    // A key that says all by itself (bits_per_cycle) has no '_' before it.
    const std::string name = unit.key.starts_with('_') ? fmt::format("{}{}", key, unit.key) : std::string(unit.key);
    if (const std::optional<Value> found = find(name)) {
      const std::optional<Number> number = read_number(*found, name, dialect_, *findings_);
      take(name, *found,
           number ? std::optional(Amount{.number = scaled(*number, unit.scale), .per_second = unit.per_second})
                  : std::nullopt);
    }
  }
  return result;
}

void Section::finish() {
  if (!value_.is_map()) return;
  for (const auto& [key, entry] : index_) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    if (findings_->list().size() > 40) {  // names are compared only as long as someone will read about it
      findings_->error(value_.key(entry), "unknown key");
      continue;
    }
    findings_->error(value_.key(entry), fmt::format("unknown key '{}' in {}", key.substr(0, kShown), what_),
                     did_you_mean(key, asked_, fmt::format("known: {}", joined(asked_))));
  }
}

}  // namespace monet::config
