#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monet/base/id.h"
#include "monet/hardware/hardware.h"

namespace monet::plan {

// Where tensors live and how they move. Times are cycles, sizes bytes, rates bytes a cycle, energies pJ.

using StoreId = Id<struct StoreTag>;
using ChannelId = Id<struct ChannelTag>;
using UnitId = Id<struct UnitTag>;
using PortId = Id<struct PortTag>;

// A memory that holds blocks at addresses.
struct Store {
  std::string name{};
  std::int64_t bytes = 0;
  double bytes_per_cycle = 0;  // of a transfer, at most
  double read_pj_per_byte = 0, write_pj_per_byte = 0;
  std::optional<PortId> fill{}, drain{};  // through which transfers to and from it pass
  bool operator==(const Store&) const = default;
};

// What transfers share: a link in one direction, a bus, a port of the off-chip memory.
struct Channel {
  std::string name{};
  double bytes_per_cycle = 0;
  double pj_per_byte = 0;
  bool is_home_port = false;  // short runs of addresses keep it busy for longer than their bytes take
  bool operator==(const Channel&) const = default;
};

// Through which words of a store on the chip pass, one a cycle: those of transfers, and those of the tiles of all units
// that it serves.
struct StorePort {
  std::string name{};
  StoreId store{};
  double bytes_per_cycle = 0;  // the width of a word
  bool operator==(const StorePort&) const = default;
};

// What runs one tile at a time.
struct Unit {
  std::string name{};
  bool operator==(const Unit&) const = default;
};

// The way from one store to another; none: there is no way.
struct Route {
  bool exists = false;
  std::vector<ChannelId> channels{};
  bool operator==(const Route&) const = default;
};

struct Machine {
  std::vector<Store> stores{};
  std::vector<Channel> channels{};
  std::vector<StorePort> ports{};
  std::vector<Unit> units{};
  std::vector<Route> routes{};  // [from · stores + to]
  StoreId home{};               // where everything lies that is not on the chip
  bool operator==(const Machine&) const = default;

  const Route& route(StoreId from, StoreId to) const { return routes[from.index() * stores.size() + to.index()]; }
};

// A chip as the scheduler sees it. Every core keeps its blocks in its highest memories on the chip, one for each slot;
// what lies below them is the cost model's. The off-chip memory, or the highest memory there is, is everyone's home. A
// slot that a core has nothing but registers for is at home: its operands flow past while a tile runs.

// A port of one of a core's stores.
struct CorePort {
  std::uint32_t memory = 0, port = 0;  // of CoreOnChip::core
  PortId id{};
  bool operator==(const CorePort&) const = default;
};

struct CoreOnChip {
  hardware::CoreId id{};
  hardware::Core core{};                    // what the cost model prices tiles on: the home is there for slots at home
  std::array<StoreId, 3> stores{};          // by hardware::Slot
  std::optional<UnitId> array{}, vector{};  // a core without a vector unit does such work on its array, if it has one
  std::vector<CorePort> ports{};            // of its stores
  std::optional<StoreId> lanes{};           // results in the registers of its array (lanes.h)
  StoreId gate{};                           // at whose routes what flows between the home and the core passes
};

struct Chip {
  Machine machine{};
  std::vector<CoreOnChip> cores{};  // that compute
  bool home_is_offchip = true;      // else it is the highest memory on the chip
  double clock_hz = 0;              // 0: not given
  double leakage_pj_per_cycle = 0;  // of all memories; 0 without a clock

  StoreId store(std::size_t core, hardware::Slot slot) const {
    return cores[core].stores[static_cast<std::size_t>(slot)];
  }
};

// Throws InputError if nothing computes, or a core has no way to the home.
Chip chip_of(const hardware::Hardware& hardware);

// Factors on a chip's figures, for what-if questions. Energies a byte stay.
struct ChipScale {
  double offchip_bandwidth = 1, link_bandwidth = 1, onchip_memory = 1;
  bool operator==(const ChipScale&) const = default;
};
void scale(Chip& chip, const ChipScale& factors);

// Part of the home's bandwidth that runs of so many bytes reach, one after the other or with gaps.
double offchip_efficiency(const hardware::Hardware& hardware, std::int64_t burst_bytes, bool has_gaps);

}  // namespace monet::plan
