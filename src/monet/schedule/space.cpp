#include "monet/schedule/space.h"

#include <algorithm>

#include "monet/base/assert.h"

namespace monet::schedule {
Space::Space(std::int64_t bytes, bool knows_owners) : bytes_(bytes), knows_owners_(knows_owners) {
  if (bytes <= 0) return;
  free_.insert(free_.begin(), {0, bytes, 0, 0, 0});
  if (knows_owners) pieces_.emplace_back();
}

// Puts pieces together that are free before the horizon, whenever a chunk is looked at.
const Space::Rows& Space::rows(std::size_t i) {
  if (free_.chunk(i).is_fresh && horizon_ < free_.chunk(i).summary.next_merge) return free_.chunk(i).summary;
  free_.join(i);
  const FreePieces::Chunk& chunk = free_.chunk(i);
  free_.compact(i, [&](std::vector<Free>& pieces) {
    std::size_t kept = 0;
    for (std::size_t k = 1; k < pieces.size(); ++k) {
      Free& last = pieces[kept];
      if (last.address + last.bytes == pieces[k].address && std::max(last.from, pieces[k].from) <= horizon_) {
        last.bytes += pieces[k].bytes;
        last.from = std::max(last.from, pieces[k].from);
        remove(pieces[k].piece);
      } else {
        pieces[++kept] = pieces[k];
      }
    }
    if (!pieces.empty()) pieces.resize(kept + 1);
  });
  Rows& rows = chunk.summary;
  rows = {.soonest = kForever, .next_merge = kForever};
  std::int64_t end = -1;
  double from = 0;
  bool is_head = true;
  for (const Free& piece : chunk.items) {
    is_head = is_head && (end < 0 || piece.address == end);
    if (piece.address == end) rows.next_merge = std::min(rows.next_merge, std::max(from, piece.from));
    from = piece.from;
    rows.tail = piece.address == end ? rows.tail + piece.bytes : piece.bytes;
    if (is_head) rows.head = rows.tail;
    rows.longest = std::max(rows.longest, rows.tail);
    rows.soonest = std::min(rows.soonest, piece.from);
    end = piece.address + piece.bytes;
  }
  rows.is_one = is_head;
  chunk.is_fresh = true;
  return rows;
}

// The same of FreePieces::kRow chunks together.
const Space::Rows& Space::rows_of_many(std::size_t row) {
  if (free_.row(row).is_fresh && horizon_ < free_.row(row).summary.next_merge) return free_.row(row).summary;
  Rows all{.soonest = kForever, .next_merge = kForever, .is_one = true};
  std::int64_t end = -1;
  for (std::size_t c = row * FreePieces::kRow; c < std::min(free_.size(), (row + 1) * FreePieces::kRow); ++c) {
    const Rows r = rows(c);
    const std::vector<Free>& pieces = free_.chunk(c).items;
    const bool is_next = end < 0 || pieces[0].address == end;
    const std::int64_t carried = is_next ? all.tail : 0;
    all.longest = std::max({all.longest, r.longest, carried + r.head});
    if (all.is_one && is_next) all.head += r.head;
    all.tail = r.is_one ? carried + r.tail : r.tail;
    all.is_one = all.is_one && is_next && r.is_one;
    all.soonest = std::min(all.soonest, r.soonest);
    all.next_merge = std::min(all.next_merge, r.next_merge);
    end = pieces.back().address + pieces.back().bytes;
  }
  const FreePieces::Row& made = free_.row(row);
  made.summary = all;
  made.is_fresh = true;
  return made.summary;
}

// The first row that is long enough and free at `earliest`.
std::optional<Space::Spot> Space::find_now(std::int64_t bytes, double earliest) {
  std::int64_t begin = 0, end = -1;  // of the row of free pieces so far
  // True if it is long enough.
  const auto search = [&](const std::vector<Free>& pieces, std::size_t first) {
    for (std::size_t i = first; i < pieces.size(); ++i) {
      if (pieces[i].from > earliest) {
        end = -1;
        continue;
      }
      if (pieces[i].address != end) begin = pieces[i].address;
      end = pieces[i].address + pieces[i].bytes;
      if (end - begin >= bytes) return true;
    }
    return false;
  };
  std::size_t looked_at = 0;  // chunks up to there are gone through one by one
  for (std::size_t c = 0; c < free_.size(); ++c) {
    // Where there are many, most are passed over by the row; at the lowest addresses there is often a place.
    if (c > 0 && c % FreePieces::kRow == 0 && c >= looked_at) {
      const Rows& many = rows_of_many(c / FreePieces::kRow);
      const std::size_t next = std::min(free_.size(), c + FreePieces::kRow);
      const std::int64_t carried = end == free_.chunk(c).items[0].address ? end - begin : 0;
      if (many.soonest > earliest) {
        end = -1;
        c = next - 1;
        continue;
      }
      if (many.longest < bytes && carried + many.head < bytes) {
        // Only what is at its end may go on in the next one.
        std::size_t tail = next - 1;
        while (tail > c && free_.chunk(tail).summary.is_one) --tail;
        if (tail > c) end = -1;
        c = tail;
      }
      looked_at = next;
    }
    // A chunk that has changed is searched at once: often its first pieces will do, and nothing is put together.
    if (!free_.chunk(c).is_fresh) {
      const std::int64_t begin_before = begin, end_before = end;
      if (search(free_.chunk(c).items, 0)) return Spot{earliest, begin, 0};
      begin = begin_before;
      end = end_before;
    }
    const Rows& r = rows(c);
    const std::vector<Free>& pieces = free_.chunk(c).items;
    if (r.soonest > earliest) {
      end = -1;
      continue;
    }
    const std::int64_t carried = end == pieces[0].address ? end - begin : 0;
    std::size_t first = 0;
    if (r.longest < bytes && carried + r.head < bytes) {
      // Nothing here; only what is at its end may go on in the next chunk.
      first = pieces.size() - 1;
      while (first > 0 && pieces[first - 1].address + pieces[first - 1].bytes == pieces[first].address &&
             pieces[first - 1].from <= earliest)
        --first;
    }
    if (search(pieces, first)) return Spot{earliest, begin, 0};
  }
  return std::nullopt;
}

// All pieces of rows that are long enough, and perhaps others.
void Space::collect_rows(std::int64_t bytes) {
  rows_.clear();
  std::int64_t carried = 0, end = -1;  // the row at the end of the chunks so far
  std::size_t next = 0;                // chunk that is not in rows_ yet
  for (std::size_t c = 0; c < free_.size(); ++c) {
    const Rows& r = free_.chunk(c).summary;  // fresh since find_now
    const std::vector<Free>& pieces = free_.chunk(c).items;
    if (pieces[0].address != end) carried = 0;
    if (r.longest >= bytes || carried + r.head >= bytes) {
      std::size_t first = c;
      for (std::int64_t before = carried; first > next && before > 0; --first)
        before -= std::min(before, free_.chunk(first - 1).summary.tail);
      for (; first <= c; ++first)
        rows_.insert(rows_.end(), free_.chunk(first).items.begin(), free_.chunk(first).items.end());
      next = c + 1;
    }
    carried = r.is_one ? carried + r.head : r.tail;
    end = pieces.back().address + pieces.back().bytes;
  }
}

// The row that is free first, of all windows that begin with a piece and are just long enough.
std::optional<Space::Spot> Space::find_later(std::int64_t bytes, double earliest) {
  collect_rows(bytes);
  std::optional<Spot> best;
  for (std::size_t first = 0; first < rows_.size();) {
    Spot spot{earliest, rows_[first].address, 0};
    std::int64_t length = 0;
    std::size_t i = first, latest = first;
    bool is_worse = false;
    for (; i < rows_.size() && length < bytes && !is_worse && rows_[i].address == spot.address + length; ++i) {
      if (rows_[i].from > spot.time) {
        spot.time = rows_[i].from;
        spot.freed_by = rows_[i].by;
        latest = i;
      }
      length += rows_[i].bytes;
      is_worse = best && spot.time >= best->time;
    }
    // No window that begins before the piece that decides does without it, and none before a gap is long enough.
    if (is_worse || length < bytes) {
      first = i;
    } else {
      best = spot;
      first = latest + 1;
    }
  }
  return best;
}

std::optional<Space::Spot> Space::find(std::int64_t bytes, double earliest) {
  if (bytes == 0) return Spot{earliest, 0, 0};
  if (free_.begin() == free_.end()) return std::nullopt;
  if (const auto now = find_now(bytes, earliest)) return now;
  return find_later(bytes, earliest);
}

std::uint32_t Space::taken_before(std::uint32_t piece) const {
  do piece = pieces_[piece].before;
  while (piece != kNoPiece && pieces_[piece].owner == kNobody);
  return piece;
}

std::uint32_t Space::taken_after(std::uint32_t piece) const {
  do piece = pieces_[piece].after;
  while (piece != kNoPiece && pieces_[piece].owner == kNobody);
  return piece;
}

std::uint32_t Space::add_after(std::uint32_t piece) {
  std::uint32_t added = unused_;
  if (added == kNoPiece) {
    added = static_cast<std::uint32_t>(pieces_.size());
    pieces_.emplace_back();
  } else {
    unused_ = pieces_[added].after;
  }
  pieces_[added] = {.before = piece, .after = pieces_[piece].after};
  if (pieces_[added].after != kNoPiece) pieces_[pieces_[added].after].before = added;
  pieces_[piece].after = added;
  return added;
}

// It becomes a part of the one before it.
void Space::remove(std::uint32_t piece) {
  if (!knows_owners_) return;
  const std::uint32_t before = pieces_[piece].before, after = pieces_[piece].after;
  pieces_[before].after = after;
  if (after != kNoPiece) pieces_[after].before = before;
  pieces_[piece].after = unused_;
  unused_ = piece;
}

// The row of those that may leave around one that may from now on.
void Space::join_row(std::uint32_t piece) {
  Row row{.first = piece, .last = piece, .begin = 0, .end = bytes_};
  if (const std::uint32_t at = taken_before(piece); at != kNoPiece) {
    const Piece& before = pieces_[at];
    row.begin = before.address + before.bytes;
    if (before.search == searches_) {
      row.first = leaving_rows_[before.row].first;
      row.begin = leaving_rows_[before.row].begin;
    }
  }
  if (const std::uint32_t at = taken_after(piece); at != kNoPiece) {
    const Piece& after = pieces_[at];
    row.end = after.address;
    if (after.search == searches_) {
      row.last = leaving_rows_[after.row].last;
      row.end = leaving_rows_[after.row].end;
    }
  }
  pieces_[piece].search = searches_;
  pieces_[row.first].row = pieces_[row.last].row = static_cast<std::uint32_t>(leaving_rows_.size());
  leaving_rows_.push_back(row);
}

// The window of a row in which the fewest bytes are taken.
void Space::search_windows(const Row& row, std::int64_t bytes, std::optional<Window>& best) const {
  const std::uint32_t behind = taken_after(row.last);
  std::uint32_t first = row.first, next = first;  // `next`: not in the window yet
  std::uint32_t last = kNoPiece;                  // in it
  std::int64_t begin = row.begin, moved = 0;
  // A window begins behind a taken piece, where the next one or what is free before it lies.
  while (first != behind && row.end - begin >= bytes) {
    while (next != behind && pieces_[next].address < begin + bytes) {
      moved += pieces_[next].bytes;
      last = next;
      next = taken_after(next);
    }
    const bool is_free = next == first;  // some time
    if (!is_free && (!best || moved < best->moved || (moved == best->moved && begin < best->begin)))
      best = Window{moved, begin, first, last};
    if (!is_free) moved -= pieces_[first].bytes;
    begin = pieces_[first].address + pieces_[first].bytes;
    first = taken_after(first);
    if (is_free) next = first;
  }
}

std::vector<std::uint32_t> Space::in_the_way(std::int64_t bytes, const NextToLeave& next_to_leave) {
  ++searches_;
  std::optional<Window> best;
  leaving_rows_.clear();
  // More and more may leave, until there is a row that is long enough.
  while (!best && next_to_leave(leaving_)) {
    const std::size_t known = leaving_rows_.size();
    for (const std::uint32_t piece : leaving_)
      if (pieces_[piece].search != searches_) join_row(piece);
    for (std::size_t i = known; i < leaving_rows_.size(); ++i)
      if (const Row& row = leaving_rows_[i]; row.end - row.begin >= bytes) search_windows(row, bytes, best);
  }
  std::vector<std::uint32_t> owners;
  if (!best) return owners;
  for (std::uint32_t piece = best->first; owners.push_back(pieces_[piece].owner), piece != best->last;)
    piece = taken_after(piece);
  return owners;
}

std::vector<std::uint32_t> Space::owners() const {
  std::vector<std::uint32_t> owners;
  for (std::uint32_t piece = 0; piece < pieces_.size() && piece != kNoPiece; piece = pieces_[piece].after)
    if (pieces_[piece].owner != kNobody) owners.push_back(pieces_[piece].owner);
  return owners;
}

double Space::free_from() const {
  double time = 0;
  for (FreePieces::At at = free_.begin(); at != free_.end(); at = free_.next(at)) time = std::max(time, free_[at].from);
  return time;
}

std::uint32_t Space::take(std::int64_t address, std::int64_t bytes, std::uint32_t owner) {
  if (bytes == 0) return kNoPiece;
  FreePieces::At at = free_.not_below(address);
  std::uint32_t own = kNoPiece;
  for (std::int64_t length = 0; length < bytes;) {
    MONET_ASSERT(at != free_.end() && free_[at].address == address + length, "the spot is free");
    Free rest = free_[at];
    const std::int64_t taken = std::min(rest.bytes, bytes - length);
    const bool is_first = length == 0;
    length += taken;
    if (is_first) own = rest.piece;
    if (taken == rest.bytes) {
      if (!is_first) remove(rest.piece);
      at = free_.erase(at);
    } else {
      if (is_first && knows_owners_) rest.piece = add_after(own);
      rest.address += taken;
      rest.bytes -= taken;
      free_.replace(at, rest);
    }
  }
  if (knows_owners_) {
    pieces_[own].address = address;
    pieces_[own].bytes = bytes;
    pieces_[own].owner = owner;
    pieces_[own].search = 0;
  }
  return own;
}

void Space::release(std::int64_t address, std::int64_t bytes, std::uint32_t piece, double time, std::uint32_t by) {
  if (bytes == 0) return;
  if (knows_owners_) {
    MONET_ASSERT(pieces_[piece].owner != kNobody && pieces_[piece].address == address, "what is released was taken");
    pieces_[piece].owner = kNobody;
  }
  free_.insert(free_.not_below(address), {address, bytes, time, by, piece});
}

}  // namespace monet::schedule
