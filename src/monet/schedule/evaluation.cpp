#include "monet/schedule/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "monet/base/assert.h"

namespace monet::schedule {
namespace {

using hardware::Slot;

class Accounts {
 public:
  Accounts(const TilingInput& in, Evaluation& e)
      : in_(in), e_(e), p_(e.tiled.problem), machine_(p_.machine), shares_(in.graph.nodes.size()) {
    for (const plan::CoreOnChip& core : in.chip.cores) {
      core_levels_.emplace_back();
      for (const hardware::Memory& memory : core.core.memories) core_levels_.back().push_back(level_named(memory.name));
    }
    // Of a store "core.level": the level alone.
    for (const Store& store : machine_.stores) {
      const std::size_t dot = store.name.rfind('.');
      store_levels_.push_back(level_named(dot == std::string::npos ? store.name : store.name.substr(dot + 1)));
    }
    home_level_ = level_named(machine_.stores[machine_.home.index()].name);
    e_.stores.resize(machine_.stores.size());
    e_.energy_by_core.assign(in.chip.cores.size(), 0);
    e_.core_macs.assign(in.chip.cores.size(), 0);
    e_.core_vector_ops.assign(in.chip.cores.size(), 0);
    e_.units.resize(machine_.units.size());
    e_.channel_bytes.assign(machine_.channels.size(), 0);
    e_.nodes.resize(in.graph.nodes.size());
    e_.tensors.resize(in.graph.tensors.size());
  }

  void run(Detail detail) {
    e_.latency = e_.timeline.cycles;
    e_.clock_hz = in_.chip.clock_hz;
    for (std::uint32_t i = 0; i < p_.tiles.size(); ++i) add_tile(i);
    for (const Transfer& t : e_.timeline.transfers) add_transfer(t);
    for (const Level& level : levels_)
      if (level.is_used) e_.energy.memory[level.name] = level.pj;
    const std::size_t each = std::max<std::size_t>(1, e_.tiled.tiles_of_iteration);
    for (std::size_t i = 0; i < e_.timeline.tiles.size(); ++i) {
      if (i % each == 0) e_.iteration_ends.push_back(0);
      e_.iteration_ends.back() = std::max(e_.iteration_ends.back(), e_.timeline.tiles[i].end);
    }
    e_.energy.leakage = in_.chip.leakage_pj_per_cycle * e_.latency;
    double peak = 0, time = 0;
    std::vector<StoreUse> uses = store_uses(in_.graph, e_.tiled, e_.timeline, detail, peak, time);
    for (std::size_t s = 0; s < e_.stores.size(); ++s) {
      uses[s].bytes_in = e_.stores[s].bytes_in;
      uses[s].bytes_out = e_.stores[s].bytes_out;
    }
    e_.stores = std::move(uses);
    e_.peak_total_bytes = peak;
    e_.peak_total_time = time;
    if (detail == Detail::Figures) return;
    e_.port_cycles = port_cycles(p_, e_.timeline);
    add_path();
    add_tensors();
  }

 private:
  std::size_t phase_of(std::uint32_t tile) const {
    return static_cast<std::size_t>(in_.graph[e_.tiled.tiles[tile].node].phase);
  }

  MemoryUse use_of(BlockId block) const {
    const BlockInfo& info = e_.tiled.blocks[block.index()];
    return info.is_sum ? MemoryUse::Workspace : memory_use(in_.graph[info.tensor].category);
  }

  // What the operands of a slot are used for, by their bytes.
  const std::array<ByUse, 3>& shares(NodeId id) {
    auto& found = shares_[id.index()];
    if (found) return *found;
    found.emplace();
    const Node& node = in_.graph[id];
    const plan::Facts& facts = in_.facts[id.index()];
    std::array<double, 3> sums{};
    const auto add = [&](TensorId t, const plan::OperandFacts& operand) {
      if (t == kNoTensor) return;
      const double size = static_cast<double>(elements(in_.graph[t].shape)) * operand.bits;
      const auto slot = static_cast<std::size_t>(operand.slot);
      (*found)[slot][static_cast<std::size_t>(memory_use(in_.graph[t].category))] += size;
      sums[slot] += size;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) add(node.inputs[i], facts.inputs[i]);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) add(node.outputs[i], facts.outputs[i]);
    for (std::size_t s = 0; s < 3; ++s)
      for (double& share : (*found)[s]) share = sums[s] > 0 ? share / sums[s] : 0;
    // Vector work reads its second operand beside the first one where it can.
    if (sums[1] == 0) (*found)[1] = (*found)[0];
    return *found;
  }

  void add_tile(std::uint32_t i) {
    const TileInfo& info = e_.tiled.tiles[i];
    const TileKind& kind = e_.tiled.kinds[info.kind];
    const TileTime& time = e_.timeline.tiles[i];
    const std::size_t phase = phase_of(i);
    const plan::CoreOnChip& core = in_.chip.cores[info.core];
    NodeResult& node = e_.nodes[info.node.index()];
    node.start = node.tiles == 0 ? time.start : std::min(node.start, time.start);
    node.end = std::max(node.end, time.end);
    node.busy += time.end - time.start;
    node.macs += kind.cost.macs;
    node.vector_ops += kind.cost.vector_ops;
    ++node.tiles;
    e_.macs[phase] += kind.cost.macs;
    e_.vector_ops[phase] += kind.cost.vector_ops;
    e_.core_macs[info.core] += kind.cost.macs;
    e_.core_vector_ops[info.core] += kind.cost.vector_ops;
    UnitUse& unit = e_.units[p_.tiles[i].unit.index()];
    unit.busy += time.end - time.start;
    unit.busy_by_phase[phase] += time.end - time.start;
    e_.busy_by_phase[phase] += time.end - time.start;
    e_.energy.compute += kind.cost.compute_pj;
    double sum = kind.cost.compute_pj;
    const auto& share = shares(info.node);
    double at_home = 0;
    for (const LevelEnergy& level : kind.cost.levels) {
      const hardware::Memory& memory = core.core.memories[level.memory];
      if (is_home(core, level, memory)) {
        add_home_energy(level.pj);
        at_home += level.pj;
      } else {
        add_level_energy(core_levels_[info.core][level.memory], level.pj);
        e_.memory_energy_by_slot[static_cast<std::size_t>(level.slot)] += level.pj;
      }
      sum += level.pj;
      for (std::size_t u = 0; u < kMemoryUses; ++u)
        e_.energy_by_use[u] += level.pj * share[static_cast<std::size_t>(level.slot)][u];
    }
    e_.energy_by_core[info.core] += sum - at_home;
    e_.energy_by_phase[phase] += sum;
    node.energy_pj += sum;
    for (std::uint32_t f = 0; f < p_.tiles[i].flows; ++f) add_flow(i, p_.tiles[i].first_flow + f);
  }

  static bool is_last_of(const hardware::Core& core, const hardware::Memory& memory) {
    return &memory == &core.memories.back();
  }
  bool is_home(const plan::CoreOnChip& core, const LevelEnergy& level, const hardware::Memory& memory) const {
    return core.stores[static_cast<std::size_t>(level.slot)] == machine_.home && is_last_of(core.core, memory);
  }

  void add_flow(std::uint32_t tile, std::uint32_t index) {
    const Flow& flow = p_.flows[index];
    const Store& home = machine_.stores[machine_.home.index()];
    for (const bool is_read : {true, false}) {
      const double bytes = is_read ? flow.in : flow.out;
      if (!(bytes > 0)) continue;
      double link = 0;
      for (const ChannelId c :
           (is_read ? machine_.route(machine_.home, flow.store) : machine_.route(flow.store, machine_.home)).channels) {
        e_.channel_bytes[c.index()] += bytes;
        link += bytes * machine_.channels[c.index()].pj_per_byte;
      }
      count_home(tile, flow.block, bytes, is_read);
      e_.energy.link += link;
      const bool is_extra = is_read ? e_.tiled.flow_is_extra[index].in : e_.tiled.flow_is_extra[index].out;
      const double home_pj = is_extra ? bytes * (is_read ? home.read_pj_per_byte : home.write_pj_per_byte) : 0;
      add_home_energy(home_pj);
      const double store_pj =
          e_.tiled.flow_is_extra[index].is_through ? add_stream(tile, flow.store, bytes, is_read) : 0;
      book(tile, flow.block, link + home_pj + store_pj);
    }
  }

  // What comes is written to the store, what goes is read from it.
  double add_stream(std::uint32_t tile, StoreId id, double bytes, bool is_coming) {
    const Store& store = machine_.stores[id.index()];
    const double pj = bytes * (is_coming ? store.write_pj_per_byte : store.read_pj_per_byte);
    (is_coming ? e_.stores[id.index()].bytes_in : e_.stores[id.index()].bytes_out) += bytes;
    add_level_energy(store_levels_[id.index()], pj);
    e_.energy_by_core[e_.tiled.tiles[tile].core] += pj;
    return pj;
  }

  void count_home(std::uint32_t tile, BlockId block, double bytes, bool is_read) {
    NodeResult& node = e_.nodes[e_.tiled.tiles[tile].node.index()];
    node.offchip_bytes += bytes;
    TensorResult& tensor = e_.tensors[e_.tiled.blocks[block.index()].tensor.index()];
    (is_read ? tensor.offchip_read_bytes : tensor.offchip_written_bytes) += bytes;
    StoreUse& home = e_.stores[machine_.home.index()];
    (is_read ? home.bytes_out : home.bytes_in) += bytes;
  }

  void add_home_energy(double pj) {
    if (in_.chip.home_is_offchip)
      e_.energy.offchip += pj;
    else if (pj > 0)
      add_level_energy(home_level_, pj);
  }

  // Energy of what was moved for a tile.
  void book(std::uint32_t tile, BlockId block, double pj) {
    e_.energy_by_phase[phase_of(tile)] += pj;
    e_.nodes[e_.tiled.tiles[tile].node.index()].energy_pj += pj;
    e_.energy_by_use[static_cast<std::size_t>(use_of(block))] += pj;
  }

  void add_transfer(const Transfer& t) {
    const auto bytes = static_cast<double>(p_.blocks[t.block.index()].bytes);
    const Store &from = machine_.stores[t.from.index()], &to = machine_.stores[t.to.index()];
    const bool is_own = t.carried_by == static_cast<std::uint32_t>(&t - e_.timeline.transfers.data());
    double link = 0, offchip = 0, memory = 0;
    if (is_own) {
      for (const ChannelId c : machine_.route(t.from, t.to).channels) {
        e_.channel_bytes[c.index()] += bytes;
        link += bytes * machine_.channels[c.index()].pj_per_byte;
      }
      (t.from == machine_.home ? offchip : memory) += bytes * from.read_pj_per_byte;
      if (t.from != machine_.home) add_level_energy(store_levels_[t.from.index()], bytes * from.read_pj_per_byte);
      if (t.from == machine_.home) count_home(t.tile.value, t.block, bytes, true);
    }
    (t.to == machine_.home ? offchip : memory) += bytes * to.write_pj_per_byte;
    if (t.to != machine_.home) add_level_energy(store_levels_[t.to.index()], bytes * to.write_pj_per_byte);
    if (t.to == machine_.home) count_home(t.tile.value, t.block, bytes, false);
    if (t.from != machine_.home && is_own) e_.stores[t.from.index()].bytes_out += bytes;
    if (t.to != machine_.home) e_.stores[t.to.index()].bytes_in += bytes;
    e_.energy.link += link;
    add_home_energy(offchip);
    e_.energy_by_core[e_.tiled.tiles[t.tile.index()].core] += memory;
    book(t.tile.value, t.block, link + offchip + memory);
  }

  // Levels of one name are one, whosever they are.
  std::size_t level_named(const std::string& name) {
    std::size_t at = 0;
    while (at < levels_.size() && levels_[at].name != name) ++at;
    if (at == levels_.size()) levels_.push_back({.name = name});
    return at;
  }
  void add_level_energy(std::size_t level, double pj) {
    levels_[level].pj += pj;
    levels_[level].is_used = true;
  }

  void add_path() {
    e_.path = critical_path(e_.timeline);
    for (const PathStep& step : e_.path) {
      const std::uint32_t tile =
          step.kind == PathStep::Kind::Tile ? step.index : e_.timeline.transfers[step.index].tile.value;
      e_.latency_by_phase[phase_of(tile)] += step.to - step.from;
    }
    for (std::size_t p = 0; p < kPhases; ++p)
      e_.energy_by_phase[p] += in_.chip.leakage_pj_per_cycle * e_.latency_by_phase[p];
  }

  void add_tensors() {
    const std::size_t stores = machine_.stores.size();
    constexpr double kNowhere = -1;
    std::vector<double> where(in_.graph.tensors.size() * stores, kNowhere);  // byte-cycles, by tensor and store
    for (std::uint32_t b = 0; b < e_.tiled.blocks_of_iteration; ++b) {
      const BlockInfo& info = e_.tiled.blocks[b];
      if (!info.is_sum) e_.tensors[info.tensor.index()].bytes += static_cast<double>(p_.blocks[b].bytes);
    }
    for (const Stay& stay : e_.timeline.stays) {
      const BlockInfo& info = e_.tiled.blocks[stay.block.index()];
      if (info.is_sum) continue;
      TensorResult& t = e_.tensors[info.tensor.index()];
      t.born = t.is_there ? std::min(t.born, stay.from) : stay.from;
      t.died = std::max(t.died, stay.to);
      t.is_there = true;
      double& amount = where[info.tensor.index() * stores + stay.store.index()];
      amount = std::max(amount, 0.0) + static_cast<double>(p_.blocks[stay.block.index()].bytes) * (stay.to - stay.from);
    }
    for (std::size_t t = 0; t < in_.graph.tensors.size(); ++t) {
      double most = kNowhere;
      for (std::uint32_t s = 0; s < stores; ++s)
        if (where[t * stores + s] > most) {
          most = where[t * stores + s];
          e_.tensors[t].store = StoreId{s};
        }
    }
  }

  const TilingInput& in_;
  Evaluation& e_;
  const Problem& p_;
  const Machine& machine_;
  std::vector<std::optional<std::array<ByUse, 3>>> shares_;
  struct Level {
    std::string name{};
    double pj = 0;
    bool is_used = false;
  };
  std::vector<Level> levels_;
  std::vector<std::vector<std::size_t>> core_levels_;  // by core and memory
  std::vector<std::size_t> store_levels_;
  std::size_t home_level_ = 0;
};

}  // namespace

std::string_view name(MemoryUse use) {
  switch (use) {
    case MemoryUse::Weights: return "weights";
    case MemoryUse::Gradients: return "gradients";
    case MemoryUse::OptimizerState: return "optimizer_state";
    case MemoryUse::Activations: return "activations";
    case MemoryUse::Workspace: return "workspace";
    case MemoryUse::Io: return "io";
  }
  return "";
}

MemoryUse memory_use(Category category) {
  switch (category) {
    case Category::Weight:
    case Category::ModelState:
    case Category::Constant: return MemoryUse::Weights;
    case Category::Gradient: return MemoryUse::Gradients;
    case Category::OptimizerState: return MemoryUse::OptimizerState;
    case Category::Activation:
    case Category::Mask: return MemoryUse::Activations;
    case Category::Workspace: return MemoryUse::Workspace;
    case Category::Index:
    case Category::Input: return MemoryUse::Io;
  }
  return MemoryUse::Workspace;
}

double Energy::total() const {
  double sum = compute + link + offchip + leakage;
  for (const auto& [level, pj] : memory) sum += pj;
  return sum;
}

namespace {

std::vector<std::string> home_levers(const TilingInput& in) {
  std::vector<std::string> levers{fmt::format("a larger {}", in.chip.machine.stores[in.chip.machine.home.index()].name),
                                  "a smaller batch or model", "a narrower --precision"};
  const auto is_state = [](const Tensor& t) { return t.category == Category::OptimizerState; };
  if (std::any_of(in.graph.tensors.begin(), in.graph.tensors.end(), is_state))
    levers.emplace_back("an optimizer with less state (--optimizer sgd)");
  return levers;
}

// What an iteration begins with must be at home, however it is cut.
std::optional<Infeasible> begins_with_too_much(const TilingInput& in) {
  std::vector<bool> is_made(in.graph.tensors.size(), false);
  for (const Node& node : in.graph.nodes)
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) is_made[t.index()] = true;
  double bytes = 0;
  for (std::uint32_t t = 0; t < in.graph.tensors.size(); ++t)
    if (!is_made[t] && in.storage.root(TensorId{t}) == TensorId{t})
      bytes += std::ceil(static_cast<double>(bits(in.graph.tensors[t])) / 8);
  const Store& home = in.chip.machine.stores[in.chip.machine.home.index()];
  if (bytes <= static_cast<double>(home.bytes)) return std::nullopt;
  return Infeasible{
      .reason = fmt::format("{}: weights, states and inputs take {:.0f} B > {} B", home.name, bytes, home.bytes),
      .levers = home_levers(in)};
}

}  // namespace

Infeasible explain_no_room(const TilingInput& in, const Tiled& tiled, const NoRoom& no_room) {
  const Machine& machine = tiled.problem.machine;
  const Store& store = machine.stores[no_room.store.index()];
  const auto tensor_of = [&](BlockId b) { return in.graph[tiled.blocks[b.index()].tensor].name; };
  Infeasible out;
  if (no_room.store == machine.home) {
    // Everything that must be there at once.
    double sources = 0;
    for (const Block& block : tiled.problem.blocks)
      if (block.starts_at_home) sources += static_cast<double>(block.bytes);
    out.reason = fmt::format(
        "{}: no room for {} B of '{}' beside what is there; weights, states and inputs alone take {:.0f} B of {} B",
        store.name, no_room.wanted_bytes, tensor_of(no_room.block), sources, store.bytes);
    out.levers = home_levers(in);
    out.levers.push_back("recomputed activations (--recompute)");
    return out;
  }
  if (no_room.tile.index() >= tiled.tiles.size()) {
    out.reason = fmt::format("{}: {} B wanted > {} B", store.name, no_room.wanted_bytes, store.bytes);
    return out;
  }
  const TileInfo& tile = tiled.tiles[no_room.tile.index()];
  const plan::Facts& facts = in.facts[tile.node.index()];
  std::set<std::string> others;
  for (const BlockId b : no_room.pinned) others.insert(tensor_of(b));
  std::string list;
  for (const std::string& other : others) list += (list.empty() ? "'" : ", '") + other + "'";
  std::int64_t needed = 0;
  const Tile& t = tiled.problem.tiles[no_room.tile.index()];
  for (std::uint32_t i = 0; i < t.uses; ++i) {
    const Use& use = tiled.problem.uses[t.first_use + i];
    if (use.store == no_room.store) needed += tiled.problem.blocks[use.block.index()].bytes;
  }
  out.reason =
      fmt::format("{}: {} B needed by a tile of '{}' ('{}'{}{}) > {} B", store.name, needed, in.graph[tile.node].name,
                  tensor_of(no_room.block), list.empty() ? "" : " beside ", list, store.bytes);
  for (std::size_t l = 0; l < facts.loops.size(); ++l) {
    const Range& range = tiled.ranges[tile.first_range + l];
    if (facts.loops[l].kind == LoopKind::Fixed || range.size() < 2) continue;
    out.levers.push_back(fmt::format("tile {} by {}", facts.loops[l].name,
                                     2 * ((facts.loops[l].size + range.size() - 1) / range.size())));
  }
  out.levers.push_back(fmt::format("a memory of {} B", needed));
  return out;
}

double transfer_energy_pj(const Problem& problem, const Timeline& timeline) {
  const Machine& machine = problem.machine;
  double pj = 0;
  for (const Transfer& t : timeline.transfers) {
    const auto bytes = static_cast<double>(problem.blocks[t.block.index()].bytes);
    pj += bytes * machine.stores[t.to.index()].write_pj_per_byte;
    if (t.carried_by != static_cast<std::uint32_t>(&t - timeline.transfers.data())) continue;
    pj += bytes * machine.stores[t.from.index()].read_pj_per_byte;
    for (const ChannelId c : machine.route(t.from, t.to).channels)
      pj += bytes * machine.channels[c.index()].pj_per_byte;
  }
  return pj;
}

std::variant<Evaluation, Infeasible> evaluate(const TilingInput& input, Detail detail) {
  if (auto infeasible = begins_with_too_much(input)) return std::move(*infeasible);
  auto tiled = tile(input);
  if (auto* infeasible = std::get_if<Infeasible>(&tiled)) return std::move(*infeasible);
  Evaluation e{.tiled = std::move(std::get<Tiled>(tiled))};
  Scheduled scheduled = schedule(e.tiled.problem);
  if (const auto* no_room = std::get_if<NoRoom>(&scheduled)) {
    if (input.exact_reads) return explain_no_room(input, e.tiled, *no_room);
    TilingInput exact = input;  // it may be the slivers that find no room
    exact.exact_reads = true;
    return evaluate(exact, detail);
  }
  e.timeline = std::move(std::get<Timeline>(scheduled));
  Accounts(input, e).run(detail);
  return e;
}

}  // namespace monet::schedule
