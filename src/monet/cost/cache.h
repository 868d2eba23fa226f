#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "monet/cost/map.h"

namespace monet::cost {

// Mappings found so far, by what they are of: the layer without its name, the core, the request and the options. Shared
// by threads; a file of it can be read by a later run. What is stored is the mapping, not its cost: that is computed
// anew.
class Cache {
 public:
  // Looks the mapping up, or searches it and keeps it.
  MapResult map(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                const MapOptions& options);

  std::size_t size() const;
  std::uint64_t hits() const { return hits_; }

  std::string text() const;  // JSON, sorted by key: equal caches are equal bytes
  // Adds what `text` holds; InputError if it is no cache, entries of another version are left out.
  void add(std::string_view text, const std::string& path);

 private:
  struct Entry {
    std::string reason{};  // why there is no mapping
    Spatial spatial{};
    std::vector<TemporalLoop> order{};
    Cuts cuts{};
    std::array<std::array<bool, kMaxMemories>, kMaxOperands> doubled{};
    std::size_t spatials = 0;
    std::uint64_t evaluated = 0;
    bool is_proven = false;
    Costs bound{};
  };
  static std::optional<MapResult> rebuild(const Entry& entry, const Layer& layer, const hardware::Core& core,
                                          const MappingRequest& request, const MapOptions& options);

  mutable std::shared_mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::atomic<std::uint64_t> hits_ = 0;
};

// The key: a digest of everything that decides the result.
std::string content_key(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                        const MapOptions& options);

}  // namespace monet::cost
