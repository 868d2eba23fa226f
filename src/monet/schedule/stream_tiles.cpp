#include "monet/schedule/stream_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "monet/schedule/stream_edges.h"

namespace monet::schedule {
namespace {

constexpr std::size_t kMostStreamTiles = 4'000'000;

std::vector<std::int64_t> sizes_of(const StreamLayer& layer) {
  std::vector<std::int64_t> sizes;
  for (const work::Dimension& d : layer.dimensions) sizes.push_back(d.size);
  return sizes;
}

std::size_t dimension_named(const StreamLayer& layer, std::string_view name) {
  const auto at = std::find_if(layer.dimensions.begin(), layer.dimensions.end(),
                               [&](const work::Dimension& d) { return d.name == name; });
  return static_cast<std::size_t>(at - layer.dimensions.begin());
}

std::int64_t parts(const StreamCuts& cuts) {
  std::int64_t product = 1;
  for (const auto& [d, factor] : cuts)
    if (__builtin_mul_overflow(product, factor, &product)) throw StreamStop{"a layer is cut into too many tiles"};
  return product;
}

// ---- (T2, T3) How layers are cut ----

const cost::Allocation* allocation_named(const cost::MappingFile& mapping, const std::string& name) {
  for (const cost::Allocation& a : mapping.allocations)
    if (a.name == name) return &a;
  return nullptr;
}

class Cutter {
 public:
  Cutter(const StreamLayer& layer, StreamMode mode) : layer_(layer), mode_(mode) {
    cut_.layer = layer.id;
    cut_.sizes = sizes_of(layer);
  }

  StreamTiledLayer run(const cost::MappingFile& mapping, bool is_alone) {
    const cost::Allocation empty;
    const cost::Allocation* otherwise = allocation_named(mapping, "default");
    const cost::Allocation* entry = allocation_named(mapping, layer_.name);
    if (!entry) entry = allocation_named(mapping, layer_.operator_type);
    if (!otherwise) otherwise = &empty;
    if (!entry) entry = otherwise;
    set_cores(*entry);
    cut_.is_alone = is_alone;
    set_intra(entry->intra_core.empty() ? otherwise->intra_core : entry->intra_core);
    if (is_alone) cut_.intra.clear();
    set_inter(entry->inter_core.empty() ? otherwise->inter_core : entry->inter_core);
    return cut_;
  }

 private:
  [[noreturn]] void stop(std::string_view reason) const {
    throw StreamStop{fmt::format("layer {} '{}': {}", layer_.id, layer_.name, reason)};
  }

  void set_cores(const cost::Allocation& entry) {
    if (entry.cores.empty()) {
      cut_.cores = {0};
      return;
    }
    if (entry.cores.size() != 1) stop("its cores are given in several groups, as files of 2026 do");
    cut_.cores = entry.cores[0];
  }

  void set_intra(const std::vector<cost::Tiling>& given) {
    std::optional<std::int64_t> last;
    for (const cost::Tiling& tiling : given) {
      const std::size_t d = dimension_named(layer_, tiling.dimension);
      if (d == cut_.sizes.size()) continue;
      std::int64_t& size = cut_.sizes[d];
      if (!tiling.factor || size < *tiling.factor) {
        last = size;
      } else if (*tiling.factor < 1) {
        stop("a tiling factor is not positive");
      } else if (size % *tiling.factor != 0) {
        size = (size / *tiling.factor + 1) * *tiling.factor;
        last = tiling.factor;
      } else {
        // Stream forgets to take over a factor that divides: it keeps that of the entry before, or stops without one.
        last = last.value_or(*tiling.factor);
      }
      cut_.intra.emplace_back(d, *last);
    }
    if (cut_.intra.empty() && mode_ == StreamMode::Fused) cut_.intra.push_back(default_intra());
  }

  std::pair<std::size_t, std::int64_t> default_intra() const {
    const bool along_rows = layer_.type == "conv" || layer_.type == "pooling",
               along_d =
                   layer_.type == "matmul" || layer_.type == "gemm" || layer_.type == "add" || layer_.type == "mul";
    std::size_t d = dimension_named(layer_, along_rows ? "OY" : along_d ? "D" : "K");
    if (d == cut_.sizes.size())
      for (d = 0; d < cut_.sizes.size(); ++d)
        if (layer_.dimensions[d].name != "B" && layer_.dimensions[d].name != "G") break;
    if (d == cut_.sizes.size()) stop("it has no dimension to cut along");
    return {d, std::min<std::int64_t>(2, cut_.sizes[d])};
  }

  void set_inter(const std::vector<cost::Tiling>& given) {
    for (const cost::Tiling& tiling : given) {
      const std::size_t d = dimension_named(layer_, tiling.dimension);
      if (d == cut_.sizes.size()) continue;
      if (!tiling.factor) stop("over how many cores it is cut is left open (*): that takes Stream's optimiser");
      if (*tiling.factor < 1) stop("a tiling factor is not positive");
      cut_.inter.emplace_back(d, std::min(*tiling.factor, cut_.sizes[d]));
    }
    if (cut_.inter.empty()) {
      std::size_t dimension = 0;
      for (const std::string_view name : {"K", "H", "G"})
        if (const std::size_t d = dimension_named(layer_, name); d < cut_.sizes.size() && cut_.sizes[d] > 1)
          dimension = d;
      cut_.inter.emplace_back(dimension, 1);
    }
    if (cut_.inter.size() > 1) stop("it is cut along more than one dimension over cores");
  }

  const StreamLayer& layer_;
  StreamMode mode_;
  StreamTiledLayer cut_;
};

// ---- (T4) Tiles ----

template <class T>
std::uint32_t index_of(std::vector<T>& list, const T& value) {
  const auto at = std::find(list.begin(), list.end(), value);
  if (at == list.end()) {
    list.push_back(value);
    return static_cast<std::uint32_t>(list.size() - 1);
  }
  return static_cast<std::uint32_t>(at - list.begin());
}

std::string slot_name(hardware::Slot slot) {
  return slot == hardware::Slot::Input ? "I1" : slot == hardware::Slot::Weight ? "I2" : "O";
}

class LayerTiler {
 public:
  LayerTiler(const StreamLayer& layer, StreamTiledLayer& cut, StreamProblem& problem)
      : layer_(layer), cut_(cut), p_(problem), loops_(cut.inter) {
    loops_.insert(loops_.end(), cut.intra.begin(), cut.intra.end());
    whole_ = cut.sizes;
    for (std::size_t d = 0; d < whole_.size(); ++d) {
      const std::int64_t along = times(d);
      whole_[d] = (whole_[d] + along - 1) / along * along;
    }
    cut_.tile_sizes = whole_;
    for (std::size_t d = 0; d < whole_.size(); ++d) cut_.tile_sizes[d] /= times(d);
    for (const work::Dimension& d : layer.dimensions) names_.push_back(index_of(p_.dimensions, d.name));
    for (const StreamRelation& r : layer.relations) names_.push_back(index_of(p_.dimensions, r.name));
    for (const StreamLayerOperand& o : layer.operands) {
      operands_.push_back(index_of(p_.operands, o.name));
      slots_.push_back(index_of(p_.slots, slot_name(o.slot)));
    }
    set_reuse();
  }

  // The group of each tile: those of a group run on the same core, one after the other.
  void run(std::vector<std::uint32_t>& groups) {
    const std::int64_t count = parts(loops_);
    if (p_.tiles.size() + static_cast<std::size_t>(count) > kMostStreamTiles)
      throw StreamStop{"there are too many tiles"};
    cut_.first = static_cast<std::uint32_t>(p_.tiles.size());
    cut_.tiles = static_cast<std::uint32_t>(count);
    for (std::int64_t n = 0; n < count; ++n) {
      const std::vector<StreamRange> ranges = ranges_of(n);
      const std::uint32_t group = group_of(ranges);
      if (group >= cut_.cores.size())
        throw StreamStop{fmt::format("layer {} '{}': tiles of more groups than cores", layer_.id, layer_.name)};
      groups.push_back(group);
      add_tile(n, ranges, static_cast<std::uint32_t>(cut_.cores[group]));
    }
  }

 private:
  std::int64_t times(std::size_t d) const {
    std::int64_t product = 1;
    for (const auto& [dimension, factor] : loops_)
      if (dimension == d && __builtin_mul_overflow(product, factor, &product))
        throw StreamStop{"a layer is cut into too many tiles"};
    return product;
  }

  // Constants are used once for every part of a loop they do not change along.
  void set_reuse() {
    const std::vector<std::int64_t> original = sizes_of(layer_);
    for (const StreamLayerOperand& o : layer_.operands) {
      std::int64_t reuse = 1;
      for (const std::size_t d : irrelevant_dimensions(layer_, o, original)) reuse *= times(d);
      reuse_.push_back(reuse);
    }
    of_sums_ = irrelevant_dimensions(layer_, layer_.operands[0], original);
  }

  // Of the dimensions, then of the relations.
  std::vector<StreamRange> ranges_of(std::int64_t n) const {
    std::vector<StreamRange> ranges;
    for (const std::int64_t size : cut_.tile_sizes) ranges.push_back({0, size});
    std::vector<std::int64_t> span = cut_.tile_sizes;
    for (const auto& [d, factor] : loops_) {
      const std::int64_t from = n % factor * span[d];
      ranges[d].begin += from;
      ranges[d].end += from;
      span[d] *= factor;
      n /= factor;
    }
    for (const StreamRelation& r : layer_.relations)
      ranges.push_back({r.step_a * ranges[r.a].begin + r.step_b * ranges[r.b].begin - r.padding,
                        r.step_a * (ranges[r.a].end - 1) + r.step_b * (ranges[r.b].end - 1) - r.padding + 1});
    return ranges;
  }

  std::uint32_t group_of(const std::vector<StreamRange>& ranges) {
    std::vector<StreamRange> key;
    for (const auto& [d, factor] : cut_.inter) {
      std::int64_t within = 1;
      for (const auto& [dimension, times] : cut_.intra)
        if (dimension == d) {
          within = times;
          break;
        }
      const std::int64_t span = std::max<std::int64_t>(1, whole_[d] / within);
      key.push_back({ranges[d].begin % span, ranges[d].end % span});
    }
    return groups_.emplace(std::move(key), static_cast<std::uint32_t>(groups_.size())).first->second;
  }

  void add_tile(std::int64_t n, const std::vector<StreamRange>& ranges, std::uint32_t core) {
    const auto index = static_cast<std::uint32_t>(p_.tiles.size());
    StreamTile& tile = p_.tiles.emplace_back();
    tile.layer = layer_.id;
    tile.sub = n;
    tile.core = core;
    for (std::size_t i = 0; i < ranges.size(); ++i) tile.ranges.emplace_back(names_[i], ranges[i]);
    for (const auto& [d, factor] : cut_.intra) tile.intra.push_back(names_[d]);
    tile.split = parts(cut_.inter);
    tile.is_final =
        std::all_of(of_sums_.begin(), of_sums_.end(), [&](std::size_t d) { return ranges[d].end >= cut_.sizes[d]; });
    for (const std::size_t c : layer_.constants) tile.constants.push_back(static_cast<std::uint32_t>(c));
    for (std::size_t i = 0; i < layer_.operands.size(); ++i) {
      const StreamLayerOperand& o = layer_.operands[i];
      tile.operands.push_back({.operand = operands_[i],
                               .slot = slots_[i],
                               .tensor = tensor(index, i, ranges),
                               .is_constant = o.is_constant || o.is_partly_constant});
    }
  }

  std::uint32_t tensor(std::uint32_t owner, std::size_t operand, const std::vector<StreamRange>& ranges) {
    const StreamLayerOperand& o = layer_.operands[operand];
    std::vector<StreamRange> key;
    for (const std::size_t axis : o.axes) key.push_back(ranges[axis]);
    const auto next = static_cast<std::uint32_t>(p_.tensors.size());
    const auto [at, is_new] = tensors_.emplace(std::pair(operand, key), next);
    if (!is_new) return at->second;
    std::int64_t bits = o.bits;
    for (const StreamRange& range : key)
      if (__builtin_mul_overflow(bits, range.end - range.begin, &bits)) throw StreamStop{"a tensor is too large"};
    StreamTensor& t = p_.tensors.emplace_back();
    t.owner = owner;
    t.operand = operands_[operand];
    t.content = next;
    t.bits = bits;
    for (const std::size_t axis : o.axes) t.dimensions.push_back(names_[axis]);
    t.ranges = std::move(key);
    if (o.is_constant || o.is_partly_constant) t.base_priority = reuse_[operand];
    return next;
  }

  const StreamLayer& layer_;
  StreamTiledLayer& cut_;
  StreamProblem& p_;
  StreamCuts loops_;                 // inner to outer
  std::vector<std::int64_t> whole_;  // sizes that the loops divide
  std::vector<std::uint32_t> names_, operands_, slots_;
  std::vector<std::int64_t> reuse_;
  std::vector<std::size_t> of_sums_;
  std::map<std::vector<StreamRange>, std::uint32_t> groups_;
  std::map<std::pair<std::size_t, std::vector<StreamRange>>, std::uint32_t> tensors_;
};

// ---- (T8) The order ----

// The smallest number of slots in a stack, and of every layer its share in each of them.
void add_order(const std::vector<std::int64_t>& stack, const std::map<std::int64_t, const StreamTiledLayer*>& by_id,
               StreamProblem& p) {
  std::int64_t slots = 0;
  for (const std::int64_t id : stack) {
    const std::int64_t intra = parts(by_id.at(id)->intra);
    slots = slots == 0 ? intra : std::min(slots, intra);
  }
  for (const std::int64_t id : stack)
    if (parts(by_id.at(id)->intra) % slots != 0)
      throw StreamStop{fmt::format("layer {} is cut {} times, no multiple of the {} of its stack", id,
                                   parts(by_id.at(id)->intra), slots)};
  for (std::int64_t s = 0; s < slots; ++s)
    for (const std::int64_t id : stack) {
      const StreamTiledLayer& layer = *by_id.at(id);
      const auto share = static_cast<std::int64_t>(layer.tiles) / slots;
      for (std::int64_t j = 0; j < share; ++j)
        p.order.push_back(layer.first + static_cast<std::uint32_t>(s * share + j));
    }
}

}  // namespace

StreamStacks stream_stacks(const std::vector<StreamLayer>& layers, StreamMode mode, const StreamStacks& given,
                           double weight_bits) {
  StreamStacks stacks;
  const auto computes = [&](std::int64_t id) {
    return id >= 0 && static_cast<std::size_t>(id) < layers.size() &&
           layers[static_cast<std::size_t>(id)].kind == StreamLayerKind::Compute;
  };
  if (mode == StreamMode::Fused && !given.empty()) {
    std::vector<bool> taken(layers.size(), false);
    for (const std::vector<std::int64_t>& stack : given) {
      stacks.emplace_back();
      for (const std::int64_t id : stack)
        if (computes(id) && !taken[static_cast<std::size_t>(id)]) {
          stacks.back().push_back(id);
          taken[static_cast<std::size_t>(id)] = true;
        }
    }
    for (const StreamLayer& layer : layers)
      if (layer.kind == StreamLayerKind::Compute && !taken[static_cast<std::size_t>(layer.id)])
        stacks.push_back({layer.id});
    return stacks;
  }
  double sum = 0;
  bool is_full = mode == StreamMode::LayerByLayer;
  std::vector<std::int64_t> stack;
  for (const StreamLayer& layer : layers) {
    if (layer.kind != StreamLayerKind::Compute) continue;
    if (!is_full && !layer.constants.empty()) {
      sum += static_cast<double>(operand_bits(layer, layer.operands[layer.constants[0]], sizes_of(layer)));
      is_full = sum > weight_bits;
      if (is_full && !stack.empty()) stacks.push_back(std::exchange(stack, {}));
    } else if (is_full && !stack.empty()) {
      stacks.push_back(std::exchange(stack, {}));
    }
    stack.push_back(layer.id);
  }
  if (!stack.empty()) stacks.push_back(stack);
  return stacks;
}

StreamTiling tile_stream(const std::vector<StreamLayer>& layers, const StreamStacks& stacks, StreamMode mode,
                         const cost::MappingFile& mapping, const StreamChoice& chosen, StreamProblem& problem) {
  StreamTiling out;
  try {
    std::map<std::int64_t, std::size_t> members;  // of the stack of each layer
    for (const std::vector<std::int64_t>& stack : stacks)
      for (const std::int64_t id : stack) members[id] = stack.size();
    problem.output_slot = index_of(problem.slots, std::string("O"));
    std::vector<std::uint32_t> groups;
    for (const StreamLayer& layer : layers) {
      if (layer.kind != StreamLayerKind::Compute) continue;
      StreamTiledLayer cut = Cutter(layer, mode).run(mapping, members.at(layer.id) == 1);
      const auto choice = chosen.find(layer.id);
      const bool is_open = static_cast<std::int64_t>(cut.cores.size()) != parts(cut.inter);
      // Of several cores the order would not be known.
      if (is_open && choice != chosen.end() && choice->second.size() == 1 && parts(cut.inter) == 1)
        cut.cores = choice->second;
      for (const std::int64_t core : cut.cores)
        if (core < 0 || static_cast<std::size_t>(core) >= problem.cores.size() ||
            static_cast<std::size_t>(core) == problem.offchip)
          throw StreamStop{fmt::format("layer {} '{}': there is no core {}", layer.id, layer.name, core)};
      if (static_cast<std::int64_t>(cut.cores.size()) != parts(cut.inter))
        throw StreamStop{
            fmt::format("layer {} '{}' is cut into {} but may run on {} cores: the choice takes Stream's "
                        "genetic search",
                        layer.id, layer.name, parts(cut.inter), cut.cores.size())};
      LayerTiler(layer, cut, problem).run(groups);
      out.layers.push_back(std::move(cut));
    }
    out.failure = add_stream_edges(layers, out.layers, groups, problem);
    if (!out.failure.empty()) return out;
    std::map<std::int64_t, const StreamTiledLayer*> by_id;
    for (const StreamTiledLayer& layer : out.layers) by_id[layer.layer] = &layer;
    for (const std::vector<std::int64_t>& stack : stacks)
      if (!stack.empty()) add_order(stack, by_id, problem);
  } catch (const StreamStop& stop) {
    out.failure = stop.reason;
  }
  return out;
}

}  // namespace monet::schedule
