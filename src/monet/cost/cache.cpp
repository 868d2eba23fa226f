#include "monet/cost/cache.h"

#include <fmt/format.h>

#include <cmath>
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
  for (const work::Dimension& d : layer.dimensions)
    text += fmt::format("dimension {} {}\n", json_quoted(d.name), d.size);
  for (const Operand& o : layer.operands) {
    text += fmt::format("operand {} {} {} {}\n", json_quoted(o.name), name(o.slot), o.bits, o.partial_bits);
    for (const work::Axis& axis : o.axes) {
      text += fmt::format("axis {} {}", axis.extent, axis.offset);
      for (const work::Term& term : axis.terms) text += fmt::format(" {}*{}", term.coefficient, term.dimension);
      text += '\n';
    }
  }
  text += fmt::format("stored {}\n", layer.starts_from_stored);
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

}  // namespace

std::string content_key(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                        const MapOptions& options) {
  hardware::Hardware chip;
  chip.cores.push_back(core);
  std::string text = fmt::format("version {}\n", kCacheVersion) + hardware::print(chip);
  append(text, layer);
  append(text, request);
  append(text, options);
  return sha256_hex(text);
}

// What is known of the key; or nothing, and the caller is to search it and to `settle` it.
std::optional<CachedMapping> Cache::find_or_claim(const std::string& key) {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [&] { return !claimed_.contains(key); });
  if (const auto found = entries_.find(key); found != entries_.end()) return found->second;
  claimed_.insert(key);
  return std::nullopt;
}

void Cache::settle(const std::string& key, std::optional<CachedMapping> entry) {
  {
    const std::unique_lock lock(mutex_);
    claimed_.erase(key);
    if (keeps_found_ && entry && !entry->is_stopped) found_.push_back({key, *entry});
    if (entry) entries_.insert_or_assign(key, std::move(*entry));
  }
  settled_.notify_all();
}

MapResult Cache::map(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                     const MapOptions& options) {
  const std::string key = content_key(layer, core, request, options);
  while (const std::optional<CachedMapping> known = find_or_claim(key)) {
    if (std::optional<MapResult> result = rebuild(*known, layer, core, request, options)) {
      hits_.fetch_add(1);
      return std::move(*result);
    }
    const std::unique_lock lock(mutex_);
    entries_.erase(key);
  }
  searched_.fetch_add(1);
  try {
    MapResult result = map_layer(layer, core, request, options);
    settle(key, cached(result));
    return result;
  } catch (...) {
    settle(key, std::nullopt);  // whoever waits for it is to find the fault itself
    throw;
  }
}

void Cache::forget_stopped() {
  const std::unique_lock lock(mutex_);
  std::erase_if(entries_, [](const auto& each) { return each.second.is_stopped; });
}

std::size_t Cache::size() const {
  const std::unique_lock lock(mutex_);
  return entries_.size();
}

std::string Cache::text() const {
  const std::unique_lock lock(mutex_);
  // One entry a line.
  std::string text = fmt::format("{{\"kind\": {}, \"version\": {}, \"entries\": [", json_quoted(kKind), kCacheVersion);
  const char* separator = "\n";
  for (const auto& [key, entry] : entries_) {
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
  std::map<std::string, CachedMapping, std::less<>> read;
  for (const config::Value& item : items) {
    KeyedMapping entry = read_cached(item, sealed, findings);
    read.insert_or_assign(std::move(entry.key), std::move(entry.mapping));
  }
  findings.throw_if_failed();
  const std::unique_lock lock(mutex_);
  entries_.merge(read);
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
  for (KeyedMapping& each : found) entries_.try_emplace(std::move(each.key), std::move(each.mapping));
}

}  // namespace monet::cost
