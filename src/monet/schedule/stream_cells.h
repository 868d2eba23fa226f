#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "monet/schedule/stream.h"
#include "monet/schedule/stream_layers.h"

namespace monet::schedule {

// A tensor that knows for each of its elements which tiles make it, for layers with reshapes between them (T7).
struct CellFault {
  std::string reason;
};

class StreamCells {
 public:
  explicit StreamCells(std::vector<std::int64_t> shape);
  const std::vector<std::int64_t>& shape() const { return shape_; }
  // The tile makes these elements, too.
  void add(const std::vector<StreamRange>& window, std::uint32_t tile);
  void reshape(std::vector<std::int64_t> shape);  // -1: what is left
  void transpose(const std::vector<std::int64_t>& axes);
  void take(std::int64_t axis, const std::vector<std::int64_t>& indices);
  void drop_axis(std::int64_t axis);  // its first element stays
  void prepend_empty(std::int64_t axis, const std::vector<std::int64_t>& shape);
  std::size_t axis_at(std::int64_t axis) const;  // negative ones count from the end
  // The tiles of a window of the first axes; bounds below 0 count from the end, as in numpy.
  std::vector<std::uint32_t> tiles_in(const std::vector<StreamRange>& window) const;

 private:
  std::uint32_t joined(std::uint32_t set, std::uint32_t tile);
  std::size_t count(const std::vector<std::int64_t>& shape) const;

  std::vector<std::int64_t> shape_;
  std::vector<std::uint32_t> cells_;                                       // index of sets_
  std::vector<std::vector<std::uint32_t>> sets_{{}};                       // of tiles
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> next_;  // set with one more tile
};

// What a layer between producer and consumer does to the elements, and to which axes matter.
void pass_on(const StreamLayer& layer, const StreamLayer& next, StreamCells& cells, std::vector<bool>& axes);

}  // namespace monet::schedule
