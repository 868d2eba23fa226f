#include "monet/plan/defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "monet/graph/cut.h"

namespace monet::plan {
namespace {

using hardware::WorkClass;

constexpr double kRoom = 0.5;            // of a store, for one tile: the next one is fetched meanwhile
constexpr double kWorthSplitting = 256;  // cycles on one core, of work worth more than one
constexpr double kWorthTiling = 2048;    // cycles on one core, of work worth overlapping with its neighbours'
constexpr std::int64_t kFewTiles = 4;    // of such work on one core
// Where other cores do the vector work that comes next, so many tiles on all cores are enough, but for long ones: more
// are more to fetch and to find room for, and no faster.
constexpr std::int64_t kFewInAll = 16;
constexpr double kLongTile = 32768;  // cycles
constexpr double kTileCycles = 64;   // what another tile costs beside its traffic: to begin, to end, to be fetched
constexpr double kBlockCycles = 64;  // and another block: each is found, moved and given room for itself
constexpr double kBurst = 64;        // bytes that a run of consecutive addresses wastes at its ends
constexpr double kShortLoop = 2;     // how much dearer traffic counts where a loop becomes shorter than the array

std::int64_t longest_part(std::int64_t size, std::int64_t parts) { return (size + parts - 1) / parts; }

// How much more than its bytes a part of a tensor counts that lies in short runs of addresses.
double with_bursts(const std::optional<Region>& region, const Shape& shape, double bytes) {
  if (!region || bytes <= 0) return bytes;
  double run = bytes / static_cast<double>(elements(*region));
  for (std::size_t a = shape.size(); a-- > 0;) {
    run *= static_cast<double>(region->axes[a].size());
    if (region->axes[a].size() < shape[a]) break;
  }
  return run < bytes ? bytes * (1 + kBurst / run) : bytes;
}

// Made for element-wise work, and not only able to do it on its multipliers.
bool is_meant_for(const CoreOnChip& core, const Facts& facts) {
  return takes(core, facts) && (facts.is_nest || core.core.vector.has_value() || !core.core.takes.empty());
}

}  // namespace

Defaults::Defaults(const Graph& graph, const std::vector<Facts>& facts, const Chip& chip)
    : graph_(graph), facts_(facts), chip_(chip), cuts_(graph, facts), loads_(graph.nodes.size()) {}

void Defaults::choose_cores(NodeId node, const NodeChoice* near, NodeChoice& choice,
                            std::vector<std::string>& notes) const {
  const Facts& facts = facts_[node.index()];
  const auto all_take = [&](const std::vector<std::uint32_t>& cores) {
    return std::all_of(cores.begin(), cores.end(),
                       [&](std::uint32_t c) { return is_meant_for(chip_.cores[c], facts); });
  };
  // Element-wise work stays where its data is.
  if (!facts.is_nest && near != nullptr && !near->cores.empty() && all_take(near->cores)) {
    choice.cores = near->cores;
    return;
  }
  std::vector<std::uint32_t> able;
  for (const auto& fits : {is_meant_for, takes, can_run}) {
    for (std::uint32_t c = 0; c < chip_.cores.size(); ++c)
      if (fits(chip_.cores[c], facts)) able.push_back(c);
    if (able.empty()) continue;
    if (fits == can_run) {
      const std::string note = fmt::format("no core takes {} work: those that can compute it do it", name(facts.kind));
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
    break;
  }
  if (able.empty())
    throw InputError(
        Diagnostic{.where = graph_[node].name,
                   .message = fmt::format("no core of the chip can run this {} work", name(facts.kind)),
                   .hint = facts.is_nest ? "give the chip a core with an array" : "give the chip a vector unit"});
  // Parts are equal: k cores do k times what the slowest of them does.
  std::stable_sort(able.begin(), able.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lanes(chip_.cores[a], facts) > lanes(chip_.cores[b], facts);
  });
  std::size_t best = 1;
  double most = 0;
  for (std::size_t k = 1; k <= able.size(); ++k) {
    const double rate = static_cast<double>(k) * lanes(chip_.cores[able[k - 1]], facts);
    if (rate > most) {
      most = rate;
      best = k;
    }
  }
  able.resize(best);
  std::sort(able.begin(), able.end());
  const double work = std::max(facts.operations, facts.moved_bits / 16);
  if (work / lanes(chip_.cores[able[0]], facts) < kWorthSplitting) able.resize(1);
  choice.cores = std::move(able);
}

void Defaults::choose_across(NodeId node, NodeChoice& choice) const {
  const Facts& facts = facts_[node.index()];
  const auto cores = static_cast<std::int64_t>(choice.cores.size());
  if (cores < 2) return;
  const double home = chip_.machine.stores[chip_.machine.home.index()].bytes_per_cycle;
  const double cycles = facts.operations / lanes(chip_.cores[choice.cores[0]], facts) / static_cast<double>(cores);
  double best = std::numeric_limits<double>::infinity();
  std::vector<LoopSplit> splits;
  const auto consider = [&](std::vector<LoopSplit> tried) {
    std::vector<std::int64_t> parts(facts.loops.size(), 1);
    double imbalance = 1;
    std::int64_t used = 1;
    for (const LoopSplit& split : tried) {
      const std::int64_t size = facts.loops[split.loop].size;
      parts[split.loop] = split.parts;
      used *= split.parts;
      imbalance *= static_cast<double>(longest_part(size, split.parts) * split.parts) / static_cast<double>(size);
    }
    const Load& moved = load(node, choice, parts);
    double sum = 0;
    for (const double b : moved.moved_in) sum += b;
    for (const double b : moved.moved_out) sum += b;
    const double idle = static_cast<double>(cores) / static_cast<double>(used);
    const double score = cycles * imbalance * idle + sum * static_cast<double>(used) / home +
                         cuts_.blocks(node, std::vector<std::int64_t>(parts.size(), 1), parts) * kBlockCycles;
    if (score >= best) return;
    best = score;
    splits = std::move(tried);
  };
  const auto is_open = [&](std::size_t l) {
    return facts.loops[l].kind == LoopKind::Parallel && facts.loops[l].within.empty() && facts.loops[l].size > 1;
  };
  for (std::uint32_t a = 0; a < facts.loops.size(); ++a) {
    if (!is_open(a)) continue;
    const std::int64_t most = std::min(cores, facts.loops[a].size);
    consider({{a, most}});
    if (const std::int64_t fewer = cuts_.parts_at_seams(node, a, most); fewer > 1 && fewer < most)
      consider({{a, fewer}});
    for (std::uint32_t b = a + 1; b < facts.loops.size(); ++b)
      for (std::int64_t p = 2; is_open(b) && p < cores; ++p)
        if (cores % p == 0 && facts.loops[a].size >= p && facts.loops[b].size >= cores / p)
          consider({{a, p}, {b, cores / p}});
  }
  choice.across = std::move(splits);
  std::int64_t used = 1;
  for (const LoopSplit& split : choice.across) used *= split.parts;
  choice.cores.resize(static_cast<std::size_t>(used));
}

std::vector<std::int64_t> Defaults::core_parts(NodeId node, const NodeChoice& choice) const {
  std::vector<std::int64_t> parts;
  for (std::size_t l = 0; l < facts_[node.index()].loops.size(); ++l) parts.push_back(parts_of(choice.across, l));
  return parts;
}

// Of an operand in the store of the first core: its own, and those of cores that share the store.
double Defaults::parts_in_store(const NodeChoice& choice, const OperandFacts& operand) const {
  const StoreId store = chip_.store(choice.cores[0], operand.slot);
  double sharers = 0, parts_apart = 1;
  for (const std::uint32_t core : choice.cores) sharers += chip_.store(core, operand.slot) == store ? 1 : 0;
  for (const LoopSplit& split : choice.across)
    if ((operand.moves_with >> split.loop & 1) != 0) parts_apart *= static_cast<double>(split.parts);
  return std::min(sharers, parts_apart);
}

// Of a tile of one step.
TileBytes Defaults::least_bytes(NodeId node) const {
  std::vector<Range> box;
  for (const Loop& loop : facts_[node.index()].loops)
    box.push_back(loop.kind == LoopKind::Fixed ? Range{0, loop.size} : Range{0, 1});
  return tile_bytes(facts_[node.index()], cut(graph_, graph_[node], box));
}

// What the largest tile takes in the stores of the first core, and those of other cores that share a store and have
// parts of their own. Operands of which not even one step fits flow past, states of a fused update flow through.
const Defaults::Load& Defaults::load(NodeId node, const NodeChoice& choice,
                                     const std::vector<std::int64_t>& parts) const {
  const NodeId first = facts_[node.index()].first_alike;
  KnownLoads& known = loads_[(first != kNoNode ? first : node).index()];
  for (const KnownLoad& k : known.all)
    if (k.parts == parts && k.cores == choice.cores && k.across == choice.across) return k.load;
  if (!known.least) known.least = least_bytes(node);
  known.all.push_front({choice.cores, choice.across, parts, load_of(node, choice, parts, *known.least)});
  return known.all.front().load;
}

Defaults::Load Defaults::load_of(NodeId node, const NodeChoice& choice, const std::vector<std::int64_t>& parts,
                                 const TileBytes& fewest) const {
  const Facts& facts = facts_[node.index()];
  std::vector<Range> box;
  const std::vector<std::int64_t> across = core_parts(node, choice);
  for (std::size_t l = 0; l < facts.loops.size(); ++l)
    box.push_back(part_of(part_of({0, facts.loops[l].size}, across[l], 0), parts[l], 0));
  const Cut part = cut(graph_, graph_[node], box);
  const TileBytes bytes = tile_bytes(facts, part);
  std::map<StoreId, double> sums;
  const auto add = [&](const std::vector<OperandFacts>& operands, const std::vector<double>& all,
                       const std::vector<double>& one) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const StoreId store = chip_.store(choice.cores[0], operands[i].slot);
      if (store == chip_.machine.home && chip_.home_is_offchip) continue;
      if (operands[i].is_looked_up || operands[i].is_streamed ||
          one[i] > kRoom * static_cast<double>(chip_.machine.stores[store.index()].bytes))
        continue;
      sums[store] += all[i] * parts_in_store(choice, operands[i]);
    }
  };
  add(facts.inputs, bytes.inputs, fewest.inputs);
  add(facts.outputs, bytes.outputs, fewest.outputs);
  Load load{.inputs = bytes.inputs, .outputs = bytes.outputs};
  for (const auto& [store, sum] : sums)
    load.overflow += std::max(0.0, sum - kRoom * static_cast<double>(chip_.machine.stores[store.index()].bytes));
  // Of the stores that are too full.
  double most = 0;
  const auto look = [&](const std::vector<OperandFacts>& operands, const std::vector<double>& all) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const StoreId store = chip_.store(choice.cores[0], operands[i].slot);
      const auto sum = sums.find(store);
      if (sum == sums.end() || all[i] <= most ||
          sum->second <= kRoom * static_cast<double>(chip_.machine.stores[store.index()].bytes))
        continue;
      most = all[i];
      load.largest_moves_with = operands[i].moves_with;
    }
  };
  look(facts.inputs, load.inputs);
  look(facts.outputs, load.outputs);
  const auto count = [&](const std::vector<std::optional<Region>>& regions, const std::vector<TensorId>& tensors,
                         std::vector<double>& moved) {
    for (std::size_t i = 0; i < moved.size(); ++i)
      if (tensors[i] != kNoTensor) moved[i] = with_bursts(regions[i], graph_[tensors[i]].shape, moved[i]);
  };
  load.moved_in = load.inputs;
  load.moved_out = load.outputs;
  // What a fused update shares with others lies in their blocks anyway, and its states can lie as its tiles are.
  if (std::holds_alternative<Steps>(graph_[node].op)) return load;
  count(part.inputs, graph_[node].inputs, load.moved_in);
  count(part.outputs, graph_[node].outputs, load.moved_out);
  return load;
}

// Bytes that come and go: an operand is there as long as only loops inside of its own turn.
double Defaults::traffic(NodeId node, const Load& load, const std::vector<std::int64_t>& parts,
                         const std::vector<std::uint32_t>& order) const {
  const Facts& facts = facts_[node.index()];
  const auto visits = [&](const OperandFacts& operand) {
    double all = 1, here = 1;
    for (const std::uint32_t l : order) {
      all *= static_cast<double>(parts[l]);
      if ((operand.moves_with >> l & 1) != 0) here = all;
    }
    return here;
  };
  double sum = 0;
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) sum += load.moved_in[i] * visits(facts.inputs[i]);
  for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
    double results = 1;
    for (const std::uint32_t l : order)
      if ((facts.outputs[i].moves_with >> l & 1) != 0) results *= static_cast<double>(parts[l]);
    sum += load.moved_out[i] * (2 * visits(facts.outputs[i]) - results);  // sums come back and go again
  }
  return sum;
}

std::vector<std::uint32_t> Defaults::best_order(NodeId node, const Load& load, const std::vector<std::int64_t>& parts,
                                                const std::vector<std::uint32_t>& wished) const {
  std::vector<std::uint32_t> order = wished;
  for (std::uint32_t l = 0; l < parts.size(); ++l)
    if (parts[l] > 1 && std::find(order.begin(), order.end(), l) == order.end()) order.push_back(l);
  constexpr std::size_t kMostPermuted = 5;
  if (order.size() < 2 || order.size() > kMostPermuted || !wished.empty()) return order;
  std::vector<std::uint32_t> best = order;
  double least = traffic(node, load, parts, order);
  while (std::next_permutation(order.begin(), order.end())) {
    const double bytes = traffic(node, load, parts, order);
    if (bytes < least) {
      least = bytes;
      best = order;
    }
  }
  return best;
}

// One of theirs, one of ours, wherever a loop of each runs along the same axis of what is made and read.
std::vector<LoopSplit> Defaults::followed(NodeId node, const NodeChoice& producer, NodeId producer_node) const {
  const Node &us = graph_[node], &them = graph_[producer_node];
  const Facts &ours = facts_[node.index()], &theirs = facts_[producer_node.index()];
  std::vector<LoopSplit> splits;
  if (them.outputs.empty() || them.outputs[0] == kNoTensor) return splits;
  const auto at = std::find(us.inputs.begin(), us.inputs.end(), them.outputs[0]);
  if (at == us.inputs.end()) return splits;
  const auto input = static_cast<std::size_t>(at - us.inputs.begin());
  // Sums are worth keeping from tile to tile if they are much less than what is summed up.
  constexpr std::int64_t kMuchLess = 4;
  const bool sums_are_small = !us.outputs.empty() && us.outputs[0] != kNoTensor &&
                              elements(graph_[us.outputs[0]].shape) * kMuchLess <= elements(graph_[*at].shape);
  for (const LoopSplit& split : producer.tiles) {
    const int axis = theirs.loops[split.loop].within.empty() ? theirs.outputs[0].axes[split.loop] : -1;
    if (axis < 0) continue;
    for (std::uint32_t l = 0; l < ours.loops.size(); ++l)
      if ((ours.loops[l].kind != LoopKind::Reduction || sums_are_small) && ours.loops[l].within.empty() &&
          ours.inputs[input].axes[l] == axis)
        splits.push_back({l, split.parts});
  }
  return splits;
}

void Defaults::choose_tiles(NodeId node, const NodeChoice* producer, NodeId producer_node, bool is_fused,
                            NodeChoice& choice) const {
  const Facts& facts = facts_[node.index()];
  const std::vector<std::int64_t> across = core_parts(node, choice);
  std::vector<std::int64_t> parts(facts.loops.size(), 1);
  std::vector<std::uint32_t> wished;
  if (producer != nullptr && is_fused)
    for (const LoopSplit& split : followed(node, *producer, producer_node)) {
      parts[split.loop] = split.parts;
      wished.push_back(split.loop);
    }
  const auto extent = [&](std::size_t l) { return longest_part(facts.loops[l].size, across[l]); };
  for (std::size_t l = 0; l < parts.size(); ++l) parts[l] = std::min(parts[l], extent(l));
  const auto is_open = [&](std::size_t l) {
    const Loop& loop = facts.loops[l];
    if (loop.kind == LoopKind::Fixed || parts[l] >= extent(l)) return false;
    for (std::size_t outer = 0; outer < facts.loops.size(); ++outer)
      if (facts.loops[outer].name == loop.within && parts[outer] * across[outer] < facts.loops[outer].size)
        return false;
    return true;
  };
  double side = 1;
  if (const auto& array = chip_.cores[choice.cores[0]].core.array; facts.is_nest && array)
    for (const hardware::ArrayDimension& d : array->dimensions) side = std::max(side, static_cast<double>(d.size));
  const double home_rate = chip_.machine.stores[chip_.machine.home.index()].bytes_per_cycle;
  // Halves the loop that costs the least; if it must fit better, one that cuts what takes most room.
  const Load* now = &load(node, choice, parts);
  std::uint64_t worth_cutting = now->largest_moves_with;  // loops, as bits
  const auto halve = [&](bool is_parallel_only, bool must_fit_better) {
    double best = std::numeric_limits<double>::infinity(), best_overflow = best;
    std::optional<std::size_t> chosen;
    const Load* chosen_load = nullptr;
    for (std::size_t l = 0; l < parts.size(); ++l) {
      if (!is_open(l) || (is_parallel_only && facts.loops[l].kind != LoopKind::Parallel)) continue;
      if (must_fit_better && (worth_cutting >> l & 1) == 0) continue;
      const std::int64_t before = parts[l];
      parts[l] = std::min(extent(l), 2 * before);
      const Load& then = load(node, choice, parts);
      const bool is_laid_out = facts.loops[l].name == "K" || facts.loops[l].name == "C" || facts.loops[l].name == "D";
      const bool is_short = is_laid_out && static_cast<double>(longest_part(extent(l), parts[l])) < side;
      double count = 1;
      for (const std::int64_t p : parts) count *= static_cast<double>(p);
      const double score =
          traffic(node, then, parts, best_order(node, then, parts, wished)) * (is_short ? kShortLoop : 1) +
          (count * kTileCycles + cuts_.blocks(node, across, parts) * kBlockCycles) * home_rate;
      parts[l] = before;
      if (must_fit_better && then.overflow >= now->overflow) continue;
      if (score > best || (score == best && then.overflow >= best_overflow)) continue;
      best = score;
      best_overflow = then.overflow;
      chosen = l;
      chosen_load = &then;
    }
    if (!chosen) return false;
    parts[*chosen] = std::min(extent(*chosen), 2 * parts[*chosen]);
    now = chosen_load;
    worth_cutting = now->largest_moves_with;
    return true;
  };
  // First what takes most room; where that cannot be cut any more, the rest.
  while (now->overflow > 0) {
    if (halve(false, true)) continue;
    if (worth_cutting == ~std::uint64_t{0}) break;
    worth_cutting = ~std::uint64_t{0};
  }
  const auto tiles = [&] {
    std::int64_t count = 1;
    for (const std::int64_t p : parts) count *= p;
    return count;
  };
  const double cycles = facts.operations / lanes(chip_.cores[choice.cores[0]], facts) /
                        static_cast<double>(std::max<std::size_t>(1, choice.cores.size()));
  std::int64_t few = kFewTiles;
  if (!chip_.cores[choice.cores[0]].core.vector)
    few = std::clamp(std::max(kFewInAll / static_cast<std::int64_t>(choice.cores.size()),
                              static_cast<std::int64_t>(cycles / kLongTile)),
                     std::int64_t{1}, kFewTiles);
  while (wished.empty() && cycles > kWorthTiling && tiles() < few && halve(true, false)) {
  }
  choice.tiles.clear();
  for (const std::uint32_t l : best_order(node, *now, parts, wished))
    if (parts[l] > 1) choice.tiles.push_back({l, parts[l]});
}

void Defaults::align(const std::vector<NodeId>& nodes, std::vector<NodeChoice>& choices) const {
  std::vector<bool> is_done(nodes.size(), false);
  for (std::size_t first = 0; first < nodes.size(); ++first) {
    const Facts& facts = facts_[nodes[first].index()];
    const NodeChoice& leader = choices[nodes[first].index()];
    if (is_done[first] || facts.kind != WorkClass::Elementwise || facts.is_nest || facts.is_view) continue;
    std::vector<NodeId> alike;
    for (std::size_t i = first; i < nodes.size(); ++i) {
      const NodeChoice& other = choices[nodes[i].index()];
      if (is_done[i] || facts_[nodes[i].index()].kind != WorkClass::Elementwise || other.cores != leader.cores ||
          other.across != leader.across || facts_[nodes[i].index()].loops != facts.loops)
        continue;
      is_done[i] = true;
      alike.push_back(nodes[i]);
    }
    if (alike.size() < 2) continue;
    std::vector<std::int64_t> parts(facts.loops.size(), 1);
    std::vector<std::uint32_t> order;
    for (const LoopSplit& split : leader.tiles) {
      order.push_back(split.loop);
      parts[split.loop] *= split.parts;
    }
    const std::vector<std::int64_t> across = core_parts(alike[0], leader);
    std::vector<Life> lives = lives_of(alike, leader);
    while (!holds_all(alike, leader, parts, lives)) {
      std::optional<std::uint32_t> best;
      double least = std::numeric_limits<double>::infinity();
      std::int64_t then = 1;
      for (std::uint32_t l = 0; l < parts.size(); ++l) {
        const std::int64_t before = parts[l], extent = longest_part(facts.loops[l].size, across[l]);
        if (facts.loops[l].kind != LoopKind::Parallel || before >= extent) continue;
        parts[l] = std::min(extent, 2 * before);
        double count = 0;
        for (const NodeId n : alike) count += cuts_.blocks(n, across, parts);
        if (count < least) {
          least = count;
          best = l;
          then = parts[l];
        }
        parts[l] = before;
      }
      if (!best) break;
      parts[*best] = then;
      if (std::find(order.begin(), order.end(), *best) == order.end()) order.push_back(*best);
    }
    for (const NodeId n : alike) {
      choices[n.index()].tiles.clear();
      for (const std::uint32_t l : order) choices[n.index()].tiles.push_back({l, parts[l]});
    }
  }
}

// By tensor; nothing is known of their bytes yet.
std::vector<Defaults::Life> Defaults::lives_of(const std::vector<NodeId>& nodes, const NodeChoice& choice) const {
  std::vector<Life> lives;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto add = [&](const std::vector<TensorId>& tensors, const std::vector<OperandFacts>& operands,
                         bool is_made) {
      for (std::size_t o = 0; o < tensors.size(); ++o) {
        if (tensors[o] == kNoTensor) continue;
        const auto at = std::lower_bound(lives.begin(), lives.end(), tensors[o],
                                         [](const Life& life, TensorId t) { return life.tensor < t; });
        const bool is_new = at == lives.end() || at->tensor != tensors[o];
        Life& life = is_new ? *lives.insert(at, {.tensor = tensors[o], .first = i}) : *at;
        life.last = i;
        life.is_made = life.is_made || is_made;
        life.store = chip_.store(choice.cores[0], operands[o].slot);
      }
    };
    const Facts& facts = facts_[nodes[i].index()];
    add(graph_[nodes[i]].inputs, facts.inputs, false);
    add(graph_[nodes[i]].outputs, facts.outputs, true);
  }
  return lives;
}

// Whether there is room for one tile of every node at its turn, beside what earlier ones made for later ones.
bool Defaults::holds_all(const std::vector<NodeId>& nodes, const NodeChoice& choice,
                         const std::vector<std::int64_t>& parts, std::vector<Life>& lives) const {
  for (Life& life : lives) life.bytes = 0;
  for (const NodeId n : nodes) {
    const Load& bytes = load(n, choice, parts);
    const auto add = [&](const std::vector<TensorId>& tensors, const std::vector<OperandFacts>& operands,
                         const std::vector<double>& sizes) {
      for (std::size_t o = 0; o < tensors.size(); ++o) {
        if (tensors[o] == kNoTensor || operands[o].is_streamed) continue;
        Life& life = *std::lower_bound(lives.begin(), lives.end(), tensors[o],
                                       [](const Life& l, TensorId t) { return l.tensor < t; });
        life.bytes = std::max(life.bytes, sizes[o] * parts_in_store(choice, operands[o]));
      }
    };
    const Facts& facts = facts_[n.index()];
    add(graph_[n].inputs, facts.inputs, bytes.inputs);
    add(graph_[n].outputs, facts.outputs, bytes.outputs);
  }
  std::vector<double> sums(chip_.machine.stores.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (const Life& life : lives)
      if (life.first == i || life.last == i || (life.is_made && life.first < i && i < life.last))
        sums[life.store.index()] += life.bytes;
    for (std::size_t s = 0; s < sums.size(); ++s)
      if (!(s == chip_.machine.home.index() && chip_.home_is_offchip) &&
          sums[s] > kRoom * static_cast<double>(chip_.machine.stores[s].bytes))
        return false;
  }
  return true;
}

}  // namespace monet::plan
