#include "monet/base/config_query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "monet/base/config_number.h"
#include "monet/base/diagnostic.h"
#include "monet/base/nearest.h"

namespace monet::config {
namespace {

constexpr std::size_t kLongestQuery = 4000;
constexpr int kDeepestQuery = 50;
constexpr std::size_t kColumnsShown = 12;

bool is_word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

double value_of(const Ratio& ratio) {
  return static_cast<double>(ratio.numerator) / static_cast<double>(ratio.denominator);
}

}  // namespace

// Recursive descent: or, and, not, relation, sum, product, factor. A parenthesis may hold a number or a condition, so
// what each part is, is checked where it is used.
class QueryParser {
 public:
  using Kind = Query::Kind;
  using Type = Query::Type;
  using Node = Query::Node;

  QueryParser(std::string_view text, std::span<const QueryColumn> columns, const std::string& where)
      : text_(text), columns_(columns), where_(where) {}

  void run(Query& out) {
    if (text_.size() > kLongestQuery) stop(0, fmt::format("longer than {} characters", kLongestQuery));
    const std::uint32_t root = disjunction(0);
    if (peek() != '\0') stop_at_operator();
    need(root, Type::Truth);
    if (!unknown_.empty()) throw InputError(std::move(unknown_));
    out.nodes_ = std::move(nodes_);
    out.root_ = root;
  }

 private:
  Diagnostic at(std::size_t place, std::string message, std::string hint) const {
    return {.file = where_,
            .line = 1,
            .column = static_cast<int>(place) + 1,
            .message = std::move(message),
            .hint = std::move(hint)};
  }
  [[noreturn]] void stop(std::size_t place, std::string message, std::string hint = "") {
    unknown_.push_back(at(place, std::move(message), std::move(hint)));
    throw InputError(std::move(unknown_));
  }
  [[noreturn]] void stop_at_operator() {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOthers{
        {{"&&", "and"}, {"||", "or"}, {"=", "=="}, {"!", "not"}}};
    for (const auto& [other, ours] : kOthers)
      if (text_.substr(at_).starts_with(other))
        stop(at_, fmt::format("'{}' is not understood", other), fmt::format("write '{}'", ours));
    stop(at_, fmt::format("'{}' is not understood", text_.substr(at_, 20)),
         "comparisons are joined by and, or, not and parentheses");
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // Takes the word if it is the next one.
  bool takes(std::string_view word) {
    peek();
    if (!text_.substr(at_).starts_with(word)) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && (is_in_word(text_[end]) || text_[end] == '.')) return false;
    at_ = end;
    return true;
  }

  std::uint32_t push(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  static std::string_view name(Type type) {
    switch (type) {
      case Type::Number: return "a number";
      case Type::Text: return "a text";
      case Type::Truth: return "a condition";
    }
    return "";
  }
  void need(std::uint32_t node, Type type) {
    if (nodes_[node].type == type) return;
    stop(nodes_[node].at, fmt::format("this is {}, where {} is needed", name(nodes_[node].type), name(type)),
         type == Type::Truth ? "compare it with something: <, <=, ==, !=, >=, >" : "");
  }
  std::uint32_t join(Kind kind, std::uint32_t left, std::uint32_t right, Type parts) {
    need(left, parts);
    need(right, parts);
    return push({.kind = kind, .type = parts, .left = left, .right = right, .at = nodes_[left].at});
  }

  std::uint32_t disjunction(int depth) {
    std::uint32_t left = conjunction(depth);
    while (takes("or")) left = join(Kind::Or, left, conjunction(depth), Type::Truth);
    return left;
  }
  std::uint32_t conjunction(int depth) {
    std::uint32_t left = negation(depth);
    while (takes("and")) left = join(Kind::And, left, negation(depth), Type::Truth);
    return left;
  }
  std::uint32_t negation(int depth) {
    peek();
    const std::size_t place = at_;
    if (!takes("not")) return relation(depth);
    if (depth > kDeepestQuery) stop(place, "too deep");
    const std::uint32_t inner = negation(depth + 1);
    need(inner, Type::Truth);
    return push({.kind = Kind::Not, .type = Type::Truth, .left = inner, .at = place});
  }

  std::optional<Relation> takes_relation() {
    peek();
    for (const Relation r :
         {Relation::AtMost, Relation::AtLeast, Relation::Equal, Relation::Unequal, Relation::Less, Relation::More})
      if (text_.substr(at_).starts_with(symbol(r))) {
        at_ += symbol(r).size();
        return r;
      }
    return std::nullopt;
  }
  std::uint32_t relation(int depth) {
    const std::uint32_t left = sum(depth);
    peek();
    const std::size_t place = at_;
    const std::optional<Relation> how = takes_relation();
    if (!how) return left;
    const std::uint32_t right = sum(depth);
    if (nodes_[left].type == Type::Truth) need(left, Type::Number);
    need(right, nodes_[left].type);
    if (nodes_[left].type == Type::Text && *how != Relation::Equal && *how != Relation::Unequal)
      stop(place, fmt::format("'{}' does not compare texts", symbol(*how)), "== and != do");
    if (const std::size_t here = at_; takes_relation())
      stop(here, "a third side of a comparison", "join two comparisons by and");
    return push({.kind = Kind::Compare,
                 .type = Type::Truth,
                 .left = left,
                 .right = right,
                 .relation = *how,
                 .at = nodes_[left].at});
  }
  std::uint32_t sum(int depth) {
    std::uint32_t left = product(depth);
    while (peek() == '+' || peek() == '-') {
      const Kind kind = text_[at_++] == '+' ? Kind::Add : Kind::Subtract;
      left = join(kind, left, product(depth), Type::Number);
    }
    return left;
  }
  std::uint32_t product(int depth) {
    std::uint32_t left = factor(depth);
    while (peek() == '*' || peek() == '/') {
      const Kind kind = text_[at_++] == '*' ? Kind::Multiply : Kind::Divide;
      left = join(kind, left, factor(depth), Type::Number);
    }
    return left;
  }
  std::uint32_t factor(int depth) {
    const char c = peek();
    const std::size_t place = at_;
    if (depth > kDeepestQuery) stop(place, "too many parentheses");
    if (c == '(') {
      ++at_;
      const std::uint32_t inner = disjunction(depth + 1);
      if (peek() == '\0') stop(place, "'(' has no ')'");
      if (peek() != ')') stop_at_operator();
      ++at_;
      return inner;
    }
    if (c == '-') {
      ++at_;
      const std::uint32_t inner = factor(depth + 1);
      need(inner, Type::Number);
      return push({.kind = Kind::Negate, .left = inner, .at = place});
    }
    if (c == '"') return text(place);
    if (is_word_start(c) || c == '`') return column(place);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number(place);
    if (c == '\0') stop(place, "something is missing at the end", "a column, a number or a \"text\"");
    stop_at_operator();
  }

  std::uint32_t text(std::size_t place) {
    const std::size_t end = text_.find('"', place + 1);
    if (end == std::string_view::npos) stop(place, "the text has no end", "a second \"");
    at_ = end + 1;
    return push({.type = Type::Text, .literal = std::string(text_.substr(place + 1, end - place - 1)), .at = place});
  }

  std::uint32_t number(std::size_t place) {
    while (at_ < text_.size() &&
           (is_in_word(text_[at_]) || text_[at_] == '.' ||
            ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
      ++at_;
    const std::string_view digits = text_.substr(place, at_ - place);
    std::optional<Cell> value = number_cell(digits);
    if (!value) stop(place, fmt::format("'{}' is no number", digits.substr(0, 40)), "units are those of the columns");
    return push({.literal = std::move(*value), .at = place});
  }

  // Words and what stands in backquotes, with points between.
  std::uint32_t column(std::size_t place) {
    std::string named;
    for (;;) {
      if (at_ < text_.size() && text_[at_] == '`') {
        const std::size_t end = text_.find('`', at_ + 1);
        if (end == std::string_view::npos) stop(at_, "the name has no end", "a second `");
        named += text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
      } else {
        while (at_ < text_.size() && is_in_word(text_[at_])) named += text_[at_++];
      }
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (at_ >= text_.size() || text_[at_] != '.' || !(is_in_word(next) || next == '`')) break;
      named += '.';
      ++at_;
    }
    const std::optional<std::uint32_t> found = find(named, place);
    return push({.kind = Kind::Column,
                 .type = found && columns_[*found].is_text ? Type::Text : Type::Number,
                 .left = found.value_or(0),
                 .at = place});
  }

  std::optional<std::uint32_t> find(const std::string& named, std::size_t place) {
    std::vector<std::string> names, alike;
    std::optional<std::uint32_t> last;
    for (std::uint32_t c = 0; c < columns_.size(); ++c) {
      const std::string& name = columns_[c].name;
      if (name == named) return c;
      names.push_back(name);
      const std::size_t point = name.find('.');
      if (point == std::string::npos || name.substr(point + 1) != named) continue;
      alike.push_back(name);
      last = c;
    }
    if (alike.size() == 1) return last;
    if (alike.size() > 1) {
      unknown_.push_back(at(place, fmt::format("'{}' is the end of several columns", named),
                            fmt::format("which one: {}", fmt::join(alike, ", "))));
      return std::nullopt;
    }
    const std::size_t shown = std::min(names.size(), kColumnsShown);
    unknown_.push_back(at(
        place, fmt::format("there is no column '{}'", named.substr(0, 60)),
        did_you_mean(named, names,
                     fmt::format("columns: {}{}", fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "),
                                 shown < names.size() ? ", …" : ""))));
    return std::nullopt;
  }

  std::string_view text_;
  std::span<const QueryColumn> columns_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::vector<Node> nodes_;
  std::vector<Diagnostic> unknown_;  // names; the reading goes on behind them
};

Query::Query(std::string_view text, std::span<const QueryColumn> columns, const std::string& where) {
  QueryParser(text, columns, where).run(*this);
}

std::optional<bool> Query::holds(std::span<const Cell> row) const { return truth(root_, row); }

std::optional<Query::Amount> Query::amount(std::uint32_t node, std::span<const Cell> row) const {
  const Node& n = nodes_[node];
  if (n.kind == Kind::Literal || n.kind == Kind::Column) {
    const Cell& cell = n.kind == Kind::Literal ? n.literal : row[n.left];
    if (const double* value = std::get_if<double>(&cell)) return Amount{*value, std::nullopt};
    if (const Ratio* exact = std::get_if<Ratio>(&cell)) return Amount{value_of(*exact), *exact};
    return std::nullopt;
  }
  const std::optional<Amount> left = amount(n.left, row);
  if (!left) return std::nullopt;
  if (n.kind == Kind::Negate) {
    return Amount{-left->value, left->exact ? subtract(Ratio{0, 1}, *left->exact) : std::nullopt};
  }
  const std::optional<Amount> right = amount(n.right, row);
  if (!right || (n.kind == Kind::Divide && right->value == 0)) return std::nullopt;
  if (left->exact && right->exact) {
    const Ratio &a = *left->exact, &b = *right->exact;
    const std::optional<Ratio> exact = n.kind == Kind::Add        ? add(a, b)
                                       : n.kind == Kind::Subtract ? subtract(a, b)
                                       : n.kind == Kind::Multiply ? multiply(a, b)
                                                                  : divide(a, b);
    if (exact) return Amount{value_of(*exact), exact};
  }
  const double a = left->value, b = right->value;
  return Amount{n.kind == Kind::Add        ? a + b
                : n.kind == Kind::Subtract ? a - b
                : n.kind == Kind::Multiply ? a * b
                                           : a / b,
                std::nullopt};
}

std::optional<std::string_view> Query::words(std::uint32_t node, std::span<const Cell> row) const {
  const Node& n = nodes_[node];
  const std::string* text = std::get_if<std::string>(n.kind == Kind::Literal ? &n.literal : &row[n.left]);
  return text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
}

std::optional<bool> Query::truth(std::uint32_t node, std::span<const Cell> row) const {
  const Node& n = nodes_[node];
  switch (n.kind) {
    case Kind::Not:
      if (const auto inner = truth(n.left, row)) return !*inner;
      return std::nullopt;
    case Kind::And:
    case Kind::Or: {
      // One side may decide alone.
      const bool decides = n.kind == Kind::Or;
      const std::optional<bool> left = truth(n.left, row);
      if (left == decides) return decides;
      const std::optional<bool> right = truth(n.right, row);
      if (right == decides) return decides;
      return left && right ? std::optional(!decides) : std::nullopt;
    }
    case Kind::Compare: {
      if (nodes_[n.left].type == Type::Text) {
        const auto a = words(n.left, row), b = words(n.right, row);
        return a && b ? std::optional(config::holds(n.relation, *a < *b, *b < *a)) : std::nullopt;
      }
      const auto a = amount(n.left, row), b = amount(n.right, row);
      if (!a || !b) return std::nullopt;
      if (a->exact && b->exact)
        return config::holds(n.relation, less(*a->exact, *b->exact), less(*b->exact, *a->exact));
      return config::holds(n.relation, a->value < b->value, b->value < a->value);
    }
    case Kind::Literal:
    case Kind::Column:
    case Kind::Negate:
    case Kind::Add:
    case Kind::Subtract:
    case Kind::Multiply:
    case Kind::Divide: break;  // no condition: the parser has seen to it
  }
  return std::nullopt;
}

std::optional<Cell> number_cell(std::string_view text) {
  const NumberReading reading = read_number(text, Dialect::Strict);
  if (!reading.number) return std::nullopt;
  // As a double it must be the nearest one, or a figure would not equal its own digits: the quotient is, of numbers
  // that are doubles themselves.
  constexpr std::int64_t kDoubles = std::int64_t{1} << 53;
  const std::optional<Ratio> exact = parse_ratio(text);
  if (exact && (exact->denominator == 1 || (std::abs(exact->numerator) <= kDoubles && exact->denominator <= kDoubles)))
    return Cell(*exact);
  return Cell(reading.number->value);
}

}  // namespace monet::config
