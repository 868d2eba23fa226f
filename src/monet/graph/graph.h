#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "monet/base/id.h"
#include "monet/graph/op.h"
#include "monet/numeric/format.h"

namespace monet {

using Shape = std::vector<std::int64_t>;

using TensorId = Id<struct TensorTag>;
using NodeId = Id<struct NodeTag>;
inline constexpr TensorId kNoTensor = kNoId<TensorTag>;
inline constexpr NodeId kNoNode = kNoId<NodeTag>;

enum class Category {
  Input,
  Weight,
  Activation,
  Gradient,
  OptimizerState,
  ModelState,
  Constant,
  Index,
  Mask,
  Workspace
};
enum class Phase { Forward, Loss, Backward, Update, Recompute };
inline constexpr std::size_t kPhases = 5;

std::string_view name(Category category);
std::string_view name(Phase phase);

// The value a source tensor (one no node produces) has before the iteration; none: the user gives it.
struct Splat {
  double value = 0;
  bool operator==(const Splat&) const = default;
};
struct Dense {
  std::vector<double> values;  // row-major
  bool operator==(const Dense&) const = default;
};
// Last two dimensions: `below` where j <= i+k, `above` elsewhere (causal masks).
struct Triangle {
  std::int64_t k = 0;
  double below = 0, above = 0;
  bool operator==(const Triangle&) const = default;
};
// [S, D]: cos or sin of position · base^(-2i/D), i = column mod D/2 (rotary embeddings, halves layout).
struct Rotary {
  bool sine = false;
  double base = 10000;
  bool operator==(const Rotary&) const = default;
};
struct CopyOf {
  TensorId tensor;  // master weights start as the weights
  bool operator==(const CopyOf&) const = default;
};
using Initial = std::variant<std::monostate, Splat, Dense, Triangle, Rotary, CopyOf>;

struct Tensor {
  std::string name;  // unique in its graph
  Shape shape;
  Format format;
  Category category = Category::Activation;
  std::vector<std::uint8_t> layout;  // dimensions from outermost to innermost in memory; empty: row-major
  // The earlier value whose storage this one takes over: an update in place, a read-modify-write.
  TensorId overwrites = kNoTensor;
  Initial initial;
  bool operator==(const Tensor&) const = default;
};

struct Node {
  std::string name;  // unique in its graph
  Op op;
  std::vector<TensorId> inputs, outputs;  // kNoTensor where an optional operand is absent
  Phase phase = Phase::Forward;
  // Every update must come after a barrier (global-norm clipping, overflow check), and every gradient before it.
  bool barrier = false;
  // Kept alive for this node though it does not read them: what a framework saves beyond need.
  std::vector<TensorId> holds;
  bool operator==(const Node&) const = default;
};

// One iteration of a model as a value. Nodes stand in an order in which they can run.
struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<TensorId> outputs;

  Tensor& operator[](TensorId id) { return tensors[id.index()]; }
  const Tensor& operator[](TensorId id) const { return tensors[id.index()]; }
  Node& operator[](NodeId id) { return nodes[id.index()]; }
  const Node& operator[](NodeId id) const { return nodes[id.index()]; }
  bool operator==(const Graph&) const = default;
};

std::int64_t elements(const Shape& shape);
std::uint64_t bits(const Tensor& tensor);
std::uint64_t bytes(const Tensor& tensor);  // rounded up
std::string to_string(const Shape& shape);  // "[2,3,32,32]"

// Who makes and who reads each tensor.
struct Uses {
  std::vector<NodeId> producer;                // kNoNode for sources
  std::vector<std::vector<NodeId>> consumers;  // in node order; a node that reads a tensor twice stands once
};
Uses uses(const Graph& graph);

TensorId tensor_named(const Graph& graph, std::string_view name);  // kNoTensor if there is none

}  // namespace monet
