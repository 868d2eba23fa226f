#include "monet/schedule/stream_neighbours.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace monet::schedule {
namespace {

std::vector<std::uint32_t> by_layer_and_number(const std::vector<StreamTile>& tiles) {
  std::vector<std::uint32_t> order(tiles.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(tiles[a].layer, tiles[a].sub, a) < std::tie(tiles[b].layer, tiles[b].sub, b);
  };
  if (!std::is_sorted(order.begin(), order.end(), is_before)) std::sort(order.begin(), order.end(), is_before);
  return order;
}

}  // namespace

StreamNeighbours::StreamNeighbours(const StreamProblem& p) {
  const std::size_t tiles = p.tiles.size();
  before_.first.assign(tiles + 1, 0);
  after_.first.assign(tiles + 1, 0);
  before_.all.resize(p.edges.size());
  after_.all.resize(p.edges.size());
  for (const StreamEdge& edge : p.edges) {
    ++before_.first[edge.to + 1];
    ++after_.first[edge.from + 1];
  }
  for (std::size_t t = 0; t < tiles; ++t) {
    before_.first[t + 1] += before_.first[t];
    after_.first[t + 1] += after_.first[t];
  }
  std::vector<std::uint32_t> next(after_.first.begin(), after_.first.end() - 1);
  for (const StreamEdge& edge : p.edges) after_.all[next[edge.from]++] = {edge.to, edge.operand.value_or(kNoOperand)};
  // Every tile in order tells those after it: so they hear of it in order.
  next.assign(before_.first.begin(), before_.first.end() - 1);
  for (const std::uint32_t t : by_layer_and_number(p.tiles))
    for (const Neighbour& reader : after_.of(t)) before_.all[next[reader.tile]++] = {t, reader.operand};
}

}  // namespace monet::schedule
