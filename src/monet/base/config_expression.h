#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace monet::config {

// A quotient of whole numbers, in lowest terms: what parameters are computed with, so that ${3 / 8 * 8} is 3.
struct Ratio {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;  // positive
  bool operator==(const Ratio&) const = default;
};

using Scope = std::vector<std::pair<std::string, Ratio>>;  // the last one of a name counts

struct ExpressionValue {
  std::optional<Ratio> value{};
  std::string fault{};
  std::string unknown{};  // the name nobody has defined, if that is the fault
};

// + - * / ( ), numbers, names. No fault can make it run long: nesting and length are limited.
ExpressionValue evaluate(std::string_view expression, const Scope& scope);

// Text with every ${…} in it replaced by its value; $${ is ${ itself.
struct Expanded {
  std::string text{};
  std::string fault{}, unknown{};  // of the first that has no value; 0 stands for it
};
Expanded expand(std::string_view text, const Scope& scope);

// Two expressions and how they must compare: "x * y <= 16".
enum class Relation { AtMost, AtLeast, Less, More, Equal, Unequal };
std::string_view symbol(Relation relation);  // <=, >=, …
struct Condition {
  std::string text{}, left{}, right{};
  Relation relation = Relation::AtMost;
  bool operator==(const Condition&) const = default;
};
std::optional<Condition> parse_condition(std::string_view text);  // none: there is no relation in it, or two

struct ConditionValue {
  bool holds = false;
  std::optional<Ratio> left{}, right{};
  std::string fault{}, unknown{};  // if either side has no value
};
ConditionValue evaluate(const Condition& condition, const Scope& scope);
bool less(const Ratio& a, const Ratio& b);
bool holds(Relation relation, bool is_less, bool is_more);  // of the left side beside the right one

// None: the value does not fit in 64 bits, or is divided by zero.
std::optional<Ratio> add(const Ratio& a, const Ratio& b);
std::optional<Ratio> subtract(const Ratio& a, const Ratio& b);
std::optional<Ratio> multiply(const Ratio& a, const Ratio& b);
std::optional<Ratio> divide(const Ratio& a, const Ratio& b);

// Digits that read back as the same value: a whole number, or else the nearest double.
std::string to_string(const Ratio& ratio);

// A decimal number without a unit, exactly.
std::optional<Ratio> parse_ratio(std::string_view text);

}  // namespace monet::config
