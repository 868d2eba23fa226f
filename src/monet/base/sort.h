#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace monet {

// Sorts by a number that is not negative, equals in the order in which they come: digit by digit, in a fixed number of
// passes. `key` gives a double.
template <class T, class Key>
void sort_by_number(std::vector<T>& items, const Key& key) {
  constexpr unsigned kBits = 11, kDigits = (64 + kBits - 1) / kBits;
  constexpr std::size_t kValues = std::size_t{1} << kBits;
  // Doubles that are not negative are in the order of their bits; + 0.0 makes 0 of -0.
  const auto digit = [&](const T& item, unsigned d) {
    return (std::bit_cast<std::uint64_t>(key(item) + 0.0) >> (d * kBits)) & (kValues - 1);
  };
  std::vector<std::array<std::uint32_t, kValues>> counts(kDigits);
  for (const T& item : items)
    for (unsigned d = 0; d < kDigits; ++d) ++counts[d][digit(item, d)];
  std::vector<T> other(items.size());
  for (unsigned d = 0; d < kDigits; ++d) {
    // Whole numbers have the same last digits, and times of one schedule the same first ones.
    if (!items.empty() && counts[d][digit(items.front(), d)] == items.size()) continue;
    std::uint32_t place = 0;
    for (std::uint32_t& count : counts[d]) place += std::exchange(count, place);
    for (const T& item : items) other[counts[d][digit(item, d)]++] = item;
    items.swap(other);
  }
}

}  // namespace monet
