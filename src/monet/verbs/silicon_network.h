#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "monet/base/config.h"
#include "monet/graph/graph.h"
#include "monet/plan/plan.h"

namespace monet {

// The layers of a measured chip as a graph, and how they ran as a plan.

struct SiliconLayer {
  std::string id{};             // in the file; the node is layer_<id>
  std::string operator_type{};  // by which the mapping allots cores
};
struct SiliconNetwork {
  Graph graph{};
  std::vector<SiliconLayer> layers{};  // as the graph's nodes
};
// Convolutions, poolings and sums of two, each with `loop_dim_size`, `operand_source`, `padding`, ….
SiliconNetwork read_silicon_network(const config::Value& workload, config::Findings& findings);

// How a layer is cut: rows and columns of its output in so many parts; 0: in as many as there are.
struct SiliconCuts {
  bool is_stated = false;
  std::int64_t rows = 0, columns = 1;
};
// Of `hint_loops`: [("OX", 28), ("OY", "all")] as text. Not stated: one row each.
SiliconCuts read_silicon_cuts(const config::Value& scheduling, config::Findings& findings);

// One fused group, depth first. `cores` are names by the file's ids.
plan::Plan silicon_plan(const SiliconNetwork& network, const config::Value& mapping,
                        const std::map<std::int64_t, std::string>& cores, const SiliconCuts& cuts,
                        config::Findings& findings);

// The same with rows in tiles of `height`.
plan::Plan with_tile_height(plan::Plan plan, const Graph& graph, std::int64_t height);

}  // namespace monet
