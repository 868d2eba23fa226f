#pragma once
#include <cstdint>

#include "monet/graph/graph.h"
#include "monet/schedule/tiling.h"

namespace monet::schedule {

// What tiling.cpp knows of a tile before there are blocks.

// A box of a storage that a tile reads or writes.
struct Piece {
  TensorId root{};
  std::uint32_t first_range = 0;
  std::uint8_t slot = 0;
  bool reads = false, writes = false, flows = false;
  bool streams = false;  // it flows through the store, a few words at a time
};

// A block that a tile reads or writes.
struct Touch {
  std::uint32_t block = 0;
  std::uint8_t slot = 0;       // of the write, where it is both
  std::uint8_t read_slot = 0;  // then
  bool reads = false, writes = false, flows = false;
  bool at_lanes = false, streams = false;
};

struct Drafted {
  TileInfo info{};
  std::uint32_t first_piece = 0, pieces = 0;
  std::uint32_t first_touch = 0, touches = 0;
  std::uint32_t first_sum = 0, sums = 0;  // places of sums that it reads or writes
};

struct SumTouch {
  std::uint32_t sum = 0;  // of all places of sums
  bool reads = false, writes = false;
};
struct SumPlace {
  TensorId tensor{};
  std::uint32_t first_range = 0;
  double bytes = 0;
};

}  // namespace monet::schedule
