#include "monet/cost/imc.h"

#include <algorithm>
#include <cmath>

#include "monet/base/assert.h"

namespace monet::cost {
namespace {

using hardware::Array;
using hardware::InMemoryCompute;

// Gates in 28 nm as in ZigZag's IMC model (its sources: logic delay and area fitted to published macros).
constexpr double kVoltsSquared = 0.9 * 0.9;
constexpr double kNandPf = 0.7e-3, kXorPf = 1.5 * kNandPf, kFlipFlopPf = 3 * kNandPf, kBitLinePf = kNandPf / 2;
constexpr double kNandMm2 = 0.614e-6, kXorMm2 = 2.4 * kNandMm2, kFlipFlopMm2 = 6 * kNandMm2;
constexpr double kNandNs = 0.0478, kXorNs = 2.4 * kNandNs;
// A full adder: sum after two XORs; carry from the inputs after an XOR and two NANDs, from a carry after two NANDs.
constexpr double kAdderPj = (3 * kNandPf + 2 * kXorPf) * kVoltsSquared, kHalfAdderPj = 2 * kXorPf * kVoltsSquared;
constexpr double kAdderMm2 = 3 * kNandMm2 + 2 * kXorMm2;
constexpr double kSumNs = 2 * kXorNs, kInputToCarryNs = kXorNs + 2 * kNandNs, kCarryNs = 2 * kNandNs;

// What the parts of an array come to.
struct ArrayParts {
  bool analog = false;
  double activation = 0, weight = 0, serial = 0, adc = 0;  // bits
  double columns = 1, rows = 1, banks = 1;
  double depth = 0;          // of the adder tree over the rows
  double tree_adders = 0;    // one-bit adders in it
  double summed = 0;         // numbers of different place value that are added
  double summed_bits = 0;    // of each
  double place_adders = 0;   // one-bit adders for that
  double place_bits = 0;     // of the result
  bool accumulates = false;  // inputs come in several steps
  double accumulator_bits = 0;
};

ArrayParts parts_of(const Array& array) {
  MONET_ASSERT(array.imc.has_value(), "an in-memory-compute array");
  const InMemoryCompute& imc = *array.imc;
  ArrayParts p{.analog = imc.analog,
               .activation = static_cast<double>(imc.activation_bits),
               .weight = static_cast<double>(imc.weight_bits),
               .serial = static_cast<double>(std::max<std::int64_t>(imc.serial_bits, 1)),
               .adc = static_cast<double>(imc.adc_bits)};
  for (std::size_t a = 0; a < array.dimensions.size(); ++a)
    (a == 0 ? p.columns : a == 1 ? p.rows : p.banks) *= static_cast<double>(array.dimensions[a].size);
  p.depth = std::ceil(std::log2(p.rows));
  p.tree_adders = p.rows * (p.weight + 1) - (p.weight + p.depth + 1);
  p.summed = p.analog ? p.weight : p.serial;
  p.summed_bits = p.analog ? p.adc : p.weight + p.depth;
  p.place_bits = p.summed_bits;
  if (p.summed > 1) {
    p.place_adders = p.summed_bits * (p.summed - 1) + p.summed * (std::log2(p.summed) - 0.5);
    p.place_bits = p.summed + p.summed_bits;
  }
  p.accumulates = p.serial != p.activation;
  p.accumulator_bits = p.activation + p.weight + (p.analog ? p.adc : std::log2(p.rows));
  return p;
}

// One adder tree with `used` of its inputs at work. Halves of the tree whose other half is idle only pass numbers on.
double tree_pj(const ArrayParts& p, double used) {
  if (used >= p.rows) return p.tree_adders * kAdderPj;
  double full = 0, passing = 0;
  const double w = p.weight;
  for (double left = used, half = std::exp2(p.depth) / 2; left > 0 && half >= 1; half /= 2) {
    const double depth = std::log2(half), adders = half * (w + 1) - (w + depth + 1);
    if (left <= 1 && half == 1) {
      passing += w;
      left = 0;
    } else if (left > half) {
      full += adders + (w + depth);
      left -= half;
    } else if (left < half) {
      passing += w + depth;
    } else {
      full += adders;
      passing += w + depth;
      left = 0;
    }
  }
  return full * kAdderPj + passing * kHalfAdderPj;
}

double lanes_on(const Spatial& spatial, std::size_t array_dimension) {
  double lanes = 1;
  if (array_dimension < spatial.size())
    for (const SpatialLoop& loop : spatial[array_dimension]) lanes *= static_cast<double>(loop.factor);
  return lanes;
}

// Rows that hold weights. Where windows slide along the columns (OX on dimension 0 against FX on dimension 1) the
// weights stand on a diagonal and take more rows.
double rows_in_use(const Layer& layer, const Spatial& spatial) {
  double rows = 1;
  if (spatial.size() < 2) return rows;
  for (const SpatialLoop& loop : spatial[1]) {
    double taken = static_cast<double>(loop.factor);
    for (const Operand& operand : layer.operands)
      for (const work::Axis& axis : operand.axes) {
        if (operand.slot == hardware::Slot::Output || axis.terms.size() != 2) continue;
        const std::size_t a = axis.terms[0].dimension, b = axis.terms[1].dimension;
        if (a != loop.dimension && b != loop.dimension) continue;
        for (const SpatialLoop& along : spatial[0])
          if (along.dimension == (a == loop.dimension ? b : a)) taken += static_cast<double>(along.factor) - 1;
      }
    rows *= taken;
  }
  return rows;
}

}  // namespace

double total(const ImcEnergy& e) {
  return e.converters_in + e.converters_out + e.multipliers + e.bit_lines + e.adder_trees + e.place_values +
         e.accumulators;
}

ImcEnergy imc_energy(const Array& array, const Layer& layer, const Spatial& spatial) {
  const ArrayParts p = parts_of(array);
  const double columns = lanes_on(spatial, 0), rows = std::min(rows_in_use(layer, spatial), p.rows);
  double macs = 1;
  for (const work::Dimension& d : layer.dimensions) macs *= static_cast<double>(d.size);
  // How often the array is switched: once for each group of bits fed.
  const double times = p.activation / p.serial * (macs / (columns * lanes_on(spatial, 1)));
  const double gate = 0.5 * kNandPf * kVoltsSquared * p.weight;
  ImcEnergy e;
  if (p.analog) {
    e.converters_in = (p.serial == 1 ? 0 : 0.05 * p.serial * kVoltsSquared) * rows * times;
    e.converters_out = (p.adc > 0 ? (100 * p.adc + 0.001 * std::pow(4, p.adc)) * kVoltsSquared / 1000 : 0) * p.weight *
                       columns * times;
    e.multipliers = gate * p.columns * rows * times;
    e.bit_lines = kBitLinePf * kVoltsSquared * p.weight * columns * p.rows * times;
  } else {
    e.multipliers = gate * p.serial * p.columns * p.rows * times;
    e.adder_trees = tree_pj(p, rows) * p.serial * columns * times;
  }
  e.place_values = kAdderPj * p.place_adders * columns * times;
  if (p.accumulates) e.accumulators = (kAdderPj + kFlipFlopPf * kVoltsSquared) * p.accumulator_bits * columns * times;
  return e;
}

double imc_clock_ns(const Array& array) {
  const ArrayParts p = parts_of(array);
  double ns = kNandNs;
  if (p.analog)
    ns += p.adc * (0.00653 * p.rows + 0.640);
  else if (p.depth > 0)
    ns += (p.depth - 1) * kSumNs + kInputToCarryNs + (p.weight + p.depth - 2) * kCarryNs;
  if (p.summed > 1) ns += (std::floor(std::log2(p.summed)) - 1) * kSumNs + kInputToCarryNs + (p.summed - 1) * kCarryNs;
  if (p.accumulates) ns += kInputToCarryNs + std::max(0.0, p.accumulator_bits - p.place_bits - 1) * kCarryNs;
  return ns;
}

double imc_area_mm2(const hardware::Core& core) {
  const ArrayParts p = parts_of(*core.array);
  const double lanes = p.columns * p.rows * p.banks, sums = p.columns * p.banks;
  double area = 0;
  for (const hardware::Memory& memory : core.memories)
    if (std::find(memory.slots.begin(), memory.slots.end(), hardware::Slot::Weight) != memory.slots.end()) {
      area = lanes * memory.area_mm2.value;  // the cells: the lowest memory of weights
      break;
    }
  if (p.analog && p.adc > 1) area += std::pow(10, -0.0369 * p.adc + 1.206) * std::exp2(p.adc) * 1e-6 * p.weight * sums;
  area += kNandMm2 * p.weight * lanes * (p.analog ? 1 : p.serial);
  if (!p.analog) area += kAdderMm2 * p.tree_adders * p.serial * sums;
  area += kAdderMm2 * p.place_adders * sums;
  if (p.accumulates) area += (kAdderMm2 + kFlipFlopMm2) * p.accumulator_bits * sums;
  return area;
}

}  // namespace monet::cost
