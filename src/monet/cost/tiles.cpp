#include "monet/cost/tiles.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace monet::cost {
namespace {

using Size = TileSizes::Size;
using Sizes = std::vector<Size>;

void add(Sizes& sizes, double elements, double times) {
  if (elements <= 0 || times <= 0) return;
  for (Size& s : sizes)
    if (s.elements == elements) {
      s.times += times;
      return;
    }
  sizes.push_back({elements, times});
}

// Tiles of the indices `from` ≤ i < `to`, the rest being padding. With several instances side by side, the fullest of
// them: one that is whole if there is one, else the tiles at the ends.
Sizes along_dimension(double from, double to, double tile, double instances) {
  Sizes sizes;
  if (from >= to) return sizes;
  const auto group = [&](double number) { return std::floor(number / instances); };
  const double first = std::ceil(from / tile), last = std::floor(to / tile) - 1;  // whole ones
  const bool any = first <= last;
  if (any) add(sizes, tile, group(last) - group(first) + 1);
  const auto is_covered = [&](double g) { return any && g >= group(first) && g <= group(last); };
  const auto part = [&](double number) { return std::min(to, (number + 1) * tile) - std::max(from, number * tile); };
  const double low = std::floor(from / tile), high = std::floor((to - 1) / tile);
  const bool together = group(low) == group(high);
  if (!is_covered(group(low))) add(sizes, together ? std::max(part(low), part(high)) : part(low), 1);
  if (!together && !is_covered(group(high))) add(sizes, part(high), 1);
  return sizes;
}

// Distinct stored indices of one window: a0 ≤ a < a1, b0 ≤ b < b1.
double in_window(const Relation& r, std::int64_t a0, std::int64_t a1, std::int64_t b0, std::int64_t b1) {
  const auto at = [&](std::int64_t a, std::int64_t b) { return r.offset + r.step_a * a + r.step_b * b; };
  const auto extent = static_cast<std::int64_t>(r.extent);
  const auto [low, high] = std::minmax({at(a0, b0), at(a0, b1 - 1), at(a1 - 1, b0), at(a1 - 1, b1 - 1)});
  if (low >= 0 && high < extent) {
    Relation unclipped = r;
    unclipped.extent = static_cast<double>(INT64_MAX);
    return distinct(unclipped, static_cast<double>(a1 - a0), static_cast<double>(b1 - b0));
  }
  const std::int64_t first = std::max<std::int64_t>(low, 0), last = std::min(high, extent - 1);
  if (last < first) return 0;
  std::vector<bool> touched(static_cast<std::size_t>(last - first + 1), false);
  double count = 0;
  for (std::int64_t a = a0; a < a1; ++a)
    for (std::int64_t b = b0; b < b1; ++b) {
      const std::int64_t index = at(a, b);
      if (index < first || index > last || touched[static_cast<std::size_t>(index - first)]) continue;
      touched[static_cast<std::size_t>(index - first)] = true;
      ++count;
    }
  return count;
}

// The groups of instances [first, last) along a, each of `wide` indices, that lie wholly inside what is stored.
struct Inside {
  std::int64_t first = 0, last = 0;
};
Inside inside(const Relation& r, std::int64_t size_a, std::int64_t wide, std::int64_t b0, std::int64_t b1) {
  const std::int64_t shift = r.step_a * wide;  // from one group to the next
  if (shift <= 0) return {};
  const std::int64_t at_b0 = r.step_b * b0, at_b1 = r.step_b * (b1 - 1);
  const std::int64_t low = r.offset + std::min(at_b0, at_b1);
  const std::int64_t high = r.offset + r.step_a * (wide - 1) + std::max(at_b0, at_b1);
  const std::int64_t room = static_cast<std::int64_t>(r.extent) - 1 - high;
  const std::int64_t first = low < 0 ? (-low + shift - 1) / shift : 0;
  const std::int64_t last = room < 0 ? 0 : std::min(size_a / wide, room / shift + 1);
  return first < last ? Inside{first, last} : Inside{};
}

// Windows wholly inside what is stored are alike; only those at its ends are looked at one by one.
Sizes along_relation(const Problem& p, const Relation& r, double tile_a, double tile_b, double instances_a,
                     double instances_b) {
  Sizes sizes;
  const auto size_a = static_cast<std::int64_t>(p.size[r.a]), size_b = static_cast<std::int64_t>(p.size[r.b]);
  const auto step_a = static_cast<std::int64_t>(tile_a), step_b = static_cast<std::int64_t>(tile_b);
  const auto all_a = static_cast<std::int64_t>(tile_a * instances_a);
  const auto all_b = static_cast<std::int64_t>(tile_b * instances_b);
  const auto fullest = [&](std::int64_t from_a, std::int64_t from_b) {
    double most = 0;
    for (std::int64_t a = from_a; a < std::min(size_a, from_a + all_a); a += step_a)
      for (std::int64_t b = from_b; b < std::min(size_b, from_b + all_b); b += step_b)
        most = std::max(most, in_window(r, a, std::min(size_a, a + step_a), b, std::min(size_b, b + step_b)));
    return most;
  };
  for (std::int64_t from_b = 0; from_b < size_b; from_b += all_b) {
    const Inside alike = inside(r, size_a, all_a, from_b, std::min(size_b, from_b + all_b));
    if (alike.first < alike.last)
      add(sizes, fullest(alike.first * all_a, from_b), static_cast<double>(alike.last - alike.first));
    for (std::int64_t group = 0; group * all_a < size_a; ++group)
      if (group < alike.first || group >= alike.last)
        add(sizes, fullest(group * all_a, from_b), 1);
      else
        group = alike.last - 1;
  }
  return sizes;
}

// Every tile of the one with every tile of the other.
void multiply(Sizes& all, const Sizes& axis) {
  if (axis.size() == 1) {
    for (Size& x : all) x = {x.elements * axis[0].elements, x.times * axis[0].times};
    return;
  }
  Sizes product;
  for (const Size& x : all)
    for (const Size& y : axis) add(product, x.elements * y.elements, x.times * y.times);
  all = std::move(product);
}

}  // namespace

const Sizes& TileSizes::sizes(std::size_t level, bool side_by_side) {
  Sizes& all = known_[level][side_by_side ? 1 : 0];
  if (!all.empty()) return all;
  const Extents& spatial = o_.integer.extent[level];
  const Extents& lanes = o_.integer.extent[o_.memories + 1];
  const auto instances = [&](std::size_t d) { return side_by_side ? lanes[d] / spatial[d] : 1; };
  all.push_back({1, 1});
  for (const std::size_t d : o_.relevant)
    if (p_.size[d] > 1 || o_.stored_from[d] >= o_.stored_to[d])
      multiply(all, along_dimension(o_.stored_from[d], o_.stored_to[d], temporal_[d] * spatial[d], instances(d)));
  for (const Relation& r : o_.relations)
    multiply(all, along_relation(p_, r, temporal_[r.a] * spatial[r.a], temporal_[r.b] * spatial[r.b], instances(r.a),
                                 instances(r.b)));
  return all;
}

TileCount TileSizes::count(std::size_t level, double bits, double granule_bits) {
  TileCount count;
  for (const Size& s : all(level)) {
    count.largest = std::max(count.largest, s.elements);
    count.elements += s.elements * s.times;
    count.granules += std::ceil(s.elements * bits / granule_bits) * s.times;
  }
  return count;
}

TileCount count_tiles(const Problem& p, const OperandProblem& o, const Extents& temporal, std::size_t level,
                      double bits, double granule_bits) {
  return TileSizes(p, o, temporal).count(level, bits, granule_bits);
}

FlowTiles::FlowTiles(const Problem& p, const OperandProblem& o, std::size_t m, hardware::Direction direction,
                     TileSizes& inside, double bits, TileSizes& all)
    : copies_(o.integer.copies[m + 1]) {
  const PortRef& port = o.ports[m][static_cast<std::size_t>(direction)];
  tiles_ = inside.count(m + 1, bits, port.min_bits);
  const bool reads_sums =
      o.is_output && (direction == hardware::Direction::ReadToLow || direction == hardware::Direction::WriteFromHigh);
  if (reads_sums && !p.starts_from_stored)
    first_ = o.relations.empty() ? tiles_.elements : all.count(m + 1, 1, 1).elements;
  min_bits_ = port.min_bits;
  max_bits_ = port.max_bits;
  busy_ = std::ceil(tiles_.largest * bits / port.max_bits);
  // Instances work in step: the fullest is waited for.
  for (const Size& s : inside.side_by_side(m + 1)) cycles_ += std::ceil(s.elements * bits / port.max_bits) * s.times;
}

FlowCount FlowTiles::count(double returns) const {
  double granules = tiles_.granules * returns * copies_, visits = returns;
  // Where windows overlap, a tile is part old, part new: its words are shared out by element.
  if (tiles_.elements > 0) {
    granules -= tiles_.granules * first_ / tiles_.elements * copies_;
    visits -= first_ / tiles_.elements;
  }
  return {.largest = tiles_.largest,
          .moved = tiles_.elements * returns * copies_ - first_ * copies_,
          .words = granules * min_bits_ / max_bits_,
          .busy = busy_,
          .cycles = visits * cycles_,
          .share = visits / returns};
}

}  // namespace monet::cost
