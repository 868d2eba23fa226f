#pragma once
#include <string>
#include <unordered_set>
#include <vector>

#include "monet/onnx/flatten.h"

namespace monet {

// Checks that every value has one origin and every name read has one, and puts the nodes into an order they can run
// in: their own where that is one, else the nearest to it. Errors go to `findings`.
void check_and_sort(FlatModel& model, const pb::GraphProto& graph, Findings& findings);

}  // namespace monet
