#include "monet/cost/layer.h"

#include "monet/base/assert.h"

namespace monet::cost {
Layer layer_of(const work::LoopNest& nest, std::string name) {
  Layer layer{.name = std::move(name), .dimensions = nest.dimensions};
  for (const bool output : {true, false})
    for (const work::Operand& operand : nest.operands) {
      if (operand.role == work::Role::Initial) {
        layer.starts_from_stored = true;
        continue;
      }
      if ((operand.role == work::Role::Output) != output) continue;
      Operand o{.bits = bits_per_element(operand.format), .axes = operand.axes};
      o.partial_bits = output ? bits_per_element(operand.accumulator) : o.bits;
      o.slot = output                               ? hardware::Slot::Output
               : operand.role == work::Role::Weight ? hardware::Slot::Weight
                                                    : hardware::Slot::Input;
      o.name = output ? "O" : operand.role == work::Role::Weight ? "W" : "I";
      layer.operands.push_back(std::move(o));
    }
  MONET_ASSERT(layer.operands.size() >= 2, "a nest has an output and an input");
  return layer;
}

}  // namespace monet::cost
