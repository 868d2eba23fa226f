#include "monet/verbs/case_values.h"

#include <filesystem>

#include "monet/base/config_number.h"

namespace monet {

using config::Value;

bool has(const Value& root, std::string_view key) { return root.is_map() && root.find(key).has_value(); }

std::optional<double> number_of(const std::optional<Value>& value) {
  if (!value || !value->is_scalar()) return std::nullopt;
  const config::NumberReading reading = config::read_number(value->text(), config::Dialect::PyYaml);
  return reading.number ? std::optional(reading.number->value) : std::nullopt;
}

std::string text_of(const Value& map, std::string_view key, std::string otherwise) {
  const std::optional<Value> found = map.is_map() ? map.find(key) : std::nullopt;
  return found && found->is_scalar() ? std::string(found->text()) : otherwise;
}

std::string stem_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }

}  // namespace monet
