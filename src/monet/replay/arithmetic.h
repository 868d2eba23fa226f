#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "monet/graph/cut.h"
#include "monet/interpret/combine.h"
#include "monet/replay/elements.h"
#include "monet/replay/memory.h"
#include "monet/schedule/tiling.h"

namespace monet::replay {

// A block that a tile has while it runs.
struct Touched {
  schedule::BlockId block{};
  schedule::Access access = schedule::Access::Read;
  Held before{};  // what it read, unless it only writes
  Held after{};   // what it writes, unless it only reads
};

// What tiles do, on the numbers of the blocks they have and nothing else.
class Arithmetic {
 public:
  Arithmetic(const Graph& graph, const Storage& storage, const Elements& elements,
             const std::vector<plan::Facts>& facts, const schedule::Tiled& tiled, std::uint64_t step);

  // Fills in `after`. Says why it cannot, and nothing where it can.
  std::string run(std::uint32_t tile, std::vector<Touched>& touched);

  // Tensors whose numbers are kept as tiles make them.
  void keep(TensorId tensor);
  const std::map<TensorId, Array<double>>& kept() const { return kept_; }

  Region box_of(schedule::BlockId block) const;

 private:
  // By output of the node; without data where the tile has none.
  struct Outputs {
    std::vector<std::optional<Region>> regions{};
    Partial<double> made{};
  };
  std::string compute(std::uint32_t tile, const Cut& part, Outputs& out);
  std::string go_on(std::uint32_t tile, const Cut& part, Outputs& out);
  std::string put_together(std::uint32_t tile, const Cut& part, Outputs& out);
  std::string store(std::uint32_t tile, Outputs& out);

  std::string gather(TensorId tensor, const Region& region, std::shared_ptr<const Array<double>>& values,
                     std::int64_t* count = nullptr);
  std::string gather_direct(TensorId root, const Region& region, std::shared_ptr<const Array<double>>& values,
                            std::int64_t* count);
  std::string gather_through_views(TensorId tensor, const Region& region, Array<double>& values);
  std::string scatter(TensorId tensor, const Region& region, const Array<double>& values, std::int64_t count);
  const Touched* has(schedule::BlockId block) const;

  // A tensor spread out whole, with what has been put on it since it was cleared.
  struct Canvas {
    std::vector<double> values{};
    std::vector<std::uint32_t> marks{};
    std::uint32_t now = 0;
    void clear(std::size_t size);
    void put(std::size_t at, double value) {
      values[at] = value;
      marks[at] = now;
    }
    bool has(std::size_t at) const { return marks[at] == now; }
  };

  const Graph& graph_;
  const Storage& storage_;
  const Elements& elements_;
  const std::vector<plan::Facts>& facts_;
  const schedule::Tiled& tiled_;
  std::uint64_t step_;
  std::vector<Touched>* touched_ = nullptr;
  std::vector<std::uint32_t> index_;  // by block: 1 + where it stands in *touched_
  Canvas canvas_;
  std::map<TensorId, Array<double>> kept_;
};

}  // namespace monet::replay
