// Tile by tile (rules 5 and 6 of docs/schedule.md).
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "monet/base/assert.h"
#include "monet/schedule/engine_work.h"

namespace monet::schedule {
namespace {

constexpr std::uint32_t kTidy = 64;  // tiles after which times long past are forgotten

}  // namespace

Engine::Engine(const Problem& p)
    : p_(p),
      machine_(p.machine),
      uses_(p),
      state_(p.blocks.size()),
      leavers_(machine_.stores.size()),
      channels_(machine_.channels.size()),
      ports_(machine_.ports.size()),
      route_rates_(machine_.routes.size(), kForever),
      home_rates_(machine_.routes.size(), kForever),
      unit_free_(machine_.units.size()),
      unit_began_(machine_.units.size(), std::deque<double>(static_cast<std::size_t>(p.prefetch), 0.0)),
      unit_last_(machine_.units.size(), 0),
      unit_stores_(machine_.units.size()) {
  const std::size_t stores = machine_.stores.size();
  for (std::uint32_t s = 0; s < stores; ++s)
    spaces_.emplace_back(machine_.stores[s].bytes, StoreId{s} != machine_.home);
  for (std::size_t i = 0; i < route_rates_.size(); ++i) {
    for (const std::size_t s : {i / stores, i % stores}) {
      double& rate = s == machine_.home.index() ? home_rates_[i] : route_rates_[i];
      rate = std::min(rate, machine_.stores[s].bytes_per_cycle);
    }
    for (const ChannelId c : machine_.routes[i].channels) {
      double& rate = machine_.channels[c.index()].is_home_port ? home_rates_[i] : route_rates_[i];
      rate = std::min(rate, machine_.channels[c.index()].bytes_per_cycle);
    }
  }
  for (std::uint32_t b = 0; b < p.blocks.size(); ++b) state_[b].next_use = uses_.first(BlockId{b});
  std::vector<bool> is_known(machine_.units.size() * stores, false);
  for (std::uint32_t t = 0; t < p.tiles.size(); ++t) {
    const Tile& tile = p.tiles[t];
    const std::size_t unit = tile.unit.index();
    unit_last_[unit] = t;
    for (std::uint32_t i = tile.first_use; i < tile.first_use + tile.uses; ++i) {
      const StoreId store = p.uses[i].store;
      if (is_known[unit * stores + store.index()]) continue;
      is_known[unit * stores + store.index()] = true;
      unit_stores_[unit].push_back(store);
    }
  }
  out_.tiles.reserve(p.tiles.size());
  out_.use_stays.reserve(p.uses.size());
  out_.flow_stays.reserve(p.flows.size());
  out_.transfers.reserve(p.uses.size());
  out_.stays.reserve(p.uses.size());
  pieces_.reserve(p.uses.size());
}

bool Engine::put_sources_home() {
  for (std::uint32_t i = 0; i < p_.blocks.size(); ++i) {
    if (!p_.blocks[i].starts_at_home) continue;
    const auto spot = make_room(BlockId{i}, machine_.home, 0, 0);
    if (!spot) return false;
    add_copy(BlockId{i}, machine_.home, open_stay(BlockId{i}, machine_.home, spot->address, 0), {});
  }
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

// A place for what the tile writes: the one its old value has here, or a new one.
bool Engine::make_output(BlockId b, StoreId store, double earliest, When& ready) {
  if (const Copy* copy = copy_in(b, store)) {
    ready.at_least(copy->used.time, copy->used.cause);
    return true;
  }
  const double wanted = std::max(earliest, ready.time);
  const auto spot = make_room(b, store, wanted, earliest);
  if (!spot) return false;
  ready.at_least(spot->time, cause_of(spot->freed_by));
  opened_.push_back(open_stay(b, store, spot->address, ready.time));
  return true;
}

// Operands that flow past their store: the value must be at home.
bool Engine::find_flows(const Tile& tile, double earliest, When& ready, double& cycles) {
  for (std::uint32_t i = 0; i < tile.flows; ++i) {
    const Flow& flow = p_.flows[tile.first_flow + i];
    BlockState& s = state(flow.block);
    if (flow.access != Access::Write && copy_in(flow.block, machine_.home) == nullptr) {
      MONET_ASSERT(s.copies > 0, "a block is written before it is read");
      if (!send_home(flow.block, copies_[s.first_copy].store, earliest, Purpose::Spill)) return false;
    }
    if (const Copy* copy = copy_in(flow.block, machine_.home))
      ready.at_least(
          flow.access == Access::Read ? copy->available.time : std::max(copy->available.time, copy->used.time),
          copy->available.cause);
    if (flow.access != Access::Read) ready.at_least(s.home_used.time, s.home_used.cause);
    if (s.home_stay == kNever) {
      const auto spot = make_room(flow.block, machine_.home, ready.time, ready.time);
      if (!spot) return false;
      ready.at_least(spot->time, cause_of(spot->freed_by));
      s.home_stay = open_stay(flow.block, machine_.home, spot->address, spot->time);
    }
    for (const bool goes_out : {false, true}) {
      const double passes = goes_out ? flow.out : flow.in;
      if (!(passes > 0)) continue;
      const double home = machine_.stores[machine_.home.index()].bytes_per_cycle * block(flow.block).efficiency;
      cycles = std::max(cycles, std::ceil(passes / home - 1e-9));
      for (const ChannelId c :
           (goes_out ? machine_.route(flow.store, machine_.home) : machine_.route(machine_.home, flow.store))
               .channels) {
        const double bytes = taken_of(c, flow.block, passes);
        const auto at = std::find_if(demands_.begin(), demands_.end(), [&](const Demand& d) { return d.channel == c; });
        if (at == demands_.end())
          demands_.push_back({c, bytes});
        else
          at->bytes += bytes;
      }
    }
  }
  for (const Demand& d : demands_)
    cycles = std::max(cycles, std::ceil(d.bytes / machine_.channels[d.channel.index()].bytes_per_cycle - 1e-9));
  return true;
}

// When the channels of its flows are free all the time, and its ports for as many cycles as it needs.
void Engine::start(const Tile& tile, When& ready, double& cycles) {
  const std::span ports(p_.demands.data() + tile.first_demand, tile.demands);
  for (const PortDemand& d : ports) cycles = std::max(cycles, d.cycles);
  if (cycles <= 0) return;
  const std::size_t all = demands_.size() + ports.size();
  for (std::size_t agreed = 0, k = 0; agreed < all; k = k + 1 < all ? k + 1 : 0) {
    When found;
    if (k < demands_.size()) {
      const ChannelId c = demands_[k].channel;
      const ChannelTime::Start free = channels_[c.index()].free_from(
          demands_[k].bytes / cycles, machine_.channels[c.index()].bytes_per_cycle, cycles, ready.time);
      found = {free.time, cause_on_channel(free.freed_by)};
    } else {
      const PortDemand& d = ports[k - demands_.size()];
      const PortTime::Start free = ports_[d.port.index()].free_from(d.cycles, cycles, ready.time);
      found = {free.time, cause_at_port(free.freed_by, d.port)};
    }
    agreed = found.time == ready.time ? agreed + 1 : 1;
    ready.at_least(found.time, found.cause);
  }
  const std::uint32_t tag = tag_of({Cause::Kind::Tile, now_});
  for (const Demand& d : demands_)
    channels_[d.channel.index()].occupy(ready.time, ready.time + cycles, d.bytes / cycles, tag);
  for (const PortDemand& d : ports) ports_[d.port.index()].take(ready.time, d.cycles, tag);
}

// All that a tile needs, in place.
bool Engine::gather(const Tile& tile, double earliest, When& ready) {
  for (std::uint32_t i = 0; i < tile.uses; ++i) {
    const Use& use = p_.uses[tile.first_use + i];
    if (use.access != Access::Write && !bring(use.block, use.store, earliest, ready)) return false;
  }
  for (std::uint32_t i = 0; i < tile.uses; ++i) {
    const Use& use = p_.uses[tile.first_use + i];
    if (use.access != Access::Read && !make_output(use.block, use.store, earliest, ready)) return false;
  }
  return true;
}

// A new value: the old ones elsewhere are worth nothing.
void Engine::note_writing(BlockId b, StoreId store, std::uint32_t new_stay, const When& done) {
  BlockState& s = state(b);
  for (std::uint32_t c = s.first_copy; c != kNever;) {
    const std::uint32_t next = copies_.next(c);
    if (copies_.store(c) != store) drop_copy(b, c);
    c = next;
  }
  s.last_fetch = kNever;
  if (Copy* copy = copy_in(b, store))
    copy->available = copy->used = done;
  else
    add_copy(b, store, new_stay, done);
}

void Engine::note_uses(const Tile& tile, const When& done) {
  std::size_t next_opened = 0;
  for (std::uint32_t i = tile.first_use; i < tile.first_use + tile.uses; ++i) {
    const Use& use = p_.uses[i];
    state(use.block).next_use = uses_.after_use(i);
    if (use.access != Access::Read)
      note_writing(use.block, use.store, copy_in(use.block, use.store) != nullptr ? kNever : opened_[next_opened++],
                   done);
    Copy& copy = *copy_in(use.block, use.store);
    if (use.access == Access::Read) copy.used.at_least(done.time, done.cause);
    copy.next_use = uses_.after_use_here(i);
    out_.use_stays.push_back(copy.stay);
  }
  for (std::uint32_t i = tile.first_flow; i < tile.first_flow + tile.flows; ++i) {
    const Flow& flow = p_.flows[i];
    state(flow.block).next_use = uses_.after_flow(i);
    if (flow.access == Access::Read)
      copy_in(flow.block, machine_.home)->used.at_least(done.time, done.cause);
    else
      note_writing(flow.block, machine_.home, state(flow.block).home_stay, done);
    out_.flow_stays.push_back(state(flow.block).home_stay);
  }
}

bool Engine::run_tile(std::uint32_t t) {
  now_ = t;
  const Tile& tile = p_.tiles[t];
  const std::size_t unit = tile.unit.index();
  needed_.clear();
  for (std::uint32_t i = 0; i < tile.uses; ++i) needed_.push_back(p_.uses[tile.first_use + i].block);
  for (std::uint32_t i = 0; i < tile.flows; ++i) needed_.push_back(p_.flows[tile.first_flow + i].block);
  for (const BlockId b : needed_) state(b).needed_by = t;
  double earliest = unit_began_[unit].front();
  When ready = unit_free_[unit];
  opened_.clear();
  for (std::size_t tries = 0; !gather(tile, earliest, ready); ++tries) {
    // Places made for outputs are given back: nothing was put there.
    for (const std::uint32_t stay : opened_) free_place(stay, out_.stays[stay].from, 0);
    if (tries == machine_.stores.size() || !clear_store(tile, no_room_.store, earliest)) return false;
    opened_.clear();
    ready = unit_free_[unit];
  }
  double cycles = tile.cycles;
  demands_.clear();
  if (tile.flows > 0 && !find_flows(tile, earliest, ready, cycles)) return false;
  if (tile.flows + tile.demands > 0) start(tile, ready, cycles);
  const double began = ready.time, end = began + cycles;
  for (const std::uint32_t stay : opened_) out_.stays[stay].from = began;
  out_.tiles.push_back({began, end, ready.cause});
  unit_free_[unit] = {end, {Cause::Kind::Unit, t}};
  unit_began_[unit].pop_front();
  unit_began_[unit].push_back(began);
  note_uses(tile, {end, {Cause::Kind::Tile, t}});
  for (std::size_t i = 0; i < needed_.size(); ++i)
    if (!settle(needed_[i], end)) return false;
  for (std::uint32_t i = tile.first_use; i < tile.first_use + tile.uses; ++i)
    if (p_.uses[i].leaves && !leave(p_.uses[i].block, end)) return false;
  return true;
}

bool Engine::leave(BlockId b, double now) {
  for (std::uint32_t c = state(b).first_copy; c != kNever;) {
    const StoreId store = copies_.store(c);
    c = copies_.next(c);
    if (store != machine_.home && !evict(b, store, now)) return false;
  }
  return true;
}

// After a use: last values go home, copies without a future leave.
bool Engine::settle(BlockId b, double now) {
  BlockState& s = state(b);
  if (block(b).ends_at_home && uses_.last_write(b) == now_ && copy_in(b, machine_.home) == nullptr &&
      !send_home(b, copies_[s.first_copy].store, now, Purpose::Return))
    return false;
  const bool is_dead = s.next_use == kNever;
  for (std::uint32_t c = s.first_copy; c != kNever;) {
    const std::uint32_t next = copies_.next(c);
    if (copies_[c].store != machine_.home && (is_dead || (copies_[c].next_use == kNever && s.copies > 1)))
      drop_copy(b, c);
    c = next;
  }
  for (std::uint32_t c = s.first_copy; c != kNever; c = copies_.next(c))
    if (cost_of_losing(s, copies_[c]) != copies_[c].said) may_leave(b, c);
  if (is_dead && s.home_stay != kNever && !block(b).ends_at_home && !block(b).starts_at_home) {
    When last = s.home_used;
    const std::uint32_t home = copies_.find(s, machine_.home);
    if (home != kNever) last.at_least(copies_[home].used.time, copies_[home].used.cause);
    Stay& stay = out_.stays[s.home_stay];
    stay.to = std::max(last.time, stay.from);
    free_place(s.home_stay, stay.to, tag_of(last.cause));
    if (home != kNever) copies_.remove(s, home);
    s.home_stay = kNever;
  }
  return true;
}

// No unit that has tiles left asks for a time before it began the first of its last ones; and for a place in none but
// the stores of its tiles and the home.
void Engine::forget_past() {
  double horizon = std::numeric_limits<double>::infinity();
  std::vector<double> of_store(spaces_.size(), horizon);
  for (std::size_t u = 0; u < unit_began_.size(); ++u) {
    if (unit_last_[u] <= now_) continue;
    horizon = std::min(horizon, unit_began_[u].front());
    for (const StoreId s : unit_stores_[u]) of_store[s.index()] = std::min(of_store[s.index()], unit_began_[u].front());
  }
  of_store[machine_.home.index()] = horizon;
  for (std::size_t s = 0; s < spaces_.size(); ++s) spaces_[s].forget_before(of_store[s]);
  for (ChannelTime& channel : channels_) channel.forget_before(horizon);
  for (PortTime& port : ports_) port.forget_before(horizon);
}

Scheduled Engine::run() {
  if (!put_sources_home()) return no_room_;
  for (std::uint32_t t = 0; t < p_.tiles.size(); ++t) {
    if (!run_tile(t)) return no_room_;
    if (t % kTidy == kTidy - 1) forget_past();
  }
  for (const TileTime& tile : out_.tiles) out_.cycles = std::max(out_.cycles, tile.end);
  for (const Transfer& transfer : out_.transfers) out_.cycles = std::max(out_.cycles, transfer.end);
  // What is still there at the end, the home's blocks above all.
  for (const BlockState& s : state_) {
    for (std::uint32_t c = s.first_copy; c != kNever; c = copies_.next(c)) out_.stays[copies_[c].stay].to = out_.cycles;
    if (s.home_stay != kNever) out_.stays[s.home_stay].to = out_.cycles;
  }
  return std::move(out_);
}

Scheduled schedule(const Problem& problem) { return Engine(problem).run(); }

}  // namespace monet::schedule
