#include "monet/schedule/space.h"

#include <algorithm>

#include "monet/base/assert.h"

namespace monet::schedule {

Space::Space(std::int64_t bytes) {
  if (bytes > 0) pieces_.push_back({0, bytes, 0, 0});
}

std::size_t Space::at(std::int64_t address) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                      [](std::int64_t a, const Piece& piece) { return a < piece.address; });
  return static_cast<std::size_t>(after - pieces_.begin()) - 1;
}

std::optional<Space::Spot> Space::find(std::int64_t bytes, double earliest) const {
  if (bytes == 0) return Spot{earliest, 0, 0};
  std::optional<Spot> best;
  // Every run of free pieces that is just long enough, beginning at a piece.
  for (std::size_t first = 0; first < pieces_.size(); ++first) {
    Spot spot{earliest, pieces_[first].address, 0};
    std::int64_t length = 0;
    std::size_t i = first;
    for (; i < pieces_.size() && length < bytes && pieces_[i].free_from != kTaken; ++i) {
      if (pieces_[i].free_from > spot.time) {
        spot.time = pieces_[i].free_from;
        spot.freed_by = pieces_[i].freed_by;
      }
      length += pieces_[i].bytes;
      if (best && spot.time >= best->time) break;
    }
    if (length >= bytes && (!best || spot.time < best->time)) {
      best = spot;
      if (spot.time == earliest) return best;
    }
    if (i < pieces_.size() && pieces_[i].free_from == kTaken && length < bytes) first = i;
  }
  return best;
}

std::vector<std::uint32_t> Space::in_the_way(
    std::int64_t bytes, const std::function<std::optional<std::uint32_t>(std::uint32_t owner)>& next_use) const {
  struct Window {
    std::uint32_t soonest = 0;
    std::int64_t moved = 0;
    std::size_t first = 0, last = 0;
  };
  std::vector<std::optional<std::uint32_t>> uses(pieces_.size());
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    if (pieces_[i].free_from == kTaken) uses[i] = next_use(pieces_[i].freed_by);
  std::optional<Window> best;
  for (std::size_t first = 0; first < pieces_.size(); ++first) {
    Window w{std::numeric_limits<std::uint32_t>::max(), 0, first, first};
    std::int64_t length = 0;
    bool stays = false;
    for (; w.last < pieces_.size() && length < bytes && !stays; ++w.last) {
      const Piece& piece = pieces_[w.last];
      length += piece.bytes;
      if (piece.free_from != kTaken) continue;
      stays = !uses[w.last].has_value();
      if (stays) break;
      w.soonest = std::min(w.soonest, *uses[w.last]);
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
    if (pieces_[i].free_from == kTaken) owners.push_back(pieces_[i].freed_by);
  return owners;
}

std::vector<std::uint32_t> Space::owners() const {
  std::vector<std::uint32_t> owners;
  for (const Piece& piece : pieces_)
    if (piece.free_from == kTaken) owners.push_back(piece.freed_by);
  return owners;
}

double Space::free_from() const {
  double time = 0;
  for (const Piece& piece : pieces_)
    if (piece.free_from != kTaken) time = std::max(time, piece.free_from);
  return time;
}

void Space::take(std::int64_t address, std::int64_t bytes, std::uint32_t owner) {
  if (bytes == 0) return;
  taken_ += bytes;
  const std::size_t first = at(address);
  MONET_ASSERT(pieces_[first].address == address, "a spot begins at a piece");
  std::size_t last = first;
  std::int64_t length = 0;
  for (; length < bytes; ++last) {
    MONET_ASSERT(last < pieces_.size() && pieces_[last].free_from != kTaken, "the spot is free");
    length += pieces_[last].bytes;
  }
  const Piece rest = pieces_[last - 1];
  pieces_[first] = {address, bytes, kTaken, owner};
  const auto begin = pieces_.begin() + static_cast<std::ptrdiff_t>(first) + 1;
  pieces_.erase(begin, pieces_.begin() + static_cast<std::ptrdiff_t>(last));
  if (length > bytes)
    pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                   {address + bytes, length - bytes, rest.free_from, rest.freed_by});
}

void Space::release(std::int64_t address, double time, std::uint32_t by, double horizon) {
  std::size_t i = at(address);
  MONET_ASSERT(pieces_[i].address == address && pieces_[i].free_from == kTaken, "what is released was taken");
  taken_ -= pieces_[i].bytes;
  pieces_[i].free_from = time;
  pieces_[i].freed_by = by;
  const auto same = [&](const Piece& a, const Piece& b) {
    return a.free_from == b.free_from || (a.free_from <= horizon && b.free_from <= horizon);
  };
  const auto join = [&](std::size_t k) {  // piece k and the one after it
    if (pieces_[k + 1].free_from > pieces_[k].free_from) {
      pieces_[k].free_from = pieces_[k + 1].free_from;
      pieces_[k].freed_by = pieces_[k + 1].freed_by;
    }
    pieces_[k].bytes += pieces_[k + 1].bytes;
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(k) + 1);
  };
  if (i + 1 < pieces_.size() && same(pieces_[i], pieces_[i + 1])) join(i);
  if (i > 0 && same(pieces_[i - 1], pieces_[i])) join(i - 1);
}

}  // namespace monet::schedule
