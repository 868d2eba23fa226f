#pragma once
#include <string>
#include <vector>

#include "monet/graph/graph.h"

namespace monet {

// Everything wrong with a graph, worded for a reader; empty for a sound one. Checked are
//  - form: ids in range, names unique, one producer each, operands before use, shapes and formats as inferred;
//  - effects: a value is read no more once its storage was overwritten, neither itself nor what lies in its storage
//    (views, contiguous slices and parts, repetitions; storage.h), and overwritten once; an update reads an
//    accumulated gradient only in its last version; nothing in phase Recompute overwrites; a recomputed dropout draws
//    the mask of its original; every weight and state update comes after every barrier, every gradient before it;
//  - phases: forward before backward before update, and no earlier phase reads a later one's result.
std::vector<std::string> faults(const Graph& graph);

// Aborts with the first fault: for graphs our own passes made.
void verify(const Graph& graph);

}  // namespace monet
