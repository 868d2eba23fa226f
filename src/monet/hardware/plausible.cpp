// Ranges are published figures with a factor of about ten on either side: SRAM 0.16 (8 KB) to 1.6 pJ/bit (1 MB) and
// DRAM 20 to 40 pJ/bit at 45 nm (Horowitz, "Computing's energy problem", ISSCC 2014); HBM2 3.9 pJ/bit (O'Connor et al.,
// "Fine-grained DRAM", MICRO 2017); an 8-bit addition 0.03 and a 32-bit floating-point multiplication 3.7 pJ
// (Horowitz).
#include "monet/hardware/plausible.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/base/config_number.h"

namespace monet::hardware {
namespace {

struct Range {
  double least, most;
};
constexpr Range kOnChip{0.0002, 20}, kOffChip{0.4, 400};  // pJ per bit
constexpr Range kMac{0.001, 40};                          // pJ
constexpr Range kClock{1e6, 1e10};                        // Hz
constexpr Range kNode{1, 250};                            // nm
constexpr Range kSupply{0.2, 5};                          // V

bool outside(double value, Range range) { return value < range.least || value > range.most; }

std::int64_t word_bits(const Memory& memory) {
  std::int64_t bits = 1;
  for (const Port& port : memory.ports) bits = std::max(bits, port.max_bits_per_cycle);
  return bits;
}

class Doubter {
 public:
  explicit Doubter(const Hardware& hardware) : hardware_(hardware) {}

  std::vector<Fault> run() {
    stated("clock", hardware_.clock_hz, kClock, "Hz");
    stated("node", hardware_.node_nm, kNode, "nm");
    stated("supply", hardware_.supply_v, kSupply, "V");
    for (std::size_t c = 0; c < hardware_.cores.size(); ++c) core(c);
    for (std::size_t l = 0; l < hardware_.links.size(); ++l)
      if (hardware_.links[l].energy_pj_per_bit.value > kOffChip.most)
        warn(link_path(l),
             fmt::format("{} pJ for a bit over a link", config::shortest(hardware_.links[l].energy_pj_per_bit.value)));
    return std::move(faults_);
  }

 private:
  void warn(std::string path, std::string message, std::string hint = "") {
    faults_.push_back({std::move(path), std::move(message), std::move(hint), Severity::Warning});
  }

  void stated(std::string_view what, const Figure& figure, Range range, std::string_view unit) {
    if (figure.value > 0 && outside(figure.value, range))
      warn(std::string(what), fmt::format("a {} of {} {} is implausible", what, config::shortest(figure.value), unit),
           fmt::format("usual are {:g} to {:g} {}", range.least, range.most, unit));
  }

  void core(std::size_t c) {
    const Core& core = hardware_.cores[c];
    if (core.array && !core.array->imc && core.array->mac_energy_pj.provenance == Provenance::Given &&
        outside(core.array->mac_energy_pj.value, kMac))
      warn(core_path(c) + ".array",
           fmt::format("{} pJ for one multiply-accumulate is implausible",
                       config::shortest(core.array->mac_energy_pj.value)),
           fmt::format("published are {:g} to {:g} pJ", kMac.least, kMac.most));
    for (std::size_t m = 0; m < core.memories.size(); ++m) memory(c, m);
    for (const Slot slot : kSlots) hierarchy(c, slot);
  }

  void memory(std::size_t c, std::size_t m) {
    const Memory& memory = hardware_.cores[c].memories[m];
    const Range range = memory.kind == MemoryKind::Dram ? kOffChip : kOnChip;
    // What multiplies where it is stored is read for nothing.
    const bool cells = hardware_.cores[c].array && hardware_.cores[c].array->imc && m == 0;
    for (const bool reads : {true, false}) {
      const double energy = reads ? read_pj_per_bit(memory) : write_pj_per_bit(memory);
      // What is assumed says so itself.
      const Figure& figure = reads ? memory.read_energy_pj : memory.write_energy_pj;
      if (!cells && figure.provenance != Provenance::Assumed && outside(energy, range))
        warn(memory_path(c, m),
             fmt::format("a {} of '{}' takes {:.3g} pJ a bit, which is implausible for {}", reads ? "read" : "write",
                         memory.name, energy, name(memory.kind)),
             fmt::format("published are {:g} to {:g}; energies are of a whole word of {} bits", range.least, range.most,
                         word_bits(memory)));
    }
    if (word_bits(memory) > memory.size_bits)
      warn(memory_path(c, m), fmt::format("a port of '{}' moves {} bits a cycle, and it holds only {}", memory.name,
                                          word_bits(memory), memory.size_bits));
  }

  // Upwards everything gets larger, farther and dearer.
  void hierarchy(std::size_t c, Slot slot) {
    const Core& core = hardware_.cores[c];
    const Memory* below = nullptr;
    for (std::size_t m = 0; m < core.memories.size(); ++m) {
      const Memory& memory = core.memories[m];
      if (std::find(memory.slots.begin(), memory.slots.end(), slot) == memory.slots.end()) continue;
      const bool known = memory.read_energy_pj.provenance != Provenance::Assumed && below &&
                         below->read_energy_pj.provenance != Provenance::Assumed;
      if (known && read_pj_per_bit(memory) < read_pj_per_bit(*below) && memory.size_bits > below->size_bits) {
        const bool dram = memory.kind == MemoryKind::Dram && below->kind != MemoryKind::Dram;
        warn(memory_path(c, m),
             fmt::format("a bit from '{}' takes {:.3g} pJ, less than the {:.3g} of {} '{}'", memory.name,
                         read_pj_per_bit(memory), read_pj_per_bit(*below), dram ? "on-chip" : "the smaller",
                         below->name),
             "energies are of a whole word of the widest port");
      }
      below = &memory;
    }
  }

  const Hardware& hardware_;
  std::vector<Fault> faults_;
};

}  // namespace

double read_pj_per_bit(const Memory& memory) {
  return memory.read_energy_pj.value / static_cast<double>(word_bits(memory));
}
double write_pj_per_bit(const Memory& memory) {
  return memory.write_energy_pj.value / static_cast<double>(word_bits(memory));
}

std::vector<Fault> doubts(const Hardware& hardware) { return Doubter(hardware).run(); }

}  // namespace monet::hardware
