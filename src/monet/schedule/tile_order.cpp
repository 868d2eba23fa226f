#include "monet/schedule/tile_order.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <set>
#include <unordered_map>

namespace monet::schedule {
namespace {

// Lists of tiles, one after the other.
struct Lists {
  std::vector<std::uint32_t> first{}, items{};
  std::span<const std::uint32_t> of(std::size_t i) const {
    return {items.data() + first[i], items.data() + first[i + 1]};
  }
};

// For each tile those that must come before it.
Lists predecessors(std::span<const GroupTile> tiles, std::span<const TileAccess> accesses) {
  struct State {
    std::uint32_t writer = kNone;
    std::vector<std::uint32_t> readers{};  // since it was written
  };
  std::unordered_map<std::uint32_t, std::uint32_t> index;
  std::vector<State> states;
  Lists before;
  for (std::uint32_t t = 0; t < tiles.size(); ++t) {
    before.first.push_back(static_cast<std::uint32_t>(before.items.size()));
    for (const TileAccess& a : accesses.subspan(tiles[t].first, tiles[t].count)) {
      const auto [at, is_new] = index.emplace(a.block, static_cast<std::uint32_t>(states.size()));
      if (is_new) states.emplace_back();
      State& state = states[at->second];
      if (state.writer != kNone) before.items.push_back(state.writer);
      if (a.writes) {
        before.items.insert(before.items.end(), state.readers.begin(), state.readers.end());
        state.writer = t;
        state.readers.clear();
      } else {
        state.readers.push_back(t);
      }
    }
    const auto begin = before.items.begin() + before.first.back();
    std::sort(begin, before.items.end());
    before.items.erase(std::unique(begin, before.items.end()), before.items.end());
    if (before.items.size() > before.first.back() && before.items.back() == t) before.items.pop_back();
  }
  before.first.push_back(static_cast<std::uint32_t>(before.items.size()));
  return before;
}

Lists turned_around(const Lists& lists) {
  const std::size_t count = lists.first.size() - 1;
  Lists out;
  out.first.assign(count + 1, 0);
  for (const std::uint32_t i : lists.items) ++out.first[i + 1];
  std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
  out.items.resize(lists.items.size());
  std::vector<std::uint32_t> next(out.first.begin(), out.first.end() - 1);
  for (std::uint32_t i = 0; i < count; ++i)
    for (const std::uint32_t p : lists.of(i)) out.items[next[p]++] = i;
  return out;
}

// Tiles by how far each is among those of its node, then as the nodes stand in the graph. `is_skewed`: a node is as
// many tiles of the coarsest node late as there are changes of the unit on the way to it.
std::vector<std::uint32_t> in_turn(std::span<const GroupTile> tiles, const Lists& before,
                                   const std::vector<std::uint32_t>& first_of, bool is_skewed) {
  std::vector<std::uint64_t> late(first_of.size(), 0), turn_of(tiles.size());
  std::uint64_t most = 1, least = tiles.size();
  for (std::size_t n = 0; n + 1 < first_of.size(); ++n) {
    const std::uint64_t count = first_of[n + 1] - first_of[n];
    most = std::max(most, count);
    if (count > 0) least = std::min(least, count);
  }
  for (std::uint32_t t = 0; is_skewed && t < tiles.size(); ++t)
    for (const std::uint32_t p : before.of(t))
      if (tiles[p].node != tiles[t].node)
        late[tiles[t].node] =
            std::max(late[tiles[t].node], late[tiles[p].node] + (tiles[p].unit != tiles[t].unit ? 1 : 0));
  for (std::uint32_t t = 0; t < tiles.size(); ++t) {
    const std::uint32_t first = first_of[tiles[t].node], count = first_of[tiles[t].node + 1] - first;
    turn_of[t] = (t - first) * most / count + late[tiles[t].node] * ((most + least - 1) / least);
  }
  std::vector<std::uint32_t> turns(tiles.size());
  std::iota(turns.begin(), turns.end(), 0u);
  std::stable_sort(turns.begin(), turns.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return turn_of[a] < turn_of[b]; });
  return turns;
}

// By tile: the step it belongs to. A step ends when every unit of the longest node has had a tile of it.
std::vector<std::uint32_t> steps_of(std::span<const GroupTile> tiles, std::span<const std::uint32_t> order,
                                    std::size_t nodes) {
  std::vector<double> work(nodes, 0);
  for (const GroupTile& t : tiles) work[t.node] += t.cycles;
  const auto longest = static_cast<std::uint32_t>(std::max_element(work.begin(), work.end()) - work.begin());
  std::set<std::uint32_t> its_units, had;
  for (const GroupTile& t : tiles)
    if (t.node == longest) its_units.insert(t.unit);
  std::vector<std::uint32_t> steps(tiles.size());
  std::uint32_t now = 0;
  for (const std::uint32_t t : order) {
    steps[t] = now;
    if (tiles[t].node == longest) had.insert(tiles[t].unit);
    if (had.size() < its_units.size()) continue;
    had.clear();
    ++now;
  }
  return steps;
}

std::uint32_t units_of(std::span<const GroupTile> tiles) {
  std::uint32_t units = 0;
  for (const GroupTile& t : tiles) units = std::max(units, t.unit + 1);
  return units;
}

// Tiles by time: nothing but units and other tiles is waited for, each unit keeps its order, and nobody begins earlier
// than somebody needs what it makes. So cores that share a memory take turns in it, and keep little there.
std::vector<std::uint32_t> by_time(std::span<const GroupTile> tiles, const Lists& before, const Lists& after,
                                   std::vector<std::uint32_t> order) {
  const std::uint32_t units = units_of(tiles);
  std::vector<double> free(units, 0), start(tiles.size(), 0);
  for (const std::uint32_t t : order) {
    start[t] = free[tiles[t].unit];
    for (const std::uint32_t p : before.of(t)) start[t] = std::max(start[t], start[p] + tiles[p].cycles);
    free[tiles[t].unit] = start[t] + tiles[t].cycles;
  }
  std::vector<double> next(units, std::numeric_limits<double>::infinity());  // of the unit, when it begins
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::uint32_t t = order[i];
    double needed = next[tiles[t].unit];
    for (const std::uint32_t n : after.of(t)) needed = std::min(needed, start[n]);
    if (!after.of(t).empty()) start[t] = std::max(start[t], needed - tiles[t].cycles);
    next[tiles[t].unit] = start[t];
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return start[a] < start[b]; });
  return order;
}

// Tiles by when they would begin if nothing but units and other tiles had to be waited for, units prefer those that
// come first in `order`, and nobody was more than a step ahead.
std::vector<std::uint32_t> overlapped(std::span<const GroupTile> tiles, const Lists& before, const Lists& after,
                                      std::span<const std::uint32_t> order, std::size_t nodes) {
  const std::vector<std::uint32_t> step = steps_of(tiles, order, nodes);
  const std::uint32_t units = units_of(tiles);
  std::vector<std::uint32_t> rank(tiles.size()), pending(tiles.size());
  std::vector<std::uint32_t> left;  // by step: tiles that have not ended
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const std::uint32_t t = order[i];
    rank[t] = i;
    left.resize(std::max<std::size_t>(left.size(), step[t] + 1), 0);
    ++left[step[t]];
    pending[t] = static_cast<std::uint32_t>(before.of(t).size());
  }
  using Ranked = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;
  std::vector<Ranked> ready(units);                               // by unit, ranks
  std::vector<std::vector<std::uint32_t>> held(left.size() + 2);  // by step: ready, but too far ahead
  std::vector<bool> is_busy(units, false);
  std::priority_queue<std::pair<double, std::uint32_t>, std::vector<std::pair<double, std::uint32_t>>, std::greater<>>
      running;            // end, tile
  std::uint32_t now = 0;  // the first step that has not ended
  double time = 0;
  std::vector<std::uint32_t> result;
  result.reserve(tiles.size());
  const auto offer = [&](std::uint32_t t) {
    if (step[t] > now + 1) {
      held[step[t]].push_back(t);
      return;
    }
    ready[tiles[t].unit].push(rank[t]);
  };
  // Who can begin at this time, in their order.
  const auto begin_all = [&] {
    const std::size_t first = result.size();
    for (std::uint32_t u = 0; u < units; ++u) {
      if (is_busy[u] || ready[u].empty()) continue;
      const std::uint32_t t = order[ready[u].top()];
      ready[u].pop();
      is_busy[u] = true;
      running.emplace(time + tiles[t].cycles, t);
      result.push_back(t);
    }
    std::sort(result.begin() + static_cast<std::ptrdiff_t>(first), result.end(),
              [&](std::uint32_t a, std::uint32_t b) { return rank[a] < rank[b]; });
  };
  for (const std::uint32_t t : order)
    if (pending[t] == 0) offer(t);
  begin_all();
  while (!running.empty()) {
    for (time = running.top().first; !running.empty() && running.top().first == time; running.pop()) {
      const std::uint32_t t = running.top().second;
      is_busy[tiles[t].unit] = false;
      --left[step[t]];
      for (const std::uint32_t n : after.of(t))
        if (--pending[n] == 0) offer(n);
    }
    for (; now < left.size() && left[now] == 0; ++now)
      for (const std::uint32_t t : held[now + 2]) ready[tiles[t].unit].push(rank[t]);
    begin_all();
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> order_tiles(std::span<const GroupTile> tiles, std::span<const TileAccess> accesses,
                                       std::size_t nodes, plan::Order order) {
  std::vector<std::uint32_t> result;
  result.reserve(tiles.size());
  if (nodes < 2 || order == plan::Order::BreadthFirst) {
    result.resize(tiles.size());
    std::iota(result.begin(), result.end(), 0u);
    return result;
  }
  const Lists before = predecessors(tiles, accesses);
  const Lists after = turned_around(before);
  std::vector<bool> is_waited_for(nodes, false);
  std::vector<std::uint32_t> pending(tiles.size());
  for (std::uint32_t t = 0; t < tiles.size(); ++t) {
    pending[t] = static_cast<std::uint32_t>(before.of(t).size());
    for (const std::uint32_t p : before.of(t))
      if (tiles[p].node != tiles[t].node) is_waited_for[tiles[p].node] = true;
  }
  const bool is_deep = order == plan::Order::DepthFirst || order == plan::Order::Overlapped;
  std::vector<bool> done(tiles.size(), false);
  std::vector<std::uint32_t> ready;
  const auto emit = [&](std::uint32_t tile) {
    ready.push_back(tile);
    while (!ready.empty()) {
      const std::uint32_t t = ready.back();
      ready.pop_back();
      if (done[t]) continue;
      done[t] = true;
      result.push_back(t);
      const auto next = after.of(t);
      for (std::size_t i = next.size(); i-- > 0;)
        if (--pending[next[i]] == 0 && is_deep && !is_waited_for[tiles[next[i]].node]) ready.push_back(next[i]);
    }
  };
  // From the last nodes on, so that what is asked for first is what the end of the group needs. Who needs several tiles
  // of a node, such as sums of several cores, gets them in their order, not sum by sum.
  struct Wanted {
    std::vector<std::uint32_t> tiles{};  // of one node
    std::size_t next = 0;                // of them
    std::size_t need = 0;                // of the next one
  };
  std::vector<Wanted> stack;
  std::vector<bool> is_wanted(tiles.size(), false);
  const auto want = [&](std::uint32_t tile) {
    Wanted wanted{.tiles = {tile}};
    is_wanted[tile] = true;
    for (std::size_t i = 0; i < wanted.tiles.size(); ++i)
      for (const std::uint32_t p : before.of(wanted.tiles[i]))
        if (tiles[p].node == tiles[tile].node && !done[p] && !is_wanted[p]) {
          is_wanted[p] = true;
          wanted.tiles.push_back(p);
        }
    std::sort(wanted.tiles.begin(), wanted.tiles.end());
    stack.push_back(std::move(wanted));
  };
  const auto demand = [&](std::uint32_t tile) {
    if (!done[tile]) want(tile);
    while (!stack.empty()) {
      Wanted& top = stack.back();
      if (top.next == top.tiles.size()) {
        stack.pop_back();
        continue;
      }
      const std::uint32_t t = top.tiles[top.next];
      const auto needs = before.of(t);
      while (top.need < needs.size() && done[needs[top.need]]) ++top.need;
      if (top.need < needs.size()) {
        want(needs[top.need]);
      } else {
        ++top.next;
        top.need = 0;
        emit(t);
      }
    }
  };
  std::vector<std::uint32_t> first_of(nodes + 1, 0);
  for (const GroupTile& t : tiles) ++first_of[t.node + 1];
  std::partial_sum(first_of.begin(), first_of.end(), first_of.begin());
  if (!is_deep) {
    for (const std::uint32_t t : in_turn(tiles, before, first_of, order == plan::Order::Pipelined)) demand(t);
    return result;
  }
  for (std::size_t n = nodes; n-- > 0;)
    for (std::uint32_t t = first_of[n]; t < first_of[n + 1]; ++t) demand(t);
  return order == plan::Order::Overlapped ? overlapped(tiles, before, after, result, nodes)
                                          : by_time(tiles, before, after, std::move(result));
}

}  // namespace monet::schedule
