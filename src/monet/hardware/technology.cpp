// Energy, leakage and area of memories. Every form is a sum of terms that grow with size, width and ports, with
// coefficients that are not negative, times a factor that does not grow towards newer nodes; so are the minimum and the
// geometric mean of two such forms. Coefficients: tools/fit_technology.py; what they were fitted to and how well:
// docs/technology.md.
#include "monet/hardware/technology.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "monet/hardware/technology_node.h"

namespace monet::hardware {

namespace {

using technology::figure;
using technology::interpolate;
using technology::Point;
using technology::sound_node;

constexpr double kKibit = 1024;
constexpr const char* kMemoryEnergySource =
    "fit to CACTI 7 at 45 nm and to the 64-bit accesses of ISSCC 2014 (45 nm) and of TPUv4i, ISCA 2021 (7 nm)";
constexpr const char* kMemoryAreaSource = "fit to CACTI 7 at 45 nm, scaled by published cell sizes";
constexpr const char* kLeakageSource = "fit to CACTI 7 with low-operating-power transistors at 300 K, 22 to 90 nm";
constexpr const char* kRegisterSource = "fit to register energies of Accelergy, FuseMax and ZigZag";
constexpr const char* kFlipFlopSource = "flip-flop and 2:1 multiplexer of the NanGate 45 nm library";

struct Shape {
  double size = 1;
  double word = 1;
  double more_ports = 0;  // beyond the first
};

Shape shape(std::int64_t size_bits, std::int64_t word_bits, int ports) {
  return {.size = static_cast<double>(std::max<std::int64_t>(size_bits, 1)),
          .word = static_cast<double>(std::max<std::int64_t>(word_bits, 1)),
          .more_ports = static_cast<double>(std::max(ports, 1)) - 1};
}

// 1 KiB to 64 MiB, words of 8 to 32768 bits, up to four ports: what was fitted to.
bool is_fitted(const Shape& s) {
  return s.size >= 8 * kKibit && s.size <= 512 * kKibit * kKibit && s.word >= 8 && s.word <= 32768 && s.more_ports <= 3;
}

// pJ at 45 nm = Σ (c + d · more ports) · {W, √S, √(S·W), √S·W, S}: sense amplifiers and drivers by the bit, word and
// bit lines by the side of the array, wires by side and width, and what all cells together load.
struct EnergyForm {
  double one_port[5];
  double more_ports[5];
  double exponent_above_45_nm = 0;
};
constexpr EnergyForm kRead{.one_port = {0, 0.0046124, 0.0034756, 7.6943e-07, 1.2003e-07},
                           .more_ports = {0.0012037, 0.0016268, 0.00060943, 0, 4.3969e-06},
                           .exponent_above_45_nm = 1.675};
constexpr EnergyForm kWrite{.one_port = {0.021204, 0.0014531, 0.0027412, 1.4195e-06, 3.9139e-07},
                            .more_ports = {0.0058053, 0.00037001, 0.00054468, 0, 3.2966e-06},
                            .exponent_above_45_nm = 1.854};

double energy_at_45_nm(const EnergyForm& form, const Shape& s) {
  const double side = std::sqrt(s.size);
  const double terms[5] = {s.word, side, side * std::sqrt(s.word), side * s.word, s.size};
  double sum = 0;
  for (std::size_t i = 0; i < 5; ++i) sum += (form.one_port[i] + form.more_ports[i] * s.more_ports) * terms[i];
  return sum;
}

// At 7 nm wires cost little and every bit something: large memories gained far more than small ones. Below 8 KiB
// nothing is published; the gain of 8 KiB is taken for all smaller ones.
double energy_at_7_nm(double at_45_nm, const Shape& s) {
  constexpr double kPerBit = 0.11008;
  constexpr double kOf45 = 0.073799;
  constexpr double kGainAt8KiB = 7.5 / 10;
  return std::min(kPerBit * s.word + kOf45 * at_45_nm, kGainAt8KiB * at_45_nm);
}

// Bit cells stopped shrinking at 5 nm; that energy follows the square root of the node from there is an assumption.
double sram_energy(const EnergyForm& form, const Shape& s, double node_nm) {
  const double node = sound_node(node_nm);
  const double old = energy_at_45_nm(form, s);
  if (node >= technology::kOldNode) return old * std::pow(node / technology::kOldNode, form.exponent_above_45_nm);
  const double now = energy_at_7_nm(old, s);
  if (node <= technology::kNewNode) return now * std::sqrt(node / technology::kNewNode);
  return technology::between_nodes(old, now, node);
}

// High-density cells as announced, um²: TSMC to 16 nm, Intel above. The area of a whole memory follows them.
constexpr Point kCell[] = {{3, 0.0199}, {5, 0.021},  {7, 0.027},  {10, 0.042}, {16, 0.070},
                           {22, 0.092}, {32, 0.171}, {45, 0.346}, {65, 0.570}, {90, 1.0}};

// At 45 nm = Σ over {W, S} of (c + d · more ports + e · more ports²): every port widens and heightens a cell.
struct CellForm {
  double word[3];
  double bit[3];
};
constexpr CellForm kCellArea{.word = {2.0621e-05, 2.6692e-05, 8.464e-06}, .bit = {3.8428e-07, 3.2753e-07, 6.1637e-08}};
constexpr CellForm kCellLeakage{.word = {0.00024638, 0.00011196, 3.6978e-06}, .bit = {2.9092e-06, 0, 1.6574e-08}};

double at_45_nm(const CellForm& form, const Shape& s) {
  const auto part = [&](const double(&c)[3]) { return c[0] + s.more_ports * (c[1] + s.more_ports * c[2]); };
  return part(form.word) * s.word + part(form.bit) * s.size;
}

double sram_area(const Shape& s, double node_nm) {
  return at_45_nm(kCellArea, s) * interpolate(kCell, sound_node(node_nm), 0, 2) /
         interpolate(kCell, technology::kOldNode, 0, 2);
}

double leakage_by_node(double node_nm) { return std::pow(sound_node(node_nm) / technology::kOldNode, 0.986); }

bool within(double node_nm, double from, double to) { return node_nm >= from && node_nm <= to; }

// ---- Registers ----

// pJ at 45 nm = bits · c · entries^0.773: a multiplexer tree and a clock that reaches every entry. Between nodes like
// an eight-bit addition.
double register_energy(double coefficient, const Shape& s, double node_nm) {
  const double entries = std::max(s.size / s.word, 1.0);
  const double at_45_nm = coefficient * s.word * std::pow(entries, 0.773);
  return technology::between_nodes(at_45_nm, at_45_nm * 0.007 / 0.03, node_nm);
}

// Who has more registers than pay off builds a memory.
Figure register_figure(double coefficient, const EnergyForm& form, const Shape& s, double node_nm) {
  const double memory = sram_energy(form, s, node_nm);
  const double registers = register_energy(coefficient, s, node_nm);
  if (memory < registers) return figure(memory, is_fitted(s) && within(node_nm, 7, 90), kMemoryEnergySource);
  return figure(registers, s.size / s.word <= 128 && within(node_nm, 7, 45), kRegisterSource);
}

// Area of logic relative to 45 nm: transistors per mm², in millions, as announced (Intel to 22 nm, TSMC below).
constexpr Point kDensity[] = {{5, 138}, {7, 91.2}, {10, 52.5}, {16, 28.9}, {22, 15.3}, {32, 7.5}, {45, 3.3}};

}  // namespace

namespace technology {

double logic_area_by_node(double node_nm) {
  return interpolate(kDensity, kOldNode, -2, -2) / interpolate(kDensity, sound_node(node_nm), -2, -2);
}

}  // namespace technology

Figure sram_read_energy_pj(std::int64_t size_bits, std::int64_t word_bits, int ports, double node_nm) {
  const Shape s = shape(size_bits, word_bits, ports);
  return figure(sram_energy(kRead, s, node_nm), is_fitted(s) && within(node_nm, 7, 90), kMemoryEnergySource);
}

Figure sram_write_energy_pj(std::int64_t size_bits, std::int64_t word_bits, int ports, double node_nm) {
  const Shape s = shape(size_bits, word_bits, ports);
  return figure(sram_energy(kWrite, s, node_nm), is_fitted(s) && within(node_nm, 7, 90), kMemoryEnergySource);
}

Figure sram_leakage_mw(std::int64_t size_bits, std::int64_t word_bits, int ports, double node_nm) {
  const Shape s = shape(size_bits, word_bits, ports);
  return figure(at_45_nm(kCellLeakage, s) * leakage_by_node(node_nm), is_fitted(s) && within(node_nm, 22, 90),
                kLeakageSource);
}

Figure sram_area_mm2(std::int64_t size_bits, std::int64_t word_bits, int ports, double node_nm) {
  const Shape s = shape(size_bits, word_bits, ports);
  return figure(sram_area(s, node_nm), is_fitted(s) && within(node_nm, 3, 90), kMemoryAreaSource);
}

Figure register_read_energy_pj(std::int64_t size_bits, std::int64_t word_bits, double node_nm) {
  return register_figure(0.002133, kRead, shape(size_bits, word_bits, 1), node_nm);
}

Figure register_write_energy_pj(std::int64_t size_bits, std::int64_t word_bits, double node_nm) {
  return register_figure(0.002165, kWrite, shape(size_bits, word_bits, 1), node_nm);
}

// 79 nW a flip-flop; a general-purpose 45 nm library at 25 °C.
Figure register_leakage_mw(std::int64_t size_bits, double node_nm) {
  constexpr double kFlipFlop = 7.9e-5;  // mW
  const Shape s = shape(size_bits, 1, 1);
  return technology::assumed(kFlipFlop * s.size * leakage_by_node(node_nm), kFlipFlopSource);
}

// A flip-flop and, for every port, a multiplexer a bit. The small memory that many registers would rather be bounds it.
Figure register_area_mm2(std::int64_t size_bits, int ports, double node_nm) {
  constexpr double kFlipFlop = 4.522e-6, kMultiplexer = 1.862e-6;  // mm² at 45 nm
  const Shape s = shape(size_bits, 1, ports);
  const double registers =
      s.size * (kFlipFlop + kMultiplexer * (1 + s.more_ports)) * technology::logic_area_by_node(node_nm);
  const double memory = sram_area(s, node_nm);
  if (memory < registers) return figure(memory, is_fitted(s) && within(node_nm, 3, 90), kMemoryAreaSource);
  return figure(registers, within(node_nm, 5, 45), kFlipFlopSource);
}

// ---- Memory off the chip ----

namespace {

struct Dram {
  DramKind kind;
  std::string_view name;
  double pj_per_bit;
  double io_pj_per_bit;
  bool published;  // the whole; the interface's part is assumed everywhere but for GDDR6
  const char* source;
};

constexpr Dram kDrams[] = {
    {DramKind::Ddr3, "ddr3", 40.6, 12, true, "ISSCC 2014: 2600 pJ, the upper end, for 64 bits"},
    {DramKind::Ddr4, "ddr4", 20.3, 8, true, "TPUv4i, ISCA 2021, table 2: 1300 pJ for 64 bits"},
    {DramKind::Ddr5, "ddr5", 17.1, 6.7, false, "DDR4 by the square of the supply, 1.1 V to 1.2 V"},
    {DramKind::Lpddr4, "lpddr4", 8, 3, true, "Accelergy's table of memories"},
    {DramKind::Lpddr5, "lpddr5", 7.3, 2.7, false, "LPDDR4 by the square of the supply, 1.05 V to 1.1 V"},
    {DramKind::Gddr5, "gddr5", 14, 6.4, true, "Fine-grained DRAM, MICRO 2017"},
    {DramKind::Gddr6, "gddr6", 9.6, 6.4, false,
     "TPUv4i, ISCA 2021, table 2, 350 to 480 pJ for the interface of 64 bits"},
    {DramKind::Hbm2, "hbm2", 5.24, 2, true, "TPUv4i, ISCA 2021, table 2: 250 to 450 pJ for 64 bits"},
    {DramKind::Hbm2e, "hbm2e", 4.61, 1.8, false, "middle of HBM2 and HBM3"},
    {DramKind::Hbm3, "hbm3", 4.05, 1.6, true, "table of the Python package hwcomponents-cacti 1.0.40"},
};

const Dram& entry(DramKind kind) {
  return *std::ranges::find(kDrams, kind, &Dram::kind);  // every kind has a line: tested
}

}  // namespace

std::string_view name(DramKind kind) { return entry(kind).name; }

std::optional<DramKind> dram_kind_named(std::string_view name) {
  for (const Dram& dram : kDrams)
    if (dram.name == name) return dram.kind;
  return std::nullopt;
}

Figure dram_energy_pj_per_bit(DramKind kind) {
  const Dram& dram = entry(kind);
  return {.value = dram.pj_per_bit,
          .provenance = dram.published ? Provenance::Modelled : Provenance::Assumed,
          .source = dram.source};
}

Figure dram_io_energy_pj_per_bit(DramKind kind) {
  const Dram& dram = entry(kind);
  return {.value = dram.io_pj_per_bit,
          .provenance = kind == DramKind::Gddr6 ? Provenance::Modelled : Provenance::Assumed,
          .source = dram.source};
}

}  // namespace monet::hardware
