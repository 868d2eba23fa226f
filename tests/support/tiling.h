#pragma once
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "monet/base/rng.h"
#include "monet/graph/cut.h"
#include "monet/graph/lower.h"
#include "monet/graph/verify.h"
#include "monet/interpret/combine.h"
#include "monet/interpret/run.h"

// Cuts a node into random tiles, runs each on its parts of the operands alone, and puts the results together.

namespace monet::test {

struct TilingFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_bits(seed_, 0, at_++) % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool coin() { return below(2) == 0; }

 private:
  std::uint64_t seed_, at_ = 0;
};

// Calls f(flat position in the whole, flat position in the box) for each element of a box.
template <class F>
void for_each_element(const Shape& whole_shape, const Region& box, F&& f) {
  const std::int64_t count = elements(box);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    for (std::size_t d = whole_shape.size(); d-- > 0;) {
      const std::int64_t extent = box.axes[d].size();
      at += (rest % extent + box.axes[d].begin) * stride;
      rest /= extent;
      stride *= whole_shape[d];
    }
    f(static_cast<std::size_t>(at), static_cast<std::size_t>(i));
  }
}

template <class T>
Array<T> slice_of(const Array<T>& array, const Region& box) {
  Array<T> part{shape_of(box), std::vector<T>(static_cast<std::size_t>(elements(box)))};
  for_each_element(array.shape, box, [&](std::size_t from, std::size_t to) { part.data[to] = array.data[from]; });
  return part;
}

// One partition of every loop into ranges.
using Partition = std::vector<std::vector<Range>>;

inline std::vector<Range> pieces(std::int64_t size, std::int64_t most, Draw& draw) {
  std::set<std::int64_t> cuts{0, size};
  for (std::int64_t i = draw.below(most); i > 0; --i) cuts.insert(draw.below(size) + (size > 1 ? 0 : 1));
  std::vector<Range> ranges;
  for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) ranges.push_back({*it, *std::next(it)});
  return ranges;
}

inline Partition random_partition(const std::vector<Loop>& loops, bool reductions, Draw& draw) {
  Partition all;
  std::int64_t tiles = 1;
  for (const Loop& loop : loops) {
    const bool open = loop.kind == LoopKind::Parallel || (loop.kind == LoopKind::Reduction && reductions);
    std::vector<Range> ranges{{0, loop.size}};
    if (open && tiles < 200) ranges = pieces(loop.size, 4, draw);
    if (!loop.within.empty() && ranges.size() > 1)  // cut its outer loop into single steps
      for (std::size_t outer = 0; outer < all.size(); ++outer) {
        if (loops[outer].name != loop.within) continue;
        all[outer].clear();
        for (std::int64_t i = 0; i < loops[outer].size; ++i) all[outer].push_back({i, i + 1});
      }
    tiles *= static_cast<std::int64_t>(ranges.size());
    all.push_back(std::move(ranges));
  }
  return all;
}

// Calls f(box) for every box of a partition, those that differ only in reductions one after the other.
template <class F>
void for_each_box(const std::vector<Loop>& loops, const Partition& partition, F&& f) {
  std::vector<std::size_t> order;
  for (const bool reduced : {false, true})
    for (std::size_t i = 0; i < loops.size(); ++i)
      if ((loops[i].kind == LoopKind::Reduction) == reduced) order.push_back(i);
  std::vector<std::size_t> at(loops.size(), 0);
  for (;;) {
    std::vector<Range> box;
    bool first = true;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      box.push_back(partition[i][at[i]]);
      first = first && (loops[i].kind != LoopKind::Reduction || at[i] == 0);
    }
    f(box, first);
    std::size_t d = order.size();
    for (; d > 0; --d) {
      if (++at[order[d - 1]] < partition[order[d - 1]].size()) break;
      at[order[d - 1]] = 0;
    }
    if (d == 0) return;
  }
}

template <class T>
bool same_bits(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

inline std::uint64_t work_of(const Graph& g, const Node& node) {
  const work::Work w = lower(g, node);
  if (const auto* nest = std::get_if<work::LoopNest>(&w)) return macs(*nest);
  return element_operations(std::get<work::VectorWork>(w));
}

// Multiply-accumulates on real elements, padding left out; 0 for vector work.
inline std::uint64_t real_macs(const Graph& g, const Node& node) {
  const work::Work w = lower(g, node);
  const auto* nest = std::get_if<work::LoopNest>(&w);
  if (!nest) return 0;
  std::uint64_t product = 1;
  std::vector<bool> counted(nest->dimensions.size(), false);
  for (const work::Operand& operand : nest->operands)
    for (const work::Axis& axis : operand.axes) {
      if (axis.terms.size() != 2 || nest->dimensions[axis.terms[0].dimension].name == "G") continue;
      const work::Term &o = axis.terms[0], &f = axis.terms[1];
      std::uint64_t pairs = 0;
      for (std::int64_t i = 0; i < nest->dimensions[o.dimension].size; ++i)
        for (std::int64_t j = 0; j < nest->dimensions[f.dimension].size; ++j) {
          const std::int64_t at = axis.offset + o.coefficient * i + f.coefficient * j;
          pairs += at >= 0 && at < axis.extent;
        }
      product *= pairs;
      counted[o.dimension] = counted[f.dimension] = true;
    }
  for (std::size_t d = 0; d < counted.size(); ++d)
    if (!counted[d]) product *= static_cast<std::uint64_t>(nest->dimensions[d].size);
  return product;
}

inline bool is_data_gradient(const Op& op) {
  const Conv* conv = std::get_if<Conv>(&op);
  return conv && conv->kind == ConvKind::DataGradient;
}
// Tiles that gather from windows or copies read neighbours' operands too, and lower counts work by these.
inline bool repeats_work(const Op& op) {
  return std::holds_alternative<PoolGradient>(op) || std::holds_alternative<PadGradient>(op);
}

template <class T>
class Tiling {
 public:
  // `inputs` are the node's whole operands, null where absent.
  Tiling(const Graph& g, const Node& node, std::vector<const Array<T>*> inputs)
      : g_(g), node_(node), inputs_(std::move(inputs)), loops_(loops_of(g, node)) {
    std::vector<const Tensor*> outputs;
    for (const TensorId t : node.outputs) outputs.push_back(t == kNoTensor ? nullptr : &g[t]);
    whole_ = evaluate<T>(node.op, inputs_, outputs, kStep);
  }

  void check(bool reductions, Draw& draw) {
    const Partition partition = random_partition(loops_, reductions, draw);
    std::vector<Array<T>> made = whole_;
    std::vector<std::vector<int>> written;
    for (Array<T>& a : made) {
      written.emplace_back(a.data.size(), 0);
      std::fill(a.data.begin(), a.data.end(), T{-77});
    }
    std::uint64_t work = 0, real = 0;
    bool combines = false;
    double added = 0;  // magnitudes that a sum of parts takes in
    scale_ = 1;
    Partial<T> total;
    std::vector<std::optional<Region>> regions;
    const auto store = [&] {
      for (std::size_t o = 0; o < made.size(); ++o) {
        if (node_.outputs[o] == kNoTensor || !regions[o]) continue;
        for_each_element(made[o].shape, *regions[o], [&](std::size_t to, std::size_t from) {
          made[o].data[to] = total.values[o].data[from];
          ++written[o][to];
        });
      }
    };
    for_each_box(loops_, partition, [&](const std::vector<Range>& box, bool first) {
      const Cut part = cut(g_, node_, box);
      const Graph tile = alone(g_, node_, part);
      for (const std::string& fault : faults(tile)) fail("the tile is not sound: " + fault);
      work += work_of(tile, tile.nodes[0]);
      real += real_macs(tile, tile.nodes[0]);
      std::vector<Array<T>> results = run_tile(part, nullptr);
      if (part.combine.kind == CombineKind::None) {
        if (!first) fail("a box of a cut reduction says that it is whole");
        total = {std::move(results), 1};
        regions = part.outputs;
        return store();
      }
      combines = true;
      if (first) {
        if (total.count > 0) store();
        total = {};
      } else if (regions != part.outputs) {
        fail("parts of a reduction write to different places");
      }
      regions = part.outputs;
      combine(part.combine, results, total);
      double most = 0;
      for (const Array<T>& result : results)
        for (const T v : result.data)
          if (std::isfinite(v)) most = std::max(most, std::abs(static_cast<double>(v)));
      added = first ? most : added + most;
      scale_ = std::max(scale_, added);
    });
    if (combines) store();
    compare(made, written, combines);
    check_work(work, real, combines, partition);
  }

  // Along each axis, the first and the last position of what a tile reads of `operand` must matter to it, unless
  // there is only one.
  void check_tight(std::size_t operand, Draw& draw) {
    std::vector<Range> box;
    const Partition partition = random_partition(loops_, true, draw);
    for (const std::vector<Range>& ranges : partition)
      box.push_back(ranges[static_cast<std::size_t>(draw.below(std::ssize(ranges)))]);
    const Cut part = cut(g_, node_, box);
    if (!part.inputs[operand]) return;
    const Region& region = *part.inputs[operand];
    const std::vector<Array<T>> normal = run_tile(part, nullptr);
    const auto matters = [&](const Region& slab) {  // in the region's own positions
      Array<T> poisoned = slice_of(*inputs_[operand], region);
      for_each_element(poisoned.shape, slab,
                       [&](std::size_t at, std::size_t) { poisoned.data[at] = std::numeric_limits<T>::quiet_NaN(); });
      const std::pair<std::size_t, const Array<T>*> instead{operand, &poisoned};
      const std::vector<Array<T>> other = run_tile(part, &instead);
      for (std::size_t o = 0; o < normal.size(); ++o)
        for (std::size_t i = 0; i < normal[o].data.size(); ++i)
          if (!same_bits(normal[o].data[i], other[o].data[i])) return true;
      return false;
    };
    bool single = false;  // one position along an axis may stand for none
    for (const Range& r : region.axes) single = single || r.size() == 1;
    if (single && !matters(whole(shape_of(region)))) return;
    for (std::size_t axis = 0; axis < region.axes.size(); ++axis) {
      if (region.axes[axis].size() == 1) continue;
      for (const bool last : {false, true}) {
        Region slab = whole(shape_of(region));
        slab.axes[axis] = last ? Range{slab.axes[axis].end - 1, slab.axes[axis].end} : Range{0, 1};
        if (!matters(slab))
          fail("operand " + std::to_string(operand) + " axis " + std::to_string(axis) + ": its " +
               (last ? "last" : "first") + " position is not read");
      }
    }
  }

  const std::vector<Loop>& loops() const { return loops_; }

 private:
  static constexpr std::uint64_t kStep = 3;

  [[noreturn]] void fail(const std::string& what) const {
    throw TilingFault(node_.name + " (" + std::string(operator_name(node_.op)) + "): " + what);
  }

  // Results by output of the node; without data where the tile has none.
  std::vector<Array<T>> run_tile(const Cut& part, const std::pair<std::size_t, const Array<T>*>* instead) const {
    std::vector<Array<T>> slices(inputs_.size());
    std::vector<const Array<T>*> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i]) {
        inputs.push_back(nullptr);
        continue;
      }
      if (!part.inputs[i]) continue;
      if (!contains(whole(inputs_[i]->shape), *part.inputs[i]) || elements(*part.inputs[i]) == 0)
        fail("a region lies outside its tensor or is empty");
      slices[i] = slice_of(*inputs_[i], *part.inputs[i]);
      inputs.push_back(instead && instead->first == i ? instead->second : &slices[i]);
    }
    std::vector<Tensor> tensors(part.outputs.size());
    std::vector<const Tensor*> outputs;
    std::vector<std::size_t> places;
    for (std::size_t o = 0; o < part.outputs.size(); ++o) {
      if (node_.outputs[o] != kNoTensor && !part.outputs[o]) continue;
      places.push_back(o);
      outputs.push_back(node_.outputs[o] == kNoTensor ? nullptr : &tensors[o]);
      if (!outputs.back()) continue;
      tensors[o] = g_[node_.outputs[o]];
      tensors[o].shape = shape_of(*part.outputs[o]);
    }
    std::vector<Array<T>> found = evaluate<T>(part.op, inputs, outputs, kStep);
    std::vector<Array<T>> results(part.outputs.size());
    for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(found[i]);
    return results;
  }

  void compare(const std::vector<Array<T>>& made, const std::vector<std::vector<int>>& written, bool combines) const {
    for (std::size_t o = 0; o < made.size(); ++o) {
      for (std::size_t i = 0; i < made[o].data.size(); ++i) {
        if (written[o][i] != 1)
          fail("output " + std::to_string(o) + " element " + std::to_string(i) + " is written " +
               std::to_string(written[o][i]) + " times");
        const T a = made[o].data[i], b = whole_[o].data[i];
        const double tolerance = (std::is_same_v<T, float> ? 1e-6 : 1e-12) * scale_;
        const bool same =
            combines ? same_bits(a, b) || std::abs(static_cast<double>(a) - b) <= tolerance : same_bits(a, b);
        if (!same)
          fail("output " + std::to_string(o) + " element " + std::to_string(i) + " is " + std::to_string(a) + ", not " +
               std::to_string(b) + (combines ? " (combined)" : ""));
      }
    }
  }

  // A data gradient of as many positions as outputs, gathered one by one with the whole kernel.
  bool gathers_alike(const Partition& partition) const {
    const Conv& conv = std::get<Conv>(node_.op);
    const Shape &x = g_[node_.outputs[0]].shape, &y = g_[node_.inputs[0]].shape;
    for (std::size_t i = 0; i < conv.strides.size(); ++i)
      if (conv.strides[i] != 1 || x[i + 2] != y[i + 2]) return false;
    for (std::size_t i = 0; i < loops_.size(); ++i)
      if (loops_[i].name[0] == 'F' && partition[i].size() > 1) return false;
    return true;
  }

  // Parallel cuts share the work among the tiles. Of reductions, each part also finishes its results (means, roots).
  // The tiles of a data gradient may count other padding than the whole, but the same real products.
  void check_work(std::uint64_t work, std::uint64_t real, bool combines, const Partition& partition) const {
    const std::uint64_t whole_work = work_of(g_, node_), whole_real = real_macs(g_, node_);
    if (real != whole_real)
      fail("the tiles do " + std::to_string(real) + " real products, the whole " + std::to_string(whole_real));
    if (is_data_gradient(node_.op)) {
      if (gathers_alike(partition) && work > whole_work)
        fail("the tiles do " + std::to_string(work) + " of work, more than the whole's " + std::to_string(whole_work));
      return;
    }
    const bool nest = whole_real > 0;
    const bool may_exceed = repeats_work(node_.op) || (combines && !nest);
    if (may_exceed ? work < whole_work : work != whole_work)
      fail("the tiles do " + std::to_string(work) + " of work, the whole " + std::to_string(whole_work));
  }

  const Graph& g_;
  const Node& node_;
  std::vector<const Array<T>*> inputs_;
  std::vector<Loop> loops_;
  std::vector<Array<T>> whole_;
  double scale_ = 1;  // of the numbers whose rounding shows in a combined result
};

// Every node of a graph of single works, on the numbers it is run on.
template <class T>
void check_every_node(const Graph& g, std::uint64_t seed, int rounds) {
  RunOptions options{.step = 3, .keep = {}};
  for (std::uint32_t t = 0; t < g.tensors.size(); ++t) options.keep.push_back(TensorId{t});
  const Values<T> sources = initial_values<T>(g, seed);
  const Values<T> values = run<T>(g, sources, options);
  Draw draw(seed);
  for (const Node& node : g.nodes) {
    std::vector<const Array<T>*> inputs;
    for (const TensorId t : node.inputs) inputs.push_back(t == kNoTensor ? nullptr : &values.at(g[t].name));
    Tiling<T> tiling(g, node, inputs);
    for (int i = 0; i < rounds; ++i) {
      tiling.check(false, draw);
      tiling.check(true, draw);
    }
  }
}

}  // namespace monet::test
