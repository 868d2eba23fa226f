#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/plan/plan.h"

namespace monet {

// The workloads of FuseMax's evaluation (MICRO 2024) as graphs, each with the plan that its authors' mappings describe.
// Heads stand one after the other: they share nothing, and so do the samples of a batch.

struct FusemaxWork {
  Graph graph{};
  plan::Plan plan{};
};

// Attention in one pass over the keys with a running maximum and sum: twelve einsums on score tiles of `side` x `side`.
struct CascadeShape {
  std::int64_t heads = 1, length = 0, head_size = 0;
  std::int64_t side = 256;
  std::int64_t row_blocks = 0;  // score tiles in a column that run together: keys and values are fetched once for them
  bool on_array = true;  // FuseMax: all that is done to scores, on the array and from its registers; else on the lanes
};
FusemaxWork cascade_work(const CascadeShape& shape);

// Score tiles in a column such that queries, running values and one block of keys and values fit the buffer.
std::int64_t row_blocks_of(const CascadeShape& shape, std::int64_t buffer_bytes);

// Attention over whole rows of scores: the softmax of a row in four passes.
struct RowsShape {
  std::int64_t heads = 1, length = 0, head_size = 0;
  std::int64_t rows = 256;  // of a tile
  bool is_fused = true;     // FLAT; else products and softmax one after the other for all heads
};
FusemaxWork rows_work(const RowsShape& shape);

// The six products around attention, one after the other: queries, keys, values, output, and two of the feed-forward
// part.
struct ProductsShape {
  std::int64_t tokens = 0, width = 0, heads_width = 0, hidden = 0;
  std::int64_t buffer_bytes = 0;  // weights that do not fit are fetched for every block of rows
};
FusemaxWork products_work(const ProductsShape& shape);

}  // namespace monet
