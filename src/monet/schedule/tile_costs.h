#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "monet/cost/cache.h"
#include "monet/cost/layer.h"
#include "monet/cost/vector.h"
#include "monet/plan/lanes.h"
#include "monet/plan/machine.h"
#include "monet/work/work.h"

namespace monet::schedule {

// What tiles cost on their cores, each kind of tile once.

// Energy of one memory of a core, by what it holds.
struct LevelEnergy {
  std::uint32_t memory = 0;  // of CoreOnChip::core
  hardware::Slot slot = hardware::Slot::Input;
  double pj = 0;
};

// The cycles of a port of one of the core's stores that a tile takes: as many as it accesses words, no more than it
// has.
struct PortBusy {
  std::uint32_t memory = 0, port = 0;  // of CoreOnChip::core
  double cycles = 0;
};

struct TileCost {
  double cycles = 0;
  double compute_pj = 0;
  std::vector<LevelEnergy> levels{};
  std::array<double, 3> home_reads{}, home_writes{};  // bytes by slot, where the slot is at home
  double macs = 0, vector_ops = 0;
  std::vector<PortBusy> ports{};  // of the core's stores
};

// One kind of tile: what is done where, and what it costs.
struct TileKind {
  std::uint32_t core = 0;  // of Chip::cores: the first of those that are alike
  work::Work work{};
  std::vector<cost::Layer> layers{};  // of nests: as the core computes it, one after the other
  bool adds_to_sums = false;
  bool leaves_sums = false;
  std::array<bool, 3> at_lanes{};  // by slot: its operands are in the registers of the array
  TileCost cost{};
  std::string reason{};              // why there is none
  std::vector<std::string> notes{};  // what was done to make it fit
};

// Kinds priced before, on one chip with the same options: for many evaluations of graphs that are much alike. Shared by
// threads.
class PricedKinds {
 public:
  // Fills in what a kind costs, if it is known.
  bool look_up(const std::string& key, TileKind& kind) const;
  void keep(const std::string& key, const TileKind& kind);

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, TileKind> kinds_;
};

struct CostOptions {
  cost::MapOptions map{};
  std::size_t threads = 0;
  cost::Cache* cache = nullptr;   // none: one of its own
  PricedKinds* priced = nullptr;  // none: priced anew
  // The order in which kinds are priced; does not change the result. Those who price much the same at the same time on
  // one cache, or on caches that tell each other, do well to have different ones: each finds what the others need next,
  // where in one order all would search, or wait for, the same mapping. 0: as they come.
  std::uint64_t order = 0;
};

class TileKinds {
 public:
  explicit TileKinds(const plan::Chip& chip);

  // The kind of a tile on a core. `adds_to_sums`: it goes on with sums that are there; `leaves_sums`: others will.
  std::uint32_t find(std::uint32_t core, const work::Work& work, bool adds_to_sums, bool leaves_sums,
                     const std::array<bool, 3>& at_lanes = {});
  // Costs all that were asked for.
  void price(const CostOptions& options);

  const std::vector<TileKind>& kinds() const { return kinds_; }
  std::vector<TileKind> take() { return std::move(kinds_); }

 private:
  // A core as some kinds see it, prepared for all of them.
  struct PricedCore {
    plan::AtLanes lanes{};
    cost::CoreKey key{};
  };
  void price_nest(TileKind& kind, const CostOptions& options, const PricedCore& priced, cost::Cache& cache) const;
  std::vector<std::vector<cost::Layer>> forms_of(const TileKind& kind) const;
  void add_cost(TileKind& kind, const plan::AtLanes& priced, const cost::Mapped& mapped) const;
  void price_vector(TileKind& kind) const;
  void add_port(TileKind& kind, std::size_t memory, const std::string& port, double words) const;

  const plan::Chip& chip_;
  std::vector<std::uint32_t> alike_;  // by core: the first that is the same but for its name
  std::unordered_map<std::string, std::uint32_t> known_;
  std::vector<const std::string*> keys_;  // by kind, of known_
  std::vector<TileKind> kinds_;
};

}  // namespace monet::schedule
