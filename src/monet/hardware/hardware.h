#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/id.h"
#include "monet/numeric/format.h"
#include "monet/work/work.h"

namespace monet::hardware {

// A chip as a value: cores with their arrays, vector units and memories, the links between them, and for every figure
// where it comes from. A Hardware that exists is valid (verify.h); sizes are bits, times cycles, energies pJ.

// ---- Figures and where they come from ----

enum class Provenance {
  Given,     // stated by the file
  Modelled,  // computed by technology.h from size, width, format and node; fitted to published points
  Assumed,   // no source: a plausible value, said to be one
};
std::string_view name(Provenance provenance);

struct Figure {
  double value = 0;
  Provenance provenance = Provenance::Given;
  std::string source{};  // publication, file or model; what `source:` says
  bool operator==(const Figure&) const = default;
};

// ---- Memories ----

// What a memory may hold of a nest. ZigZag calls them I1, I2 and O.
enum class Slot { Input, Weight, Output };
inline constexpr std::array kSlots{Slot::Input, Slot::Weight, Slot::Output};
std::string_view name(Slot slot);  // input, weight, output

// Seen from the memory. ZigZag: fh, tl, fl, th. Inputs use the first two, outputs all four.
enum class Direction { WriteFromHigh, ReadToLow, WriteFromLow, ReadToHigh };
inline constexpr std::array kDirections{Direction::WriteFromHigh, Direction::ReadToLow, Direction::WriteFromLow,
                                        Direction::ReadToHigh};
std::string_view name(Direction direction);
constexpr bool is_read(Direction d) { return d == Direction::ReadToLow || d == Direction::ReadToHigh; }

struct PortUse {
  Slot slot = Slot::Input;
  Direction direction = Direction::ReadToLow;
  bool operator==(const PortUse&) const = default;
};

enum class PortKind { Read, Write, ReadWrite };
std::string_view name(PortKind kind);  // read, write, read_write

struct Port {
  std::string name{};
  PortKind kind = PortKind::ReadWrite;
  std::int64_t min_bits_per_cycle = 0;  // smallest part of a word that can be accessed (and is then paid for)
  std::int64_t max_bits_per_cycle = 0;  // a whole word
  std::vector<PortUse> uses{};
  bool operator==(const Port&) const = default;
};

enum class MemoryKind { Register, Sram, Dram };
std::string_view name(MemoryKind kind);

enum class Buffering {
  Auto,    // two tiles where they fit, one where not
  Double,  // always two: only half of the size holds a tile
};
std::string_view name(Buffering buffering);

// How a transposed tile is read (weights in a data gradient, activations in a weight gradient).
enum class TransposedRead {
  Free,       // the banks allow it
  Conflicts,  // one word a cycle and bank row: at 1/transposed_slowdown of the bandwidth
  Pass,       // the tensor has to be transposed beforehand
};
std::string_view name(TransposedRead read);

struct Memory {
  std::string name{};
  MemoryKind kind = MemoryKind::Sram;
  std::int64_t size_bits = 0;  // of one instance
  std::vector<Slot> slots{};   // in the order of the file
  // Array dimensions along which one instance is shared; along the others it is replicated. Indexes Array::dimensions.
  std::vector<std::size_t> served_dimensions{};
  std::vector<Port> ports{};
  bool ports_per_core = false;  // of a memory that cores share: each has these to itself; else they share them by name
  Figure read_energy_pj{};      // of one access of a whole word
  Figure write_energy_pj{};     // of one access of a whole word
  Figure leakage_mw{};          // of one instance
  Figure area_mm2{};            // of one instance
  std::int64_t latency_cycles = 0;
  Buffering buffering = Buffering::Auto;
  TransposedRead transposed_read = TransposedRead::Free;
  double transposed_slowdown = 1;
  bool operator==(const Memory&) const = default;
};

// ---- What computes ----

struct ArrayDimension {
  std::string name{};  // D1, D2, …
  std::int64_t size = 1;
  bool operator==(const ArrayDimension&) const = default;
};

// One loop of a nest laid over one array dimension.
struct Unrolling {
  std::string dimension{};  // of the nest: K, C, OX, …
  std::int64_t factor = 1;
  bool operator==(const Unrolling&) const = default;
};

// What one multiply-accumulate costs in one number format.
struct MacCost {
  Element multiplicand = Element::I8;
  Element accumulator = Element::I32;
  std::int64_t cycles = 1;  // of one lane
  Figure energy_pj{};
  bool operator==(const MacCost&) const = default;
};

// A memory array that multiplies where it stores: dimension 0 shares inputs (word lines), dimension 1 accumulates.
struct InMemoryCompute {
  bool analog = false;
  std::int64_t activation_bits = 8;
  std::int64_t weight_bits = 8;
  std::int64_t serial_bits = 1;  // activation bits fed per cycle
  std::int64_t adc_bits = 0;     // analog only
  bool operator==(const InMemoryCompute&) const = default;
};

struct Array {
  std::vector<ArrayDimension> dimensions{};
  Figure mac_energy_pj{};          // in any format without a line in `formats`
  Figure mac_area_mm2{};           // of one lane
  std::vector<MacCost> formats{};  // empty: every format at one cycle
  std::optional<InMemoryCompute> imc{};
  bool skips_zeros = false;  // zeros put between elements by a stride cost no cycle (data gradients)
  bool operator==(const Array&) const = default;
};

struct FunctionCost {
  work::ElementFunction function = work::ElementFunction::Add;
  std::optional<Element> element{};  // none: any format
  double cycles = 1;                 // of one lane for one element
  Figure energy_pj{};
  bool operator==(const FunctionCost&) const = default;
};

struct VectorUnit {
  std::int64_t lanes = 1;
  std::vector<FunctionCost> functions{};  // a function without a line cannot be run here
  Figure lane_area_mm2{};
  bool operator==(const VectorUnit&) const = default;
};

// The kinds of work a core takes; a core without a list takes what its units can do.
enum class WorkClass { Contraction, DepthwiseContraction, Pooling, Elementwise, Reduction, Movement };
std::string_view name(WorkClass work_class);

// Which spatial mapping an array can take.
enum class Dataflow {
  Reconfigurable,  // any, chosen per layer and phase
  Fixed,           // that of Core::unrollings only
};
std::string_view name(Dataflow dataflow);

struct Core {
  std::string name{};
  std::optional<Array> array{};
  std::optional<VectorUnit> vector{};
  std::vector<Memory> memories{};  // lowest to highest
  // Per array dimension the loops laid over it when the layer says nothing; empty: none given.
  std::vector<std::vector<Unrolling>> unrollings{};
  Dataflow dataflow = Dataflow::Reconfigurable;
  std::vector<WorkClass> takes{};
  std::vector<std::string> operator_types{};  // as a Stream file words it; kept for its mapping files
  bool operator==(const Core&) const = default;
};

// How many of a memory there are in its core: it is replicated along the array dimensions it does not serve.
std::int64_t instances(const Memory& memory, const Core& core);
bool holds(const Memory& memory, Slot slot);
// The names of the memories an operand goes through, lowest to highest.
std::vector<std::string> levels(const Core& core, Slot slot);

// Of all instances of all memories.
double leakage_mw(const Core& core);

// ---- The chip ----

using CoreId = Id<struct CoreTag>;

struct Link {
  std::vector<CoreId> cores{};  // two: a pair of directed links; more: one shared bus
  bool is_bus = false;
  std::int64_t bits_per_cycle = 0;
  Figure energy_pj_per_bit{};
  bool operator==(const Link&) const = default;
};

// Part of the peak bandwidth that accesses of at least this burst length and stride reach.
struct BurstEfficiency {
  std::int64_t burst_bytes = 0;
  std::int64_t stride_bytes = 0;  // 0: consecutive
  Figure efficiency{.value = 1};
  bool operator==(const BurstEfficiency&) const = default;
};

struct Hardware {
  std::string name{};
  Figure node_nm{};
  Figure clock_hz{};
  Figure supply_v{};
  std::vector<Core> cores{};
  std::optional<CoreId> offchip{};  // the core whose only memory is off chip
  std::vector<Link> links{};
  std::vector<std::vector<CoreId>> shared_memories{};  // cores whose top memories are one instance
  std::vector<BurstEfficiency> offchip_efficiency{};
  std::string description{};
  std::string source{};
  bool operator==(const Hardware&) const = default;

  const Core& operator[](CoreId id) const { return cores[id.index()]; }
};

}  // namespace monet::hardware
