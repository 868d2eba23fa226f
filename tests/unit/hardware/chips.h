#pragma once
#include <string>

#include "monet/hardware/hardware.h"
#include "monet/hardware/load.h"

namespace monet::hardware::test {

// A small chip of ours that says everything a file can say.
inline const std::string kEverything = R"(monet: hardware
name: everything
description: "a \"made up\" chip"
source: made up
node: 28 nm
clock: {value: 500 MHz, source: a data sheet}
supply: {value: 0.9 V, assumed: true}
cores:
  matrix:
    array:
      dimensions: {D1: 8, D2: 4}
      mac_energy: 40 fJ
      mac_area: 250 um2
      formats:
        - {multiplicand: f16, accumulator: f32, cycles: 2, energy: 1.1 pJ}
        - {multiplicand: i8, accumulator: i32, energy_pj: {value: 0.2, modelled: true, source: a model}}
      skips_zeros: true
    memories:
      registers: {kind: register, size: 16 B, holds: weight, serves: [], bits_per_cycle: 8, read_energy: 0.1 pJ, write_energy: 0.1 pJ, leakage: 1 uW, area: 12 um2}
      sums:
        kind: register
        size_bits: 64
        holds: [output]
        serves: [D2]
        ports:
          - {name: low, bits_per_cycle: 32, for: [output read_to_low, output write_from_low]}
          - {name: high, bits_per_cycle: 32, min_bits_per_cycle: 8, for: [output read_to_high, output write_from_high]}
        read_energy: 0.2 pJ
        write_energy: 0.2 pJ
      buffer:
        source: a paper
        size: 64 KiB
        holds: [input, output, weight]
        ports:
          - {name: r, kind: read, bandwidth: 64 B/cycle, min_bandwidth: 8 B/cycle, for: all}
          - {name: w, kind: write, bandwidth: 32 GB/s, for: all}
        read_energy: 20 pJ
        write_energy: {value: 21 pJ, assumed: true}
        latency: 2 cycles
        buffering: double
        ports_per_core: true
        transposed_read: conflicts
        transposed_slowdown: 8
    unrolling: {D1: {K: 8}, D2: {C: 2, FX: 2}}
    dataflow: fixed
    takes: [contraction, depthwise_contraction]
    operator_types: [Conv, Gemm]
  imc:
    array:
      dimensions: {D1: 16, D2: 16}
      in_memory_compute: {kind: analog, activation_bits: 8, weight_bits: 4, serial_bits: 2, adc_bits: 6}
    memories:
      cells: {kind: register, size_bits: 4, holds: weight, serves: [], bits_per_cycle: 4, port: shared, read_energy: 0 pJ, write_energy: 0.05 pJ}
      buffer: {size: 64 KiB, holds: all, bits_per_cycle: 512}
  simd:
    vector:
      lanes: 16
      lane_area: 0.001 mm2
      functions:
        any: {cycles: 1, energy: 0.1 pJ}
        exp: {cycles: 4, energy: 0.4 pJ}
        exp f16: {cycles: 2, energy: 0.2 pJ}
    memories:
      local: {size: 8 KiB, holds: all, bits_per_cycle: 128}
    count: 2
  dram:
    memories:
      dram: {kind: dram, size: 1 GiB, holds: all, bits_per_cycle: 64, port: shared, dram_type: ddr4}
offchip: dram
links:
  - {link: [matrix, simd_0], bits_per_cycle: 32, energy: 0.1 pJ/bit}
  - {bus: all, bandwidth: 4 GB/s, energy: {value: 0.2 pJ/bit, source: measured}}
shared_memories:
  - [simd_0, simd_1]
offchip_efficiency:
  - {burst: 64 B, efficiency: 0.6}
  - {burst: 64 B, stride: 4 KiB, efficiency: 30 %}
)";

// A ZigZag accelerator with the parts its files have.
inline const std::string kZigzag = R"(name: small
memories:
  rf:
    size: 64
    r_cost: 0.1
    w_cost: 0.2
    area: 0
    latency: 1
    operands: [I2]
    ports:
      - name: r_port_1
        type: read
        bandwidth_min: 8
        bandwidth_max: 8
        allocation:
          - I2, tl
      - name: w_port_1
        type: write
        bandwidth_min: 8
        bandwidth_max: 8
        allocation:
          - I2, fh
    served_dimensions: [D2]
  sram:
    size: 65536
    r_cost: 10
    w_cost: 12
    area: 0.5
    latency: 1
    operands: [I1, I2, O]
    ports:
      - name: rw_port_1
        type: read_write
        bandwidth_min: 64
        bandwidth_max: 128
        allocation: ["I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th"]
    served_dimensions: [D1, D2]
operational_array:
  unit_energy: 0.04
  unit_area: 1
  dimensions: [D1, D2]
  sizes: [8, 4]
dataflows:
  D1: ["K, 8"]
)";

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "nothing to replace: " + from : text.replace(at, from.size(), to);
}

inline Loaded load(const std::string& text, const LoadOptions& options = {}) {
  return parse_hardware(text, "hw.yaml", options);
}

// Whatever is said of a file, warnings or errors.
inline std::string faults(const std::string& text) {
  try {
    const Loaded loaded = load(text);
    std::string out;
    for (const Diagnostic& d : loaded.warnings) out += to_string(d) + "\n";
    return out;
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace monet::hardware::test
