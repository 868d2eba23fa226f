#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace monet {

// A JSON value for writing results. Objects keep the order in which keys were set, so equal results are equal bytes.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  template <std::signed_integral T>
  Json(T value) : value_(std::int64_t{value}) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value) : value_(std::uint64_t{value}) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  template <class T>
  Json(const std::vector<T>& values) : value_(Array(values.begin(), values.end())) {}
  template <class T>
  Json(const T*) = delete;  // a pointer would silently become `true`

  static Json array() { return Json(Value(Array{})); }
  static Json object() { return Json(Value(Object{})); }

  // Appends to an array; null becomes an array first. Returns the array.
  Json& push(Json value);
  // Sets a key of an object, in place if it is there; null becomes an object first. Returns the object.
  Json& set(std::string key, Json value);

  // The text of the value: on one line if indent is 0, else one element a line.
  // A double is written with the fewest digits that read back as the same double, and always with a point or an
  // exponent (12.0), so that its type does not hang on its value. JSON has no word for infinities and NaN: null.
  // Bytes that are no UTF-8 become U+FFFD.
  std::string dump(int indent = 0) const;

  bool operator==(const Json&) const = default;

 private:
  using Value = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object>;
  explicit Json(Value value) : value_(std::move(value)) {}
  void append_to(std::string& out, int indent, int depth) const;

  Value value_ = nullptr;
};

// `text` between double quotes, with everything escaped that JSON requires.
std::string json_quoted(std::string_view text);

}  // namespace monet
