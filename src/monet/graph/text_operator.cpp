#include "monet/graph/text_operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <type_traits>

#include "monet/base/nearest.h"
#include "monet/graph/graph.h"

namespace monet {
namespace {

// ---- Writing ----

std::string value_text(bool v) { return v ? "true" : "false"; }
std::string value_text(double v) { return number_text(v); }
std::string value_text(std::int64_t v) { return fmt::format("{}", v); }
std::string value_text(const Ints& v) { return to_string(v); }
std::string value_text(const Part& v) {
  return to_string(v.whole) + to_string(v.origin) + to_string(v.first) + to_string(v.count);
}
std::string value_text(const std::string& v) { return quoted(v); }
std::string value_text(const std::vector<Step>& program) {
  std::string text = "[";
  for (const Step& step : program) {
    const auto end = std::find(step.inputs.begin(), step.inputs.end(), kNoValue);
    text += fmt::format("{}{} {}({})", text.size() > 1 ? ", " : "", to_string(step.format),
                        operator_text(whole_op(step.op)), fmt::join(step.inputs.begin(), end, ","));
  }
  return text + "]";
}
template <class Enum>
requires std::is_enum_v<Enum> std::string value_text(Enum v) { return std::string(name(v)); }

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// ---- Reading ----

// The operator of the name that is next, its fields at their defaults.
const Op& read_prototype(LineReader& line) {
  const std::size_t offset = line.offset();
  const std::string next = line.next();
  const std::string_view word = line.word();
  const std::vector<Op>& known = operator_prototypes();
  const auto it = std::find_if(known.begin(), known.end(), [&](const Op& op) { return operator_name(op) == word; });
  if (it != known.end()) return *it;
  std::vector<std::string> names;
  for (const Op& op : known) names.emplace_back(operator_name(op));
  throw Fault{offset, fmt::format("unknown operator {}", next), did_you_mean(word, names)};
}

template <class Family>
void read_fields(LineReader& line, std::string_view operator_name, Family& family);

std::vector<std::string> all_names(Source) { return names_up_to(Source::Mask); }
std::vector<std::string> all_names(PadMode) { return names_up_to(PadMode::Edge); }
std::vector<std::string> all_names(CostClass) { return names_up_to(CostClass::Reduction); }
std::vector<std::string> all_names(NormKind) { return names_up_to(NormKind::Rms); }
std::vector<std::string> all_names(Element) { return names_up_to(Element::Bit); }

void read_value(LineReader& line, std::string_view field, bool& value) {
  const std::size_t offset = line.offset();
  const std::string_view word = line.word();
  if (word != "true" && word != "false") throw Fault{offset, fmt::format("'{}' must be true or false", field), ""};
  value = word == "true";
}
void read_value(LineReader& line, std::string_view field, double& value) {
  value = line.number(fmt::format("'{}'", field));
}
void read_value(LineReader& line, std::string_view field, std::int64_t& value) {
  value = line.integer(fmt::format("'{}'", field));
}
void read_value(LineReader& line, std::string_view field, Ints& value) {
  value = line.integers("[", "]", fmt::format("the list '{}'", field));
}
void read_value(LineReader& line, std::string_view field, Part& value) {
  for (Ints* list : {&value.whole, &value.origin, &value.first, &value.count}) read_value(line, field, *list);
}
void read_value(LineReader& line, std::string_view field, std::string& value) {
  value = line.string(fmt::format("'{}'", field));
}
// [f32 mul(0,1), f16 cast{to=f16}(2), …]; a step is no program, so nothing nests.
void read_value(LineReader& line, std::string_view field, std::vector<Step>& value) {
  line.expect("[", fmt::format("before the list '{}'", field));
  if (line.take("]")) return;
  do {
    Step& step = value.emplace_back();
    const std::size_t format_offset = line.offset();
    const std::string next = line.next();
    const std::string_view text = line.format();
    const std::optional<Format> format = parse_format(text);
    if (!format)
      throw Fault{format_offset, fmt::format("a step begins with the format of its result, not with {}", next),
                  word_hint(text.substr(0, text.find('/')), names_up_to(Element::Bit))};
    step.format = *format;
    const std::size_t offset = line.offset();
    const Op& prototype = read_prototype(line);
    const std::optional<StepOp> op = step_op(prototype);
    if (!op) throw Fault{offset, fmt::format("{} cannot be a step", operator_name(prototype)), ""};
    step.op = *op;
    if (line.take("{")) std::visit([&](auto& family) { read_fields(line, operator_name(prototype), family); }, step.op);
    const std::size_t inputs_offset = line.offset();
    const Ints inputs = line.integers("(", ")", "the step's values");
    for (const std::int64_t i : inputs)
      if (i < 0 || i > std::numeric_limits<std::int32_t>::max())
        throw Fault{inputs_offset, fmt::format("there is no value {}", i), "they are counted from 0"};
    if (inputs.size() > step.inputs.size())
      throw Fault{inputs_offset, fmt::format("a step reads at most {} values", step.inputs.size()), ""};
    std::transform(inputs.begin(), inputs.end(), step.inputs.begin(),
                   [](std::int64_t i) { return static_cast<std::int32_t>(i); });
  } while (line.take(","));
  line.expect("]", "or ',' after a step");
}
template <class Enum>
requires std::is_enum_v<Enum>
void read_value(LineReader& line, std::string_view field, Enum& value) {
  const std::size_t offset = line.offset();
  const std::string next = line.next();
  const std::string_view word = line.word();
  const std::vector<std::string> names = all_names(Enum{});
  const auto it = std::find(names.begin(), names.end(), word);
  if (it == names.end()) throw Fault{offset, fmt::format("'{}' cannot be {}", field, next), word_hint(word, names)};
  value = static_cast<Enum>(it - names.begin());
}

// {field=value, …}
template <class Family>
void read_fields(LineReader& line, std::string_view operator_name, Family& family) {
  std::vector<std::string> names, given;
  std::apply([&](const auto&... field) { (names.emplace_back(field.name), ...); }, Family::fields());
  do {
    const std::size_t offset = line.offset();
    const std::string next = line.next();
    const std::string_view key = line.word();
    if (std::find(given.begin(), given.end(), key) != given.end())
      throw Fault{offset, fmt::format("field '{}' is given twice", key), ""};
    bool known = false;
    const auto try_field = [&](const auto& field) {
      if (known || field.name != key) return;
      known = true;
      line.expect("=", fmt::format("after field '{}'", key));
      read_value(line, key, family.*field.member);
    };
    std::apply([&](const auto&... field) { (try_field(field), ...); }, Family::fields());
    if (!known)
      throw Fault{offset, fmt::format("{} has no field {}", operator_name, next),
                  names.empty() ? "it has no fields" : word_hint(key, names)};
    given.emplace_back(key);
  } while (line.take(","));
  line.expect("}", "or ',' after a field");
}

}  // namespace

std::string operator_text(const Op& op) {
  std::string fields;
  std::visit(
      [&]<class Family>(const Family& family) {
        const Family standard;
        const auto append = [&](const auto& f) {
          if (!same(family.*f.member, standard.*f.member))
            fields += fmt::format("{}{}={}", fields.empty() ? "" : ", ", f.name, value_text(family.*f.member));
        };
        std::apply([&](const auto&... field) { (append(field), ...); }, Family::fields());
      },
      op);
  return fmt::format("{}{}", operator_name(op), fields.empty() ? "" : "{" + fields + "}");
}

Op read_operator(LineReader& line) {
  Op op = read_prototype(line);
  const std::string_view name = operator_name(op);
  if (line.take("{")) std::visit([&](auto& family) { read_fields(line, name, family); }, op);
  return op;
}

std::string word_hint(std::string_view word, const std::vector<std::string>& candidates) {
  return did_you_mean(word, candidates, fmt::format("one of: {}", fmt::join(candidates, ", ")));
}

}  // namespace monet
