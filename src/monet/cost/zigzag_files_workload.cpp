// Workload files: layers as an equation over loop dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "monet/base/config_section.h"
#include "monet/base/nearest.h"
#include "monet/cost/zigzag_files.h"

namespace monet::cost {
namespace {

using config::Dialect;
using config::Findings;
using config::Section;
using config::Value;

constexpr std::int64_t kMostIterations = std::int64_t{1} << 60;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

std::string without_spaces(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\t' && c != '\n') out += c;
  return out;
}

// ---- O[b][k]+=W[k][c]*I[b][c] ----

struct Indexed {
  std::string operand;
  std::vector<std::string> indices;  // upper case
};

class EquationReader {
 public:
  explicit EquationReader(std::string_view text) : text_(without_spaces(text)) {}

  // Output first; empty if it is no equation.
  std::vector<Indexed> run() {
    std::vector<Indexed> operands;
    if (!operand(operands)) return {};
    if (at_ < text_.size() && text_[at_] == '+') ++at_;
    if (at_ >= text_.size() || text_[at_++] != '=') return {};
    if (!operand(operands)) return {};
    while (at_ < text_.size()) {
      if (text_[at_] != '*' && text_[at_] != '+') return {};
      ++at_;
      if (!operand(operands)) return {};
    }
    return operands;
  }

 private:
  std::string word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  bool operand(std::vector<Indexed>& operands) {
    Indexed indexed{.operand = word(), .indices = {}};
    if (indexed.operand.empty()) return false;
    while (at_ < text_.size() && text_[at_] == '[') {
      ++at_;
      const std::string index = word();
      if (at_ >= text_.size() || text_[at_++] != ']') return false;
      if (!index.empty()) indexed.indices.push_back(upper(index));  // W[] has no index
    }
    operands.push_back(std::move(indexed));
    return true;
  }

  std::string text_;
  std::size_t at_ = 0;
};

// ---- ix=2*ox+1*fx ----

struct RelationTerm {
  std::string dimension;
  std::int64_t coefficient = 1;
};
struct DimensionRelation {
  std::string name;  // IX
  std::vector<RelationTerm> terms;
};

std::optional<DimensionRelation> parse_relation(std::string_view written) {
  const std::string text = without_spaces(written);
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  DimensionRelation relation{.name = upper(text.substr(0, equals)), .terms = {}};
  if (!std::all_of(relation.name.begin(), relation.name.end(), is_word)) return std::nullopt;
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t plus = std::min(text.find('+', at), text.size());
    std::string term = text.substr(at, plus - at);
    RelationTerm read;
    if (const std::size_t star = term.find('*'); star != std::string::npos) {
      const auto [end, error] = std::from_chars(term.data(), term.data() + star, read.coefficient);
      if (error != std::errc{} || end != term.data() + star || read.coefficient < 1 || read.coefficient > 1'000'000)
        return std::nullopt;
      term.erase(0, star + 1);
    }
    if (term.empty() || !std::all_of(term.begin(), term.end(), is_word)) return std::nullopt;
    read.dimension = upper(term);
    relation.terms.push_back(std::move(read));
    at = plus + 1;
  }
  return relation;
}

// ---- One layer ----

class LayerReader {
 public:
  LayerReader(const Value& value, const Named<hardware::Slot>& links, Findings& findings)
      : value_(value), links_(links), findings_(findings), s_(value, "a layer", Dialect::PyYaml, findings) {}

  Layer run() {
    const std::optional<std::int64_t> id = s_.require_integer("id", {.least = 0, .most = 1'000'000'000});
    layer_.operator_type = s_.require_text("operator_type").value_or("");
    layer_.name = s_.text("name").value_or(fmt::format("layer_{}", id.value_or(0)));
    dimensions();
    relations();
    sizes_of_relations();
    operands();
    if (const std::optional<Value> source = s_.find("operand_source"); source && !source->is_map())
      findings_.error(*source, "'operand_source' must be a map from operands to layers");
    if (const std::optional<Value> time = s_.find("time_dim"))
      findings_.warning(*time, "'time_dim' is not used", "it is a loop dimension like any other");
    s_.find("constant_operands");
    s_.find("operand_source_dimension_mapping");
    s_.finish();
    return std::move(layer_);
  }

 private:
  std::optional<std::size_t> dimension(std::string_view name) const {
    for (std::size_t i = 0; i < layer_.dimensions.size(); ++i)
      if (layer_.dimensions[i].name == name) return i;
    return std::nullopt;
  }
  std::int64_t size(const RelationTerm& term) const {
    const std::optional<std::size_t> d = dimension(term.dimension);
    return d ? layer_.dimensions[*d].size : 1;
  }

  void dimensions() {
    s_.require("loop_dims");
    s_.require("loop_sizes");
    const std::vector<Value> names = s_.list("loop_dims"), sizes = s_.list("loop_sizes");
    if (names.size() != sizes.size() && value_.is_map())
      findings_.error(value_, fmt::format("{} loop dimensions but {} sizes", names.size(), sizes.size()));
    double iterations = 1;
    for (std::size_t i = 0; i < std::min(names.size(), sizes.size()); ++i) {
      const std::string name = upper(config::read_text(names[i], "loop_dims", findings_).value_or(""));
      const std::int64_t extent =
          config::read_integer(sizes[i], "loop_sizes", {.least = 1, .most = std::int64_t{1} << 40}, Dialect::PyYaml,
                               findings_)
              .value_or(1);
      if (dimension(name))
        findings_.error(names[i], fmt::format("loop dimension '{}' is given twice", name.substr(0, 40)));
      iterations *= static_cast<double>(extent);
      layer_.dimensions.push_back({name, extent});
    }
    if (iterations > static_cast<double>(kMostIterations))
      findings_.error(sizes.empty() ? value_ : sizes[0],
                      fmt::format("{:g} iterations are more than the {:g} there may be", iterations,
                                  static_cast<double>(kMostIterations)));
    if (layer_.dimensions.size() > 16) findings_.error(value_, "a layer has at most 16 loop dimensions");
  }

  void relations() {
    for (const Value& item : s_.list("dimension_relations")) {
      const std::optional<std::string> text = config::read_text(item, "dimension_relations", findings_);
      if (!text) continue;
      std::optional<DimensionRelation> relation = parse_relation(*text);
      if (!relation) {
        findings_.error(item, fmt::format("'{}' is no relation of dimensions", text->substr(0, 60)),
                        "such as ix=2*ox+1*fx");
        continue;
      }
      if (dimension(relation->name))
        findings_.error(item, fmt::format("'{}' is a loop dimension already", relation->name.substr(0, 40)));
      for (const RelationTerm& term : relation->terms)
        if (!dimension(term.dimension))
          findings_.warning(item, fmt::format("'{}' is no loop dimension of this layer", term.dimension.substr(0, 40)),
                            "it counts as one of size 1");
      relations_.push_back(std::move(*relation));
      extents_.push_back(distinct_indices(relations_.back()));
      offsets_.push_back(0);
    }
  }

  // Distinct values of s_a·a + s_b·b for all a and b: windows overlap, strides leave holes (part A3).
  std::int64_t distinct_indices(const DimensionRelation& relation) const {
    if (relation.terms.size() != 2) {  // the span, for forms ZigZag does not have
      double span = 1;
      for (const RelationTerm& term : relation.terms)
        span += static_cast<double>(term.coefficient) * static_cast<double>(size(term) - 1);
      return static_cast<std::int64_t>(std::min(span, 9e15));
    }
    const RelationTerm &first = relation.terms[0], &second = relation.terms[1];
    const std::int64_t divisor = std::gcd(first.coefficient, second.coefficient);
    const double a = static_cast<double>(size(first)), b = static_cast<double>(size(second));
    const double step_a = static_cast<double>(first.coefficient / divisor),
                 step_b = static_cast<double>(second.coefficient / divisor);
    const double count = a * b - std::max(0.0, b - step_a) * (a - step_b);
    return static_cast<std::int64_t>(std::clamp(count, 1.0, 9e15));
  }

  std::optional<std::size_t> relation(std::string_view name) const {
    for (std::size_t i = 0; i < relations_.size(); ++i)
      if (relations_[i].name == name) return i;
    return std::nullopt;
  }

  // Padding is not stored; given sizes replace computed ones.
  void sizes_of_relations() {
    const std::vector<Value> names = s_.list("pr_loop_dims"), sizes = s_.list("pr_loop_sizes"),
                             padding = s_.list("padding");
    const auto same_length = [&](const std::vector<Value>& values, std::string_view what) {
      if (!values.empty() && values.size() != names.size())
        findings_.error(values[0], fmt::format("{} 'pr_loop_dims' but {} '{}'", names.size(), values.size(), what));
    };
    same_length(sizes, "pr_loop_sizes");
    same_length(padding, "padding");
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::optional<std::size_t> r = relation(upper(names[i].text()));
      if (!r) {
        std::vector<std::string> known;
        for (const DimensionRelation& each : relations_) known.push_back(each.name);
        findings_.error(names[i], fmt::format("no relation defines '{}'", names[i].text().substr(0, 40)),
                        did_you_mean(upper(names[i].text()), known));
        continue;
      }
      if (i < padding.size() && !padding[i].is_null()) pad(padding[i], *r);
      if (i < sizes.size() && !sizes[i].is_null())
        if (const std::optional<std::int64_t> extent = config::read_integer(
                sizes[i], "pr_loop_sizes", {.least = 1, .most = std::int64_t{1} << 40}, Dialect::PyYaml, findings_))
          extents_[*r] = *extent;
    }
  }

  void pad(const Value& pair, std::size_t r) {
    if (!pair.is_sequence() || pair.size() != 2) {
      findings_.error(pair, "padding must be [begin, end]");
      return;
    }
    const config::IntegerRange range{.least = 0, .most = 1'000'000'000};
    const std::int64_t begin = config::read_integer(pair[0], "padding", range, Dialect::PyYaml, findings_).value_or(0);
    const std::int64_t end = config::read_integer(pair[1], "padding", range, Dialect::PyYaml, findings_).value_or(0);
    if (begin + end >= extents_[r]) {
      findings_.error(pair, fmt::format("padding of {} leaves nothing of {} indices", begin + end, extents_[r]));
      return;
    }
    extents_[r] -= begin + end;
    offsets_[r] = -begin;
  }

  void operands() {
    const std::optional<std::string> equation = s_.require_text("equation");
    const std::optional<Value> precision = s_.require("operand_precision");
    if (!equation || !precision) return;
    const Value at = *s_.find("equation");
    const std::vector<Indexed> read = EquationReader(*equation).run();
    if (read.size() < 2 || read.size() > 3) {
      findings_.error(at,
                      fmt::format("'{}' is no equation of one output and one or two inputs", equation->substr(0, 80)),
                      "such as O[b][k]+=W[k][c]*I[b][c]");
      return;
    }
    Section bits(*precision, "'operand_precision'", Dialect::PyYaml, findings_);
    for (std::size_t i = 0; i < read.size(); ++i) {
      Operand operand{.name = read[i].operand};
      for (std::size_t k = 0; k < i; ++k)
        if (read[k].operand == operand.name)
          findings_.error(at, fmt::format("operand '{}' occurs twice", operand.name.substr(0, 40)));
      operand.slot = slot(operand.name, i, at);
      operand.axes = axes(read[i], at);
      precisions(operand, i == 0, bits);
      layer_.operands.push_back(std::move(operand));
    }
    for (const std::string_view key : {"O", "O_final", "W", "I", "S"}) bits.find(key);
    bits.finish();
  }

  void precisions(Operand& operand, bool is_output, Section& bits) {
    const config::NumberRange range{.least = 0, .most = 1024};
    if (!bits.has(operand.name) && bits.value().is_map())
      findings_.error(bits.value(),
                      fmt::format("'operand_precision' says nothing of '{}'", operand.name.substr(0, 40)));
    operand.partial_bits = operand.bits = bits.number(operand.name, range).value_or(8);
    // O is the precision of partial sums, O_final of what is kept.
    if (is_output) operand.bits = bits.number(operand.name + "_final", range).value_or(operand.partial_bits);
  }

  hardware::Slot slot(const std::string& name, std::size_t index, const Value& at) {
    const auto taken = [&](hardware::Slot s) {
      return std::any_of(layer_.operands.begin(), layer_.operands.end(), [&](const Operand& o) { return o.slot == s; });
    };
    std::optional<hardware::Slot> wanted;
    for (const auto& [operand, link] : links_)
      if (operand == name) wanted = link;
    if (!wanted && index == 0) wanted = hardware::Slot::Output;
    if (!wanted && name == "W") wanted = hardware::Slot::Weight;
    if (!wanted && name == "I") wanted = hardware::Slot::Input;
    if (!wanted) wanted = taken(hardware::Slot::Weight) ? hardware::Slot::Input : hardware::Slot::Weight;
    if (taken(*wanted))
      findings_.error(at, fmt::format("two operands go through the memories of the {}", hardware::name(*wanted)),
                      "memory_operand_links gives each its own");
    return *wanted;
  }

  std::vector<work::Axis> axes(const Indexed& indexed, const Value& at) {
    std::vector<work::Axis> axes;
    for (const std::string& index : indexed.indices) {
      work::Axis axis;
      if (const std::optional<std::size_t> d = dimension(index)) {
        axis.extent = layer_.dimensions[*d].size;
        axis.terms.push_back({*d, 1});
      } else if (const std::optional<std::size_t> r = relation(index)) {
        axis.extent = extents_[*r];
        axis.offset = offsets_[*r];
        for (const RelationTerm& term : relations_[*r].terms)
          if (const std::optional<std::size_t> of = dimension(term.dimension))
            axis.terms.push_back({*of, term.coefficient});
      } else {
        std::vector<std::string> known;
        for (const work::Dimension& each : layer_.dimensions) known.push_back(each.name);
        for (const DimensionRelation& each : relations_) known.push_back(each.name);
        findings_.error(at,
                        fmt::format("'{}' is neither a loop dimension nor defined by a relation", index.substr(0, 40)),
                        did_you_mean(index, known));
      }
      axes.push_back(std::move(axis));
    }
    return axes;
  }

  const Value value_;
  const Named<hardware::Slot>& links_;
  Findings& findings_;
  Section s_;
  Layer layer_;
  std::vector<DimensionRelation> relations_;
  std::vector<std::int64_t> extents_, offsets_;
};

}  // namespace

Layer read_zigzag_layer(const Value& value, const Named<hardware::Slot>& links, Findings& findings) {
  return LayerReader(value, links, findings).run();
}

bool looks_like_workload(const Value& root) {
  return root.is_sequence() && root.size() > 0 && root[0].is_map() &&
         (root[0].find("equation") || root[0].find("loop_dims") || root[0].find("loop_sizes"));
}

std::vector<Layer> read_workload(const Value& root, Findings& findings) {
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < root.size(); ++i) layers.push_back(read_zigzag_layer(root[i], {}, findings));
  return layers;
}

WorkloadFile parse_workload(std::string_view text, const std::string& path) {
  const config::Tree tree = config::parse(text, path);
  Findings findings;
  WorkloadFile file;
  if (!looks_like_workload(tree.root()))
    findings.error(tree.root(), "not a workload file",
                   "a list of layers with 'equation', 'loop_dims' and 'loop_sizes'");
  else
    file.layers = read_workload(tree.root(), findings);
  findings.throw_if_failed();
  file.warnings = findings.list();
  return file;
}

}  // namespace monet::cost
