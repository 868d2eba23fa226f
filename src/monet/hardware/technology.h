#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "monet/hardware/hardware.h"
#include "monet/numeric/format.h"
#include "monet/work/work.h"

namespace monet::hardware {

// Energy, area and leakage where a file gives none. Closed forms fitted by tools/fit_technology.py; the forms, their
// sources and how far they are from them stand in docs/technology.md. A figure is Modelled inside the range it was
// fitted on and Assumed outside of it; `source` says from what. Every function is total: an argument below what makes
// sense (no bits, no ports, no node) counts as the smallest that does. Larger, wider and more ports never cost less,
// a newer node never more.

// ---- Static memory on the chip ----

// Of one access to a whole word of `word_bits`; `ports` are those that can work in one cycle.
Figure sram_read_energy_pj(std::int64_t size_bits, std::int64_t word_bits, int ports, double node_nm);
Figure sram_write_energy_pj(std::int64_t size_bits, std::int64_t word_bits, int ports, double node_nm);
Figure sram_leakage_mw(std::int64_t size_bits, std::int64_t word_bits, int ports, double node_nm);
Figure sram_area_mm2(std::int64_t size_bits, std::int64_t word_bits, int ports, double node_nm);

// Flip-flops with a multiplexer: the registers beside a multiplier.
Figure register_read_energy_pj(std::int64_t size_bits, std::int64_t word_bits, double node_nm);
Figure register_write_energy_pj(std::int64_t size_bits, std::int64_t word_bits, double node_nm);
Figure register_leakage_mw(std::int64_t size_bits, double node_nm);
Figure register_area_mm2(std::int64_t size_bits, int ports, double node_nm);

// ---- Memory off the chip ----

enum class DramKind { Ddr3, Ddr4, Ddr5, Lpddr4, Lpddr5, Gddr5, Gddr6, Hbm2, Hbm2e, Hbm3 };
inline constexpr std::array kDramKinds{DramKind::Ddr3,   DramKind::Ddr4,  DramKind::Ddr5,  DramKind::Lpddr4,
                                       DramKind::Lpddr5, DramKind::Gddr5, DramKind::Gddr6, DramKind::Hbm2,
                                       DramKind::Hbm2e,  DramKind::Hbm3};
std::string_view name(DramKind kind);  // ddr4, hbm2e, …
std::optional<DramKind> dram_kind_named(std::string_view name);

Figure dram_energy_pj_per_bit(DramKind kind);     // device and interface, of a bit in a long burst
Figure dram_io_energy_pj_per_bit(DramKind kind);  // the part of it that the interface takes

// ---- Arithmetic ----

Figure add_energy_pj(Element element, double node_nm);
Figure multiply_energy_pj(Element element, double node_nm);

// One multiplication in `multiplicand` and one addition in `accumulator`; bare operators, without registers.
Figure mac_energy_pj(Element multiplicand, Element accumulator, double node_nm);
Figure mac_area_mm2(Element multiplicand, Element accumulator, double node_nm);

// Cycles of a multiplier built for `native` that multiplies `used`: as many partial products as their widths ask for.
std::int64_t mac_cycles(Element native, Element used);

// One evaluation of an element function on one lane.
Figure function_energy_pj(work::ElementFunction function, Element element, double node_nm);
double function_cycles(work::ElementFunction function);

// What a lane able to multiply and add occupies.
Figure vector_lane_area_mm2(Element element, double node_nm);

}  // namespace monet::hardware
