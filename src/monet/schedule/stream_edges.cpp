#include "monet/schedule/stream_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "monet/schedule/stream_cells.h"

namespace monet::schedule {
namespace {

// First and last index along every axis.
using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;

bool meet(const Box& x, const Box& y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i].first > y[i].second || y[i].first > x[i].second) return false;
  return true;
}

// Boxes in the order of their first index along the axis that tells most of them apart.
class BoxIndex {
 public:
  explicit BoxIndex(std::vector<Box> boxes) : boxes_(std::move(boxes)) {
    std::size_t most = 0;
    for (std::size_t axis = 0; !boxes_.empty() && axis < boxes_[0].size(); ++axis) {
      std::set<std::int64_t> starts;
      for (const Box& box : boxes_) starts.insert(box[axis].first);
      if (starts.size() > most) {
        most = starts.size();
        axis_ = axis;
      }
    }
    for (std::uint32_t i = 0; most > 0 && i < boxes_.size(); ++i) {
      by_start_.emplace_back(boxes_[i][axis_].first, i);
      longest_ = std::max(longest_, boxes_[i][axis_].second - boxes_[i][axis_].first);
    }
    if (most == 0)
      for (std::uint32_t i = 0; i < boxes_.size(); ++i) by_start_.emplace_back(0, i);
    std::sort(by_start_.begin(), by_start_.end());
  }

  template <class F>
  void each(const Box& box, const F& f) const {
    auto at = by_start_.begin();
    if (!box.empty())
      at = std::lower_bound(by_start_.begin(), by_start_.end(),
                            std::pair(box[axis_].first - longest_, std::uint32_t{0}));
    for (; at != by_start_.end() && (box.empty() || at->first <= box[axis_].second); ++at)
      if (meet(boxes_[at->second], box)) f(at->second);
  }

 private:
  std::vector<Box> boxes_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_start_;
  std::size_t axis_ = 0;
  std::int64_t longest_ = 0;
};

class EdgeMaker {
 public:
  EdgeMaker(const std::vector<StreamLayer>& layers, const std::vector<StreamTiledLayer>& tiled, StreamProblem& problem)
      : layers_(layers), p_(problem), after_(layers.size()) {
    for (const StreamTiledLayer& t : tiled) tiled_[t.layer] = &t;
    for (const StreamLayer& layer : layers)
      for (const std::int64_t source : layer.before) {
        auto& list = after_[static_cast<std::size_t>(source)];
        if (std::find(list.begin(), list.end(), layer.id) == list.end()) list.push_back(layer.id);
      }
  }

  void run(const std::vector<std::uint32_t>& groups) {
    for (const auto& [id, tiled] : tiled_) within(*tiled, groups);
    for (const auto& [id, tiled] : tiled_)
      for (const auto& [consumer, is_simple] : readers_of(id)) {
        if (is_simple)
          by_boxes(at(id), at(consumer));
        else
          by_elements(at(id), at(consumer));
      }
    // Of several edges between two tiles the last one counts.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::optional<std::uint32_t>> last;
    for (const StreamEdge& edge : p_.edges) last[{edge.from, edge.to}] = edge.operand;
    p_.edges.clear();
    for (const auto& [ends, operand] : last) p_.edges.push_back({ends.first, ends.second, operand});
  }

 private:
  const StreamLayer& at(std::int64_t id) const { return layers_[static_cast<std::size_t>(id)]; }
  bool computes(std::int64_t id) const { return at(id).kind == StreamLayerKind::Compute; }

  // (T5) Tiles of one group follow one another.
  void within(const StreamTiledLayer& layer, const std::vector<std::uint32_t>& groups) {
    std::map<std::uint32_t, std::uint32_t> last;
    for (std::uint32_t i = layer.first; i < layer.first + layer.tiles; ++i) {
      if (const auto before = last.find(groups[i]); before != last.end())
        p_.edges.push_back({before->second, i, std::nullopt});
      last[groups[i]] = i;
    }
  }

  // (T6) Layers that compute with what a layer makes, through those that only pass it on; whether the shortest way to
  // each has free layers only.
  std::vector<std::pair<std::int64_t, bool>> readers_of(std::int64_t id) const {
    std::vector<std::pair<std::int64_t, bool>> out;
    std::set<std::int64_t> seen{id};
    std::deque<std::pair<std::int64_t, bool>> waiting{{id, true}};
    while (!waiting.empty()) {
      const auto [from, is_simple] = waiting.front();
      waiting.pop_front();
      for (const std::int64_t next : after_[static_cast<std::size_t>(from)]) {
        if (!seen.insert(next).second) continue;
        if (computes(next))
          out.emplace_back(next, is_simple);
        else
          waiting.emplace_back(next, is_simple && at(next).kind == StreamLayerKind::Free);
      }
    }
    return out;
  }

  std::uint32_t operand_of(const StreamLayer& layer, std::size_t operand) const {
    return p_.tiles[tiled_.at(layer.id)->first].operands[operand].operand;
  }

  // Whether its sums are complete, by the sizes before any enlargement.
  bool is_complete(const StreamLayer& layer, const StreamTile& tile, const std::vector<std::size_t>& of_sums) const {
    return std::all_of(of_sums.begin(), of_sums.end(),
                       [&](std::size_t d) { return tile.ranges[d].second.end >= layer.dimensions[d].size; });
  }
  std::vector<std::size_t> sums_of(const StreamLayer& layer) const {
    std::vector<std::int64_t> sizes;
    for (const work::Dimension& d : layer.dimensions) sizes.push_back(d.size);
    return irrelevant_dimensions(layer, layer.operands[0], sizes);
  }

  // ---- By boxes (T6) ----

  // Groups and channels of an operand are one axis; its first index is wrong for all groups but the first.
  Box box(const StreamLayer& layer, const StreamLayerOperand& operand, const StreamTile& tile) const {
    const auto named = [&](const char* name) {
      for (std::size_t i = 0; i < operand.axes.size(); ++i)
        if (operand.axes[i] < layer.dimensions.size() && layer.dimensions[operand.axes[i]].name == name) return i;
      return operand.axes.size();
    };
    Box out;
    for (const std::size_t axis : operand.axes) {
      const StreamRange& range = tile.ranges[axis].second;
      out.emplace_back(range.begin, range.end - 1);
    }
    const std::size_t g = named("G");
    std::size_t channel = named("C");
    if (channel == operand.axes.size()) channel = named("K");
    if (g == operand.axes.size() || channel == operand.axes.size()) return out;
    const std::int64_t size = tiled_.at(layer.id)->sizes[operand.axes[channel]];
    const std::pair<std::int64_t, std::int64_t> joined{out[g].first + out[channel].first,
                                                       out[g].second * size + out[channel].second};
    out[std::min(g, channel)] = joined;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(std::max(g, channel)));
    return out;
  }

  // Operands that come from the producer, directly or through free layers behind the first.
  std::vector<std::size_t> operands_from(const StreamLayer& producer, const StreamLayer& consumer) const {
    std::vector<std::size_t> out;
    for (const std::size_t o : consumer.sourced) {
      const std::int64_t source = *consumer.operands[o].source;
      bool is_found = source == producer.id;
      if (!is_found && !computes(source)) {
        std::vector<std::int64_t> waiting = at(source).before;
        std::set<std::int64_t> seen(waiting.begin(), waiting.end());
        while (!waiting.empty() && !is_found) {
          const std::int64_t next = waiting.back();
          waiting.pop_back();
          is_found = next == producer.id;
          if (at(next).kind != StreamLayerKind::Free) continue;
          for (const std::int64_t before : at(next).before)
            if (seen.insert(before).second) waiting.push_back(before);
        }
      }
      if (is_found) out.push_back(o);
    }
    return out;
  }

  void by_boxes(const StreamLayer& producer, const StreamLayer& consumer) {
    const StreamTiledLayer &from = *tiled_.at(producer.id), &to = *tiled_.at(consumer.id);
    const std::vector<std::size_t> of_sums = sums_of(producer);
    for (const std::size_t o : operands_from(producer, consumer)) {
      std::vector<Box> boxes;
      for (std::uint32_t i = 0; i < to.tiles; ++i)
        boxes.push_back(box(consumer, consumer.operands[o], p_.tiles[to.first + i]));
      const std::size_t rank = boxes[0].size();
      const BoxIndex index(std::move(boxes));
      for (std::uint32_t i = from.first; i < from.first + from.tiles; ++i) {
        if (!is_complete(producer, p_.tiles[i], of_sums)) continue;
        const Box made = box(producer, producer.operands[0], p_.tiles[i]);
        if (made.size() != rank)
          throw StreamStop{
              fmt::format("layer {} makes {} axes and layer {} takes {}", producer.id, made.size(), consumer.id, rank)};
        index.each(made, [&](std::uint32_t c) { p_.edges.push_back({i, to.first + c, operand_of(consumer, o)}); });
      }
    }
  }

  // ---- By elements (T7) ----

  StreamCells cells_of(const StreamLayer& layer) const {
    const StreamTiledLayer& tiled = *tiled_.at(layer.id);
    const std::vector<std::size_t> of_sums = sums_of(layer);
    std::vector<std::int64_t> shape;
    for (const std::size_t axis : layer.operands[0].axes) shape.push_back(tiled.sizes[axis]);
    StreamCells cells(shape);
    for (std::uint32_t i = tiled.first; i < tiled.first + tiled.tiles; ++i) {
      if (!is_complete(layer, p_.tiles[i], of_sums)) continue;
      std::vector<StreamRange> window;
      for (std::size_t k = 0; k < shape.size(); ++k) {
        const StreamRange& range = p_.tiles[i].ranges[layer.operands[0].axes[k]].second;
        window.push_back(
            {std::max<std::int64_t>(0, std::min(shape[k] - 1, range.begin)), std::min(shape[k], range.end)});
      }
      cells.add(window, i);
    }
    // Layers with two windows have their axes put together anew, as they stand.
    const auto size = [&](const char* name) -> std::int64_t {
      for (const work::Dimension& d : layer.dimensions)
        if (d.name == name) return d.size;
      return 0;
    };
    if (layer.relations.size() == 2) cells.reshape({size("B"), -1, size("OX"), size("OY")});
    return cells;
  }

  std::vector<bool> cut_axes(const StreamLayer& layer) const {
    const StreamTiledLayer& tiled = *tiled_.at(layer.id);
    std::vector<bool> out;
    for (const std::size_t axis : layer.operands[0].axes) {
      bool is_cut = false;
      for (const StreamCuts* cuts : {&tiled.intra, &tiled.inter})
        for (const auto& [d, factor] : *cuts) is_cut = is_cut || (d == axis && factor > 1);
      out.push_back(is_cut);
    }
    return out;
  }

  // Every way through layers that only pass on.
  void ways(std::vector<std::int64_t>& way, std::int64_t to, std::vector<std::vector<std::int64_t>>& out) const {
    constexpr std::size_t kMostWays = 10'000;
    for (const std::int64_t next : after_[static_cast<std::size_t>(way.back())]) {
      if (out.size() >= kMostWays) throw StreamStop{"there are too many ways between two layers"};
      if (next == to)
        out.push_back(way);
      else if (!computes(next)) {
        way.push_back(next);
        ways(way, to, out);
        way.pop_back();
      }
    }
  }

  void by_elements(const StreamLayer& producer, const StreamLayer& consumer) {
    const StreamCells made = cells_of(producer);
    std::vector<std::int64_t> start{producer.id};
    std::vector<std::vector<std::int64_t>> all;
    ways(start, consumer.id, all);
    for (const std::vector<std::int64_t>& way : all) {
      StreamCells cells = made;
      std::vector<bool> axes = cut_axes(producer);
      for (std::size_t i = 1; i < way.size(); ++i) {
        const std::int64_t next = i + 1 < way.size() ? way[i + 1] : consumer.id;
        pass_on(at(way[i]), at(next), cells, axes);
      }
      const auto operand = std::find_if(consumer.sourced.begin(), consumer.sourced.end(),
                                        [&](std::size_t o) { return consumer.operands[o].source == way.back(); });
      if (operand == consumer.sourced.end())
        throw StreamStop{fmt::format("layer {} takes nothing of layer {}", consumer.id, way.back())};
      take(consumer, *operand, cells, axes);
    }
  }

  void take(const StreamLayer& consumer, std::size_t o, const StreamCells& cells, const std::vector<bool>& axes) {
    const StreamTiledLayer& to = *tiled_.at(consumer.id);
    const std::vector<std::size_t>& own = consumer.operands[o].axes;
    if (own.size() != axes.size() || own.size() > cells.shape().size())
      throw StreamStop{fmt::format("layer {} takes {} axes of {}", consumer.id, own.size(), axes.size())};
    for (std::uint32_t i = to.first; i < to.first + to.tiles; ++i) {
      std::vector<StreamRange> window;
      for (std::size_t k = 0; k < own.size(); ++k)
        window.push_back(axes[k] ? p_.tiles[i].ranges[own[k]].second : StreamRange{0, 1});
      for (const std::uint32_t from : cells.tiles_in(window)) p_.edges.push_back({from, i, operand_of(consumer, o)});
    }
  }

  const std::vector<StreamLayer>& layers_;
  StreamProblem& p_;
  std::map<std::int64_t, const StreamTiledLayer*> tiled_;
  std::vector<std::vector<std::int64_t>> after_;
};

}  // namespace

std::string add_stream_edges(const std::vector<StreamLayer>& layers, const std::vector<StreamTiledLayer>& tiled,
                             const std::vector<std::uint32_t>& groups, StreamProblem& problem) {
  try {
    EdgeMaker(layers, tiled, problem).run(groups);
  } catch (const StreamStop& stop) {
    return stop.reason;
  } catch (const CellFault& fault) {
    return fault.reason;
  }
  return "";
}

}  // namespace monet::schedule
