#pragma once
#include <cstdint>
#include <vector>

#include "monet/graph/cut.h"
#include "monet/interpret/array.h"

namespace monet {

// What the parts of a reduction have come to so far.
template <class T>
struct Partial {
  std::vector<Array<T>> values;  // one for each output of the node; without data where it has none
  std::int64_t count = 0;        // steps of the reduction behind them; 0: nothing yet
};

// Takes in the results of one more box, which differs from those before in its reduction loops alone. What comes out
// when all have been taken in equals the whole result up to rounding; the order decides the last bits.
//
// Statistics are (mean, 1/√(variance+ε), [variance]), weighed by counts n and m of elements, with δ the difference of
// the means: mean = (n·a + m·b)/(n+m), and variance = (n·va + m·vb)/(n+m) + n·m·δ²/(n+m)², of which variance+ε is a
// shift, so that ε need not be known.
template <class T>
void combine(const Combine& how, const std::vector<Array<T>>& part, Partial<T>& total);

}  // namespace monet
