#include "monet/verbs/explain_run_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "monet/hardware/verify.h"
#include "monet/report/nest.h"
#include "monet/report/table.h"

namespace monet {
namespace {

using schedule::PathStep;

constexpr std::size_t kRowsExplained = 12;

ExplainedCell word(std::string text) { return {text, Json(text)}; }
ExplainedCell cycles(double value) { return {quantity(value), Json(value)}; }
ExplainedCell energy(double pj) { return {energy_text(pj), Json(pj)}; }
ExplainedCell bytes(double value) { return {byte_count(static_cast<std::uint64_t>(value)), Json(value)}; }
ExplainedCell share(double part, double whole) {
  const double value = whole > 0 ? part / whole : 0;
  return {fmt::format("{:.1f} %", 100 * value), Json(value)};
}

std::uint32_t tile_of(const schedule::Evaluation& e, const PathStep& step) {
  return step.kind == PathStep::Kind::Tile ? step.index : e.timeline.transfers[step.index].tile.value;
}

std::string tensor_name(const Evaluated& mode, schedule::BlockId block) {
  const schedule::BlockInfo& info = mode.result().tiled.blocks[block.index()];
  return (info.is_sum ? "sums of " : "") + mode.graph[info.tensor].name;
}

std::string step_words(const EvaluateRun& run, const Evaluated& mode, const PathStep& step) {
  const schedule::Evaluation& e = mode.result();
  const std::string& node = mode.graph[e.tiled.tiles[tile_of(e, step)].node].name;
  if (step.kind == PathStep::Kind::Tile) return fmt::format("{} computes", node);
  const schedule::Transfer& t = e.timeline.transfers[step.index];
  const plan::Machine& machine = run.chip.machine;
  constexpr std::array kWhy{"needed by", "evicted for", "final value of"};
  return fmt::format("{} from {} to {}, {} {}", tensor_name(mode, t.block), machine.stores[t.from.index()].name,
                     machine.stores[t.to.index()].name, kWhy[static_cast<std::size_t>(t.purpose)], node);
}

std::string origin_of(const EvaluateRun& run, const std::string& path, const hardware::Figure& figure) {
  if (const auto origin = run.loaded.origins.find(path)) return fmt::format("{}:{}", origin->file, origin->line);
  return std::string(name(figure.provenance));
}

// "buffer: 416.16 pJ to read, 378.4 pJ to write 256 B (tpu.yaml:12)"
std::string memory_figures(const EvaluateRun& run, const std::string& level) {
  const hardware::Hardware& chip = run.loaded.hardware;
  for (std::size_t c = 0; c < chip.cores.size(); ++c)
    for (std::size_t m = 0; m < chip.cores[c].memories.size(); ++m) {
      const hardware::Memory& memory = chip.cores[c].memories[m];
      if (memory.name != level) continue;
      std::int64_t bits = 0;
      for (const hardware::Port& port : memory.ports) bits = std::max(bits, port.max_bits_per_cycle);
      return fmt::format("{:.4g} pJ to read, {:.4g} pJ to write {} bits ({})", memory.read_energy_pj.value,
                         memory.write_energy_pj.value, bits,
                         origin_of(run, hardware::memory_path(c, m) + ".read_energy_pj", memory.read_energy_pj));
    }
  return "";
}

std::string plan_words(const EvaluateRun& run, const Evaluated& mode, std::size_t node) {
  const plan::NodeChoice& choice = mode.decided.nodes[node];
  std::vector<std::string> cores, across, tiles;
  for (const std::uint32_t c : choice.cores) cores.push_back(run.chip.cores[c].core.name);
  for (const plan::LoopSplit& s : choice.across)
    across.push_back(fmt::format("{} in {}", mode.facts[node].loops[s.loop].name, s.parts));
  for (const plan::LoopSplit& s : choice.tiles)
    tiles.push_back(fmt::format("{} in {}", mode.facts[node].loops[s.loop].name, s.parts));
  return fmt::format(
      "on {}{}{}", fmt::join(cores, ", "), across.empty() ? "" : fmt::format("; over them {}", fmt::join(across, ", ")),
      tiles.empty() ? "; one tile each" : fmt::format("; one after the other {}", fmt::join(tiles, ", ")));
}

std::string cause_words(const EvaluateRun& run, const Evaluated& mode, const schedule::Cause& cause) {
  const schedule::Evaluation& e = mode.result();
  const auto tile_name = [&](std::uint32_t i) { return mode.graph[e.tiled.tiles[i].node].name; };
  switch (cause.kind) {
    case schedule::Cause::Kind::Nothing: return "as early as its turn came";
    case schedule::Cause::Kind::Unit: return fmt::format("its unit was busy with {}", tile_name(cause.index));
    case schedule::Cause::Kind::Tile: return fmt::format("it waited for {}", tile_name(cause.index));
    case schedule::Cause::Kind::TileAtPort:
      return fmt::format("it waited for port {}, used by {}", run.chip.machine.ports[cause.port.index()].name,
                         tile_name(cause.index));
    case schedule::Cause::Kind::TransferAtPort:
      return fmt::format("it waited for port {}, used by a transfer of {}",
                         run.chip.machine.ports[cause.port.index()].name,
                         tensor_name(mode, e.timeline.transfers[cause.index].block));
    case schedule::Cause::Kind::Transfer:
    case schedule::Cause::Kind::Channel: {
      const schedule::Transfer& t = e.timeline.transfers[cause.index];
      return fmt::format("it waited for {} from {}{}", tensor_name(mode, t.block),
                         run.chip.machine.stores[t.from.index()].name,
                         cause.kind == schedule::Cause::Kind::Channel ? " on the same channel" : "");
    }
  }
  return "";
}

}  // namespace

std::vector<ExplainedSection> latency_sections(const EvaluateRun& run, const Evaluated& mode) {
  const schedule::Evaluation& e = mode.result();
  ExplainedSection phases{.title = "By phase: each cycle belongs to the one that everything waited for",
                          .header = {"phase", "cycles", "share", "busy cycles of all units"}};
  for (std::size_t p = 0; p < kPhases; ++p)
    if (e.busy_by_phase[p] > 0)
      phases.rows.push_back({word(std::string(name(static_cast<Phase>(p)))), cycles(e.latency_by_phase[p]),
                             share(e.latency_by_phase[p], e.latency), cycles(e.busy_by_phase[p])});
  phases.rows.push_back({word("sum"), cycles(e.latency), share(1, 1), word("")});
  ExplainedSection resources{.title = "What was waited for", .header = {"resource", "cycles", "share"}};
  for (const TimeSpent& spent : time_spent(run.chip, e))
    resources.rows.push_back({word(spent.resource), cycles(spent.cycles), share(spent.cycles, e.latency)});
  // Neighbours on the path that are about the same node and thing are one stretch.
  struct Stretch {
    std::string what{};
    double from = 0, to = 0;
    std::size_t steps = 0;
  };
  std::vector<Stretch> stretches;
  for (const PathStep& step : e.path) {
    std::string words = step_words(run, mode, step);
    if (!stretches.empty() && stretches.back().what == words) {
      stretches.back().to = step.to;
      ++stretches.back().steps;
    } else {
      stretches.push_back({std::move(words), step.from, step.to, 1});
    }
  }
  std::vector<const Stretch*> longest;
  for (const Stretch& s : stretches) longest.push_back(&s);
  std::stable_sort(longest.begin(), longest.end(),
                   [](const Stretch* a, const Stretch* b) { return a->to - a->from > b->to - b->from; });
  if (longest.size() > kRowsExplained) longest.resize(kRowsExplained);
  std::stable_sort(longest.begin(), longest.end(),
                   [](const Stretch* a, const Stretch* b) { return a->from < b->from; });
  ExplainedSection path{
      .title = fmt::format("The longest stretches of the path that decides it ({} in all), in order", stretches.size()),
      .header = {"what", "from cycle", "to cycle", "cycles"}};
  for (const Stretch* s : longest)
    path.rows.push_back({word(s->what), cycles(s->from), cycles(s->to), cycles(s->to - s->from)});
  return {std::move(phases), std::move(resources), std::move(path)};
}

ExplainedSection lever_section(const EvaluateRun& run, const Evaluated& mode, std::size_t threads) {
  const schedule::Evaluation& e = mode.result();
  ExplainedSection out{.title = "What would help: each resource doubled, under the same plan",
                       .header = {"resource", "from", "to", "latency", "gain", "cycles gained per unit", "energy"}};
  const std::vector<RunLever> levers = run_levers(run, mode, threads);
  for (const RunLever& lever : levers) {
    const auto amount = [&](double value) -> ExplainedCell {
      return lever.unit == "B" ? bytes(value) : ExplainedCell{fmt::format("{:.4g} {}", value, lever.unit), Json(value)};
    };
    out.rows.push_back({word(lever.resource), amount(lever.from), amount(lever.to), cycles(lever.latency),
                        share(e.latency - lever.latency, e.latency),
                        cycles(std::round((e.latency - lever.latency) / (lever.to - lever.from) * 1000) / 1000),
                        energy(lever.energy_pj)});
  }
  if (levers.empty()) out.sentences.push_back("nothing of it alone: the plan's order decides");
  return out;
}

std::vector<ExplainedSection> energy_sections(const EvaluateRun& run, const Evaluated& mode) {
  const schedule::Evaluation& e = mode.result();
  const double total = e.energy.total();
  ExplainedSection parts{.title = "What it is made of", .header = {"part", "energy", "share", "figures"}};
  parts.rows.push_back({word("compute"), energy(e.energy.compute), share(e.energy.compute, total),
                        word("arithmetic of arrays and vector lanes")});
  for (const auto& [level, pj] : e.energy.memory)
    parts.rows.push_back({word(level), energy(pj), share(pj, total), word(memory_figures(run, level))});
  parts.rows.push_back({word("links"), energy(e.energy.link), share(e.energy.link, total), word("bytes x pJ/byte")});
  const plan::Store& home = run.chip.machine.stores[run.chip.machine.home.index()];
  const schedule::StoreUse& use = e.stores[run.chip.machine.home.index()];
  parts.rows.push_back(
      {word("off-chip"), energy(e.energy.offchip), share(e.energy.offchip, total),
       word(fmt::format("{} read x {:.4g} pJ/B + {} written x {:.4g} pJ/B",
                        byte_count(static_cast<std::uint64_t>(use.bytes_out)), home.read_pj_per_byte,
                        byte_count(static_cast<std::uint64_t>(use.bytes_in)), home.write_pj_per_byte))});
  parts.rows.push_back(
      {word("leakage"), energy(e.energy.leakage), share(e.energy.leakage, total),
       word(fmt::format("{} cycles x {:.4g} pJ", quantity(e.latency), run.chip.leakage_pj_per_cycle))});
  parts.rows.push_back({word("sum"), energy(total), share(1, 1), word("")});
  ExplainedSection phases{.title = "By phase", .header = {"phase", "energy", "share"}};
  for (std::size_t p = 0; p < kPhases; ++p)
    if (e.energy_by_phase[p] > 0)
      phases.rows.push_back({word(std::string(name(static_cast<Phase>(p)))), energy(e.energy_by_phase[p]),
                             share(e.energy_by_phase[p], total)});
  ExplainedSection uses{.title = "Of what moves and is accessed, by what it is for", .header = {"data", "energy"}};
  for (std::size_t u = 0; u < schedule::kMemoryUses; ++u)
    if (e.energy_by_use[u] > 0)
      uses.rows.push_back({word(std::string(name(static_cast<schedule::MemoryUse>(u)))), energy(e.energy_by_use[u])});
  std::vector<std::size_t> order;
  for (std::size_t n = 0; n < e.nodes.size(); ++n)
    if (e.nodes[n].tiles > 0) order.push_back(n);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return e.nodes[a].energy_pj > e.nodes[b].energy_pj; });
  ExplainedSection nodes{.title = "The nodes that take most of it", .header = {"node", "energy", "share", "off-chip"}};
  for (std::size_t i = 0; i < order.size() && i < kRowsExplained; ++i)
    nodes.rows.push_back({word(mode.graph.nodes[order[i]].name), energy(e.nodes[order[i]].energy_pj),
                          share(e.nodes[order[i]].energy_pj, total), bytes(e.nodes[order[i]].offchip_bytes)});
  ExplainedSection levers{.title = "What would help: each figure a tenth smaller saves a tenth of its part",
                          .header = {"figure", "saves"}};
  std::vector<std::pair<std::string, double>> gains{{"compute", e.energy.compute},
                                                    {"links", e.energy.link},
                                                    {"off-chip", e.energy.offchip},
                                                    {"leakage", e.energy.leakage}};
  for (const auto& [level, pj] : e.energy.memory) gains.emplace_back(level, pj);
  std::stable_sort(gains.begin(), gains.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [figure, pj] : gains)
    if (pj > 0) levers.rows.push_back({word(figure), share(0.1 * pj, total)});
  return {std::move(parts), std::move(phases), std::move(uses), std::move(nodes), std::move(levers)};
}

std::vector<ExplainedSection> memory_sections(const EvaluateRun& run, const Evaluated& mode) {
  const schedule::Evaluation& e = mode.result();
  const plan::Machine& machine = run.chip.machine;
  std::vector<ExplainedSection> out;
  for (std::size_t s = 0; s < machine.stores.size(); ++s) {
    const schedule::StoreUse& use = e.stores[s];
    if (!(use.peak_bytes > 0)) continue;
    ExplainedSection section{
        .title = fmt::format("{}: {} of {} at cycle {}", machine.stores[s].name,
                             byte_count(static_cast<std::uint64_t>(use.peak_bytes)),
                             byte_count(static_cast<std::uint64_t>(machine.stores[s].bytes)), quantity(use.peak_time)),
        .header = {"tensor", "for", "bytes here", "from cycle", "to cycle"}};
    // Who runs, and what lies there, just then.
    std::vector<std::string> running;
    for (std::size_t t = 0; t < e.timeline.tiles.size() && running.size() < 3; ++t)
      if (e.timeline.tiles[t].start <= use.peak_time && use.peak_time < e.timeline.tiles[t].end)
        running.push_back(mode.graph[e.tiled.tiles[t].node].name);
    if (!running.empty()) section.sentences.push_back(fmt::format("while {} ran", fmt::join(running, ", ")));
    struct There {
      double bytes = 0, from = 0, to = 0;
      schedule::MemoryUse use{};
    };
    std::map<std::string, There> there;
    for (const schedule::Stay& stay : e.timeline.stays) {
      if (stay.store.index() != s || stay.from > use.peak_time || stay.to <= use.peak_time) continue;
      const schedule::BlockInfo& info = e.tiled.blocks[stay.block.index()];
      const auto [at, is_new] = there.try_emplace(tensor_name(mode, stay.block));
      There& entry = at->second;
      entry.bytes += static_cast<double>(e.tiled.problem.blocks[stay.block.index()].bytes);
      entry.from = is_new ? stay.from : std::min(entry.from, stay.from);
      entry.to = std::max(entry.to, stay.to);
      entry.use = info.is_sum ? schedule::MemoryUse::Workspace : schedule::memory_use(mode.graph[info.tensor].category);
    }
    std::vector<std::pair<std::string, There>> sorted(there.begin(), there.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
    for (std::size_t i = 0; i < sorted.size() && i < kRowsExplained; ++i)
      section.rows.push_back({word(sorted[i].first), word(std::string(name(sorted[i].second.use))),
                              bytes(sorted[i].second.bytes), cycles(sorted[i].second.from),
                              cycles(sorted[i].second.to)});
    if (sorted.size() > kRowsExplained)
      section.rows.push_back({word(fmt::format("… {} more", sorted.size() - kRowsExplained))});
    out.push_back(std::move(section));
  }
  return out;
}

std::vector<ExplainedSection> node_sections(const EvaluateRun& run, const Evaluated& mode, std::size_t n) {
  const schedule::Evaluation& e = mode.result();
  const Node& node = mode.graph.nodes[n];
  const schedule::NodeResult& r = e.nodes[n];
  ExplainedSection what{.title = "What it is"};
  if (mode.facts[n].is_view) {
    what.sentences = {"a view: another shape of the same storage, nothing moves and nobody runs it"};
    return {std::move(what)};
  }
  std::vector<std::string> loops;
  for (const Loop& loop : mode.facts[n].loops) loops.push_back(fmt::format("{} {}", loop.name, loop.size));
  what.sentences = {
      fmt::format("{} work of the {} phase, loops {}", name(mode.facts[n].kind), name(node.phase),
                  fmt::join(loops, ", ")),
      plan_words(run, mode, n) + fmt::format("; group {} of {}", e.tiled.group[n] + 1, mode.decided.groups.size()),
      fmt::format("from cycle {} to {}: {} tiles, {} busy cycles, {} from or to off-chip memory", quantity(r.start),
                  quantity(r.end), r.tiles, quantity(r.busy), byte_count(static_cast<std::uint64_t>(r.offchip_bytes)))};
  std::map<std::uint32_t, std::size_t> counts;
  std::size_t first = e.tiled.tiles.size();
  for (std::size_t t = 0; t < e.tiled.tiles.size(); ++t)
    if (e.tiled.tiles[t].node.index() == n) {
      ++counts[e.tiled.tiles[t].kind];
      if (first == e.tiled.tiles.size() || e.timeline.tiles[t].start < e.timeline.tiles[first].start) first = t;
    }
  if (first < e.tiled.tiles.size())
    what.sentences.push_back("its first tile did not begin earlier: " +
                             cause_words(run, mode, e.timeline.tiles[first].cause));
  ExplainedSection kinds{
      .title = "Its tiles, by kind: cycles and energy of one, on its core's own memories",
      .header = {"tiles", "cycles", "multiply-adds", "element operations", "arithmetic", "memories"}};
  double compute = 0, memory = 0;
  for (const auto& [kind, count] : counts) {
    const schedule::TileCost& c = e.tiled.kinds[kind].cost;
    double levels = 0;
    for (const schedule::LevelEnergy& level : c.levels) levels += level.pj;
    compute += c.compute_pj * static_cast<double>(count);
    memory += levels * static_cast<double>(count);
    kinds.rows.push_back({cycles(static_cast<double>(count)), cycles(c.cycles), cycles(c.macs), cycles(c.vector_ops),
                          energy(c.compute_pj), energy(levels)});
  }
  ExplainedSection parts{.title = "Energy", .header = {"part", "energy", "share"}};
  parts.rows = {{word("arithmetic"), energy(compute), share(compute, r.energy_pj)},
                {word("its core's memories"), energy(memory), share(memory, r.energy_pj)},
                {word("transfers for its sake"), energy(r.energy_pj - compute - memory),
                 share(r.energy_pj - compute - memory, r.energy_pj)},
                {word("sum"), energy(r.energy_pj), share(1, 1)}};
  ExplainedSection moves{.title = "What moved for its sake",
                         .header = {"tensor", "from", "to", "transfers", "bytes", "cycles"}};
  struct Moved {
    double bytes = 0, cycles = 0;
    std::size_t count = 0;
  };
  std::map<std::array<std::string, 3>, Moved> moved;
  for (const schedule::Transfer& t : e.timeline.transfers) {
    if (e.tiled.tiles[t.tile.index()].node.index() != n) continue;
    Moved& m = moved[{tensor_name(mode, t.block), run.chip.machine.stores[t.from.index()].name,
                      run.chip.machine.stores[t.to.index()].name}];
    m.bytes += static_cast<double>(e.tiled.problem.blocks[t.block.index()].bytes);
    m.cycles += t.end - t.start;
    ++m.count;
  }
  std::vector<std::pair<std::array<std::string, 3>, Moved>> sorted(moved.begin(), moved.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  for (std::size_t i = 0; i < sorted.size() && i < kRowsExplained; ++i)
    moves.rows.push_back({word(sorted[i].first[0]), word(sorted[i].first[1]), word(sorted[i].first[2]),
                          cycles(static_cast<double>(sorted[i].second.count)), bytes(sorted[i].second.bytes),
                          cycles(sorted[i].second.cycles)});
  if (moves.rows.empty()) moves.sentences = {"nothing: all it needed was there"};
  if (mode.facts[n].is_nest)
    kinds.sentences = {
        fmt::format("the mapping of one core, equation by equation: monet explain {}/{} latency --on {}/{}", "MODEL",
                    node.name, run.loaded.hardware.name, run.chip.cores[mode.decided.nodes[n].cores[0]].core.name)};
  return {std::move(what), std::move(kinds), std::move(parts), std::move(moves)};
}

std::vector<ExplainedSection> tensor_sections(const EvaluateRun& run, const Evaluated& mode, std::size_t t) {
  const schedule::Evaluation& e = mode.result();
  const plan::Machine& machine = run.chip.machine;
  const Tensor& tensor = mode.graph.tensors[t];
  const TensorId root = mode.storage->root(TensorId{static_cast<std::uint32_t>(t)});
  const schedule::TensorResult& r = e.tensors[root.index()];
  ExplainedSection what{.title = "What it is"};
  what.sentences = {fmt::format("{} {} of {}, {}", name(tensor.category), to_string(tensor.shape),
                                byte_count(monet::bytes(tensor)), name(schedule::memory_use(tensor.category)))};
  if (root.index() != t)
    what.sentences.push_back(fmt::format("lies in the storage of '{}', which is shown", mode.graph[root].name));
  what.sentences.push_back(fmt::format("from cycle {} to {}; off-chip {} read, {} written", quantity(r.born),
                                       quantity(r.died), byte_count(static_cast<std::uint64_t>(r.offchip_read_bytes)),
                                       byte_count(static_cast<std::uint64_t>(r.offchip_written_bytes))));
  ExplainedSection where{.title = "Where it lies",
                         .header = {"memory", "stays", "from cycle", "to cycle", "most bytes"}};
  struct Lying {
    double from = 0, to = 0;
    std::size_t count = 0;
    std::vector<std::pair<double, double>> changes{};
  };
  std::map<std::uint32_t, Lying> lying;
  for (const schedule::Stay& stay : e.timeline.stays) {
    const schedule::BlockInfo& info = e.tiled.blocks[stay.block.index()];
    if (info.is_sum || info.tensor != root) continue;
    Lying& l = lying[stay.store.value];
    const auto size = static_cast<double>(e.tiled.problem.blocks[stay.block.index()].bytes);
    l.from = l.count == 0 ? stay.from : std::min(l.from, stay.from);
    l.to = std::max(l.to, stay.to);
    ++l.count;
    l.changes.emplace_back(stay.from, size);
    l.changes.emplace_back(stay.to, -size);
  }
  for (auto& [store, l] : lying) {
    std::sort(l.changes.begin(), l.changes.end());
    double now = 0, most = 0;
    for (const auto& [time, change] : l.changes) most = std::max(most, now += change);
    where.rows.push_back({word(machine.stores[store].name), cycles(static_cast<double>(l.count)), cycles(l.from),
                          cycles(l.to), bytes(most)});
  }
  ExplainedSection users{.title = "Who makes and reads it", .header = {"node", "does", "from cycle", "to cycle"}};
  for (std::size_t n = 0; n < mode.graph.nodes.size(); ++n) {
    const Node& node = mode.graph.nodes[n];
    const auto is_it = [&](TensorId id) { return id != kNoTensor && mode.storage->root(id) == root; };
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), is_it),
               writes = std::any_of(node.outputs.begin(), node.outputs.end(), is_it);
    if ((!reads && !writes) || e.nodes[n].tiles == 0) continue;
    users.rows.push_back({word(node.name),
                          word(reads && writes ? "updates"
                               : reads         ? "reads"
                                               : "makes"),
                          cycles(e.nodes[n].start), cycles(e.nodes[n].end)});
    if (users.rows.size() == 2 * kRowsExplained) break;
  }
  return {std::move(what), std::move(where), std::move(users)};
}

std::vector<ExplainedSection> core_sections(const EvaluateRun& run, const Evaluated& mode, std::size_t c) {
  const schedule::Evaluation& e = mode.result();
  const plan::CoreOnChip& core = run.chip.cores[c];
  ExplainedSection what{.title = "How busy it is", .header = {"unit", "busy cycles", "share"}};
  std::vector<plan::UnitId> units;
  if (core.array) units.push_back(*core.array);
  if (core.vector && core.vector != core.array) units.push_back(*core.vector);
  for (const plan::UnitId u : units)
    what.rows.push_back({word(run.chip.machine.units[u.index()].name), cycles(e.units[u.index()].busy),
                         share(e.units[u.index()].busy, e.latency)});
  what.sentences = {
      fmt::format("{} multiply-adds, {} element operations: {:.1f} % of what its lanes could do",
                  quantity(e.core_macs[c]), quantity(e.core_vector_ops[c]), 100 * core_utilisation(run.chip, e, c)),
      fmt::format("energy {} without links, off-chip memory and leakage", energy_text(e.energy_by_core[c]))};
  // Idle time between two tiles, by what the later one waited for.
  ExplainedSection idle{.title = "What it waited for while idle", .header = {"cause", "cycles", "share"}};
  std::map<std::string, double> waits;
  for (const plan::UnitId u : units) {
    double end = 0;
    for (std::size_t t = 0; t < e.tiled.tiles.size(); ++t) {
      if (e.tiled.problem.tiles[t].unit != u) continue;
      const schedule::TileTime& time = e.timeline.tiles[t];
      if (time.start > end) {
        std::string why;
        switch (time.cause.kind) {
          case schedule::Cause::Kind::Tile: why = "results of other units"; break;
          case schedule::Cause::Kind::TileAtPort:
          case schedule::Cause::Kind::TransferAtPort:
            why = "port " + run.chip.machine.ports[time.cause.port.index()].name;
            break;
          case schedule::Cause::Kind::Transfer:
          case schedule::Cause::Kind::Channel: {
            const schedule::Transfer& x = e.timeline.transfers[time.cause.index];
            why = "transfers from " + run.chip.machine.stores[x.from.index()].name;
            break;
          }
          case schedule::Cause::Kind::Nothing:
          case schedule::Cause::Kind::Unit: why = "its turn"; break;
        }
        waits[why] += time.start - end;
      }
      end = std::max(end, time.end);
    }
    waits["nothing more to do"] += e.latency - end;
  }
  for (const auto& [why, time] : waits)
    if (time > 0)
      idle.rows.push_back({word(why), cycles(time), share(time, e.latency * static_cast<double>(units.size()))});
  std::vector<std::pair<std::size_t, double>> nodes;
  std::map<std::size_t, double> busy;
  for (std::size_t t = 0; t < e.tiled.tiles.size(); ++t)
    if (e.tiled.tiles[t].core == c)
      busy[e.tiled.tiles[t].node.index()] += e.timeline.tiles[t].end - e.timeline.tiles[t].start;
  nodes.assign(busy.begin(), busy.end());
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  ExplainedSection longest{.title = "What it spends its time on", .header = {"node", "busy cycles", "share"}};
  for (std::size_t i = 0; i < nodes.size() && i < kRowsExplained; ++i)
    longest.rows.push_back(
        {word(mode.graph.nodes[nodes[i].first].name), cycles(nodes[i].second), share(nodes[i].second, e.latency)});
  return {std::move(what), std::move(idle), std::move(longest)};
}

}  // namespace monet
