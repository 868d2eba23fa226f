#pragma once
#include "monet/graph/graph.h"

namespace monet {

// Batch normalisations as they are in inference: by their running statistics, which stay as they are. Those whose
// statistics of the batch somebody reads stay, too.
Graph use_running_statistics(Graph graph);

}  // namespace monet
