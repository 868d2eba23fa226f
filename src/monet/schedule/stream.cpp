// Comments name the rules of docs/stream.md.
#include "monet/schedule/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <span>

#include "monet/schedule/stream_neighbours.h"
#include "monet/schedule/stream_steps.h"
#include "monet/schedule/stream_store.h"

namespace monet::schedule {
namespace {

using Neighbour = StreamNeighbours::Neighbour;

struct Needed {
  std::uint32_t tensor = 0, slot = 0;
};

// What is asked of tiles again and again, close together.
struct Brief {
  std::uint32_t layer = 0;  // in the order of their numbers
  std::uint32_t core = 0, output = 0;
  std::uint32_t first_operand = 0;  // of Scheduler::operands_; those of the next tile follow
};
struct BriefOperand {
  std::uint32_t operand = 0, slot = 0;
};

using Tensors = std::vector<std::uint32_t>;
using Demands = std::vector<std::pair<std::uint32_t, double>>;  // bits a cycle by link

class Scheduler {
 public:
  explicit Scheduler(const StreamProblem& p);
  StreamResult run();

 private:
  void set_briefs();
  void set_uses();
  void fill_offchip();
  std::span<const BriefOperand> operands(std::uint32_t tile) const {
    return std::span(operands_).subspan(briefs_[tile].first_operand,
                                        briefs_[tile + 1].first_operand - briefs_[tile].first_operand);
  }

  double transfer(std::uint32_t tensor, std::uint32_t slot, std::uint32_t to, double earliest, const Tensors& keep,
                  std::uint32_t sender, double part, std::optional<StreamBucket> bucket);
  double make_room(std::uint32_t tensor, std::uint32_t core, std::uint32_t slot, double when, const Tensors& keep);
  double drop(std::uint32_t tensor, std::uint32_t core, std::uint32_t slot, double when, double part,
              StreamBucket bucket);
  double window(const Demands& demands, double duration, double earliest) const;
  bool occupy(std::uint32_t link, std::uint32_t tensor, double start, double end, double amount);

  void list_needed(std::uint32_t tile, std::vector<Needed>& list) const;
  std::uint32_t cut(std::uint32_t tensor, std::uint32_t tile);
  bool still_too_large(std::uint32_t tile, const Tensors& parts, const std::vector<Needed>& full) const;
  void barrier(std::uint32_t tile);
  double clear(std::uint32_t tile, double when, const Tensors& keep, double part);
  double block(std::uint32_t tile, double when);
  double last_use(std::uint32_t tensor, std::uint32_t memory, double now) const;
  void free_used_up(const std::vector<Needed>& full, double now);
  void run_tile(std::uint32_t tile, double after);

  const StreamProblem& p_;
  StreamStore store_;
  std::vector<LinkSteps> links_;
  StreamNeighbours neighbours_;
  std::vector<Brief> briefs_;  // by tile, and one more
  std::vector<BriefOperand> operands_;
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> last_of_layer_;  // position
  std::vector<bool> is_sink_;                 // by layer
  std::vector<double> idle_;
  std::vector<bool> runs_;
  // Of the tile or transfer at hand; kept for their memory.
  std::vector<Needed> needed_;
  Tensors parts_, holders_;
  Demands demands_;
  StreamResult result_;
};

Scheduler::Scheduler(const StreamProblem& p)
    : p_(p),
      store_(p),
      links_(p.links.size()),
      neighbours_(p),
      position_(p.tiles.size()),
      idle_(p.cores.size(), 0),
      runs_(p.cores.size(), false) {
  set_briefs();
  for (std::uint32_t i = 0; i < p.order.size(); ++i) {
    position_[p.order[i]] = i;
    last_of_layer_[briefs_[p.order[i]].layer] = i;
  }
  for (std::uint32_t t = 0; t < p.tiles.size(); ++t) {
    runs_[p.tiles[t].core] = true;
    if (!neighbours_.after(t).empty()) is_sink_[briefs_[t].layer] = false;
  }
  set_uses();
  fill_offchip();
  result_.events.reserve(p.edges.size() / 2);  // about what fused layers take
  result_.start.assign(p.tiles.size(), -1);
  result_.end.assign(p.tiles.size(), -1);
}

void Scheduler::set_briefs() {
  std::vector<std::int64_t> layers;
  for (const StreamTile& tile : p_.tiles)
    if (layers.empty() || layers.back() != tile.layer) layers.push_back(tile.layer);
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  last_of_layer_.assign(layers.size(), 0);
  is_sink_.assign(layers.size(), true);
  briefs_.reserve(p_.tiles.size() + 1);
  for (const StreamTile& tile : p_.tiles) {
    const auto layer = std::lower_bound(layers.begin(), layers.end(), tile.layer) - layers.begin();
    briefs_.push_back({.layer = static_cast<std::uint32_t>(layer),
                       .core = tile.core,
                       .output = tile.operands[tile.output].tensor,
                       .first_operand = static_cast<std::uint32_t>(operands_.size())});
    for (const StreamOperand& o : tile.operands) operands_.push_back({o.operand, o.slot});
  }
  briefs_.push_back({.first_operand = static_cast<std::uint32_t>(operands_.size())});
}

// Rule 2.
void Scheduler::set_uses() {
  for (std::uint32_t i = 0; i < p_.tiles.size(); ++i) {
    const StreamTile& tile = p_.tiles[i];
    for (const StreamOperand& o : tile.operands) {
      if (store_[o.tensor].is_output) {
        for (const Neighbour& next : neighbours_.after(i)) {
          const Brief& reader = briefs_[next.tile];
          if (reader.layer == briefs_[i].layer || next.operand == StreamNeighbours::kNoOperand) continue;
          for (const BriefOperand& r : operands(next.tile))
            if (r.operand == next.operand) ++store_.uses_entry(o.tensor, store_.memory_of(reader.core, r.slot));
        }
      } else if (const auto& base = p_.tensors[o.tensor].base_priority) {
        store_.uses_entry(o.tensor, store_.memory_of(tile.core, store_[o.tensor].slot)) = *base;
      }
    }
  }
}

// Rule 6.
void Scheduler::fill_offchip() {
  const std::vector<std::uint32_t>& offchip = p_.cores[p_.offchip].memories;
  for (std::uint32_t i = 0; i < p_.tiles.size(); ++i)
    for (const StreamOperand& o : p_.tiles[i].operands) {
      if (!o.is_constant && (store_[o.tensor].is_output || !neighbours_.before(i).empty())) continue;
      store_.list_holders(o.tensor, holders_);
      if (std::find_first_of(holders_.begin(), holders_.end(), offchip.begin(), offchip.end()) == holders_.end())
        store_.add(store_.memory_of(p_.offchip, o.slot), o.tensor, 0, 0);
    }
}

// Rule 10.
double Scheduler::window(const Demands& demands, double duration, double earliest) const {
  if (duration <= 0) return earliest;
  double start = earliest;
  for (std::size_t agreed = 0, k = 0; agreed < demands.size(); k = (k + 1) % demands.size()) {
    const auto& [link, demand] = demands[k];
    const double found = links_[link].free_from(p_.links[link].bandwidth - demand, duration, start);
    if (std::isinf(found)) throw Unschedulable{fmt::format("no window of {} bits a cycle on a link", demand)};
    agreed = found == start ? agreed + 1 : 1;
    start = found;
  }
  return start;
}

// False if nothing is occupied: no time at all, or this very tensor starts here already (rules 4, 11).
bool Scheduler::occupy(std::uint32_t link, std::uint32_t tensor, double start, double end, double amount) {
  return start != end && links_[link].book(tensor, start, end, amount);
}

// Rule 9. Returns when the tensor can be used; `earliest` if it is there already.
double Scheduler::transfer(std::uint32_t tensor, std::uint32_t slot, std::uint32_t to, double earliest,
                           const Tensors& keep, std::uint32_t sender, double part, std::optional<StreamBucket> bucket) {
  if (store_.is_on(tensor, to)) return earliest;
  const double available = store_.available(tensor, store_.source(tensor, sender));
  const double at = make_room(tensor, to, slot, std::max(earliest, available), keep);
  const StreamStore::Tensor& t = store_[tensor];
  const std::uint32_t from_memory = store_.source(tensor, sender), from = store_.first_core(from_memory);
  const std::vector<std::uint32_t>& path = p_.paths[from][to];
  if (path.empty())
    throw Unschedulable{
        fmt::format("{} would be sent from core {} to itself", store_.name_of(tensor), p_.cores[from].id)};
  Demands& demands = demands_;
  demands.clear();
  double slowest = std::numeric_limits<double>::infinity();
  for (const std::uint32_t link : path) {
    const double rate = std::ceil(part * p_.links[link].bandwidth);
    slowest = std::min(slowest, rate);
    if (std::none_of(demands.begin(), demands.end(), [&](const auto& d) { return d.first == link; }))
      demands.emplace_back(link, rate);
  }
  const double duration = std::ceil(static_cast<double>(t.bits) / slowest);
  const double start = window(demands, duration, at), end = start + duration;
  const std::uint32_t receiver = store_.memory_of(to, slot);
  store_.add(receiver, tensor, start, end);
  StreamEvent event{.start = start,
                    .end = end,
                    .from = from,
                    .to = to,
                    .owner = t.owner,
                    .operand = t.operand,
                    .bits = t.bits,
                    .hops = static_cast<std::uint32_t>(path.size()),
                    .activity = std::ceil(part * p_.links[path[0]].bandwidth)};
  double link_pj = 0;
  bool all_new = true;
  for (const std::uint32_t link : path) {
    const double energy = duration * p_.links[link].unit_pj * part;
    event.energy_pj += energy;
    if (occupy(link, tensor, start, end, std::ceil(part * p_.links[link].bandwidth)))
      link_pj += energy;
    else
      all_new = false;
  }
  if (all_new) result_.events.push_back(event);
  const auto words_pj = [&](const StreamMemory& m, double pj) {
    return pj * (m.min_bits / m.max_bits) * std::ceil(static_cast<double>(t.bits) / m.min_bits);
  };
  const StreamMemory& reads = p_.memories[store_.memory_of(from, t.slot)];
  const StreamMemory& writes = p_.memories[receiver];
  if (from != p_.offchip && from != p_.tiles[t.owner].core && store_.uses(tensor, from_memory) == 0)
    store_.remove(from_memory, tensor, end);
  const auto to_bucket =
      static_cast<std::size_t>(bucket.value_or(from == p_.offchip ? StreamBucket::Offchip : StreamBucket::CoreToCore));
  result_.link_pj[to_bucket] += link_pj;
  result_.memory_pj[to_bucket] += words_pj(reads, reads.read_pj) + words_pj(writes, writes.write_pj);
  return end;
}

// Rules 12 and 13. When the tensor may be added; something is evicted if it never fits by itself.
double Scheduler::make_room(std::uint32_t tensor, std::uint32_t core, std::uint32_t slot, double when,
                            const Tensors& keep) {
  const double room = store_.room_from(store_.memory_of(core, slot), store_[tensor].bits, when);
  for (const std::uint32_t victim : store_.victims(tensor, core, room, keep)) {
    if (core == p_.offchip) throw Unschedulable{"the off-chip memory is full"};
    const double part = 1.0 / static_cast<double>(p_.tiles[store_[victim].owner].split);
    when = std::max(when, drop(victim, core, slot, when, part, StreamBucket::Eviction));
  }
  return std::max(room, when);
}

// Rule 14.
double Scheduler::drop(std::uint32_t tensor, std::uint32_t core, std::uint32_t slot, double when, double part,
                       StreamBucket bucket) {
  if (!store_.is_on(tensor, p_.offchip))
    when = std::max(when, transfer(tensor, slot, p_.offchip, 0, {}, core, part, bucket));
  store_.remove(store_.memory_of(core, slot), tensor, when);
  return when;
}

// Rule 7.1.
void Scheduler::list_needed(std::uint32_t tile, std::vector<Needed>& list) const {
  const StreamTile& n = p_.tiles[tile];
  const auto is_too_large = [&](std::uint32_t slot) {
    return std::any_of(n.too_large.begin(), n.too_large.end(), [&](const StreamBlock& b) { return b.slot == slot; });
  };
  list.clear();
  for (const std::uint32_t c : n.constants)
    if (!is_too_large(n.operands[c].slot)) list.push_back({n.operands[c].tensor, n.operands[c].slot});
  for (const Neighbour& before : neighbours_.before(tile)) {
    const Brief& producer = briefs_[before.tile];
    if (producer.layer == briefs_[tile].layer || before.operand == StreamNeighbours::kNoOperand) continue;
    for (const BriefOperand& o : operands(tile))
      if (o.operand == before.operand && !is_too_large(o.slot)) list.push_back({producer.output, o.slot});
  }
  // Nearly in order already: every one moves before those of higher layers.
  const auto layer = [&](const Needed& need) { return briefs_[store_[need.tensor].owner].layer; };
  for (auto at = list.begin(); at != list.end(); ++at) {
    auto to = at;
    while (to != list.begin() && layer(*at) < layer(*(to - 1))) --to;
    std::rotate(to, at, at + 1);
  }
}

// Rule 7.2. The part this tile needs, made in off-chip memory, or the tensor itself.
std::uint32_t Scheduler::cut(std::uint32_t tensor, std::uint32_t tile) {
  const StreamTile& n = p_.tiles[tile];
  if (n.intra.empty() || store_.is_on(tensor, n.core)) return tensor;
  const StreamTensor& full = p_.tensors[tensor];
  const auto each_cut = [&](const auto& visit) {  // axis and range
    for (const std::uint32_t d : n.intra)
      for (std::size_t i = 0; i < full.dimensions.size(); ++i)
        for (const auto& [dimension, range] : n.ranges)
          if (full.dimensions[i] == d && dimension == d) visit(i, range);
  };
  double scale = 1;
  bool differs = false;
  each_cut([&](std::size_t i, const StreamRange& range) {
    const std::int64_t all = full.ranges[i].end - full.ranges[i].begin, wanted = range.end - range.begin;
    differs = differs || wanted != all;
    scale *= static_cast<double>(all) / static_cast<double>(wanted);
  });
  if (!differs) return tensor;
  const double when = store_.available(tensor, store_.source(tensor, p_.offchip));
  const std::uint32_t slot = store_[tensor].slot;
  StreamTensor part = full;
  each_cut([&](std::size_t i, const StreamRange& range) { part.ranges[i] = range; });
  part.bits = static_cast<std::int64_t>(static_cast<double>(full.bits) / scale);
  const std::uint32_t made = store_.add_part(part, slot);
  store_.add(store_.memory_of(p_.offchip, slot), made, when, when);
  return made;
}

// Rule 7.3. Operands said to be too large are not, if what is needed fits together with the output.
bool Scheduler::still_too_large(std::uint32_t tile, const Tensors& parts, const std::vector<Needed>& full) const {
  const StreamTile& n = p_.tiles[tile];
  if (n.too_large.empty() || parts.empty()) return !n.too_large.empty();
  for (const StreamOperand& o : n.operands)
    for (const StreamBlock& b : n.too_large)
      if (o.is_constant && o.slot == b.slot) return true;
  std::vector<std::int64_t> bits(p_.slots.size(), 0);
  for (std::size_t i = 0; i < parts.size(); ++i) bits[full[i].slot] += store_[parts[i]].bits;
  bits[n.operands[n.output].slot] += store_[n.operands[n.output].tensor].bits;
  for (const std::uint32_t m : p_.cores[n.core].memories) {
    std::int64_t sum = 0;
    for (const std::uint32_t slot : p_.memories[m].slots) sum += bits[slot];
    if (sum > p_.memories[m].size) return true;
  }
  return false;
}

// Rule 7.4.
void Scheduler::barrier(std::uint32_t tile) {
  const StreamTile& n = p_.tiles[tile];
  if (n.sub != 0) return;
  for (const Neighbour& before : neighbours_.before(tile)) {
    const std::uint32_t layer = briefs_[before.tile].layer;
    if (layer != briefs_[tile].layer && last_of_layer_[layer] >= position_[tile]) return;
  }
  double latest = 0;
  for (std::size_t c = 0; c < idle_.size(); ++c)
    if (runs_[c]) latest = std::max(latest, idle_[c]);
  for (std::size_t c = 0; c < idle_.size(); ++c)
    if (runs_[c]) idle_[c] = latest;
}

// Rule 7.5.
double Scheduler::clear(std::uint32_t tile, double when, const Tensors& keep, double part) {
  const StreamTile& n = p_.tiles[tile];
  for (const StreamBlock& b : n.too_large)
    for (const std::uint32_t tensor : store_.held(store_.memory_of(n.core, b.slot), when))
      if (std::find(keep.begin(), keep.end(), tensor) == keep.end())
        when = drop(tensor, n.core, b.slot, when, part, StreamBucket::Eviction);
  return when;
}

// Rule 8. Off-chip bandwidth for the whole run of a tile whose operands stream.
double Scheduler::block(std::uint32_t tile, double when) {
  const StreamTile& n = p_.tiles[tile];
  struct Wanted {
    std::uint32_t link = 0;
    std::vector<std::pair<std::uint32_t, double>> tensors{};  // and bits a cycle
  };
  std::vector<Wanted> wanted;
  const auto want = [&](const StreamBlock& b, std::vector<std::uint32_t> path) {
    std::uint32_t tensor = 0;
    for (const StreamOperand& o : n.operands)
      if (o.slot == b.slot) tensor = o.tensor;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto here = path.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(path.begin(), here, path[i]) != here) continue;
      auto at = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.link == path[i]; });
      if (at == wanted.end()) at = wanted.insert(wanted.end(), {.link = path[i]});
      at->tensors.emplace_back(tensor, b.bits_per_cycle);
    }
  };
  for (const StreamBlock& b : n.too_large)
    if (b.slot == p_.output_slot) want(b, p_.paths[n.core][p_.offchip]);
  for (const StreamBlock& b : n.too_large)
    if (b.slot != p_.output_slot) want(b, p_.paths[p_.offchip][n.core]);
  Demands demands;
  for (const Wanted& w : wanted) {
    const double bandwidth = p_.links[w.link].bandwidth;
    double sum = 0, scaled = 0;
    for (const auto& [tensor, rate] : w.tensors) sum += rate;
    for (const auto& [tensor, rate] : w.tensors) scaled += std::floor(bandwidth / sum * rate);
    demands.emplace_back(w.link, sum > bandwidth ? scaled : sum);
  }
  const double start = window(demands, n.runtime, when), end = start + n.runtime;
  for (const Wanted& w : wanted)
    for (const auto& [tensor, rate] : w.tensors) {
      if (!occupy(w.link, tensor, start, end, rate)) continue;
      const StreamStore::Tensor& t = store_[tensor];
      const bool goes_out = t.slot == p_.output_slot;
      result_.events.push_back({.is_block = true,
                                .start = start,
                                .end = end,
                                .from = goes_out ? n.core : p_.offchip,
                                .to = goes_out ? p_.offchip : n.core,
                                .owner = t.owner,
                                .operand = t.operand,
                                .bits = t.bits,
                                .hops = 1,
                                .activity = rate,
                                .energy_pj = p_.tiles[t.owner].offchip_pj});
    }
  return start;
}

// The latest end of the scheduled readers of an output that stand at this memory; off chip, of all.
double Scheduler::last_use(std::uint32_t tensor, std::uint32_t memory, double now) const {
  const std::uint32_t owner = store_[tensor].owner;
  const std::vector<std::uint32_t>& offchip = p_.cores[p_.offchip].memories;
  const bool is_offchip = std::find(offchip.begin(), offchip.end(), memory) != offchip.end();
  double last = -1;
  for (const Neighbour& next : neighbours_.after(owner)) {
    const Brief& reader = briefs_[next.tile];
    if (reader.layer == briefs_[owner].layer) continue;
    const std::vector<std::uint32_t>& near = p_.cores[reader.core].memories;
    if (is_offchip || std::find(near.begin(), near.end(), memory) != near.end())
      last = std::max(last, result_.end[next.tile]);
  }
  return last >= 0 ? last : now;
}

// Rule 7.9. What nobody will use any more leaves every memory.
void Scheduler::free_used_up(const std::vector<Needed>& full, double now) {
  for (const Needed& need : full) {
    const StreamStore::Tensor& t = store_[need.tensor];
    if (!store_.is_used_up(need.tensor)) continue;
    store_.list_holders(need.tensor, holders_);
    if (holders_.empty()) throw Unschedulable{fmt::format("{} is used up, but nowhere", store_.name_of(need.tensor))};
    for (const std::uint32_t m : holders_)
      store_.remove(store_.memory_of(store_.first_core(m), t.slot), need.tensor,
                    t.is_output ? last_use(need.tensor, m, now) : now);
  }
}

// Rule 7.
void Scheduler::run_tile(std::uint32_t tile, double after) {
  const StreamTile& n = p_.tiles[tile];
  const StreamOperand& out = n.operands[n.output];
  const double part = 1.0 / static_cast<double>(n.split);
  std::vector<Needed>& full = needed_;
  Tensors& parts = parts_;
  list_needed(tile, full);
  parts.clear();
  for (const Needed& need : full) parts.push_back(cut(need.tensor, tile));
  const bool streams = still_too_large(tile, parts, full);
  barrier(tile);
  const double idle = idle_[n.core];
  double when = std::max(idle, after);
  if (streams) when = clear(tile, when, parts, part);
  double earliest = idle;
  for (std::size_t i = 0; i < parts.size(); ++i)
    earliest -= std::ceil(static_cast<double>(store_[parts[i]].bits) /
                          (p_.memories[store_.memory_of(p_.offchip, full[i].slot)].max_bits * part));
  for (std::size_t i = 0; i < parts.size(); ++i)
    when = std::max(when, transfer(parts[i], full[i].slot, n.core, earliest, parts, kNoEntry, part, std::nullopt));
  const bool output_streams = streams && std::any_of(n.too_large.begin(), n.too_large.end(),
                                                     [&](const StreamBlock& b) { return b.slot == out.slot; });
  const std::uint32_t home = output_streams ? p_.offchip : n.core;
  when = make_room(out.tensor, home, out.slot, when, parts);
  const double start = streams ? block(tile, when) : when, end = start + n.runtime;
  store_.add(store_.memory_of(home, out.slot), out.tensor, start, end);
  result_.start[tile] = start;
  result_.end[tile] = idle_[n.core] = end;
  result_.onchip_pj += n.onchip_pj;
  result_.memory_pj[static_cast<std::size_t>(StreamBucket::Offchip)] += n.offchip_pj;
  for (const Needed& need : full) store_.use(need.tensor, store_.memory_of(n.core, need.slot));
  free_used_up(full, end);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i] != full[i].tensor) {
      store_.remove(store_.memory_of(n.core, full[i].slot), parts[i], end);
      store_.remove(store_.memory_of(p_.offchip, full[i].slot), parts[i], end);
    }
  if (is_sink_[briefs_[tile].layer] && n.is_final && !output_streams)
    drop(out.tensor, n.core, out.slot, end, part, StreamBucket::Sink);
}

StreamResult Scheduler::run() {
  using Entry = std::pair<std::uint32_t, std::uint32_t>;  // position, tile
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<std::size_t> waiting(p_.tiles.size());
  for (std::uint32_t t = 0; t < p_.tiles.size(); ++t) {
    waiting[t] = neighbours_.before(t).size();
    if (waiting[t] == 0) ready.emplace(position_[t], t);
  }
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const std::uint32_t tile = ready.top().second;
    ready.pop();
    double after = 0;
    for (const Neighbour& before : neighbours_.before(tile)) after = std::max(after, result_.end[before.tile]);
    run_tile(tile, after);
    for (const Neighbour& next : neighbours_.after(tile))
      if (--waiting[next.tile] == 0) ready.emplace(position_[next.tile], next.tile);
  }
  if (done != p_.tiles.size()) throw Unschedulable{"the tiles wait for each other in a circle"};
  // Rule 15.
  for (const double end : result_.end) result_.latency = std::max(result_.latency, end);
  for (const StreamEvent& event : result_.events) result_.latency = std::max(result_.latency, event.end);
  result_.energy_pj = result_.onchip_pj;
  for (std::size_t b = 0; b < kStreamBuckets; ++b) result_.energy_pj += result_.link_pj[b] + result_.memory_pj[b];
  for (std::uint32_t m = 0; m < p_.memories.size(); ++m) result_.peak_bits.push_back(store_.peak_bits(m));
  return std::move(result_);
}

}  // namespace

StreamResult run_stream(const StreamProblem& problem) {
  try {
    return Scheduler(problem).run();
  } catch (const Unschedulable& e) {
    StreamResult result;
    result.failure = e.reason;
    return result;
  }
}

}  // namespace monet::schedule
