#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "monet/interpret/array.h"
#include "monet/schedule/timeline.h"

namespace monet::replay {

// What a block holds: numbers in the shape of its box, and how many steps of a reduction are behind them.
struct Held {
  std::shared_ptr<const Array<double>> values{};
  std::int64_t count = 0;
  bool is_spoiled = false;  // a fault that was told already left nothing here
  bool is_there() const { return values != nullptr || is_spoiled; }
};

// Who wants a place, for how long.
struct Wanted {
  std::uint32_t stay = 0;  // of Timeline::stays
  schedule::BlockId block{};
  schedule::StoreId store{};
  double from = 0, to = 0;
};

// The stores of a chip: bytes at addresses. A place that is taken destroys what lay in its bytes; one that is left
// holds nothing any more. Functions that can fail say why, and nothing where all is well.
class Memory {
 public:
  Memory(const schedule::Problem& problem, const schedule::Timeline& timeline);

  std::string take(std::uint32_t stay);
  void leave(std::uint32_t stay);

  // What lies there, and the version of it: unless that is the same when reading ends, it was overwritten meanwhile.
  std::string read(const Wanted& wanted, Held& held, std::uint32_t& version) const;
  bool is_still(std::uint32_t stay, std::uint32_t version) const { return places_[stay].version == version; }
  // From the beginning of a writing on the old value is gone; the new one is there at its end.
  std::string begin_write(const Wanted& wanted);
  std::string end_write(std::uint32_t stay, Held held);

  bool is_taken(std::uint32_t stay) const { return places_[stay].is_taken; }
  const Held& held(std::uint32_t stay) const { return places_[stay].held; }

 private:
  struct Place {
    Held held{};
    std::uint32_t version = 0;
    bool is_taken = false, is_written = false;
  };
  std::string check(const Wanted& wanted) const;
  std::int64_t bytes(std::uint32_t stay) const;

  const schedule::Problem& problem_;
  const schedule::Timeline& timeline_;
  std::vector<Place> places_;                                  // by stay
  std::vector<std::map<std::int64_t, std::uint32_t>> stores_;  // by store: first bytes of the stays that are there
};

}  // namespace monet::replay
