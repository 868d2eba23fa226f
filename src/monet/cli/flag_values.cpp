#include "monet/cli/flag_values.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "monet/base/diagnostic.h"

namespace monet::cli {
namespace {

[[noreturn]] void refuse_value(const std::string& flag, const std::string& text, std::string_view what,
                               std::string hint = "") {
  throw InputError(
      Diagnostic{.where = flag, .message = fmt::format("'{}' is not {}", text, what), .hint = std::move(hint)});
}

// All of the text.
template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::int64_t positive(const std::string& flag, const std::string& text) {
  const std::optional<std::int64_t> value = number_of<std::int64_t>(text);
  if (!value || *value < 1) refuse_value(flag, text, "a whole number above zero");
  return *value;
}

double above_zero(const std::string& flag, const std::string& text) {
  const std::optional<double> value = number_of<double>(text);
  if (!value || !(*value > 0) || *value > 1e300) refuse_value(flag, text, "a number above zero");
  return *value;
}

double seconds(const std::string& flag, const std::string& text) {
  const std::optional<double> value = number_of<double>(text);
  if (!value || !(*value > 0) || *value > 1e9) refuse_value(flag, text, "a number of seconds");
  return *value;
}

double share(const std::string& flag, const std::string& text) {
  const std::optional<double> value = number_of<double>(text);
  if (!value || !(*value >= 0) || *value > 1) refuse_value(flag, text, "a number from 0 to 1");
  return *value;
}

double percent(const std::string& flag, const std::string& text) {
  const double value = above_zero(flag, text);
  if (value >= 100) refuse_value(flag, text, "below 100 percent");
  return value;
}

double byte_size(const std::string& flag, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  std::erase(unit, ' ');
  const std::map<std::string, double> units{{"", 1},     {"B", 1},         {"kB", 1e3},      {"MB", 1e6},
                                            {"GB", 1e9}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  const auto scale = units.find(unit);
  if (error != std::errc{} || scale == units.end() || !(value > 0) || value > 1e18)
    refuse_value(flag, text, "a number of bytes", "as in 13000000, 13MB or 12MiB");
  return value * scale->second;
}

}  // namespace monet::cli
