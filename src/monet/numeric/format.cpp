#include "monet/numeric/format.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace monet {
namespace {

struct ElementFacts {
  Element element;
  std::string_view name;
  int bits;
};

constexpr std::array kElements{
    ElementFacts{Element::F64, "f64", 64},      ElementFacts{Element::F32, "f32", 32},
    ElementFacts{Element::F16, "f16", 16},      ElementFacts{Element::BF16, "bf16", 16},
    ElementFacts{Element::F8E4M3, "f8e4m3", 8}, ElementFacts{Element::F8E5M2, "f8e5m2", 8},
    ElementFacts{Element::I64, "i64", 64},      ElementFacts{Element::I32, "i32", 32},
    ElementFacts{Element::I16, "i16", 16},      ElementFacts{Element::I8, "i8", 8},
    ElementFacts{Element::I4, "i4", 4},         ElementFacts{Element::U64, "u64", 64},
    ElementFacts{Element::U32, "u32", 32},      ElementFacts{Element::U16, "u16", 16},
    ElementFacts{Element::U8, "u8", 8},         ElementFacts{Element::U4, "u4", 4},
    ElementFacts{Element::Bool, "bool", 8},     ElementFacts{Element::Bit, "bit", 1},
};

const ElementFacts& facts(Element element) { return kElements[static_cast<std::size_t>(element)]; }

bool parse_number(std::string_view text, std::uint32_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

int bits(Element element) { return facts(element).bits; }
std::string_view name(Element element) { return facts(element).name; }

std::optional<Element> element_named(std::string_view name) {
  for (const ElementFacts& f : kElements)
    if (f.name == name) return f.element;
  return std::nullopt;
}

bool is_float(Element element) { return element <= Element::F8E5M2; }
bool is_truth(Element element) { return element == Element::Bool || element == Element::Bit; }
bool is_integer(Element element) { return !is_float(element) && !is_truth(element); }

std::string to_string(Format format) {
  if (format.group_bits == 0) return std::string(name(format.element));
  return fmt::format("{}/{}x{}+{}", name(format.element), format.group_rows, format.group_columns, format.group_bits);
}

std::optional<Format> parse_format(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto element = element_named(text.substr(0, slash));
  if (!element) return std::nullopt;
  Format format{.element = *element};
  if (slash == std::string_view::npos) return format;
  const std::string_view group = text.substr(slash + 1);
  const std::size_t x = group.find('x'), plus = group.find('+');
  if (x == std::string_view::npos || plus == std::string_view::npos || plus < x) return std::nullopt;
  if (!parse_number(group.substr(0, x), format.group_rows) ||
      !parse_number(group.substr(x + 1, plus - x - 1), format.group_columns) ||
      !parse_number(group.substr(plus + 1), format.group_bits))
    return std::nullopt;
  constexpr std::uint32_t kWidestScale = 64;  // so that the bits of the largest tensor fit 64 bits
  if (format.group_rows == 0 || format.group_columns == 0 || format.group_bits == 0 || format.group_bits > kWidestScale)
    return std::nullopt;
  return format;
}

double bits_per_element(Format format) {
  const double group = static_cast<double>(format.group_rows) * static_cast<double>(format.group_columns);
  return static_cast<double>(bits(format.element)) + static_cast<double>(format.group_bits) / group;
}

std::uint64_t storage_bits(std::span<const std::int64_t> shape, Format format) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= static_cast<std::uint64_t>(extent);
  std::uint64_t total = elements * static_cast<std::uint64_t>(bits(format.element));
  if (format.group_bits == 0 || elements == 0) return total;
  const std::uint64_t columns = shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back());
  const std::uint64_t rows = shape.size() < 2 ? 1 : static_cast<std::uint64_t>(shape[shape.size() - 2]);
  const std::uint64_t groups = ((rows + format.group_rows - 1) / format.group_rows) *
                               ((columns + format.group_columns - 1) / format.group_columns);
  return total + elements / (rows * columns) * groups * format.group_bits;
}

}  // namespace monet
