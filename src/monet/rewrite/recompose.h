#pragma once
#include "monet/graph/graph.h"

namespace monet {

// Exporters write normalisations and activations out in smaller operators. These put the whole operator back, so that
// gradients, saved tensors and costs are those of the layer the user wrote. For forward graphs.
Graph recompose_norms(Graph graph);        // layer and RMS normalisation
Graph recompose_activations(Graph graph);  // gelu (both forms), silu, hard-swish

}  // namespace monet
