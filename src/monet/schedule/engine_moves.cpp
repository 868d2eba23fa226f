// Where blocks go, and when (rules 1 to 4 of docs/schedule.md).
#include <algorithm>
#include <cmath>
#include <limits>

#include "monet/base/assert.h"
#include "monet/schedule/engine_work.h"

namespace monet::schedule {
std::uint32_t tag_of(const Cause& cause) {
  switch (cause.kind) {
    case Cause::Kind::Tile: return 1 + 2 * cause.index;
    case Cause::Kind::Transfer: return 2 + 2 * cause.index;
    case Cause::Kind::Nothing:
    case Cause::Kind::Unit:
    case Cause::Kind::Channel:
    case Cause::Kind::TileAtPort:
    case Cause::Kind::TransferAtPort: return 0;
  }
  return 0;
}

Cause cause_of(std::uint32_t tag) {
  if (tag == 0) return {};
  return {tag % 2 == 1 ? Cause::Kind::Tile : Cause::Kind::Transfer, (tag - 1) / 2};
}

Cause cause_on_channel(std::uint32_t tag) {
  const Cause cause = cause_of(tag);
  return cause.kind == Cause::Kind::Transfer ? Cause{Cause::Kind::Channel, cause.index} : cause;
}

Cause cause_at_port(std::uint32_t tag, PortId port) {
  if (tag == 0) return {};
  const Cause cause = cause_of(tag);
  return {cause.kind == Cause::Kind::Tile ? Cause::Kind::TileAtPort : Cause::Kind::TransferAtPort, cause.index, port};
}

Copy* Engine::copy_in(BlockId b, StoreId store) {
  const std::uint32_t at = copies_.find(state(b), store);
  return at == kNever ? nullptr : &copies_[at];
}

// A copy is as dear as its next use here; the only one there is, as the next use anywhere.
std::uint32_t Engine::cost_of_losing(const BlockState& s, const Copy& copy) const {
  return s.copies == 1 ? s.next_use : copy.next_use;
}

void Engine::may_leave(BlockId b, std::uint32_t at) {
  Copy& copy = copies_[at];
  if (copy.store == machine_.home) return;
  copy.said = cost_of_losing(state(b), copy);
  if (copy.said != kNever) leavers_[copy.store.index()].add({copy.said, b, copy.used.time, at, copy.stay});
}

std::uint32_t Engine::open_stay(BlockId b, StoreId store, std::int64_t address, double from) {
  pieces_.push_back(spaces_[store.index()].take(address, block(b).bytes, b.value));
  out_.stays.push_back({b, store, address, from, from});
  return static_cast<std::uint32_t>(out_.stays.size() - 1);
}

void Engine::free_place(std::uint32_t stay, double time, std::uint32_t by) {
  const Stay& s = out_.stays[stay];
  spaces_[s.store.index()].release(s.address, block(s.block).bytes, pieces_[stay], time, by);
}

void Engine::add_copy(BlockId b, StoreId store, std::uint32_t stay, const When& available) {
  copies_.add(state(b), {.store = store, .stay = stay, .available = available, .used = available});
  if (store == machine_.home) state(b).home_stay = stay;
}

// Its place is free when it was used for the last time. At home the place stays the block's.
void Engine::drop_copy(BlockId b, std::uint32_t at) {
  BlockState& s = state(b);
  const Copy copy = copies_[at];
  copies_.remove(s, at);
  if (copy.store == machine_.home) {
    s.home_used.at_least(copy.used.time, copy.used.cause);
  } else {
    out_.stays[copy.stay].to = copy.used.time;
    free_place(copy.stay, copy.used.time, tag_of(copy.used.cause));
  }
  if (s.copies == 1) may_leave(b, s.first_copy);
}

// When the last word is through the ports of both stores. Words that find a port taken wait in front of it.
double Engine::through_ports(BlockId b, StoreId from, StoreId to, double start, double passed) const {
  const std::optional<PortId>&drain = machine_.stores[from.index()].drain, &fill = machine_.stores[to.index()].fill;
  double end = passed;
  if (passed > start && drain) end = std::max(end, ports_[drain->index()].served(start, port_cycles(b, *drain)));
  if (passed > start && fill && fill != drain)
    end = std::max(end, ports_[fill->index()].served(start, port_cycles(b, *fill)));
  return end;
}

// Bytes a cycle at which a block goes from one store to another.
double Engine::rate_of(BlockId b, StoreId from, StoreId to) const {
  const std::size_t route = from.index() * machine_.stores.size() + to.index();
  return std::min(route_rates_[route], home_rates_[route] * block(b).efficiency);
}

// The first time at which every channel of the way is free, and who was in it before. What would arrive after `latest`
// is not looked at to the end: it ends then or later.
Engine::Fetch Engine::window(BlockId b, const Copy& from, StoreId to, const When& earliest, double latest) const {
  const Route& route = machine_.route(from.store, to);
  const double rate = rate_of(b, from.store, to), duration = cycles_at(rate, b);
  When start = earliest;
  start.at_least(from.available.time, from.available.cause);
  if (duration > 0)
    for (std::size_t agreed = 0, k = 0; agreed < route.channels.size() && start.time + duration <= latest;
         k = k + 1 < route.channels.size() ? k + 1 : 0) {
      const ChannelId c = route.channels[k];
      const ChannelTime::Start found = channels_[c.index()].free_from(
          taken_of(c, b, rate), machine_.channels[c.index()].bytes_per_cycle, duration, start.time);
      agreed = found.time == start.time ? agreed + 1 : 1;
      if (found.time != start.time) start = {found.time, cause_on_channel(found.freed_by)};
    }
  const double passed = start.time + duration;
  const double end = passed > latest ? passed : through_ports(b, from.store, to, start.time, passed);
  return {start.time, passed, end, from.store, start.cause};
}

std::uint32_t Engine::move(BlockId b, const Fetch& fetch, std::uint32_t stay, Purpose purpose,
                           std::uint32_t carried_by) {
  const StoreId to = out_.stays[stay].store;
  const auto index = static_cast<std::uint32_t>(out_.transfers.size());
  const Cause cause{Cause::Kind::Transfer, index};
  const bool is_own = carried_by == kNever;
  if (fetch.passed > fetch.start) {
    const std::optional<PortId>&drain = machine_.stores[fetch.from.index()].drain,
          &fill = machine_.stores[to.index()].fill;
    if (is_own) {
      const double rate = static_cast<double>(block(b).bytes) / (fetch.passed - fetch.start);
      for (const ChannelId c : machine_.route(fetch.from, to).channels)
        channels_[c.index()].occupy(fetch.start, fetch.passed, taken_of(c, b, rate), tag_of(cause));
      if (drain) ports_[drain->index()].take(fetch.start, port_cycles(b, *drain), tag_of(cause));
    }
    if (fill && (fill != drain || !is_own))
      ports_[fill->index()].take(fetch.start, port_cycles(b, *fill), tag_of(cause));
  }
  Copy& from = *copy_in(b, fetch.from);
  out_.transfers.push_back({.block = b,
                            .from = fetch.from,
                            .to = to,
                            .purpose = purpose,
                            .tile = TileId{now_},
                            .from_stay = from.stay,
                            .to_stay = stay,
                            .carried_by = is_own ? index : carried_by,
                            .start = fetch.start,
                            .end = fetch.end,
                            .passed = fetch.passed,
                            .cause = fetch.cause});
  from.used.at_least(fetch.end, cause);
  return index;
}

// The places in a store of what may leave and is wanted latest, of what has not been given since Leavers::begin. What a
// copy was said to be wanted by last is true of all but what the tile at hand needs, which stays.
bool Engine::next_to_leave(StoreId store, std::vector<std::uint32_t>& pieces) {
  pieces.clear();
  Leavers& leavers = leavers_[store.index()];
  std::uint32_t latest = kNever;
  while (leavers.has_next()) {
    const Leavers::Leaver leaver = leavers.peek();
    if (leaver.next_use != latest) {
      if (!pieces.empty()) break;
      latest = leaver.next_use;
    }
    if (leaver.used > idle_since_) {
      leavers.next(true);
      continue;
    }
    const Copy& copy = copies_[leaver.copy];
    const bool is_true = copy.stay == leaver.stay && copy.said == latest;
    leavers.next(is_true);
    if (is_true && copy.used.time <= idle_since_ && !stays(leaver.block) && block(leaver.block).bytes > 0)
      pieces.push_back(pieces_[leaver.stay]);
  }
  return !pieces.empty();
}

// What is used last is moved away where there is no room; nothing that the tile at hand needs.
// What leaves may be saved from `saved_from` on.
std::optional<Space::Spot> Engine::make_room(BlockId b, StoreId store, double earliest, double saved_from) {
  Space& space = spaces_[store.index()];
  std::optional<Space::Spot> spot = space.find(block(b).bytes, earliest);
  if (store == machine_.home || (spot && spot->time <= earliest)) {
    if (!spot) say_no_room(b, store);
    return spot;
  }
  // Waiting for a place is right if moving something away would take as long as what is won by it. What is fetched
  // ahead has time until the unit is free.
  const double arrives = static_cast<double>(block(b).bytes) / machine_.stores[machine_.home.index()].bytes_per_cycle;
  const double in_time = std::max(earliest, unit_free_[p_.tiles[now_].unit.index()].time - arrives);
  const double lost = spot ? spot->time - in_time : kForever;
  if (lost <= 0) return spot;
  // Who fetches ahead wants a place that is free before the tile before ends, if there is one; else one in half of the
  // time.
  const double began = unit_began_[p_.tiles[now_].unit.index()].back();
  for (const auto& [idle_since, won] : {std::pair{began, lost}, std::pair{in_time + lost / 2, lost / 2}}) {
    idle_since_ = idle_since;
    const std::vector<std::uint32_t> victims = in_the_way(b, store);
    if (victims.empty()) continue;
    if (time_to_move(victims) >= won) break;
    for (const std::uint32_t victim : victims)
      if (!evict(BlockId{victim}, store, saved_from)) return std::nullopt;
    if ((spot = space.find(block(b).bytes, earliest))) break;
  }
  if (!spot) say_no_room(b, store);
  return spot;
}

std::vector<std::uint32_t> Engine::in_the_way(BlockId b, StoreId store) {
  leavers_[store.index()].begin(now_);
  std::vector<std::uint32_t> victims = spaces_[store.index()].in_the_way(
      block(b).bytes, [&](std::vector<std::uint32_t>& pieces) { return next_to_leave(store, pieces); });
  return victims;
}

// Cycles that the home needs to take what is nowhere else, and to give all of it back.
double Engine::time_to_move(const std::vector<std::uint32_t>& victims) const {
  double bytes = 0;
  for (const std::uint32_t victim : victims) {
    const BlockState& s = state_[victim];
    bytes += static_cast<double>(p_.blocks[victim].bytes) * (s.copies == 1 ? 2 : 1);
  }
  return bytes / machine_.stores[machine_.home.index()].bytes_per_cycle;
}

void Engine::say_no_room(BlockId b, StoreId store) {
  no_room_ = {.tile = TileId{now_},
              .store = store,
              .block = b,
              .wanted_bytes = block(b).bytes,
              .store_bytes = machine_.stores[store.index()].bytes};
  for (const BlockId other : needed_)
    if (other != b && copy_in(other, store) != nullptr) {
      no_room_.pinned.push_back(other);
      no_room_.pinned_bytes += block(other).bytes;
    }
}

// A value that is nowhere else and still wanted is saved first.
bool Engine::evict(BlockId b, StoreId store, double earliest) {
  const bool is_wanted = state(b).next_use != kNever || block(b).ends_at_home;
  if (is_wanted && state(b).copies == 1 && !send_home(b, store, earliest, Purpose::Spill)) return false;
  drop_copy(b, copies_.find(state(b), store));
  return true;
}

bool Engine::send_home(BlockId b, StoreId from, double earliest, Purpose purpose) {
  BlockState& s = state(b);
  if (s.home_stay == kNever) {
    const auto spot = make_room(b, machine_.home, earliest, earliest);
    if (!spot) return false;
    s.home_stay = open_stay(b, machine_.home, spot->address, spot->time);
    earliest = spot->time;
  }
  When start{earliest, {}};
  start.at_least(s.home_used.time, s.home_used.cause);
  const Fetch fetch = window(b, *copy_in(b, from), machine_.home, start);
  const std::uint32_t transfer = move(b, fetch, s.home_stay, purpose, kNever);
  add_copy(b, machine_.home, s.home_stay, {fetch.end, {Cause::Kind::Transfer, transfer}});
  return true;
}

// A transfer of the same value that is still to come, over the same channels, may serve this store, too.
std::optional<Engine::Fetch> Engine::shared(BlockId b, StoreId to, double earliest) const {
  const std::uint32_t last = state(b).last_fetch;
  if (last == kNever) return std::nullopt;
  const Transfer& t = out_.transfers[last];
  if (t.start < earliest) return std::nullopt;
  const Route &theirs = machine_.route(t.from, t.to), &ours = machine_.route(t.from, to);
  const std::uint32_t source = copies_.find(state(b), t.from);
  const bool is_there = source != kNever && copies_[source].stay == t.from_stay;
  if (!is_there || !ours.exists || ours.channels.empty() || ours.channels != theirs.channels) return std::nullopt;
  const double rate = static_cast<double>(block(b).bytes) / std::max(1.0, t.passed - t.start);
  if (rate > machine_.stores[to.index()].bytes_per_cycle) return std::nullopt;
  // Its words leave their source with those of the other one.
  double end = t.end;
  if (const std::optional<PortId>& fill = machine_.stores[to.index()].fill; fill && t.passed > t.start)
    end = std::max(end, ports_[fill->index()].served(t.start, port_cycles(b, *fill)));
  return Fetch{t.start, t.passed, end, t.from, t.cause};
}

// The value in a store, fetched if it is not there.
bool Engine::bring(BlockId b, StoreId store, double earliest, When& ready) {
  if (const Copy* copy = copy_in(b, store)) {
    ready.at_least(copy->available.time, copy->available.cause);
    return true;
  }
  BlockState& s = state(b);
  MONET_ASSERT(s.copies > 0, "a block is written before it is read");
  bool is_near = false;
  for (std::uint32_t c = s.first_copy; c != kNever && !is_near; c = copies_.next(c))
    is_near = machine_.route(copies_.store(c), store).exists;
  if (!is_near && !send_home(b, copies_[s.first_copy].store, earliest, Purpose::Spill)) return false;
  double first = std::numeric_limits<double>::infinity();
  for (std::uint32_t c = s.first_copy; c != kNever; c = copies_.next(c))
    first = std::min(first, copies_[c].available.time);
  const auto spot = make_room(b, store, std::max(earliest, first), std::max(earliest, first));
  if (!spot) return false;
  std::optional<Fetch> best = shared(b, store, spot->time);
  std::uint32_t carried_by = best ? out_.transfers[s.last_fetch].carried_by : kNever;
  double rate = 0, cycles = 0;  // of the way looked at last: most are equally fast
  for (std::uint32_t c = s.first_copy; c != kNever; c = copies_.next(c)) {
    const Copy& copy = copies_[c];
    const double begin = std::max(spot->time, copy.available.time);
    if (best && begin > best->end) continue;
    if (!machine_.route(copy.store, store).exists) continue;
    // With all of its channels free at once it would arrive then; most are no better than one that was looked at.
    if (const double own = rate_of(b, copy.store, store); own != rate) {
      rate = own;
      cycles = cycles_at(rate, b);
    }
    const double soonest = begin + cycles;
    const bool may_be_nearer = best && carried_by == kNever && best->from == machine_.home;
    if (best && (soonest > best->end || (soonest == best->end && !may_be_nearer))) continue;
    const Fetch fetch = window(b, copy, store, {spot->time, cause_of(spot->freed_by)}, best ? best->end : kForever);
    const bool is_nearer = best && fetch.end == best->end && carried_by == kNever && best->from == machine_.home;
    if (best && fetch.end >= best->end && !is_nearer) continue;
    best = fetch;
    carried_by = kNever;
  }
  MONET_ASSERT(best.has_value(), "every store can be reached from home");
  const std::uint32_t stay = open_stay(b, store, spot->address, best->start);
  const std::uint32_t transfer = move(b, *best, stay, Purpose::Fetch, carried_by);
  if (carried_by == kNever) s.last_fetch = transfer;
  const When arrived{best->end, {Cause::Kind::Transfer, transfer}};
  add_copy(b, store, stay, arrived);
  ready.at_least(arrived.time, arrived.cause);
  return true;
}

}  // namespace monet::schedule
