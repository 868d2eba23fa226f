#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace monet {

// Where and how the bytes of a model stop being protobuf.
struct WireFault {
  std::size_t offset = 0;
  std::string message;
};

// Walks the wire format of a model: its fields, and those of the graphs, nodes, attributes and tensors inside.
// None if every field is whole, though the model may still not parse.
std::optional<WireFault> find_wire_fault(std::string_view bytes);

// One field of a message, as it stands on the wire. `content` is that of a length-delimited field, else empty.
struct WireField {
  std::size_t offset = 0;
  std::uint64_t number = 0;
  std::string_view content;
};
// The field at `position`, which moves behind it; none at the end or where the format breaks (then with `fault`).
std::optional<WireField> next_wire_field(std::string_view bytes, std::size_t& position, WireFault& fault);

}  // namespace monet
