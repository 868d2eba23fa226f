#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "monet/graph/cut.h"
#include "monet/graph/graph.h"
#include "monet/hardware/hardware.h"
#include "monet/plan/plan_file.h"

namespace monet::plan {

// Stream's mapping files and layer stacks as plans. They say on which cores a layer runs and how it is cut;
// docs/plan.md has what is taken over and how. (schedule/stream_tiles.h follows the same files to Stream's own
// schedule.)

// A loop of a node and what Stream calls it: the height of a convolution is Stream's OX and our OY.
struct StreamDimension {
  std::string name{};
  Loop loop{};
  bool operator==(const StreamDimension&) const = default;
};

struct StreamNode {
  std::string name{};
  std::vector<std::string> types{};  // of the operator in ONNX, the likeliest first: Gemm, MatMul
  bool only_moves = false;           // to Stream it is no layer, so that `default` does not mean it
  std::vector<StreamDimension> dimensions{};
  bool operator==(const StreamNode&) const = default;
};

struct StreamContext {
  std::vector<std::string> cores{};  // names by Stream's core id, which is the index in Hardware::cores
  std::optional<std::size_t> offchip{};
  std::vector<StreamNode> nodes{};
  bool operator==(const StreamContext&) const = default;
};

// Nodes that are not a single work (lower.h) have no loops yet, and are not cut.
StreamContext stream_context(const hardware::Hardware& hardware, const Graph& graph);

// An entry for every node that the file means. Throws InputError; what a plan cannot say is a warning.
ParsedPlan parse_stream_plan(std::string_view text, const std::string& path, const StreamContext& context);

// Layer stacks: "[(0, 1, 2), (3,)]" as Stream's scripts have it, a YAML list of lists, or "[0-10, 11-21]". Layers are
// names, or ids that count `layers`. Throws InputError; `path` names the text in it.
std::vector<Group> parse_stacks(std::string_view text, std::span<const std::string> layers,
                                const std::string& path = "--stacks");

// The same groups by nodes of the graph: a layer that was broken up ("softmax") stands for its parts ("softmax.max", …)
// in the forward pass, one that is gone for nothing.
std::vector<Group> groups_in(const Graph& graph, const std::vector<Group>& groups);

}  // namespace monet::plan
