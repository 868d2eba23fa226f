#include <algorithm>

#include "monet/base/sort.h"
#include "monet/schedule/evaluation.h"

namespace monet::schedule {
namespace {

struct Event {
  PathStep::Kind kind = PathStep::Kind::Tile;
  std::uint32_t index = 0;
  double start = 0, end = 0;
  Cause cause{};
};

struct End {
  double time = 0;
  std::uint32_t event = 0;
};

}  // namespace

// Backwards from what ended last, by causes; where an event names none, whatever ended last before it began.
std::vector<PathStep> critical_path(const Timeline& timeline) {
  const auto tile = [&](std::uint32_t i) {
    const TileTime& t = timeline.tiles[i];
    return Event{PathStep::Kind::Tile, i, t.start, t.end, t.cause};
  };
  const auto transfer = [&](std::uint32_t i) {
    const Transfer& t = timeline.transfers[i];
    return Event{PathStep::Kind::Transfer, i, t.start, t.end, t.cause};
  };
  // Tiles, then transfers; of those that end at once the last.
  const auto tiles = static_cast<std::uint32_t>(timeline.tiles.size());
  const auto event = [&](std::uint32_t i) { return i < tiles ? tile(i) : transfer(i - tiles); };
  std::uint32_t last = 0;
  double last_end = -1;
  const auto note = [&](double end, std::uint32_t i) {
    if (end >= last_end) last = i, last_end = end;
  };
  for (std::uint32_t i = 0; i < tiles; ++i) note(timeline.tiles[i].end, i);
  for (std::uint32_t i = 0; i < timeline.transfers.size(); ++i) note(timeline.transfers[i].end, tiles + i);
  // By when they end: most paths do without.
  std::vector<End> by_end;
  const auto sort_by_end = [&] {
    by_end.reserve(timeline.tiles.size() + timeline.transfers.size());
    for (const TileTime& t : timeline.tiles) by_end.push_back({t.end, static_cast<std::uint32_t>(by_end.size())});
    for (const Transfer& t : timeline.transfers) by_end.push_back({t.end, static_cast<std::uint32_t>(by_end.size())});
    sort_by_number(by_end, [](const End& e) { return e.time; });
  };
  std::vector<PathStep> path;
  if (last_end < 0) return path;
  double cursor = timeline.cycles;
  Event at = event(last);
  for (;;) {
    const double from = std::min(cursor, at.start);
    Event next;
    bool has_next = false;
    switch (at.cause.kind) {
      case Cause::Kind::Unit:
      case Cause::Kind::TileAtPort:
      case Cause::Kind::Tile: next = tile(at.cause.index), has_next = true; break;
      case Cause::Kind::Transfer:
      case Cause::Kind::TransferAtPort:
      case Cause::Kind::Channel: next = transfer(at.cause.index), has_next = true; break;
      case Cause::Kind::Nothing: break;
    }
    // A cause that ends later than its effect begins (a place shared in time) leads nowhere new.
    if (has_next && next.end > from) has_next = false;
    if (!has_next && from > 0) {
      if (by_end.empty()) sort_by_end();
      const auto after =
          std::upper_bound(by_end.begin(), by_end.end(), from, [](double time, const End& e) { return time < e.time; });
      for (auto i = after; i != by_end.begin();) {
        next = event((--i)->event);
        has_next = next.start < from;  // else it takes no time: leads nowhere
        if (has_next) break;
      }
    }
    const double to = cursor;
    const double begin = has_next ? std::min(next.end, from) : 0;
    if (to > begin) path.push_back({at.kind, at.index, begin, to});
    cursor = begin;
    if (!has_next || cursor <= 0) break;
    at = next;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace monet::schedule
