#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/onnx/proto.h"

// How the rules of export_*.cpp write ONNX: a Writer holds the file under construction, a Scope one node of ours while
// its rule turns it into ONNX nodes.

namespace monet::exporting {

// The type a tensor's elements have in the file: one of those ONNX 1.12 names.
Element carrier(Element element);
// The types arithmetic happens in: those for which onnxruntime's CPU kernels are complete.
Element arithmetic(Element element);  // f64, f32, f16, i64 or i32
Element floating(Element element);    // the same without integers: f32 instead
Element wide(Element element);        // f64 or f32: sums and statistics
pb::TensorProto_DataType onnx_type(Element element);

// One list after the other, such as pads at the begin and the end.
Ints joined(const Ints& a, const Ints& b);

// `count` numbers in carrier(element), little-endian.
std::string encode(std::size_t count, Element element, const std::function<double(std::size_t)>& number);

// A value of the file and its element type there; no name: an absent operand.
struct Value {
  std::string name;
  Element element = Element::F32;
};

using Attribute = std::variant<std::int64_t, double, std::string, Ints, pb::TensorProto>;
struct NamedAttribute {
  std::string_view name;
  Attribute value;
};
using Attributes = std::vector<NamedAttribute>;

class Writer {
 public:
  Writer(const Graph& graph, std::int64_t opset);

  const Graph& graph;
  const std::int64_t opset;
  pb::GraphProto file;
  std::vector<bool> flat_indices;  // by tensor: max-pool indices, in ONNX's encoding

  Element element_of(TensorId tensor) const;
  std::string unique_value(const std::string& name);
  std::string unique_node(const std::string& name);

  // A constant of the file; equal ones are shared.
  Value constant(const Shape& shape, Element element, const std::string& name,
                 const std::function<double(std::size_t)>& number);

 private:
  std::unordered_set<std::string> values_, nodes_;
  std::map<std::string, std::string> constants_;  // type, shape and bytes -> name
};

class Scope {
 public:
  Scope(Writer& writer, const Node& node);

  bool has(std::size_t i) const;     // input i is there
  bool wanted(std::size_t i) const;  // output i is
  const Tensor& input(std::size_t i) const;
  const Tensor& output(std::size_t i) const;
  std::size_t inputs() const { return node_.inputs.size(); }
  std::size_t outputs() const { return node_.outputs.size(); }
  std::int64_t opset() const { return writer_.opset; }

  Value in(std::size_t i);  // as stored
  Value in(std::size_t i, Element element) { return cast(in(i), element); }
  Value in_or_none(std::size_t i, Element element) { return has(i) ? in(i, element) : Value{}; }
  // Max-pool indices in ONNX's encoding, or nothing if input i has the graph's encoding.
  Value in_flat_indices(std::size_t i);

  // Adds an ONNX node. One result, of the first operand's type unless `element` says otherwise.
  Value make(std::string_view type, std::vector<Value> operands, Attributes attributes = {});
  Value make(std::string_view type, std::vector<Value> operands, Attributes attributes, Element element);
  std::vector<Value> make(std::string_view type, std::vector<Value> operands, Attributes attributes,
                          const std::vector<Element>& elements);
  // Declares what output i is; a value made here takes the tensor's name.
  void out(std::size_t i, Value value);
  // Adds what the outputs need to the file.
  void finish();

  // A fault of the graph at this node.
  [[noreturn]] void refuse(const std::string& message, const std::string& hint = "") const;

  // ---- Constants ----
  Value scalar(double value, Element element);
  Value ints(const Ints& values);  // 1-D, i64
  Value table(const Shape& shape, Element element, const std::function<double(std::size_t)>& number);
  Value filled(const Shape& shape, double value, Element element);  // a ConstantOfShape node

  // ---- Expressions; operands of one type ----
  Value cast(const Value& x, Element element);
  Value add(const Value& a, const Value& b) { return make("Add", {a, b}); }
  Value sub(const Value& a, const Value& b) { return make("Sub", {a, b}); }
  Value mul(const Value& a, const Value& b) { return make("Mul", {a, b}); }
  Value div(const Value& a, const Value& b) { return make("Div", {a, b}); }
  Value add(const Value& a, double b) { return add(a, scalar(b, a.element)); }
  Value sub(double a, const Value& b) { return sub(scalar(a, b.element), b); }
  Value mul(const Value& a, double b) { return b == 1 ? a : mul(a, scalar(b, a.element)); }
  Value compare(std::string_view type, const Value& a, const Value& b) { return make(type, {a, b}, {}, Element::Bool); }
  Value where(const Value& condition, const Value& a, const Value& b) {
    return make("Where", {condition, a, b}, {}, a.element);
  }
  // ReduceSum, ReduceMean, …; no axes: nothing is reduced
  Value reduce(std::string_view type, const Value& x, const Ints& axes, bool keep = true);
  Value reshape(const Value& x, const Shape& shape) { return make("Reshape", {x, ints(shape)}); }
  Value transpose(const Value& x, const Ints& perm) { return make("Transpose", {x}, {{"perm", perm}}); }
  Value pad(const Value& x, const Ints& begin, const Ints& end, double value = 0);  // negative pads crop
  // Elements first, first + step, …, last along `axis`.
  Value slice(const Value& x, std::int64_t axis, std::int64_t first, std::int64_t last, std::int64_t step = 1);

 private:
  Writer& writer_;
  const Node& node_;
  std::vector<pb::NodeProto> parts_;
  std::unordered_set<std::string> own_;                   // values made here that have no tensor's name yet
  std::unordered_map<std::string, std::string> renamed_;  // those that have
};

}  // namespace monet::exporting
