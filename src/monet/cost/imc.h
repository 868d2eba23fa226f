#pragma once
#include "monet/cost/layer.h"
#include "monet/cost/spatial.h"
#include "monet/hardware/hardware.h"

namespace monet::cost {

// Arrays that compute where they store: ZigZag's model of analog and digital in-memory computing (28 nm, 0.9 V), built
// from gates, adder trees, converters and accumulators. Array dimension 0 runs along the word lines (one column per
// lane), dimension 1 along the bit lines (rows, summed), further ones are banks. docs/cost.md has the equations.

// Of one layer, in pJ.
struct ImcEnergy {
  double converters_in = 0;   // digital to analog, one a row
  double converters_out = 0;  // analog to digital, one a column and weight bit
  double multipliers = 0;
  double bit_lines = 0;     // analog sums
  double adder_trees = 0;   // digital sums
  double place_values = 0;  // sums over bits of different weight
  double accumulators = 0;  // sums over the bits fed one after the other
  bool operator==(const ImcEnergy&) const = default;
};
double total(const ImcEnergy& energy);

// The array must have `imc`.
ImcEnergy imc_energy(const hardware::Array& array, const Layer& layer, const Spatial& spatial);

double imc_clock_ns(const hardware::Array& array);

// Of the array and its cells, in mm².
double imc_area_mm2(const hardware::Core& core);

}  // namespace monet::cost
