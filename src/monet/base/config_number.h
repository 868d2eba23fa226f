#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "monet/base/config.h"

namespace monet::config {

// How scalars and repeated keys are understood.
enum class Dialect {
  Strict,  // ours: repeated keys and leading zeros are errors, truth values are true and false
  PyYaml,  // YAML 1.1 as PyYAML reads it: the last of equal keys counts, 016 is octal, yes is true; each with a warning
};

struct Number {
  double value = 0;
  std::optional<std::int64_t> whole{};  // where it is exactly one
};

// What a plain scalar says as a number, or why it says none.
struct NumberReading {
  std::optional<Number> number{};
  std::string fault{};    // if there is no number: "leading zeros…"
  std::string warning{};  // if there is one that other readers see differently
};

// Decimal with underscores between digits, fraction and exponent, or hexadecimal. Never infinite, never NaN.
NumberReading read_number(std::string_view text, Dialect dialect);

// The fewest digits that read back as the same double; whole numbers without a point.
std::string shortest(double value);

}  // namespace monet::config
