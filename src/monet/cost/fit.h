#pragma once
#include <optional>
#include <string>

#include "monet/cost/layer.h"
#include "monet/hardware/hardware.h"
#include "monet/work/work.h"

namespace monet::cost {

// What a core makes of a layer that was not written for it.

void set_bits(Layer& layer, double stored, double sums);

// A layer of no format of its own takes the first number format that the array lists (`takes_native`), without one 16
// bits stored and sums of 32; another sums in the accumulator that the array lists for its format. Whatever the layer,
// formats wider than the innermost memories are narrowed to what these hold. Says what was done, if anything.
std::optional<std::string> fit_formats(Layer& layer, const hardware::Core& core, bool takes_native);

// The form in which the core's array computes a layer (forms.h): data gradients may be scattered or gathered. Says so
// if it is another.
std::optional<std::string> fit_form(Layer& layer, const work::LoopNest& nest, const hardware::Core& core);

}  // namespace monet::cost
