#include "monet/onnx/tensor_data.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>

#include "monet/onnx/findings.h"

namespace monet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostTensorElements = std::int64_t{1} << 48;

Shape checked_dims(const pb::TensorProto& tensor) {
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw ModelError(fmt::format("dims {} hold a negative size", to_string(shape)));
    if (extent > 0 && extent > kMostTensorElements / product)
      throw ModelError(fmt::format("dims {} have more than 2^48 elements", to_string(shape)));
    if (extent > 0) product *= extent;
  }
  return shape;
}

// Entries the typed list of this element type must have, and has.
struct TypedList {
  std::int64_t wanted = 0, found = 0;
};
TypedList typed_list(const pb::TensorProto& tensor, Element element, std::int64_t count) {
  switch (element) {
    case Element::F32: return {count, tensor.float_data_size()};
    case Element::F64: return {count, tensor.double_data_size()};
    case Element::I64: return {count, tensor.int64_data_size()};
    case Element::U64:
    case Element::U32: return {count, tensor.uint64_data_size()};
    case Element::I4:
    case Element::U4: return {(count + 1) / 2, tensor.int32_data_size()};
    default: return {count, tensor.int32_data_size()};
  }
}

std::uint64_t byte_count(std::int64_t count, Element element) {
  return (static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(bits(element)) + 7) / 8;
}

std::uint64_t parse_size(const std::string& text, const char* key) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw ModelError(fmt::format("external data: {} '{}' is no size", key, text));
  return value;
}

void locate_outside(Stored& stored, const fs::path& folder, std::uint64_t bytes) {
  std::string location;
  std::optional<std::uint64_t> length;
  for (const auto& entry : stored.proto->external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") stored.offset = parse_size(entry.value(), "offset");
    if (entry.key() == "length") length = parse_size(entry.value(), "length");
  }
  if (location.empty()) throw ModelError("external data without a location");
  const fs::path relative(location);
  bool escapes = relative.is_absolute() || location.find('\0') != std::string::npos;
  for (const fs::path& part : relative) escapes |= part == "..";
  if (escapes)
    throw ModelError(fmt::format("external data location '{}' leaves the model's folder", location),
                     "only relative paths below the model's folder are read");
  if (length && *length != bytes)
    throw ModelError(
        fmt::format("external data has length {}, dims {} need {}", *length, to_string(stored.shape), bytes));
  stored.file = folder / relative;
  std::error_code error;
  const fs::file_status status = fs::status(stored.file, error);
  if (!fs::exists(status)) {
    stored.place = Stored::Place::Missing;
    return;
  }
  if (!fs::is_regular_file(status)) throw ModelError(fmt::format("external data '{}' is no file", location));
  const std::uint64_t size = fs::file_size(stored.file, error);
  if (error) throw ModelError(fmt::format("external data '{}' cannot be read", location));
  if (stored.offset > size || bytes > size - stored.offset)
    throw ModelError(fmt::format("external data at bytes {} to {} lies beyond the end of '{}' ({} bytes)",
                                 stored.offset, static_cast<double>(stored.offset) + static_cast<double>(bytes),
                                 location, size));
  stored.place = Stored::Place::Outside;
}

// ---- Narrow formats ----

double small_float(unsigned bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1.0 : 1.0;
  const bool top = exponent == (1 << exponent_bits) - 1;
  if (top && has_infinity)
    return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (top && mantissa == (1 << mantissa_bits) - 1) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

double from_bits(std::uint64_t raw, Element element) {
  switch (element) {
    case Element::F64: return std::bit_cast<double>(raw);
    case Element::F32: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(raw)));
    case Element::F16: return small_float(static_cast<unsigned>(raw), 5, 10, true);
    case Element::BF16: return small_float(static_cast<unsigned>(raw), 8, 7, true);
    case Element::F8E4M3: return small_float(static_cast<unsigned>(raw), 4, 3, false);
    case Element::F8E5M2: return small_float(static_cast<unsigned>(raw), 5, 2, true);
    case Element::I64: return static_cast<double>(static_cast<std::int64_t>(raw));
    case Element::I32: return static_cast<double>(static_cast<std::int32_t>(raw));
    case Element::I16: return static_cast<double>(static_cast<std::int16_t>(raw));
    case Element::I8: return static_cast<double>(static_cast<std::int8_t>(raw));
    case Element::I4: return static_cast<double>((raw & 7)) - static_cast<double>(raw & 8);
    case Element::Bool:
    case Element::Bit: return raw ? 1 : 0;
    case Element::U64:
    case Element::U32:
    case Element::U16:
    case Element::U8:
    case Element::U4: return static_cast<double>(raw);
  }
  return 0;
}

std::vector<double> from_bytes(std::string_view bytes, Element element, std::size_t count) {
  std::vector<double> out(count);
  const auto width = static_cast<std::size_t>(bits(element));
  for (std::size_t i = 0; i < count; ++i) {
    if (width == 4) {
      const auto byte = static_cast<unsigned char>(bytes[i / 2]);
      out[i] = from_bits(i % 2 == 0 ? byte & 15u : byte >> 4u, element);
      continue;
    }
    std::uint64_t raw = 0;  // little endian, whatever the machine
    for (std::size_t b = 0; b < width / 8; ++b)
      raw |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i * (width / 8) + b])) << (8 * b);
    out[i] = from_bits(raw, element);
  }
  return out;
}

std::vector<double> from_typed(const pb::TensorProto& tensor, Element element, std::size_t count) {
  const auto copy = [](const auto& list) { return std::vector<double>(list.begin(), list.end()); };
  switch (element) {
    case Element::F32: return copy(tensor.float_data());
    case Element::F64: return copy(tensor.double_data());
    case Element::I64: return copy(tensor.int64_data());
    case Element::U64:
    case Element::U32: return copy(tensor.uint64_data());
    default: break;
  }
  std::vector<double> out(count);
  const std::uint64_t mask = (std::uint64_t{1} << bits(element)) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const bool packed = bits(element) == 4;
    auto raw = static_cast<std::uint64_t>(tensor.int32_data(static_cast<int>(packed ? i / 2 : i)));
    if (packed && i % 2 == 1) raw >>= 4;
    out[i] = from_bits(raw & mask, element);
  }
  return out;
}

}  // namespace

Element element_of(std::int32_t data_type) {
  switch (data_type) {
    case 1: return Element::F32;
    case 2: return Element::U8;
    case 3: return Element::I8;
    case 4: return Element::U16;
    case 5: return Element::I16;
    case 6: return Element::I32;
    case 7: return Element::I64;
    case 9: return Element::Bool;
    case 10: return Element::F16;
    case 11: return Element::F64;
    case 12: return Element::U32;
    case 13: return Element::U64;
    case 16: return Element::BF16;
    case 17: return Element::F8E4M3;
    case 19: return Element::F8E5M2;
    case 21: return Element::U4;
    case 22: return Element::I4;
    case 0: throw ModelError("the element type is not given");
    case 8: throw ModelError("strings are not supported");
    case 14:
    case 15: throw ModelError("complex numbers are not supported");
    default: throw ModelError(fmt::format("element type {} is not supported", data_type));
  }
}

std::int32_t data_type_of(Element element) {
  switch (element) {
    case Element::F32: return 1;
    case Element::U8: return 2;
    case Element::I8: return 3;
    case Element::U16: return 4;
    case Element::I16: return 5;
    case Element::I32: return 6;
    case Element::I64: return 7;
    case Element::Bool:
    case Element::Bit: return 9;
    case Element::F16: return 10;
    case Element::F64: return 11;
    case Element::U32: return 12;
    case Element::U64: return 13;
    case Element::BF16: return 16;
    case Element::F8E4M3: return 17;
    case Element::F8E5M2: return 19;
    case Element::U4: return 21;
    case Element::I4: return 22;
  }
  return 0;
}

Stored inspect(const pb::TensorProto& tensor, const fs::path& folder) {
  Stored stored{.proto = &tensor,
                .shape = checked_dims(tensor),
                .element = element_of(tensor.data_type()),
                .place = Stored::Place::Inside,
                .file = {},
                .offset = 0};
  if (tensor.has_segment()) throw ModelError("tensors stored in segments are not supported");
  const std::int64_t count = elements(stored.shape);
  const std::uint64_t bytes = byte_count(count, stored.element);
  if (tensor.data_location() == pb::TensorProto::EXTERNAL) {
    locate_outside(stored, folder, bytes);
    return stored;
  }
  if (count == 0) return stored;
  if (!tensor.raw_data().empty()) {
    if (tensor.raw_data().size() != bytes)
      throw ModelError(fmt::format("raw_data has {} bytes, dims {} of {} need {}", tensor.raw_data().size(),
                                   to_string(stored.shape), name(stored.element), bytes));
    return stored;
  }
  const TypedList list = typed_list(tensor, stored.element, count);
  if (list.found == 0) {
    stored.place = Stored::Place::Cleared;
  } else if (list.found != list.wanted) {
    throw ModelError(
        fmt::format("the data has {} entries, dims {} need {}", list.found, to_string(stored.shape), list.wanted));
  }
  return stored;
}

std::vector<double> decode(const Stored& stored) {
  const auto count = static_cast<std::size_t>(elements(stored.shape));
  if (count == 0) return {};
  if (stored.place == Stored::Place::Outside) {
    std::string bytes(static_cast<std::size_t>(byte_count(elements(stored.shape), stored.element)), '\0');
    std::ifstream in(stored.file, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(stored.offset));
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!in) throw ModelError(fmt::format("external data '{}' cannot be read", stored.file.filename().string()));
    return from_bytes(bytes, stored.element, count);
  }
  if (!stored.proto->raw_data().empty()) return from_bytes(stored.proto->raw_data(), stored.element, count);
  return from_typed(*stored.proto, stored.element, count);
}

}  // namespace monet
