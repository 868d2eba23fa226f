#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace monet {

// A dense index that remembers what it indexes: a NodeId cannot index tensors.
template <class Tag>
struct Id {
  std::uint32_t value = 0;
  auto operator<=>(const Id&) const = default;
  std::size_t index() const { return value; }
};

template <class Tag>
inline constexpr Id<Tag> kNoId{std::numeric_limits<std::uint32_t>::max()};

}  // namespace monet

template <class Tag>
struct std::hash<monet::Id<Tag>> {
  std::size_t operator()(monet::Id<Tag> id) const noexcept { return id.value; }
};
