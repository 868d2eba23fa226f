#include "monet/onnx/converter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "monet/base/assert.h"
#include "monet/interpret/run.h"
#include "monet/onnx/operators.h"

// From ONNX nodes to a graph. One pass in order: each node is converted by its operator's rule; what depends on
// constants only is computed at once, so that the arithmetic exporters do on shapes leaves no trace.

namespace monet {
namespace {

constexpr std::size_t kMostFolded = 65536;  // elements of a constant that is kept as numbers
constexpr std::size_t kMostConverted = 2'000'000;
// Small files can ask for many large constants: from `kMostFoldedInAll` numbers on only small ones are computed, at
// `kMostHeld` the file is refused.
constexpr std::size_t kSmall = 64, kMostFoldedInAll = std::size_t{1} << 25, kMostHeld = std::size_t{1} << 26;

// Operators cheap enough to compute while reading a file, and a function of their operands alone.
bool may_fold(const Op& op) {
  return std::holds_alternative<Unary>(op) || std::holds_alternative<Binary>(op) || std::holds_alternative<Sum>(op) ||
         std::holds_alternative<Select>(op) || std::holds_alternative<Cast>(op) || std::holds_alternative<Reduce>(op) ||
         std::holds_alternative<View>(op) || std::holds_alternative<Transpose>(op) ||
         std::holds_alternative<Expand>(op) || std::holds_alternative<Concat>(op) ||
         std::holds_alternative<Split>(op) || std::holds_alternative<Slice>(op) || std::holds_alternative<Place>(op) ||
         std::holds_alternative<Pad>(op) || std::holds_alternative<Gather>(op) || std::holds_alternative<Trilu>(op) ||
         std::holds_alternative<Fill>(op) || std::holds_alternative<Iota>(op) || std::holds_alternative<MatMul>(op);
}

Initial initial_of(const std::vector<double>& numbers) {
  const bool equal = std::all_of(numbers.begin(), numbers.end(), [&](double x) { return x == numbers[0]; });
  if (equal) return Splat{numbers[0]};
  return Dense{numbers};
}

}  // namespace

std::int64_t to_integer(double value) {
  if (!(value > -9.2e18)) return std::numeric_limits<std::int64_t>::min();
  if (value >= 9.2e18) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(value);
}

std::int64_t normal_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank)
    throw ModelError(fmt::format("axis {} is out of range for {} dimensions", axis, rank));
  return axis < 0 ? axis + rank : axis;
}

Converter::Converter(const pb::ModelProto& model, const Dimensions& dimensions, const ImportOptions& options,
                     std::filesystem::path folder, Findings& findings)
    : builder(model.graph().name().empty() ? "model" : model.graph().name()),
      model_(model),
      dimensions_(dimensions),
      options_(options),
      folder_(std::move(folder)),
      findings_(findings),
      stated_(model.graph(), dimensions) {
  const auto note = [&](const std::string& name, const std::string& text) {
    if (const auto parsed = parse_value_note(text)) notes_.emplace(name, *parsed);
  };
  const pb::GraphProto& graph = model.graph();
  for (const auto* list : {&graph.input(), &graph.value_info(), &graph.output()})
    for (const auto& info : *list) note(info.name(), info.doc_string());
  for (const auto& tensor : graph.initializer()) note(tensor.name(), tensor.doc_string());
}

// ---- Operands ----

OperandId Converter::bind(Operand operand, bool visible) {
  const OperandId id{static_cast<std::uint32_t>(operands_.size())};
  if (visible) names_[operand.name] = id;
  operands_.push_back(std::move(operand));
  return id;
}

OperandId Converter::need(const OnnxCall& call, std::size_t i) const {
  if (!call.has_input(i)) throw ModelError(fmt::format("input {} is missing", i));
  return call.in[i];
}

OperandId Converter::constant(const std::string& name, Shape shape, Element element, std::vector<double> numbers,
                              bool visible) {
  MONET_ASSERT(std::ssize(numbers) == elements(shape), "a constant has as many numbers as elements");
  held_ += numbers.size();
  if (held_ > kMostHeld && numbers.size() > kSmall) throw ModelError("the file holds too many constants");
  return bind(Operand{.name = name,
                      .shape = std::move(shape),
                      .format = Format{element},
                      .tensor = kNoTensor,
                      .known = true,
                      .numbers = std::move(numbers),
                      .stored = std::nullopt,
                      .category = Category::Constant,
                      .broken = false},
              visible);
}

OperandId Converter::scalar(const OnnxCall& call, double value, Element element, std::string_view part) {
  return constant(part_name(call, part), {}, element, {value}, false);
}

OperandId Converter::stored(const std::string& name, const pb::TensorProto& tensor, bool from_node) {
  Stored stored = inspect(tensor, folder_);
  const Category category = category_of(name, stored, from_node);
  if (keeps_numbers(stored, category)) {
    std::vector<double> numbers = decode(stored);
    return constant(name, stored.shape, stored.element, std::move(numbers));
  }
  return bind(Operand{.name = name,
                      .shape = stored.shape,
                      .format = Format{stored.element},
                      .tensor = kNoTensor,
                      .known = false,
                      .numbers = {},
                      .stored = std::move(stored),
                      .category = category,
                      .broken = false});
}

const std::vector<double>& Converter::numbers(OperandId id, const char* what) {
  Operand& operand = operands_[id.index()];
  if (operand.known) return operand.numbers;
  if (!operand.stored)
    throw ModelError(fmt::format("{} '{}' is only known when the model runs", what, operand.name),
                     "shapes must not depend on data");
  if (operand.stored->place == Stored::Place::Missing)
    throw ModelError(fmt::format("{} '{}' decides a shape, and its numbers are in '{}', which is missing", what,
                                 operand.name, operand.stored->file.filename().string()));
  if (operand.stored->place == Stored::Place::Cleared)
    throw ModelError(fmt::format("{} '{}' decides a shape, and its numbers are not in the file", what, operand.name));
  if (static_cast<std::size_t>(elements(operand.shape)) > kMostFolded)
    throw ModelError(fmt::format("{} '{}' has {} elements", what, operand.name, elements(operand.shape)));
  // Kept beside the stored form: it may be a weight for another reader.
  if (operand.numbers.empty()) operand.numbers = decode(*operand.stored);
  return operand.numbers;
}

Ints Converter::integers(OperandId id, const char* what) {
  const std::vector<double>& list = numbers(id, what);
  if (shape(id).size() > 1) throw ModelError(fmt::format("{} {} should be a list", what, to_string(shape(id))));
  Ints out;
  for (const double value : list) out.push_back(to_integer(value));
  return out;
}

double Converter::number(OperandId id, const char* what) {
  const std::vector<double>& list = numbers(id, what);
  if (list.size() != 1) throw ModelError(fmt::format("{} should be one number, not {}", what, to_string(shape(id))));
  return list[0];
}

TensorId Converter::tensor(OperandId id) {
  if (id == kNoOperand) return kNoTensor;
  Operand& operand = operands_[id.index()];
  if (operand.tensor != kNoTensor) return operand.tensor;
  check_shape(operand.shape);
  if (operand.known)
    operand.tensor =
        builder.source(operand.name, operand.shape, operand.format, Category::Constant, initial_of(operand.numbers));
  else
    operand.tensor = builder.source(operand.name, operand.shape, operand.format, operand.category);
  if (operand.stored && operand.stored->place == Stored::Place::Missing)
    missing_[operand.stored->file.filename().string()].push_back(operand.name);
  if (operand.stored && operand.stored->place == Stored::Place::Cleared) cleared_.push_back(operand.name);
  return operand.tensor;
}

// ---- Adding operators ----

const std::string& Converter::first_output(const OnnxCall& call) {
  if (call.out.empty()) throw ModelError("has no outputs");
  return call.out[0];
}

std::string Converter::part_name(const OnnxCall& call, std::string_view part) const {
  const std::string& base = call.out.empty() || call.out[0].empty() ? call.name : call.out[0];
  return part.empty() ? base : fmt::format("{}.{}", base, part);
}

OperandId Converter::step(const OnnxCall& call, Op op, std::vector<OperandId> in, std::string_view part) {
  return add(call, std::move(op), std::move(in), {part_name(call, part)}, part)[0];
}

std::vector<OperandId> Converter::add(const OnnxCall& call, Op op, std::vector<OperandId> in,
                                      const std::vector<std::string>& out, std::string_view part) {
  const auto is_empty = [&](OperandId id) { return id != kNoOperand && elements(shape(id)) == 0; };
  if (std::any_of(in.begin(), in.end(), is_empty)) {
    if (const auto folded = fold_empty(op, in, out.at(0), part.empty())) return {*folded};
    throw ModelError("works on an empty tensor");
  }
  std::vector<Tensor> descriptions(in.size());
  std::vector<const Tensor*> operands;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i] != kNoOperand) {
      descriptions[i].shape = shape(in[i]);
      descriptions[i].format = operands_[in[i].index()].format;
    }
    operands.push_back(in[i] == kNoOperand ? nullptr : &descriptions[i]);
  }
  const std::vector<OutputType> types = infer(op, operands);
  if (auto folded = fold(op, in, types, out, part.empty())) return *folded;

  std::vector<TensorId> tensors;
  for (const OperandId id : in) tensors.push_back(tensor(id));
  const std::string name = part.empty() ? call.name : fmt::format("{}.{}", call.name, part);
  std::vector<OperandId> results;
  for (const TensorId made : builder.add_named(std::move(op), std::move(tensors), name, out)) {
    if (made == kNoTensor) {
      results.push_back(kNoOperand);
      continue;
    }
    note_makers();
    results.push_back(bind(Operand{.name = out[results.size()],
                                   .shape = builder[made].shape,
                                   .format = builder[made].format,
                                   .tensor = made,
                                   .known = false,
                                   .numbers = {},
                                   .stored = std::nullopt,
                                   .category = Category::Activation,
                                   .broken = false},
                           part.empty()));
  }
  return results;
}

std::optional<std::vector<OperandId>> Converter::fold(const Op& op, const std::vector<OperandId>& in,
                                                      const std::vector<OutputType>& types,
                                                      const std::vector<std::string>& out, bool visible) {
  if (!may_fold(op)) return std::nullopt;
  for (const OperandId id : in)
    if (id != kNoOperand && !operands_[id.index()].known) return std::nullopt;
  for (std::size_t i = 0; i < out.size() && i < types.size(); ++i)
    if (const auto size = static_cast<std::size_t>(elements(types[i].shape));
        size > kMostFolded || (size > kSmall && held_ + size > kMostFoldedInAll))
      return std::nullopt;
  std::vector<Array<double>> arrays(in.size());
  std::vector<const Array<double>*> inputs;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i] != kNoOperand) arrays[i] = {shape(in[i]), operands_[in[i].index()].numbers};
    inputs.push_back(in[i] == kNoOperand ? nullptr : &arrays[i]);
  }
  std::vector<Tensor> descriptions(out.size());
  std::vector<const Tensor*> outputs;
  for (std::size_t i = 0; i < out.size(); ++i) {
    descriptions[i].shape = types.at(i).shape;
    descriptions[i].format = types.at(i).format;
    outputs.push_back(out[i].empty() ? nullptr : &descriptions[i]);
  }
  std::vector<Array<double>> results = evaluate<double>(op, inputs, outputs);
  std::vector<OperandId> ids;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].empty()) {
      ids.push_back(kNoOperand);
      continue;
    }
    if (is_integer(types[i].format.element))  // a division of integers drops the rest
      for (double& value : results.at(i).data) value = std::trunc(value);
    ids.push_back(constant(out[i], types[i].shape, types[i].format.element, std::move(results.at(i).data), visible));
  }
  return ids;
}

// Exporters write empty lists of sizes (the shape of a scalar, a slice [0:0] of a shape), which no tensor may be.
std::optional<OperandId> Converter::fold_empty(const Op& op, const std::vector<OperandId>& in, const std::string& out,
                                               bool visible) {
  for (const OperandId id : in)
    if (id == kNoOperand || !operands_[id.index()].known) return std::nullopt;
  const Operand& first = operands_[in[0].index()];
  if (const View* view = std::get_if<View>(&op); view && elements(view->shape) != 0) return std::nullopt;
  if (const View* view = std::get_if<View>(&op)) return constant(out, view->shape, first.format.element, {}, visible);
  if (const Cast* cast = std::get_if<Cast>(&op)) return constant(out, first.shape, cast->to, {}, visible);
  if (std::holds_alternative<Unary>(op)) return constant(out, first.shape, first.format.element, {}, visible);
  if (const Concat* concat = std::get_if<Concat>(&op)) {
    Shape total = first.shape;
    std::vector<double> numbers;
    if (total.size() != 1 || concat->axis != 0) return std::nullopt;
    for (const OperandId id : in) {
      const Operand& operand = operands_[id.index()];
      if (operand.shape.size() != 1) return std::nullopt;
      numbers.insert(numbers.end(), operand.numbers.begin(), operand.numbers.end());
    }
    return constant(out, {std::ssize(numbers)}, first.format.element, numbers, visible);
  }
  if (const Binary* binary = std::get_if<Binary>(&op)) {
    const bool truth = binary->kind >= BinaryKind::Equal;
    for (const OperandId id : in)
      if (elements(shape(id)) > 1) return std::nullopt;
    const Shape& empty = elements(first.shape) == 0 ? first.shape : shape(in[1]);
    return constant(out, empty, truth ? Element::Bool : first.format.element, {}, visible);
  }
  return std::nullopt;
}

std::vector<OperandId> Converter::add_fallback(const OnnxCall& call, const Fallback& op,
                                               const std::vector<OutputType>& types) {
  std::vector<TensorId> tensors;
  for (const OperandId id : call.in) tensors.push_back(tensor(id));
  std::vector<OperandId> results;
  for (const TensorId made : builder.add_fallback(op, std::move(tensors), call.name, call.out, types)) {
    if (made == kNoTensor) {
      results.push_back(kNoOperand);
      continue;
    }
    Operand operand;
    operand.name = call.out[results.size()];
    operand.shape = builder[made].shape;
    operand.format = builder[made].format;
    operand.tensor = made;
    results.push_back(bind(std::move(operand)));
  }
  return results;
}

void Converter::note_makers() {
  const Graph& graph = builder.graph();
  makers_.resize(graph.tensors.size(), kNoNode);
  for (const TensorId t : graph.nodes.back().outputs)
    if (t != kNoTensor) makers_[t.index()] = NodeId{static_cast<std::uint32_t>(graph.nodes.size() - 1)};
}

OperandId Converter::operand_of(TensorId tensor) {
  Operand operand;
  operand.name = builder[tensor].name;
  operand.shape = builder[tensor].shape;
  operand.format = builder[tensor].format;
  operand.tensor = tensor;
  return bind(std::move(operand), false);
}

const Node* Converter::maker(OperandId id) const {
  const TensorId t = operands_[id.index()].tensor;
  if (t == kNoTensor || t.index() >= makers_.size() || makers_[t.index()] == kNoNode) return nullptr;
  return &builder.graph()[makers_[t.index()]];
}

void Converter::mark_loss(const OnnxCall& call) {
  if (parse_phase_note(call.proto.doc_string())) return;  // the file knows better
  for (std::size_t n = call_begin_; n < builder.graph().nodes.size(); ++n)
    if (builder.graph().nodes[n].phase == Phase::Forward) builder.graph().nodes[n].phase = Phase::Loss;
}

// ---- Nodes in order ----

void Converter::convert_all(const FlatModel& flat) {
  find_uses(flat);
  add_initialisers(model_.graph());
  add_inputs();
  for (const FlatNode& node : flat.nodes) {
    if (findings_.enough()) return;
    convert(node);
  }
}

void Converter::break_outputs(const pb::NodeProto& node) {
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    Operand operand;
    operand.name = output;
    operand.broken = true;
    bind(std::move(operand));
  }
}

void Converter::convert(const FlatNode& node) {
  const pb::NodeProto& proto = *node.proto;
  if (++converted_ > kMostConverted) {
    if (converted_ == kMostConverted + 1) findings_.error(node.where, "the model has too many nodes");
    return break_outputs(proto);
  }
  OnnxCall call{.proto = proto,
                .where = node.where,
                .name = node.name,
                .type = type_of(proto),
                .opset = node.opset,
                .attributes = AttributeReader(proto),
                .in = {},
                .out = {proto.output().begin(), proto.output().end()}};
  for (const std::string& input : proto.input()) {
    if (input.empty()) {
      call.in.push_back(kNoOperand);
      continue;
    }
    const auto it = names_.find(input);
    if (it == names_.end()) {
      findings_.error(node.where, fmt::format("reads '{}', which nothing has produced", input));
      return break_outputs(proto);
    }
    if (operands_[it->second.index()].broken) return break_outputs(proto);
    call.in.push_back(it->second);
  }
  while (!call.in.empty() && call.in.back() == kNoOperand) call.in.pop_back();
  call_begin_ = builder.graph().nodes.size();
  const auto phase = parse_phase_note(proto.doc_string());
  has_phases |= phase.has_value();
  builder.phase = phase.value_or(Phase::Forward);
  try {
    convert_known_type(call);
    for (const std::string& output : call.out)
      if (!output.empty() && !names_.count(output)) {
        if (is_used(output)) throw ModelError(fmt::format("output '{}' is not supported", output));
      }
    check_against_file(call);
    return;
  } catch (const ModelError& error) {
    findings_.error(node.where, error.what(), error.hint());
  } catch (const ShapeError& error) {
    const std::string hint = dimensions_.rebatched
                                 ? fmt::format(
                                       "the file was exported for a batch of {} and may have it written into its "
                                       "shapes: export it with a dynamic batch dimension",
                                       dimensions_.rebatched->first)
                                 : "";
    findings_.error(node.where, error.what(), hint);
  } catch (const std::runtime_error& error) {  // ValueError: numbers an operator cannot work on
    findings_.error(node.where, error.what());
  }
  break_outputs(proto);
}

void Converter::convert_known_type(const OnnxCall& call) {
  if (!seed && call.proto.op_type().find("LossGrad") != std::string::npos) seed = builder.graph().nodes.size();
  const OperatorRule* rule = find_rule(call.type);
  if (!rule) return convert_fallback(*this, call, "");
  try {
    rule->convert(*this, call);
  } catch (const UnsupportedUse& use) {
    MONET_ASSERT(builder.graph().nodes.size() == call_begin_, "a rule refused after it had added nodes");
    convert_fallback(*this, call, use.what());
  }
}

void Converter::check_against_file(const OnnxCall& call) {
  for (const std::string& output : call.out) {
    const auto it = names_.find(output);
    if (output.empty() || it == names_.end()) continue;
    const Operand& operand = operands_[it->second.index()];
    const auto stated = stated_.shape(output);
    if (stated && *stated != operand.shape)
      disagreements_.push_back(
          fmt::format("'{}' (stated {}, found {})", output, to_string(*stated), to_string(operand.shape)));
  }
}

}  // namespace monet
