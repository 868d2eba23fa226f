#include "monet/work/work.h"

#include <array>

namespace monet::work {

std::uint64_t macs(const LoopNest& nest) {
  std::uint64_t product = 1;
  for (const Dimension& d : nest.dimensions) product *= static_cast<std::uint64_t>(d.size);
  return product;
}

bool is_reduction(const LoopNest& nest, std::size_t dimension) {
  for (const Operand& operand : nest.operands) {
    if (operand.role != Role::Output) continue;
    for (const Axis& axis : operand.axes)
      for (const Term& term : axis.terms)
        if (term.dimension == dimension) return false;
  }
  return true;
}

std::string_view name(ElementFunction function) {
  static constexpr std::array<std::string_view, 17> kNames{
      "add", "multiply", "divide", "compare", "logic", "select", "convert", "negate", "round",
      "exp", "log",      "sqrt",   "power",   "erf",   "tanh",   "sine",    "random"};
  return kNames[static_cast<std::size_t>(function)];
}

std::uint64_t element_operations(const VectorWork& work) {
  std::uint64_t total = 0;
  for (const FunctionCount& f : work.functions) total += f.count;
  return total;
}

}  // namespace monet::work
