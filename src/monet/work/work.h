#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "monet/numeric/format.h"

namespace monet::work {

// What a core can be asked to do. After `decompose` every node of a graph is exactly one of these, and this is
// all that the cost model, the planner and the scheduler see.

// ---- Loop nests: multiply-accumulate over a rectangular iteration space ----

struct Dimension {
  std::string name;  // B, G, K, C, OY, OX, FY, FX, … ; unique in its nest
  std::int64_t size = 1;
  bool operator==(const Dimension&) const = default;
};

struct Term {
  std::size_t dimension = 0;  // index into LoopNest::dimensions
  std::int64_t coefficient = 1;
  bool operator==(const Term&) const = default;
};

// One axis of an operand's tensor: index = offset + Σ coefficient · dimension, valid in [0, extent).
// Points outside are padding (zero, not stored).
struct Axis {
  std::int64_t extent = 1;
  std::int64_t offset = 0;
  std::vector<Term> terms;
  bool operator==(const Axis&) const = default;
};

enum class Role {
  Input,    // streamed operand
  Weight,   // the other factor; a trained or stationary operand where there is one
  Initial,  // value the accumulator starts from (bias)
  Output,
};

struct Operand {
  Role role = Role::Input;
  Format format;       // as stored
  Format accumulator;  // Output only: format of partial sums
  std::vector<Axis> axes;
  bool operator==(const Operand&) const = default;
};

// out[axes(d)] += input[axes(d)] * weight[axes(d)] for every point d of the dimensions.
// A dimension is a reduction if no output axis mentions it. Output axes may be partially relevant too:
// in a strided data gradient ix = s·oy + d·fy - p.
struct LoopNest {
  std::vector<Dimension> dimensions;
  std::vector<Operand> operands;
  bool operator==(const LoopNest&) const = default;
};

std::uint64_t macs(const LoopNest& nest);
bool is_reduction(const LoopNest& nest, std::size_t dimension);

// ---- Vector work: element functions, reductions and data movement ----

enum class ElementFunction {
  Add,
  Multiply,
  Divide,
  Compare,
  Logic,
  Select,
  Convert,
  Negate,
  Round,
  Exp,
  Log,
  Sqrt,
  Power,
  Erf,
  Tanh,
  Sine,
  Random,
};
std::string_view name(ElementFunction function);

struct FunctionCount {
  ElementFunction function;
  std::uint64_t count = 0;  // evaluations in total
  bool operator==(const FunctionCount&) const = default;
};

struct Transfer {
  std::uint64_t elements = 0;  // elements touched: less than the tensor when only a part is read
  Format format;
  bool operator==(const Transfer&) const = default;
};

struct VectorWork {
  std::vector<std::int64_t> iteration;  // extents of the iteration space
  std::vector<bool> reduced;            // per extent: summed (or maximised) away
  std::vector<FunctionCount> functions;
  std::vector<Transfer> reads, writes;
  bool is_view = false;   // no data moves: the output is the input's storage under another shape
  bool permutes = false;  // reads its operand in another order than it is stored (transposes, im2col)
  bool indirect = false;  // addresses come from data (gather, scatter)
  bool operator==(const VectorWork&) const = default;
};

std::uint64_t element_operations(const VectorWork& work);  // Σ function counts

using Work = std::variant<LoopNest, VectorWork>;

}  // namespace monet::work
