// Does every schedule keep its promises, whatever the machine and the tiles? MONET_SCHEDULES says how many are drawn.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "monet/base/rng.h"
#include "monet/schedule/timeline.h"
#include "support/timeline_check.h"
#include "synthetic.h"

namespace monet::test {
namespace {

using namespace schedule;

std::uint64_t count() {
  const char* given = std::getenv("MONET_SCHEDULES");
  return given == nullptr ? 300 : std::strtoull(given, nullptr, 10);
}

class ScheduleDraw {
 public:
  explicit ScheduleDraw(std::uint64_t number) : number_(number) {}
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_bits(11, number_, drawn_++) % n); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t number_, drawn_ = 0;
};

// Cores with one or two stores each, all on one bus or each with links of its own, some sharing a store.
Problem random_problem(std::uint64_t number) {
  ScheduleDraw draw(number);
  Problem p;
  const std::uint32_t cores = 1 + draw.below(4);
  const bool bus = draw.one_in(2);
  Machine& m = p.machine;
  std::vector<std::vector<StoreId>> stores(cores);
  m.stores.push_back({"home", 100'000, 64});
  for (std::uint32_t c = 0; c < cores; ++c) {
    m.units.push_back({fmt::format("unit {}", c)});
    if (draw.one_in(3)) m.units.push_back({fmt::format("unit {} b", c)});
    const std::uint32_t n = 1 + draw.below(2);
    if (c > 0 && draw.one_in(4)) stores[c] = stores[c - 1];
    for (std::uint32_t i = 0; stores[c].size() < n && i < n; ++i) {
      stores[c].push_back(StoreId{static_cast<std::uint32_t>(m.stores.size())});
      m.stores.push_back(
          {fmt::format("store {} {}", c, i), 60 + draw.below(200), static_cast<double>(1 + draw.below(16))});
    }
  }
  const auto n = m.stores.size();
  m.routes.resize(n * n);
  if (bus) m.channels.push_back({"bus", static_cast<double>(1 + draw.below(16))});
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) {
      if (a == b) continue;
      Route& route = m.routes[a * n + b];
      route.exists = a == 0 || b == 0 || !draw.one_in(4);
      if (bus) {
        route.channels = {ChannelId{0}};
      } else {
        route.channels = {ChannelId{static_cast<std::uint32_t>(m.channels.size())}};
        m.channels.push_back({"link", static_cast<double>(1 + draw.below(16))});
        m.channels.back().is_home_port = (a == 0 || b == 0) && draw.one_in(2);
      }
    }
  // Some stores have a port for all, some one each way; who fills them is not always who reads them.
  std::vector<std::vector<PortId>> ports(n);
  for (std::uint32_t s = 1; s < n; ++s)
    for (std::uint32_t i = draw.below(3); i > 0; --i) {
      ports[s].push_back(PortId{static_cast<std::uint32_t>(m.ports.size())});
      m.ports.push_back({fmt::format("port {} {}", s, i), StoreId{s}, static_cast<double>(1 + draw.below(16))});
      (draw.one_in(2) ? m.stores[s].fill : m.stores[s].drain) = ports[s].back();
      if (draw.one_in(2)) m.stores[s].fill = m.stores[s].drain = ports[s].back();
    }
  std::vector<std::vector<std::uint32_t>> units_of(cores);
  for (std::uint32_t u = 0, c = 0; u < m.units.size(); ++u) {
    while (m.units[u].name.substr(0, 6) != fmt::format("unit {}", c)) ++c;
    units_of[c].push_back(u);
  }
  const std::uint32_t blocks = 5 + draw.below(40), tiles = 5 + draw.below(120);
  std::vector<bool> has_value;
  for (std::uint32_t b = 0; b < blocks; ++b) {
    p.blocks.push_back({.bytes = 1 + draw.below(30),
                        .efficiency = draw.one_in(5) ? 0.5 : 1.0,
                        .starts_at_home = draw.one_in(3),
                        .ends_at_home = draw.one_in(3)});
    has_value.push_back(p.blocks.back().starts_at_home);
  }
  for (std::uint32_t t = 0; t < tiles; ++t) {
    const std::uint32_t c = draw.below(cores);
    Tile tile{.unit = UnitId{units_of[c][draw.below(units_of[c].size())]},
              .cycles = static_cast<double>(1 + draw.below(20)),
              .first_use = static_cast<std::uint32_t>(p.uses.size()),
              .first_flow = static_cast<std::uint32_t>(p.flows.size()),
              .first_demand = static_cast<std::uint32_t>(p.demands.size())};
    for (const StoreId s : stores[c])
      for (const PortId port : ports[s.index()])
        if (!draw.one_in(3)) p.demands.push_back({port, std::min(tile.cycles, static_cast<double>(draw.below(20)))});
    tile.demands = static_cast<std::uint32_t>(p.demands.size()) - tile.first_demand;
    std::vector<bool> taken(blocks, false);
    const std::uint32_t wanted = 1 + draw.below(4);
    bool writes = false;
    for (std::uint32_t i = 0; i < wanted; ++i) {
      const std::uint32_t b = draw.below(blocks);
      if (taken[b]) continue;
      taken[b] = true;
      const StoreId store = stores[c][draw.below(stores[c].size())];
      Access access = !has_value[b]    ? Access::Write
                      : draw.one_in(3) ? Access::Update
                      : draw.one_in(5) ? Access::Write
                                       : Access::Read;
      writes = writes || access != Access::Read;
      has_value[b] = true;
      const auto bytes = static_cast<double>(p.blocks[b].bytes);
      if (draw.one_in(8))
        p.flows.push_back(
            {BlockId{b}, access, store, access == Access::Write ? 0 : bytes, access == Access::Read ? 0 : bytes});
      else
        p.uses.push_back({BlockId{b}, store, access});
    }
    tile.uses = static_cast<std::uint32_t>(p.uses.size()) - tile.first_use;
    tile.flows = static_cast<std::uint32_t>(p.flows.size()) - tile.first_flow;
    p.tiles.push_back(tile);
  }
  // What never gets a value cannot be anywhere.
  for (std::uint32_t b = 0; b < blocks; ++b) p.blocks[b].ends_at_home = p.blocks[b].ends_at_home && has_value[b];
  return p;
}

TEST(Schedule, EveryValueIsWhereAndWhenItIsNeeded) {
  std::size_t spills = 0, shared = 0, feasible = 0, at_ports = 0, late = 0;
  for (std::uint64_t i = 0; i < count(); ++i) {
    const Problem p = random_problem(i);
    const Scheduled result = schedule::schedule(p);
    // 4 blocks of 30 bytes may be more than a store of 60 holds, and only then is there no schedule.
    if (const NoRoom* none = std::get_if<NoRoom>(&result)) {
      std::int64_t wanted = 0;
      const Tile& tile = p.tiles[none->tile.index()];
      for (std::uint32_t k = 0; k < tile.uses; ++k)
        if (p.uses[tile.first_use + k].store == none->store)
          wanted += p.blocks[p.uses[tile.first_use + k].block.index()].bytes;
      EXPECT_GT(wanted, p.machine.stores[none->store.index()].bytes) << i;
      continue;
    }
    ++feasible;
    const Timeline& t = std::get<Timeline>(result);
    const std::vector<std::string> wrong = faults(p, t);
    ASSERT_TRUE(wrong.empty()) << "problem " << i << ": " << fmt::format("{}", fmt::join(wrong, "\n"));
    for (std::uint32_t k = 0; k < t.transfers.size(); ++k) {
      spills += t.transfers[k].purpose == Purpose::Spill;
      shared += t.transfers[k].carried_by != k;
      late += t.transfers[k].end > t.transfers[k].passed;
    }
    for (const TileTime& tile : t.tiles)
      at_ports += tile.cause.kind == Cause::Kind::TileAtPort || tile.cause.kind == Cause::Kind::TransferAtPort;
    ASSERT_EQ(t, std::get<Timeline>(schedule::schedule(p))) << i;
  }
  // The problems are worth their name.
  EXPECT_GT(feasible, count() / 2);
  EXPECT_GT(spills, count());
  EXPECT_GT(shared, 0u);
  EXPECT_GT(at_ports, count());
  EXPECT_GT(late, count());
}

// Many more blocks and pieces than a random problem has: what is kept in chunks and forgotten must not matter.
TEST(Schedule, LongChainsKeepTheirPromises) {
  using bench::Shape;
  for (const Shape& shape :
       {Shape{.name = "evictions", .store_bytes = 256 << 10},
        Shape{.name = "fused", .is_fused = true, .store_bytes = 128 << 10},
        Shape{.name = "links", .cores = 5, .has_own_links = true, .store_bytes = 200 << 10},
        Shape{.name = "many", .cores = 1, .rows = 64, .row_bytes = 64, .weight_bytes = 256, .store_bytes = 40 << 10},
        Shape{.name = "mixed", .has_mixed_sizes = true, .store_bytes = 300 << 10},
        Shape{.name = "ports", .has_ports = true, .store_bytes = 256 << 10},
        Shape{.name = "late", .has_late_unit = true, .store_bytes = 256 << 10},
        Shape{.name = "one after the other", .is_one_after_other = true, .store_bytes = 192 << 10},
        Shape{.name = "fine", .rows_grow = true, .row_bytes = 1 << 20, .store_bytes = 1 << 20}}) {
    const Problem p = bench::training_chain(shape, 6000);
    const Scheduled result = schedule::schedule(p);
    ASSERT_TRUE(std::holds_alternative<Timeline>(result)) << shape.name;
    const Timeline& t = std::get<Timeline>(result);
    const std::vector<std::string> wrong = faults(p, t);
    ASSERT_TRUE(wrong.empty()) << shape.name << ": " << fmt::format("{}", fmt::join(wrong, "\n"));
    EXPECT_GT(std::count_if(t.transfers.begin(), t.transfers.end(),
                            [](const Transfer& x) { return x.purpose == Purpose::Spill; }),
              500)
        << shape.name;
  }
}

}  // namespace
}  // namespace monet::test
