#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "monet/cost/lattice.h"

namespace monet::cost {

// What a cut costs: boundary b of an operand lies below its memory b (boundary 0: between the array and memory 0).
// Cutting it at a tile means that everything inside happens below memory b, and the tile crosses the boundary once for
// each iteration of the loops outside. All of it depends on the tile alone, so the search looks it up.

struct BoundaryFlow {
  std::uint32_t port = 0;
  double busy = 0;         // cycles of one transfer, the largest
  double cycles = 0;       // on the port, each time the irrelevant loops outside come back
  double cycles_once = 0;  // less this, as with the words
  double least = 0;        // of them, before the first step
  double latency = 0;      // of the memory, first time
  double words = 0;        // each time the irrelevant loops outside come back
  double words_once = 0;   // less this, for sums that are not read back the first time
  double word_pj = 0;
  double energy_pj(double returns) const { return (words * returns - words_once) * word_pj; }
  double carried(double returns) const { return cycles * returns - cycles_once; }
  // Of the visits, those on which it happens: sums are not read back the first time.
  double share(double returns) const { return cycles > 0 ? carried(returns) / (cycles * returns) : 1; }
};

// The boundary at one tile, with finished sums or partial ones crossing it.
struct BoundaryTile {
  std::array<BoundaryFlow, 4> flows{};
  std::uint32_t count = 0;
  double elements = 0;  // held below, per instance
};

class Boundary {
 public:
  Boundary(const Problem& p, std::size_t operand, std::size_t boundary, const Lattice& lattice);

  bool is_array() const { return boundary_ == 0; }
  std::size_t operand() const { return operand_; }
  std::size_t memory() const { return memory_; }  // below; not of the array boundary
  // Of the tile in the memory below: sums that are not complete when they come there are kept as such.
  double held_bits(std::size_t projected, bool sums) const {
    return finished_[projected].elements * (sums ? sum_bits_ : bits_);
  }

  // Index of the tile among those this operand can tell apart.
  std::size_t project(const Exponents& e) const;
  std::size_t stride(std::size_t kind) const { return strides_[kind]; }

  // How often the loops outside come back, given the product of the irrelevant ones inside.
  double returns(double irrelevant_inside) const { return irrelevant_ / irrelevant_inside; }
  // Whether what crosses are incomplete sums.
  bool has_sums(std::size_t projected, double returns) const {
    return is_output_ && copies_ * returns * overlap_[projected] > 1;
  }
  const BoundaryTile& tile(std::size_t projected, double returns) const {
    return has_sums(projected, returns) ? partial_[projected] : finished_[projected];
  }
  double energy_pj(std::size_t projected, double returns) const;
  double least_wait() const { return least_wait_; }  // before the first step (after the last, for the output)
  bool allows(std::size_t projected) const { return allowed_[projected]; }  // it fits the memory below, alone

 private:
  std::size_t operand_, boundary_, memory_ = 0;
  std::vector<std::size_t> strides_;
  bool is_output_ = false;
  double bits_ = 0, sum_bits_ = 0;
  double irrelevant_ = 1, copies_ = 1, least_wait_ = 0;
  std::vector<BoundaryTile> finished_, partial_;
  std::vector<double> overlap_;
  std::vector<bool> allowed_;
};

}  // namespace monet::cost
