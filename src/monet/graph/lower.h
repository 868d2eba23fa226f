#pragma once
#include "monet/graph/graph.h"
#include "monet/work/work.h"

namespace monet {

// Whether one pass over loops or elements does the operator. Those that take several (normalisations, softmax,
// attention, cross-entropy) are broken up by the decompose pass first.
bool is_single_work(const Op& op);

// The work of one node, which must be single.
//
// Loop nests carry the forward convolution's dimension names in all three kinds: B, G, K, C, OY, OX, FY, FX (OZ, FZ in
// 3-D). In a data gradient OY, OX run over the positions gathered where that is less work (see lower.cpp). Matrix
// products have B (batch; B2, B3 where operands broadcast differently), D rows, K columns, C inner.
// Element functions are counted as the operator is usually computed, one count per evaluation; see lower.cpp.
work::Work lower(const Graph& graph, const Node& node);

}  // namespace monet
