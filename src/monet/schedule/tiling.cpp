#include "monet/schedule/tiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "monet/base/assert.h"
#include "monet/graph/lower.h"
#include "monet/schedule/repeat.h"
#include "monet/schedule/spills.h"
#include "monet/schedule/tile_order.h"
#include "monet/schedule/tiling_boxes.h"
#include "monet/schedule/tiling_draft.h"
#include "monet/schedule/tiling_limits.h"
#include "monet/schedule/tiling_ports.h"

namespace monet::schedule {
namespace {

using hardware::Slot;
using plan::Facts;
using plan::NodeChoice;
using plan::OperandFacts;

constexpr double kRoom = 0.5;  // of a store: an operand of which no smaller part can be had flows past
constexpr std::size_t kRememberedShapes = 1 << 16;  // of tiles

std::int64_t whole_bytes(double bits) { return static_cast<std::int64_t>(std::ceil(bits / kBitsPerByte - 1e-9)); }

// Elements in a row that a box covers in the storage of its tensor.
std::int64_t run_of(const Shape& shape, const Region& box) {
  std::int64_t run = 1;
  for (std::size_t a = shape.size(); a-- > 0;) {
    run *= box.axes[a].size();
    if (box.axes[a].size() < shape[a]) break;
  }
  return run;
}

class Tiler {
 public:
  explicit Tiler(const TilingInput& in) : in_(in), graph_(in.graph), chip_(in.chip), kinds_(in.chip) {}

  std::variant<Tiled, Infeasible> run() {
    if (auto reason = too_many_tiles(in_)) return std::move(*reason);
    out_.problem.machine = chip_.machine;
    out_.problem.prefetch = in_.decided.prefetch;
    is_at_lanes_.assign(graph_.tensors.size(), false);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      for (const TensorId t : graph_.nodes[n].outputs)
        if (t != kNoTensor && in_.decided.nodes[n].at_lanes) has_lanes_ = is_at_lanes_[t.index()] = true;
    out_.group.assign(graph_.nodes.size(), 0);
    for (const Tensor& t : graph_.tensors) {
      const bool is_root = in_.storage.root(TensorId{static_cast<std::uint32_t>(&t - graph_.tensors.data())}) ==
                           TensorId{static_cast<std::uint32_t>(&t - graph_.tensors.data())};
      out_.grids.emplace_back(is_root ? t.shape : Shape{});
    }
    first_tile_.push_back(0);
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!in_.facts[n].is_view) draft_node(NodeId{n});
      first_tile_.push_back(static_cast<std::uint32_t>(tiles_.size()));
    }
    make_blocks();
    if (auto reason = too_many_parts(in_.graph, tiles_, pieces_, boxes_, out_.grids)) return std::move(*reason);
    touch_blocks();
    kinds_.price(in_.costs);
    if (auto reason = unpriced()) return std::move(*reason);
    assemble();
    mark_spills(in_, out_);
    repeat(graph_, in_.iterations, out_);
    out_.kinds = kinds_.take();
    note_kinds();
    return std::move(out_);
  }

 private:
  // ---- Tiles ----

  void draft_node(NodeId id) {
    const Node& node = graph_[id];
    const Facts& facts = in_.facts[id.index()];
    const NodeChoice& choice = in_.decided.nodes[id.index()];
    MONET_ASSERT(!choice.cores.empty(), "somebody runs every node");
    const std::vector<Boxed> boxes = boxes_of(facts, choice);
    find_flows(node, facts, choice.cores[0]);
    // Per place of a result: how many tiles add to it, and where it is summed up.
    results_.assign(boxes.empty() ? 0 : static_cast<std::size_t>(boxes.front().results * boxes.front().sharers), {});
    const bool is_shared = !boxes.empty() && boxes.front().sharers > 1;
    for (const Boxed& box : boxes) ++results_[box.place()].left;
    for (const Boxed& box : boxes) draft_tile(id, box, is_shared);
    if (is_shared) draft_combinations(id, boxes);
  }

  struct Place {
    std::uint32_t left = 0;  // tiles still to come
    bool has_begun = false;
    std::vector<std::uint32_t> sums{};  // by output; kNone: in the output's own blocks
    std::uint32_t tile = kNone;         // the last one
  };

  void draft_tile(NodeId id, const Boxed& box, bool is_shared) {
    const Node& node = graph_[id];
    const Facts& facts = in_.facts[id.index()];
    const Cut part = cut(graph_, node, box.ranges);
    Place& place = results_[box.place()];
    Drafted tile{.info = {.node = id,
                          .core = box.core,
                          .first_range = static_cast<std::uint32_t>(out_.ranges.size()),
                          .result = box.result,
                          .part = box.sharer,
                          .is_first = !place.has_begun,
                          .is_last = place.left == 1},
                 .first_piece = static_cast<std::uint32_t>(pieces_.size()),
                 .first_sum = static_cast<std::uint32_t>(sum_touches_.size())};
    out_.ranges.insert(out_.ranges.end(), box.ranges.begin(), box.ranges.end());
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (facts.inputs[i].is_there && facts.inputs[i].is_read && part.inputs[i])
        add_pieces(node.inputs[i], *part.inputs[i], facts.inputs[i].slot, true, false, input_flows_[i],
                   facts.inputs[i].is_streamed);
    if (!place.has_begun) {
      place.has_begun = true;
      place.sums.assign(node.outputs.size(), kNone);
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        const OperandFacts& operand = facts.outputs[o];
        if (!operand.is_there || !part.outputs[o]) continue;
        const bool is_wider = operand.sum_bits != operand.bits && place.left > 1;
        if (is_shared || is_wider) place.sums[o] = add_sum(node.outputs[o], *part.outputs[o], operand.sum_bits);
      }
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (!facts.outputs[o].is_there || !part.outputs[o]) continue;
      const bool in_sum = place.sums[o] != kNone;
      const bool is_final = tile.info.is_last && !is_shared;
      if (in_sum) sum_touches_.push_back({place.sums[o], !tile.info.is_first, !is_final});
      if (!in_sum || is_final)
        add_pieces(node.outputs[o], *part.outputs[o], Slot::Output, !in_sum && !tile.info.is_first, true,
                   output_flows_[o], facts.outputs[o].is_streamed);
    }
    tile.info.kind = kind_of(id, part, box.core, !tile.info.is_first, !tile.info.is_last || is_shared);
    tile.pieces = static_cast<std::uint32_t>(pieces_.size()) - tile.first_piece;
    tile.sums = static_cast<std::uint32_t>(sum_touches_.size()) - tile.first_sum;
    place.tile = static_cast<std::uint32_t>(tiles_.size());
    --place.left;
    tiles_.push_back(tile);
  }

  std::uint32_t add_sum(TensorId tensor, const Region& region, double bits) {
    sums_.push_back({tensor, static_cast<std::uint32_t>(out_.ranges.size()),
                     static_cast<double>(elements(region)) * bits / kBitsPerByte});
    out_.ranges.insert(out_.ranges.end(), region.axes.begin(), region.axes.end());
    return static_cast<std::uint32_t>(sums_.size() - 1);
  }

  // What several cores have summed up is put together by one vector unit, part after part in their order.
  void draft_combinations(NodeId id, const std::vector<Boxed>& boxes) {
    const Node& node = graph_[id];
    const Facts& facts = in_.facts[id.index()];
    const std::uint32_t sharers = boxes.front().sharers;
    std::vector<bool> is_done(static_cast<std::size_t>(boxes.front().results), false);
    for (const Boxed& box : boxes) {
      if (is_done[box.result]) continue;
      is_done[box.result] = true;
      const Cut part = cut(graph_, node, box.ranges);
      const std::uint32_t core = combining_core(box.core);
      Drafted tile{.info = {.node = id,
                            .core = core,
                            .first_range = static_cast<std::uint32_t>(out_.ranges.size()),
                            .result = box.result,
                            .part = sharers,
                            .is_combination = true},
                   .first_piece = static_cast<std::uint32_t>(pieces_.size()),
                   .first_sum = static_cast<std::uint32_t>(sum_touches_.size())};
      out_.ranges.insert(out_.ranges.end(), box.ranges.begin(), box.ranges.end());
      work::VectorWork work;
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        if (!facts.outputs[o].is_there || !part.outputs[o]) continue;
        const auto count = static_cast<std::uint64_t>(elements(*part.outputs[o]));
        std::uint64_t parts = 0;
        for (std::uint32_t p = 0; p < sharers; ++p) {
          const Place& place = results_[box.result * sharers + p];
          if (!place.has_begun) continue;
          sum_touches_.push_back({place.sums[o], true, false});
          ++parts;
        }
        const Format format = graph_[node.outputs[o]].format;
        const Format sum = facts.outputs[o].sum_bits > facts.outputs[o].bits ? Format{Element::F32} : format;
        work.iteration = {static_cast<std::int64_t>(count)};
        work.reduced = {false};
        work.functions.push_back({part.combine.kind == CombineKind::Max || part.combine.kind == CombineKind::Min
                                      ? work::ElementFunction::Compare
                                      : work::ElementFunction::Add,
                                  count * (parts - 1) * (part.combine.kind == CombineKind::Statistics ? 3 : 1)});
        if (part.combine.kind == CombineKind::Statistics || part.combine.kind == CombineKind::Mean)
          work.functions.push_back({work::ElementFunction::Multiply, count * (parts - 1) * 3});
        work.reads.push_back({count * parts, sum});
        work.writes.push_back({count, format});
        add_pieces(node.outputs[o], *part.outputs[o], Slot::Output, false, true, output_flows_[o], false);
      }
      tile.info.kind = kinds_.find(core, work, false, false);
      tile.pieces = static_cast<std::uint32_t>(pieces_.size()) - tile.first_piece;
      tile.sums = static_cast<std::uint32_t>(sum_touches_.size()) - tile.first_sum;
      tiles_.push_back(tile);
    }
  }

  // The core itself if it takes element-wise work, else the first that does.
  std::uint32_t combining_core(std::uint32_t core) const {
    Facts adds;
    adds.kind = hardware::WorkClass::Elementwise;
    if (takes(chip_.cores[core], adds)) return core;
    for (std::uint32_t c = 0; c < chip_.cores.size(); ++c)
      if (takes(chip_.cores[c], adds)) return c;
    return core;
  }

  // An operand of which not even the smallest part fits half of its store, or of which only some rows are wanted.
  void find_flows(const Node& node, const Facts& facts, std::uint32_t core) {
    std::vector<Range> least;
    for (const Loop& loop : facts.loops)
      least.push_back(loop.kind == LoopKind::Fixed ? Range{0, loop.size} : Range{0, 1});
    const plan::TileBytes bytes = tile_bytes(facts, cut(graph_, node, least));
    const auto flows = [&](const OperandFacts& operand, double size) {
      const StoreId store = chip_.store(core, operand.slot);
      return store != chip_.machine.home &&
             (operand.is_looked_up || operand.is_streamed ||
              size > kRoom * static_cast<double>(chip_.machine.stores[store.index()].bytes));
    };
    input_flows_.clear();
    output_flows_.clear();
    for (std::size_t i = 0; i < facts.inputs.size(); ++i)
      input_flows_.push_back(flows(facts.inputs[i], bytes.inputs[i]));
    for (std::size_t i = 0; i < facts.outputs.size(); ++i)
      output_flows_.push_back(flows(facts.outputs[i], bytes.outputs[i]));
  }

  void add_pieces(TensorId tensor, const Region& region, Slot slot, bool reads, bool writes, bool flows, bool streams) {
    const TensorId root = in_.storage.root(tensor);
    for (const Region& box : in_.storage.boxes(tensor, region, writes)) {
      out_.grids[root.index()].mark(box.axes, writes);
      pieces_.push_back({.root = root,
                         .first_range = static_cast<std::uint32_t>(boxes_.size()),
                         .slot = static_cast<std::uint8_t>(slot),
                         .reads = reads,
                         .writes = writes,
                         .flows = flows,
                         .streams = flows && streams});
      boxes_.insert(boxes_.end(), box.axes.begin(), box.axes.end());
    }
  }

  // Most tiles are like one before, of this node or of another one.
  std::uint32_t kind_of(NodeId id, const Cut& part, std::uint32_t core, bool adds, bool leaves) {
    const Node& node = graph_[id];
    const std::array<bool, 3> lanes = has_lanes_ ? lane_slots(id, core) : std::array<bool, 3>{};
    std::vector<std::int64_t>& extents = extents_;
    extents = {lanes[0], lanes[1], lanes[2]};
    const auto add = [&](const std::vector<TensorId>& tensors, const std::vector<std::optional<Region>>& regions) {
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i] == kNoTensor || !regions[i]) {
          extents.push_back(tensors[i] == kNoTensor ? -1 : -2);
          continue;
        }
        const Format format = graph_[tensors[i]].format;
        extents.insert(extents.end(),
                       {static_cast<std::int64_t>(regions[i]->axes.size()), static_cast<std::int64_t>(format.element),
                        format.group_rows, format.group_columns, format.group_bits});
        for (const Range& range : regions[i]->axes) extents.push_back(range.size());
      }
    };
    add(node.inputs, part.inputs);
    add(node.outputs, part.outputs);
    std::uint64_t hash = core * 4u + (adds ? 2u : 0u) + (leaves ? 1u : 0u) + 8 * part.op.index();
    for (const std::int64_t e : extents) hash = (hash ^ static_cast<std::uint64_t>(e)) * 0x9e3779b97f4a7c15;
    std::vector<Shaped>& alike = shapes_[hash];
    for (const Shaped& known : alike)
      if (known.core == core && known.adds == adds && known.leaves == leaves && known.extents == extents &&
          known.op == part.op)
        return known.kind;
    const Graph tile = alone(graph_, graph_[id], part);
    work::Work work = lower(tile, tile.nodes[0]);
    // A part of a transpose or a split may look like a view where it stands alone: its output lies elsewhere.
    if (auto* vector = std::get_if<work::VectorWork>(&work)) vector->is_view = false;
    if (auto* vector = std::get_if<work::VectorWork>(&work); vector != nullptr && adds)
      for (const work::Transfer& write : std::vector<work::Transfer>(vector->writes)) {
        vector->reads.push_back(write);
        vector->functions.push_back({work::ElementFunction::Add, write.elements});
      }
    const std::uint32_t kind = kinds_.find(core, work, adds, leaves, lanes);
    if (remembered_++ < kRememberedShapes) alike.push_back({part.op, core, adds, leaves, extents, kind});
    return kind;
  }

  // By slot: whether all that a node has there, as the cost model sees it, is at the lanes.
  std::array<bool, 3> lane_slots(NodeId id, std::uint32_t core) const {
    const Node& node = graph_[id];
    const Facts& facts = in_.facts[id.index()];
    std::array<bool, 3> any{}, all{true, true, true};
    const auto add = [&](TensorId t, Slot slot) {
      const auto s = static_cast<std::size_t>(slot);
      any[s] = any[s] || is_at_lanes_[t.index()];
      all[s] = all[s] && is_at_lanes_[t.index()];
    };
    std::size_t present = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (facts.inputs[i].is_there)
        add(node.inputs[i], facts.is_nest ? facts.inputs[i].slot : cost::read_slot(chip_.cores[core].core, present++));
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) add(t, Slot::Output);
    return {any[0] && all[0], any[1] && all[1], any[2] && all[2]};
  }

  // ---- Blocks ----

  void make_blocks() {
    std::vector<std::uint32_t> pieces_of(graph_.tensors.size(), 0);
    for (const Piece& piece : pieces_) ++pieces_of[piece.root.index()];
    std::vector<bool> has_producer(graph_.tensors.size(), false), ends(graph_.tensors.size(), false);
    for (const Node& node : graph_.nodes)
      for (const TensorId t : node.outputs)
        if (t != kNoTensor) has_producer[t.index()] = true;
    for (const TensorId t : graph_.outputs) ends[in_.storage.root(t).index()] = true;
    for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t)
      if (graph_.tensors[t].overwrites != kNoTensor && !has_producer[in_.storage.root(TensorId{t}).index()])
        ends[in_.storage.root(TensorId{t}).index()] = true;  // state that the next iteration begins with
    out_.first_block.assign(graph_.tensors.size(), kNone);
    for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t) {
      const TensorId id{t};
      if (in_.storage.root(id) != id) continue;
      const Tensor& tensor = graph_.tensors[t];
      if (has_producer[t] && pieces_of[t] == 0) continue;
      Grid& grid = out_.grids[t];
      grid.finish(kFewCells + kCellsPerPiece * pieces_of[t], !in_.exact_reads);
      out_.first_block[t] = static_cast<std::uint32_t>(out_.blocks.size());
      const double element_bits = bits_per_element(tensor.format);
      for (std::size_t c = 0; c < grid.cells(); ++c) {
        const Region cell = grid.cell(c);
        Block block{.bytes = whole_bytes(static_cast<double>(elements(cell)) * element_bits),
                    .starts_at_home = !has_producer[t],
                    .ends_at_home = ends[t]};
        if (!in_.hardware.offchip_efficiency.empty()) {
          const std::int64_t run = run_of(tensor.shape, cell);
          block.efficiency = plan::offchip_efficiency(
              in_.hardware, whole_bytes(static_cast<double>(run) * element_bits), run < elements(cell));
        }
        out_.problem.blocks.push_back(block);
        out_.blocks.push_back({.tensor = id, .cell = static_cast<std::uint32_t>(c)});
      }
    }
    first_sum_block_ = static_cast<std::uint32_t>(out_.blocks.size());
    for (const SumPlace& sum : sums_) {
      out_.problem.blocks.push_back({.bytes = static_cast<std::int64_t>(std::ceil(sum.bytes - 1e-9))});
      out_.blocks.push_back({.tensor = sum.tensor, .is_sum = true, .first_range = sum.first_range});
    }
  }

  // Pieces to blocks; a block that a tile has twice is had once.
  void touch_blocks() {
    std::vector<std::uint32_t> seen(out_.blocks.size(), kNone);  // by block: where it was put for the tile at hand
    for (Drafted& tile : tiles_) {
      tile.first_touch = static_cast<std::uint32_t>(touches_.size());
      const auto touch = [&](const Touch& t) {
        if (seen[t.block] != kNone && seen[t.block] >= tile.first_touch) {
          Touch& other = touches_[seen[t.block]];
          const bool same_place = t.at_lanes || chip_.store(tile.info.core, static_cast<Slot>(other.slot)) ==
                                                    chip_.store(tile.info.core, static_cast<Slot>(t.slot));
          if (same_place || t.writes || other.writes) {
            if (t.reads) other.read_slot = t.slot;
            if (t.writes) other.slot = t.slot;
            other.reads = other.reads || t.reads;
            other.writes = other.writes || t.writes;
            other.flows = other.flows || t.flows;
            other.streams = other.streams || t.streams;
            return;
          }
        }
        seen[t.block] = static_cast<std::uint32_t>(touches_.size());
        touches_.push_back(t);
      };
      for (std::uint32_t i = 0; i < tile.pieces; ++i) {
        const Piece& piece = pieces_[tile.first_piece + i];
        const std::uint32_t first = out_.first_block[piece.root.index()];
        const std::size_t rank = graph_[piece.root].shape.size();
        out_.grids[piece.root.index()].for_each({boxes_.data() + piece.first_range, rank}, [&](std::size_t cell) {
          const bool lanes = is_at_lanes_[piece.root.index()];
          touch({first + static_cast<std::uint32_t>(cell), piece.slot, piece.slot, piece.reads, piece.writes,
                 piece.flows && !lanes, lanes, piece.streams && !lanes});
        });
      }
      for (std::uint32_t i = 0; i < tile.sums; ++i) {
        const SumTouch& sum = sum_touches_[tile.first_sum + i];
        const Slot slot = tile.info.is_combination ? Slot::Input : Slot::Output;
        const auto place = static_cast<std::uint8_t>(slot);
        touch({first_sum_block_ + sum.sum, place, place, sum.reads, sum.writes, false});
      }
      tile.touches = static_cast<std::uint32_t>(touches_.size()) - tile.first_touch;
    }
    pieces_ = {};
    boxes_ = {};
  }

  // ---- The problem ----

  std::optional<Infeasible> unpriced() const {
    for (const Drafted& tile : tiles_) {
      const TileKind& kind = kinds_.kinds()[tile.info.kind];
      if (kind.reason.empty()) continue;
      return Infeasible{
          .reason = fmt::format("a tile of '{}' has no mapping on core '{}': {}", graph_[tile.info.node].name,
                                chip_.cores[tile.info.core].core.name, kind.reason),
          .levers = {"smaller tiles, another core, larger memories, or a narrower format"}};
    }
    return std::nullopt;
  }

  void assemble() {
    for (std::size_t g = 0; g < in_.decided.groups.size(); ++g) {
      const plan::ChosenGroup& group = in_.decided.groups[g];
      std::vector<std::uint32_t> members;
      std::vector<GroupTile> tiles;
      std::vector<TileAccess> accesses;
      const bool is_plain = group.nodes.size() < 2 || group.order == plan::Order::BreadthFirst;
      for (std::uint32_t n = 0; n < group.nodes.size(); ++n) {
        const std::size_t node = group.nodes[n].index();
        out_.group[node] = static_cast<std::uint32_t>(g);
        for (std::uint32_t t = first_tile_[node]; t < first_tile_[node + 1]; ++t) {
          members.push_back(t);
          if (is_plain) continue;
          const TileInfo& info = tiles_[t].info;
          tiles.push_back({.node = n,
                           .first = static_cast<std::uint32_t>(accesses.size()),
                           .count = tiles_[t].touches,
                           .unit = unit_of(info).value,
                           .cycles = kinds_.kinds()[info.kind].cost.cycles});
          for (std::uint32_t i = 0; i < tiles_[t].touches; ++i) {
            const Touch& touch = touches_[tiles_[t].first_touch + i];
            accesses.push_back({touch.block, touch.reads, touch.writes});
          }
        }
      }
      if (is_plain) {
        for (const std::uint32_t t : members) add_tile(tiles_[t]);
      } else {
        for (const std::uint32_t t : order_tiles(tiles, accesses, group.nodes.size(), group.order))
          add_tile(tiles_[members[t]]);
      }
    }
  }

  UnitId unit_of(const TileInfo& info) const {
    const plan::CoreOnChip& core = chip_.cores[info.core];
    return std::holds_alternative<work::LoopNest>(kinds_.kinds()[info.kind].work) ? *core.array : *core.vector;
  }

  void add_tile(const Drafted& drafted) {
    Problem& p = out_.problem;
    const TileInfo& info = drafted.info;
    const plan::CoreOnChip& core = chip_.cores[info.core];
    const TileKind& kind = kinds_.kinds()[info.kind];
    Tile tile{.unit = unit_of(info),
              .cycles = kind.cost.cycles,
              .first_use = static_cast<std::uint32_t>(p.uses.size()),
              .first_flow = static_cast<std::uint32_t>(p.flows.size())};
    // Bytes of each slot that is at home, and of what flows in and out: what passes is shared out over its blocks.
    std::array<double, 3> bytes_at_home{};
    std::array<double, 2> bytes_that_flow{};
    Flow streamed{};  // all that flows through the store
    const auto touches = std::span(touches_).subspan(drafted.first_touch, drafted.touches);
    const auto is_at_home = [&](const Touch& t, std::uint8_t slot) {
      return !t.at_lanes && core.stores[slot] == chip_.machine.home;
    };
    for (const Touch& t : touches) {
      const auto bytes = static_cast<double>(p.blocks[t.block].bytes);
      if (is_at_home(t, t.slot)) bytes_at_home[t.slot] += bytes;
      if (t.read_slot != t.slot && is_at_home(t, t.read_slot)) bytes_at_home[t.read_slot] += bytes;
      if (t.flows) bytes_that_flow[t.writes] += bytes;
    }
    for (const Touch& t : touches) {
      const StoreId store = t.at_lanes ? *core.lanes : core.stores[t.slot];
      const Access access = !t.writes ? Access::Read : t.reads ? Access::Update : Access::Write;
      const bool is_home = is_at_home(t, t.slot), reads_home = is_at_home(t, t.read_slot);
      if (!t.flows && !is_home && !reads_home) {
        p.uses.push_back({BlockId{t.block}, store, access});
        continue;
      }
      // What the cost model moves at home for its slots, or the block itself: old value in, new one out.
      const auto size = static_cast<double>(p.blocks[t.block].bytes);
      Flow flow{.block = BlockId{t.block}, .access = access, .store = store == chip_.machine.home ? core.gate : store};
      Tiled::Extra extra{.in = t.reads && !reads_home,
                         .out = t.writes && !is_home,
                         .is_through = t.streams && !is_home && !reads_home};
      const auto add_slot = [&](std::uint8_t slot) {
        const double share = bytes_at_home[slot] > 0 ? size / bytes_at_home[slot] : 0;
        flow.in += kind.cost.home_reads[slot] * share;
        flow.out += kind.cost.home_writes[slot] * share;
      };
      if (is_home) add_slot(t.slot);
      if (reads_home && t.read_slot != t.slot) add_slot(t.read_slot);
      double part = 1;  // of a table: no more than is looked up
      if (const auto* vector = std::get_if<work::VectorWork>(&kind.work);
          vector != nullptr && vector->indirect && t.flows)
        part = std::min(1.0, touched_bytes(kind, t) / bytes_that_flow[t.writes]);
      if (extra.in) flow.in += size * part;
      if (extra.out) flow.out += size * part;
      if (extra.is_through) {
        streamed.in += flow.in;
        streamed.out += flow.out;
        streamed.store = store;
      }
      p.flows.push_back(flow);
      out_.flow_is_extra.push_back(extra);
    }
    add_demands(info, tile);
    if (streamed.in + streamed.out > 0) add_stream(p.machine, streamed, p.demands, tile);
    tile.uses = static_cast<std::uint32_t>(p.uses.size()) - tile.first_use;
    tile.flows = static_cast<std::uint32_t>(p.flows.size()) - tile.first_flow;
    p.tiles.push_back(tile);
    out_.tiles.push_back(info);
  }

  // What the cost model moves through the ports of the core's stores; cores alike have the same kinds but other ports.
  void add_demands(const TileInfo& info, Tile& tile) {
    const auto [at, is_new] =
        demands_of_.try_emplace({info.kind, info.core}, static_cast<std::uint32_t>(out_.problem.demands.size()), 0);
    if (is_new) {
      for (const PortBusy& busy : kinds_.kinds()[info.kind].cost.ports)
        for (const plan::CorePort& port : chip_.cores[info.core].ports)
          if (port.memory == busy.memory && port.port == busy.port)
            out_.problem.demands.push_back({port.id, busy.cycles});
      at->second.second = static_cast<std::uint32_t>(out_.problem.demands.size()) - at->second.first;
    }
    tile.first_demand = at->second.first;
    tile.demands = at->second.second;
  }

  // Of an operand by index: no more than is looked up.
  double touched_bytes(const TileKind& kind, const Touch& t) const {
    const auto* vector = std::get_if<work::VectorWork>(&kind.work);
    double most = 0;
    if (vector != nullptr)
      for (const auto* list : {&vector->reads, &vector->writes})
        for (const work::Transfer& transfer : *list)
          if (t.writes == (list == &vector->writes))
            most = std::max(most, static_cast<double>(transfer.elements) * bits_per_element(transfer.format));
    return most / kBitsPerByte;
  }

  void note_kinds() {
    for (const TileKind& kind : out_.kinds)
      for (const std::string& note : kind.notes)
        if (std::find(out_.notes.begin(), out_.notes.end(), note) == out_.notes.end()) out_.notes.push_back(note);
  }

  struct Shaped {
    Op op{};
    std::uint32_t core = 0;
    bool adds = false, leaves = false;
    std::vector<std::int64_t> extents{};
    std::uint32_t kind = 0;
  };
  static constexpr std::size_t kFewCells = 1 << 16, kCellsPerPiece = 256;

  const TilingInput& in_;
  const Graph& graph_;
  const plan::Chip& chip_;
  TileKinds kinds_;
  Tiled out_;
  std::vector<Drafted> tiles_;
  std::vector<std::uint32_t> first_tile_;  // by node
  std::vector<Piece> pieces_;
  std::vector<Range> boxes_;
  std::vector<Touch> touches_;
  std::vector<SumPlace> sums_;
  std::vector<SumTouch> sum_touches_;
  std::uint32_t first_sum_block_ = 0;
  std::vector<bool> input_flows_, output_flows_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>>
      demands_of_;                                                 // by kind and core: where they begin, and how many
  std::vector<bool> is_at_lanes_;                                  // by tensor
  bool has_lanes_ = false;                                         // any of them
  std::unordered_map<std::uint64_t, std::vector<Shaped>> shapes_;  // by hash
  std::size_t remembered_ = 0;
  std::vector<std::int64_t> extents_;  // of kind_of, kept for its memory
  std::vector<Place> results_;
};

}  // namespace

std::variant<Tiled, Infeasible> tile(const TilingInput& input) { return Tiler(input).run(); }

}  // namespace monet::schedule
