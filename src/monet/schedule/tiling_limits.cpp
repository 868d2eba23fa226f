#include "monet/schedule/tiling_limits.h"

#include <fmt/format.h>

namespace monet::schedule {
namespace {

constexpr double kMostTiles = 2e7;  // the engine alone takes about 0.45 GiB for a million
constexpr double kMostParts = 1e8;  // of tensors that tiles read and write: about 70 bytes each

}  // namespace

std::optional<Infeasible> too_many_tiles(const TilingInput& in) {
  double all = 0, most = 0;
  std::size_t worst = 0;
  for (std::size_t n = 0; n < in.graph.nodes.size(); ++n) {
    double count = in.facts[n].is_view ? 0 : static_cast<double>(in.iterations);
    for (const auto* splits : {&in.decided.nodes[n].across, &in.decided.nodes[n].tiles})
      for (const plan::LoopSplit& split : *splits) count *= static_cast<double>(split.parts);
    all += count;
    if (count <= most) continue;
    most = count;
    worst = n;
  }
  if (all <= kMostTiles) return std::nullopt;
  return Infeasible{
      .reason = fmt::format("{:.0f} tiles are more than the {:.0f} that are scheduled; {:.0f} of them are of '{}'", all,
                            kMostTiles, most, in.graph.nodes[worst].name),
      .levers = {"fewer parts in the plan, fewer iterations, or a smaller batch"}};
}

// Where every tile of a node reads what every tile of another one made, they are as many as the product of both.
std::optional<Infeasible> too_many_parts(const Graph& graph, const std::vector<Drafted>& tiles,
                                         const std::vector<Piece>& pieces, const std::vector<Range>& boxes,
                                         const std::vector<Grid>& grids) {
  double all = 0, most = 0;
  NodeId worst{};
  for (std::size_t i = 0; i < tiles.size();) {
    const NodeId node = tiles[i].info.node;
    double own = 0;
    for (; i < tiles.size() && tiles[i].info.node == node; ++i)
      for (std::uint32_t k = 0; k < tiles[i].pieces; ++k) {
        const Piece& piece = pieces[tiles[i].first_piece + k];
        own += grids[piece.root.index()].count({boxes.data() + piece.first_range, graph[piece.root].shape.size()});
      }
    all += own;
    if (own <= most) continue;
    most = own;
    worst = node;
  }
  if (all <= kMostParts) return std::nullopt;
  return Infeasible{
      .reason = fmt::format("{:.0f} parts of tensors that tiles read and write are more than the {:.0f} that are "
                            "scheduled; {:.0f} of them by '{}'",
                            all, kMostParts, most, graph[worst].name),
      .levers = {"fewer parts in the plan, or cut along the same loops from node to node"}};
}

}  // namespace monet::schedule
