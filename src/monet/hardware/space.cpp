#include "monet/hardware/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "monet/base/config_number.h"
#include "monet/base/nearest.h"
#include "monet/base/rng.h"

namespace monet::hardware {
namespace {

using config::Condition;
using config::Ratio;

constexpr std::array kOfChip{kAreaName, kTdpName, kMemoryName, kLanesName};

// Whether an expression uses a name.
bool uses(std::string_view expression, std::string_view name) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = expression.find(name); at != std::string_view::npos; at = expression.find(name, at + 1)) {
    const bool begins = at == 0 || !is_part(expression[at - 1]);
    const bool ends = at + name.size() == expression.size() || !is_part(expression[at + name.size()]);
    if (begins && ends) return true;
  }
  return false;
}
bool uses(const Condition& condition, std::string_view name) {
  return uses(condition.left, name) || uses(condition.right, name);
}
bool needs_chip(const Condition& condition) {
  return std::any_of(kOfChip.begin(), kOfChip.end(), [&](std::string_view name) { return uses(condition, name); });
}

// To a millionth: more digits are too many for products of two.
Ratio rounded(double value) { return *config::parse_ratio(fmt::format("{:.6f}", std::clamp(value, 0.0, 9e12))); }
// As it is printed, if that can be computed with.
Ratio exact(double value) {
  const std::optional<Ratio> digits = config::parse_ratio(config::shortest(value));
  return digits ? *digits : rounded(value);
}

// Of a text that is one expression and nothing else: "x / 3" of "${x / 3}".
std::optional<std::string_view> whole_expression(std::string_view text) {
  if (!text.starts_with("${") || text.find('}') + 1 != text.size()) return std::nullopt;
  return text.substr(2, text.size() - 3);
}

Diagnostic at(const LoadedSpace& loaded, const config::Location& where, std::string message, std::string hint) {
  return {.file = loaded.files.front().path,
          .line = static_cast<int>(where.line),
          .column = static_cast<int>(where.column),
          .message = std::move(message),
          .hint = std::move(hint)};
}

// "x * y <= 16: 64 > 16"
std::string broken_words(const Condition& condition, const config::ConditionValue& value) {
  const bool is_less = config::less(*value.left, *value.right), is_more = config::less(*value.right, *value.left);
  return fmt::format("{}: {} {} {}", condition.text, config::to_string(*value.left),
                     is_less   ? "<"
                     : is_more ? ">"
                               : "=",
                     config::to_string(*value.right));
}

}  // namespace

Family::Family(LoadedSpace loaded) : space_(loaded.space), files_(loaded.files) {
  for (std::size_t v = 0; v < space_.variables.size(); ++v)
    if (space_.variables[v].is_free()) free_.push_back(v);
  const ChipFile file = [&] {
    try {
      return locate_hardware(space_.chip);
    } catch (const InputError& error) {  // the name is one of the space's file
      std::vector<Diagnostic> wrong = error.diagnostics();
      for (Diagnostic& d : wrong)
        d = at(loaded, loaded.chip, d.where.empty() ? d.message : fmt::format("{}: {}", d.where, d.message), d.hint);
      throw InputError(std::move(wrong));
    }
  }();
  path_ = file.path;
  if (std::error_code error; !file.read && !std::filesystem::exists(path_, error))
    throw InputError(at(loaded, loaded.chip, fmt::format("{}: no such file", path_), ""));
  const auto sources = std::make_shared<Sources>(file.read);
  const Loaded chip = load_hardware(path_, *sources);
  files_.insert(files_.end(), chip.files.begin(), chip.files.end());
  sources_ = sources;
  for (const Condition& condition : space_.constraints) {
    needs_chip_.push_back(needs_chip(condition));
    limits_area_ = limits_area_ || uses(condition, kAreaName);
    limits_power_ = limits_power_ || uses(condition, kTdpName);
  }
  has_clock_ = budget_of(chip.hardware).has_power ||
               std::any_of(space_.variables.begin(), space_.variables.end(),
                           [](const Variable& v) { return v.name.find("clock") != std::string::npos; });
  check(loaded, chip);
  if (!std::isfinite(size()))
    throw InputError(at(loaded, loaded.variables.front(), "these variables have more combinations than can be counted",
                        "fewer of them, or fewer values"));
  check_values(loaded);
}

void Family::check(const LoadedSpace& loaded, const Loaded& chip) {
  std::vector<Diagnostic> wrong;
  const auto say = [&](const config::Location& where, std::string message, std::string hint) {
    wrong.push_back(at(loaded, where, std::move(message), std::move(hint)));
  };
  std::vector<std::string> known;
  for (const Variable& v : space_.variables) known.push_back(v.name);
  known.insert(known.end(), kOfChip.begin(), kOfChip.end());
  for (std::size_t v = 0; v < space_.variables.size(); ++v) {
    const std::string& name = space_.variables[v].name;
    const bool is_field = hardware::is_field(name);
    const bool is_parameter = std::find(chip.parameters.begin(), chip.parameters.end(), name) != chip.parameters.end();
    is_field_.push_back(is_field);
    is_parameter_.push_back(is_parameter);
    if (std::find(kOfChip.begin(), kOfChip.end(), name) != kOfChip.end())
      say(loaded.variables[v], fmt::format("'{}' is a figure of every chip, which constraints use", name),
          "another name");
    if (is_field && is_parameter)
      say(loaded.variables[v], fmt::format("'{}' is a parameter of {} and a field of every chip", name, path_),
          "another name for the parameter, in the chip's file");
    const bool is_used = std::any_of(space_.variables.begin(), space_.variables.end(),
                                     [&](const Variable& other) { return uses(other.computed, name); }) ||
                         std::any_of(space_.constraints.begin(), space_.constraints.end(),
                                     [&](const Condition& condition) { return uses(condition, name); });
    if (!is_field && !is_parameter && !is_used)
      say(loaded.variables[v], fmt::format("nothing uses the variable '{}'", name),
          did_you_mean(name, chip.parameters,
                       chip.parameters.empty()
                           ? fmt::format("{} has no parameters; a field is named by its path (cores.x.array.…)", path_)
                           : fmt::format("parameters of {}: {}; a field is named by its path (cores.x.array.…)", path_,
                                         fmt::join(chip.parameters, ", "))));
  }
  const Assigned first = assign(Point(free_.size(), 0));
  const auto hint_for = [&](const std::string& unknown, std::string otherwise) -> std::string {
    const bool is_one = std::any_of(space_.variables.begin(), space_.variables.end(),
                                    [&](const Variable& v) { return v.name == unknown; });
    const bool is_parameter =
        std::find(chip.parameters.begin(), chip.parameters.end(), unknown) != chip.parameters.end();
    if (unknown == kTdpName) return fmt::format("{} has no clock, so no TDP: give it a field 'clock'", path_);
    return is_one         ? "it is a variable, but defined below, or its values are no plain numbers"
           : is_parameter ? "it is a parameter of the chip: make it a variable, if only of one value"
                          : did_you_mean(unknown, known, std::move(otherwise));
  };
  // A quotient may be by zero here, and have a value at other points.
  if (!first.unknown.empty())
    say(loaded.variables[first.faulty], first.fault, hint_for(first.unknown, "variables are defined above their use"));
  config::Scope scope = first.numbers;
  for (const std::string_view name : kOfChip)
    if (name != kTdpName || has_clock_) scope.emplace_back(name, Ratio{1, 1});
  for (std::size_t v = 0; v < space_.variables.size() && !first.fault.empty(); ++v)
    if (!space_.variables[v].is_free()) scope.emplace_back(space_.variables[v].name, Ratio{1, 1});
  for (std::size_t c = 0; c < space_.constraints.size(); ++c)
    if (const config::ConditionValue value = config::evaluate(space_.constraints[c], scope); !value.unknown.empty())
      say(loaded.constraints[c], value.fault,
          hint_for(value.unknown, fmt::format("known: {}", fmt::join(known, ", "))));
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

// A value that no chip takes is told at its point. Where no chip of those tried can be read, and one variable's values
// are all refused even if the others are left as the chip's file has them, that variable is what is wrong.
void Family::check_values(const LoadedSpace& loaded) const {
  constexpr std::size_t kTried = 16, kValuesTried = 64, kAllTried = 4096;
  const auto fault_of = [&](const LoadOptions& options) -> std::optional<Diagnostic> {
    try {
      load_hardware(path_, options);
      return std::nullopt;
    } catch (const InputError& error) {
      return error.diagnostics().front();
    }
  };
  std::vector<Assigned> tried;
  for (std::size_t t = 0; t < kTried; ++t) {
    Point point;
    for (std::size_t f = 0; f < free_.size(); ++f)
      point.push_back(static_cast<std::uint16_t>(random_bits(t, f, 0) % space_.variables[free_[f]].values.size()));
    tried.push_back(assign(point));
    if (tried.back().fault.empty() && !fault_of(options(tried.back()))) return;
  }
  std::vector<Diagnostic> wrong;
  const auto has_fault = [](const Assigned& a) { return !a.fault.empty(); };
  if (size() <= kAllTried && std::all_of(tried.begin(), tried.end(), has_fault)) {
    bool is_all = true;
    for (std::size_t i = 0; is_all && i < static_cast<std::size_t>(size()); ++i) {
      Point point;
      for (std::size_t f = 0, rest = i; f < free_.size(); ++f) {
        const std::size_t values = space_.variables[free_[f]].values.size();
        point.push_back(static_cast<std::uint16_t>(rest % values));
        rest /= values;
      }
      is_all = has_fault(assign(point));
    }
    const Assigned& first = tried.front();
    if (is_all)
      throw InputError(at(loaded, loaded.variables[first.faulty],
                          fmt::format("'{}' never has a value: {}", space_.variables[first.faulty].name, first.fault),
                          "whatever is chosen for the variables above"));
  }
  for (std::size_t v = 0; v < space_.variables.size(); ++v) {
    if (!is_parameter_[v] && !is_field_[v]) continue;
    std::vector<std::string> values = space_.variables[v].values;
    if (values.empty())
      for (const Assigned& a : tried)
        if (a.fault.empty()) values.push_back(a.texts[v]);
    std::optional<Diagnostic> first;
    bool is_all = !values.empty() && values.size() <= kValuesTried;
    for (std::size_t i = 0; is_all && i < values.size(); ++i) {
      LoadOptions alone{.known = sources_.get()};
      (is_parameter_[v] ? alone.parameters : alone.fields).emplace_back(space_.variables[v].name, values[i]);
      std::optional<Diagnostic> fault = fault_of(alone);
      is_all = fault.has_value();
      if (!first) first = std::move(fault);
    }
    if (is_all)
      wrong.push_back(
          at(loaded, loaded.variables[v],
             fmt::format("no value of '{}' is one for {}: {}", space_.variables[v].name, path_, first->message),
             first->hint));
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

std::vector<std::uint16_t> Family::choices() const {
  std::vector<std::uint16_t> out;
  for (const std::size_t v : free_) out.push_back(static_cast<std::uint16_t>(space_.variables[v].values.size()));
  return out;
}

double Family::size() const {
  double product = 1;
  for (const std::size_t v : free_) product *= static_cast<double>(space_.variables[v].values.size());
  return product;
}

std::vector<std::string> Family::values(const Point& point) const {
  std::vector<std::string> out;
  for (std::size_t f = 0; f < free_.size(); ++f) out.push_back(space_.variables[free_[f]].values[point[f]]);
  return out;
}

std::optional<Point> Family::point_of(const std::vector<std::pair<std::string, std::string>>& values) const {
  Point point;
  for (const std::size_t v : free_) {
    const Variable& variable = space_.variables[v];
    const auto given =
        std::find_if(values.begin(), values.end(), [&](const auto& p) { return p.first == variable.name; });
    if (given == values.end()) return std::nullopt;
    const auto at = std::find(variable.values.begin(), variable.values.end(), given->second);
    if (at == variable.values.end()) return std::nullopt;
    point.push_back(static_cast<std::uint16_t>(at - variable.values.begin()));
  }
  return point;
}

Family::Assigned Family::assign(const Point& point) const {
  Assigned out;
  std::size_t f = 0;
  for (std::size_t v = 0; v < space_.variables.size(); ++v) {
    const Variable& variable = space_.variables[v];
    std::string text;
    if (variable.is_free()) {
      text = variable.values[point[f++]];
    } else {
      config::Expanded expanded = config::expand(variable.computed, out.numbers);
      if (!expanded.fault.empty() && out.fault.empty()) {
        out.fault = std::move(expanded.fault);
        out.unknown = std::move(expanded.unknown);
        out.faulty = v;
      }
      text = std::move(expanded.text);
    }
    // A third is no number of so many digits.
    std::optional<Ratio> number = config::parse_ratio(text);
    if (const auto expression = whole_expression(variable.computed); expression && number)
      number = config::evaluate(*expression, out.numbers).value;
    if (number) out.numbers.emplace_back(variable.name, *number);
    out.texts.push_back(std::move(text));
  }
  return out;
}

LoadOptions Family::options(const Assigned& assigned) const {
  LoadOptions out{.known = sources_.get()};
  for (std::size_t v = 0; v < space_.variables.size(); ++v) {
    if (is_parameter_[v]) out.parameters.emplace_back(space_.variables[v].name, assigned.texts[v]);
    if (is_field_[v]) out.fields.emplace_back(space_.variables[v].name, assigned.texts[v]);
  }
  return out;
}

LoadOptions Family::options(const Point& point) const { return options(assign(point)); }

bool Family::holds(bool with_chip, const std::vector<config::Scope>& numbers, Member& member) const {
  for (std::size_t c = 0; c < space_.constraints.size(); ++c) {
    if (needs_chip_[c] != with_chip) continue;
    config::ConditionValue value = config::evaluate(space_.constraints[c], numbers.front());
    if (!value.fault.empty()) value = config::evaluate(space_.constraints[c], numbers.back());
    if (value.holds) continue;
    member.broken = c;
    member.reason = value.fault.empty() ? broken_words(space_.constraints[c], value)
                                        : fmt::format("{}: {}", space_.constraints[c].text, value.fault);
    return false;
  }
  return true;
}

Member Family::made(const Point& point) const {
  Member out{.broken = space_.constraints.size()};
  const Assigned assigned = assign(point);
  if (!assigned.fault.empty()) {
    out.reason = fmt::format("{}: {}", space_.variables[assigned.faulty].name, assigned.fault);
    return out;
  }
  if (!holds(false, {assigned.numbers}, out)) return out;
  try {
    out.hardware = load_hardware(path_, options(assigned)).hardware;
  } catch (const InputError& error) {
    out.reason = error.diagnostics().front().message;
    return out;
  }
  out.budget = budget_of(*out.hardware);
  return out;
}

void Family::judge(const Point& point, Member& member) const {
  if (!member.hardware || std::find(needs_chip_.begin(), needs_chip_.end(), true) == needs_chip_.end()) return;
  const auto numbers_by = [&, own = assign(point).numbers](Ratio (*ratio_of)(double)) {
    config::Scope numbers = own;
    const Budget& total = member.budget.total;
    numbers.emplace_back(kAreaName, ratio_of(total.area_mm2()));
    if (member.budget.has_power) numbers.emplace_back(kTdpName, ratio_of(total.tdp_w()));
    numbers.emplace_back(kMemoryName, ratio_of(total.bytes));
    numbers.emplace_back(kLanesName, ratio_of(total.lanes));
    return numbers;
  };
  if (!holds(true, {numbers_by(exact), numbers_by(rounded)}, member)) member.hardware.reset();
}

Member Family::member(const Point& point) const {
  Member out = made(point);
  judge(point, out);
  return out;
}

}  // namespace monet::hardware
