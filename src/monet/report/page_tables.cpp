#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "monet/report/nest.h"
#include "monet/report/page_parts.h"

// The path that decides the latency, and the nodes that work longest.

namespace monet {
namespace {

using schedule::Cause;

std::string phase_cell(std::size_t phase) {
  return fmt::format("<b class=\"dot p{}\"></b>{}", phase, name(static_cast<Phase>(phase)));
}

double lanes_of(const plan::CoreOnChip& core) {
  if (!core.core.array) return 0;
  double lanes = 1;
  for (const hardware::ArrayDimension& d : core.core.array->dimensions) lanes *= static_cast<double>(d.size);
  return lanes;
}

// ---- What bounds a node ----

enum class Wait { HomeReads, HomeWrites, Cores, Tiles };
constexpr std::size_t kWaits = 4;

// How a node's tiles spend their time, in cycles of their units.
struct NodeTime {
  std::array<double, kWaits> waits{};
  double busy = 0, flowing = 0, lane_cycles = 0;
  std::set<std::uint32_t> cores{};
};

Wait wait_of(const PageInput& in, const Cause& cause) {
  if (cause.kind != Cause::Kind::Transfer) return Wait::Tiles;
  const schedule::Transfer& t = in.e.timeline.transfers[cause.index];
  const plan::StoreId home = in.chip.machine.home;
  return t.from == home ? Wait::HomeReads : t.to == home ? Wait::HomeWrites : Wait::Cores;
}

// Whether what flows past the tile's stores takes as long as the tile does.
bool flows_decide(const PageInput& in, std::uint32_t tile) {
  const schedule::Problem& p = in.e.tiled.problem;
  const double cycles = in.e.timeline.tiles[tile].end - in.e.timeline.tiles[tile].start;
  std::map<std::uint32_t, double> bytes;
  for (std::uint32_t f = 0; f < p.tiles[tile].flows; ++f) {
    const schedule::Flow& flow = p.flows[p.tiles[tile].first_flow + f];
    for (const bool comes : {true, false}) {
      const auto& route =
          comes ? p.machine.route(p.machine.home, flow.store) : p.machine.route(flow.store, p.machine.home);
      for (const plan::ChannelId c : route.channels)
        bytes[c.value] += (comes ? flow.in : flow.out) / p.blocks[flow.block.index()].efficiency;
    }
  }
  return std::any_of(bytes.begin(), bytes.end(), [&](const auto& entry) {
    return entry.second >= 0.95 * cycles * p.machine.channels[entry.first].bytes_per_cycle;
  });
}

std::vector<NodeTime> node_times(const PageInput& in) {
  std::vector<NodeTime> out(in.graph.nodes.size());
  std::vector<std::uint32_t> order(in.e.timeline.tiles.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return in.e.timeline.tiles[a].start < in.e.timeline.tiles[b].start;
  });
  std::vector<double> free(in.chip.machine.units.size(), 0);
  for (const std::uint32_t i : order) {
    const schedule::TileTime& t = in.e.timeline.tiles[i];
    const schedule::TileInfo& info = in.e.tiled.tiles[i];
    NodeTime& node = out[info.node.index()];
    double& unit = free[in.e.tiled.problem.tiles[i].unit.index()];
    const double wait = std::max(0.0, t.start - unit);
    if (t.cause.kind == Cause::Kind::Tile || t.cause.kind == Cause::Kind::Transfer)
      node.waits[static_cast<std::size_t>(wait_of(in, t.cause))] += wait;
    unit = std::max(unit, t.end);
    node.busy += t.end - t.start;
    if (in.e.tiled.problem.tiles[i].flows > 0 && flows_decide(in, i)) node.flowing += t.end - t.start;
    if (in.e.tiled.kinds[info.kind].cost.macs > 0)
      node.lane_cycles += (t.end - t.start) * lanes_of(in.chip.cores[info.core]);
    node.cores.insert(info.core);
  }
  return out;
}

std::string bound_text(const PageInput& in, std::size_t node, const NodeTime& time) {
  const std::string home = in.store_name(in.chip.machine.home);
  const auto most = std::max_element(time.waits.begin(), time.waits.end());
  const double all = time.busy + std::accumulate(time.waits.begin(), time.waits.end(), 0.0);
  if (*most > time.busy) {
    const std::string share = percent_text(*most / all);
    switch (static_cast<Wait>(most - time.waits.begin())) {
      case Wait::HomeReads: return fmt::format("reads of {} ({} waiting)", home, share);
      case Wait::HomeWrites: return fmt::format("writes to {} ({} waiting)", home, share);
      case Wait::Cores: return fmt::format("transfers between cores ({} waiting)", share);
      case Wait::Tiles: return fmt::format("other nodes ({} waiting)", share);
    }
  }
  if (2 * time.flowing > time.busy) return fmt::format("flow from and to {}", home);
  if (time.lane_cycles > 0)
    return fmt::format("array ({} of its lanes)", percent_text(in.e.nodes[node].macs / time.lane_cycles));
  return "vector unit";
}

std::string cores_text(const PageInput& in, const std::set<std::uint32_t>& cores) {
  std::string out;
  if (cores.size() > 3) return fmt::format("{} cores", cores.size());
  for (const std::uint32_t c : cores) out += (out.empty() ? "" : ", ") + in.chip.cores[c].core.name;
  return out;
}

}  // namespace

PathPart path_part(const PageInput& in, const schedule::PathStep& step) {
  PathPart part{.cycles = step.to - step.from, .steps = 1};
  if (step.kind == schedule::PathStep::Kind::Tile) {
    part.name = in.node_name(step.index);
    part.phase = in.phase_of(step.index);
    return part;
  }
  const schedule::Transfer& t = in.e.timeline.transfers[step.index];
  part.is_move = true;
  part.kind = t.purpose == schedule::Purpose::Fetch   ? MoveKind::Fetch
              : t.purpose == schedule::Purpose::Spill ? MoveKind::Spill
                                                      : MoveKind::Return;
  part.phase = in.phase_of(t.tile.value);
  part.name =
      fmt::format("{} of {}, {} to {}", name(part.kind), in.graph[in.e.tiled.blocks[t.block.index()].tensor].name,
                  in.store_name(t.from), in.store_name(t.to));
  return part;
}

namespace {

constexpr std::array<const char*, 4> kStepKinds{"computing", "fetches", "spills", "returns home"};

struct PathSums {
  std::vector<PathPart> parts{};                          // by cycles, most first
  std::array<std::array<double, 4>, kPhases> by_phase{};  // and by kind of step
  std::array<double, 4> by_kind{};
};

PathSums sum_up(const PageInput& in) {
  PathSums out;
  std::map<std::pair<bool, std::string>, std::size_t> known;
  for (const schedule::PathStep& step : in.e.path) {
    PathPart part = path_part(in, step);
    const std::size_t kind = part.is_move ? 1 + static_cast<std::size_t>(part.kind) : 0;
    out.by_phase[part.phase][kind] += part.cycles;
    out.by_kind[kind] += part.cycles;
    const auto [at, is_new] = known.try_emplace({part.is_move, part.name}, out.parts.size());
    if (is_new) {
      out.parts.push_back(std::move(part));
    } else {
      out.parts[at->second].cycles += part.cycles;
      ++out.parts[at->second].steps;
    }
  }
  std::stable_sort(out.parts.begin(), out.parts.end(),
                   [](const PathPart& a, const PathPart& b) { return a.cycles > b.cycles; });
  return out;
}

// Phases and kinds of steps against each other, in shares of the latency.
std::string path_matrix(const PageInput& in, const PathSums& sums) {
  std::string head, rows;
  double largest = 0;
  for (const auto& row : sums.by_phase) largest = std::max(largest, *std::max_element(row.begin(), row.end()));
  for (const char* kind : kStepKinds) head += fmt::format("<th>{}</th>", kind);
  for (std::size_t p = 0; p < kPhases; ++p) {
    if (std::accumulate(sums.by_phase[p].begin(), sums.by_phase[p].end(), 0.0) <= 0) continue;
    rows += fmt::format("<tr><td>{}</td>", phase_cell(p));
    for (const double cycles : sums.by_phase[p]) rows += share_cell(cycles / in.e.latency, largest / in.e.latency);
    rows += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"scroll\"><table "
      "class=\"even\"><thead><tr><th>phase</th>{}</tr></thead><tbody>\n{}</tbody></table></div>\n",
      head, rows);
}

}  // namespace

std::string path_section(const PageInput& in) {
  if (in.e.path.empty() || in.e.latency <= 0) return "";
  const PathSums sums = sum_up(in);
  std::vector<BarPart> strip;
  for (std::size_t k = 0; k < kStepKinds.size(); ++k)
    strip.push_back({kStepKinds[k], fmt::format("k{}", k), in.time.own_text(sums.by_kind[k]), sums.by_kind[k]});
  std::string rows;
  double rest = 0;
  for (std::size_t i = 0; i < sums.parts.size(); ++i) {
    const PathPart& part = sums.parts[i];
    if (i >= in.options.most_rows) {
      rest += part.cycles;
      continue;
    }
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{}</tr>\n", html(part.name),
                        phase_cell(part.phase), quantity(static_cast<double>(part.steps)), in.time.text(part.cycles),
                        share_cell(part.cycles / in.e.latency, sums.parts[0].cycles / in.e.latency));
  }
  if (rest > 0)
    rows +=
        fmt::format("<tr class=\"rest\"><td>{} more</td><td></td><td></td><td>{}</td><td>{}</td></tr>\n",
                    sums.parts.size() - in.options.most_rows, in.time.text(rest), percent_text(rest / in.e.latency));
  return fmt::format(
      "<section><h2>What decides the latency</h2>\n<p class=\"note\">Backwards from what ended last: each step could "
      "not begin before the one ahead of it had ended.</p>\n{}{}<div class=\"scroll\"><table><thead><tr><th>step</th>"
      "<th>phase</th><th>times</th><th>time</th><th>share of latency</th></tr></thead><tbody>\n{}</tbody></table></div>"
      "</section>\n",
      bar("The critical path", in.time.text(in.e.latency), strip), path_matrix(in, sums), rows);
}

std::string nodes_section(const PageInput& in) {
  const std::vector<NodeTime> times = node_times(in);
  std::vector<std::uint32_t> order;
  for (std::uint32_t n = 0; n < in.e.nodes.size(); ++n)
    if (in.e.nodes[n].tiles > 0) order.push_back(n);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return in.e.nodes[a].busy > in.e.nodes[b].busy; });
  const std::size_t all = order.size();
  if (order.size() > in.options.most_rows) order.resize(in.options.most_rows);
  double busy = 0;
  for (const schedule::NodeResult& node : in.e.nodes) busy += node.busy;
  const double largest = order.empty() || busy <= 0 ? 0 : in.e.nodes[order[0]].busy / busy;
  std::string rows;
  for (const std::uint32_t n : order) {
    const schedule::NodeResult& node = in.e.nodes[n];
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{}<td>{}</td><td>{}</td></tr>\n",
        html(in.graph.nodes[n].name), phase_cell(static_cast<std::size_t>(in.graph.nodes[n].phase)),
        html(cores_text(in, times[n].cores)), quantity(node.tiles), in.time.text(node.start), in.time.text(node.end),
        share_cell(busy > 0 ? node.busy / busy : 0, largest), pj_text(node.energy_pj),
        html(bound_text(in, n, times[n])));
  }
  return fmt::format(
      "<section><h2>Longest nodes</h2>\n<p class=\"note\">{} of {} nodes, by the time their units were busy with "
      "them.</p>\n"
      "<div "
      "class=\"scroll\"><table><thead><tr><th>node</th><th>phase</th><th>cores</th><th>tiles</th><th>start</"
      "th><th>end</th><th>of busy "
      "time</th><th>energy</th><th>bound by</th></tr></thead><tbody>\n{}</tbody></table></div></section>\n",
      order.size(), all, rows);
}

}  // namespace monet
