#include "monet/base/config_expression.h"

#include <fmt/format.h>

#include <cctype>
#include <numeric>

#include "monet/base/config_number.h"

namespace monet::config {
namespace {

__extension__ typedef __int128 Wide;

constexpr int kDeepest = 50;
constexpr std::size_t kLongestExpression = 1000;

std::optional<Ratio> reduced(Wide numerator, Wide denominator) {
  if (denominator == 0) return std::nullopt;
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  Wide a = numerator < 0 ? -numerator : numerator, b = denominator;
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  if (a > 1) {
    numerator /= a;
    denominator /= a;
  }
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  if (numerator > kMost || numerator < -kMost || denominator > kMost) return std::nullopt;
  return Ratio{static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

class Evaluator {
 public:
  Evaluator(std::string_view text, const Scope& scope) : text_(text), scope_(scope) {}

  ExpressionValue run() {
    if (text_.size() > kLongestExpression) return {.fault = "the expression is too long"};
    const std::optional<Ratio> value = sum(0);
    space();
    if (fault_.empty() && at_ < text_.size()) fault_ = fmt::format("'{}' is not understood", text_.substr(at_, 20));
    if (!fault_.empty() || !value) return {.fault = fault_, .unknown = unknown_};
    return {.value = value};
  }

 private:
  std::optional<Ratio> fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
    return std::nullopt;
  }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  char peek() {
    space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::optional<Ratio> sum(int depth) {
    std::optional<Ratio> left = product(depth);
    while (left && (peek() == '+' || peek() == '-')) {
      const bool adds = text_[at_++] == '+';
      const std::optional<Ratio> right = product(depth);
      if (!right) return std::nullopt;
      left = adds ? add(*left, *right) : subtract(*left, *right);
      if (!left) return fail("the value does not fit in 64 bits");
    }
    return left;
  }

  std::optional<Ratio> product(int depth) {
    std::optional<Ratio> left = factor(depth);
    while (left && (peek() == '*' || peek() == '/')) {
      const bool divides = text_[at_++] == '/';
      const std::optional<Ratio> right = factor(depth);
      if (!right) return std::nullopt;
      if (divides && right->numerator == 0) return fail("division by zero");
      left = divides ? divide(*left, *right) : multiply(*left, *right);
      if (!left) return fail("the value does not fit in 64 bits");
    }
    return left;
  }

  std::optional<Ratio> factor(int depth) {
    if (depth > kDeepest) return fail("too many parentheses");
    const char c = peek();
    if (c == '(') {
      ++at_;
      const std::optional<Ratio> value = sum(depth + 1);
      if (!value) return std::nullopt;
      if (peek() != ')') return fail("a ')' is missing");
      ++at_;
      return value;
    }
    if (c == '-' || c == '+') {
      ++at_;
      const std::optional<Ratio> value = factor(depth + 1);
      if (!value) return std::nullopt;
      return c == '-' ? reduced(-static_cast<Wide>(value->numerator), value->denominator) : value;
    }
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') return name();
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return literal();
    return fail(c == '\0' ? "the expression ends too early"
                          : fmt::format("'{}' is not understood", text_.substr(at_, 20)));
  }

  std::optional<Ratio> name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it)
      if (it->first == word) return it->second;
    unknown_ = std::string(word.substr(0, 60));
    return fail(fmt::format("unknown parameter '{}'", unknown_));
  }

  std::optional<Ratio> literal() {
    const std::size_t start = at_;
    const auto in_number = [&](char c) {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_') return true;
      return (c == '-' || c == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') &&
             !text_.substr(start).starts_with("0x");
    };
    while (at_ < text_.size() && in_number(text_[at_])) ++at_;
    const std::string_view digits = text_.substr(start, at_ - start);
    const std::optional<Ratio> value = parse_ratio(digits);
    return value ? value
                 : fail(fmt::format("'{}' is no number that can be computed with exactly", digits.substr(0, 40)));
  }

  std::string_view text_;
  const Scope& scope_;
  std::size_t at_ = 0;
  std::string fault_, unknown_;
};

}  // namespace

ExpressionValue evaluate(std::string_view expression, const Scope& scope) { return Evaluator(expression, scope).run(); }

Expanded expand(std::string_view text, const Scope& scope) {
  Expanded out;
  const auto fail = [&](std::string fault, std::string unknown = "") {
    if (!out.fault.empty()) return;
    out.fault = std::move(fault);
    out.unknown = std::move(unknown);
  };
  while (!text.empty()) {
    const std::size_t start = text.find("${");
    if (start != std::string_view::npos && start > 0 && text[start - 1] == '$') {
      out.text += text.substr(0, start - 1);
      out.text += "${";
      text.remove_prefix(start + 2);
      continue;
    }
    out.text += text.substr(0, start);
    if (start == std::string_view::npos) break;
    const std::size_t end = text.find('}', start);
    if (end == std::string_view::npos) {
      fail("'${' has no '}'");
      break;
    }
    ExpressionValue result = evaluate(text.substr(start + 2, end - start - 2), scope);
    if (!result.value) fail("in an expression: " + result.fault, std::move(result.unknown));
    out.text += result.value ? to_string(*result.value) : "0";
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string_view symbol(Relation relation) {
  switch (relation) {
    case Relation::AtMost: return "<=";
    case Relation::AtLeast: return ">=";
    case Relation::Less: return "<";
    case Relation::More: return ">";
    case Relation::Equal: return "==";
    case Relation::Unequal: return "!=";
  }
  return "";
}

std::optional<Condition> parse_condition(std::string_view text) {
  const std::size_t at = text.find_first_of("<>=!");
  if (at == std::string_view::npos) return std::nullopt;
  for (const Relation relation :
       {Relation::AtMost, Relation::AtLeast, Relation::Equal, Relation::Unequal, Relation::Less, Relation::More}) {
    const std::string_view mark = symbol(relation);
    if (!text.substr(at).starts_with(mark)) continue;
    const std::string_view right = text.substr(at + mark.size());
    if (right.find_first_of("<>=!") != std::string_view::npos) return std::nullopt;
    return Condition{std::string(text), std::string(text.substr(0, at)), std::string(right), relation};
  }
  return std::nullopt;
}

bool less(const Ratio& a, const Ratio& b) {
  return Wide{a.numerator} * b.denominator < Wide{b.numerator} * a.denominator;
}

bool holds(Relation relation, bool is_less, bool is_more) {
  switch (relation) {
    case Relation::AtMost: return !is_more;
    case Relation::AtLeast: return !is_less;
    case Relation::Less: return is_less;
    case Relation::More: return is_more;
    case Relation::Equal: return !is_less && !is_more;
    case Relation::Unequal: return is_less || is_more;
  }
  return false;
}

std::optional<Ratio> add(const Ratio& a, const Ratio& b) {
  const Wide d = a.denominator, e = b.denominator;
  return reduced(a.numerator * e + b.numerator * d, d * e);
}
std::optional<Ratio> subtract(const Ratio& a, const Ratio& b) {
  const Wide d = a.denominator, e = b.denominator;
  return reduced(a.numerator * e - b.numerator * d, d * e);
}
std::optional<Ratio> multiply(const Ratio& a, const Ratio& b) {
  return reduced(Wide{a.numerator} * b.numerator, Wide{a.denominator} * b.denominator);
}
std::optional<Ratio> divide(const Ratio& a, const Ratio& b) {
  return reduced(Wide{a.numerator} * b.denominator, Wide{a.denominator} * b.numerator);
}

ConditionValue evaluate(const Condition& condition, const Scope& scope) {
  ConditionValue out;
  ExpressionValue left = evaluate(condition.left, scope), right = evaluate(condition.right, scope);
  out.left = left.value;
  out.right = right.value;
  if (!left.value || !right.value) {
    ExpressionValue& wrong = left.value ? right : left;
    out.fault = std::move(wrong.fault);
    out.unknown = std::move(wrong.unknown);
    return out;
  }
  const Ratio &a = *left.value, &b = *right.value;
  out.holds = holds(condition.relation, less(a, b), less(b, a));
  return out;
}

std::string to_string(const Ratio& ratio) {
  if (ratio.denominator == 1) return fmt::format("{}", ratio.numerator);
  return shortest(static_cast<double>(ratio.numerator) / static_cast<double>(ratio.denominator));
}

std::optional<Ratio> parse_ratio(std::string_view text) {
  const NumberReading reading = read_number(text, Dialect::Strict);
  if (!reading.number) return std::nullopt;
  if (reading.number->whole) return reduced(*reading.number->whole, 1);
  // Digit by digit, since 0.1 is no double.
  Wide digits = 0;
  std::int64_t exponent = 0;
  bool fraction = false, negative = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '-') negative = true;
    if (c == '.') fraction = true;
    if (c >= '0' && c <= '9') {
      digits = digits * 10 + (c - '0');
      if (fraction) --exponent;
      if (digits > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    }
    if (c == 'e' || c == 'E') {
      std::int64_t power = 0;
      const bool is_negative = text[i + 1] == '-';
      for (const char digit : text.substr(i + 1))
        if (digit >= '0' && digit <= '9') power = std::min<std::int64_t>(power * 10 + (digit - '0'), 1000);
      exponent += is_negative ? -power : power;
      break;
    }
  }
  if (exponent < -18 || exponent > 18) return std::nullopt;
  Wide scale = 1;
  for (std::int64_t i = 0; i < std::abs(exponent); ++i) scale *= 10;
  if (negative) digits = -digits;
  return exponent < 0 ? reduced(digits, scale) : reduced(digits * scale, 1);
}

}  // namespace monet::config
