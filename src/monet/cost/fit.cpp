#include "monet/cost/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "monet/cost/forms.h"

namespace monet::cost {
namespace {

const hardware::Memory* lowest(const hardware::Core& core, hardware::Slot slot) {
  for (const hardware::Memory& memory : core.memories)
    if (std::find(memory.slots.begin(), memory.slots.end(), slot) != memory.slots.end()) return &memory;
  return nullptr;
}

// The first operand that its lowest memory cannot hold one element of.
const hardware::Memory* too_narrow(const Layer& layer, const hardware::Core& core) {
  for (const Operand& operand : layer.operands) {
    const hardware::Memory* memory = lowest(core, operand.slot);
    if (memory && static_cast<double>(memory->size_bits) < std::max(operand.bits, operand.partial_bits)) return memory;
  }
  return nullptr;
}

// An array that lists its formats sums in an accumulator of theirs: the widest for what it multiplies, if none is the
// layer's own.
std::optional<std::string> take_accumulator(Layer& layer, const hardware::Core& core) {
  if (!core.array) return std::nullopt;
  double stored = 0, sums = 0;
  Operand* output = nullptr;
  for (Operand& operand : layer.operands) {
    if (operand.slot == hardware::Slot::Output)
      output = &operand;
    else
      stored = std::max(stored, operand.bits);
  }
  const hardware::MacCost* widest = nullptr;
  for (const hardware::MacCost& format : core.array->formats) {
    if (bits(format.multiplicand) != stored) continue;
    if (output != nullptr && bits(format.accumulator) == output->partial_bits) return std::nullopt;
    if (bits(format.accumulator) > sums) widest = &format;
    sums = std::max(sums, static_cast<double>(bits(format.accumulator)));
  }
  if (output == nullptr || widest == nullptr) return std::nullopt;
  output->partial_bits = sums;
  return fmt::format("sums in {}, as the array has them", name(widest->accumulator));
}

}  // namespace

void set_bits(Layer& layer, double stored, double sums) {
  for (Operand& operand : layer.operands) {
    operand.bits = stored;
    operand.partial_bits = operand.slot == hardware::Slot::Output ? sums : stored;
  }
}

std::optional<std::string> fit_formats(Layer& layer, const hardware::Core& core, bool takes_native) {
  if (takes_native && core.array && !core.array->formats.empty()) {
    const hardware::MacCost& native = core.array->formats.front();
    const Layer before = layer;
    set_bits(layer, bits(native.multiplicand), bits(native.accumulator));
    if (too_narrow(layer, core) == nullptr)
      return layer == before ? std::nullopt
                             : std::optional(fmt::format("in the array's own format: {} with sums in {}",
                                                         name(native.multiplicand), name(native.accumulator)));
    layer = before;
  }
  const std::optional<std::string> summed = take_accumulator(layer, core);
  const hardware::Memory* narrow = too_narrow(layer, core);
  if (narrow == nullptr) return summed;
  constexpr std::array<std::pair<double, double>, 4> kNarrower{{{16, 32}, {8, 32}, {8, 16}, {8, 8}}};
  for (const auto& [stored, sums] : kNarrower) {
    set_bits(layer, stored, sums);
    if (too_narrow(layer, core) == nullptr)
      return fmt::format("'{}' holds {} bits: taken as {} bits stored, sums of {}", narrow->name, narrow->size_bits,
                         stored, sums);
  }
  return std::nullopt;
}

std::optional<std::string> fit_form(Layer& layer, const work::LoopNest& nest, const hardware::Core& core) {
  if (!core.array || !is_scattered(nest)) return std::nullopt;
  const work::LoopNest form = form_on(nest, *core.array);
  if (form == nest) return "a data gradient as it is lowered: windows overlap in the output";
  Layer other = layer_of(form, layer.name);
  other.operator_type = layer.operator_type;
  for (Operand& operand : other.operands)
    for (const Operand& before : layer.operands)
      if (before.slot == operand.slot) {
        operand.bits = before.bits;
        operand.partial_bits = before.partial_bits;
      }
  const bool has_zeros = work::macs(form) != work::macs(nest);
  layer = std::move(other);
  return has_zeros ? "a data gradient with zeros between the elements of its input: the array does not skip them"
                   : "a data gradient as a convolution over the output's gradient";
}

}  // namespace monet::cost
