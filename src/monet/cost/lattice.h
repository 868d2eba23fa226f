#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "monet/cost/problem.h"
#include "monet/cost/tiles.h"

namespace monet::cost {

// The tiles that loops can make: for each kind of loop (a prime factor of a dimension) how many of them lie inside. An
// ordering of all loops is a path from the empty tile to the whole nest, one loop a step.

struct LoopKind {
  std::uint32_t dimension = 0;
  double factor = 1;
  std::uint32_t count = 1;
};

inline constexpr std::size_t kMaxKinds = 24;
using Exponents = std::array<std::uint8_t, kMaxKinds>;

class Lattice {
 public:
  // Of the loops given: the prime factors of all of them, unless the user wants others.
  explicit Lattice(std::span<const TemporalLoop> loops);

  const std::vector<LoopKind>& kinds() const { return kinds_; }
  std::size_t size() const { return size_; }
  std::size_t stride(std::size_t kind) const { return strides_[kind]; }

  // The next point in the order of indices; false after the last.
  bool next(Exponents& e) const;
  Extents extents(const Exponents& e) const;

 private:
  std::vector<LoopKind> kinds_;
  std::vector<std::size_t> strides_;
  std::size_t size_ = 1;
};

}  // namespace monet::cost
