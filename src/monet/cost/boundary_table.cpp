#include "monet/cost/boundary_table.h"

#include <algorithm>
#include <limits>

namespace monet::cost {
namespace {

template <typename Counts>
double product_inside(const Lattice& lattice, const Exponents& tile, const Counts& counts) {
  double product = 1;
  for (std::size_t k = 0; k < lattice.kinds().size(); ++k) {
    if (!counts(lattice.kinds()[k])) continue;
    for (std::uint8_t i = 0; i < tile[k]; ++i) product *= lattice.kinds()[k].factor;
  }
  return product;
}

}  // namespace

BoundaryTable::BoundaryTable(const Problem& p, const Lattice& lattice, const Deadline& deadline) {
  std::vector<Exponents> tiles(lattice.size());
  Exponents e{};
  for (Exponents& tile : tiles) {
    tile = e;
    lattice.next(e);
  }
  iterations_.reserve(tiles.size());
  for (const Exponents& tile : tiles)
    iterations_.push_back(product_inside(lattice, tile, [](const LoopKind&) { return true; }));
  for (std::size_t o = 0; o < p.operands.size(); ++o) {
    irrelevant_[o].reserve(tiles.size());
    for (const Exponents& tile : tiles)
      irrelevant_[o].push_back(product_inside(lattice, tile, [&](const LoopKind& kind) {
        return p.operands[o].relevance[kind.dimension] == Relevance::None;
      }));
    boundaries_[o].reserve(p.operands[o].memories);
    for (std::size_t b = 0; b < p.operands[o].memories; ++b) {
      if (deadline.is_over()) return;
      add(boundaries_[o].emplace_back(p, o, b, lattice), lattice, tiles);
    }
  }
  is_complete_ = true;
}

// From the last tile back: what comes later is known then.
void BoundaryTable::add(const Boundary& boundary, const Lattice& lattice, const std::vector<Exponents>& tiles) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::size_t o = boundary.operand();
  std::vector<Least>& least = least_[o].emplace_back(tiles.size());
  std::vector<std::uint32_t>& projected = projected_[o].emplace_back(tiles.size());
  for (std::size_t i = tiles.size(); i-- > 0;) {
    const std::size_t at = boundary.project(tiles[i]);
    projected[i] = static_cast<std::uint32_t>(at);
    Least here{.energy = infinity, .busy = {infinity, infinity, infinity, infinity}};
    if (boundary.allows(at)) {
      const double returns = boundary.returns(irrelevant_[o][i]);
      const BoundaryTile& tile = boundary.tile(at, returns);
      here.energy = boundary.energy_pj(at, returns);
      // Finished sums have two flows where partial ones have four, in the order write, read, read, write.
      here.busy.fill(0);
      for (std::uint32_t f = 0; f < tile.count; ++f)
        here.busy[tile.count == 2 && o == 0 ? 2 * f : f] = tile.flows[f].carried(returns);
    }
    for (std::size_t k = 0; k < lattice.kinds().size(); ++k) {
      if (tiles[i][k] == lattice.kinds()[k].count) continue;
      const Least& later = least[i + lattice.stride(k)];
      here.energy = std::min(here.energy, later.energy);
      for (std::size_t f = 0; f < 4; ++f) here.busy[f] = std::min(here.busy[f], later.busy[f]);
    }
    least[i] = here;
  }
}

}  // namespace monet::cost
