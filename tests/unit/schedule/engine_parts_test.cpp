// What the engine is made of, against what is slow and plain: every answer over random histories.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "monet/base/rng.h"
#include "monet/schedule/channel_time.h"
#include "monet/schedule/engine_chunks.h"
#include "monet/schedule/engine_leavers.h"
#include "monet/schedule/port_time.h"
#include "monet/schedule/space.h"
#include "monet/schedule/use_index.h"

namespace monet::schedule {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t number) : number_(number) {}
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_bits(23, number_, drawn_++) % n); }

 private:
  std::uint64_t number_, drawn_ = 0;
};

struct Item {
  int value = 0;
  int key() const { return value; }
};

TEST(Chunks, AreASortedSet) {
  Draw draw(1);
  Chunks<Item> chunks;
  std::set<int> plain;
  for (int step = 0; step < 20'000; ++step) {
    const int key = static_cast<int>(draw.below(2000));
    const auto at = chunks.not_below(key);
    const auto same = plain.lower_bound(key);
    ASSERT_EQ(at == chunks.end(), same == plain.end());
    if (same != plain.end()) {
      ASSERT_EQ(chunks[at].value, *same);
    }
    // Grows, then shrinks to nothing.
    const bool grows = step < 8000 ? draw.below(4) > 0 : draw.below(4) == 0;
    if (grows && (same == plain.end() || *same != key)) {
      chunks.insert(at, {key});
      plain.insert(key);
    } else if (!grows && same != plain.end()) {
      const auto after = chunks.erase(at);
      const auto next = plain.erase(same);
      ASSERT_EQ(after == chunks.end(), next == plain.end());
      if (next != plain.end()) {
        ASSERT_EQ(chunks[after].value, *next);
      }
    }
    if (step % 500 == 0) {
      std::vector<int> all;
      for (auto i = chunks.begin(); i != chunks.end(); i = chunks.next(i)) all.push_back(chunks[i].value);
      ASSERT_EQ(all, std::vector<int>(plain.begin(), plain.end()));
      for (std::size_t c = 0; c < chunks.size(); ++c) chunks.join(c);
    }
  }
}

// Blocks want other tiles all the time; only what was said last of each is true.
TEST(Leavers, AreGoneThroughFromTheLatestOn) {
  Draw draw(2);
  Leavers leavers;
  std::map<std::uint32_t, std::uint32_t> wants;                     // tile, by block
  std::map<std::uint32_t, std::uint32_t> said;                      // stay, by block: of the last time
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> least;  // time, by tile and block
  std::uint32_t now = 0;
  for (int step = 0; step < 2'000; ++step) {
    now += draw.below(3);
    for (std::uint32_t i = draw.below(20); i > 0; --i) {
      const std::uint32_t block = draw.below(100), tile = now + draw.below(draw.below(2) == 0 ? 5 : 5000);
      wants[block] = tile;
      const double used = draw.below(10);
      said[block] = static_cast<std::uint32_t>(step) * 100 + i;
      leavers.add({tile, BlockId{block}, used, block, said[block]});
      const auto [at, is_new] = least.try_emplace({tile, block}, used);
      at->second = std::min(at->second, used);
    }
    if (draw.below(3) == 0) wants.erase(draw.below(100));
    std::erase_if(wants, [&](const auto& entry) { return entry.second < now; });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> expected, found;
    for (const auto& [block, tile] : wants) expected.emplace_back(tile, block);
    std::sort(expected.rbegin(), expected.rend());
    expected.resize(std::min<std::size_t>(expected.size(), draw.below(120)));
    leavers.begin(now);
    while (found.size() < expected.size()) {
      ASSERT_TRUE(leavers.has_next());
      const auto [tile, block, used, copy, stay] = leavers.peek();
      const auto at = wants.find(block.value);
      const bool is_true = at != wants.end() && at->second == tile;
      leavers.next(is_true);
      if (!is_true) continue;
      found.emplace_back(tile, block.value);
      ASSERT_GE(used, least.at({tile, block.value}));
      ASSERT_EQ(copy, block.value);
      ASSERT_EQ(stay, said.at(block.value));
    }
    ASSERT_EQ(found, expected);
  }
}

// Bytes a cycle, cycle by cycle.
TEST(ChannelTime, IsAProfileOfUse) {
  for (std::uint64_t number = 0; number < 20; ++number) {
    Draw draw(100 + number);
    ChannelTime channel;
    std::vector<double> used(4000, 0);
    std::size_t horizon = 0;
    for (int step = 0; step < 300; ++step) {
      const std::size_t earliest = horizon + draw.below(number % 2 == 0 ? 1500 : 30), length = 1 + draw.below(6);
      const double rate = number % 3 == 0 ? 8 : 1 + draw.below(8);
      std::size_t start = earliest;
      const auto fits = [&] {
        return std::all_of(used.begin() + static_cast<std::ptrdiff_t>(start),
                           used.begin() + static_cast<std::ptrdiff_t>(start + length),
                           [&](double u) { return u + rate <= 8; });
      };
      while (!fits()) ++start;
      ASSERT_EQ(channel.free_from(rate, 8, static_cast<double>(length), static_cast<double>(earliest)).time,
                static_cast<double>(start))
          << number << " " << step;
      channel.occupy(static_cast<double>(start), static_cast<double>(start + length), rate, 1);
      for (std::size_t i = start; i < start + length; ++i) used[i] += rate;
      if (draw.below(20) == 0) channel.forget_before(static_cast<double>(horizon += draw.below(20)));
    }
  }
}

// Cycle by cycle: taken or free.
TEST(PortTime, IsACycleForOneOnly) {
  for (std::uint64_t number = 0; number < 10; ++number) {
    Draw draw(150 + number);
    PortTime port;
    std::vector<char> taken(20'000, 0);
    std::size_t horizon = 0;
    for (int step = 0; step < 120; ++step) {
      const std::size_t earliest = horizon + draw.below(number % 2 == 0 ? 1500 : 40), length = 1 + draw.below(30);
      const std::size_t cycles = draw.below(3) == 0 ? length : 1 + draw.below(length);
      const auto free_in = [&](std::size_t from) {
        std::size_t free = 0;
        for (std::size_t i = from; i < from + length; ++i) free += taken[i] == 0;
        return free;
      };
      std::size_t start = earliest;
      if (draw.below(3) > 0) {  // a tile: all of it while it runs
        while (free_in(start) < cycles) ++start;
        const PortTime::Start found =
            port.free_from(static_cast<double>(cycles), static_cast<double>(length), static_cast<double>(earliest));
        ASSERT_EQ(found.time, static_cast<double>(start)) << number << " " << step;
        ASSERT_EQ(found.freed_by != 0, start != earliest) << number << " " << step;
      }
      std::size_t end = start;
      for (std::size_t left = cycles; left > 0; ++end) {
        left -= taken[end] == 0;
        taken[end] = 1;
      }
      ASSERT_EQ(port.served(static_cast<double>(start), static_cast<double>(cycles)), static_cast<double>(end))
          << number << " " << step;
      port.take(static_cast<double>(start), static_cast<double>(cycles), 1);
      if (draw.below(20) == 0) port.forget_before(static_cast<double>(horizon += draw.below(20)));
    }
  }
}

// A store byte by byte: who has it, or since when it is free.
class PlainSpace {
 public:
  explicit PlainSpace(std::size_t bytes) : owner_(bytes, -1), from_(bytes, 0) {}

  std::optional<Space::Spot> find(std::int64_t bytes, double earliest) const {
    std::optional<Space::Spot> best;
    for (std::size_t a = 0; a + static_cast<std::size_t>(bytes) <= owner_.size(); ++a) {
      double time = earliest;
      bool is_free = true;
      for (std::size_t i = a; i < a + static_cast<std::size_t>(bytes); ++i) {
        is_free = is_free && owner_[i] < 0;
        time = std::max(time, from_[i]);
      }
      if (is_free && (!best || time < best->time)) best = {time, static_cast<std::int64_t>(a), 0};
    }
    return best;
  }
  void set(std::int64_t address, std::int64_t bytes, int owner, double from) {
    for (std::int64_t i = address; i < address + bytes; ++i) {
      owner_[static_cast<std::size_t>(i)] = owner;
      from_[static_cast<std::size_t>(i)] = from;
    }
  }
  int owner(std::size_t at) const { return owner_[at]; }
  std::size_t size() const { return owner_.size(); }

 private:
  std::vector<int> owner_;
  std::vector<double> from_;
};

struct Held {
  std::int64_t address = 0, bytes = 0;
  std::uint32_t next_use = 0;  // 0: it must stay
  std::uint32_t piece = 0;
};

// Next use and moved bytes of the best window that begins at any byte, and whom it moves.
std::vector<std::uint32_t> in_the_way(const PlainSpace& space, const std::map<std::uint32_t, Held>& held,
                                      std::int64_t bytes) {
  std::vector<std::uint32_t> best;
  std::uint32_t best_use = 0;
  std::int64_t best_moved = 0;
  for (std::size_t a = 0; a + static_cast<std::size_t>(bytes) <= space.size(); ++a) {
    std::vector<std::uint32_t> owners;
    std::uint32_t use = kNever;
    std::int64_t moved = 0;
    for (std::size_t i = a; i < a + static_cast<std::size_t>(bytes); ++i) {
      if (space.owner(i) < 0) continue;
      const auto owner = static_cast<std::uint32_t>(space.owner(i));
      if (!owners.empty() && owners.back() == owner) continue;
      owners.push_back(owner);
      use = std::min(use, held.at(owner).next_use);
      moved += held.at(owner).bytes;
    }
    if (use == 0 || (!best.empty() && (use < best_use || (use == best_use && moved >= best_moved)))) continue;
    best = owners;
    best_use = use;
    best_moved = moved;
  }
  return best;
}

TEST(Space, IsItsBytes) {
  std::size_t asked = 0;
  for (std::uint64_t number = 0; number < 40; ++number) {
    Draw draw(200 + number);
    const std::int64_t bytes = 60 + draw.below(number % 4 == 0 ? 1500 : 200);
    Space space(bytes);
    PlainSpace plain(static_cast<std::size_t>(bytes));
    std::map<std::uint32_t, Held> held;
    double now = 0;
    const auto release = [&](std::uint32_t owner, double when) {
      const Held h = held.at(owner);
      space.release(h.address, h.bytes, h.piece, when, 1);
      plain.set(h.address, h.bytes, -1, when);
      held.erase(owner);
    };
    for (std::uint32_t step = 0; step < 300; ++step) {
      now += draw.below(3);
      space.forget_before(now);
      const std::int64_t wanted = 1 + draw.below(number % 2 == 0 ? 6 : 25);
      const double earliest = now + draw.below(10);
      const auto expected = plain.find(wanted, earliest);
      const auto found = space.find(wanted, earliest);
      ASSERT_EQ(found.has_value(), expected.has_value()) << number << " " << step;
      if (found) {
        ASSERT_EQ(found->time, expected->time) << number << " " << step;
        ASSERT_EQ(found->address, expected->address) << number << " " << step;
        const std::uint32_t piece = space.take(found->address, wanted, step);
        plain.set(found->address, wanted, static_cast<int>(step), 0);
        held[step] = {found->address, wanted, draw.below(12), piece};
      } else {
        ++asked;
        std::uint32_t use = 12;
        const std::vector<std::uint32_t> owners = space.in_the_way(wanted, [&](std::vector<std::uint32_t>& pieces) {
          pieces.clear();
          while (pieces.empty() && --use > 0)
            for (const auto& [owner, h] : held)
              if (h.next_use == use) pieces.push_back(h.piece);
          return use > 0;
        });
        ASSERT_EQ(owners, in_the_way(plain, held, wanted)) << number << " " << step;
        for (const std::uint32_t owner : owners) release(owner, now + draw.below(15));
      }
      if (held.size() > 3 && draw.below(3) == 0)
        release(std::next(held.begin(), draw.below(held.size()))->first, now + draw.below(15));
    }
  }
  EXPECT_GT(asked, 1000u);
}

// Rows of hundreds of pieces, each free at another time.
TEST(Space, FindsRowsOfManyPieces) {
  Draw draw(4);
  for (int round = 0; round < 40; ++round) {
    const std::int64_t bytes = 300;
    Space space(bytes);
    PlainSpace plain(static_cast<std::size_t>(bytes));
    std::vector<std::uint32_t> pieces;
    for (std::int64_t i = 0; i < bytes; ++i) pieces.push_back(space.take(i, 1, static_cast<std::uint32_t>(i)));
    for (std::int64_t i = 0; i < bytes; ++i) plain.set(i, 1, static_cast<int>(i), 0);
    for (std::int64_t i = 0; i < bytes; ++i) {
      if (draw.below(60) == 0) continue;  // some stay
      const double from = draw.below(3) == 0 ? 0 : 1 + draw.below(100);
      space.release(i, 1, pieces[static_cast<std::size_t>(i)], from, 1);
      plain.set(i, 1, -1, from);
    }
    for (std::int64_t wanted = 1; wanted < 150; wanted += 1 + draw.below(10)) {
      const double earliest = draw.below(110);
      const auto found = space.find(wanted, earliest), expected = plain.find(wanted, earliest);
      ASSERT_EQ(found.has_value(), expected.has_value()) << round << " " << wanted;
      if (!found) continue;
      ASSERT_EQ(found->time, expected->time) << round << " " << wanted;
      ASSERT_EQ(found->address, expected->address) << round << " " << wanted;
    }
    space.forget_before(50);
    for (std::int64_t wanted = 1; wanted < 150; wanted += 1 + draw.below(10)) {
      const auto found = space.find(wanted, 50), expected = plain.find(wanted, 50);
      ASSERT_EQ(found.has_value(), expected.has_value()) << round << " " << wanted;
      if (found) {
        ASSERT_EQ(found->address, expected->address) << round << " " << wanted;
      }
    }
  }
}

// So many that whole rows of chunks are passed over: some free too late, some in pieces too short.
TEST(Space, FindsAPlaceAmongThousandsOfPieces) {
  constexpr std::int64_t kBytes = 20'000;
  Draw draw(11);
  Space space(kBytes);
  PlainSpace plain(static_cast<std::size_t>(kBytes));
  std::vector<std::uint32_t> pieces;
  for (std::int64_t at = 0; at < kBytes; ++at) {
    pieces.push_back(space.take(at, 1, 1));
    plain.set(at, 1, 1, 0);
  }
  for (std::int64_t at = 0; at < kBytes; ++at) {
    if (draw.below(at < kBytes / 2 ? 8 : 60) == 0) continue;
    const double from = at < kBytes / 4 ? draw.below(500) : at < kBytes / 2 ? 2000 + draw.below(10) : draw.below(3000);
    space.release(at, 1, pieces[static_cast<std::size_t>(at)], from, 1);
    plain.set(at, 1, -1, from);
  }
  for (int step = 0; step < 400; ++step) {
    const std::int64_t wanted = 1 + draw.below(step % 4 == 0 ? 100 : 30);
    const double earliest = draw.below(3200);
    const auto found = space.find(wanted, earliest), expected = plain.find(wanted, earliest);
    ASSERT_EQ(found.has_value(), expected.has_value()) << step;
    if (!found) continue;
    ASSERT_EQ(found->time, expected->time) << step;
    ASSERT_EQ(found->address, expected->address) << step;
    const std::uint32_t piece = space.take(found->address, wanted, 2);
    plain.set(found->address, wanted, 2, 0);
    if (step % 3 != 0) continue;
    space.release(found->address, wanted, piece, found->time + 10, 2);
    plain.set(found->address, wanted, -1, found->time + 10);
  }
}

TEST(UseIndex, KnowsTheNextUse) {
  Draw draw(3);
  Problem p;
  p.machine.stores.resize(4);
  p.blocks.resize(10);
  struct Event {
    std::uint32_t tile, block, store;
    bool is_flow, writes;
    std::uint32_t index;
  };
  std::vector<Event> events;
  for (std::uint32_t t = 0; t < 200; ++t) {
    Tile tile{.first_use = static_cast<std::uint32_t>(p.uses.size()),
              .first_flow = static_cast<std::uint32_t>(p.flows.size())};
    for (tile.uses = 0; tile.uses < draw.below(4); ++tile.uses) {
      p.uses.push_back({BlockId{draw.below(10)}, StoreId{1 + draw.below(3)}, static_cast<Access>(draw.below(3))});
      const Use& use = p.uses.back();
      events.push_back({t, use.block.value, use.store.value, false, use.access != Access::Read,
                        static_cast<std::uint32_t>(p.uses.size() - 1)});
    }
    for (tile.flows = 0; tile.flows < draw.below(2); ++tile.flows) {
      p.flows.push_back({BlockId{draw.below(10)}, static_cast<Access>(draw.below(3)), StoreId{1}, 1});
      const Flow& flow = p.flows.back();
      events.push_back(
          {t, flow.block.value, 0, true, flow.access != Access::Read, static_cast<std::uint32_t>(p.flows.size() - 1)});
    }
    p.tiles.push_back(tile);
  }
  const UseIndex index(p);
  const auto next = [&](std::size_t from, const auto& is_it) {
    for (std::size_t i = from; i < events.size(); ++i)
      if (is_it(events[i])) return events[i].tile;
    return kNever;
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& e = events[i];
    const auto anywhere = next(i + 1, [&](const Event& x) { return x.block == e.block; });
    if (e.is_flow) {
      EXPECT_EQ(index.after_flow(e.index), anywhere);
      continue;
    }
    EXPECT_EQ(index.after_use(e.index), anywhere);
    EXPECT_EQ(index.after_use_here(e.index),
              next(i + 1, [&](const Event& x) { return x.block == e.block && x.store == e.store && !x.is_flow; }));
  }
  for (std::uint32_t b = 0; b < 10; ++b) {
    EXPECT_EQ(index.first(BlockId{b}), next(0, [&](const Event& x) { return x.block == b; }));
    std::uint32_t last = kNever;
    for (const Event& e : events)
      if (e.block == b && e.writes) last = e.tile;
    EXPECT_EQ(index.last_write(BlockId{b}), last);
  }
}

}  // namespace
}  // namespace monet::schedule
