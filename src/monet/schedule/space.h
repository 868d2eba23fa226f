#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "monet/schedule/engine_chunks.h"

namespace monet::schedule {

constexpr double kForever = std::numeric_limits<double>::infinity();

// The addresses of one store. A piece of it is taken, or free from some time on; nobody knows yet when what is taken
// will be free.
class Space {
 public:
  // Whoever never asks who owns what says so: `knows_owners`.
  explicit Space(std::int64_t bytes, bool knows_owners = true);

  struct Spot {
    double time = 0;
    std::int64_t address = 0;
    std::uint32_t freed_by = 0;  // what the release that decides the time was tagged with; 0: nothing did
  };
  // Where so many bytes are free at the earliest, at or after `earliest`; of equals at the lowest address.
  std::optional<Spot> find(std::int64_t bytes, double earliest);
  // Gives the number of the piece, for its release.
  std::uint32_t take(std::int64_t address, std::int64_t bytes, std::uint32_t owner);
  void release(std::int64_t address, std::int64_t bytes, std::uint32_t piece, double time, std::uint32_t by);
  // Nobody asks for a time before `horizon` any more: pieces free before it are one.
  void forget_before(double horizon) { horizon_ = horizon; }

  // Pieces of owners that may leave, those with the latest next use first; each call gives those of one next use, false
  // if there are no more.
  using NextToLeave = std::function<bool(std::vector<std::uint32_t>& pieces)>;
  // The owners that stand in the way of so many bytes where it hurts least: whose next use is latest, then the fewest
  // bytes, then the lowest address. Empty: there is no such place. Asked where `find` finds nothing.
  std::vector<std::uint32_t> in_the_way(std::int64_t bytes, const NextToLeave& next_to_leave);
  std::vector<std::uint32_t> owners() const;  // of what is taken, by address
  // From when on all that is not taken is free.
  double free_from() const;

 private:
  struct Free {
    std::int64_t address = 0, bytes = 0;
    double from = 0;
    std::uint32_t by = 0;
    std::uint32_t piece = 0;
    std::int64_t key() const { return address; }
  };
  // Of the pieces of a chunk: the longest row of them side by side, those at its begin and end.
  struct Rows {
    std::int64_t longest = 0, head = 0, tail = 0;
    double soonest = 0;     // any of them is free
    double next_merge = 0;  // the horizon from which on two of them are one
    bool is_one = false;
  };
  // All pieces, taken and free, know their neighbours; where a free one lies is in free_ alone.
  struct Piece {
    std::int64_t address = 0, bytes = 0;
    std::uint32_t owner = kNobody;
    std::uint32_t before = kNoPiece, after = kNoPiece;
    std::uint32_t search = 0;  // the last one in which it may leave
    std::uint32_t row = 0;     // of leaving_rows_, if it is an end of it
  };
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max(), kNoPiece = kNobody;
  using FreePieces = Chunks<Free, Rows>;

  const Rows& rows(std::size_t chunk);
  const Rows& rows_of_many(std::size_t row);
  std::optional<Spot> find_now(std::int64_t bytes, double earliest);
  std::optional<Spot> find_later(std::int64_t bytes, double earliest);
  void collect_rows(std::int64_t bytes);

  std::uint32_t taken_before(std::uint32_t piece) const;
  std::uint32_t taken_after(std::uint32_t piece) const;
  std::uint32_t add_after(std::uint32_t piece);
  void remove(std::uint32_t piece);

  // Taken pieces side by side that may leave, with what is free beside them.
  struct Row {
    std::uint32_t first = 0, last = 0;
    std::int64_t begin = 0, end = 0;
  };
  struct Window {
    std::int64_t moved = 0;
    std::int64_t begin = 0;             // with what is free before the first piece
    std::uint32_t first = 0, last = 0;  // taken pieces
  };
  void join_row(std::uint32_t piece);
  void search_windows(const Row& row, std::int64_t bytes, std::optional<Window>& best) const;

  std::int64_t bytes_;
  bool knows_owners_;
  FreePieces free_;
  std::vector<Piece> pieces_;           // the first one is at address 0; none where owners are not known
  std::uint32_t unused_ = kNoPiece;     // of them; those behind it are its `after`
  std::vector<std::uint32_t> leaving_;  // of in_the_way, kept for its memory
  std::vector<Row> leaving_rows_;       // and this
  std::vector<Free> rows_;              // of find_later, kept for its memory
  double horizon_ = 0;
  std::uint32_t searches_ = 0;
};

}  // namespace monet::schedule
