#include "monet/base/config_number.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace monet::config {
namespace {

constexpr std::size_t kLongestNumber = 64;  // digits no quantity needs

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Shape {
  std::string digits;  // sign, digits, point, exponent; no underscores
  bool fraction = false, exponent = false, signed_exponent = false, leading_zero = false;
};

// Recognises [sign] digits [. digits] [e [sign] digits], an underscore between two digits; false if it is none of it.
bool recognise(std::string_view text, Shape& shape) {
  std::size_t i = 0;
  std::size_t mantissa = 0;
  const auto digits = [&] {
    std::size_t count = 0;
    for (; i < text.size(); ++i) {
      if (is_digit(text[i])) {
        shape.digits += text[i];
        ++count;
      } else if (text[i] != '_' || count == 0 || i + 1 >= text.size() || !is_digit(text[i + 1])) {
        break;
      }
    }
    return count;
  };
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) {
    if (text[i] == '-') shape.digits += '-';
    ++i;
  }
  const std::size_t start = i;
  mantissa = digits();
  shape.leading_zero = mantissa > 1 && text[start] == '0';
  if (i < text.size() && text[i] == '.') {
    shape.fraction = true;
    shape.digits += '.';
    ++i;
    mantissa += digits();
  }
  if (mantissa == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    shape.exponent = true;
    shape.digits += 'e';
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) {
      shape.signed_exponent = true;
      if (text[i] == '-') shape.digits += '-';
      ++i;
    }
    if (digits() == 0) return false;
  }
  return i == text.size();
}

std::optional<Number> from_double(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  Number number{.value = value};
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::abs(value) <= kExact && std::floor(value) == value) number.whole = static_cast<std::int64_t>(value);
  return number;
}

std::optional<Number> convert(const Shape& shape) {
  const char* begin = shape.digits.data();
  const char* end = begin + shape.digits.size();
  if (!shape.fraction && !shape.exponent) {
    std::int64_t whole = 0;
    const auto [stop, error] = std::from_chars(begin, end, whole);
    if (error == std::errc{} && stop == end) return Number{.value = static_cast<double>(whole), .whole = whole};
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range && shape.digits.find("e-") != std::string::npos)
    return Number{.value = 0};
  if (error != std::errc{} || stop != end) return std::nullopt;
  return from_double(value);
}

std::optional<Number> based(std::string_view digits, int base, bool negative) {
  std::string plain;
  for (const char c : digits)
    if (c != '_') plain += c;
  std::int64_t whole = 0;
  const auto [stop, error] = std::from_chars(plain.data(), plain.data() + plain.size(), whole, base);
  if (error != std::errc{} || stop != plain.data() + plain.size() || whole < 0) return std::nullopt;
  if (negative) whole = -whole;
  return Number{.value = static_cast<double>(whole), .whole = whole};
}

// PyYAML takes a leading zero for base 8; 08 is text to it.
NumberReading octal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.find_first_of("89") != std::string_view::npos) return {.fault = "a leading zero makes this text to PyYAML"};
  const std::optional<Number> number = based(text, 8, negative);
  if (!number) return {.fault = "too large"};
  return {.number = number,
          .warning = fmt::format("the leading zero makes this octal, {}, as PyYAML reads it", number->whole.value())};
}

}  // namespace

NumberReading read_number(std::string_view text, Dialect dialect) {
  if (text.size() > kLongestNumber) return {.fault = "too long for a number"};
  if (text.starts_with("0x") || text.starts_with("0X")) {
    const std::optional<Number> number = based(text.substr(2), 16, false);
    if (!number) return {.fault = "no hexadecimal number that fits in 64 bits"};
    return {.number = number};
  }
  Shape shape;
  if (!recognise(text, shape)) {
    if (text.find(':') != std::string_view::npos && dialect == Dialect::PyYaml)
      return {.fault = "YAML 1.1 would read digits with colons in base 60"};
    return {.fault = "not a number"};
  }
  if (shape.leading_zero && !shape.fraction && !shape.exponent && dialect == Dialect::PyYaml) return octal(text);
  if (shape.leading_zero && dialect == Dialect::Strict)
    return {.fault = "a leading zero is octal to some readers and not to others: leave it out"};
  NumberReading reading{.number = convert(shape)};
  if (!reading.number) return {.fault = "too large"};
  if (dialect == Dialect::PyYaml && shape.exponent && !(shape.fraction && shape.signed_exponent))
    reading.warning = "PyYAML reads this as text: an exponent needs a point before and a sign in it (1.0e+3)";
  return reading;
}

std::string shortest(double value) {
  std::string text = fmt::format("{}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

}  // namespace monet::config
