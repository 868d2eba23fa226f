#include "monet/cost/lattice.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/base/diagnostic.h"

namespace monet::cost {

Lattice::Lattice(std::span<const TemporalLoop> loops) {
  for (const TemporalLoop& loop : loops) {
    if (loop.factor == 1) continue;
    const auto same = std::find_if(kinds_.begin(), kinds_.end(), [&](const LoopKind& kind) {
      return kind.dimension == loop.dimension && kind.factor == loop.factor;
    });
    if (same != kinds_.end())
      ++same->count;
    else
      kinds_.push_back({.dimension = loop.dimension, .factor = loop.factor, .count = 1});
  }
  if (kinds_.size() > kMaxKinds)
    throw InputError(
        Diagnostic{.message = fmt::format("{} kinds of loops, at most {} are searched", kinds_.size(), kMaxKinds),
                   .hint = "fix some of them, or give an ordering"});
  for (const LoopKind& kind : kinds_) {
    strides_.push_back(size_);
    size_ *= kind.count + 1;
  }
}

bool Lattice::next(Exponents& e) const {
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (e[k] < kinds_[k].count) {
      ++e[k];
      return true;
    }
    e[k] = 0;
  }
  return false;
}

Extents Lattice::extents(const Exponents& e) const {
  Extents extents;
  extents.fill(1);
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    for (std::uint8_t i = 0; i < e[k]; ++i) extents[kinds_[k].dimension] *= kinds_[k].factor;
  return extents;
}

}  // namespace monet::cost
