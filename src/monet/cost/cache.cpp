#include "monet/cost/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>
#include <utility>

#include "monet/base/config.h"
#include "monet/base/config_section.h"
#include "monet/base/diagnostic.h"
#include "monet/base/json.h"
#include "monet/base/sha256.h"
#include "monet/hardware/yaml.h"

namespace monet::cost {
namespace {

constexpr std::string_view kKind = "monet cost cache";

// Names are quoted, so that none runs into what stands beside it.
void append(std::string& text, const Layer& layer) {
  const auto add = std::back_inserter(text);
  for (const work::Dimension& d : layer.dimensions)
    fmt::format_to(add, "dimension {} {}\n", json_quoted(d.name), d.size);
  for (const Operand& o : layer.operands) {
    fmt::format_to(add, "operand {} {} {} {}\n", json_quoted(o.name), name(o.slot), o.bits, o.partial_bits);
    for (const work::Axis& axis : o.axes) {
      fmt::format_to(add, "axis {} {}", axis.extent, axis.offset);
      for (const work::Term& term : axis.terms) fmt::format_to(add, " {}*{}", term.coefficient, term.dimension);
      text += '\n';
    }
  }
  fmt::format_to(add, "stored {}\n", layer.starts_from_stored);
}

void append(std::string& text, const std::vector<hardware::Unrolling>& loops) {
  for (const hardware::Unrolling& u : loops) text += fmt::format(" {} {}", json_quoted(u.dimension), u.factor);
  text += '\n';
}

void append(std::string& text, const MappingRequest& request) {
  for (const auto& [dimension, loops] : request.spatial) {
    text += "spatial " + json_quoted(dimension);
    append(text, loops);
  }
  for (const auto& [dimension, names] : request.hints) {
    text += "hint " + json_quoted(dimension);
    for (const std::string& each : names) text += " " + json_quoted(each);
    text += '\n';
  }
  for (const LoopPattern& loop : request.ordering)
    text += fmt::format("order {} {}\n", loop.dimension ? json_quoted(*loop.dimension) : "*", loop.factor.value_or(0));
  for (const Placement& placement : request.placements) {
    text += fmt::format("placement {} {}", json_quoted(placement.operand), json_quoted(placement.memory));
    append(text, placement.loops);
  }
  for (const auto& [operand, slot] : request.slots)
    text += fmt::format("slot {} {}\n", json_quoted(operand), name(slot));
}

// All of it but the watch.
void append(std::string& text, const MapOptions& o) {
  text += fmt::format("options {} {} {} {} {} {} {} {}\n", static_cast<int>(o.criterion), o.limit, o.even,
                      o.spatial.generated, o.spatial.mixed, o.spatial.least_filled, o.clock_hz, o.most_labels);
  for (const auto& [label, quirk] : kQuirkNames) text += fmt::format("quirk {} {}\n", label, o.quirks.*quirk);
}

constexpr double kUsualBits = 64;  // that elements have at most; of wider ones the sizes of all memories are in the key

bool has_wide_elements(const Layer& layer) {
  return std::any_of(layer.operands.begin(), layer.operands.end(),
                     [](const Operand& o) { return std::max(o.bits, o.partial_bits) > kUsualBits; });
}

// Whether everything that could be unrolled at once fits: then the size is asked about tiles only.
bool is_roomy(const hardware::Core& core, std::size_t m, const MapOptions& options) {
  if (options.quirks != Quirks{} || !core.array) return false;
  double lanes = 1;
  for (const hardware::ArrayDimension& d : core.array->dimensions) lanes *= static_cast<double>(d.size);
  if (static_cast<double>(core.memories[m].size_bits) < lanes * kUsualBits) return false;
  for (const hardware::Slot slot : core.memories[m].slots)
    for (std::size_t above = m + 1; above < core.memories.size(); ++above)
      if (hardware::holds(core.memories[above], slot)) return false;
  return true;
}

std::string key_of(const Layer& layer, const CoreKey& core, const MappingRequest& request) {
  std::string text = core.digest + "\n";
  append(text, layer);
  append(text, request);
  return sha256_hex(text);
}

bool is_for(const CachedMapping& entry, const std::vector<double>& sizes) {
  if (entry.rooms.size() != sizes.size()) return false;
  for (std::size_t m = 0; m < sizes.size(); ++m)
    if (sizes[m] < entry.rooms[m].held || sizes[m] >= entry.rooms[m].refused) return false;
  return true;
}

std::vector<double> sizes_of(const hardware::Core& core, const std::vector<std::size_t>& memories) {
  std::vector<double> sizes;
  for (const std::size_t m : memories) sizes.push_back(static_cast<double>(core.memories[m].size_bits));
  return sizes;
}

CoreKey key_with(const hardware::Core& core, const MapOptions& options, bool shares_sizes) {
  CoreKey out;
  hardware::Hardware chip;
  chip.cores.push_back(core);
  hardware::Core& bare = chip.cores[0];
  bare.name = "core";
  bare.vector.reset();
  if (bare.array) bare.array->mac_area_mm2 = {};
  for (std::size_t m = 0; m < bare.memories.size(); ++m) {
    bare.memories[m].area_mm2 = {};
    if (!(options.clock_hz > 0)) bare.memories[m].leakage_mw = {};  // else it is part of energies
    if (shares_sizes && is_roomy(core, m, options)) out.roomy.push_back(m);
  }
  for (const std::size_t m : out.roomy) bare.memories[m].size_bits = 0;
  std::string text = fmt::format("version {}\n", kCacheVersion) + hardware::print(chip);
  append(text, options);
  out.digest = sha256_hex(text);
  return out;
}

}  // namespace

CoreKey key_of(const hardware::Core& core, const MapOptions& options) { return key_with(core, options, true); }

std::string content_key(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                        const MapOptions& options) {
  return key_of(layer, key_with(core, options, !has_wide_elements(layer)), request);
}

// What is known of the key; or nothing, and the caller is to search it and to `settle` it.
std::optional<CachedMapping> Cache::find_or_claim(const std::string& key, const std::vector<double>& sizes) {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [&] { return !claimed_.contains(key); });
  if (const auto found = entries_.find(key); found != entries_.end())
    for (const CachedMapping& entry : found->second)
      if (is_for(entry, sizes)) return entry;
  claimed_.insert(key);
  return std::nullopt;
}

void Cache::settle(const std::string& key, std::optional<CachedMapping> entry) {
  {
    const std::unique_lock lock(mutex_);
    claimed_.erase(key);
    if (entry) entry->is_own = true;
    if (keeps_found_ && entry && !entry->is_stopped) found_.push_back({key, *entry});
    if (entry) insert(key, std::move(*entry));
  }
  settled_.notify_all();
}

void Cache::insert(const std::string& key, CachedMapping entry) {
  std::vector<CachedMapping>& list = entries_[key];
  const auto at = std::lower_bound(list.begin(), list.end(), entry,
                                   [](const CachedMapping& a, const CachedMapping& b) { return a.rooms < b.rooms; });
  if (at != list.end() && at->rooms == entry.rooms)
    *at = std::move(entry);
  else
    list.insert(at, std::move(entry));
}

void Cache::add_new(KeyedMapping each) {
  const auto known = entries_.find(each.key);
  const auto is_it = [&](const CachedMapping& entry) { return entry.rooms == each.mapping.rooms; };
  if (known == entries_.end() || std::none_of(known->second.begin(), known->second.end(), is_it))
    insert(each.key, std::move(each.mapping));
}

MapResult Cache::map(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                     const MapOptions& options) {
  return map(layer, core, key_of(core, options), request, options);
}

MapResult Cache::map(const Layer& layer, const hardware::Core& core, const CoreKey& core_key,
                     const MappingRequest& request, const MapOptions& options) {
  if (!core_key.roomy.empty() && has_wide_elements(layer))
    return map(layer, core, key_with(core, options, false), request, options);
  const std::string key = key_of(layer, core_key, request);
  const std::vector<double> sizes = sizes_of(core, core_key.roomy);
  while (const std::optional<CachedMapping> known = find_or_claim(key, sizes)) {
    if (std::optional<MapResult> result = rebuild(*known, layer, core, request, options)) {
      hits_.fetch_add(1);
      return std::move(*result);
    }
    const std::unique_lock lock(mutex_);
    if (const auto wrong = entries_.find(key); wrong != entries_.end()) {
      std::erase_if(wrong->second, [&](const CachedMapping& entry) { return is_for(entry, sizes); });
      if (wrong->second.empty()) entries_.erase(wrong);
    }
  }
  searched_.fetch_add(1);
  try {
    MapResult result = map_layer(layer, core, request, options);
    settle(key, cached(result, core_key.roomy));
    return result;
  } catch (...) {
    settle(key, std::nullopt);  // whoever waits for it is to find the fault itself
    throw;
  }
}

void Cache::forget_stopped() {
  const std::unique_lock lock(mutex_);
  for (auto& [key, list] : entries_) std::erase_if(list, [](const CachedMapping& entry) { return entry.is_stopped; });
  std::erase_if(entries_, [](const auto& each) { return each.second.empty(); });
}

std::size_t Cache::size() const {
  const std::unique_lock lock(mutex_);
  std::size_t count = 0;
  for (const auto& [key, list] : entries_) count += list.size();
  return count;
}

std::string Cache::text() const {
  const std::unique_lock lock(mutex_);
  // One entry a line.
  std::string text = fmt::format("{{\"kind\": {}, \"version\": {}, \"entries\": [", json_quoted(kKind), kCacheVersion);
  const char* separator = "\n";
  for (const auto& [key, list] : entries_)
    for (const CachedMapping& entry : list) {
      // JSON has no word for infinity: such a figure is searched again.
      if (entry.is_stopped || !std::isfinite(entry.costs.latency + entry.costs.energy_pj + entry.bound)) continue;
      text += separator + to_json(key, entry).dump();
      separator = ",\n";
    }
  return text + "\n]}\n";
}

std::size_t Cache::add(std::string_view text, const std::string& path, bool sealed) {
  const config::Tree tree = config::parse_json(text, path);
  config::Findings findings;
  config::Section file(tree.root(), "the cost cache", config::Dialect::Strict, findings);
  const std::optional<std::string> kind = file.require_text("kind");
  const std::optional<std::int64_t> version = file.require_integer("version", {0, 1 << 20});
  const std::vector<config::Value> items = file.list("entries");
  if (kind && *kind != kKind) findings.error(tree.root(), "not a cost cache");
  if (version == kCacheVersion || !version) file.finish();
  findings.throw_if_failed();
  if (*version != kCacheVersion) return items.size();
  std::vector<KeyedMapping> read;
  for (const config::Value& item : items) read.push_back(read_cached(item, sealed, findings));
  findings.throw_if_failed();
  const std::unique_lock lock(mutex_);
  for (KeyedMapping& each : read) add_new(std::move(each));
  return 0;
}

void Cache::keep_found() {
  const std::unique_lock lock(mutex_);
  keeps_found_ = true;
}

std::vector<KeyedMapping> Cache::take_found() {
  const std::unique_lock lock(mutex_);
  return std::exchange(found_, {});
}

void Cache::learn(std::vector<KeyedMapping> found) {
  const std::unique_lock lock(mutex_);
  for (KeyedMapping& each : found) {
    each.mapping.is_own = true;
    add_new(std::move(each));
  }
}

}  // namespace monet::cost
