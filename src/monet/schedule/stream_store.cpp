#include "monet/schedule/stream_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace monet::schedule {

StreamStore::StreamStore(const StreamProblem& p)
    : p_(p), memory_by_slot_(p.cores.size() * p.slots.size(), kNone), memories_(p.memories.size()) {
  for (std::uint32_t c = 0; c < p.cores.size(); ++c)
    for (const std::uint32_t m : p.cores[c].memories) {
      if (memories_[m].first_core == kNone) memories_[m].first_core = c;
      for (const std::uint32_t slot : p.memories[m].slots) {
        std::uint32_t& at = memory_by_slot_[c * p.slots.size() + slot];
        if (at == kNone) at = m;
      }
    }
  std::vector<std::uint32_t> slot(p.tensors.size(), 0);
  for (std::uint32_t i = 0; i < p.tiles.size(); ++i)
    for (const StreamOperand& o : p.tiles[i].operands)
      if (p.tensors[o.tensor].owner == i) slot[o.tensor] = o.slot;
  std::uint32_t contents = 0;
  for (const StreamTensor& t : p.tensors) contents = std::max(contents, t.content + 1);
  holders_.resize(contents);
  for (Memory& memory : memories_) memory.held.resize(contents);
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
  if (is_new) {
    holders_.emplace_back();
    for (Memory& memory : memories_) memory.held.emplace_back();
  }
  add_tensor(part, slot, at->second);
  return static_cast<std::uint32_t>(tensors_.size() - 1);
}

std::string StreamStore::name_of(std::uint32_t tensor) const {
  const StreamTile& owner = p_.tiles[tensors_[tensor].owner];
  return fmt::format("tensor {} of tile {} of layer {}", p_.operands[tensors_[tensor].operand], owner.sub, owner.layer);
}

std::uint32_t StreamStore::memory_of(std::uint32_t core, std::uint32_t slot) const {
  const std::uint32_t memory = memory_by_slot_[core * p_.slots.size() + slot];
  if (memory == kNone)
    throw Unschedulable{fmt::format("core {} has no memory for {}", p_.cores[core].id, p_.slots[slot])};
  return memory;
}

bool StreamStore::is_on(std::uint32_t tensor, std::uint32_t core) const {
  const Tensor& t = tensors_[tensor];
  return memories_[memory_of(core, t.slot)].held[t.content].tensor != kNone;
}

std::uint32_t StreamStore::source(std::uint32_t tensor, std::uint32_t sender) const {
  const Tensor& t = tensors_[tensor];
  if (sender != kNone) {
    const std::uint32_t memory = memory_of(sender, t.slot);
    if (memories_[memory].held[t.content].tensor == kNone)
      throw Unschedulable{fmt::format("{} is not on core {}", name_of(tensor), p_.cores[sender].id)};
    return memory;
  }
  std::uint32_t best = kNone;
  for (const std::uint32_t m : holders_[t.content])
    if (best == kNone || available(tensor, m) < available(tensor, best)) best = m;
  if (best == kNone) throw Unschedulable{fmt::format("{} is nowhere", name_of(tensor))};
  return best;
}

std::int64_t StreamStore::uses(std::uint32_t tensor, std::uint32_t memory) const {
  const Tensor& t = tensors_[tensor];
  const std::vector<std::uint32_t>& holders = holders_[t.content];
  std::int64_t elsewhere = 0;
  for (const Tensor::Uses& u : t.uses) {
    if (u.memory == memory) return u.count;
    if (std::find(holders.begin(), holders.end(), u.memory) == holders.end()) elsewhere += u.count;
  }
  return elsewhere;
}

std::int64_t& StreamStore::uses_entry(std::uint32_t tensor, std::uint32_t memory) {
  for (Tensor::Uses& u : tensors_[tensor].uses)
    if (u.memory == memory) return u.count;
  return tensors_[tensor].uses.emplace_back(Tensor::Uses{.memory = memory}).count;
}

void StreamStore::use(std::uint32_t tensor, std::uint32_t memory) {
  Tensor& t = tensors_[tensor];
  const auto at = std::find_if(t.uses.begin(), t.uses.end(), [&](const auto& u) { return u.memory == memory; });
  if (at == t.uses.end())
    throw Unschedulable{fmt::format("{} is not expected in {}", name_of(tensor), p_.memories[memory].name)};
  --at->count;
  touch(t.content);
}

// A rank changes when the uses of a tensor do, or the memories that hold its content. It is looked at only when
// something is evicted, and nothing leaves off-chip memory.
void StreamStore::touch(std::uint32_t content) {
  for (const std::uint32_t m : holders_[content]) {
    Held& held = memories_[m].held[content];
    if (held.is_dirty || memories_[m].first_core == p_.offchip) continue;
    held.is_dirty = true;
    memories_[m].dirty.push_back(content);
  }
}

void StreamStore::settle(std::uint32_t memory) {
  Memory& m = memories_[memory];
  for (const std::uint32_t content : m.dirty) {
    Held& held = m.held[content];
    if (!held.is_dirty) continue;  // it left in the meantime
    held.is_dirty = false;
    const std::int64_t bits = tensors_[held.tensor].bits;
    const Rank rank{static_cast<double>(uses(held.tensor, memory)) * static_cast<double>(bits), bits, held.arrival,
                    content};
    if (held.is_ranked && rank == held.rank) continue;
    if (held.is_ranked) m.ranked.erase(held.rank);
    m.ranked.insert(rank);
    held.rank = rank;
    held.is_ranked = true;
  }
  m.dirty.clear();
}

void StreamStore::add(std::uint32_t memory, std::uint32_t tensor, double since, double available) {
  const Tensor& t = tensors_[tensor];
  Memory& m = memories_[memory];
  Held& held = m.held[t.content];
  if (held.tensor != kNone) return;
  const auto bits = static_cast<double>(t.bits);
  if (m.usage.highest_from(since) + bits > static_cast<double>(p_.memories[memory].size))
    throw Unschedulable{
        fmt::format("{} does not fit {} at cycle {}", name_of(tensor), p_.memories[memory].name, since)};
  m.usage.change(since, bits);
  held = {.tensor = tensor, .since = since, .available = available, .arrival = ++m.arrivals};
  std::vector<std::uint32_t>& holders = holders_[t.content];
  holders.insert(std::upper_bound(holders.begin(), holders.end(), memory), memory);
  touch(t.content);
}

void StreamStore::remove(std::uint32_t memory, std::uint32_t tensor, double when) {
  const Tensor& t = tensors_[tensor];
  Memory& m = memories_[memory];
  Held& held = m.held[t.content];
  if (held.tensor == kNone) return;
  m.usage.change(when, -static_cast<double>(t.bits));
  if (held.is_ranked) m.ranked.erase(held.rank);
  held = {};
  std::erase(holders_[t.content], memory);
  touch(t.content);
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
  for (const Rank& rank : memories_[memory].ranked) {
    const Held& held = memories_[memory].held[std::get<3>(rank)];
    if (held.since > when || std::find(keep.begin(), keep.end(), held.tensor) != keep.end()) continue;
    chosen.push_back(held.tensor);
    excess -= static_cast<double>(tensors_[held.tensor].bits);
    if (excess <= 0) return chosen;
  }
  throw Unschedulable{fmt::format("nothing more can be evicted from {} of core {} for {}", p_.memories[memory].name,
                                  p_.cores[core].id, name_of(tensor))};
}

std::vector<std::uint32_t> StreamStore::held(std::uint32_t memory, double when) const {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> all;
  for (const Held& held : memories_[memory].held)
    if (held.tensor != kNone && held.since <= when) all.emplace_back(held.arrival, held.tensor);
  std::sort(all.begin(), all.end());
  std::vector<std::uint32_t> tensors;
  for (const auto& [arrival, tensor] : all) tensors.push_back(tensor);
  return tensors;
}

std::int64_t StreamStore::peak_bits(std::uint32_t memory) const {
  return static_cast<std::int64_t>(memories_[memory].usage.peak());
}

}  // namespace monet::schedule
