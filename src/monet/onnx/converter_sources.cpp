#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "monet/onnx/converter.h"

// Where values come from that no node makes: inputs, initializers, branches; and what is said about them at the end.

namespace monet {
namespace {

constexpr std::int64_t kMostKept = 65536;  // elements of a stored constant that is kept as numbers

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "_output_0" at the end, cut off; `cut` says whether it was there
std::string_view without_output_number(std::string_view name, bool& cut) {
  constexpr std::string_view kMark = "_output_";
  const std::size_t mark = name.rfind(kMark);
  cut = mark != std::string_view::npos && all_digits(name.substr(mark + kMark.size()));
  return cut ? name.substr(0, mark) : name;
}

// Names torch gives to what it folded: "/Constant_2_output_0", "/layer/Mul_output_0".
bool is_constant_name(std::string_view name) {
  bool numbered = false;
  const std::string_view stem = without_output_number(name, numbered);
  if (numbered && name.starts_with('/')) return true;
  std::string_view last = stem.substr(stem.rfind('/') == std::string_view::npos ? 0 : stem.rfind('/') + 1);
  if (!last.starts_with("Constant")) return false;
  last.remove_prefix(std::string_view("Constant").size());
  return last.empty() || (last.starts_with('_') && all_digits(last.substr(1)));
}

// The inputs of an operator where a layer keeps its parameters, as a bit set.
unsigned parameter_inputs(std::string_view type) {
  struct Entry {
    std::string_view type;
    unsigned inputs;
  };
  static constexpr std::array<Entry, 14> kEntries{{{"Conv", 0b110},
                                                   {"ConvTranspose", 0b110},
                                                   {"Gemm", 0b110},
                                                   {"MatMul", 0b010},
                                                   {"BatchNormalization", 0b11110},
                                                   {"LayerNormalization", 0b110},
                                                   {"GroupNormalization", 0b110},
                                                   {"InstanceNormalization", 0b110},
                                                   {"RMSNormalization", 0b010},
                                                   {"SimplifiedLayerNormalization", 0b010},
                                                   {"PRelu", 0b010},
                                                   {"LSTM", 0b1110},
                                                   {"GRU", 0b1110},
                                                   {"RNN", 0b1110}}};
  for (const Entry& entry : kEntries)
    if (entry.type == type) return entry.inputs;
  return 0;
}

std::string listing(const std::vector<std::string>& names) {
  std::string text;
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

std::vector<std::string> quoted(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back("'" + name + "'");
  return out;
}

}  // namespace

void Converter::find_uses(const FlatModel& flat) {
  for (const FlatNode& node : flat.nodes) {
    const unsigned parameters = domain_of(*node.proto).empty() ? parameter_inputs(node.proto->op_type()) : 0;
    for (int i = 0; i < node.proto->input_size(); ++i) {
      used_.insert(node.proto->input(i));
      if (i < 8 && (parameters >> i & 1u)) parameters_.insert(node.proto->input(i));
    }
    std::vector<std::string> captures;
    collect_captures(*node.proto, captures);
    used_.insert(captures.begin(), captures.end());
  }
  for (const auto& output : model_.graph().output()) used_.insert(output.name());
}

Category Converter::category_of(const std::string& name, const Stored& stored, bool from_node) const {
  if (const auto note = notes_.find(name); note != notes_.end() && note->second.category) return *note->second.category;
  const bool single = elements(stored.shape) <= 1;
  const bool parameter = parameters_.count(name) > 0 && !single;
  if (is_float(stored.element)) {
    if (single || (from_node && !parameter) || is_constant_name(name)) return Category::Constant;
    return Category::Weight;
  }
  // Quantised models keep integer weights where others keep floats.
  if (is_integer(stored.element) && bits(stored.element) <= 8 && parameter) return Category::Weight;
  return is_integer(stored.element) && elements(stored.shape) > kMostKept ? Category::Index : Category::Constant;
}

bool Converter::keeps_numbers(const Stored& stored, Category category) const {
  return category == Category::Constant && stored.has_numbers() && elements(stored.shape) <= kMostKept;
}

void Converter::add_initialisers(const pb::GraphProto& graph) {
  const auto fail = [&](const std::string& name, const std::string& message, const std::string& hint) {
    const std::string where = fmt::format("initializer '{}'", name);
    if (is_used(name))
      findings_.error(where, message, hint);
    else
      findings_.warn(where, message + "; nothing reads it", hint);
    Operand operand;
    operand.name = name;
    operand.broken = true;
    bind(std::move(operand));
  };
  for (const auto& tensor : graph.initializer()) {
    try {
      stored(tensor.name(), tensor, false);
    } catch (const ModelError& error) {
      fail(tensor.name(), error.what(), error.hint());
    }
  }
  for (const auto& tensor : graph.sparse_initializer())
    fail(tensor.values().name(), "sparse initializers are not supported", "export the model with dense ones");
  for (const auto& input : graph.input()) {
    const auto it = names_.find(input.name());
    if (it == names_.end() || operands_[it->second.index()].broken || !input.type().tensor_type().has_shape()) continue;
    const Shape& found = operands_[it->second.index()].shape;
    const auto& stated = input.type().tensor_type().shape();
    bool agree = stated.dim_size() == std::ssize(found);
    for (int i = 0; agree && i < stated.dim_size(); ++i)
      agree = !stated.dim(i).has_dim_value() || stated.dim(i).dim_value() == found[static_cast<std::size_t>(i)];
    if (!agree)
      findings_.error(fmt::format("initializer '{}'", input.name()),
                      fmt::format("its dims {} are not those the input of that name states", to_string(found)));
  }
}

void Converter::add_inputs() {
  for (const BoundInput& input : dimensions_.inputs) {
    Category category = Category::Input;
    const bool parameter = parameters_.count(input.name) > 0;
    if (is_integer(input.element) && !(parameter || bits(input.element) <= 8)) category = Category::Index;
    if (is_truth(input.element)) category = Category::Mask;
    Operand operand;
    operand.name = input.name;
    operand.shape = input.shape;
    operand.format = Format{input.element};
    operand.tensor = builder.source(input.name, input.shape, operand.format, category);
    bind(std::move(operand));
  }
}

void Converter::add_outputs() {
  // A weight can be written without being read: in mixed precision the next iteration reads it.
  for (const auto& info : model_.graph().output()) {
    const auto note = notes_.find(info.name());
    const auto old = note == notes_.end() ? names_.end() : names_.find(note->second.overwrites);
    if (old == names_.end()) continue;
    const Operand& operand = operands_[old->second.index()];
    if (operand.stored && elements(operand.shape) > 0) tensor(old->second);
  }
  for (const auto& output : model_.graph().output()) {
    const auto it = names_.find(output.name());
    if (it == names_.end() || operands_[it->second.index()].broken) continue;
    try {
      builder.graph().outputs.push_back(tensor(it->second));
    } catch (const ShapeError& error) {
      findings_.error(fmt::format("output '{}'", output.name()), error.what());
    }
  }
}

Values<double> Converter::load_weights() {
  Values<double> weights;
  for (const Operand& operand : operands_) {
    if (!operand.stored || operand.tensor == kNoTensor) continue;
    const std::string where = fmt::format("initializer '{}'", operand.name);
    if (operand.stored->place == Stored::Place::Missing)
      findings_.error(
          where, fmt::format("its numbers are in '{}', which is missing", operand.stored->file.filename().string()));
    else if (operand.stored->place == Stored::Place::Cleared)
      findings_.error(where, "its numbers are not in the file");
    else
      try {
        weights[builder[operand.tensor].name] = {operand.shape, decode(*operand.stored)};
      } catch (const ModelError& error) {
        findings_.error(where, error.what(), error.hint());
      }
    if (findings_.enough()) break;
  }
  return weights;
}

void Converter::apply_notes() {
  if (notes_.empty()) return;
  Graph& graph = builder.graph();
  std::unordered_map<std::string, TensorId> tensors;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) tensors.emplace(graph.tensors[t].name, TensorId{t});
  for (Tensor& tensor : graph.tensors) {
    const auto note = notes_.find(tensor.name);
    if (note == notes_.end()) continue;
    if (note->second.category) tensor.category = *note->second.category;
    // Integers and truth values are computed with in the types ONNX gave them.
    if (note->second.format && is_float(note->second.format->element) && is_float(tensor.format.element))
      tensor.format = *note->second.format;
    const auto target = tensors.find(note->second.overwrites);
    if (target != tensors.end() && graph[target->second].shape == tensor.shape) tensor.overwrites = target->second;
  }
}

void Converter::report() {
  for (const auto& [type, note] : fallbacks_)
    findings_.warn(note.first,
                   fmt::format("operator '{}' has no rule{}: {} node{} estimated", type,
                               note.reason.empty() ? "" : " for this use (" + note.reason + ")", note.count,
                               note.count == 1 ? " is" : "s are"),
                   "--strict makes this an error");
  if (!guesses_.empty())
    findings_.warn("",
                   fmt::format("the shape of {} is stated nowhere and taken from the first input", listing(guesses_)),
                   "run ONNX shape inference on the file first");
  for (const auto& [file, names] : missing_)
    findings_.warn("", fmt::format("'{}' is missing: only the shapes of {} are used", file, listing(quoted(names))));
  if (!cleared_.empty())
    findings_.warn("",
                   fmt::format("the file holds no numbers for {}: only shapes are used", listing(quoted(cleared_))));
  if (!disagreements_.empty())
    findings_.warn("", fmt::format("shapes stated in the file are wrong: {}", listing(disagreements_)));
}

void Converter::note_fallback(const OnnxCall& call, const std::string& reason) {
  if (options_.strict)
    throw ModelError(
        fmt::format("operator '{}' has no rule{}", call.type, reason.empty() ? "" : " for this use: " + reason),
        "without --strict it is estimated");
  FallbackNote& note = fallbacks_[call.type];
  if (note.count++ == 0) note.first = call.where, note.reason = reason;
}

// A branch of If that is known to be taken stands in the If's place. Its values get names below the If's.
void Converter::convert_branch(const OnnxCall& call, const pb::GraphProto& branch) {
  constexpr std::size_t kDeepest = 40;
  if (depth_ >= kDeepest) throw ModelError("branches are nested too deeply");
  if (branch.output_size() < std::ssize(call.out)) throw ModelError("its branch has too few outputs");
  const auto below = [&](const std::string& name) { return fmt::format("{}/{}", call.name, name); };
  Renaming names;
  for (const auto& tensor : branch.initializer()) names[tensor.name()] = below(tensor.name());
  for (const auto& node : branch.node())
    for (const std::string& output : node.output())
      if (!output.empty()) names[output] = below(output);
  // What a node of the branch returns takes the name of the If's output.
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const auto it = names.find(branch.output(static_cast<int>(i)).name());
    if (it != names.end() && it->second == below(it->first) && !call.out[i].empty()) it->second = call.out[i];
  }
  pb::GraphProto copy = branch;
  for (auto& tensor : *copy.mutable_initializer()) tensor.set_name(names[tensor.name()]);
  for (auto& node : *copy.mutable_node()) rename(node, names);
  const pb::GraphProto& kept = branch_graphs_.emplace_back(std::move(copy));
  ++depth_;
  const FlatModel& flat =
      branches_.emplace_back(flatten_branch(model_, kept, call.where, call.name, call.opset, findings_));
  find_uses(flat);
  for (const auto& output : branch.output())
    if (const auto it = names.find(output.name()); it != names.end()) used_.insert(it->second);
  add_initialisers(kept);
  for (const FlatNode& node : flat.nodes) {
    if (findings_.enough()) break;
    convert(node);
  }
  --depth_;
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const std::string& inner = branch.output(static_cast<int>(i)).name();
    const auto renamed = names.find(inner);
    const auto it = names_.find(renamed == names.end() ? inner : renamed->second);
    if (it == names_.end()) throw ModelError(fmt::format("its branch does not produce '{}'", inner));
    if (!call.out[i].empty()) alias(call.out[i], it->second);
  }
}

}  // namespace monet
