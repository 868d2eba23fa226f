#pragma once
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "monet/schedule/channel_time.h"
#include "monet/schedule/engine_leavers.h"
#include "monet/schedule/engine_state.h"
#include "monet/schedule/port_time.h"
#include "monet/schedule/space.h"
#include "monet/schedule/timeline.h"
#include "monet/schedule/use_index.h"

namespace monet::schedule {

// One run of the scheduler. Tiles are decided in engine.cpp; places and transfers in engine_moves.cpp.
class Engine {
 public:
  explicit Engine(const Problem& p);
  Scheduled run();

 private:
  struct Fetch {
    double start = 0, passed = 0, end = 0;  // `passed`: the channels
    StoreId from{};
    Cause cause{};
  };
  struct Demand {
    ChannelId channel{};
    double bytes = 0;
  };

  const Block& block(BlockId b) const { return p_.blocks[b.index()]; }
  BlockState& state(BlockId b) { return state_[b.index()]; }
  const BlockState& state(BlockId b) const { return state_[b.index()]; }
  Copy* copy_in(BlockId b, StoreId store);
  double port_cycles(BlockId b, PortId port) const {
    return std::ceil(static_cast<double>(block(b).bytes) / machine_.ports[port.index()].bytes_per_cycle - 1e-9);
  }
  double cycles_at(double rate, BlockId b) const {
    return std::ceil(static_cast<double>(block(b).bytes) / rate - 1e-9);
  }
  // What a block that passes at a rate takes of a channel.
  double taken_of(ChannelId c, BlockId b, double rate) const {
    return machine_.channels[c.index()].is_home_port ? rate / block(b).efficiency : rate;
  }
  bool stays(BlockId b) const { return state(b).needed_by == now_; }

  // Tiles.
  bool put_sources_home();
  bool run_tile(std::uint32_t tile);
  bool gather(const Tile& tile, double earliest, When& ready);
  bool clear_store(const Tile& tile, StoreId store, double& earliest);
  bool make_output(BlockId b, StoreId store, double earliest, When& ready);
  bool find_flows(const Tile& tile, double earliest, When& ready, double& cycles);
  void start(const Tile& tile, When& ready, double& cycles);
  void note_writing(BlockId b, StoreId store, std::uint32_t new_stay, const When& done);
  void note_uses(const Tile& tile, const When& done);
  bool settle(BlockId b, double now);
  bool leave(BlockId b, double now);
  void forget_past();

  // Places and transfers.
  double rate_of(BlockId b, StoreId from, StoreId to) const;
  Fetch window(BlockId b, const Copy& from, StoreId to, const When& earliest, double latest = kForever) const;
  double through_ports(BlockId b, StoreId from, StoreId to, double start, double passed) const;
  std::optional<Fetch> shared(BlockId b, StoreId to, double earliest) const;
  bool bring(BlockId b, StoreId store, double earliest, When& ready);
  std::uint32_t move(BlockId b, const Fetch& fetch, std::uint32_t stay, Purpose purpose, std::uint32_t carried_by);
  std::optional<Space::Spot> make_room(BlockId b, StoreId store, double earliest, double saved_from);
  std::vector<std::uint32_t> in_the_way(BlockId b, StoreId store);
  double time_to_move(const std::vector<std::uint32_t>& victims) const;
  void say_no_room(BlockId b, StoreId store);
  bool next_to_leave(StoreId store, std::vector<std::uint32_t>& pieces);
  bool evict(BlockId b, StoreId store, double earliest);
  bool send_home(BlockId b, StoreId from, double earliest, Purpose purpose);
  std::uint32_t open_stay(BlockId b, StoreId store, std::int64_t address, double from);
  void free_place(std::uint32_t stay, double time, std::uint32_t by);
  void add_copy(BlockId b, StoreId store, std::uint32_t stay, const When& available);
  void drop_copy(BlockId b, std::uint32_t copy);
  std::uint32_t cost_of_losing(const BlockState& s, const Copy& copy) const;
  void may_leave(BlockId b, std::uint32_t copy);

  const Problem& p_;
  const Machine& machine_;
  UseIndex uses_;
  std::vector<BlockState> state_;
  Copies copies_;
  std::vector<Space> spaces_;
  std::vector<std::uint32_t> pieces_;  // by stay: of its space
  std::vector<Leavers> leavers_;       // by store
  std::vector<ChannelTime> channels_;
  std::vector<PortTime> ports_;
  std::vector<double> route_rates_,
      home_rates_;  // bytes a cycle, as Machine::routes: but for the home, and of the home
  std::vector<When> unit_free_;
  std::vector<std::deque<double>> unit_began_;     // its last tiles, as many as are fetched for ahead
  std::vector<std::uint32_t> unit_last_;           // tile
  std::vector<std::vector<StoreId>> unit_stores_;  // that its tiles use
  std::uint32_t now_ = 0;
  double idle_since_ = 0;              // what was used after it does not leave
  std::vector<BlockId> needed_;        // by the tile at hand
  std::vector<std::uint32_t> opened_;  // stays made for what it writes
  std::vector<Demand> demands_;        // of its flows
  Timeline out_;
  NoRoom no_room_;
};

// A cause as one number, 0 for nothing: what Space and ChannelTime keep.
std::uint32_t tag_of(const Cause& cause);
Cause cause_of(std::uint32_t tag);
// Why a port had no cycles: a tile or a transfer took them.
Cause cause_at_port(std::uint32_t tag, PortId port);
// Why a channel was not free: a transfer over it, or a tile past which something flows.
Cause cause_on_channel(std::uint32_t tag);

}  // namespace monet::schedule
