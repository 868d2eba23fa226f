#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monet/base/config.h"
#include "monet/base/json.h"
#include "monet/cost/map.h"

namespace monet::cost {

// The form of cached mappings. One more whenever the model, the search or the form changes: entries of other versions
// are left out.
inline constexpr std::int64_t kCacheVersion = 4;

// One entry of a Cache: a mapping, or why there is none.
struct CachedMapping {
  std::string reason{};
  bool is_stopped = false;  // cut short by the watch; not for files
  Spatial spatial{};
  std::vector<TemporalLoop> order{};
  Cuts cuts{};
  std::array<std::array<bool, kMaxMemories>, kMaxOperands> doubled{};
  std::size_t spatials = 0, spatials_left = 0;
  std::uint64_t evaluated = 0;
  double orderings = 0;
  bool is_proven = false;
  double bound = 0;
  Costs costs{};              // that it had when it was found
  std::vector<Room> rooms{};  // of the roomy memories (cache.h): for which sizes of them it was found
  bool is_own = false;        // found by this job, here or on another rank, not read: it is unrolled as it may be
  bool operator==(const CachedMapping&) const = default;
};

// `roomy`: the memories whose sizes are not part of the key.
CachedMapping cached(const MapResult& result, const std::vector<std::size_t>& roomy = {});

// The mapping, costed again. None if it is not legal for the layer, the core and the request (how it is unrolled is
// believed if `is_own`), or costs something else than it did: files can be wrong, and models change.
std::optional<MapResult> rebuild(const CachedMapping& entry, const Layer& layer, const hardware::Core& core,
                                 const MappingRequest& request, const MapOptions& options);

// The entry in a file: with a digest of all of it.
Json to_json(const std::string& key, const CachedMapping& entry);

struct KeyedMapping {
  std::string key{};
  CachedMapping mapping{};
  bool operator==(const KeyedMapping&) const = default;
};
// Reports what is wrong to `findings`; `sealed`: so is a digest that does not match.
KeyedMapping read_cached(const config::Value& value, bool sealed, config::Findings& findings);

}  // namespace monet::cost
