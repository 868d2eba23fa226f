#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <unordered_map>

#include "monet/base/diagnostic.h"
#include "monet/base/nearest.h"
#include "monet/graph/builder.h"
#include "monet/graph/infer.h"
#include "monet/graph/text.h"
#include "monet/graph/text_operator.h"
#include "monet/graph/text_tensor.h"
#include "monet/graph/text_token.h"

// One pass over the lines. A line is read whole or not at all: a faulty one leaves no trace but its Diagnostic. The
// grammar has no nesting, so nothing here recurses, and all work is linear in the text but for the hints, which are
// given for a bounded number of faults.

namespace monet {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 31;  // ids and line numbers fit 32 bits
constexpr std::size_t kLongestLine = std::size_t{1} << 26;
constexpr std::size_t kMostFaults = 20;        // shown; more are rarely more help
constexpr std::size_t kMostFaultyLines = 100;  // read on after, counting those that only follow from others
constexpr std::size_t kMostCandidates = 5000;  // for a hint

using Strings = std::vector<std::string>;

template <class Enum>
std::optional<Enum> named(std::string_view word, const Strings& names) {
  const auto it = std::find(names.begin(), names.end(), word);
  return it == names.end() ? std::nullopt : std::optional(static_cast<Enum>(it - names.begin()));
}

std::string read_name(LineReader& line, std::string_view what) {
  const std::size_t offset = line.offset();
  std::string name = line.name(what);
  if (name.empty()) throw Fault{offset, fmt::format("{} must not be empty", what), ""};
  return name;
}

// ---- The graph ----

struct Definition {
  TensorId id;
  int line = 0;
  bool source = false;
};

// A source may refer to any other source, before or after it.
struct Reference {
  TensorId from;
  bool copy = false;  // else overwrites
  std::string name;
  int line = 0;
  std::size_t offset = 0;
};

class Parser {
 public:
  explicit Parser(const std::string& file) : file_(file) {}

  Graph run(std::string_view text);

 private:
  bool read_line(std::string_view text);
  void read_statement(LineReader& line);
  void read_graph(LineReader& line);
  void read_source(LineReader& line, Category category);
  void read_node(LineReader& line, Phase phase);
  void read_outputs(LineReader& line);

  std::vector<OutputType> infer_outputs(const Node& node, std::size_t offset) const;
  void read_attributes(LineReader& line, Node& node, std::size_t below);
  TensorId read_output(LineReader& line, const Node& node, const OutputType* inferred);

  TensorId define(Tensor tensor, std::size_t offset, bool source);
  TensorId defined(const std::string& name, std::size_t offset, std::size_t below) const;
  TensorId read_reference(LineReader& line, std::size_t below) const;
  std::vector<TensorId> read_references(LineReader& line, std::size_t below, std::string_view where) const;
  void resolve_references();
  void check_circles(bool copies);

  bool note(Fault fault, int line, std::string_view text);
  [[noreturn]] void throw_faults() const;
  Diagnostic diagnostic(const Fault& fault, int line) const;

  const std::string& file_;
  Graph graph_;
  int line_ = 0;
  bool named_ = false;
  const Strings categories_ = names_up_to(Category::Workspace);
  const Strings phases_ = names_up_to(static_cast<Phase>(kPhases - 1));
  std::unordered_map<std::string, Definition> tensors_;
  std::unordered_map<std::string, int> nodes_;  // name -> line
  std::vector<Reference> references_;

  struct NotedFault {
    Fault fault;
    int line = 0;
  };
  std::vector<NotedFault> faults_;
  std::vector<std::string_view> faulty_lines_;
};

// ---- Tensors ----

TensorId Parser::define(Tensor tensor, std::size_t offset, bool source) {
  const TensorId id{static_cast<std::uint32_t>(graph_.tensors.size())};
  const auto [it, fresh] = tensors_.try_emplace(tensor.name, Definition{id, line_, source});
  if (!fresh)
    throw Fault{offset,
                fmt::format("tensor {} is already defined on line {}", name_shown(tensor.name), it->second.line),
                "choose another name"};
  graph_.tensors.push_back(std::move(tensor));
  return id;
}

// The tensor of this name if its id is below `below`: those of the node that is being read do not count yet.
TensorId Parser::defined(const std::string& name, std::size_t offset, std::size_t below) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end() || it->second.id.index() >= below)
    throw Fault{offset, fmt::format("tensor {} is not defined", name_shown(name)), "", name};
  return it->second.id;
}

TensorId Parser::read_reference(LineReader& line, std::size_t below) const {
  const std::size_t offset = line.offset();
  return defined(line.name("a tensor"), offset, below);
}

// name, name, … up to ')'; `_` where an operand is absent
std::vector<TensorId> Parser::read_references(LineReader& line, std::size_t below, std::string_view where) const {
  std::vector<TensorId> ids;
  if (line.take(")")) return ids;
  do {
    if (line.take_absent())
      ids.push_back(kNoTensor);
    else
      ids.push_back(read_reference(line, below));
  } while (line.take(","));
  line.expect(")", where);
  return ids;
}

// ---- Lines ----

void Parser::read_graph(LineReader& line) {
  if (named_) throw Fault{0, "the graph already has a name", "one graph a file"};
  graph_.name = line.name("the graph's name");  // may be empty
  named_ = true;
}

void Parser::read_source(LineReader& line, Category category) {
  Tensor tensor{.name = "", .shape = {}, .format = {}, .category = category, .layout = {}, .initial = {}};
  const std::size_t offset = line.offset();
  tensor.name = read_name(line, "the tensor's name");
  if (!line.take(":"))
    line.fail(
        fmt::format("expected ':' and a type after the tensor's name, found {}", line.next()),
        tensor.name.find(':') == std::string::npos ? "" : "a colon within a name is part of it: put a space before");
  read_type(line, tensor);
  const TensorId id{static_cast<std::uint32_t>(graph_.tensors.size())};
  if (line.take_word("layout")) read_layout(line, tensor);
  if (line.take_word("overwrites")) {
    line.expect("(", "after 'overwrites'");
    const std::size_t at = line.offset();
    references_.push_back({id, false, line.name("a tensor"), line_, at});
    line.expect(")", "after the overwritten tensor");
  }
  if (line.take("=")) {
    StatedInitial stated = read_initial(line, tensor);
    tensor.initial = std::move(stated.value);
    if (std::holds_alternative<CopyOf>(tensor.initial))
      references_.push_back({id, true, std::move(stated.copied), line_, stated.copied_offset});
  }
  define(std::move(tensor), offset, true);
}

std::vector<OutputType> Parser::infer_outputs(const Node& node, std::size_t offset) const {
  if (std::holds_alternative<Fallback>(node.op)) return {};
  std::vector<const Tensor*> operands;
  for (const TensorId t : node.inputs) operands.push_back(t == kNoTensor ? nullptr : &graph_[t]);
  try {
    return infer(node.op, operands);
  } catch (const ShapeError& error) {
    throw Fault{offset, fmt::format("{}: {}", operator_name(node.op), error.what()), ""};
  }
}

// One output of `node`; `inferred` is null where its operator has no rule.
TensorId Parser::read_output(LineReader& line, const Node& node, const OutputType* inferred) {
  const std::size_t before = graph_.tensors.size(), offset = line.offset();
  Tensor tensor{.name = read_name(line, "an output's name"),
                .shape = {},
                .format = {},
                .category = category_of(node.phase),
                .layout = {},
                .initial = {}};
  if (line.take(":")) {
    const std::size_t at = line.offset();
    read_type(line, tensor);
    if (inferred && (inferred->shape != tensor.shape || !can_store(inferred->format, tensor.format)))
      throw Fault{at,
                  fmt::format("{} is stated as {}{}, but {} makes {}{}", name_shown(tensor.name),
                              to_string(tensor.format), to_string(tensor.shape), operator_name(node.op),
                              to_string(inferred->format), to_string(inferred->shape)),
                  ""};
  } else if (inferred) {
    tensor.shape = inferred->shape;
    tensor.format = inferred->format;
    tensor.category = inferred->category.value_or(tensor.category);
  } else {
    line.expect(":", fmt::format("and a type: those of {} cannot be inferred", operator_name(node.op)));
  }
  if (const auto category = named<Category>(line.peek_word(), categories_)) {
    line.word();
    tensor.category = *category;
  }
  if (line.take_word("layout")) read_layout(line, tensor);
  if (line.take_word("overwrites")) {
    line.expect("(", "after 'overwrites'");
    tensor.overwrites = read_reference(line, before);
    line.expect(")", "after the overwritten tensor");
  }
  return define(std::move(tensor), offset, false);
}

// [holds(…)] [barrier] up to the end of the line
void Parser::read_attributes(LineReader& line, Node& node, std::size_t below) {
  if (line.take_word("holds")) {
    line.expect("(", "after 'holds'");
    node.holds = read_references(line, below, "or ',' after a held tensor");
    if (std::find(node.holds.begin(), node.holds.end(), kNoTensor) != node.holds.end()) line.fail("'_' cannot be held");
  }
  node.barrier = line.take_word("barrier");
  const std::string_view word = line.peek_word();
  if (word.empty()) return line.expect_end();
  Strings words = categories_;
  words.insert(words.end(), {"layout", "overwrites", "holds", "barrier"});
  if (std::find(words.begin(), words.end(), word) == words.end())
    line.fail(fmt::format("unknown attribute {}", line.next()), word_hint(word, words));
  line.fail(fmt::format("{} cannot stand here", line.next()),
            "the order is: category, layout(…), overwrites(…), and after the last output holds(…), barrier");
}

void Parser::read_node(LineReader& line, Phase phase) {
  const std::size_t before = graph_.tensors.size();
  Node node{.name = "", .op = {}, .inputs = {}, .outputs = {}, .phase = phase, .barrier = false, .holds = {}};
  const std::size_t name_offset = line.offset();
  node.name = read_name(line, "the node's name");
  line.expect("=", "after the node's name");
  const std::size_t operator_offset = line.offset();
  node.op = read_operator(line);
  line.expect("(", "before the operator's inputs");
  node.inputs = read_references(line, before, "or ',' after an input");
  const std::vector<OutputType> types = infer_outputs(node, operator_offset);
  const bool given = std::holds_alternative<Fallback>(node.op);
  if (line.take("->")) do {
      if (!given && node.outputs.size() == types.size())
        line.fail(fmt::format("{} makes at most {} output{}", operator_name(node.op), types.size(),
                              types.size() == 1 ? "" : "s"));
      const OutputType* const inferred = given ? nullptr : &types[node.outputs.size()];
      node.outputs.push_back(line.take_absent() ? kNoTensor : read_output(line, node, inferred));
    } while (line.take(","));
  read_attributes(line, node, before);
  const auto [it, fresh] = nodes_.try_emplace(node.name, line_);
  if (!fresh)
    throw Fault{name_offset, fmt::format("node {} is already defined on line {}", name_shown(node.name), it->second),
                "choose another name"};
  graph_.nodes.push_back(std::move(node));
}

void Parser::read_outputs(LineReader& line) {
  do graph_.outputs.push_back(read_reference(line, graph_.tensors.size()));
  while (line.take(","));
}

void Parser::read_statement(LineReader& line) {
  const std::size_t offset = line.offset();
  const std::string next = line.next();
  const std::string_view word = line.word();
  if (!named_ && word != "graph")
    throw Fault{offset, fmt::format("expected the graph's name, found {}", next), "begin with: graph \"name\""};
  if (word == "graph") {
    read_graph(line);
  } else if (word == "output") {
    read_outputs(line);
  } else if (const auto category = named<Category>(word, categories_)) {
    read_source(line, *category);
  } else if (const auto phase = named<Phase>(word, phases_)) {
    read_node(line, *phase);
  } else {
    Strings words = phases_;
    words.insert(words.end(), categories_.begin(), categories_.end());
    words.insert(words.end(), {"graph", "output"});
    throw Fault{offset, fmt::format("a line cannot begin with {}", next), word_hint(word, words)};
  }
  line.expect_end();
}

// ---- Faults ----

// Whether `name` stands in the line as a whole word. Lines too long to search count as if it did.
bool mentions(std::string_view line, std::string_view name) {
  constexpr std::size_t kLongest = 1 << 16;
  if (line.size() > kLongest || name.empty()) return true;
  const auto joins = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/';
  };
  for (std::size_t at = line.find(name); at != line.npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !joins(line[at - 1])) && (end == line.size() || !joins(line[end]))) return true;
  }
  return false;
}

// Returns whether to read on. A tensor that is missing because the line that makes it is faulty is no fault of its own.
bool Parser::note(Fault fault, int line, std::string_view text) {
  const bool follows =
      !fault.undefined.empty() && std::any_of(faulty_lines_.begin(), faulty_lines_.end(),
                                              [&](std::string_view other) { return mentions(other, fault.undefined); });
  faulty_lines_.push_back(text);
  if (!follows) faults_.push_back({std::move(fault), line});
  return faults_.size() < kMostFaults && faulty_lines_.size() < kMostFaultyLines;
}

Diagnostic Parser::diagnostic(const Fault& fault, int line) const {
  Diagnostic d{.file = file_,
               .line = line,
               .column = static_cast<int>(fault.offset) + 1,
               .where = "",
               .message = fault.message,
               .hint = fault.hint,
               .severity = Severity::Error};
  if (fault.undefined.empty()) return d;
  if (const auto it = tensors_.find(fault.undefined); it != tensors_.end()) {
    d.message =
        fmt::format("tensor {} is read before it is defined on line {}", name_shown(fault.undefined), it->second.line);
    d.hint = "lines stand in the order in which they run";
    return d;
  }
  Strings candidates;
  const std::size_t slack = fault.undefined.size() / 3 + 1;
  for (auto it = graph_.tensors.rbegin(); it != graph_.tensors.rend() && candidates.size() < kMostCandidates; ++it)
    if (it->name.size() <= fault.undefined.size() + slack && it->name.size() + slack >= fault.undefined.size())
      candidates.push_back(it->name);
  d.hint = did_you_mean(fault.undefined, candidates);
  return d;
}

void Parser::throw_faults() const {
  std::vector<Diagnostic> diagnostics;
  for (const NotedFault& noted : faults_) diagnostics.push_back(diagnostic(noted.fault, noted.line));
  if (faults_.size() >= kMostFaults) diagnostics.back().hint += "; further faults are not shown";
  throw InputError(std::move(diagnostics));
}

// ---- The whole ----

void Parser::resolve_references() {
  for (const Reference& reference : references_) {
    Tensor& tensor = graph_[reference.from];
    try {
      const TensorId id = defined(reference.name, reference.offset, graph_.tensors.size());
      if (!tensors_.at(reference.name).source)
        throw Fault{reference.offset, fmt::format("{} is made by a node", name_shown(reference.name)),
                    "a source can refer to sources only"};
      if (!reference.copy) {
        tensor.overwrites = id;
        continue;
      }
      if (graph_[id].shape != tensor.shape)
        throw Fault{reference.offset,
                    fmt::format("{} is {}, its copy is {}", name_shown(reference.name), to_string(graph_[id].shape),
                                to_string(tensor.shape)),
                    ""};
      tensor.initial = CopyOf{id};
    } catch (const Fault& fault) {
      if (!note(fault, reference.line, "")) throw_faults();
    }
  }
}

// No tensor may be its own copy, or overwrite itself, by way of others.
void Parser::check_circles(bool copies) {
  std::vector<std::size_t> walk(graph_.tensors.size(), 0);  // the walk that came by first, from 1
  for (std::size_t r = 0; r < references_.size(); ++r) {
    if (references_[r].copy != copies) continue;
    TensorId t = references_[r].from;
    while (t != kNoTensor && walk[t.index()] == 0) {
      walk[t.index()] = r + 1;
      const CopyOf* const copy = std::get_if<CopyOf>(&graph_[t].initial);
      t = !copies ? graph_[t].overwrites : copy ? copy->tensor : kNoTensor;
    }
    if (t == kNoTensor || walk[t.index()] != r + 1) continue;
    const std::string shown = name_shown(graph_[t].name);
    if (!note({references_[r].offset, fmt::format("{} refers to itself in a circle", shown), ""}, references_[r].line,
              ""))
      throw_faults();
  }
}

// Returns whether to read on.
bool Parser::read_line(std::string_view text) {
  const std::size_t tensors = graph_.tensors.size(), outputs = graph_.outputs.size(), references = references_.size();
  try {
    if (text.size() > kLongestLine) throw Fault{0, fmt::format("the line is longer than {} bytes", kLongestLine), ""};
    LineReader line(text);
    if (!line.at_end()) read_statement(line);
    return true;
  } catch (Fault& fault) {
    for (; graph_.tensors.size() > tensors; graph_.tensors.pop_back()) tensors_.erase(graph_.tensors.back().name);
    graph_.outputs.resize(outputs);
    references_.resize(references);
    named_ = true;  // a missing name is said once
    return note(std::move(fault), line_, text);
  }
}

Graph Parser::run(std::string_view text) {
  if (text.size() > kLongestText) {
    note({0, fmt::format("the text is longer than {} bytes", kLongestText), ""}, 1, "");
    throw_faults();
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the mark some editors put before UTF-8
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ++line_;
    if (!read_line(text.substr(0, end))) throw_faults();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!named_) note({0, "there is no graph here", "begin with: graph \"name\""}, 1, "");
  if (faults_.empty()) resolve_references();
  if (faults_.empty()) check_circles(true);
  if (faults_.empty()) check_circles(false);
  if (!faults_.empty()) throw_faults();
  return std::move(graph_);
}

}  // namespace

Graph parse_graph(std::string_view text, const std::string& file) { return Parser(file).run(text); }

}  // namespace monet
