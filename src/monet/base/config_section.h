#pragma once
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "monet/base/config.h"
#include "monet/base/config_number.h"

namespace monet::config {

// ---- Single values ----

struct IntegerRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
struct NumberRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

// Each says what is wrong under the name `what` and returns nothing then.
std::optional<std::string> read_text(const Value& value, std::string_view what, Findings& findings);
std::optional<Number> read_number(const Value& value, std::string_view what, Dialect dialect, Findings& findings);
std::optional<std::int64_t> read_integer(const Value& value, std::string_view what, IntegerRange range, Dialect dialect,
                                         Findings& findings);
std::optional<double> read_number(const Value& value, std::string_view what, NumberRange range, Dialect dialect,
                                  Findings& findings);
std::optional<bool> read_bool(const Value& value, std::string_view what, Dialect dialect, Findings& findings);
// The index of the text among `names`.
std::optional<std::size_t> read_choice(const Value& value, std::string_view what, std::span<const std::string> names,
                                       Findings& findings);

// ---- Quantities: a number with a unit, in the value or in the key ----

struct Unit {
  std::string_view name;    // as written after the number: MiB; empty: nothing need be written
  double scale = 1;         // to the quantity's own unit
  std::string_view key{};   // as written at the end of a key: _mib; empty: only in values
  bool per_second = false;  // needs the clock to become per cycle
};
struct Quantity {
  std::string_view what;  // "a size"
  std::span<const Unit> units;
};
struct Amount {
  Number number{};
  bool per_second = false;
};

// Exact where both are whole: 10 PB are more bits than a double tells apart.
Number scaled(const Number& number, double scale);

std::optional<Amount> read_amount(const Value& value, std::string_view what, const Quantity& quantity, Dialect dialect,
                                  Findings& findings);

// ---- Maps ----

// Pulls the fields out of one map and remembers which; `finish` reports the keys nobody asked for.
class Section {
 public:
  // `what` names the section in messages: "memory 'dram'".
  Section(Value value, std::string what, Dialect dialect, Findings& findings);

  const Value& value() const { return value_; }
  const std::string& what() const { return what_; }
  Findings& findings() { return *findings_; }
  Dialect dialect() const { return dialect_; }

  // The value of a key; null counts as absent. `require` reports a missing one.
  std::optional<Value> find(std::string_view key);
  std::optional<Value> require(std::string_view key);
  // Asks whether a key is there without reading it.
  bool has(std::string_view key) const { return lookup(key).has_value(); }

  std::optional<std::string> text(std::string_view key);
  std::optional<std::string> require_text(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, IntegerRange range);
  std::optional<std::int64_t> require_integer(std::string_view key, IntegerRange range);
  std::optional<double> number(std::string_view key, NumberRange range);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::size_t> choice(std::string_view key, std::span<const std::string> names);
  // The items of a list; a single value is a list of one. Empty if absent.
  std::vector<Value> list(std::string_view key);

  // A quantity under `key` with its unit in the value, or under key + unit. `where` gets the value's place.
  struct Measured {
    Amount amount{};
    Value where;
  };
  std::optional<Measured> amount(std::string_view key, const Quantity& quantity);

  // More names for the hint of an unknown key than those that were asked for.
  void knows(std::string_view key) { asked_.emplace_back(key); }
  void finish();

 private:
  std::optional<Value> lookup(std::string_view key) const;

  Value value_;
  std::string what_;
  Dialect dialect_;
  Findings* findings_;
  std::vector<std::pair<std::string_view, std::size_t>> index_;  // sorted by key: entry that counts
  std::vector<std::string> asked_;
};

}  // namespace monet::config
