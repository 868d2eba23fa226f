#pragma once
#include <vector>

#include "monet/hardware/hardware.h"
#include "monet/work/work.h"

namespace monet::cost {

// A data gradient can be computed in two forms.
// Scattered, as it is lowered: each product is added to the input position its window covers (ix = s·ox + d·fx - p), so
// windows overlap in the output and exactly the products that count are made.
// Gathered: each input position collects the products that reach it, a convolution over the output gradient with s - 1
// zeros between its elements. Nothing overlaps in the output, but of s² products one counts, unless s = 1.

// Whether a nest has an output axis along a sum of two dimensions.
bool is_scattered(const work::LoopNest& nest);

// The gathered form; zeros between the elements are moved and multiplied like others.
work::LoopNest gathered(const work::LoopNest& nest);

// The same without zeros, on any array: positions of the output that have the same remainders by the strides collect
// from the same taps of the window, each such class by a dense convolution of its own. All of them together make
// exactly the products that count. Classes that no tap reaches are left out: nothing is added there.
std::vector<work::LoopNest> gathered_by_remainder(const work::LoopNest& nest);

// The form an array computes: gathered where no zeros come in (stride 1) and on arrays that do not skip zeros; those
// that do make only the products that count.
work::LoopNest form_on(const work::LoopNest& nest, const hardware::Array& array);

}  // namespace monet::cost
