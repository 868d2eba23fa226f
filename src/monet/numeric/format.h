#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace monet {

constexpr int kBitsPerByte = 8;

enum class Element {
  F64,
  F32,
  F16,
  BF16,
  F8E4M3,
  F8E5M2,
  I64,
  I32,
  I16,
  I8,
  I4,
  U64,
  U32,
  U16,
  U8,
  U4,
  Bool,  // one byte a truth value, as frameworks store it
  Bit,   // one bit a truth value
};

int bits(Element element);
std::string_view name(Element element);
std::optional<Element> element_named(std::string_view name);
bool is_float(Element element);
bool is_truth(Element element);
bool is_integer(Element element);  // neither float nor truth value

// How a tensor's elements are stored. A block format shares `group_bits` bits (its scale) among
// group_rows x group_columns elements of the last two dimensions; the default is no sharing.
struct Format {
  Element element = Element::F32;
  std::uint32_t group_rows = 1;
  std::uint32_t group_columns = 1;
  std::uint32_t group_bits = 0;
  bool operator==(const Format&) const = default;
};

std::string to_string(Format format);  // "f16", "f8e4m3/1x32+8"
std::optional<Format> parse_format(std::string_view text);

// Of one element in a large tensor: a block's shared scale is spread over its elements.
double bits_per_element(Format format);

// Bits of a tensor of this shape. Ragged edges hold whole groups' scales.
std::uint64_t storage_bits(std::span<const std::int64_t> shape, Format format);

}  // namespace monet
