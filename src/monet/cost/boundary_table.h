#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "monet/base/watch.h"
#include "monet/cost/boundary.h"

namespace monet::cost {

// All boundaries of a problem, and for each tile of a lattice what a search asks of it again and again.
class BoundaryTable {
 public:
  // The least energy and the least cycles of each flow, if a boundary is cut at a tile or at one that comes later.
  struct Least {
    double energy = 0;
    std::array<double, 4> busy{};
  };

  // Left unfinished when the deadline is over.
  BoundaryTable(const Problem& p, const Lattice& lattice, const Deadline& deadline);
  bool is_complete() const { return is_complete_; }

  const std::vector<Boundary>& of(std::size_t operand) const { return boundaries_[operand]; }
  std::size_t projected(std::size_t operand, std::size_t boundary, std::size_t tile) const {
    return projected_[operand][boundary][tile];
  }
  const Least& least(std::size_t operand, std::size_t boundary, std::size_t tile) const {
    return least_[operand][boundary][tile];
  }
  // Products of the loops inside: of those that are irrelevant for an operand, of all.
  double irrelevant_inside(std::size_t operand, std::size_t tile) const { return irrelevant_[operand][tile]; }
  double iterations(std::size_t tile) const { return iterations_[tile]; }

 private:
  void add(const Boundary& boundary, const Lattice& lattice, const std::vector<Exponents>& tiles);

  std::array<std::vector<Boundary>, kMaxOperands> boundaries_;
  std::array<std::vector<std::vector<std::uint32_t>>, kMaxOperands> projected_;
  std::array<std::vector<std::vector<Least>>, kMaxOperands> least_;
  std::array<std::vector<double>, kMaxOperands> irrelevant_;
  std::vector<double> iterations_;
  bool is_complete_ = false;
};

}  // namespace monet::cost
