#pragma once
#include <cstdint>
#include <string>

#include "monet/schedule/problem.h"

namespace monet::bench {

// Problems of any size for the scheduler: one training iteration of a chain of equal layers, cut into rows. The forward
// pass reads a row and its neighbours; what it makes is read again by the backward pass, in reverse; weights are
// updated in place.
struct Shape {
  std::string name{};
  std::uint32_t cores = 4;
  std::uint32_t rows = 32;          // tiles of a layer
  bool rows_grow = false;           // more tiles are finer rows of 32 layers, not more layers
  bool is_fused = false;            // 4 layers row by row, not one after the other
  bool has_own_links = false;       // every core to the home and to its neighbours, not one bus
  bool is_one_after_other = false;  // a chain for each core, decided one after the other, not all cores on one
  bool has_late_unit = false;       // one more unit, whose only tile is the last
  bool has_ports = false;         // of every store one to read and one to write; tiles take 4 of 5 cycles of the first
  bool has_mixed_sizes = false;   // rows of a layer are 1 to 4 times as large as those of another
  std::int64_t row_bytes = 4096;  // for rows_grow: of all rows of a layer
  std::int64_t weight_bytes = 16384;
  std::int64_t store_bytes = 0;  // of a core
  std::int64_t home_bytes = 1LL << 40;
};

// About so many tiles.
schedule::Problem training_chain(const Shape& shape, std::uint32_t tiles);

}  // namespace monet::bench
