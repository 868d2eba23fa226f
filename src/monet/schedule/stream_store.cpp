#include "monet/schedule/stream_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace monet::schedule {

StreamStore::StreamStore(const StreamProblem& p)
    : p_(p), memory_by_slot_(p.cores.size() * p.slots.size(), kNoEntry), memories_(p.memories.size()) {
  for (std::uint32_t c = 0; c < p.cores.size(); ++c)
    for (const std::uint32_t m : p.cores[c].memories) {
      if (memories_[m].first_core == kNoEntry) memories_[m].first_core = c;
      for (const std::uint32_t slot : p.memories[m].slots) {
        std::uint32_t& at = memory_by_slot_[c * p.slots.size() + slot];
        if (at == kNoEntry) at = m;
      }
    }
  std::vector<std::uint32_t> slot(p.tensors.size(), 0);
  for (std::uint32_t i = 0; i < p.tiles.size(); ++i)
    for (const StreamOperand& o : p.tiles[i].operands)
      if (p.tensors[o.tensor].owner == i) slot[o.tensor] = o.slot;
  std::uint32_t contents = 0;
  for (const StreamTensor& t : p.tensors) contents = std::max(contents, t.content + 1);
  holders_.assign(contents, kNoEntry);
  tensors_.reserve(p.tensors.size());
  for (std::uint32_t t = 0; t < p.tensors.size(); ++t) add_tensor(p.tensors[t], slot[t], p.tensors[t].content);
}

void StreamStore::add_tensor(const StreamTensor& t, std::uint32_t slot, std::uint32_t content) {
  const StreamTile& owner = p_.tiles[t.owner];
  tensors_.push_back({.bits = t.bits,
                      .owner = t.owner,
                      .operand = t.operand,
                      .slot = slot,
                      .content = content,
                      .is_output = t.operand == owner.operands[owner.output].operand});
}

std::uint32_t StreamStore::add_part(const StreamTensor& part, std::uint32_t slot) {
  if (contents_.empty())
    for (const StreamTensor& t : p_.tensors)
      contents_.try_emplace({p_.tiles[t.owner].layer, t.operand, t.ranges}, t.content);
  const auto [at, is_new] = contents_.try_emplace({p_.tiles[part.owner].layer, part.operand, part.ranges},
                                                  static_cast<std::uint32_t>(holders_.size()));
  if (is_new) holders_.push_back(kNoEntry);
  add_tensor(part, slot, at->second);
  return static_cast<std::uint32_t>(tensors_.size() - 1);
}

std::string StreamStore::name_of(std::uint32_t tensor) const {
  const StreamTile& owner = p_.tiles[tensors_[tensor].owner];
  return fmt::format("tensor {} of tile {} of layer {}", p_.operands[tensors_[tensor].operand], owner.sub, owner.layer);
}

void StreamStore::throw_no_memory(std::uint32_t core, std::uint32_t slot) const {
  throw Unschedulable{fmt::format("core {} has no memory for {}", p_.cores[core].id, p_.slots[slot])};
}

void StreamStore::list_holders(std::uint32_t tensor, std::vector<std::uint32_t>& memories) const {
  memories.clear();
  for (std::uint32_t h = holders_[tensors_[tensor].content]; h != kNoEntry; h = held_[h].next_holder)
    memories.push_back(held_[h].memory);
}

std::uint32_t StreamStore::source(std::uint32_t tensor, std::uint32_t sender) const {
  const Tensor& t = tensors_[tensor];
  if (sender != kNoEntry) {
    const std::uint32_t memory = memory_of(sender, t.slot);
    if (find(t.content, memory) == kNoEntry)
      throw Unschedulable{fmt::format("{} is not on core {}", name_of(tensor), p_.cores[sender].id)};
    return memory;
  }
  std::uint32_t best = kNoEntry;
  for (std::uint32_t h = holders_[t.content]; h != kNoEntry; h = held_[h].next_holder)
    if (best == kNoEntry || held_[h].available < held_[best].available) best = h;
  if (best == kNoEntry) throw Unschedulable{fmt::format("{} is nowhere", name_of(tensor))};
  return held_[best].memory;
}

std::int64_t StreamStore::uses(std::uint32_t tensor, std::uint32_t memory) const {
  const Tensor& t = tensors_[tensor];
  std::int64_t elsewhere = 0;
  for (std::uint32_t u = t.first_use; u != kNoEntry; u = uses_[u].next) {
    if (uses_[u].memory == memory) return uses_[u].count;
    if (find(t.content, uses_[u].memory) == kNoEntry) elsewhere += uses_[u].count;
  }
  return elsewhere;
}

bool StreamStore::is_used_up(std::uint32_t tensor) const {
  std::int64_t left = 0;
  for (std::uint32_t u = tensors_[tensor].first_use; u != kNoEntry; u = uses_[u].next) left += uses_[u].count;
  return left == 0;
}

std::int64_t& StreamStore::uses_entry(std::uint32_t tensor, std::uint32_t memory) {
  std::uint32_t* at = &tensors_[tensor].first_use;
  while (*at != kNoEntry && uses_[*at].memory != memory) at = &uses_[*at].next;
  if (*at != kNoEntry) return uses_[*at].count;
  *at = static_cast<std::uint32_t>(uses_.size());
  return uses_.emplace_back(Uses{.memory = memory}).count;
}

void StreamStore::use(std::uint32_t tensor, std::uint32_t memory) {
  const std::uint32_t u = find_uses(tensor, memory), content = tensors_[tensor].content;
  if (u == kNoEntry)
    throw Unschedulable{fmt::format("{} is not expected in {}", name_of(tensor), p_.memories[memory].name)};
  --uses_[u].count;
  const std::uint32_t h = find(content, memory);
  if (h != kNoEntry)
    touch(h);
  else
    touch_without_readers(content);
}

// Its rank is looked at only when something is evicted, and nothing leaves off-chip memory.
void StreamStore::touch(std::uint32_t h) {
  Memory& memory = memories_[held_[h].memory];
  if (held_[h].is_dirty || memory.first_core == p_.offchip) return;
  held_[h].is_dirty = true;
  memory.dirty.push_back(h);
}

// The rank of what has no readers in its memory depends on who else holds it (2).
void StreamStore::touch_without_readers(std::uint32_t content) {
  for (std::uint32_t h = holders_[content]; h != kNoEntry; h = held_[h].next_holder)
    if (!held_[h].has_readers) touch(h);
}

void StreamStore::unrank(Held& held) {
  if (!held.is_ranked) return;
  Chunks<Ranked>& ranked = memories_[held.memory].ranked;
  ranked.erase(ranked.not_below(held.rank));
  held.is_ranked = false;
}

void StreamStore::settle(std::uint32_t memory) {
  Memory& m = memories_[memory];
  for (const std::uint32_t h : m.dirty) {
    Held& held = held_[h];
    if (!held.is_dirty || held.memory != memory) continue;  // it left in the meantime, and may be another
    held.is_dirty = false;
    const double score =
        static_cast<double>(uses(held.tensor, memory)) * static_cast<double>(tensors_[held.tensor].bits);
    if (held.is_ranked && score == held.rank.score) continue;
    unrank(held);
    held.rank.score = score;
    m.ranked.insert(m.ranked.not_below(held.rank), {held.rank, h});
    held.is_ranked = true;
  }
  m.dirty.clear();
}

std::uint32_t StreamStore::new_held(const Held& held) {
  if (free_held_ == kNoEntry) {
    held_.push_back(held);
    return static_cast<std::uint32_t>(held_.size() - 1);
  }
  const std::uint32_t h = free_held_;
  free_held_ = held_[h].next_holder;
  held_[h] = held;
  return h;
}

void StreamStore::add(std::uint32_t memory, std::uint32_t tensor, double since, double available) {
  const Tensor& t = tensors_[tensor];
  if (find(t.content, memory) != kNoEntry) return;
  Memory& m = memories_[memory];
  const auto bits = static_cast<double>(t.bits);
  if (m.usage.highest_from(since) + bits > static_cast<double>(p_.memories[memory].size))
    throw Unschedulable{
        fmt::format("{} does not fit {} at cycle {}", name_of(tensor), p_.memories[memory].name, since)};
  m.usage.change(since, bits);
  const std::uint32_t h = new_held({.tensor = tensor,
                                    .memory = memory,
                                    .came_before = m.last_came,
                                    .has_readers = find_uses(tensor, memory) != kNoEntry,
                                    .since = since,
                                    .available = available,
                                    .rank = {.bits = t.bits, .arrival = ++m.arrivals}});
  (m.last_came == kNoEntry ? m.first_came : held_[m.last_came].came_after) = h;
  m.last_came = h;
  std::uint32_t* at = &holders_[t.content];
  while (*at != kNoEntry && held_[*at].memory < memory) at = &held_[*at].next_holder;
  held_[h].next_holder = *at;
  *at = h;
  touch(h);
  touch_without_readers(t.content);
}

void StreamStore::remove(std::uint32_t memory, std::uint32_t tensor, double when) {
  const Tensor& t = tensors_[tensor];
  std::uint32_t* at = &holders_[t.content];
  while (*at != kNoEntry && held_[*at].memory != memory) at = &held_[*at].next_holder;
  if (*at == kNoEntry) return;
  Memory& m = memories_[memory];
  m.usage.change(when, -static_cast<double>(t.bits));
  const std::uint32_t h = *at;
  Held& held = held_[h];
  unrank(held);
  *at = held.next_holder;
  (held.came_before == kNoEntry ? m.first_came : held_[held.came_before].came_after) = held.came_after;
  (held.came_after == kNoEntry ? m.last_came : held_[held.came_after].came_before) = held.came_before;
  held = {.next_holder = free_held_};
  free_held_ = h;
  touch_without_readers(t.content);
}

double StreamStore::room_from(std::uint32_t memory, std::int64_t bits, double when) const {
  return memories_[memory].usage.room_from(static_cast<double>(bits), when,
                                           static_cast<double>(p_.memories[memory].size));
}

std::vector<std::uint32_t> StreamStore::victims(std::uint32_t tensor, std::uint32_t core, double when,
                                                const std::vector<std::uint32_t>& keep) {
  const Tensor& t = tensors_[tensor];
  const std::uint32_t memory = memory_of(core, t.slot);
  const std::int64_t size = p_.memories[memory].size;
  if (size < t.bits)
    throw Unschedulable{fmt::format("{} ({} bits) is larger than {} ({} bits)", name_of(tensor), t.bits,
                                    p_.memories[memory].name, size)};
  std::vector<std::uint32_t> chosen;
  double excess = static_cast<double>(t.bits) - (static_cast<double>(size) - memories_[memory].usage.level_at(when));
  if (excess <= 0) return chosen;
  settle(memory);
  const Chunks<Ranked>& ranked = memories_[memory].ranked;
  for (auto at = ranked.begin(); at != ranked.end(); at = ranked.next(at)) {
    const Held& held = held_[ranked[at].held];
    if (held.since > when || std::find(keep.begin(), keep.end(), held.tensor) != keep.end()) continue;
    chosen.push_back(held.tensor);
    excess -= static_cast<double>(tensors_[held.tensor].bits);
    if (excess <= 0) return chosen;
  }
  throw Unschedulable{fmt::format("nothing more can be evicted from {} of core {} for {}", p_.memories[memory].name,
                                  p_.cores[core].id, name_of(tensor))};
}

std::vector<std::uint32_t> StreamStore::held(std::uint32_t memory, double when) const {
  std::vector<std::uint32_t> tensors;
  for (std::uint32_t h = memories_[memory].first_came; h != kNoEntry; h = held_[h].came_after)
    if (held_[h].since <= when) tensors.push_back(held_[h].tensor);
  return tensors;
}

std::int64_t StreamStore::peak_bits(std::uint32_t memory) const {
  return static_cast<std::int64_t>(memories_[memory].usage.peak());
}

}  // namespace monet::schedule
