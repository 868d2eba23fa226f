#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
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
  void release(std::int64_t address, double time, std::uint32_t by);
  // Nobody asks for a time before `horizon` any more: pieces free before it are one.
  void forget_before(double horizon);

  // The owners that stand in the way of so many bytes where it hurts least: whose next use is latest, then the fewest
  // bytes, then the lowest address. `next_use` gives none for what must stay. Empty: there is no such place.
  std::vector<std::uint32_t> in_the_way(
      std::int64_t bytes, const std::function<std::optional<std::uint32_t>(std::uint32_t owner)>& next_use) const;
  std::vector<std::uint32_t> owners() const;  // of what is taken, by address
  // From when on all that is not taken is free.
  double free_from() const;

 private:
  struct Free {
    std::int64_t address = 0, bytes = 0;
    double from = 0;
    std::uint32_t by = 0;
  };
  struct Taken {
    std::int64_t bytes = 0;
    std::uint32_t owner = 0;
  };
  std::size_t first_free_at(std::int64_t address) const;

  std::vector<Free> free_;  // by address
  std::map<std::int64_t, Taken> taken_;
};

}  // namespace monet::schedule
