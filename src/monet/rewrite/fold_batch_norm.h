#pragma once
#include "monet/interpret/array.h"

namespace monet {

// Folds frozen batch-norms into the convolution before them: w' = w·γ/√(σ²+ε), b' = (b-μ)·γ/√(σ²+ε) + β, so that
// neither normalisation nor statistics remain. The new weights are named <weight>.folded and <bias>.folded (or
// <conv>.bias). With `values`, their numbers are computed too. Only where the convolution's result has no other reader.
Graph fold_batch_norm(Graph graph, Values<double>* values = nullptr);

}  // namespace monet
