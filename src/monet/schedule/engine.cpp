#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "monet/base/assert.h"
#include "monet/schedule/channel_time.h"
#include "monet/schedule/space.h"
#include "monet/schedule/timeline.h"
#include "monet/schedule/use_index.h"

namespace monet::schedule {
namespace {

constexpr std::size_t kChunk = 1024;  // tiles after which times long past are forgotten

// A cause as one number, 0 for nothing: what Space keeps.
std::uint32_t tag_of(const Cause& cause) {
  switch (cause.kind) {
    case Cause::Kind::Tile: return 1 + 2 * cause.index;
    case Cause::Kind::Transfer: return 2 + 2 * cause.index;
    case Cause::Kind::Nothing:
    case Cause::Kind::Unit:
    case Cause::Kind::Channel: return 0;
  }
  return 0;
}
Cause cause_of(std::uint32_t tag) {
  if (tag == 0) return {};
  return {tag % 2 == 1 ? Cause::Kind::Tile : Cause::Kind::Transfer, (tag - 1) / 2};
}

// A time and who is to blame for it.
struct When {
  double time = 0;
  Cause cause{};
  void at_least(double t, const Cause& c) {
    if (t > time) *this = {t, c};
  }
};

// The latest value of a block in one store.
struct Copy {
  StoreId store{};
  std::uint32_t stay = 0;    // of Timeline::stays
  When available{}, used{};  // the value is there; its last use known so far ends
};

struct BlockState {
  std::vector<Copy> copies{};        // one per store
  std::uint32_t home_stay = kNever;  // its place at home, whether the value there is the latest or not
  When home_used{};
  std::uint32_t last_fetch = kNever;  // of this value
};

class Engine {
 public:
  explicit Engine(const Problem& p);
  Scheduled run();

 private:
  struct Fetch {
    double start = 0, end = 0;
    StoreId from{};
    Cause cause{};
  };

  const Block& block(BlockId b) const { return p_.blocks[b.index()]; }
  BlockState& state(BlockId b) { return state_[b.index()]; }
  Copy* copy_in(BlockId b, StoreId store);

  bool put_sources_home();
  bool run_tile(std::uint32_t tile);
  bool gather(const Tile& tile, double earliest, When& ready, std::vector<std::uint32_t>& opened);
  bool clear_store(const Tile& tile, StoreId store, double& earliest);
  bool bring(BlockId b, StoreId store, double earliest, When& ready);
  bool make_output(BlockId b, StoreId store, double earliest, When& ready, std::vector<std::uint32_t>& opened);
  bool start_flows(const Tile& tile, double earliest, When& ready, double& cycles);
  bool settle(BlockId b, double now);

  Fetch window(BlockId b, const Copy& from, StoreId to, const When& earliest) const;
  std::optional<Fetch> shared(BlockId b, StoreId to, double earliest) const;
  std::uint32_t move(BlockId b, const Fetch& fetch, std::uint32_t stay, Purpose purpose, std::uint32_t carried_by);
  std::optional<Space::Spot> make_room(BlockId b, StoreId store, double earliest);
  bool evict(BlockId b, StoreId store, double earliest);
  bool send_home(BlockId b, StoreId from, double earliest, Purpose purpose);
  std::uint32_t open_stay(BlockId b, StoreId store, std::int64_t address, double from);
  void add_copy(BlockId b, StoreId store, std::uint32_t stay, When available);
  void drop_copy(BlockId b, StoreId store);
  std::uint32_t cost_of_losing(BlockId b, const Copy& copy) const;
  void forget_past();

  const Problem& p_;
  const Machine& machine_;
  UseIndex uses_;
  std::vector<BlockState> state_;
  std::vector<Space> spaces_;
  std::vector<ChannelTime> channels_;
  std::vector<std::vector<std::uint32_t>> recent_;  // by channel: the last transfers over it
  std::vector<When> unit_free_;
  std::vector<double> unit_began_;
  double floor_ = 0, chunk_least_ = 0;  // no transfer is put before it
  std::uint32_t now_ = 0;
  std::vector<BlockId> pinned_;
  Timeline out_;
  NoRoom no_room_;
};

Engine::Engine(const Problem& p)
    : p_(p),
      machine_(p.machine),
      uses_(p),
      state_(p.blocks.size()),
      channels_(machine_.channels.size()),
      recent_(machine_.channels.size()),
      unit_free_(machine_.units.size()),
      unit_began_(machine_.units.size(), 0) {
  for (const Store& store : machine_.stores) spaces_.emplace_back(store.bytes);
  out_.tiles.reserve(p.tiles.size());
}

Copy* Engine::copy_in(BlockId b, StoreId store) {
  for (Copy& copy : state(b).copies)
    if (copy.store == store) return &copy;
  return nullptr;
}

// A copy is as dear as its next use here; the only one there is, as the next use anywhere.
std::uint32_t Engine::cost_of_losing(BlockId b, const Copy& copy) const {
  const std::uint32_t here = uses_.next_in(b, copy.store);
  return state_[b.index()].copies.size() == 1 ? std::min(here, uses_.next(b)) : here;
}

std::uint32_t Engine::open_stay(BlockId b, StoreId store, std::int64_t address, double from) {
  spaces_[store.index()].take(address, block(b).bytes, b.value);
  out_.stays.push_back({b, store, address, from, from});
  return static_cast<std::uint32_t>(out_.stays.size() - 1);
}

void Engine::add_copy(BlockId b, StoreId store, std::uint32_t stay, When available) {
  state(b).copies.push_back({.store = store, .stay = stay, .available = available, .used = available});
  if (store == machine_.home) state(b).home_stay = stay;
}

// Its place is free when it was used for the last time. At home the place stays the block's.
void Engine::drop_copy(BlockId b, StoreId store) {
  BlockState& s = state(b);
  const auto at = std::find_if(s.copies.begin(), s.copies.end(), [&](const Copy& c) { return c.store == store; });
  const Copy copy = *at;
  s.copies.erase(at);
  if (store == machine_.home) {
    s.home_used.at_least(copy.used.time, copy.used.cause);
  } else {
    out_.stays[copy.stay].to = copy.used.time;
    if (block(b).bytes > 0)
      spaces_[store.index()].release(out_.stays[copy.stay].address, copy.used.time, tag_of(copy.used.cause));
  }
}

bool Engine::put_sources_home() {
  for (std::uint32_t i = 0; i < p_.blocks.size(); ++i) {
    if (!p_.blocks[i].starts_at_home) continue;
    const auto spot = make_room(BlockId{i}, machine_.home, 0);
    if (!spot) return false;
    add_copy(BlockId{i}, machine_.home, open_stay(BlockId{i}, machine_.home, spot->address, 0), {});
  }
  return true;
}

// The first time at which every channel of the way is free, and who was in it before.
Engine::Fetch Engine::window(BlockId b, const Copy& from, StoreId to, const When& earliest) const {
  const Route& route = machine_.route(from.store, to);
  const Store &source = machine_.stores[from.store.index()], &sink = machine_.stores[to.index()];
  const bool is_home = from.store == machine_.home || to == machine_.home;
  double rate = std::min(source.bytes_per_cycle, sink.bytes_per_cycle);
  for (const ChannelId c : route.channels) rate = std::min(rate, machine_.channels[c.index()].bytes_per_cycle);
  if (is_home) rate *= block(b).efficiency;
  const double duration = std::ceil(static_cast<double>(block(b).bytes) / rate - 1e-9);
  When start = earliest;
  start.at_least(from.available.time, from.available.cause);
  if (duration > 0)
    for (std::size_t agreed = 0, k = 0; agreed < route.channels.size(); k = (k + 1) % route.channels.size()) {
      const ChannelId c = route.channels[k];
      const double found =
          channels_[c.index()].free_from(rate, machine_.channels[c.index()].bytes_per_cycle, duration, start.time);
      agreed = found == start.time ? agreed + 1 : 1;
      if (found == start.time) continue;
      start = {found, {Cause::Kind::Channel, kNever}};
      const std::vector<std::uint32_t>& recent = recent_[c.index()];
      for (std::size_t i = recent.size(); i-- > 0 && start.cause.index == kNever;)
        if (out_.transfers[recent[i]].end == found) start.cause.index = recent[i];
      if (start.cause.index == kNever) start.cause = {};
    }
  return {start.time, start.time + duration, from.store, start.cause};
}

std::uint32_t Engine::move(BlockId b, const Fetch& fetch, std::uint32_t stay, Purpose purpose,
                           std::uint32_t carried_by) {
  const StoreId to = out_.stays[stay].store;
  const auto index = static_cast<std::uint32_t>(out_.transfers.size());
  const bool is_own = carried_by == kNever;
  if (is_own && fetch.end > fetch.start) {
    const Route& route = machine_.route(fetch.from, to);
    const double rate = static_cast<double>(block(b).bytes) / (fetch.end - fetch.start);
    for (const ChannelId c : route.channels) {
      channels_[c.index()].occupy(fetch.start, fetch.end, rate);
      recent_[c.index()].push_back(index);
    }
  }
  out_.transfers.push_back({.block = b,
                            .from = fetch.from,
                            .to = to,
                            .purpose = purpose,
                            .tile = TileId{now_},
                            .from_stay = copy_in(b, fetch.from)->stay,
                            .to_stay = stay,
                            .carried_by = is_own ? index : carried_by,
                            .start = fetch.start,
                            .end = fetch.end,
                            .cause = fetch.cause});
  copy_in(b, fetch.from)->used.at_least(fetch.end, {Cause::Kind::Transfer, index});
  return index;
}

// What is used last is moved away where there is no room; nothing that the tile at hand needs.
std::optional<Space::Spot> Engine::make_room(BlockId b, StoreId store, double earliest) {
  Space& space = spaces_[store.index()];
  if (const auto spot = space.find(block(b).bytes, earliest)) return spot;
  if (store != machine_.home) {
    const auto next_use = [&](std::uint32_t owner) -> std::optional<std::uint32_t> {
      if (std::find(pinned_.begin(), pinned_.end(), BlockId{owner}) != pinned_.end()) return std::nullopt;
      const Copy* copy = copy_in(BlockId{owner}, store);
      return copy == nullptr ? std::nullopt : std::optional(cost_of_losing(BlockId{owner}, *copy));
    };
    bool all = true;
    for (const std::uint32_t victim : space.in_the_way(block(b).bytes, next_use))
      all = all && evict(BlockId{victim}, store, earliest);
    if (!all) return std::nullopt;
    if (const auto spot = space.find(block(b).bytes, earliest)) return spot;
  }
  no_room_ = {.tile = TileId{now_},
              .store = store,
              .block = b,
              .wanted_bytes = block(b).bytes,
              .store_bytes = machine_.stores[store.index()].bytes};
  for (const BlockId other : pinned_)
    if (other != b && copy_in(other, store) != nullptr) {
      no_room_.pinned.push_back(other);
      no_room_.pinned_bytes += block(other).bytes;
    }
  return std::nullopt;
}

// A value that is nowhere else and still wanted is saved first.
bool Engine::evict(BlockId b, StoreId store, double earliest) {
  const bool is_wanted = uses_.next(b) != kNever || block(b).ends_at_home;
  if (is_wanted && state(b).copies.size() == 1 && !send_home(b, store, earliest, Purpose::Spill)) return false;
  drop_copy(b, store);
  return true;
}

// What a tile needs may fit a store and still find no room between its other blocks: then the store is emptied, those
// blocks included, and filled anew from one end. False if it would not fit an empty one.
bool Engine::clear_store(const Tile& tile, StoreId store, double& earliest) {
  std::int64_t wanted = 0;
  for (std::uint32_t i = 0; i < tile.uses; ++i) {
    const Use& use = p_.uses[tile.first_use + i];
    if (use.store == store) wanted += block(use.block).bytes;
  }
  if (store == machine_.home || wanted > machine_.stores[store.index()].bytes) return false;
  for (const std::uint32_t owner : spaces_[store.index()].owners())
    if (!evict(BlockId{owner}, store, earliest)) return false;
  earliest = std::max(earliest, spaces_[store.index()].free_from());
  return true;
}

bool Engine::send_home(BlockId b, StoreId from, double earliest, Purpose purpose) {
  BlockState& s = state(b);
  if (s.home_stay == kNever) {
    const auto spot = make_room(b, machine_.home, earliest);
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
  const std::uint32_t last = state_[b.index()].last_fetch;
  if (last == kNever) return std::nullopt;
  const Transfer& t = out_.transfers[last];
  const Route &theirs = machine_.route(t.from, t.to), &ours = machine_.route(t.from, to);
  const std::vector<Copy>& copies = state_[b.index()].copies;
  const bool is_there = std::any_of(copies.begin(), copies.end(), [&](const Copy& c) { return c.stay == t.from_stay; });
  if (!is_there || t.start < earliest || !ours.exists || ours.channels.empty() || ours.channels != theirs.channels)
    return std::nullopt;
  const double rate = static_cast<double>(block(b).bytes) / std::max(1.0, t.end - t.start);
  if (rate > machine_.stores[to.index()].bytes_per_cycle) return std::nullopt;
  return Fetch{t.start, t.end, t.from, t.cause};
}

// The value in a store, fetched if it is not there.
bool Engine::bring(BlockId b, StoreId store, double earliest, When& ready) {
  if (const Copy* copy = copy_in(b, store)) {
    ready.at_least(copy->available.time, copy->available.cause);
    return true;
  }
  MONET_ASSERT(!state(b).copies.empty(), "a block is written before it is read");
  const std::vector<Copy>& copies = state(b).copies;
  const bool is_near = std::any_of(copies.begin(), copies.end(),
                                   [&](const Copy& copy) { return machine_.route(copy.store, store).exists; });
  if (!is_near && !send_home(b, copies.front().store, earliest, Purpose::Spill)) return false;
  double first = std::numeric_limits<double>::infinity();
  for (const Copy& copy : state(b).copies) first = std::min(first, copy.available.time);
  const auto spot = make_room(b, store, std::max(earliest, first));
  if (!spot) return false;
  std::optional<Fetch> best;
  std::uint32_t carried_by = kNever;
  if (const auto other = shared(b, store, spot->time)) {
    best = other;
    carried_by = out_.transfers[state(b).last_fetch].carried_by;
  }
  for (const Copy& copy : state(b).copies) {
    if (!machine_.route(copy.store, store).exists) continue;
    const Fetch fetch = window(b, copy, store, {spot->time, cause_of(spot->freed_by)});
    const bool is_nearer = best && fetch.end == best->end && carried_by == kNever && best->from == machine_.home;
    if (best && fetch.end >= best->end && !is_nearer) continue;
    best = fetch;
    carried_by = kNever;
  }
  MONET_ASSERT(best.has_value(), "every store can be reached from home");
  const std::uint32_t stay = open_stay(b, store, spot->address, best->start);
  const std::uint32_t transfer = move(b, *best, stay, Purpose::Fetch, carried_by);
  if (carried_by == kNever) state(b).last_fetch = transfer;
  const When arrived{best->end, {Cause::Kind::Transfer, transfer}};
  add_copy(b, store, stay, arrived);
  ready.at_least(arrived.time, arrived.cause);
  return true;
}

// A place for what the tile writes: the one its old value has here, or a new one.
bool Engine::make_output(BlockId b, StoreId store, double earliest, When& ready, std::vector<std::uint32_t>& opened) {
  if (const Copy* copy = copy_in(b, store)) {
    ready.at_least(copy->used.time, copy->used.cause);
    return true;
  }
  const auto spot = make_room(b, store, std::max(earliest, ready.time));
  if (!spot) return false;
  ready.at_least(spot->time, cause_of(spot->freed_by));
  opened.push_back(open_stay(b, store, spot->address, ready.time));
  return true;
}

// Operands that flow past their store: the value must be at home, and the channels free all the time.
bool Engine::start_flows(const Tile& tile, double earliest, When& ready, double& cycles) {
  struct Demand {
    ChannelId channel{};
    double bytes = 0;
  };
  std::vector<Demand> demands;
  for (std::uint32_t i = 0; i < tile.flows; ++i) {
    const Flow& flow = p_.flows[tile.first_flow + i];
    BlockState& s = state(flow.block);
    if (flow.access != Access::Write && copy_in(flow.block, machine_.home) == nullptr) {
      MONET_ASSERT(!s.copies.empty(), "a block is written before it is read");
      if (!send_home(flow.block, s.copies.front().store, earliest, Purpose::Spill)) return false;
    }
    if (const Copy* copy = copy_in(flow.block, machine_.home))
      ready.at_least(
          flow.access == Access::Read ? copy->available.time : std::max(copy->available.time, copy->used.time),
          copy->available.cause);
    if (flow.access != Access::Read) ready.at_least(s.home_used.time, s.home_used.cause);
    if (s.home_stay == kNever) {
      const auto spot = make_room(flow.block, machine_.home, ready.time);
      if (!spot) return false;
      ready.at_least(spot->time, cause_of(spot->freed_by));
      s.home_stay = open_stay(flow.block, machine_.home, spot->address, spot->time);
    }
    const bool goes_out = flow.access == Access::Write;
    const Route& route =
        goes_out ? machine_.route(flow.store, machine_.home) : machine_.route(machine_.home, flow.store);
    const double bytes = flow.bytes / block(flow.block).efficiency;
    cycles = std::max(cycles, std::ceil(bytes / machine_.stores[machine_.home.index()].bytes_per_cycle - 1e-9));
    for (const ChannelId c : route.channels) {
      const auto at = std::find_if(demands.begin(), demands.end(), [&](const Demand& d) { return d.channel == c; });
      if (at == demands.end())
        demands.push_back({c, bytes});
      else
        at->bytes += bytes;
    }
  }
  for (const Demand& d : demands)
    cycles = std::max(cycles, std::ceil(d.bytes / machine_.channels[d.channel.index()].bytes_per_cycle - 1e-9));
  if (cycles <= 0) return true;
  for (std::size_t agreed = 0, k = 0; agreed < demands.size(); k = (k + 1) % demands.size()) {
    const ChannelId c = demands[k].channel;
    const double found = channels_[c.index()].free_from(
        demands[k].bytes / cycles, machine_.channels[c.index()].bytes_per_cycle, cycles, ready.time);
    agreed = found == ready.time ? agreed + 1 : 1;
    ready.at_least(found, {Cause::Kind::Channel, kNever});
  }
  if (ready.cause.kind == Cause::Kind::Channel) ready.cause = {};
  for (const Demand& d : demands)
    channels_[d.channel.index()].occupy(ready.time, ready.time + cycles, d.bytes / cycles);
  return true;
}

// All that a tile needs, in place.
bool Engine::gather(const Tile& tile, double earliest, When& ready, std::vector<std::uint32_t>& opened) {
  for (std::uint32_t i = 0; i < tile.uses; ++i) {
    const Use& use = p_.uses[tile.first_use + i];
    if (use.access != Access::Write && !bring(use.block, use.store, earliest, ready)) return false;
  }
  for (std::uint32_t i = 0; i < tile.uses; ++i) {
    const Use& use = p_.uses[tile.first_use + i];
    if (use.access != Access::Read && !make_output(use.block, use.store, earliest, ready, opened)) return false;
  }
  return true;
}

bool Engine::run_tile(std::uint32_t t) {
  now_ = t;
  const Tile& tile = p_.tiles[t];
  const std::size_t unit = tile.unit.index();
  pinned_.clear();
  for (std::uint32_t i = 0; i < tile.uses; ++i) pinned_.push_back(p_.uses[tile.first_use + i].block);
  for (std::uint32_t i = 0; i < tile.flows; ++i) pinned_.push_back(p_.flows[tile.first_flow + i].block);
  double earliest = std::max(unit_began_[unit], floor_);
  When ready = unit_free_[unit];
  std::vector<std::uint32_t> opened;
  for (std::size_t tries = 0; !gather(tile, earliest, ready, opened); ++tries) {
    // Places made for outputs are given back: nothing was put there.
    for (const std::uint32_t stay : opened) {
      const Stay& s = out_.stays[stay];
      if (block(s.block).bytes > 0) spaces_[s.store.index()].release(s.address, s.from, 0);
    }
    if (tries == machine_.stores.size() || !clear_store(tile, no_room_.store, earliest)) return false;
    opened.clear();
    ready = unit_free_[unit];
  }
  double cycles = tile.cycles;
  if (tile.flows > 0 && !start_flows(tile, earliest, ready, cycles)) return false;
  const double start = ready.time, end = start + cycles;
  for (const std::uint32_t stay : opened) out_.stays[stay].from = start;
  out_.tiles.push_back({start, end, ready.cause});
  unit_free_[unit] = {end, {Cause::Kind::Unit, t}};
  unit_began_[unit] = start;
  chunk_least_ = t % kChunk == 0 ? start : std::min(chunk_least_, start);

  const Cause done{Cause::Kind::Tile, t};
  std::size_t next_opened = 0;
  const auto write = [&](BlockId b, StoreId store, std::uint32_t new_stay) {
    std::vector<StoreId> others;
    for (const Copy& copy : state(b).copies)
      if (copy.store != store) others.push_back(copy.store);
    for (const StoreId other : others) drop_copy(b, other);
    state(b).last_fetch = kNever;
    if (Copy* copy = copy_in(b, store))
      copy->available = copy->used = {end, done};
    else
      add_copy(b, store, new_stay, {end, done});
  };
  for (std::uint32_t i = 0; i < tile.uses; ++i) {
    const Use& use = p_.uses[tile.first_use + i];
    uses_.use(use.block);
    if (use.access == Access::Read)
      copy_in(use.block, use.store)->used.at_least(end, done);
    else
      write(use.block, use.store, copy_in(use.block, use.store) != nullptr ? kNever : opened[next_opened++]);
    out_.use_stays.push_back(copy_in(use.block, use.store)->stay);
  }
  for (std::uint32_t i = 0; i < tile.flows; ++i) {
    const Flow& flow = p_.flows[tile.first_flow + i];
    uses_.use(flow.block);
    if (flow.access == Access::Read)
      copy_in(flow.block, machine_.home)->used.at_least(end, done);
    else
      write(flow.block, machine_.home, state(flow.block).home_stay);
    out_.flow_stays.push_back(state(flow.block).home_stay);
  }
  for (std::size_t i = 0; i < pinned_.size(); ++i)
    if (!settle(pinned_[i], end)) return false;
  return true;
}

// After a use: last values go home, copies without a future leave.
bool Engine::settle(BlockId b, double now) {
  BlockState& s = state(b);
  const bool is_home = copy_in(b, machine_.home) != nullptr;
  if (block(b).ends_at_home && uses_.last_write(b) == now_ && !is_home &&
      !send_home(b, s.copies.front().store, now, Purpose::Return))
    return false;
  const bool is_dead = uses_.next(b) == kNever;
  std::vector<StoreId> leaving;
  for (const Copy& copy : s.copies) {
    if (copy.store == machine_.home) continue;
    const bool is_used = uses_.next_in(b, copy.store) != kNever;
    if (is_dead || (!is_used && s.copies.size() - leaving.size() > 1)) leaving.push_back(copy.store);
  }
  for (const StoreId store : leaving) drop_copy(b, store);
  if (is_dead && s.home_stay != kNever && !block(b).ends_at_home && !block(b).starts_at_home) {
    When last = s.home_used;
    if (const Copy* home = copy_in(b, machine_.home)) last.at_least(home->used.time, home->used.cause);
    Stay& stay = out_.stays[s.home_stay];
    stay.to = std::max(last.time, stay.from);
    if (block(b).bytes > 0) spaces_[machine_.home.index()].release(stay.address, stay.to, tag_of(last.cause));
    std::erase_if(s.copies, [&](const Copy& c) { return c.store == machine_.home; });
    s.home_stay = kNever;
  }
  return true;
}

void Engine::forget_past() {
  floor_ = std::max(floor_, chunk_least_);
  for (Space& space : spaces_) space.forget_before(floor_);
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    channels_[c].forget_before(floor_);
    std::erase_if(recent_[c], [&](std::uint32_t t) { return out_.transfers[t].end < floor_; });
  }
}

Scheduled Engine::run() {
  if (!put_sources_home()) return no_room_;
  for (std::uint32_t t = 0; t < p_.tiles.size(); ++t) {
    if (!run_tile(t)) return no_room_;
    if (t % kChunk == kChunk - 1) forget_past();
  }
  for (const TileTime& tile : out_.tiles) out_.cycles = std::max(out_.cycles, tile.end);
  for (const Transfer& transfer : out_.transfers) out_.cycles = std::max(out_.cycles, transfer.end);
  // What is still there at the end, the home's blocks above all.
  for (BlockState& s : state_) {
    for (const Copy& copy : s.copies) out_.stays[copy.stay].to = out_.cycles;
    if (s.home_stay != kNever) out_.stays[s.home_stay].to = out_.cycles;
  }
  return std::move(out_);
}

}  // namespace

Scheduled schedule(const Problem& problem) { return Engine(problem).run(); }

}  // namespace monet::schedule
