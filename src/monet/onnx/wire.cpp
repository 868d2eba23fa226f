#include "monet/onnx/wire.h"

#include <fmt/format.h>

#include <cstdint>

// The protobuf library only says that parsing failed. Users with a truncated download want to know where.

namespace monet {
namespace {

// The message types of ONNX worth descending into; Leaf is everything else.
enum class Message { Model, Graph, Node, Attribute, Tensor, Function, ValueInfo, Leaf };

Message inside(Message message, std::uint64_t field) {
  switch (message) {
    case Message::Model: return field == 7 ? Message::Graph : field == 25 ? Message::Function : Message::Leaf;
    case Message::Graph:
      return field == 1                 ? Message::Node
             : field == 5               ? Message::Tensor
             : field > 10 && field < 14 ? Message::ValueInfo
                                        : Message::Leaf;
    case Message::Node: return field == 5 ? Message::Attribute : Message::Leaf;
    case Message::Attribute:
      return field == 5 || field == 10 ? Message::Tensor : field == 6 || field == 11 ? Message::Graph : Message::Leaf;
    case Message::Function: return field == 7 ? Message::Node : Message::Leaf;
    case Message::Tensor:
    case Message::ValueInfo:
    case Message::Leaf: break;
  }
  return Message::Leaf;
}

// Base-128 number, low bits first; none if it runs out of bytes or over 64 bits.
std::optional<std::uint64_t> read_varint(std::string_view bytes, std::size_t& position) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (position >= bytes.size()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes[position++]);
    if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<WireFault> walk(std::string_view bytes, std::size_t base, Message message, int depth) {
  constexpr int kDeepest = 100;  // the limit of the protobuf library
  if (depth > kDeepest) return WireFault{base, "messages are nested too deeply"};
  std::size_t position = 0;
  WireFault fault;
  while (const auto field = next_wire_field(bytes, position, fault)) {
    const Message type = inside(message, field->number);
    if (type == Message::Leaf) continue;
    const auto start = static_cast<std::size_t>(field->content.data() - bytes.data());
    if (!field->content.empty())
      if (auto inner = walk(field->content, base + start, type, depth + 1)) return inner;
  }
  if (fault.message.empty()) return std::nullopt;
  fault.offset += base;
  return fault;
}

}  // namespace

std::optional<WireField> next_wire_field(std::string_view bytes, std::size_t& position, WireFault& fault) {
  if (position >= bytes.size()) return std::nullopt;
  const std::size_t start = position;
  const auto fail = [&](std::string message) -> std::optional<WireField> {
    fault = WireFault{start, std::move(message)};
    position = bytes.size();
    return std::nullopt;
  };
  const auto tag = read_varint(bytes, position);
  if (!tag) return fail("the file ends inside a field's tag");
  const std::uint64_t number = *tag >> 3, type = *tag & 7;
  if (number == 0 || number >= (1u << 29)) return fail(fmt::format("no field has the number {}", number));
  const std::size_t left = bytes.size() - position;
  const auto fixed = [&](std::size_t size) -> std::optional<WireField> {
    if (left < size) return fail(fmt::format("field {} needs {} bytes, {} are left", number, size, left));
    position += size;
    return WireField{start, number, {}};
  };
  switch (type) {
    case 0:
      if (!read_varint(bytes, position)) return fail(fmt::format("the number in field {} does not end", number));
      return WireField{start, number, {}};
    case 1: return fixed(8);
    case 5: return fixed(4);
    case 2: {
      const auto size = read_varint(bytes, position);
      if (!size) return fail(fmt::format("the length of field {} does not end", number));
      if (*size > bytes.size() - position)
        return fail(fmt::format("field {} claims {} bytes, {} are left", number, *size, bytes.size() - position));
      const WireField field{start, number, bytes.substr(position, static_cast<std::size_t>(*size))};
      position += static_cast<std::size_t>(*size);
      return field;
    }
    default: return fail(fmt::format("field {} has the unknown wire type {}", number, type));
  }
}

std::optional<WireFault> find_wire_fault(std::string_view bytes) { return walk(bytes, 0, Message::Model, 0); }

}  // namespace monet
