#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace monet::schedule {

// The addresses of one store. A piece of it is taken, or free from some time on; nobody knows yet when what is taken
// will be free.
class Space {
 public:
  explicit Space(std::int64_t bytes);

  struct Spot {
    double time = 0;
    std::int64_t address = 0;
    std::uint32_t freed_by = 0;  // what the release that decides the time was tagged with; 0: nothing did
  };
  // Where so many bytes are free at the earliest, at or after `earliest`; of equals at the lowest address.
  std::optional<Spot> find(std::int64_t bytes, double earliest) const;
  void take(std::int64_t address, std::int64_t bytes, std::uint32_t owner);
  // Nobody asks for a time before `horizon` any more: pieces free before it are one.
  void release(std::int64_t address, double time, std::uint32_t by, double horizon);

  std::int64_t taken() const { return taken_; }
  // The owners that stand in the way of so many bytes where it hurts least: whose next use is latest, then the fewest
  // bytes, then the lowest address. `next_use` gives none for what must stay. Empty: there is no such place.
  std::vector<std::uint32_t> in_the_way(
      std::int64_t bytes, const std::function<std::optional<std::uint32_t>(std::uint32_t owner)>& next_use) const;
  std::vector<std::uint32_t> owners() const;  // of what is taken, by address
  // From when on all that is not taken is free.
  double free_from() const;

 private:
  static constexpr double kTaken = std::numeric_limits<double>::infinity();
  struct Piece {
    std::int64_t address = 0, bytes = 0;
    double free_from = 0;
    std::uint32_t freed_by = 0;  // while it is free; its owner while it is taken
  };
  std::size_t at(std::int64_t address) const;  // the piece that holds it

  std::vector<Piece> pieces_;  // by address, without gaps
  std::int64_t taken_ = 0;
};

}  // namespace monet::schedule
