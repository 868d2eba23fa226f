#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "monet/base/config_expression.h"

namespace monet::config {

// Which rows of a table: comparisons of expressions over its columns, joined by `and`, `or`, `not` and parentheses.
//   training.latency_s < 0.07 and (x * y <= 4096 or fusion == "limit 3")
// Numbers are compared exactly where they are written in decimal digits on both sides, else as doubles. Texts are equal
// or not. A name that is no word is written in backquotes: `gpt2-mini training`.latency_s.

// Nothing is known; a figure; a number as somebody wrote it; a text.
using Cell = std::variant<std::monostate, double, Ratio, std::string>;

struct QueryColumn {
  std::string name{};
  bool is_text = false;
};

class Query {
 public:
  // `where` names the text in messages. A column may be named without its first part (up to the first point) if no
  // other one ends alike. Throws InputError with the place of every name that there is not, or of the first other
  // fault.
  Query(std::string_view text, std::span<const QueryColumn> columns, const std::string& where);

  // Of a row, one cell by column. None: it hangs on a cell that is empty, or divides by zero.
  std::optional<bool> holds(std::span<const Cell> row) const;

 private:
  friend class QueryParser;
  enum class Kind : std::uint8_t { Literal, Column, Negate, Add, Subtract, Multiply, Divide, Compare, And, Or, Not };
  enum class Type : std::uint8_t { Number, Text, Truth };
  struct Node {
    Kind kind = Kind::Literal;
    Type type = Type::Number;
    std::uint32_t left = 0, right = 0;  // nodes; of a column its index on the left
    Relation relation = Relation::AtMost;
    Cell literal{};
    std::size_t at = 0;  // in the text
  };
  struct Amount {
    double value = 0;
    std::optional<Ratio> exact{};
  };
  std::optional<Amount> amount(std::uint32_t node, std::span<const Cell> row) const;
  std::optional<std::string_view> words(std::uint32_t node, std::span<const Cell> row) const;
  std::optional<bool> truth(std::uint32_t node, std::span<const Cell> row) const;

  std::vector<Node> nodes_;
  std::uint32_t root_ = 0;
};

// A number written in decimal digits as a cell: exact where 64 bits are enough. None: it is no number.
std::optional<Cell> number_cell(std::string_view text);

}  // namespace monet::config
