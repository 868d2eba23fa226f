#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/graph/infer.h"

namespace monet {

// What a node of this phase makes unless something else is said.
Category category_of(Phase phase);

// Appends to a graph and keeps it sound: names unique, shapes and formats inferred, nodes in order.
// Shape errors come out as ShapeError.
class Builder {
 public:
  explicit Builder(std::string graph_name);
  explicit Builder(Graph graph);

  Phase phase = Phase::Forward;  // of the nodes added from now on

  TensorId source(std::string name, Shape shape, Format format, Category category, Initial initial = {});
  // A scalar constant; equal ones are shared.
  TensorId scalar(double value, Element element = Element::F32);

  // Adds a node with its first `outputs` outputs and returns them.
  std::vector<TensorId> add(Op op, std::vector<TensorId> inputs, const std::string& name, std::size_t outputs = 1);
  // The same where only some outputs are wanted: the others come back as kNoTensor.
  std::vector<TensorId> add_wanted(Op op, std::vector<TensorId> inputs, const std::string& name,
                                   const std::vector<bool>& wanted);
  // The same with the outputs' names given; "" where one is not wanted.
  std::vector<TensorId> add_named(Op op, std::vector<TensorId> inputs, const std::string& name,
                                  const std::vector<std::string>& output_names);
  // The same into tensors that exist and have no producer yet; kNoTensor where one is not wanted.
  void add_into(Op op, std::vector<TensorId> inputs, const std::string& name, std::vector<TensorId> outputs);
  // A node with one output.
  TensorId one(Op op, std::vector<TensorId> inputs, const std::string& name) {
    return add(std::move(op), std::move(inputs), name)[0];
  }
  // An operator without a rule: its outputs are given.
  std::vector<TensorId> add_fallback(Fallback op, std::vector<TensorId> inputs, const std::string& name,
                                     const std::vector<std::string>& output_names,
                                     const std::vector<OutputType>& outputs);

  // Shorthands, named after what they make.
  TensorId unary(UnaryKind kind, TensorId x, const std::string& name, double a = 0, double b = 0) {
    return one(Unary{kind, a, b}, {x}, name);
  }
  TensorId binary(BinaryKind kind, TensorId a, TensorId b, const std::string& name) {
    return one(Binary{kind}, {a, b}, name);
  }
  TensorId view(TensorId x, Shape shape, const std::string& name) { return one(View{std::move(shape)}, {x}, name); }

  const Graph& graph() const { return graph_; }
  Graph& graph() { return graph_; }
  const Tensor& operator[](TensorId id) const { return graph_[id]; }
  Tensor& operator[](TensorId id) { return graph_[id]; }
  Graph finish() && { return std::move(graph_); }

  // `name`, or the first free of name.2, name.3, … ; taken from then on
  std::string unique_tensor(const std::string& name);
  std::string unique_node(const std::string& name);

 private:
  std::vector<TensorId> append(Op op, std::vector<TensorId> inputs, const std::string& name,
                               const std::vector<OutputType>& types, const std::vector<std::string>& output_names);

  Graph graph_;
  std::unordered_map<std::string, std::uint32_t> tensor_names_, node_names_;  // name -> next suffix to try
  std::unordered_map<std::string, TensorId> scalars_;
};

}  // namespace monet
