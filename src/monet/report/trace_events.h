#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/schedule/evaluation.h"

namespace monet {

// What happened in an evaluation, as drawings need it.

enum class MoveKind { Fetch, Spill, Return, Flow };
std::string_view name(MoveKind kind);  // fetch, spill, return, flow

// Something that passed over channels: a transfer with those it carried, or an operand that flowed past its store for
// as long as a tile ran.
struct Move {
  MoveKind kind = MoveKind::Fetch;
  TensorId tensor{};
  schedule::StoreId from{}, to{};
  std::uint32_t tile = 0;      // for the sake of which
  std::uint32_t transfer = 0;  // of Timeline::transfers; flows have none
  double bytes = 0, start = 0, end = 0;
};

struct Moves {
  std::vector<Move> moves{};                                          // transfers, then flows
  std::map<std::uint32_t, std::vector<schedule::StoreId>> carried{};  // by transfer: where else it went
};
Moves moves_of(const schedule::Evaluation& evaluation);

// By port, of so many equal stretches of the time: the part of its cycles that are taken, each evenly over the tile or
// transfer that takes them.
std::vector<std::vector<double>> port_shares(const schedule::Evaluation& evaluation, std::size_t stretches);

const schedule::Route& route_of(const schedule::Evaluation& evaluation, const Move& move);

// Energy of a tile on its core, pJ; what was moved for it is not in it.
double tile_energy(const schedule::Evaluation& evaluation, std::uint32_t tile);

// Why something began when it did, in words.
std::string cause_text(const Graph& graph, const schedule::Evaluation& evaluation, const schedule::Cause& cause);

}  // namespace monet
