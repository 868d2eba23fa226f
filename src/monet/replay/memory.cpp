#include "monet/replay/memory.h"

#include <fmt/format.h>

#include <iterator>

namespace monet::replay {

using schedule::Stay;

Memory::Memory(const schedule::Problem& problem, const schedule::Timeline& timeline)
    : problem_(problem), timeline_(timeline), places_(timeline.stays.size()), stores_(problem.machine.stores.size()) {}

std::int64_t Memory::bytes(std::uint32_t stay) const {
  return problem_.blocks[timeline_.stays[stay].block.index()].bytes;
}

std::string Memory::take(std::uint32_t stay) {
  const Stay& s = timeline_.stays[stay];
  const schedule::Store& store = problem_.machine.stores[s.store.index()];
  const std::int64_t size = bytes(stay);
  if (s.address < 0 || size > store.bytes || s.address > store.bytes - size)
    return fmt::format("bytes {} to {} lie outside of {} with its {} B", s.address, s.address + size, store.name,
                       store.bytes);
  auto& taken = stores_[s.store.index()];
  auto at = taken.lower_bound(s.address);
  while (at != taken.begin()) {
    const auto before = std::prev(at);
    if (before->first + bytes(before->second) <= s.address) break;
    at = before;
  }
  while (at != taken.end() && at->first < s.address + size) {
    Place& other = places_[at->second];
    other = {.version = other.version + 1};
    at = taken.erase(at);
  }
  if (size > 0) taken.emplace(s.address, stay);
  Place& place = places_[stay];
  place = {.version = place.version + 1, .is_taken = true};
  return {};
}

void Memory::leave(std::uint32_t stay) {
  Place& place = places_[stay];
  if (!place.is_taken) return;
  const Stay& s = timeline_.stays[stay];
  auto& taken = stores_[s.store.index()];
  if (const auto at = taken.find(s.address); at != taken.end() && at->second == stay) taken.erase(at);
  place = {.version = place.version + 1};
}

std::string Memory::check(const Wanted& wanted) const {
  if (wanted.stay >= places_.size()) return "there is no such place";
  const Stay& s = timeline_.stays[wanted.stay];
  if (s.block != wanted.block) return "the place is another block's";
  if (s.store != wanted.store) return "the place is in another store";
  if (wanted.from < s.from || wanted.to > s.to)
    return fmt::format("the place is its own from {} to {} only", s.from, s.to);
  if (!places_[wanted.stay].is_taken) return fmt::format("something else has been put at address {}", s.address);
  return {};
}

std::string Memory::read(const Wanted& wanted, Held& held, std::uint32_t& version) const {
  if (std::string why = check(wanted); !why.empty()) return why;
  const Place& place = places_[wanted.stay];
  if (place.is_written) return "it is being written at that time";
  if (!place.held.is_there()) return "nothing was put there";
  held = place.held;
  version = place.version;
  return {};
}

std::string Memory::begin_write(const Wanted& wanted) {
  if (std::string why = check(wanted); !why.empty()) return why;
  Place& place = places_[wanted.stay];
  if (place.is_written) return "something else is being written there";
  place.held = {};
  place.is_written = true;
  ++place.version;
  return {};
}

std::string Memory::end_write(std::uint32_t stay, Held held) {
  Place& place = places_[stay];
  if (!place.is_taken || !place.is_written) return "something else was put there meanwhile";
  place.held = std::move(held);
  place.is_written = false;
  return {};
}

}  // namespace monet::replay
