#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "monet/schedule/use_index.h"

namespace monet::schedule {

// A set of tiles that gives its highest member at once: bits, and bits that say which words of bits are not zero.
class TileSet {
 public:
  explicit TileSet(std::size_t tiles) {
    for (std::vector<std::uint64_t>& level : levels_) {
      tiles = tiles / 64 + 1;
      level.assign(tiles, 0);
    }
  }

  void insert(std::uint32_t tile) {
    for (std::vector<std::uint64_t>& level : levels_) {
      std::uint64_t& word = level[tile / 64];
      const std::uint64_t bit = std::uint64_t{1} << tile % 64;
      if ((word & bit) != 0) return;
      word |= bit;
      tile /= 64;
    }
  }

  void erase(std::uint32_t tile) {
    for (std::vector<std::uint64_t>& level : levels_) {
      std::uint64_t& word = level[tile / 64];
      word &= ~(std::uint64_t{1} << tile % 64);
      if (word != 0) return;
      tile /= 64;
    }
  }

  // The highest member that is not above this tile, or kNever.
  std::uint32_t highest_up_to(std::uint32_t tile) const {
    for (std::size_t k = 0; k < levels_.size(); ++k) {
      const std::uint64_t word = levels_[k][tile / 64] & (~std::uint64_t{0} >> (63 - tile % 64));
      if (word != 0) {
        tile = tile / 64 * 64 + highest_bit(word);
        while (k-- > 0) tile = tile * 64 + highest_bit(levels_[k][tile]);
        return tile;
      }
      if (tile < 64) return kNever;
      tile = tile / 64 - 1;
    }
    return kNever;
  }

 private:
  static std::uint32_t highest_bit(std::uint64_t word) { return static_cast<std::uint32_t>(std::bit_width(word) - 1); }

  std::array<std::vector<std::uint64_t>, 6> levels_;  // 64^6 tiles and more than there can be
};

}  // namespace monet::schedule
