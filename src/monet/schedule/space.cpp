#include "monet/schedule/space.h"

#include <algorithm>

#include "monet/base/assert.h"

namespace monet::schedule {

Space::Space(std::int64_t bytes) {
  if (bytes > 0) free_.push_back({0, bytes, 0, 0});
}

std::optional<Space::Spot> Space::find(std::int64_t bytes, double earliest) const {
  if (bytes == 0) return Spot{earliest, 0, 0};
  std::optional<Spot> best;
  // Every run of free pieces side by side that is just long enough, beginning at a piece.
  for (std::size_t first = 0; first < free_.size(); ++first) {
    Spot spot{earliest, free_[first].address, 0};
    std::int64_t length = 0;
    for (std::size_t i = first; i < free_.size() && length < bytes; ++i) {
      if (free_[i].address != spot.address + length) break;  // something is taken in between
      if (free_[i].from > spot.time) {
        spot.time = free_[i].from;
        spot.freed_by = free_[i].by;
      }
      length += free_[i].bytes;
      if (best && spot.time >= best->time) break;
    }
    if (length < bytes || (best && spot.time >= best->time)) continue;
    best = spot;
    if (spot.time == earliest) break;
  }
  return best;
}

std::vector<std::uint32_t> Space::in_the_way(
    std::int64_t bytes, const std::function<std::optional<std::uint32_t>(std::uint32_t owner)>& next_use) const {
  struct Piece {
    std::int64_t bytes = 0;
    bool is_taken = false;
    std::uint32_t owner = 0;
    std::optional<std::uint32_t> use{};
  };
  std::vector<Piece> pieces;  // all, by address
  auto taken = taken_.begin();
  for (std::size_t i = 0; i <= free_.size(); ++i) {
    for (; taken != taken_.end() && (i == free_.size() || taken->first < free_[i].address); ++taken)
      pieces.push_back({taken->second.bytes, true, taken->second.owner, next_use(taken->second.owner)});
    if (i < free_.size()) pieces.push_back({free_[i].bytes});
  }
  struct Window {
    std::uint32_t soonest = 0;
    std::int64_t moved = 0;
    std::size_t first = 0, last = 0;
  };
  std::optional<Window> best;
  for (std::size_t first = 0; first < pieces.size(); ++first) {
    Window w{std::numeric_limits<std::uint32_t>::max(), 0, first, first};
    std::int64_t length = 0;
    bool stays = false;
    for (; w.last < pieces.size() && length < bytes; ++w.last) {
      const Piece& piece = pieces[w.last];
      stays = piece.is_taken && !piece.use;
      if (stays) break;
      length += piece.bytes;
      if (!piece.is_taken) continue;
      w.soonest = std::min(w.soonest, *piece.use);
      w.moved += piece.bytes;
    }
    if (stays) {
      first = w.last;
      continue;
    }
    if (length < bytes) break;
    if (!best || w.soonest > best->soonest || (w.soonest == best->soonest && w.moved < best->moved)) best = w;
  }
  std::vector<std::uint32_t> owners;
  for (std::size_t i = best ? best->first : 0; best && i < best->last; ++i)
    if (pieces[i].is_taken) owners.push_back(pieces[i].owner);
  return owners;
}

std::vector<std::uint32_t> Space::owners() const {
  std::vector<std::uint32_t> owners;
  for (const auto& [address, taken] : taken_) owners.push_back(taken.owner);
  return owners;
}

double Space::free_from() const {
  double time = 0;
  for (const Free& piece : free_) time = std::max(time, piece.from);
  return time;
}

std::size_t Space::first_free_at(std::int64_t address) const {
  return static_cast<std::size_t>(
      std::lower_bound(free_.begin(), free_.end(), address,
                       [](const Free& piece, std::int64_t a) { return piece.address < a; }) -
      free_.begin());
}

void Space::take(std::int64_t address, std::int64_t bytes, std::uint32_t owner) {
  if (bytes == 0) return;
  const std::size_t first = first_free_at(address);
  std::size_t last = first;
  std::int64_t length = 0;
  for (; length < bytes; ++last) {
    MONET_ASSERT(last < free_.size() && free_[last].address == address + length, "the spot is free");
    length += free_[last].bytes;
  }
  Free rest = free_[last - 1];
  rest.bytes = length - bytes;
  rest.address = address + bytes;
  const auto begin = free_.begin() + static_cast<std::ptrdiff_t>(first);
  if (rest.bytes > 0) {
    *begin = rest;
    free_.erase(begin + 1, free_.begin() + static_cast<std::ptrdiff_t>(last));
  } else {
    free_.erase(begin, free_.begin() + static_cast<std::ptrdiff_t>(last));
  }
  taken_.emplace(address, Taken{bytes, owner});
}

void Space::release(std::int64_t address, double time, std::uint32_t by) {
  const auto taken = taken_.find(address);
  MONET_ASSERT(taken != taken_.end(), "what is released was taken");
  free_.insert(free_.begin() + static_cast<std::ptrdiff_t>(first_free_at(address)),
               {address, taken->second.bytes, time, by});
  taken_.erase(taken);
}

void Space::forget_before(double horizon) {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < free_.size(); ++i) {
    Free& last = free_[kept];
    const Free& next = free_[i];
    if (last.address + last.bytes == next.address && std::max(last.from, next.from) <= horizon) {
      last.bytes += next.bytes;
      last.from = std::max(last.from, next.from);
    } else {
      free_[++kept] = next;
    }
  }
  if (!free_.empty()) free_.resize(kept + 1);
}

}  // namespace monet::schedule
