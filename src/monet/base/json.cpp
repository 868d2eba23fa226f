#include "monet/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "monet/base/assert.h"
#include "monet/base/overloaded.h"
#include "monet/base/utf8.h"

namespace monet {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const char c = text[0];
    const std::size_t length = utf8_length(text);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      default:
        if (length == 0)
          out += "\xEF\xBF\xBD";
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
          out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  out += '"';
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::size_t start = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

Json& Json::push(Json value) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Array{};
  Array* const array = std::get_if<Array>(&value_);
  MONET_ASSERT(array, "push on a JSON value that is no array");
  array->push_back(std::move(value));
  return *this;
}

Json& Json::set(std::string key, Json value) {
  if (std::holds_alternative<std::nullptr_t>(value_)) value_ = Object{};
  Object* const object = std::get_if<Object>(&value_);
  MONET_ASSERT(object, "set on a JSON value that is no object");
  const auto it = std::find_if(object->begin(), object->end(), [&](const auto& entry) { return entry.first == key; });
  if (it == object->end())
    object->emplace_back(std::move(key), std::move(value));
  else
    it->second = std::move(value);
  return *this;
}

void Json::append_to(std::string& out, int indent, int depth) const {
  const auto new_line = [&](int level) {
    if (indent == 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  };
  const auto container = [&](char open, char close, const auto& entries, const auto& append_entry) {
    out += open;
    bool first = true;
    for (const auto& entry : entries) {
      if (!first) out += ',';
      first = false;
      new_line(depth + 1);
      append_entry(entry);
    }
    if (!first) new_line(depth);
    out += close;
  };
  std::visit(overloaded{
                 [&](std::nullptr_t) { out += "null"; },
                 [&](bool v) { out += v ? "true" : "false"; },
                 [&](std::int64_t v) { fmt::format_to(std::back_inserter(out), "{}", v); },
                 [&](std::uint64_t v) { fmt::format_to(std::back_inserter(out), "{}", v); },
                 [&](double v) { append_double(out, v); },
                 [&](const std::string& v) { append_quoted(out, v); },
                 [&](const Array& v) {
                   container('[', ']', v, [&](const Json& entry) { entry.append_to(out, indent, depth + 1); });
                 },
                 [&](const Object& v) {
                   container('{', '}', v, [&](const auto& entry) {
                     append_quoted(out, entry.first);
                     out += indent == 0 ? ":" : ": ";
                     entry.second.append_to(out, indent, depth + 1);
                   });
                 },
             },
             value_);
}

std::string Json::dump(int indent) const {
  std::string out;
  append_to(out, std::max(0, indent), 0);
  return out;
}

}  // namespace monet
