#include "monet/report/trace_events.h"

#include <fmt/format.h>

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
                         .end = t.end});
  }
  const schedule::StoreId home = p.machine.home;
  for (std::uint32_t i = 0; i < p.tiles.size(); ++i)
    for (std::uint32_t f = 0; f < p.tiles[i].flows; ++f) {
      const schedule::Flow& flow = p.flows[p.tiles[i].first_flow + f];
      const bool comes = flow.access == schedule::Access::Read;
      out.moves.push_back({.kind = MoveKind::Flow,
                           .tensor = e.tiled.blocks[flow.block.index()].tensor,
                           .from = comes ? home : flow.store,
                           .to = comes ? flow.store : home,
                           .tile = i,
                           .bytes = flow.bytes,
                           .start = e.timeline.tiles[i].start,
                           .end = e.timeline.tiles[i].end});
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
  switch (cause.kind) {
    case Cause::Kind::Nothing: return "nothing to wait for";
    case Cause::Kind::Unit: return fmt::format("its unit was busy with '{}'", node_of(cause.index));
    case Cause::Kind::Tile:
      return fmt::format("waited for '{}', which made its data or used its place", node_of(cause.index));
    case Cause::Kind::Transfer: return fmt::format("waited for {}", transfer_of(cause.index));
    case Cause::Kind::Channel: return fmt::format("the way was taken by {}", transfer_of(cause.index));
  }
  return "";
}

}  // namespace monet
