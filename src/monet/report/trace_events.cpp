#include "monet/report/trace_events.h"

#include <fmt/format.h>

#include <algorithm>

namespace monet {

using schedule::Cause;
using schedule::Evaluation;
using schedule::Purpose;
using schedule::Transfer;

namespace {

MoveKind kind_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::Fetch: return MoveKind::Fetch;
    case Purpose::Spill: return MoveKind::Spill;
    case Purpose::Return: return MoveKind::Return;
  }
  return MoveKind::Fetch;
}

}  // namespace

std::string_view name(MoveKind kind) {
  switch (kind) {
    case MoveKind::Fetch: return "fetch";
    case MoveKind::Spill: return "spill";
    case MoveKind::Return: return "return";
    case MoveKind::Flow: return "flow";
  }
  return "";
}

Moves moves_of(const Evaluation& e) {
  const schedule::Problem& p = e.tiled.problem;
  Moves out;
  out.moves.reserve(e.timeline.transfers.size() + p.flows.size());
  for (std::uint32_t i = 0; i < e.timeline.transfers.size(); ++i) {
    const Transfer& t = e.timeline.transfers[i];
    if (t.carried_by != i) {
      out.carried[t.carried_by].push_back(t.to);
      continue;
    }
    out.moves.push_back({.kind = kind_of(t.purpose),
                         .tensor = e.tiled.blocks[t.block.index()].tensor,
                         .from = t.from,
                         .to = t.to,
                         .tile = t.tile.value,
                         .transfer = i,
                         .bytes = static_cast<double>(p.blocks[t.block.index()].bytes),
                         .start = t.start,
                         .end = t.passed});
  }
  const schedule::StoreId home = p.machine.home;
  for (std::uint32_t i = 0; i < p.tiles.size(); ++i)
    for (std::uint32_t f = 0; f < p.tiles[i].flows; ++f) {
      const schedule::Flow& flow = p.flows[p.tiles[i].first_flow + f];
      for (const bool comes : {true, false}) {
        const double bytes = comes ? flow.in : flow.out;
        if (!(bytes > 0)) continue;
        out.moves.push_back({.kind = MoveKind::Flow,
                             .tensor = e.tiled.blocks[flow.block.index()].tensor,
                             .from = comes ? home : flow.store,
                             .to = comes ? flow.store : home,
                             .tile = i,
                             .bytes = bytes,
                             .start = e.timeline.tiles[i].start,
                             .end = e.timeline.tiles[i].end});
      }
    }
  return out;
}

std::vector<std::vector<double>> port_shares(const Evaluation& e, std::size_t stretches) {
  const schedule::Problem& p = e.tiled.problem;
  std::vector<std::vector<double>> out(p.machine.ports.size(), std::vector<double>(stretches, 0));
  const double step = e.latency / static_cast<double>(stretches);
  if (!(step > 0)) return out;
  const auto add = [&](const schedule::PortDemand& demand, double start, double end) {
    if (!(end > start)) return;
    const double share = demand.cycles / (end - start) / step;
    const auto last = std::min(stretches - 1, static_cast<std::size_t>(end / step));
    for (auto i = std::min(stretches - 1, static_cast<std::size_t>(start / step)); i <= last; ++i) {
      const double from = std::max(start, step * static_cast<double>(i));
      const double to = std::min(end, step * static_cast<double>(i + 1));
      out[demand.port.index()][i] += share * std::max(0.0, to - from);
    }
  };
  for (std::size_t t = 0; t < p.tiles.size(); ++t)
    for (std::uint32_t d = 0; d < p.tiles[t].demands; ++d)
      add(p.demands[p.tiles[t].first_demand + d], e.timeline.tiles[t].start, e.timeline.tiles[t].end);
  for (std::uint32_t t = 0; t < e.timeline.transfers.size(); ++t)
    for (const schedule::PortDemand& demand : port_demands(p, e.timeline, t))
      add(demand, e.timeline.transfers[t].start, e.timeline.transfers[t].end);
  // They are not taken so evenly where that would be more than there are: the rest comes later.
  for (std::vector<double>& shares : out)
    for (std::size_t i = 0; i + 1 < shares.size(); ++i) {
      const double rest = std::max(0.0, shares[i] - 1);
      shares[i] -= rest;
      shares[i + 1] += rest;
    }
  return out;
}

const schedule::Route& route_of(const Evaluation& e, const Move& move) {
  return e.tiled.problem.machine.route(move.from, move.to);
}

double tile_energy(const Evaluation& e, std::uint32_t tile) {
  const schedule::TileCost& cost = e.tiled.kinds[e.tiled.tiles[tile].kind].cost;
  double sum = cost.compute_pj;
  for (const schedule::LevelEnergy& level : cost.levels) sum += level.pj;
  return sum;
}

std::string cause_text(const Graph& graph, const Evaluation& e, const Cause& cause) {
  const auto node_of = [&](std::uint32_t tile) -> const std::string& { return graph[e.tiled.tiles[tile].node].name; };
  const auto transfer_of = [&](std::uint32_t index) {
    const Transfer& t = e.timeline.transfers[index];
    const auto& stores = e.tiled.problem.machine.stores;
    return fmt::format("'{}' from {} to {}", graph[e.tiled.blocks[t.block.index()].tensor].name,
                       stores[t.from.index()].name, stores[t.to.index()].name);
  };
  const auto port_of = [&](const Cause& c) -> const std::string& {
    return e.tiled.problem.machine.ports[c.port.index()].name;
  };
  switch (cause.kind) {
    case Cause::Kind::Nothing: return "nothing to wait for";
    case Cause::Kind::Unit: return fmt::format("its unit was busy with '{}'", node_of(cause.index));
    case Cause::Kind::Tile:
      return fmt::format("waited for '{}', which made its data or used its place", node_of(cause.index));
    case Cause::Kind::Transfer: return fmt::format("waited for {}", transfer_of(cause.index));
    case Cause::Kind::Channel: return fmt::format("the way was taken by {}", transfer_of(cause.index));
    case Cause::Kind::TileAtPort:
      return fmt::format("waited for port {}, used by '{}'", port_of(cause), node_of(cause.index));
    case Cause::Kind::TransferAtPort:
      return fmt::format("waited for port {}, used by {}", port_of(cause), transfer_of(cause.index));
  }
  return "";
}

}  // namespace monet
