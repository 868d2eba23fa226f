#pragma once
#include <string>
#include <vector>

#include "monet/hardware/hardware.h"
#include "monet/work/work.h"

namespace monet::cost {

// What the cost model needs of a loop nest: one output and one or two inputs, each with the memory slot it goes
// through and its bits per element. work::LoopNest and ZigZag's workload files both become this.

struct Operand {
  std::string name{};  // O, W, I
  hardware::Slot slot = hardware::Slot::Input;
  double bits = 0;          // per element as stored; block formats have fractions, a constant may have none
  double partial_bits = 0;  // output: per partial sum; inputs: as `bits`
  std::vector<work::Axis> axes{};
  bool operator==(const Operand&) const = default;
};

struct Layer {
  std::string name{};
  std::string operator_type{};  // Conv, Gemm, Add, Pooling, …: mapping files choose by it
  std::vector<work::Dimension> dimensions{};
  std::vector<Operand> operands{};  // the output first, then the inputs in the order of the equation
  bool starts_from_stored = false;  // the sums start from stored values (a bias), not from zero
  bool operator==(const Layer&) const = default;
};

Layer layer_of(const work::LoopNest& nest, std::string name);

}  // namespace monet::cost
