#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "monet/cost/cached_mapping.h"
#include "monet/cost/map.h"

namespace monet::cost {

// What keys have of a core and the options, made once for many layers: without what decides no mapping, and without the
// sizes of its roomy memories, those above which no slot of theirs has another. Tiles of a layer are whole there,
// whatever the mapping: their size says whether one fits and nothing else, so that chips which differ in it share what
// is found.
struct CoreKey {
  std::string digest{};
  std::vector<std::size_t> roomy{};  // of Core::memories
};
CoreKey key_of(const hardware::Core& core, const MapOptions& options);

// Mappings found so far, by what they are of: the layer without its name, the core, the request and the options. Shared
// by threads: what several ask for at once is searched once. A file of it can be read by a later run. What is stored is
// the mapping, not its figures: those are computed anew, and a mapping that is not legal, or whose figures are not
// those it was stored for, is searched again.
class Cache {
 public:
  // Looks the mapping up, or searches it and keeps it. What the watch cut short is kept, too, but not for a file.
  MapResult map(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                const MapOptions& options);
  // `core_key`: of this core and these options.
  MapResult map(const Layer& layer, const hardware::Core& core, const CoreKey& core_key, const MappingRequest& request,
                const MapOptions& options);
  void forget_stopped();  // there is more time

  std::size_t size() const;
  std::uint64_t hits() const { return hits_; }
  std::uint64_t searched() const { return searched_; }

  // JSON, sorted by key: equal caches are equal bytes. Without what was cut short.
  std::string text() const;
  // Adds what `text` holds and this has not; InputError if it is damaged or no cache. Each entry carries a digest of
  // itself (`sealed`: it is checked). Returns how many entries were of another version and left out.
  std::size_t add(std::string_view text, const std::string& path, bool sealed = true);

  // For processes that search the same space: what is searched from `keep_found` on can be taken once, in the order in
  // which it was found, and learnt by another cache. Without what was cut short. What is here already stays.
  void keep_found();
  std::vector<KeyedMapping> take_found();
  void learn(std::vector<KeyedMapping> found);

 private:
  // Of the entries of a key the one for these sizes of the roomy memories.
  std::optional<CachedMapping> find_or_claim(const std::string& key, const std::vector<double>& sizes);
  void settle(const std::string& key, std::optional<CachedMapping> entry);
  void insert(const std::string& key, CachedMapping entry);
  void add_new(KeyedMapping each);  // what is here already stays

  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::map<std::string, std::vector<CachedMapping>, std::less<>> entries_;  // of one key in the order of their rooms
  std::set<std::string> claimed_;                                           // being searched
  bool keeps_found_ = false;
  std::vector<KeyedMapping> found_;
  std::atomic<std::uint64_t> hits_ = 0, searched_ = 0;
};

// The key: a digest of everything that decides the result but the sizes of roomy memories.
std::string content_key(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                        const MapOptions& options);

}  // namespace monet::cost
