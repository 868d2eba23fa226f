#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace monet::config {

// A quotient of whole numbers, in lowest terms: what parameters are computed with, so that ${3 / 8 * 8} is 3.
struct Ratio {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;  // positive
  bool operator==(const Ratio&) const = default;
};

using Scope = std::vector<std::pair<std::string, Ratio>>;  // the last one of a name counts

struct ExpressionValue {
  std::optional<Ratio> value{};
  std::string fault{};
  std::string unknown{};  // the name nobody has defined, if that is the fault
};

// + - * / ( ), numbers, names. No fault can make it run long: nesting and length are limited.
ExpressionValue evaluate(std::string_view expression, const Scope& scope);

// Digits that read back as the same value: a whole number, or else the nearest double.
std::string to_string(const Ratio& ratio);

// A decimal number without a unit, exactly.
std::optional<Ratio> parse_ratio(std::string_view text);

}  // namespace monet::config
