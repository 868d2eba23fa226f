#pragma once
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "monet/base/id.h"
#include "monet/graph/builder.h"
#include "monet/onnx/attributes.h"
#include "monet/onnx/dimensions.h"
#include "monet/onnx/flatten.h"
#include "monet/onnx/notes.h"
#include "monet/onnx/tensor_data.h"

namespace monet {

// A value of the ONNX graph. It has numbers (a known constant), or stands in the file (a weight), or is a tensor of the
// graph under construction. The first two become source tensors when a node reads them.
using OperandId = Id<struct OperandTag>;
inline constexpr OperandId kNoOperand = kNoId<OperandTag>;
struct Operand {
  std::string name;
  Shape shape;  // a known constant may be empty: an extent of 0
  Format format;
  TensorId tensor = kNoTensor;
  bool known = false;
  std::vector<double> numbers;           // of a known constant, row-major
  std::optional<Stored> stored;          // of a weight
  Category category = Category::Weight;  // of the source tensor it may become
  bool broken = false;                   // its node failed; that has been reported
};

// One node at hand.
struct OnnxCall {
  const pb::NodeProto& proto;
  const std::string& where;
  std::string name, type;  // "conv1", "Conv" or "com.microsoft:Gelu"
  std::int64_t opset = 0;
  AttributeReader attributes;
  std::vector<OperandId> in;
  std::vector<std::string> out;

  OperandId input(std::size_t i) const { return i < in.size() ? in[i] : kNoOperand; }
  bool has_input(std::size_t i) const { return input(i) != kNoOperand; }
  bool has_output(std::size_t i) const { return i < out.size() && !out[i].empty(); }
};

// Thrown where an operator is used in a way there is no rule for: the node becomes a Fallback.
class UnsupportedUse : public ModelError {
 public:
  using ModelError::ModelError;
};

// The graph under construction, and what the operators' rules (operators_*.cpp) see of it.
class Converter {
 public:
  Converter(const pb::ModelProto& model, const Dimensions& dimensions, const ImportOptions& options,
            std::filesystem::path folder, Findings& findings);

  // ---- Driven by import.cpp ----
  // Inputs, initializers and nodes.
  void convert_all(const FlatModel& flat);
  void add_outputs();
  // Numbers of every weight that became a tensor, by tensor name.
  Values<double> load_weights();
  // Categories, formats and updates in place that MONET wrote into the file.
  void apply_notes();
  void report();  // one warning per kind, not per node
  Builder builder;
  bool has_phases = false;  // the file says which phase its nodes belong to
  const std::unordered_set<std::string>& bypassed() const { return read_through_; }
  std::optional<std::size_t> seed;  // the first node that starts gradients, by its place in the graph

  // ---- For the operators' rules ----
  const Operand& operator[](OperandId id) const { return operands_[id.index()]; }
  const Shape& shape(OperandId id) const { return operands_[id.index()].shape; }
  std::int64_t rank(OperandId id) const { return std::ssize(operands_[id.index()].shape); }
  OperandId need(const OnnxCall& call, std::size_t i) const;  // ModelError if input i is absent
  bool is_used(const std::string& name) const { return used_.count(name) > 0; }
  const StatedTypes& stated() const { return stated_; }
  const Dimensions& dimensions() const { return dimensions_; }
  bool strict() const { return options_.strict; }

  // The numbers of an operand that decides shapes: ModelError unless they are known or stand in the file.
  const std::vector<double>& numbers(OperandId id, const char* what);
  Ints integers(OperandId id, const char* what);
  double number(OperandId id, const char* what);  // of a single element
  bool knows(OperandId id) const { return id != kNoOperand && operands_[id.index()].known; }
  bool has_numbers(OperandId id) const {
    return knows(id) || (id != kNoOperand && (*this)[id].stored && (*this)[id].stored->has_numbers());
  }

  // Adds an operator, or computes it at once if all it reads is known. Outputs named "" are not wanted. The node is
  // called after the ONNX node and, for one of several, `part`.
  std::vector<OperandId> add(const OnnxCall& call, Op op, std::vector<OperandId> in,
                             const std::vector<std::string>& out, std::string_view part = "");
  // One result, the ONNX node's first output.
  OperandId finish(const OnnxCall& call, Op op, std::vector<OperandId> in) {
    return add(call, std::move(op), std::move(in), {first_output(call)})[0];
  }
  // One intermediate result.
  OperandId step(const OnnxCall& call, Op op, std::vector<OperandId> in, std::string_view part);
  std::vector<OperandId> add_fallback(const OnnxCall& call, const Fallback& op, const std::vector<OutputType>& types);

  // `visible`: other nodes can read it under its name.
  OperandId constant(const std::string& name, Shape shape, Element element, std::vector<double> numbers,
                     bool visible = true);
  OperandId scalar(const OnnxCall& call, double value, Element element, std::string_view part);
  OperandId stored(const std::string& name, const pb::TensorProto& tensor, bool from_node);
  void alias(const std::string& name, OperandId id) { names_[name] = id; }
  std::string part_name(const OnnxCall& call, std::string_view part) const;
  // The tensor of an operand; constants and weights become sources now.
  TensorId tensor(OperandId id);

  OperandId operand_of(TensorId tensor);  // a tensor of the graph as an operand
  // The node that made an operand, if one did. A rule that reads through it instead of its result says so: it may go.
  const Node* maker(OperandId id) const;
  void read_through(OperandId id) { read_through_.insert(maker(id)->name); }
  void mark_loss(const OnnxCall& call);  // nodes added since the call began belong to the loss
  void convert_branch(const OnnxCall& call, const pb::GraphProto& branch);
  void note_fallback(const OnnxCall& call, const std::string& reason);
  void note_guess(const std::string& name) { guesses_.push_back("'" + name + "'"); }

 private:
  void note_makers();
  static const std::string& first_output(const OnnxCall& call);
  OperandId bind(Operand operand, bool visible = true);
  void convert(const FlatNode& node);
  void convert_known_type(const OnnxCall& call);
  std::optional<std::vector<OperandId>> fold(const Op& op, const std::vector<OperandId>& in,
                                             const std::vector<OutputType>& types, const std::vector<std::string>& out,
                                             bool visible);
  std::optional<OperandId> fold_empty(const Op& op, const std::vector<OperandId>& in, const std::string& out,
                                      bool visible);
  void add_inputs();
  void add_initialisers(const pb::GraphProto& graph);
  void find_uses(const FlatModel& flat);
  Category category_of(const std::string& name, const Stored& stored, bool from_node) const;
  bool keeps_numbers(const Stored& stored, Category category) const;
  void check_against_file(const OnnxCall& call);
  void break_outputs(const pb::NodeProto& node);

  const pb::ModelProto& model_;
  const Dimensions& dimensions_;
  const ImportOptions& options_;
  std::filesystem::path folder_;
  Findings& findings_;
  StatedTypes stated_;

  std::deque<Operand> operands_;
  std::unordered_map<std::string, OperandId> names_;
  std::unordered_set<std::string> used_;        // names somebody reads
  std::unordered_set<std::string> parameters_;  // names read where layers keep their parameters
  std::unordered_map<std::string, ValueNote> notes_;
  std::vector<NodeId> makers_;  // by tensor
  std::unordered_set<std::string> read_through_;
  std::deque<pb::GraphProto> branch_graphs_;  // what the nodes of branches point to
  std::deque<FlatModel> branches_;
  std::size_t call_begin_ = 0, converted_ = 0, depth_ = 0;
  std::size_t held_ = 0;  // numbers of known constants

  struct FallbackNote {
    std::size_t count = 0;
    std::string first, reason;
  };
  std::map<std::string, FallbackNote> fallbacks_;            // by type
  std::map<std::string, std::vector<std::string>> missing_;  // external file -> tensors
  std::vector<std::string> cleared_;                         // tensors without numbers
  std::vector<std::string> disagreements_;                   // values whose stated shape is wrong
  std::vector<std::string> guesses_;                         // values whose shape nobody states
};

// Saturating: 2^63 and above is the largest integer, as exporters write "to the end".
std::int64_t to_integer(double value);
// Into 0 … rank-1, or ModelError.
std::int64_t normal_axis(std::int64_t axis, std::int64_t rank);

}  // namespace monet
